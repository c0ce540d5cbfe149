"""The same-recipient attack of the paper's Bitcoin study, basic and informed.

The target is the spending address, and the receiving address stands for the actor: whoever watches the
chain sees both, and claims that two payments to one address come from one owner when they appear close
together. Close is the same for all (basic) or relative to how often the address is paid (informed).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray
from tarry.study.attack.cutoff import Truth
from tarry.study.pairs import LONGEST, pairs_within_groups, pairs_within_own_limits
from tarry.study.score import Score
from tarry.study.table import EventTable

__all__ = ["informed_attack", "recipient_attack", "recipient_gaps"]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Groups:
    """Rows by recipient, and by recipient and spender: pairs of the second kind are no candidates."""

    recipient: IntArray
    both: IntArray
    candidates: int


def recipient_attack(truth: Truth, seen: IntArray, cutoffs: Sequence[int]) -> list[Score]:
    """Claim pairs with one recipient, seen at most a cutoff apart.

    Candidates are the pairs with one recipient and different spenders.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["shop"] * 3, target=["x", "y", "z"], time=[0, 5, 60])
    >>> recipient_attack(Truth(table=table, window=10), table.time, [60])[0].counts
    Counts(true_positives=1, false_positives=2, false_negatives=0, true_negatives=0)
    """
    groups = _groups(truth.table)
    close = pairs_within_groups(groups.recipient, seen, cutoffs)
    not_candidates = pairs_within_groups(groups.both, seen, cutoffs)
    found = truth.near.shown_within(seen, cutoffs)
    return [
        Score(cutoff=cutoff, counts=truth.counts(linked, total - none, groups.candidates))
        for cutoff, linked, total, none in zip(cutoffs, found, close, not_candidates, strict=True)
    ]


def informed_attack(
    truth: Truth, seen: IntArray, multiples: Sequence[Fraction], gaps: IntArray
) -> list[Score]:
    """The same with a cutoff for each recipient: a multiple of its own gap (`gaps`, one a row).

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["shop"] * 3, target=["x", "y", "z"], time=[0, 5, 60])
    >>> gaps = np.full(3, 10)
    >>> informed_attack(Truth(table=table, window=10), table.time, [Fraction(1, 2)], gaps)[0].counts
    Counts(true_positives=1, false_positives=0, false_negatives=0, true_negatives=2)
    """
    groups = _groups(truth.table)
    distinct, place = np.unique(gaps, return_inverse=True)
    limits = [_limits(multiple, distinct)[place] for multiple in multiples]
    close = pairs_within_own_limits(groups.recipient, seen, limits)
    not_candidates = pairs_within_own_limits(groups.both, seen, limits)
    found = [truth.near.shown_within_own(seen, limit) for limit in limits]
    return [
        Score(
            cutoff=int(np.median(limit)) if len(limit) else 0,
            multiple=float(multiple),
            counts=truth.counts(linked, total - none, groups.candidates),
        )
        for multiple, limit, linked, total, none in zip(
            multiples, limits, found, close, not_candidates, strict=True
        )
    ]


def recipient_gaps(table: EventTable, window: int, default: int) -> IntArray:
    """For each row, the median gap between its recipient's payments, those within the window left out.

    Microseconds; `default` where a recipient has no such gap.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[7, 7, 7, 8], target=[1, 2, 3, 1], time=[0, 1, 9, 0])
    >>> recipient_gaps(table, window=2, default=5).tolist()
    [8, 8, 8, 5]
    """
    gap, rank = np.diff(table.time), table.actor_rank
    counts = (rank[1:] == rank[:-1]) & (gap > window)
    order = np.lexsort((gap[counts], rank[1:][counts]))
    owner, ordered = rank[1:][counts][order], gap[counts][order]
    starts = np.searchsorted(owner, np.arange(table.actors))
    ends = np.searchsorted(owner, np.arange(table.actors), side="right")
    middle = np.minimum((starts + ends) // 2, max(len(ordered) - 1, 0))
    known = ends > starts
    gaps = np.where(known, ordered[middle] if len(ordered) else default, default)
    return gaps[rank]


def _groups(table: EventTable) -> _Groups:
    order = np.lexsort((table.target, table.actor))
    new = np.zeros(len(table), dtype=np.int64)
    new[1:] = (np.diff(table.actor[order]) != 0) | (np.diff(table.target[order]) != 0)
    both = np.empty(len(table), dtype=np.int64)
    both[order] = np.cumsum(new)
    candidates = _pairs(table.actor_rank) - _pairs(both)
    return _Groups(recipient=table.actor_rank, both=both, candidates=candidates)


def _pairs(groups: IntArray) -> int:
    sizes = np.bincount(groups) if len(groups) else np.zeros(0, dtype=np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def _limits(multiple: Fraction, gaps: IntArray) -> IntArray:
    if multiple < 0:
        raise BadInput("a multiple of the gap", "is not negative", found=float(multiple))
    # Python's own integers: a fine multiple of a long gap does not fit into 64 bits on its way.
    exact = [int(gap) * multiple.numerator // multiple.denominator for gap in gaps]
    return np.array([min(limit, LONGEST) for limit in exact], dtype=np.int64)
