"""Exact numbers: read as they are written, counted in ticks, and enclosed by integers.

A float would round what an operator wrote before any rule could look at it, so every number (`0.25`) and
every duration (`11m`, `90s`, `1h30m`, `500ms`) is read as a decimal and kept as a fraction; durations are
fractions of seconds.

A tick is the clock's unit: all law is integer in it. A moment is rounded *up* to its tick: rounding up is
monotone and commutes with whole ticks, so a gap of at most g becomes a gap of at most `ticks_up(g)`
ticks and never one more.

Exponentials and long powers are answered with scaled integers that are proved to lie on either side of the
true value, so a caller can round against itself, or ask for more bits until the two sides agree: no float
decides whether a promise holds.
"""

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import log, log1p
from typing import TypeVar

from tarry.core.errors import BadInput

__all__ = [
    "Duration",
    "Number",
    "exceeds_exp",
    "exp_bounds",
    "exp_floor",
    "exp_upper",
    "format_duration",
    "json_number",
    "log_of",
    "parse_duration",
    "parse_number",
    "power_bounds",
    "ratio_below",
    "settle",
    "ticks_up",
    "whole_powers",
]

#: What is read as a number, and as a duration: text, or something exact already.
Number = str | int | Decimal | Fraction
Duration = str | Fraction

UNITS = {
    "w": Fraction(604_800),
    "d": Fraction(86_400),
    "h": Fraction(3_600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 1_000),
    "us": Fraction(1, 1_000_000),
}
LONGEST = 36_525 * UNITS["d"]
_PART = re.compile(r"(\d+(?:\.\d+)?)([a-z]+)", re.ASCII)
_EXAMPLE = "write it like 90s, 11m, 1h30m or 500ms"
# Longer texts are never a number a person meant, and reading them would cost time for nothing.
_LONGEST_TEXT = 40
_GUARD = 32
T = TypeVar("T")


def parse_number(value: Number, what: str = "number") -> Fraction:
    """The exact value of a decimal number; text, `int`, `Decimal` and `Fraction` are read.

    >>> parse_number("0.1")
    Fraction(1, 10)
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        raise BadInput(
            f"{what} must be a decimal number, not {value!r} ({type(value).__name__})",
            'give it as text such as "0.5", an int or a Decimal',
        )
    if isinstance(value, int) and abs(value) >= 10**_LONGEST_TEXT:  # some are too long to write out
        digits = value.bit_length() * 3 // 10
        raise BadInput(f"{what} must have at most {_LONGEST_TEXT} digits, not about {digits}")
    text = str(value).strip()
    _check_length(text, what)
    try:
        number = Decimal(text.encode("ascii", "replace").decode())  # Decimal reads digits of any script
    except InvalidOperation:
        raise BadInput(f"{what} must be a decimal number, not {text!r}", "write it like 0.5 or 2") from None
    if not (number.is_finite() and abs(number.adjusted()) <= _LONGEST_TEXT):
        raise BadInput(f"{what} must be a finite number of ordinary size, not {text!r}")
    return Fraction(number)


def parse_duration(text: Duration, what: str = "duration") -> Fraction:
    """The exact number of seconds in a duration such as `1h30m`.

    Each number carries its unit (w, d, h, m, s, ms, us), larger units first, each at most once.

    >>> parse_duration("1h30m"), parse_duration("500ms")
    (Fraction(5400, 1), Fraction(1, 2))
    """
    if isinstance(text, Fraction):
        seconds = text
    elif isinstance(text, str):
        text = text.strip()
        seconds = _sum_parts(text, what)
    else:
        raise BadInput(f"{what} must be text with a unit, not {text!r}", _EXAMPLE)
    if seconds < 0:
        raise BadInput(f"{what} must be 0s or longer, not {text}", _EXAMPLE)
    if (seconds * 1_000_000).denominator != 1:
        raise BadInput(f"{what} must be a whole number of microseconds, not {text}")
    if seconds > LONGEST:
        raise BadInput(f"{what} must be at most 36525d (a century), not {text}")
    return seconds


def format_duration(seconds: Fraction | int) -> str:
    """A duration as a person writes it; `parse_duration` reads it back exactly.

    >>> format_duration(Fraction(5400)), format_duration(Fraction(1, 2)), format_duration(0)
    ('1h30m', '500ms', '0s')
    """
    left = Fraction(seconds)
    if left < 0 or (left * 1_000_000).denominator != 1:
        return f"{float(left):.6g}s"
    parts = []
    for unit, size in UNITS.items():
        count = left // size
        if count and unit != "w":
            parts.append(f"{count}{unit}")
            left -= count * size
    return "".join(parts) or "0s"


def json_number(value: object) -> object:
    """What JSON has for an exact number, for `json.dumps(default=...)`.

    >>> json_number(Fraction(3)), json_number(Fraction(1, 4))
    (3, 0.25)
    """
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def ticks_up(seconds: Fraction | int, tick: Fraction) -> int:
    """The number of ticks that covers a duration, or the tick a moment belongs to.

    >>> ticks_up(Fraction(5, 2), Fraction(1)), ticks_up(3, Fraction(1)), ticks_up(0, Fraction(1))
    (3, 3, 0)
    """
    quotient = Fraction(seconds) / tick
    return -(-quotient.numerator // quotient.denominator)


def _sum_parts(text: str, what: str) -> Fraction:
    _check_length(text, what)
    if text.startswith("-"):
        raise BadInput(f"{what} must be 0s or longer, not {text!r}", _EXAMPLE)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise BadInput(f"{what} must be numbers with units, not {text!r}", _EXAMPLE)
    total, smallest = Fraction(0), LONGEST
    for number, unit in parts:
        if unit not in UNITS:
            raise BadInput(f"{what} has the unknown unit {unit!r} in {text!r}", f"use {', '.join(UNITS)}")
        if UNITS[unit] >= smallest:
            raise BadInput(f"{what} must name larger units first, each once, not {text!r}", _EXAMPLE)
        smallest = UNITS[unit]
        total += Fraction(Decimal(number)) * UNITS[unit]
    return total


def _check_length(text: str, what: str) -> None:
    if len(text) > _LONGEST_TEXT:
        raise BadInput(f"{what} must have at most {_LONGEST_TEXT} characters, not {len(text)}")


# --- exponentials and powers ------------------------------------------------------------------------


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
