"""Texts of times: ISO 8601 or a form of their own, and by the clock on the wall of some place."""

from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray
from tarry.readers.faults import clip
from tarry.readers.moments import ISO, UNITS, zone_offset_s

__all__ = [
    "TextMoments",
    "WallClock",
    "WallMoments",
    "at_place",
    "formed_moments",
    "iso_moments",
    "wall_clock",
]

_EXAMPLE = "write it like '%d.%m.%Y %H:%M'"
_ZONES = "use a name such as Europe/Berlin, UTC, or an offset such as +02:00"
_OFFSET_FIELDS = ("%z", "%:z", "%#z", "%+")  # of a form; with one of them texts say their zone


class WallClock(NamedTuple):
    """What a person says about texts: their form, and the place whose clock they show.

    >>> WallClock().zone is None
    True
    """

    form: str | None = None  # as in strptime; None: ISO 8601, or numbers
    zone: str | None = None  # of times that carry none; None: UTC


def wall_clock(form: str | None, zone: str | None, unit: str | None) -> WallClock:
    """Check what a person says about times.

    >>> wall_clock("%d.%m.%Y %H:%M", "Europe/Berlin", None).zone
    'Europe/Berlin'
    >>> wall_clock(None, None, "min")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: --time-unit must be one of s, ms, us, ns, iso, not min
    >>> wall_clock(None, "Mars", None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tarry.core.errors.BadInput: unknown time zone Mars: use a name such as Europe/Berlin, UTC, or ...
    """
    if unit is not None and unit not in {*UNITS, "iso"}:
        raise BadInput(f"--time-unit must be one of {', '.join(UNITS)}, iso, not {clip(unit)}")
    if form is not None and unit is not None:
        raise BadInput("--time-format and --time-unit exclude each other", "give one of them")
    if form is not None:
        _check_form(form)
    if zone is not None:
        _check_zone(zone)
    return WallClock(form, zone)


def _check_form(form: str) -> None:
    """That it says the day and the year of a moment: else different days would be one."""
    if "%" not in form:
        raise BadInput(f"--time-format {clip(form)!r} has no field such as %Y", _EXAMPLE)
    sample = pl.Series([datetime(2001, 2, 3, tzinfo=UTC)])
    try:
        read = formed_moments(sample.dt.strftime(form), form)
    except pl.exceptions.PolarsError:
        raise BadInput(f"--time-format {clip(form)!r} cannot be read", _EXAMPLE) from None
    if read.micros.tolist() != sample.to_physical().to_list():
        raise BadInput(f"--time-format {clip(form)!r} does not say a day and a year", _EXAMPLE)


def _check_zone(zone: str) -> None:
    if not zone:
        raise BadInput("the time zone has no name", _ZONES)
    try:
        at_place(np.zeros(1, dtype=np.int64), zone)
    except (pl.exceptions.PolarsError, ValueError):
        raise BadInput(f"unknown time zone {clip(zone)}", _ZONES) from None


class TextMoments(NamedTuple):
    """The moments of a column of texts; rows that hold none are marked.

    >>> iso_moments(pl.Series(["soon"])).good.tolist()
    [False]
    """

    micros: IntArray  # microseconds since 1970 UTC; 0 where there is none
    good: BoolArray  # whether the text is a moment
    zoned: BoolArray  # whether it says its zone


def formed_moments(texts: pl.Series, form: str) -> TextMoments:
    """Read texts of one form, as in strptime.

    >>> found = formed_moments(pl.Series(["2.1.1970 00:00", "soon"]), "%d.%m.%Y %H:%M")
    >>> found.micros.tolist(), found.good.tolist(), found.zoned.tolist()
    ([86400000000, 0], [True, False], [False, False])
    """
    zoned = any(field in form for field in _OFFSET_FIELDS)
    read = texts.str.strptime(pl.Datetime("us", "UTC" if zoned else None), form, strict=False)
    good = read.is_not_null().to_numpy()
    return TextMoments(read.to_physical().fill_null(0).to_numpy(), good, good & zoned)


def iso_moments(texts: pl.Series) -> TextMoments:
    """Read texts such as `2024-05-01T10:00:00Z`; one without a zone is read as UTC.

    >>> found = iso_moments(pl.Series(["1970-01-01T02:00:01.5+02:00", "1970-01-02", "2024-02-30"]))
    >>> found.micros.tolist(), found.good.tolist(), found.zoned.tolist()
    ([1500000, 86400000000, 0], [True, True, False], [True, False, False])
    """
    parts = texts.str.extract_groups(ISO).struct.unnest()
    hour, minute, second = (
        pl.col(name).cast(pl.Int64).fill_null(0) for name in ("hour", "minute", "second")
    )
    day = pl.concat_str("year", "month", "day").str.to_date("%Y%m%d", strict=False)
    # Digits beyond the ninth cannot change which microsecond is nearest, but for a tie.
    nanos = pl.col("part").str.pad_end(9, "0").str.slice(0, 9).cast(pl.Int64).fill_null(0)
    ahead = _seconds_ahead(parts["zone"])
    seconds = day.cast(pl.Int32).cast(pl.Int64) * 86_400 + hour * 3600 + minute * 60 + second - ahead
    read = parts.select(
        micros=seconds * 1_000_000 + (nanos + 500) // 1000,
        # A leap second is the first moment after it: clocks have no place for it.
        good=day.is_not_null() & (hour < 24) & (minute < 60) & (second < 61) & ahead.is_not_null(),
        zoned=pl.col("zone").is_not_null(),
    )
    good = read["good"].fill_null(value=False)
    micros = read.select(pl.when(good).then("micros").otherwise(0))["micros"]
    return TextMoments(micros.to_numpy(), good.to_numpy(), (read["zoned"] & good).to_numpy())


def _seconds_ahead(zones: pl.Series) -> pl.Expr:
    """The offset of each row; UTC where none is written, nothing where no place has such a zone."""
    offsets: dict[str, int | None] = {}
    for zone in zones.drop_nulls().unique():
        try:
            offsets[zone] = zone_offset_s(zone)
        except ValueError:
            offsets[zone] = None
    return pl.col("zone").replace_strict(offsets, default=0, return_dtype=pl.Int64)


class WallMoments(NamedTuple):
    """Times of a wall clock as moments.

    >>> at_place(np.array([7_200_000_000]), "+02:00").micros.tolist()
    [0]
    """

    micros: IntArray  # since 1970 UTC; 0 where there is none
    skipped: BoolArray  # times that the clock never showed: it was put forward
    twice: int  # times that it showed twice, when it was put back; the first is meant


def at_place(shown: IntArray, zone: str) -> WallMoments:
    """The moments at which the clock of a zone showed these times.

    >>> summer = np.array([1_719_792_000_000_000])  # 2024-07-01 00:00
    >>> (summer - at_place(summer, "Europe/Berlin").micros).tolist()
    [7200000000]
    """
    if zone[:1] in {"+", "-"}:
        return WallMoments(shown - zone_offset_s(zone) * 1_000_000, np.zeros(len(shown), dtype=np.bool_), 0)
    naive = pl.Series(shown, dtype=pl.Int64).cast(pl.Datetime("us"))
    first, last = (
        naive.dt.replace_time_zone(zone, ambiguous=which, non_existent="null").to_physical()
        for which in ("earliest", "latest")
    )
    twice = int((first != last).fill_null(value=False).sum())
    return WallMoments(first.fill_null(0).to_numpy(), first.is_null().to_numpy(), twice)
