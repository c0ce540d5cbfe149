"""Label-free (epsilon, delta): one law for every event, no labels, no hold, a small chance delta.

Proof: `core/proofs/label_free.md`.
"""

from fractions import Fraction
from math import log1p

from tarry.core.errors import NotPossible, require
from tarry.core.law import Law, Run
from tarry.core.mechanism import Ask, LabelFree, LawPair

__all__ = ["LABEL_FREE", "label_free", "label_free_law"]

_MOST_BLOCKS = 1000


def label_free(ask: Ask) -> LawPair:
    """The same law for batched and unbatched events.

    >>> ask = Ask(share=Fraction(1), start=20, weight=Fraction(1), delta=Fraction(1, 100))
    >>> label_free(ask).unbatched.maximum
    101
    """
    require(
        ask.delta, "delta must be above 0 for the label-free law, not 0", "try a small chance such as 0.001"
    )
    law = label_free_law(ask.ratio, ask.start, ask.delta)
    return LawPair(batched=law, unbatched=law, start=ask.start)


def label_free_law(ratio: Fraction, start: int, delta: Fraction) -> Law:
    """Block j of `start` ticks carries delta * ratio^j, from the left until the total is 1.

    >>> label_free_law(Fraction(2), start=2, delta=Fraction(1, 4)).cumulative(1)
    Fraction(1, 4)
    """
    growth = float(ratio - 1)
    if (blocks := log1p(growth / float(delta)) / log1p(growth)) > _MOST_BLOCKS:
        raise NotPossible(
            f"the label-free law would need {blocks:.0f} steps, and {_MOST_BLOCKS} is the most: "
            "choose a larger epsilon or delta"
        )
    runs, block, left = [], delta, Fraction(1)
    while block <= left:
        runs.append(Run(start, block / start))
        left -= block
        block *= ratio
    each = block / start
    if ticks := left // each:
        runs.append(Run(ticks, each))
        left -= ticks * each
    if left:
        runs.append(Run(1, left))
    return Law(tuple(runs))


#: What a policy names: a law for which nobody needs labels.
LABEL_FREE = LabelFree(label_free)
