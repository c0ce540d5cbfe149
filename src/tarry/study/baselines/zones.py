"""How far a site's clock is ahead of UTC, for many moments at once."""

import re
from bisect import bisect_left
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray

__all__ = ["canonical_zone", "utc_offsets"]

_DAY = 86_400
_OFFSET = re.compile(r"([+-])([01]\d|2[0-3]):?([0-5]\d)", re.ASCII)
# Dates know the years 1 to 9999, and a zone may be a day off: moments outside get the nearest offset.
_FIRST_DAY, _LAST_DAY = -719_100, 2_932_800


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
    found = [_change(place, int(day) * _DAY) for day in days]
    before, change, after = np.array(found, dtype=np.int64).reshape(-1, 3).T
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
        rule = "is UTC, an offset or a name of the time zone database"
        raise BadInput("a zone", rule, found=repr(text)) from None
