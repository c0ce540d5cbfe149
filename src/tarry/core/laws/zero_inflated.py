"""Zero-inflated uniform: the default, and the least delay of its class (Algorithm 2 on ticks).

Proof: `core/proofs/zero_inflated_uniform.md`.
"""

from fractions import Fraction
from math import isqrt

from tarry.core.law import Law, Run
from tarry.core.mechanism import Ask, LawPair

__all__ = ["support_end", "zero_inflated_pair", "zero_inflated_uniform"]


def zero_inflated_uniform(ask: Ask) -> LawPair:
    """The zero-inflated uniform pair that costs least at the asked weight.

    >>> pair = zero_inflated_uniform(Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)))
    >>> pair.batched.minimum, pair.batched.maximum
    (300, 762)
    """
    return zero_inflated_pair(ask.ratio, ask.start, support_end(ask.ratio, ask.start, ask.weight))


def zero_inflated_pair(ratio: Fraction, start: int, end: int) -> LawPair:
    """Batched uniform on start..end-1; unbatched flat on 1..end-1 with the rest of its mass on 0.

    >>> pair = zero_inflated_pair(Fraction(3, 2), start=2, end=8)
    >>> pair.unbatched.mass(0), pair.unbatched.mass(1), pair.eta
    (Fraction(2, 9), Fraction(1, 9), Fraction(8, 9))
    """
    flat = 1 / (ratio * (end - start))
    return LawPair(
        batched=Law((Run(start, Fraction(0)), Run(end - start, Fraction(1, end - start)))),
        unbatched=Law((Run(1, 1 - (end - 1) * flat), Run(end - 1, flat))),
        start=start,
        eta=end * flat,
    )


def support_end(ratio: Fraction, start: int, weight: Fraction) -> int:
    """The end of the support (exclusive) with the least weighted mean delay.

    The cost is convex in the end, and stepping from end - start = m to m + 1 does not pay once
    m(m+1)(w R + 1 - w) >= (1 - w) G (G - 1); the mass at 0 needs m >= G / (R - 1).

    >>> from tarry.core.exact import ratio_below
    >>> support_end(ratio_below(Fraction(1)), 300, Fraction(1, 4))
    517
    """
    needed = -(-start // (ratio - 1))
    worth = (1 - weight) * start * (start - 1) / (weight * ratio + 1 - weight)
    # the least m with m(m+1) >= worth: from the root of the whole part, then one exact look
    least = max(1, (isqrt(4 * (worth.numerator // worth.denominator) + 1) - 1) // 2)
    while least * (least + 1) < worth:
        least += 1
    return start + max(needed, least)
