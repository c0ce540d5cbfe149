"""How many pairs of events lie close together: exact integers, without ever making a pair table."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from tarry.core.errors import BadInput
from tarry.core.history import row_order
from tarry.core.lanes import IntArray
from tarry.study import kernels

__all__ = [
    "LONGEST",
    "UNITS",
    "Near",
    "common_unit",
    "near",
    "one_after_another",
    "pairs_within",
    "pairs_within_groups",
    "pairs_within_own_limits",
    "side_by_side",
]

T = TypeVar("T")

#: Microseconds: whole minutes, seconds, milliseconds.
UNITS = (60_000_000, 1_000_000, 1_000)
_DENSE = 2  # a table of counts pays while it is at most so many times as long as the events
_FAR = 1 << 62
#: No two times are further apart, in microseconds.
LONGEST = 1 << 61
# One look at a pair costs about as much as this part of a step down the tree of `near_in_block`.
_LOOKS_A_STEP = 4


def pairs_within(times: IntArray, limits: Sequence[int]) -> list[int]:
    """How many unordered pairs of times are at most each limit apart.

    >>> pairs_within(np.array([3, 1, 9, 1]), [0, 2, 100])
    [1, 3, 6]
    """
    if not len(times) or not limits:
        return [0] * len(limits)
    unit = common_unit(times)
    away, bounds = (times - times.min()) // unit, _in_units(limits, unit)
    totals = np.zeros(len(bounds), dtype=np.int64)
    if (span := int(away.max()) + 1) <= _DENSE * len(away):
        kernels.add_dense(away, span, bounds, totals)
    else:
        away.sort()
        kernels.add_sorted(away, bounds, totals)
    return [int(total) for total in totals]


def pairs_within_groups(groups: IntArray, times: IntArray, limits: Sequence[int]) -> list[int]:
    """The same for pairs inside one group; groups are numbered 0, 1, 2, ...

    >>> pairs_within_groups(np.array([0, 1, 0, 1]), np.array([3, 1, 9, 1]), [0, 2, 100])
    [1, 1, 2]
    """
    if not len(times) or not limits:
        return [0] * len(limits)
    unit = common_unit(times)
    away, bounds = (times - times.min()) // unit, _in_units(limits, unit)
    # One number for group and time: groups so far apart that no limit reaches from one to the next.
    stride = int(away.max()) + int(bounds.max()) + 1
    if stride * (int(groups.max()) + 1) < _FAR:
        away += groups * stride
        away.sort()
        return _halves(lambda some, totals: kernels.add_sorted(away, some, totals), bounds)
    order = row_order(groups, away)
    ordered, together = away[order], groups[order]
    return _halves(
        lambda some, totals: kernels.add_sorted_groups(together, ordered, some[:, None], totals), bounds
    )


def pairs_within_own_limits(groups: IntArray, times: IntArray, limits: Sequence[IntArray]) -> list[int]:
    """Pairs inside one group at most the group's own limit apart; each limit has one value a row.

    >>> one_each = [np.array([6, 0, 6, 0])]
    >>> pairs_within_own_limits(np.array([0, 1, 0, 1]), np.array([3, 1, 9, 2]), one_each)
    [1]
    """
    order = row_order(groups, times)
    together, ordered = groups[order], times[order]
    totals = np.zeros(len(limits), dtype=np.int64)
    for k, limit in enumerate(limits):
        kernels.add_sorted_groups(together, ordered, limit[order][None, :], totals[k : k + 1])
    return [int(total) for total in totals]


@dataclass(frozen=True, kw_only=True, eq=False)
class Near:
    """Pairs of one actor's events on different targets whose arrivals are at most a window apart.

    >>> actor, target, time = np.zeros(3, dtype=int), np.array([1, 2, 2]), np.array([0, 3, 9])
    >>> near(actor, target, time, window=5).total
    1
    """

    target: IntArray  # rows sorted by actor and time
    ends: IntArray  # for each row, the first later one outside its actor or window
    starts: IntArray  # the first row of each actor, and one past the last row
    time: IntArray  # arrivals
    window: int

    @cached_property
    def total(self) -> int:
        """How many such pairs there are: as many as would be seen if all were shown at one moment."""
        return self.shown_within(np.zeros(len(self.ends), dtype=np.int64), [0])[0]

    def shown_within(self, shown: IntArray, limits: Sequence[int]) -> list[int]:
        """How many of these pairs are shown at most each limit apart.

        >>> actor, target, time = np.zeros(3, dtype=int), np.array([1, 2, 2]), np.array([0, 3, 9])
        >>> near(actor, target, time, window=9).shown_within(np.array([5, 1, 6]), [1, 4])
        [1, 2]
        """
        if not limits:
            return []
        bounds = np.array(sorted(set(limits)), dtype=np.int64)
        totals = np.zeros(len(bounds), dtype=np.int64)
        alike = self._waits_alike(shown)
        crowds = self._crowded(1 if alike else len(bounds))
        first = 0
        for start, end in crowds:
            kernels.add_near(self.target, shown, self.ends, first, start, bounds, totals)
            first = end
        kernels.add_near(self.target, shown, self.ends, first, len(shown), bounds, totals)
        totals = np.cumsum(totals)
        for start, end in crowds:
            totals += self._in_crowd_within(shown, start, end, bounds)
        by_limit = dict(zip(bounds.tolist(), totals.tolist(), strict=True))
        return [by_limit[limit] for limit in limits]

    def shown_within_own(self, shown: IntArray, limits: IntArray) -> int:
        """How many are shown at most the actor's own limit apart; one limit a row.

        >>> actor, target, time = np.zeros(3, dtype=int), np.array([1, 2, 2]), np.array([0, 3, 9])
        >>> near(actor, target, time, window=9).shown_within_own(np.array([5, 1, 6]), np.full(3, 4))
        2
        """
        total, first = 0, 0
        for start, end in self._crowded(1):
            total += kernels.near_own(self.target, shown, self.ends, first, start, limits)
            total += self._in_crowd(shown, start, end, int(limits[start]))
            first = end
        return total + kernels.near_own(self.target, shown, self.ends, first, len(shown), limits)

    @cached_property
    def crowd_steps(self) -> int:
        """What it costs to count the pairs of crowded actors once, in steps down a tree."""
        sizes = np.array([end - start for start, end in self._crowded(1)], dtype=np.float64)
        return int((sizes * np.log2(sizes + 1)).sum())

    def _crowded(self, limits: int) -> list[tuple[int, int]]:
        """The actors with so many close pairs that the tree is quicker than one look at each."""
        sizes = np.diff(self.starts)
        if not len(sizes):
            return []
        looks = np.add.reduceat(self.ends - np.arange(len(self.ends)) - 1, self.starts[:-1])
        steps = sizes * limits * np.log2(sizes + 1) * _LOOKS_A_STEP
        which = np.flatnonzero(looks > steps)
        return list(zip(self.starts[which].tolist(), self.starts[which + 1].tolist(), strict=True))

    def _waits_alike(self, shown: IntArray) -> bool:
        """Whether all wait equally long, as where nothing is done."""
        return bool(len(shown)) and bool((shown - self.time == shown[0] - self.time[0]).all())

    def _in_crowd_within(self, shown: IntArray, start: int, end: int, limits: IntArray) -> list[int]:
        """Pairs of one actor within each limit; beyond what delays can do, all are."""
        delay = shown[start:end] - self.time[start:end]
        reach = self.window + int(delay.max() - delay.min())
        if reach == self.window:  # all wait alike: what was close appears close, and nothing else
            nearest, rows = [min(int(limit), reach) for limit in limits], slice(start, end)
            targets = np.unique(self.target[rows], return_inverse=True)[1]
            on_one = pairs_within_groups(targets, self.time[rows], nearest)
            return [a - b for a, b in zip(pairs_within(self.time[rows], nearest), on_one, strict=True)]
        within = [self._in_crowd(shown, start, end, int(limit)) for limit in limits[limits < reach]]
        beyond = len(limits) - len(within)
        return within + [self._in_crowd(shown, start, end, reach)] * beyond if beyond else within

    def _in_crowd(self, shown: IntArray, start: int, end: int, limit: int) -> int:
        """All pairs of one actor, without those on one target."""
        total = kernels.near_in_block(shown[start:end], self.ends[start:end] - start, limit)
        order = np.argsort(self.target[start:end], kind="stable") + start
        target = self.target[order]
        group = np.cumsum(np.diff(target, prepend=target[:1]) != 0) * len(self.ends)
        # All targets in one go, behind each other: rows of the next are out of reach.
        ends = np.searchsorted(group + order, group + self.ends[order])
        return total - kernels.near_in_block(shown[order], ends, limit)


def near(actor: IntArray, target: IntArray, time: IntArray, window: int) -> Near:
    """The pairs that are truly one person's, for rows sorted by actor and time.

    >>> near(np.array([1, 1, 2]), np.array([5, 6, 7]), np.array([0, 1, 1]), window=1).total
    1
    """
    if not len(actor):
        empty = np.zeros(0, dtype=np.int64)
        return Near(target=target, ends=empty, starts=np.zeros(1, dtype=np.int64), time=time, window=window)
    ends = kernels.reaches(actor, time, window)
    starts = np.flatnonzero(np.concatenate(([True], actor[1:] != actor[:-1], [True])))
    return Near(target=target, ends=ends, starts=starts, time=time, window=window)


def common_unit(times: IntArray) -> int:
    """The largest of minute, second, millisecond and microsecond that all differences are made of.

    >>> common_unit(np.array([5, 1_000_005])), common_unit(np.array([5, 6]))
    (1000000, 1)
    """
    start = times[0]
    for unit in UNITS:
        # A look at a few spares one at all where the unit is wrong.
        if not ((times[:1000] - start) % unit).any() and not ((times - start) % unit).any():
            return unit
    return 1


_AT_ONCE = [os.cpu_count() or 1]


def one_after_another() -> None:
    """From now on jobs of this process do not run at once: it is one of several that share the processors.

    >>> one_after_another.__name__
    'one_after_another'
    """
    _AT_ONCE[0] = 1


def side_by_side(*jobs: Callable[[], T]) -> list[T]:
    """The results of jobs that run at once on this machine's processors.

    >>> side_by_side(lambda: 1, lambda: 2)
    [1, 2]
    """
    if _AT_ONCE[0] == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(max_workers=min(len(jobs), _AT_ONCE[0])) as pool:
        return [future.result() for future in [pool.submit(job) for job in jobs]]


def _in_units(limits: Sequence[int], unit: int) -> IntArray:
    if any(limit < 0 for limit in limits):
        raise BadInput(f"a cutoff must be at least 0, not {min(limits)} microseconds")
    return np.array([min(limit // unit, LONGEST) for limit in limits], dtype=np.int64)


def _halves(count: Callable[[IntArray, IntArray], None], limits: IntArray) -> list[int]:
    """Count for every other limit on one processor, for the rest on another."""
    totals = np.zeros(len(limits), dtype=np.int64)
    parts = [np.zeros(len(limits[k::2]), dtype=np.int64) for k in (0, 1)]
    side_by_side(*(lambda k=k: count(limits[k::2], parts[k]) for k in (0, 1)))
    for k in (0, 1):
        totals[k::2] = parts[k]
    return [int(total) for total in totals]
