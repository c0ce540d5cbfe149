"""How times are written, and single ones read as whole microseconds since 1970 UTC; needs no table library.

`times.py` reads whole columns by the same form, units and years.
"""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from tarry.readers.faults import shown

__all__ = [
    "END_S",
    "EVER_US",
    "FIRST_DATE",
    "FIRST_S",
    "ISO",
    "LAST_DATE",
    "LIMITS",
    "PER_SECOND",
    "UNITS",
    "NoMoment",
    "counted_us",
    "is_count",
    "moment_us",
    "own_clock",
    "unit_by_size",
    "zone_offset_s",
]

#: Units of numbers in words.
UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
#: How many of each make a second.
PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
#: A number from there on is of a finer unit: 1e11 seconds are three thousand years.
LIMITS = {"s": 10**11, "ms": 10**14, "us": 10**17}
#: The years 1900 to 2200: a moment outside is none.
FIRST_S, END_S = -2_208_988_800, 7_289_654_400
EVER_US = range(FIRST_S * 1_000_000, END_S * 1_000_000)
#: The same years as dates without hyphens: numbers that are more likely dates than counts.
FIRST_DATE, LAST_DATE = 19000101, 22001231
#: A date, perhaps a time of day to the minute or any fraction of a second, perhaps a zone.
ISO = (
    r"^(?P<year>[0-9]{4})-?(?P<month>[0-9]{2})-?(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):?(?P<minute>[0-9]{2})"
    r"(?::?(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]+))?)?)?"
    r" ?(?P<zone>[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?$"
)
_FORM = re.compile(ISO)
# The usual ones among them, which Python's own reader takes in the same way but much faster.
# Hours and minutes of zones are bounded here, as it takes 24:00 (since Python 3.13) and +05:75.
_USUAL = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ](?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
    r"(?:Z|[+-][0-9]{2}:[0-5][0-9])?"
)
_START, _MICRO = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_BARE_START = _START.replace(tzinfo=None)
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?")


class NoMoment(ValueError):
    """A value that is no moment; the message is the reason, and shows nobody's data.

    >>> raise NoMoment("time is missing")
    Traceback (most recent call last):
    tarry.readers.moments.NoMoment: time is missing
    """


def moment_us(text: object, *, bare_is_utc: bool = False) -> int:
    """Read an ISO 8601 text, to the nearest microsecond.

    A day without a time of day is refused: it says nothing about minutes. So is a time without a
    zone, unless `bare_is_utc` says that the format means UTC by it.

    >>> moment_us("1970-01-01T02:00:01.5+02:00"), moment_us("1970-01-01 00:00:01", bare_is_utc=True)
    (1500000, 1000000)
    >>> moment_us("2024-05-01T10:00:00")
    Traceback (most recent call last):
    tarry.readers.moments.NoMoment: time carries no zone: 2024-05-01T10:00:00
    """
    if isinstance(text, str) and _USUAL.fullmatch(text):
        micros = _usual_us(text, bare_is_utc=bare_is_utc)
        if micros is not None:
            return _in_reach(micros, text)
    if text is None or text == "":
        raise NoMoment("time is missing")
    parts = _FORM.fullmatch(text.strip()) if isinstance(text, str) else None
    if parts is None:
        raise NoMoment("time is not a moment" + _shown(text))
    if parts["hour"] is None:
        raise NoMoment("time is a day without a time of day" + _shown(text))
    if parts["zone"] is None and not bare_is_utc:
        raise NoMoment("time carries no zone" + _shown(text))
    try:
        seconds = _seconds(parts) - zone_offset_s(parts["zone"] or "Z")
    except ValueError:
        raise NoMoment("time is not a moment" + _shown(text)) from None
    # Digits beyond the ninth cannot change which microsecond is nearest, but for a tie.
    nanos = int(parts["part"][:9].ljust(9, "0")) if parts["part"] else 0
    return _in_reach(seconds * 1_000_000 + (nanos + 500) // 1000, text)


def counted_us(number: object, unit: str) -> int:
    """Read a number, or a text that is one: seconds (`s`), `ms`, `us` or `ns` since 1970.

    >>> counted_us(1.5, "s"), counted_us("1500", "ms"), counted_us(1_499_500, "ns")
    (1500000, 1500000, 1500)
    """
    count = _exact(number)
    micros, parts = count.numerator * 1_000_000, count.denominator * PER_SECOND[unit]
    return _in_reach((2 * micros + parts) // (2 * parts), number)


def is_count(value: object) -> bool:
    """Whether a value is a number, or a text that is one.

    >>> is_count(1_700_000_000), is_count("1.7e9"), is_count("2024-05-01T10:00:00Z"), is_count(True)
    (True, True, False, False)
    """
    if isinstance(value, str):
        return _NUMBER.fullmatch(value.strip()) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def unit_by_size(number: object) -> str:
    """The unit in which a number is a plausible moment: 1e11 seconds are three thousand years.

    >>> unit_by_size(1_700_000_000), unit_by_size("1700000000000")
    ('s', 'ms')
    """
    count = _exact(number)
    return next((unit for unit, limit in LIMITS.items() if -limit < count < limit), "ns")


def own_clock(first_us: int, last_us: int) -> bool:
    """Whether times count from a start of their own: the first is near 0, the last within twenty years.

    >>> own_clock(0, 1_814_400_000_000), own_clock(1_700_000_000_000_000, 1_700_000_060_000_000)
    (True, False)
    """
    year = 365 * 86_400 * 1_000_000
    return 0 <= first_us < year and last_us < 20 * year


def _usual_us(text: str, *, bare_is_utc: bool) -> int | None:
    """A text of the usual form, or None for what is no moment or has no zone: the long way says why."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # also a leap second, which the long way reads
        return None
    if moment.tzinfo is not None:
        return (moment - _START) // _MICRO
    return (moment - _BARE_START) // _MICRO if bare_is_utc else None


def _seconds(parts: re.Match[str]) -> int:
    """Seconds since 1970 by the clock on the wall; `ValueError` for what no clock shows."""
    year, month, day, hour, minute = map(int, parts.group("year", "month", "day", "hour", "minute"))
    second = int(parts["second"] or 0)
    # A leap second is the first moment after it: clocks have no place for it.
    if second > 60:
        raise ValueError
    return (datetime(year, month, day, hour, minute, tzinfo=UTC) - _START) // timedelta(seconds=1) + second


def zone_offset_s(zone: str) -> int:
    """How many seconds a zone is ahead of UTC; `ValueError` for one that no place has.

    >>> zone_offset_s("+05:30"), zone_offset_s("Z")
    (19800, 0)
    """
    if zone[0] not in "+-":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:]) if len(zone) > 3 else 0
    if hours > 23 or minutes > 59:
        raise ValueError
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def _exact(number: object) -> int | Fraction:
    """A number as it is, without a float on the way."""
    if number is None or number == "":
        raise NoMoment("time is missing")
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    text = number.strip() if isinstance(number, str) else repr(number) if isinstance(number, float) else ""
    if not _NUMBER.fullmatch(text):
        raise NoMoment("time is not a number" + _shown(number))
    return int(text) if text.isdigit() else Fraction(text)


def _in_reach(micros: int, source: object) -> int:
    if micros not in EVER_US:
        raise NoMoment("time is outside the years 1900 to 2200" + _shown(source))
    return micros


def _shown(value: object) -> str:
    """What the sentence may show: nothing of lists and objects, nor of a number without an end."""
    if isinstance(value, str) or (isinstance(value, int | float) and abs(value) < 10**30):
        return shown(value)
    return ""
