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
    "Spaced",
    "common_unit",
    "later_within",
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
_LOOKS_A_STEP = 4  # so many looks at a pair cost about as much as a row of a block and a limit


@dataclass(frozen=True, eq=False)
class Spaced:
    """Times and limits as counts of their common unit, from the first time on: what all counting takes.

    >>> made = Spaced.of(np.array([3_000_000, 1_000_000, 9_000_000]), [2_500_000])
    >>> made.times.tolist(), made.limits.tolist(), made.everywhere()
    ([2, 0, 8], [2], [1])
    """

    times: IntArray
    limits: IntArray

    @classmethod
    def of(cls, times: IntArray, limits: Sequence[int]) -> "Spaced":
        """Times and limits in microseconds."""
        if not len(times):
            return cls(times, _in_units(limits, 1))
        away = times - times.min()
        for unit in UNITS:
            # A look at a few spares one at all where the unit is wrong.
            if not (away[:1000] % unit).any():
                units = away // unit  # quick, as a remainder is not
                if np.array_equal(units * unit, away):
                    return cls(units, _in_units(limits, unit))
        return cls(away, _in_units(limits, 1))

    def everywhere(self) -> list[int]:
        """How many pairs are at most each limit apart."""
        totals = np.zeros(len(self.limits), dtype=np.int64)
        if len(self.times) and len(self.limits):
            span = int(self.times.max()) + 1
            if span <= _DENSE * len(self.times):
                kernels.add_dense(self.times, span, self.limits, totals)
            else:
                kernels.add_sorted(np.sort(self.times), self.limits, totals)
        return totals.tolist()

    def inside(self, groups: IntArray) -> list[int]:
        """How many of those pairs are inside one group; groups have numbers from 0 on, best without gaps.

        >>> Spaced.of(np.array([3, 1, 9, 1]), [0, 2, 100]).inside(np.array([0, 1, 0, 1]))
        [1, 1, 2]
        """
        totals = np.zeros(len(self.limits), dtype=np.int64)
        if not len(self.times) or not len(totals):
            return totals.tolist()
        rising = np.argsort(self.limits)
        limits, counts = self.limits[rising], totals.copy()
        if self.has_room(int(groups.max()) + 1):
            keys = groups * self._stride
            keys += self.times
            keys.sort()
            kernels.add_rising(keys, limits, counts)
        else:
            order = np.lexsort((self.times, groups))
            kernels.add_sorted_groups(groups[order], self.times[order], limits[:, None], counts)
        totals[rising] = counts
        return totals.tolist()

    def has_room(self, groups: int) -> bool:
        """Whether one number can say group and time: then the pairs inside groups are counted quickly.

        >>> spaced = Spaced.of(np.array([0, 9]), [2])
        >>> spaced.has_room(10**9), spaced.has_room(10**18)
        (True, False)
        """
        return not len(self.times) or self._stride * groups < _FAR

    @cached_property
    def _stride(self) -> int:
        """Groups so far apart that no limit reaches from one to the next."""
        return int(self.times.max()) + int(self.limits.max(initial=0)) + 1


def pairs_within(times: IntArray, limits: Sequence[int]) -> list[int]:
    """How many unordered pairs of times are at most each limit apart.

    >>> pairs_within(np.array([3, 1, 9, 1]), [0, 2, 100])
    [1, 3, 6]
    """
    return Spaced.of(times, limits).everywhere()


def pairs_within_groups(groups: IntArray, times: IntArray, limits: Sequence[int]) -> list[int]:
    """The same for pairs inside one group; groups are numbered 0, 1, 2, ...

    >>> pairs_within_groups(np.array([0, 1, 0, 1]), np.array([3, 1, 9, 1]), [0, 2, 100])
    [1, 1, 2]
    """
    return Spaced.of(times, limits).inside(groups)


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
        totals, within = np.zeros_like(bounds), np.zeros_like(bounds)
        first = 0
        for start, end in self._crowded(len(bounds)):
            kernels.add_near(self.target, shown, self.ends, first, start, bounds, totals)
            within += self._in_crowd(shown, start, end, bounds)
            first = end
        kernels.add_near(self.target, shown, self.ends, first, len(shown), bounds, totals)
        totals = np.cumsum(totals) + within
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
            total += int(self._in_crowd(shown, start, end, limits[start : start + 1])[0])
            first = end
        return total + kernels.near_own(self.target, shown, self.ends, first, len(shown), limits)

    @cached_property
    def crowd_steps(self) -> int:
        """What it costs to count the pairs of crowded actors once, in steps."""
        sizes = np.array([end - start for start, end in self._crowded(1)], dtype=np.float64)
        return int((sizes * np.log2(sizes + 1)).sum())

    def _crowded(self, limits: int) -> list[tuple[int, int]]:
        """The actors with so many close pairs that counting by blocks is quicker than one look at each."""
        sizes = np.diff(self.starts)
        if not len(sizes):
            return []
        looks = np.add.reduceat(self.ends - np.arange(len(self.ends)) - 1, self.starts[:-1])
        steps = sizes * (limits + np.log2(sizes + 1)) * _LOOKS_A_STEP
        which = np.flatnonzero(looks > steps)
        return list(zip(self.starts[which].tolist(), self.starts[which + 1].tolist(), strict=True))

    def _in_crowd(self, shown: IntArray, start: int, end: int, limits: IntArray) -> IntArray:
        """All pairs of one actor within each limit, without those on one target; limits rise."""
        rows, every, on_one = slice(start, end), np.zeros_like(limits), np.zeros_like(limits)
        kernels.add_near_blocks(shown[rows], self.ends[rows] - start, limits, every)
        order = np.argsort(self.target[rows], kind="stable") + start
        target = self.target[order]
        group = np.cumsum(np.diff(target, prepend=target[:1]) != 0) * len(self.ends)
        # All targets in one go, behind each other: rows of the next are out of reach.
        ends = np.searchsorted(group + order, group + self.ends[order])
        kernels.add_near_blocks(shown[order], ends, limits, on_one)
        return every - on_one


def near(actor: IntArray, target: IntArray, time: IntArray, window: int) -> Near:
    """The pairs that are truly one person's, for rows sorted by actor and time.

    >>> near(np.array([1, 1, 2]), np.array([5, 6, 7]), np.array([0, 1, 1]), window=1).total
    1
    """
    if not len(actor):
        empty = np.zeros(0, dtype=np.int64)
        return Near(target=target, ends=empty, starts=np.zeros(1, dtype=np.int64))
    ends = kernels.reaches(actor, time, window)
    starts = np.flatnonzero(np.concatenate(([True], actor[1:] != actor[:-1], [True])))
    return Near(target=target, ends=ends, starts=starts)


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


def later_within(groups: IntArray, times: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Rows in order of group and time, and for each place the first later one outside the group or limit.

    >>> order, ends = later_within(np.array([0, 0, 1]), np.array([9, 3, 9]), 5)
    >>> order.tolist(), ends.tolist()
    ([1, 0, 2], [1, 2, 3])
    """
    order = row_order(groups, times)
    return order, kernels.reaches(groups[order], times[order], limit)


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
