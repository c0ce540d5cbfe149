"""Blurred stamps: an event is visible at once, and only the time printed on it is not the true one.

That may help against somebody who reads the archive later. Whoever watches sees the true moment.
"""

from dataclasses import dataclass
from typing import ClassVar

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.lanes import SeededLanes
from tarry.study.baselines.parameters import arrivals, check_span, read_span, write_span
from tarry.study.baselines.zones import canonical_zone, utc_offsets
from tarry.study.practice import MICROSECONDS, Shown

__all__ = ["Backdated", "HotcrpNoon", "Rounding"]

_DAY = 86_400
_TWO_DAYS = 2 * _DAY * MICROSECONDS


@dataclass(frozen=True, kw_only=True)
class HotcrpNoon:
    """HotCRP: printed is noon of the same day in the site's zone.

    The time is taken to the nearest second, and noon is twelve hours after a midnight reckoned with
    the zone's offset at the event itself: on a day when clocks change, events before and after the
    change carry different "noons".

    >>> two_in_the_morning = History(actor=[1], target=[1], time=[2 * 3600 * MICROSECONDS])
    >>> HotcrpNoon().show(two_in_the_morning, Seeded(0)).printed // (3600 * MICROSECONDS)
    array([12])
    """

    draws: ClassVar[bool] = False  # the same every time
    zone: str = "UTC"  # UTC, an offset such as +02:00, or a name such as Europe/Berlin

    def __post_init__(self) -> None:
        object.__setattr__(self, "zone", canonical_zone(self.zone))

    @classmethod
    def read(cls, text: str) -> "HotcrpNoon":
        """The practice of a site in this zone."""
        return cls(zone=text)

    @property
    def name(self) -> str:
        """The text that makes it."""
        return "hotcrp" if self.zone == "UTC" else f"hotcrp:{self.zone}"

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        times = arrivals(history)
        seconds = (times + MICROSECONDS // 2) // MICROSECONDS
        noon = seconds + _DAY // 2 - (seconds + utc_offsets(self.zone, seconds)) % _DAY
        return Shown(release=times, printed=noon * MICROSECONDS)


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """Printed is the time rounded down to a unit, counted from 1970 in UTC.

    >>> history = History(actor=[1, 1], target=[1, 1], time=[59_999_999, 60_000_000])
    >>> Rounding.read("1m").show(history, Seeded(0)).printed.tolist()
    [0, 60000000]
    """

    draws: ClassVar[bool] = False  # the same every time
    unit: int  # microseconds

    def __post_init__(self) -> None:
        check_span(self.unit, "the unit of rounding")

    @classmethod
    def read(cls, text: str) -> "Rounding":
        """The practice of a unit such as `1h`."""
        return cls(unit=read_span(text, "the unit of rounding"))

    @property
    def name(self) -> str:
        """The text that makes it."""
        return f"rounding:{write_span(self.unit)}"

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        times = arrivals(history)
        return Shown(release=times, printed=times - times % self.unit)


@dataclass(frozen=True, kw_only=True)
class Backdated:
    """Nostr's gift wraps (NIP-59): printed lies a uniform time back, by up to two days.

    >>> history = History(actor=[1], target=[1], time=[0])
    >>> shown = Backdated().show(history, Seeded(0))
    >>> int(shown.release[0]), -_TWO_DAYS <= int(shown.printed[0]) <= 0
    (0, True)
    """

    draws: ClassVar[bool] = True  # there is chance in it
    span: int = _TWO_DAYS  # microseconds: how far back at most

    def __post_init__(self) -> None:
        check_span(self.span, "the span of backdating")

    @classmethod
    def read(cls, text: str) -> "Backdated":
        """The practice of stamps at most this far back, such as `2d`."""
        return cls(span=read_span(text, "the span of backdating"))

    @property
    def name(self) -> str:
        """The text that makes it."""
        return "backdated" if self.span == _TWO_DAYS else f"backdated:{write_span(self.span)}"

    def show(self, history: History, draw: Seeded) -> Shown:
        """Replay a history."""
        times = arrivals(history)
        back = SeededLanes(draw, history.keys).randbelow(self.span + 1)
        return Shown(release=times, printed=times - back)
