"""Two steps: a law whose delays are short more often than long, in two heights.

Unbatched acts wait one of two steps of equal length s, the first twice as likely as the second. Batched
acts follow the same law, given that they wait at least G ticks.

Why it keeps the promise. Let U be the unbatched delay, R at most e^share, and s at least G. A batched delay
k has mass P(U = k) / P(U >= G) where k >= G, and none below. For a shift l of 0 to G ticks, k - l is not
negative, and masses fall, so P(U = k - l) >= P(U = k). It is enough that 1 / P(U >= G) <= R. G ticks of the
first step have the mass 2 G / (3 s), so P(U >= G) = 1 - 2 G / (3 s), and this is at least 1 / R just when
s >= 2 G R / (3 (R - 1)).
"""

from fractions import Fraction

from tarry import Ask, Law, LawPair, Run

__all__ = ["two_step"]


def two_step(ask: Ask) -> LawPair:
    """Delays in two steps, with the shortest steps that are private.

    >>> pair = two_step(Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)))
    >>> pair.unbatched.maximum, pair.unbatched.mass(0) == 2 * pair.unbatched.mass(pair.unbatched.maximum)
    (1017, True)
    """
    needed = 2 * ask.ratio * ask.start / (3 * (ask.ratio - 1))
    step = max(1, ask.start, -(-needed // 1))  # rounded up: longer steps are more private
    unbatched = Law((Run(step, Fraction(2, 3 * step)), Run(step, Fraction(1, 3 * step))))
    return LawPair(batched=unbatched.from_tick(ask.start), unbatched=unbatched, start=ask.start)
