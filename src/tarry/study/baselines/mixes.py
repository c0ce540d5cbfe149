"""Mixes: what comes in waits inside, and leaves with others or after a time of its own."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.lanes import IntArray, SeededLanes
from tarry.study.baselines.parameters import arrivals, check_span, read_span, read_whole, write_span
from tarry.study.practice import Shown

__all__ = ["PoissonMix", "ThresholdMix", "TimedMix"]

_MOST_HOPS = 20  # more would let the longest delays pass the range of a time
_STEPS = 1 << 53  # the uniform numbers that a float holds exactly


@dataclass(frozen=True, kw_only=True)
class TimedMix:
    """Everything leaves at the next whole interval, counted from 1970.

    >>> history = History(actor=[1, 1, 1], target=[1, 2, 3], time=[1, 60_000_000, 60_000_001])
    >>> TimedMix.read("1m").show(history, Seeded(0)).release.tolist()
    [60000000, 60000000, 120000000]
    """

    draws: ClassVar[bool] = False  # the same every time
    interval: int  # microseconds

    def __post_init__(self) -> None:
        check_span(self.interval, "the interval of a mix")

    @classmethod
    def read(cls, text: str) -> "TimedMix":
        """The practice of an interval such as `1h`."""
        return cls(interval=read_span(text, "the interval of a mix"))

    @property
    def name(self) -> str:
        """The text that makes it."""
        return f"mix:{write_span(self.interval)}"

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        times = arrivals(history)
        release = times + -times % self.interval
        return Shown(release=release, printed=release)


@dataclass(frozen=True, kw_only=True)
class ThresholdMix:
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
            raise BadInput("the threshold of a mix", "is at least 1", found=self.threshold)

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
        release = np.empty_like(moments)
        release[order] = moments[flush]
        return Shown(release=release, printed=release)

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
class PoissonMix:
    """Each event waits for a sum of exponential times, one for each hop (Loopix, Katzenpost, Nym).

    With one hop of 60 minutes it is the wait of JoinMarket's tumbler.

    >>> history = History(actor=[1], target=[1], time=[5])
    >>> bool(PoissonMix.read("4s*3").show(history, Seeded(0)).release[0] >= 5)
    True
    """

    draws: ClassVar[bool] = True  # there is chance in it
    mean: int  # microseconds, of each hop
    hops: int = 1  # delays in a row

    def __post_init__(self) -> None:
        check_span(self.mean, "the mean delay of a hop")
        if not 1 <= self.hops <= _MOST_HOPS:
            raise BadInput("the number of hops", f"lies in 1..{_MOST_HOPS}", found=self.hops)

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
        release = arrivals(history) + (means * self.mean).astype(np.int64)
        return Shown(release=release, printed=release)
