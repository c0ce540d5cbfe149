"""An exact law of delays: which share of events waits how many ticks, as rationals.

Every law here is a *head* of runs (so many ticks, each with this mass) and, where it never ends, a
*period* of runs that repeats for ever, each time smaller by the same ratio. That is enough for the
paper's four laws, for the label-free one and for any table of masses of your own, and it lets one
sampler draw from all of them (`sampler`) and one checker decide about all of them (`verify`),
whatever the number of ticks.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, groupby
from math import lcm
from typing import Any

from tarry.core.errors import BadInput
from tarry.core.exact import power_bounds, whole_powers

__all__ = ["Final", "Law", "Mass", "Run"]


class Final:
    """Base of the classes that checking and drawing both read: nobody may derive from these.

    A subclass could answer one way when it is checked and another way when delays are drawn.

    >>> class Checked(Final):
    ...     pass
    >>> class Other(Checked):
    ...     pass
    Traceback (most recent call last):
    tarry.core.errors.BadInput: Checked must not have subclasses, not even Other: make an instance of it
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in cls.__bases__:
            if base is not Final and issubclass(base, Final):
                problem = f"{base.__name__} must not have subclasses, not even {cls.__name__}"
                raise BadInput(problem, "make an instance of it")


@dataclass(frozen=True)
class Run(Final):
    """Some ticks in a row that carry the same mass.

    >>> Run(3, Fraction(1, 6)).total
    Fraction(1, 2)
    """

    length: int  # ticks
    mass: Fraction  # of each tick

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", _exact(self.length, self.mass))

    @property
    def total(self) -> Fraction:
        """The mass of the whole run."""
        return self.length * self.mass


@dataclass(frozen=True)
class Mass:
    """The mass of one tick as coefficient / ratio^periods, so that far ticks stay cheap.

    >>> Mass(Fraction(1, 2), Fraction(2), 3).exact
    Fraction(1, 16)
    """

    coefficient: Fraction
    ratio: Fraction
    periods: int

    @property
    def exact(self) -> Fraction:
        """The mass as one fraction: long for a tick many periods out."""
        return self.coefficient / self.ratio**self.periods if self.periods else self.coefficient


