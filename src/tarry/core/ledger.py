"""What has been spent: epsilon adds up over a person's batched posts, linearly.

For an observer who knows the arrival times each batched pair tells exactly its epsilon; there is no
discount for many pairs. So the ledger is a plain count.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tarry.core.history import History
from tarry.core.lanes import IntArray
from tarry.core.policy import LabelRule
from tarry.core.promise import MEANINGLESS

__all__ = ["LedgerLine", "ledger", "pseudonym_ledger"]


@dataclass(frozen=True)
class LedgerLine:
    """How many batched events someone has, and what that may have cost.

    >>> LedgerLine(2, Fraction(1, 2)).meaningless
    False
    """

    batched_events: int
    nats: Fraction

    @property
    def meaningless(self) -> bool:
        """Whether so much is spent that no meaningful promise is left against a long watch.

        >>> LedgerLine(40, Fraction(10)).meaningless
        True
        """
        return self.nats > MEANINGLESS


def ledger(
    share: Fraction, history: History, batched: npt.NDArray[np.bool_]
) -> dict[int | str, LedgerLine]:
    """What each actor has spent: the share of one event times their batched events.

    >>> h = History(actor=["ann", "ann", "bob"], target=[1, 2, 1], time=[0, 0, 0])
    >>> ledger(Fraction(1, 2), h, np.array([True, True, False]))["ann"]
    LedgerLine(batched_events=2, nats=Fraction(1, 1))
    """
    distinct, counts = np.unique(history.actors[batched], return_counts=True)
    pairs = zip(distinct.tolist(), counts.tolist(), strict=True)
    return {name: LedgerLine(count, share * count) for name, count in pairs}


def pseudonym_ledger(
    share: Fraction,
    history: History,
    ticks: IntArray,
    batched: npt.NDArray[np.bool_],
    window: int,
    *,
    rule: LabelRule = "held",
) -> dict[tuple[int | str, int | str], LedgerLine]:
    """What each pseudonym, an actor on one target, has spent.

    It pays for its own batched events, and for batched events elsewhere whose only partners are its
    own: those would lose their label with it. Under the follower rule only earlier events are partners.

    >>> h = History(actor=[1, 1], target=[7, 8], time=[0, 0])
    >>> both = np.array([True, True])
    >>> pseudonym_ledger(Fraction(1, 2), h, np.zeros(2, dtype=np.int64), both, 0)[1, 7].batched_events
    2
    """
    names = list(zip(history.actors.tolist(), history.targets.tolist(), strict=True))
    counts = Counter(names[row] for row in np.flatnonzero(batched).tolist())
    for row, owner in _sole_partners(history, ticks, batched, window, backwards=rule == "follower"):
        counts[names[row][0], names[owner][1]] += 1
    return {name: LedgerLine(count, share * count) for name, count in counts.items()}


def _sole_partners(
    history: History,
    ticks: IntArray,
    batched: npt.NDArray[np.bool_],
    window: int,
    *,
    backwards: bool,
) -> list[tuple[int, int]]:
    """(row, a partner row) for batched rows all of whose partners lie on one single target."""
    order = np.lexsort((history.sequences, ticks, history.actor_ids))
    actor, now, target = history.actor_ids[order], ticks[order], history.target_ids[order]
    partners = []
    for place in np.flatnonzero(batched[order]).tolist():
        low = place
        while low > 0 and actor[low - 1] == actor[place] and now[place] - now[low - 1] <= window:
            low -= 1
        high = place
        while (
            high + 1 < len(order)
            and actor[high + 1] == actor[place]
            and now[high + 1] - now[place] <= window
        ):
            high += 1
        near = np.arange(low, place if backwards else high + 1)
        others = near[target[near] != target[place]]
        if others.size and len(np.unique(target[others])) == 1:
            partners.append((int(order[place]), int(order[others[0]])))
    return partners
