"""Figures and names as people read them, in tables, reports and charts alike."""

from collections.abc import Sequence
from datetime import date, timedelta
from fractions import Fraction
from itertools import count
from pathlib import PureWindowsPath

from tarry.core import plugins
from tarry.core.exact import format_duration
from tarry.readers.moments import own_clock

__all__ = ["day", "days", "factor", "number", "percent", "points", "seconds", "shown_names"]

_EPOCH = date(1970, 1, 1)
_MICROSECONDS_A_DAY = 86_400_000_000


def percent(share: float | None) -> str:
    """A share: percent with one digit, below one percent with two that tell something.

    >>> percent(0.791), percent(0.00042), percent(0.0), percent(None)
    ('79.1 %', '0.042 %', '0 %', '-')
    """
    if share is None:
        return "-"
    if not share:
        return "0 %"
    places = 1 if share >= 0.01 else 1 - int(f"{100 * share:.1e}".partition("e")[2])
    return f"{100 * share:.{places}f} %"


def points(difference: float | None) -> str:
    """A difference of two shares, in points of a percent.

    >>> points(0.227), points(-0.0004), points(0.0), points(None)
    ('+22.7', '-0.04', '0', '-')
    """
    if difference is None:
        return "-"
    written = f"{100 * difference:+.{1 if abs(difference) >= 0.001 else 2}f}"
    return written if float(written) else "0"


def factor(times: float | None) -> str:
    """How many times as much.

    >>> factor(1.52), factor(1234.5), factor(None)
    ('1.5 x', '1,234 x', '-')
    """
    return "-" if times is None else f"{times:,.{0 if times >= 10 else 1}f} x"


def seconds(value: float) -> str:
    """A duration in two units at most; three digits below a minute.

    >>> seconds(123.4), seconds(0.25), seconds(9.0), seconds(5862.0), seconds(100_000.0)
    ('2m3s', '0.25s', '9s', '1h38m', '1d4h')
    """
    if value < 60:
        return f"{value:.3g}s"
    step = 1 if value < 3600 else 60 if value < 86_400 else 3600
    return format_duration(Fraction(step * round(value / step)))


def number(value: float) -> str:
    """A count, or the mean of counts.

    >>> number(1234), number(1234.5)
    ('1,234', '1,234.5')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def day(microseconds: int) -> str:
    """The day of a moment, in UTC.

    >>> day(1_700_000_000_000_000)
    '2023-11-14'
    """
    days = microseconds // _MICROSECONDS_A_DAY
    try:
        return (_EPOCH + timedelta(days=days)).isoformat()
    except OverflowError:  # a history in units of its own
        return f"day {days:,}"


def days(first: int, last: int) -> tuple[str, str]:
    """The first and the last day of a history; counted where times have a start of their own.

    >>> days(1_700_000_000_000_000, 1_700_090_000_000_000), days(0, 1_814_300_000_000)
    (('2023-11-14', '2023-11-15'), ('day 1', 'day 21'))
    """
    if not own_clock(first, last):
        return day(first), day(last)
    one, other = (f"day {moment // _MICROSECONDS_A_DAY + 1:,}" for moment in (first, last))
    return one, other


def shown_names(practices: Sequence[str]) -> dict[str, str]:
    """What each practice is called: a policy that was read from a file loses the folders before it.

    >>> list(shown_names(["hotcrp:Europe/Berlin", "/home/me/a.toml", "b/a.toml"]).values())
    ['hotcrp:Europe/Berlin', 'a.toml', 'a.toml (2)']
    """
    shown: dict[str, str] = {}
    habits = plugins.names("practice")
    for practice in dict.fromkeys(practices):
        habit = practice.partition(":")[0] in habits
        plain = practice if habit else PureWindowsPath(practice).name or practice
        spellings = (plain if place == 1 else f"{plain} ({place})" for place in count(1))
        shown[practice] = next(name for name in spellings if name not in shown.values())
    return shown
