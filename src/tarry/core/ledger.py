"""What has been spent: what a person's batched events together may have told.

Under most laws each batched event costs the same share, and the ledger is a plain count. Under a policy for
a season the accountant says what a number of events costs: less than their sum, because losses cancel.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from tarry.core.history import History, in_rows
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.policy import LabelRule
from tarry.core.promise import MEANINGLESS, Promise
from tarry.core.season import Accountant, Season, composed_epsilon, on_ladder

__all__ = ["LedgerLine", "ledger", "ledger_line", "linking_cost", "pseudonym_ledger", "total_line"]

Name = TypeVar("Name", int | str, tuple[int | str, int | str])
#: A step of the ladder never costs more than this, as a factor.
_DOUBTFUL = Fraction(6, 5)


@dataclass(frozen=True)
class LedgerLine:
    """How many batched events someone has, and what that may have cost.

    >>> LedgerLine(batched_events=2, nats=Fraction(1, 2), beyond=False).nats
    Fraction(1, 2)
    """

    batched_events: int
    nats: Fraction  # in a season: but for its delta
    beyond: bool  # more than the promise is for: little is left against somebody who watches throughout


def ledger_line(promise: Promise, batched_events: int, *, exact: bool = False) -> LedgerLine:
    """What so many batched events of one person may have cost under one policy.

    >>> from tarry.core.policy import Policy
    >>> from tarry.core.promise import promise
    >>> ledger_line(promise(Policy(epsilon="0.5", gap="11m")), 40)
    LedgerLine(batched_events=40, nats=Fraction(10, 1), beyond=True)
    """
    return LedgerLine(
        batched_events, promise.loss(batched_events, exact=exact), batched_events > promise.covers
    )


def total_line(counts: Mapping[Promise, int]) -> LedgerLine:
    """The same over several policies: a season does not begin anew because a policy does.

    What was spent under one policy is a factor to what was spent under the others. It is beyond a season
    if all of it together costs more than that season allows.

    >>> from tarry.core.policy import Policy
    >>> from tarry.core.promise import promise
    >>> old, new = (promise(Policy(epsilon=epsilon, gap="11m")) for epsilon in ("1", "2"))
    >>> total_line({old: 2, new: 3})
    LedgerLine(batched_events=5, nats=Fraction(4, 1), beyond=True)
    """
    counts = {promise: count for promise, count in counts.items() if count}
    if len(counts) <= 1:
        return next(
            (ledger_line(*item) for item in counts.items()), LedgerLine(0, Fraction(0), beyond=False)
        )
    events = sum(counts.values())
    seasons = [promise.season for promise in counts if promise.season is not None]
    if not seasons:
        nats = sum((promise.loss(count) for promise, count in counts.items()), Fraction(0))
        return LedgerLine(events, nats, nats > MEANINGLESS)
    parts = [(promise.accountant, count) for promise, count in counts.items()]
    costs = {season: _cost(parts, season) for season in seasons}
    return LedgerLine(
        events, max(costs.values()), beyond=any(cost > season.epsilon for season, cost in costs.items())
    )


def _cost(parts: Sequence[tuple[Accountant, int]], season: Season) -> Fraction:
    """By the ladder; and by the counts themselves where the ladder could make the difference."""
    cost = composed_epsilon([(accountant, on_ladder(count)) for accountant, count in parts], season.delta)
    if season.epsilon < cost < _DOUBTFUL * season.epsilon:
        return composed_epsilon(parts, season.delta)
    return cost


def ledger(promise: Promise, history: History, batched: BoolArray) -> dict[int | str, LedgerLine]:
    """What each actor has spent under a promise.

    >>> from tarry.core.policy import Policy
    >>> from tarry.core.promise import promise
    >>> h = History(actor=["ann", "ann", "bob"], target=[1, 2, 1], time=[0, 0, 0])
    >>> ledger(promise(Policy(epsilon="1", gap="11m")), h, np.array([True, True, False]))["ann"]
    LedgerLine(batched_events=2, nats=Fraction(1, 1), beyond=False)
    """
    distinct, counts = np.unique(history.actors[batched], return_counts=True)
    return _lines(promise, dict(zip(distinct.tolist(), counts.tolist(), strict=True)))


def pseudonym_ledger(
    promise: Promise,
    history: History,
    ticks: IntArray,
    batched: BoolArray,
    window: int,
    *,
    rule: LabelRule = "held",
) -> dict[tuple[int | str, int | str], LedgerLine]:
    """What each pseudonym, an actor on one target, has spent.

    It pays for its own batched events, and for batched events elsewhere whose only partners are its
    own: those would lose their label with it. Under the follower rule only earlier events are partners.

    >>> from tarry.core.policy import Policy
    >>> from tarry.core.promise import promise
    >>> claim, h = (
    ...     promise(Policy(epsilon="1", gap="11m")),
    ...     History(actor=[1, 1], target=[7, 8], time=[0, 0]),
    ... )
    >>> both = np.array([True, True])
    >>> pseudonym_ledger(claim, h, np.zeros(2, dtype=np.int64), both, 0)[1, 7].batched_events
    2
    """
    actor, target = history.actor_ids, history.target_ids
    rows = np.flatnonzero(batched)
    dependent, owner = _sole_partners(history, ticks, rows, window, backwards=rule == "follower")
    paid = np.concatenate(
        [
            np.stack([actor[rows], target[rows], rows], axis=1),
            np.stack([actor[dependent], target[owner], owner], axis=1),
        ]
    )
    _, first, counts = np.unique(paid[:, :2], axis=0, return_index=True, return_counts=True)
    named = paid[first, 2]
    names = zip(history.actors[named].tolist(), history.targets[named].tolist(), strict=True)
    return _lines(promise, dict(zip(names, counts.tolist(), strict=True)))


def linking_cost(one: LedgerLine, other: LedgerLine) -> LedgerLine:
    """What "these two pseudonyms are one person" may have gained in odds: the smaller of the two ledgers.

    All acts of either pseudonym may be given to somebody else, so the cheaper story bounds the claim. It
    bounds these two stories alone: who else is active on the same days is another question.

    >>> small = LedgerLine(2, Fraction(1, 2), beyond=False)
    >>> linking_cost(LedgerLine(40, Fraction(10), beyond=True), small) == small
    True
    """
    return min(one, other, key=lambda line: line.batched_events)


def _lines(promise: Promise, counts: Mapping[Name, int]) -> dict[Name, LedgerLine]:
    lines = {count: ledger_line(promise, count) for count in sorted(set(counts.values()))}
    return {name: lines[count] for name, count in counts.items()}


def _sole_partners(
    history: History, ticks: IntArray, rows: IntArray, window: int, *, backwards: bool
) -> tuple[IntArray, IntArray]:
    """Those of the rows all of whose partners lie on one single target, and one such partner of each.

    Rows are put in order by actor and time; then the partners of a row lie in one stretch. It is enough to
    find the first row there on another target, and to count: all other targets, against that one alone.
    """
    total = len(ticks)
    order = np.lexsort((history.sequences, ticks, history.actor_ids))
    actor, target, now = history.actor_ids[order], history.target_ids[order], ticks[order]
    # One number that grows with actor and tick, with room for a window between two actors.
    time = now - now.min(initial=0)
    moment = np.unique(actor, return_inverse=True)[1] * (int(time.max(initial=0)) + 2 * window + 2) + time
    at = in_rows(order, np.arange(total))[rows]
    low = np.searchsorted(moment, moment[at] - window)
    high = at if backwards else np.searchsorted(moment, moment[at] + window, side="right")
    # The first row of the stretch, or of the run of another target behind it.
    starts = np.flatnonzero(np.diff(target, prepend=-1) | np.diff(actor, prepend=-1))
    following = np.append(starts, total)[np.searchsorted(starts, np.arange(total), side="right")]
    first = np.where(target[low] != target[at], low, following[low])
    there = first < high
    low, high, at, first = low[there], high[there], at[there], first[there]
    count = _counter(target)
    others = (high - low) - count(target[at], low, high)
    sole = others == count(target[first], low, high)
    return order[at[sole]], order[first[sole]]


def _counter(values: IntArray) -> Callable[[IntArray, IntArray, IntArray], IntArray]:
    """A function that counts how often a value stands from one place up to another, for many at once."""
    order = np.argsort(values, kind="stable")
    ranks, size = np.unique(values, return_inverse=True)[1], len(values) + 1
    keys = ranks[order] * size + order

    def count(value: IntArray, low: IntArray, high: IntArray) -> IntArray:
        rank = np.searchsorted(values[order], value)
        group = ranks[order][rank] * size
        return np.searchsorted(keys, group + high) - np.searchsorted(keys, group + low)

    return count
