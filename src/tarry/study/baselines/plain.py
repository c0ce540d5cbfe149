"""Plain delays: none at all, all the delay there is, and a uniform one for each event (jitter)."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.lanes import SeededLanes
from tarry.study.baselines import (
    Habit,
    OneSpan,
    arrival_order,
    arrivals,
    check_span,
    read_span,
    shown_at,
    write_span,
)
from tarry.study.practice import MICROSECONDS, Practice, Shown, Waits

__all__ = ["END", "JITTER", "KLOAK", "NOTHING", "AllAtEnd", "KloakJitter", "Nothing", "UniformJitter"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = -62_135_596_800 * MICROSECONDS  # the year 1 begins: dates know nothing earlier
_LAST = 253_402_300_800 * MICROSECONDS - 1  # the year 9999 ends


@dataclass(frozen=True, kw_only=True)
class Nothing(Practice):
    """Every event is visible at once, with its true time.

    >>> Nothing().show(History(actor=[1], target=[2], time=[5]), Seeded(0)).printed.tolist()
    [5]
    """

    alone: ClassVar[bool] = True  # each event by itself
    at_once: ClassVar[bool] = True
    draws: ClassVar[bool] = False  # the same every time

    @classmethod
    def read(cls, text: str) -> "Nothing":
        """The practice itself: there is nothing to choose."""
        if text:
            raise BadInput(
                f"the habit nothing takes no parameter, and 'nothing:{text}' has one", "write nothing"
            )
        return cls()

    @property
    def name(self) -> str:
        """The text that makes it."""
        return "nothing"

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        return shown_at(arrivals(history))


@dataclass(frozen=True, kw_only=True)
class AllAtEnd(Practice):
    """All events become visible at one moment: the last arrival, or one given.

    What arrives after a given moment is visible at once.

    >>> AllAtEnd().show(History(actor=[1, 1], target=[2, 3], time=[5, 9]), Seeded(0)).release.tolist()
    [9, 9]
    """

    draws: ClassVar[bool] = False  # the same every time
    moment: int | None = None  # microseconds; the last arrival where none is given
    last: int | None = None  # that of the whole history, where a part of it is shown

    def __post_init__(self) -> None:
        if self.moment is not None and not _FIRST <= self.moment <= _LAST:
            raise BadInput(f"the end must lie in the years 1 to 9999, not {self.moment} us after 1970")

    @classmethod
    def read(cls, text: str) -> "AllAtEnd":
        """The practice of a moment in ISO 8601; UTC where it names no zone, the last arrival for ""."""
        if not text:
            return cls()
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise BadInput(f"the end must be a date or a moment in ISO 8601, not {text!r}") from None
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return cls(moment=(aware - _EPOCH) // _MICROSECOND)

    @property
    def name(self) -> str:
        """The text that makes it."""
        if self.moment is None:
            return "end"
        return f"end:{(_EPOCH + self.moment * _MICROSECOND).isoformat().removesuffix('+00:00')}Z"

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        times = arrivals(history)
        ends = (end for end in (self.moment, self.last) if end is not None)
        end = next(ends, times.max(initial=np.iinfo(np.int64).min))
        return shown_at(np.maximum(times, end))

    def looks(self) -> int:
        """At no other event, once the last arrival is known."""
        return 0

    def ending(self, last: int) -> "AllAtEnd":
        """The same, where the last arrival of the history is known."""
        return replace(self, last=last)


NOTHING = Habit(
    name="nothing",
    what="visible at once, with the true time",
    make=Nothing.read,
    examples=("nothing",),
)
END = Habit(
    name="end",
    what="all at one moment: the last arrival, or one given",
    make=AllAtEnd.read,
    examples=("end", "end:2026-03-01", "end:2026-03-01T12:00:00+01:00"),
)


_BITS = 53


@dataclass(frozen=True, kw_only=True)
class UniformJitter(Practice):
    """Each event waits for a uniform time between two bounds.

    >>> history = History(actor=[1], target=[1], time=[5])
    >>> 5 <= int(UniformJitter.read("24h").show(history, Seeded(0)).release[0])
    True
    """

    alone: ClassVar[bool] = True  # each event by itself
    low: int = 0  # microseconds: the shortest delay
    high: int  # microseconds: the longest delay

    def __post_init__(self) -> None:
        check_span(self.high, "the longest delay of jitter")
        if not 0 <= self.low <= self.high:
            raise BadInput(
                "the shortest delay of jitter must lie between 0s and the longest, "
                f"{write_span(self.high)}, not {write_span(self.low)}"
            )

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
        return shown_at(arrivals(history) + self.low + delay)

    def failing_share(self, gap: Fraction) -> float:
        """The gap over the spread of the delays.

        >>> UniformJitter.read("24h").failing_share(Fraction(2160))
        0.025
        """
        spread = Fraction(self.high - self.low, MICROSECONDS)
        return float(min(Fraction(1), gap / spread)) if spread else 1.0

    def waits(self) -> Waits:
        """Half way between the bounds on average."""
        return Waits(mean_s=(self.low + self.high) / 2 / MICROSECONDS, longest_s=self.high / MICROSECONDS)


@dataclass(frozen=True, kw_only=True)
class KloakJitter(OneSpan):
    """kloak's way: jitter that keeps the order of all events, by drawing above the release before.

    When events come faster than the longest delay, little is left to draw from, and the jitter
    shrinks towards that delay as a constant.

    >>> history = History(actor=[1] * 3, target=[1] * 3, time=[0, 1000, 2000])
    >>> shown = KloakJitter.read("20ms").show(history, Seeded(0)).release
    >>> bool((np.diff(shown) >= 0).all())
    True
    """

    habit: ClassVar[str] = "kloak"
    of_what: ClassVar[str] = "the longest delay of kloak"
    usual: ClassVar[int] = 20_000

    def show(self, history: History, draw: Seeded) -> Shown:
        """Replay a history: each delay needs the release before, so one event after the other."""
        order = arrival_order(history)
        words = SeededLanes(draw, history.keys).randbelow(1 << _BITS)[order]
        releases: list[int] = []
        longest, before = self.span, None
        for now, word in zip(arrivals(history)[order].tolist(), words.tolist(), strict=True):
            low = 0 if before is None else min(max(before - now, 0), longest)
            before = now + low + ((longest - low + 1) * word >> _BITS)
            releases.append(before)
        return shown_at(np.array(releases, dtype=np.int64), order)


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
