"""Blurred stamps: an event is visible at once, and only the time printed on it is not the true one.

That may help against somebody who reads the archive later. Whoever watches sees the true moment.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.lanes import IntArray, SeededLanes
from tarry.study.baselines import Habit, OneSpan, arrivals
from tarry.study.practice import MICROSECONDS, Observer, Practice, Shown

__all__ = [
    "BACKDATED",
    "HOTCRP",
    "ROUNDING",
    "Backdated",
    "HotcrpNoon",
    "Rounding",
    "canonical_zone",
    "utc_offsets",
]

_DAY = 86_400
_OFFSET = re.compile(r"([+-])([01]\d|2[0-3]):?([0-5]\d)", re.ASCII)
# Dates know the years 1 to 9999, and a zone may be a day off: moments outside get the nearest offset.
_FIRST_DAY, _LAST_DAY = -719_100, 2_932_800


@dataclass(frozen=True, kw_only=True)
class HotcrpNoon(Practice):
    """HotCRP: printed is noon of the same day in the site's zone.

    The time is taken to the nearest second, and noon is twelve hours after a midnight reckoned with
    the zone's offset at the event itself: on a day when clocks change, events before and after the
    change carry different "noons".

    >>> two_in_the_morning = History(actor=[1], target=[1], time=[2 * 3600 * MICROSECONDS])
    >>> HotcrpNoon().show(two_in_the_morning, Seeded(0)).printed // (3600 * MICROSECONDS)
    array([12])
    """

    alone: ClassVar[bool] = True  # each event by itself
    at_once: ClassVar[bool] = True  # only what is printed differs
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
class Rounding(OneSpan):
    """Printed is the time rounded down to a unit, counted from 1970 in UTC.

    >>> history = History(actor=[1, 1], target=[1, 1], time=[59_999_999, 60_000_000])
    >>> Rounding.read("1m").show(history, Seeded(0)).printed.tolist()
    [0, 60000000]
    """

    alone: ClassVar[bool] = True  # each event by itself
    at_once: ClassVar[bool] = True  # only what is printed differs
    draws: ClassVar[bool] = False  # the same every time
    habit: ClassVar[str] = "rounding"
    of_what: ClassVar[str] = "the unit of rounding"

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        times = arrivals(history)
        return Shown(release=times, printed=times - times % self.span)


@dataclass(frozen=True, kw_only=True)
class Backdated(OneSpan):
    """Nostr's gift wraps (NIP-59): printed lies a uniform time back, by up to two days.

    >>> history = History(actor=[1], target=[1], time=[0])
    >>> shown = Backdated.read("2d").show(history, Seeded(0))
    >>> int(shown.release[0]), -Backdated.usual <= int(shown.printed[0]) <= 0
    (0, True)
    """

    alone: ClassVar[bool] = True  # each event by itself
    at_once: ClassVar[bool] = True  # only what is printed differs
    habit: ClassVar[str] = "backdated"
    of_what: ClassVar[str] = "the span of backdating"
    usual: ClassVar[int] = 2 * _DAY * MICROSECONDS

    def show(self, history: History, draw: Seeded) -> Shown:
        """Replay a history."""
        times = arrivals(history)
        back = SeededLanes(draw, history.keys).randbelow(self.span + 1)
        return Shown(release=times, printed=times - back)

    def least_delta(
        self,
        observer: Observer,
        gap: Fraction,
        epsilon: float,  # noqa: ARG002 - the same for each
    ) -> float | None:
        """The gap over the span for whoever reads what is printed; everybody else sees it at once.

        >>> from tarry.study.practice import observer
        >>> Backdated.read("2d").least_delta(observer("archive"), Fraction(1728), 1.0)
        0.01
        """
        printed = min(Fraction(1), gap * MICROSECONDS / self.span)
        return float(printed) if observer.name == "archive" else 1.0


def canonical_zone(text: str) -> str:
    """One spelling for each zone: `UTC`, an offset as `+02:00`, or a name of the time zone database.

    >>> canonical_zone("+0200"), canonical_zone("-00:00"), canonical_zone("Etc/GMT-2")
    ('+02:00', 'UTC', 'Etc/GMT-2')
    """
    if (offset := _OFFSET.fullmatch(text)) is None:
        _zone(text)
        return text
    sign, hours, minutes = offset.groups()
    return "UTC" if hours == minutes == "00" else f"{sign}{hours}:{minutes}"


def utc_offsets(zone: str, seconds: IntArray) -> IntArray:
    """The seconds that a zone is ahead of UTC at each moment, given in seconds since 1970.

    Only days that occur are looked up. A zone is taken to change its clock at most once in a day.

    >>> summer_begins = 1_711_846_800  # in Berlin, in 2024
    >>> utc_offsets("Europe/Berlin", np.array([summer_begins - 1, summer_begins])).tolist()
    [3600, 7200]
    """
    place = _zone(zone)
    day_of = np.clip(seconds // _DAY, _FIRST_DAY, _LAST_DAY)
    days = np.unique(day_of)
    changes = [_change(place, int(day) * _DAY) for day in days]
    before, change, after = np.array(changes, dtype=np.int64).reshape(-1, 3).T
    where = np.searchsorted(days, day_of)
    return np.where(seconds < change[where], before[where], after[where])


def _change(zone: tzinfo, midnight: int) -> tuple[int, int, int]:
    """The offset when a day of UTC begins, the first second of another one, and that other one."""
    day = range(midnight, midnight + _DAY)
    before, after = _offset(zone, day[0]), _offset(zone, day[-1])
    if before == after:
        return before, midnight, after
    return before, day[bisect_left(day, x=True, key=lambda at: _offset(zone, at) != before)], after


def _offset(zone: tzinfo, second: int) -> int:
    ahead = datetime.fromtimestamp(second, zone).utcoffset()
    return 0 if ahead is None else ahead // timedelta(seconds=1)


def _zone(text: str) -> tzinfo:
    if text == "UTC":
        return UTC
    if offset := _OFFSET.fullmatch(text):
        sign, hours, minutes = offset.groups()
        ahead = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-ahead if sign == "-" else ahead)
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInput(
            f"unknown zone {text!r}", "use UTC, an offset such as +02:00, or a name such as Europe/Berlin"
        ) from None


HOTCRP = Habit(
    name="hotcrp",
    what="visible at once, printed as noon of the same day in the site's zone",
    make=HotcrpNoon.read,
    usual="UTC",
    examples=("hotcrp", "hotcrp:+02:00", "hotcrp:Europe/Berlin"),
)
ROUNDING = Habit(
    name="rounding",
    what="visible at once, printed rounded down to a unit",
    make=Rounding.read,
    usual="1d",
    examples=("rounding:1h", "rounding:1d"),
)
BACKDATED = Habit(
    name="backdated",
    what="visible at once, printed up to two days early (Nostr's NIP-59)",
    make=Backdated.read,
    usual="2d",
    examples=("backdated", "backdated:12h"),
)
