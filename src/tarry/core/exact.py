"""Exponentials and long powers, enclosed by integers: no float decides whether a promise holds.

Both functions answer with scaled integers that are proved to lie on either side of the true value,
so a caller can round against itself, or ask for more bits until the two sides agree.
"""

from collections.abc import Callable
from fractions import Fraction
from math import log, log1p
from typing import TypeVar

__all__ = [
    "exceeds_exp",
    "exp_bounds",
    "exp_floor",
    "exp_upper",
    "log_of",
    "power_bounds",
    "ratio_below",
    "settle",
    "whole_powers",
]

_GUARD = 32
T = TypeVar("T")


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers low <= e^x * 2^bits <= high, for x >= 0.

    >>> exp_bounds(Fraction(1), 16)  # e * 65536 = 178145.3...
    (178145, 178146)
    """
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 2)
    work = bits + _GUARD + 2 * halvings + (2 * x.numerator) // x.denominator
    low, high = _series(x / 2**halvings, work)
    for _ in range(halvings):
        low, high = low * low >> work, -(-high * high >> work)
    return low >> work - bits, -(-high >> work - bits)


def exp_floor(x: Fraction, bits: int) -> int:
    """The integer part of e^x * 2^bits, exactly.

    >>> exp_floor(Fraction(1, 2), 32)
    7081203937
    """
    if x == 0:
        return 1 << bits

    def attempt(extra: int) -> tuple[int, int]:
        low, high = exp_bounds(x, bits + extra)
        return low >> extra, high >> extra

    return settle(attempt)


def ratio_below(share: Fraction) -> Fraction:
    """R <= e^share, rounded down: what the laws use, so that they err on the private side.

    The bits grow as the share shrinks, because R - 1 is what divides.

    >>> r = ratio_below(Fraction(1, 2))
    >>> r < exp_upper(Fraction(1, 2)), r.denominator <= 2**33
    (True, True)
    """
    # ceil(log2(1 / share)) for a share below 1, else 0
    bits = 32 + max(0, -(-share.denominator // share.numerator) - 1).bit_length()
    return Fraction(exp_floor(share, bits), 1 << bits)


def exp_upper(x: Fraction, bits: int = 64) -> Fraction:
    """A rational not below e^x: for numbers that must err upward, such as a power bound.

    >>> exp_upper(Fraction(0)), float(exp_upper(Fraction(1)))
    (Fraction(1, 1), 2.718281828459045)
    """
    return Fraction(1) if x == 0 else Fraction(exp_floor(x, bits) + 1, 1 << bits)


def exceeds_exp(value: Fraction, x: Fraction) -> bool:
    """Whether value > e^x, decided exactly.

    >>> (
    ...     exceeds_exp(Fraction(27183, 10000), Fraction(1)),
    ...     exceeds_exp(Fraction(27182, 10000), Fraction(1)),
    ... )
    (True, False)
    """
    if x == 0:
        return value > 1

    def attempt(bits: int) -> tuple[bool, bool]:
        low, high = exp_bounds(x, bits)
        scaled = value * (1 << bits)
        return scaled > high, scaled > low  # surely, perhaps

    return settle(attempt, 64)


def power_bounds(base: Fraction, exponent: int, bits: int) -> tuple[int, int]:
    """Integers low <= base^exponent * 2^bits <= high, for 0 <= base <= 1.

    >>> power_bounds(Fraction(1, 2), 3, 10)
    (128, 128)
    """
    work = bits + _GUARD + exponent.bit_length()
    low, high = 1 << work, 1 << work
    square_low = (base.numerator << work) // base.denominator
    square_high = -((-base.numerator << work) // base.denominator)
    while exponent:
        if exponent & 1:
            low, high = low * square_low >> work, -(-high * square_high >> work)
        square_low, square_high = square_low**2 >> work, -(-(square_high**2) >> work)
        exponent >>= 1
    return low >> work - bits, -(-high >> work - bits)


def settle(attempt: Callable[[int], tuple[T, T]], bits: int = _GUARD) -> T:
    """The value on which both sides of an enclosure agree, with as many bits as it takes.

    >>> settle(lambda bits: (7, 7) if bits > 64 else (7, 8))
    7
    """
    low, high = attempt(bits)
    while low != high:
        bits *= 2
        low, high = attempt(bits)
    return low


def _series(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose e^x * 2^bits for 0 <= x <= 1/2 by the positive-term series.

    The upper terms are rounded up, so they stop shrinking at 1; what the series leaves out after
    a term of at most 1 is then below 1.
    """
    low = high = term_low = term_high = 1 << bits
    i = 0
    while term_high > 1:
        i += 1
        term_low = term_low * x.numerator // (x.denominator * i)
        term_high = -(-term_high * x.numerator // (x.denominator * i))
        low, high = low + term_low, high + term_high
    return low, high + 1


def log_of(value: Fraction) -> float:
    """ln(value) as a float, for tables and messages only; huge numerators are fine.

    >>> round(log_of(Fraction(2**2000)), 3)
    1386.294
    """
    if 1 <= 2 * value <= 4:
        return log1p(value - 1)  # the difference of two nearly equal logarithms would be noise
    return log(value.numerator) - log(value.denominator)


def whole_powers(ratio: Fraction, bound: Fraction) -> int:
    """The largest j >= 0 with ratio^j < bound (bound > 1), guessed with logarithms, then proved.

    >>> whole_powers(Fraction(2), Fraction(8)), whole_powers(Fraction(2), Fraction(9))
    (2, 3)
    """
    guess = max(0, int(log_of(bound) / log_of(ratio)))
    while guess and not _power_below(ratio, guess, bound):
        guess -= 1
    while _power_below(ratio, guess + 1, bound):
        guess += 1
    return guess


def _power_below(ratio: Fraction, exponent: int, bound: Fraction) -> bool:
    """Whether ratio^exponent < bound, by enclosures of 1 / ratio^exponent."""
    bits = 128
    while bits < 1 << 16:
        low, high = power_bounds(1 / ratio, exponent, bits)
        if low * bound > 1 << bits:
            return True
        if high * bound < 1 << bits:
            return False
        bits *= 4
    return ratio**exponent < bound  # equal, or as good as: decide by the numbers themselves