@dataclass(frozen=True)
class Law(Final):
    """A law of delays in ticks: `head`, then `period` for ever, each repeat `ratio` times smaller.

    >>> die = Law((Run(1, Fraction(0)), Run(6, Fraction(1, 6))))
    >>> die.mean, die.maximum, die.quantile(Fraction(1, 2)), die.cumulative(4)
    (Fraction(7, 2), 6, 3, Fraction(2, 3))
    """

    head: tuple[Run, ...]
    period: tuple[Run, ...] = ()
    ratio: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        runs = (*self.head, *self.period)
        if any(run.length < 1 for run in runs):
            raise BadInput(f"a run must have at least one tick, not {min(run.length for run in runs)}")
        if any(run.mass < 0 for run in runs):
            raise BadInput(f"a mass must be 0 or more, not {min(run.mass for run in runs)}")
        if bool(self.period) != (self.ratio > 1) or (self.period and not any(r.mass for r in self.period)):
            raise BadInput(
                "a law without an end must have a period with some mass and a ratio above 1, "
                f"not {len(self.period)} runs and ratio {self.ratio}"
            )
        if (total := self.head_total + self.tail_total) != 1:
            raise BadInput(f"the masses of a law must sum to 1, not to {total}")

    @classmethod
    def of_masses(cls, masses: Iterable[Fraction | int]) -> "Law":
        """A law from the mass of each tick, beginning with tick 0.

        >>> Law.of_masses([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]).head
        (Run(length=1, mass=Fraction(1, 2)), Run(length=2, mass=Fraction(1, 4)))
        """
        return cls(tuple(Run(len(list(ticks)), Fraction(mass)) for mass, ticks in groupby(masses)))

    @cached_property
    def head_total(self) -> Fraction:
        """The mass of the head."""
        return sum((run.total for run in self.head), Fraction(0))

    @cached_property
    def period_total(self) -> Fraction:
        """The mass of the first period."""
        return sum((run.total for run in self.period), Fraction(0))

    @cached_property
    def tail_total(self) -> Fraction:
        """The mass of all periods together: the sum of a geometric series."""
        return self.period_total * self.ratio / (self.ratio - 1) if self.period else Fraction(0)

    @cached_property
    def head_starts(self) -> tuple[int, ...]:
        """The first tick of each run of the head, and of the tail."""
        return tuple(accumulate((run.length for run in self.head), initial=0))

    @cached_property
    def period_starts(self) -> tuple[int, ...]:
        """The first tick of each run of the period, counted from the period's start, and its length."""
        return tuple(accumulate((run.length for run in self.period), initial=0))

    @property
    def tail_start(self) -> int:
        """The first tick after the head."""
        return self.head_starts[-1]

    @property
    def period_length(self) -> int:
        """Ticks in a period, 0 for a law that ends."""
        return self.period_starts[-1]

    @cached_property
    def maximum(self) -> int | None:
        """The longest delay, or None when there is none."""
        if self.period:
            return None
        return next(
            end - 1
            for run, end in zip(reversed(self.head), reversed(self.head_starts), strict=False)
            if run.mass
        )

    @cached_property
    def minimum(self) -> int:
        """The shortest delay."""
        first_period = (self.tail_start + start for start in self.period_starts[:-1])
        runs = zip((*self.head, *self.period), (*self.head_starts[:-1], *first_period), strict=True)
        return next(start for run, start in runs if run.mass)

    @cached_property
    def mean(self) -> Fraction:
        """The expected delay in ticks.

        >>> half = Law((), (Run(1, Fraction(1, 2)),), Fraction(2))
        >>> half.mean  # 0 with 1/2, 1 with 1/4, ...
        Fraction(1, 1)
        """
        mean = _moment(self.head, self.head_starts)
        if self.period:
            each = self.ratio / (self.ratio - 1)
            mean += (_moment(self.period, self.period_starts) + self.tail_start * self.period_total) * each
            mean += self.period_length * self.period_total * each / (self.ratio - 1)
        return mean

    def mass(self, tick: int) -> Fraction:
        """The probability of exactly this delay.

        >>> Law.of_masses([Fraction(1, 3), Fraction(2, 3)]).mass(1)
        Fraction(2, 3)
        """
        return self.term(tick).exact

    def term(self, tick: int) -> Mass:
        """The mass of a tick, not multiplied out."""
        if tick < 0 or (tick >= self.tail_start and not self.period):
            return Mass(Fraction(0), Fraction(1), 0)
        if tick < self.tail_start:
            return Mass(self.head[bisect_right(self.head_starts, tick) - 1].mass, Fraction(1), 0)
        periods, offset = divmod(tick - self.tail_start, self.period_length)
        run = self.period[bisect_right(self.period_starts, offset) - 1]
        return Mass(run.mass, self.ratio, periods)

    def cumulative(self, tick: int) -> Fraction:
        """The probability of this delay or a shorter one.

        >>> Law.of_masses([Fraction(1, 3), Fraction(2, 3)]).cumulative(0)
        Fraction(1, 3)
        """
        if tick < self.tail_start:
            return _below(self.head, self.head_starts, tick + 1)
        if not self.period:
            return Fraction(1)
        periods, offset = divmod(tick - self.tail_start, self.period_length)
        left = self.tail_total - _below(self.period, self.period_starts, offset + 1)
        return 1 - left / self.ratio**periods

    def quantile(self, share: Fraction) -> int:
        """The shortest delay that at least this share of events stays within, 0 < share < 1.

        >>> Law.of_masses([Fraction(1, 3), Fraction(2, 3)]).quantile(Fraction(1, 3))
        0
        """
        if not 0 < share < 1:
            raise BadInput(f"the share of a quantile must be above 0 and below 1, not {share}")
        if share <= self.head_total:
            return _reach(self.head, self.head_starts, share)
        # What is left of the tail after j periods is tail_total / ratio^j: find the period in which it
        # falls to 1 - share, then the tick inside it.
        periods = whole_powers(self.ratio, self.tail_total / (1 - share))
        offset = self._offset(1 - share, periods) if self.period_length > 1 else 0
        return self.tail_start + periods * self.period_length + offset

    def _offset(self, left: Fraction, periods: int) -> int:
        """The tick of a period at which tail_total / ratio^periods has fallen to `left`.

        By an enclosure of the long power where that decides, and by the power itself where not.
        """
        for bits in (128, 1024):
            low, high = power_bounds(1 / self.ratio, periods, bits)
            if low:
                sums = [self.tail_total - left * Fraction(1 << bits, bound) for bound in (low, high)]
                if sums[0] > 0 and sums[1] <= self.period_total:
                    first, last = (_reach(self.period, self.period_starts, mass) for mass in sums)
                    if first == last:
                        return first
        return _reach(self.period, self.period_starts, self.tail_total - left * self.ratio**periods)

    def lows(self, first: int, last: int) -> Iterator[tuple[int, Mass]]:
        """Ticks of first..last among which the smallest mass is found.

        Later periods are smaller, so of each run of the period only its last tick in range counts.

        >>> [(k, low.exact) for k, low in Law.of_masses([Fraction(1, 4), Fraction(3, 4)]).lows(0, 1)]
        [(0, Fraction(1, 4)), (1, Fraction(3, 4))]
        """
        if first < 0 or (not self.period and last >= self.tail_start):
            outside = first if first < 0 else last
            yield outside, Mass(Fraction(0), Fraction(1), 0)
        for run, start in zip(self.head, self.head_starts, strict=False):
            if (low := max(start, first)) <= min(start + run.length - 1, last):
                yield low, Mass(run.mass, Fraction(1), 0)
        since = max(first, self.tail_start)
        for run, start in zip(self.period, self.period_starts, strict=False):
            # the last tick <= `last` that lies in this run, in whichever period
            periods, offset = divmod(last - self.tail_start - start, self.period_length)
            tick = last - max(0, offset - run.length + 1)
            if periods >= 0 and tick >= since:
                yield tick, Mass(run.mass, self.ratio, periods)

    def steps(self, end: int) -> Iterator[tuple[int, int, Mass]]:
        """The runs below `end`, in order, as (first tick, last tick, mass)."""
        for run, start in zip(self.head, self.head_starts, strict=False):
            if start < end:
                yield start, min(start + run.length, end) - 1, Mass(run.mass, Fraction(1), 0)
        start, periods = self.tail_start, 0
        while self.period and start < end:
            for run in self.period:
                if start < end:
                    yield (
                        start,
                        min(start + run.length, end) - 1,
                        Mass(run.mass, self.ratio, periods),
                    )
                start += run.length
            periods += 1

    def from_tick(self, start: int) -> "Law":
        """The law of this delay given that it is at least `start` ticks.

        >>> Law.of_masses([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]).from_tick(1).head
        (Run(length=1, mass=Fraction(0, 1)), Run(length=2, mass=Fraction(1, 2)))
        """
        nothing = (Run(start, Fraction(0)),) if start else ()
        since = start - self.tail_start
        if self.period and since >= 0 and since % self.period_length == 0:
            # A tail cut between two periods is the same tail: no long powers to divide.
            return Law(nothing, _scaled(self.period, 1 / self.tail_total), self.ratio)
        left = 1 - self.cumulative(start - 1)
        if not left:
            raise BadInput(f"the law has no delay of {start} ticks or more", "choose an earlier start")
        whole = max(self.tail_start, start)
        whole += -(whole - self.tail_start) % max(1, self.period_length)
        head = (
            Run(last - max(first, start) + 1, mass.exact / left)
            for first, last, mass in self.steps(whole)
            if last >= start
        )
        shrink = self.ratio ** self.term(whole).periods
        return Law((*nothing, *head), _scaled(self.period, 1 / (shrink * left)), self.ratio)

    def same_as(self, other: "Law") -> bool:
        """Whether both laws give every tick the same mass, however they are written down.

        >>> Law.of_masses([0, 1]).same_as(Law((Run(1, Fraction(0)), Run(1, Fraction(1)))))
        True
        """
        if bool(self.period) != bool(other.period):
            return False
        length = lcm(self.period_length, other.period_length) if self.period else 0
        if self.period and self.fall(length) != other.fall(length):
            return False
        end = max(self.tail_start, other.tail_start) + length
        cuts = sorted({0, *(first for law in (self, other) for first, _, _ in law.steps(end))})
        return all(self.mass(tick) == other.mass(tick) for tick in cuts)

    def fall(self, ticks: int) -> Fraction:
        """How much smaller an endless law's tail is so many ticks later, a multiple of its period.

        >>> Law((), (Run(2, Fraction(1, 4)),), Fraction(2)).fall(6)
        Fraction(8, 1)
        """
        return self.ratio ** (ticks // self.period_length)


def _moment(runs: Sequence[Run], starts: Sequence[int]) -> Fraction:
    """The sum of tick times mass over runs.

    >>> _moment([Run(2, Fraction(1, 2))], [0])
    Fraction(1, 2)
    """
    pairs = zip(runs, starts, strict=False)
    return sum((r.total * (2 * start + r.length - 1) / 2 for r, start in pairs), Fraction(0))


def _below(runs: Sequence[Run], starts: Sequence[int], end: int) -> Fraction:
    """The mass of the ticks below `end`.

    >>> _below([Run(2, Fraction(1, 2))], [0], 1)
    Fraction(1, 2)
    """
    pairs = zip(runs, starts, strict=False)
    return sum((r.mass * min(r.length, end - start) for r, start in pairs if start < end), Fraction(0))


def _reach(runs: Sequence[Run], starts: Sequence[int], mass: Fraction) -> int:
    """The first tick at which the mass so far reaches `mass`.

    >>> _reach([Run(2, Fraction(1, 2))], [0], Fraction(3, 4))
    1
    """
    for run, start in zip(runs, starts, strict=False):
        if run.mass and mass <= run.total:
            return start + max(0, -(-mass // run.mass) - 1)
        mass -= run.total
    raise BadInput(f"a quantile must lie within the law, not {mass} beyond it")


def _scaled(runs: Sequence[Run], factor: Fraction) -> tuple[Run, ...]:
    """Every mass times a factor.

    >>> _scaled([Run(2, Fraction(1, 4))], Fraction(2))
    (Run(length=2, mass=Fraction(1, 2)),)
    """
    return tuple(Run(run.length, run.mass * factor) for run in runs)


def _exact(length: object, mass: object) -> Fraction:
    """The mass, if both are exact: a float would slip through every formula and then decide."""
    if not isinstance(length, int) or not isinstance(mass, Fraction | int):
        raise BadInput(
            f"a run must have a whole number of ticks and an exact mass, not {length!r} and {mass!r}",
            "give masses as Fraction",
        )
    return Fraction(mass)
