"""Staircase: one side of Geng and Viswanath's law, made exact on ticks.

Proof: `core/proofs/staircase.md`.
"""

from bisect import bisect_left
from fractions import Fraction

from tarry.core.law import Law, Run
from tarry.core.mechanism import Ask, LawPair, shifted_pair

__all__ = ["staircase", "staircase_pair"]


def staircase(ask: Ask) -> LawPair:
    """The staircase pair whose first step is as long as costs least.

    >>> pair = staircase(Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)))
    >>> pair.batched.minimum, pair.batched.maximum
    (300, None)
    """
    return staircase_pair(ask.ratio, ask.start, _best_step(ask.ratio, ask.start))


def staircase_pair(ratio: Fraction, start: int, step: int) -> LawPair:
    """Unbatched: in each period of `start` ticks, `step` high ones, then lower ones by the ratio.

    >>> staircase_pair(Fraction(2), start=4, step=2).unbatched.period[0]
    Run(length=2, mass=Fraction(1, 6))
    """
    high = (ratio - 1) / (ratio * step + start - step)
    runs = [Run(step, high)]
    if step < start:
        runs.append(Run(start - step, high / ratio))
    return shifted_pair(Law((), tuple(runs), ratio), start)


def _best_step(ratio: Fraction, start: int) -> int:
    """The least h >= 1 with (R-1) h (h+1) + 2 h G >= G (G-1): it grows with h."""
    least = Fraction(start * (start - 1))
    return 1 + bisect_left(range(1, start), least, key=lambda h: (ratio - 1) * h * (h + 1) + 2 * h * start)
