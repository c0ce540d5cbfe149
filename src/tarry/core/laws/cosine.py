"""Cosine: a law for many pairs. What one act loses varies, so that the losses of a season partly cancel.

Delays are blocks of G ticks with a uniform tick inside. The masses of the blocks are integers that follow
from `blocks` and `order` by decimal arithmetic of a fixed precision: they are the same on every machine,
and the law is these integers, not an approximation of something else.

Proof: `core/proofs/cosine.md`.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from tarry.core.errors import BadInput, require
from tarry.core.law import Law, Run
from tarry.core.mechanism import Ask, LawPair, SeasonLaw

__all__ = [
    "COSINE",
    "FINEST_ORDER",
    "LEAST_BLOCKS",
    "MASS",
    "MOST_BLOCKS",
    "block_law",
    "cosine",
    "cosine_masses",
]

#: The integers of a law sum to this.
MASS = 1 << 32
LEAST_BLOCKS, MOST_BLOCKS = 3, 10_000
#: Orders are whole multiples of this, so that the exponent 1 - order is 0 or not tiny.
FINEST_ORDER = Decimal("0.01")
LEAST_ORDER, MOST_ORDER = FINEST_ORDER, Decimal(1000)
_DIGITS = 60
#: Of the context of the law, not of the caller's: the digits decide the integers.
_CONTEXT = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)


def cosine(ask: Ask) -> LawPair:
    """The cosine pair of the asked blocks and order; it takes no share, that is what it costs.

    >>> ask = Ask(share=Fraction(1), start=960, weight=Fraction(1), blocks=58, order=Decimal(3))
    >>> pair = cosine(ask)
    >>> pair.batched.minimum, pair.batched.maximum, pair.coupled
    (960, 55679, False)
    """
    if ask.blocks is None or ask.order is None:
        raise BadInput(
            "the cosine law has no blocks or no order", "give both, tarry plan --season finds them"
        )
    unbatched, batched = cosine_masses(ask.blocks, ask.order)
    return LawPair(
        batched=block_law((0, *batched), ask.start),
        unbatched=block_law(unbatched, ask.start),
        start=ask.start,
    )


def block_law(masses: Sequence[int], length: int) -> Law:
    """Blocks of so many ticks with these masses, out of their sum; every tick of a block alike.

    >>> block_law([1, 3], 2).mass(2)
    Fraction(3, 8)
    """
    total = sum(masses) * length
    return Law(tuple(Run(length, Fraction(mass, total)) for mass in masses))


@lru_cache(maxsize=512)
def cosine_masses(blocks: int, order: Decimal) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The masses of unbatched blocks 0..n-1 and of batched blocks 1..n-1, each with sum 2^32.

    Unbatched: cos^2(w (i + 1/2 - n/2)), with w tan(w n / 2) = 1 / order. Batched: the power mean, of
    exponent 1 - order, of an unbatched block and the one before it. Both are symmetric.

    >>> unbatched, batched = cosine_masses(7, Decimal(6))
    >>> unbatched[:4], unbatched == unbatched[::-1], sum(unbatched) == sum(batched) == 2**32
    ((490329438, 609371113, 689167765, 717230664), True, True)
    """
    _check(blocks, order)
    with localcontext(_CONTEXT):
        shape = _squared_cosines(blocks, _angle(blocks, order))
        means = [_mean(one, other, 1 - order) for one, other in pairwise(shape)]
        unbatched, batched = _integers(shape), _integers(means)
    require(
        unbatched[0], f"{blocks} blocks are too many for order {order}", "choose fewer, or a larger order"
    )
    return unbatched, batched


def _check(blocks: int, order: Decimal) -> None:
    require(
        LEAST_BLOCKS <= blocks <= MOST_BLOCKS,
        f"blocks must be between {LEAST_BLOCKS} and {MOST_BLOCKS}, not {blocks}",
    )
    require(
        LEAST_ORDER <= order <= MOST_ORDER and not order % FINEST_ORDER,
        f"order must be between {LEAST_ORDER} and {MOST_ORDER} in steps of {FINEST_ORDER}, not {order}",
        "2 to 6 is usual",
    )


def _angle(blocks: int, order: Decimal) -> Decimal:
    """w, by bisection: x = w n / 2 lies in 0..pi/2, where 2 order x sin x - n cos x grows through 0."""
    low, high = Decimal(0), Decimal("1.6")
    # Four halvings are more than a digit; beyond pi/2 the difference is positive too.
    for _ in range(4 * _DIGITS):
        x = (low + high) / 2
        cosine_x, sine_x = _cosine_and_sine(x)
        low, high = (low, x) if 2 * order * x * sine_x > blocks * cosine_x else (x, high)
    return 2 * low / blocks


def _squared_cosines(blocks: int, angle: Decimal) -> list[Decimal]:
    """cos^2 of angle times the distance from the middle, for each block: (1 + cos 2y) / 2 without the half.

    From the middle outwards by cos((k + 1) z) = 2 cos z cos(kz) - cos((k - 1) z).
    """
    step, _ = _cosine_and_sine(2 * angle)
    if blocks % 2:
        before, now = step, Decimal(1)  # distances 1 and 0
    else:
        before = now = _cosine_and_sine(angle)[0]  # distances -1/2 and 1/2
    half = []
    for _ in range((blocks + 1) // 2):
        half.append(1 + now)
        before, now = now, 2 * step * now - before
    return [*reversed(half), *half[blocks % 2 :]]


def _cosine_and_sine(x: Decimal) -> tuple[Decimal, Decimal]:
    """By their series, for 0 <= x < 2 pi."""
    sums, term, n = [Decimal(1), Decimal(0)], Decimal(1), 0
    tiny = Decimal(10) ** -(_DIGITS + 5)
    while abs(term) > tiny:
        n += 1
        term = term * x / n
        sums[n % 2] += -term if n % 4 in {2, 3} else term
    return sums[0], sums[1]


def _mean(one: Decimal, other: Decimal, exponent: Decimal) -> Decimal:
    """The power mean of two masses, but for a common factor; the geometric one for exponent 0."""
    if not exponent:
        return (one * other).sqrt()
    powers = [(exponent * each.ln()).exp() for each in (one, other)]
    return (((powers[0] + powers[1]) / 2).ln() / exponent).exp()


def _integers(shape: Sequence[Decimal]) -> tuple[int, ...]:
    """In proportion and rounded down; what is left to 2^32 goes to the middle, so they stay symmetric."""
    total = sum(shape)
    masses = [int(MASS * mass / total) for mass in shape]
    left, size = MASS - sum(masses), len(masses)
    for middle in {(size - 1) // 2, size // 2}:
        masses[middle] += left // (2 - size % 2)
    return tuple(masses)


#: What a policy names.
COSINE = SeasonLaw(cosine)
