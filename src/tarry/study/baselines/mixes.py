"""Mixes: what comes in waits inside, and leaves with others or after a time of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import exp, factorial
from typing import ClassVar

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.lanes import IntArray, SeededLanes
from tarry.study.baselines import (
    Habit,
    OneSpan,
    arrival_order,
    arrivals,
    check_span,
    read_span,
    read_whole,
    shown_at,
    write_span,
)
from tarry.study.practice import MICROSECONDS, Observer, Practice, Shown, Waits

__all__ = ["MIX", "POISSON", "POOL", "THRESHOLD", "CottrellPool", "PoissonMix", "ThresholdMix", "TimedMix"]

_MOST_HOPS = 20  # more would let the longest delays pass the range of a time
_STEPS = 1 << 53  # the uniform numbers that a float holds exactly
# Of Cottrell's pool, with Mixminion's numbers:
_HORIZON = 7 * 86_400 * MICROSECONDS
_LONG_AGO = np.iinfo(np.int64).min
_MIN_POOL = 6  # so many always stay
_MIN_SEND = 1  # and nobody leaves until so many more wait
_RATE = (7, 10)  # the part of those waiting that leaves in a round, at most


@dataclass(frozen=True, kw_only=True)
class TimedMix(OneSpan):
    """Everything leaves at the next whole interval, counted from 1970.

    >>> history = History(actor=[1, 1, 1], target=[1, 2, 3], time=[1, 60_000_000, 60_000_001])
    >>> TimedMix.read("1m").show(history, Seeded(0)).release.tolist()
    [60000000, 60000000, 120000000]
    """

    alone: ClassVar[bool] = True  # each event by itself
    draws: ClassVar[bool] = False  # the same every time
    habit: ClassVar[str] = "mix"
    of_what: ClassVar[str] = "the interval of a mix"

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        times = arrivals(history)
        return shown_at(times + -times % self.span)

    def waits(self) -> Waits:
        """Half an interval on average, over all moments of one."""
        return Waits(mean_s=self.span / 2 / MICROSECONDS, longest_s=self.span / MICROSECONDS)


@dataclass(frozen=True, kw_only=True)
class ThresholdMix(Practice):
    """Whenever so many events wait, all of them leave together.

    What waits at the end of the history would wait for ever: it leaves at the last arrival, and
    `stranded` says how many events that are.

    >>> history = History(actor=[1, 1, 1], target=[1, 2, 3], time=[10, 30, 20])
    >>> mix = ThresholdMix(threshold=2)
    >>> mix.show(history, Seeded(0)).release.tolist(), mix.stranded(history)
    ([20, 30, 20], 1)
    """

    draws: ClassVar[bool] = False  # the same every time
    threshold: int  # events

    def __post_init__(self) -> None:
        if self.threshold < 1:
            raise BadInput(f"the threshold of a mix must be at least 1, not {self.threshold}")

    @classmethod
    def read(cls, text: str) -> "ThresholdMix":
        """The practice of a threshold such as `100`."""
        return cls(threshold=read_whole(text, "the threshold of a mix"))

    @property
    def name(self) -> str:
        """The text that makes it."""
        return f"threshold:{self.threshold}"

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        order, moments = self._order(history)
        places = np.arange(len(history))
        flush = np.minimum(places - places % self.threshold + self.threshold, len(history)) - 1
        return shown_at(moments[flush], order)

    def stranded(self, history: History) -> int:
        """How many events would never have left."""
        return len(history) % self.threshold

    def _order(self, history: History) -> tuple[IntArray, IntArray]:
        """The rows by arrival, and the arrivals in that order.

        Among equal arrivals the stable hash decides, so that the order of rows does not; sorting by
        it costs more than all the rest, and is done only where a flush parts events of one moment.
        """
        times = arrivals(history)
        order = np.argsort(times, kind="stable")
        moments = times[order]
        moment_of = np.cumsum(np.diff(moments, prepend=moments[:1]) != 0)
        last = np.arange(self.threshold - 1, len(history) - 1, self.threshold)
        parted = np.zeros(len(history), dtype=np.bool_)
        parted[moment_of[last[moments[last] == moments[last + 1]]]] = True
        if (unclear := np.flatnonzero(parted[moment_of])).size:
            rows = order[unclear]
            order[unclear] = rows[np.lexsort((history.keys[rows], times[rows]))]
        return order, moments


@dataclass(frozen=True, kw_only=True)
class PoissonMix(Practice):
    """Each event waits for a sum of exponential times, one for each hop (Loopix, Katzenpost, Nym).

    With one hop of 60 minutes it is the wait of JoinMarket's tumbler.

    >>> history = History(actor=[1], target=[1], time=[5])
    >>> bool(PoissonMix.read("4s*3").show(history, Seeded(0)).release[0] >= 5)
    True
    """

    alone: ClassVar[bool] = True  # each event by itself
    mean: int  # microseconds, of each hop
    hops: int = 1  # delays in a row

    def __post_init__(self) -> None:
        check_span(self.mean, "the mean delay of a hop")
        if not 1 <= self.hops <= _MOST_HOPS:
            raise BadInput(f"the number of hops must be 1 to {_MOST_HOPS}, not {self.hops}")

    @classmethod
    def read(cls, text: str) -> "PoissonMix":
        """The practice of a mean such as `60m`, or of a mean and hops such as `4s*3`."""
        mean, several, hops = text.partition("*")
        return cls(
            mean=read_span(mean, "the mean delay of a hop"),
            hops=read_whole(hops, "the number of hops") if several else 1,
        )

    @property
    def name(self) -> str:
        """The text that makes it."""
        return f"poisson:{write_span(self.mean)}" + (f"*{self.hops}" if self.hops > 1 else "")

    def show(self, history: History, draw: Seeded) -> Shown:
        """Replay a history."""
        lanes = SeededLanes(draw, history.keys)
        means = np.zeros(len(history))
        for _ in range(self.hops):
            means -= np.log((lanes.randbelow(_STEPS) + 1) / _STEPS)
        return shown_at(arrivals(history) + (means * self.mean).astype(np.int64))

    def failing_share(self, gap: Fraction) -> float | None:
        """1 - e^(-gap/mean) for one hop; not known for several.

        >>> round(PoissonMix.read("60m").failing_share(Fraction(2160)), 3)
        0.451
        """
        return 1 - exp(-float(gap) * MICROSECONDS / self.mean) if self.hops == 1 else None

    def least_delta(self, observer: Observer, gap: Fraction, epsilon: float) -> float | None:  # noqa: ARG002 - all see the same
        """The chance of being out by a moment, less e^epsilon times that of the later act.

        The sum of several waits says less the longer it is. Until the moment at which the ratio of the
        densities, (x / (x - gap))^(hops - 1) e^(-gap/mean), has fallen to e^epsilon, it says too much.

        >>> round(PoissonMix.read("60m*3").least_delta(None, Fraction(2160), 1.0), 4)
        0.0605
        """
        move = float(gap) * MICROSECONDS / self.mean
        if self.hops == 1:
            return 1 - exp(-move)
        ratio = exp((epsilon + move) / (self.hops - 1))
        until = move * ratio / (ratio - 1)
        return self._out_by(until) - exp(epsilon) * self._out_by(until - move)

    def waits(self) -> Waits:
        """The sum of the means; there is no longest."""
        return Waits(mean_s=self.hops * self.mean / MICROSECONDS, longest_s=None)

    def _out_by(self, means: float) -> float:
        """The chance that all hops together take at most so many means of one."""
        return 1 - exp(-means) * sum(means**k / factorial(k) for k in range(self.hops))


@dataclass(frozen=True, kw_only=True)
class CottrellPool(OneSpan):
    """Cottrell's timed dynamic pool: each round some of those who wait leave by lot; a few stay.

    Rounds are whole intervals from 1970. A round with n >= 7 waiting sends
    min(n - 6, max(1, floor(0.7 n))) of them. Rounds go on after the last arrival until none sends
    any more. The up to six events that are then left would stay for ever: they leave a week after
    the last round that somebody joined or left, and `stranded` says how many they are.

    >>> history = History(actor=[1] * 8, target=range(8), time=range(8))
    >>> pool = CottrellPool.read("10m")
    >>> shown = pool.show(history, Seeded(0))
    >>> int((shown.release == 600 * MICROSECONDS).sum()), pool.stranded(history)
    (2, 6)
    """

    habit: ClassVar[str] = "pool"
    of_what: ClassVar[str] = "the interval of a pool"
    usual: ClassVar[int] = 600 * MICROSECONDS

    def show(self, history: History, draw: Seeded) -> Shown:
        """Replay a history."""
        order = arrival_order(history)
        rounds = -(-arrivals(history)[order] // self.span)  # the first that each takes part in
        leaves, stay = _lots(rounds, np.random.Generator(np.random.PCG64(draw.offset)))
        moments = leaves * self.span
        moments[stay] = moments.max(initial=_LONG_AGO) + _HORIZON
        return shown_at(moments, order)

    def stranded(self, history: History) -> int:
        """How many events would never have left: rounds go on until the pool is at its least."""
        return min(len(history), _MIN_POOL)


def _lots(rounds: IntArray, chance: np.random.Generator) -> tuple[IntArray, list[int]]:
    """The round in which each event leaves, and the places of those that never do.

    Those keep the round in which they joined: the latest of all is then the last that counts.
    Plain lists: a pool is small, and one step for each departure is all there is to do.
    """
    lots = iter(chance.random(len(rounds)).tolist())
    leaves = rounds.tolist()
    pool: list[int] = []
    seen = 0
    for at, joined, send in _sendings(rounds):
        pool.extend(range(seen, joined))
        seen = joined
        for _ in range(send):
            place = int(next(lots) * len(pool))
            pool[place], pool[-1] = pool[-1], pool[place]
            leaves[pool.pop()] = at
    return np.array(leaves, dtype=np.int64), [*pool, *range(seen, len(rounds))]


def _sendings(rounds: IntArray) -> Iterator[tuple[int, int, int]]:
    """Each round that sends: its number, how many events have joined by then, how many leave.

    `rounds` is sorted. Chance decides who leaves, and never how many.
    """
    numbers, counts = np.unique(rounds, return_counts=True)
    joined = waiting = 0
    for (number, following), count in zip(
        pairwise([*numbers.tolist(), None]), counts.tolist(), strict=True
    ):
        joined, waiting = joined + count, waiting + count
        at = number
        while at != following and (send := _send(waiting)):
            yield at, joined, send
            at, waiting = at + 1, waiting - send


def _send(waiting: int) -> int:
    if waiting < _MIN_POOL + _MIN_SEND:
        return 0
    part, whole = _RATE
    return min(waiting - _MIN_POOL, max(1, waiting * part // whole))


MIX = Habit(
    name="mix",
    what="all leave at the next whole interval",
    make=TimedMix.read,
    usual="1h",
    examples=("mix:1h",),
)
THRESHOLD = Habit(
    name="threshold",
    what="all leave when so many wait",
    make=ThresholdMix.read,
    usual="100",
    examples=("threshold:100",),
)
POOL = Habit(
    name="pool",
    what="each interval some leave by lot and a few stay (Cottrell's mix)",
    make=CottrellPool.read,
    usual="10m",
    examples=("pool", "pool:1h"),
)
POISSON = Habit(
    name="poisson",
    what="an exponential delay of this mean, or a sum over several hops (Loopix, JoinMarket)",
    make=PoissonMix.read,
    usual="1h",
    examples=("poisson:60m", "poisson:4s*3"),
)
