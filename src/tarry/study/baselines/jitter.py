"""Jitter: a uniform delay for each event, by itself or in order."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.lanes import SeededLanes
from tarry.study.baselines import Habit, arrival_order, arrivals, check_span, read_span, write_span
from tarry.study.practice import MICROSECONDS, Practice, Shown

__all__ = ["JITTER", "KLOAK", "KloakJitter", "UniformJitter"]

_TWENTY_MS = 20_000
_BITS = 53


@dataclass(frozen=True, kw_only=True)
class UniformJitter(Practice):
    """Each event waits for a uniform time between two bounds.

    >>> history = History(actor=[1], target=[1], time=[5])
    >>> 5 <= int(UniformJitter.read("24h").show(history, Seeded(0)).release[0])
    True
    """

    low: int = 0  # microseconds: the shortest delay
    high: int  # microseconds: the longest delay

    def __post_init__(self) -> None:
        check_span(self.high, "the longest delay of jitter")
        if not 0 <= self.low <= self.high:
            reach = f"between 0s and the longest, {write_span(self.high)}"
            raise BadInput(f"the shortest delay of jitter must lie {reach}, not {write_span(self.low)}")

    @classmethod
    def read(cls, text: str) -> "UniformJitter":
        """The practice of delays up to `24h`, or from and to as in `5m-15m`."""
        low, both, high = text.rpartition("-")
        return cls(
            low=read_span(low, "the shortest delay of jitter") if both else 0,
            high=read_span(high, "the longest delay of jitter"),
        )

    @property
    def name(self) -> str:
        """The text that makes it."""
        return "jitter:" + (f"{write_span(self.low)}-" if self.low else "") + write_span(self.high)

    def show(self, history: History, draw: Seeded) -> Shown:
        """Replay a history."""
        delay = SeededLanes(draw, history.keys).randbelow(self.high - self.low + 1)
        release = arrivals(history) + self.low + delay
        return Shown(release=release, printed=release)

    def failing_share(self, gap: Fraction) -> float:
        """The gap over the spread of the delays.

        >>> UniformJitter.read("24h").failing_share(Fraction(2160))
        0.025
        """
        spread = Fraction(self.high - self.low, MICROSECONDS)
        return float(min(Fraction(1), gap / spread)) if spread else 1.0


@dataclass(frozen=True, kw_only=True)
class KloakJitter(Practice):
    """kloak's way: jitter that keeps the order of all events, by drawing above the release before.

    When events come faster than the longest delay, little is left to draw from, and the jitter
    shrinks towards that delay as a constant.

    >>> history = History(actor=[1] * 3, target=[1] * 3, time=[0, 1000, 2000])
    >>> shown = KloakJitter().show(history, Seeded(0)).release
    >>> bool((np.diff(shown) >= 0).all())
    True
    """

    longest: int = _TWENTY_MS  # microseconds

    def __post_init__(self) -> None:
        check_span(self.longest, "the longest delay of kloak")

    @classmethod
    def read(cls, text: str) -> "KloakJitter":
        """The practice of a longest delay such as `20ms`."""
        return cls(longest=read_span(text, "the longest delay of kloak"))

    @property
    def name(self) -> str:
        """The text that makes it."""
        return "kloak" if self.longest == _TWENTY_MS else f"kloak:{write_span(self.longest)}"

    def show(self, history: History, draw: Seeded) -> Shown:
        """Replay a history: each delay needs the release before, so one event after the other."""
        order = arrival_order(history)
        words = SeededLanes(draw, history.keys).randbelow(1 << _BITS)[order]
        releases: list[int] = []
        longest, before = self.longest, None
        for now, word in zip(arrivals(history)[order].tolist(), words.tolist(), strict=True):
            low = 0 if before is None else min(max(before - now, 0), longest)
            before = now + low + ((longest - low + 1) * word >> _BITS)
            releases.append(before)
        release = np.empty(len(order), dtype=np.int64)
        release[order] = releases
        return Shown(release=release, printed=release)


JITTER = Habit(
    name="jitter",
    what="a uniform delay up to a bound, or between two",
    make=UniformJitter.read,
    usual="1d",
    examples=("jitter:24h", "jitter:5m-15m"),
)
KLOAK = Habit(
    name="kloak",
    what="a uniform delay that keeps the order of all events",
    make=KloakJitter.read,
    usual="20ms",
    examples=("kloak", "kloak:100ms"),
)
