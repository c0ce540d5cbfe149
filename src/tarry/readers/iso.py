"""Moments written as ISO 8601 texts, read exactly."""

from typing import NamedTuple

import polars as pl

from tarry.core.lanes import BoolArray, IntArray

__all__ = ["IsoMoments", "iso_moments"]

# Date, then perhaps a time of day to the minute, second or any fraction of it, then perhaps a zone.
_FORM = (
    r"^([0-9]{4}-?[0-9]{2}-?[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):?([0-9]{2})(?::?([0-9]{2})(?:[.,]([0-9]+))?)?)?"
    r" ?(?:([Zz]|UTC|GMT)|([+-])([0-9]{2}):?([0-9]{2})?)?$"
)
_PARTS = ("date", "hour", "minute", "second", "fraction", "utc", "sign", "zone_hour", "zone_minute")


class IsoMoments(NamedTuple):
    """The moments of a column of texts; rows that hold none are marked.

    >>> iso_moments(pl.Series(["soon"])).good.tolist()
    [False]
    """

    micros: IntArray  # microseconds since 1970 UTC; 0 where there is none
    good: BoolArray  # whether the text is a moment
    zoned: BoolArray  # whether it says its zone


def iso_moments(texts: pl.Series) -> IsoMoments:
    """Read texts such as `2024-05-01T10:00:00Z`; one without a zone is read as UTC.

    >>> found = iso_moments(pl.Series(["1970-01-01T02:00:01.5+02:00", "1970-01-02", "2024-02-30"]))
    >>> found.micros.tolist(), found.good.tolist(), found.zoned.tolist()
    ([1500000, 86400000000, 0], [True, True, False], [True, False, False])
    """
    parts = texts.str.extract_groups(_FORM).struct.unnest()
    parts.columns = list(_PARTS)
    hour, minute, second = (_number(name) for name in ("hour", "minute", "second"))
    zone_hour, zone_minute = _number("zone_hour"), _number("zone_minute")
    day = pl.col("date").str.replace_all("-", "", literal=True).str.to_date("%Y%m%d", strict=False)
    # Digits beyond the ninth cannot change which microsecond is nearest, but for a tie.
    nanos = pl.col("fraction").str.pad_end(9, "0").str.slice(0, 9).cast(pl.Int64).fill_null(0)
    offset = pl.when(pl.col("sign") == "-").then(-1).otherwise(1) * (zone_hour * 60 + zone_minute)
    minutes = day.cast(pl.Int32).cast(pl.Int64) * 1440 + hour * 60 + minute - offset
    found = parts.select(
        micros=(minutes * 60 + second) * 1_000_000 + (nanos + 500) // 1000,
        # A leap second is the first moment after it: clocks have no place for it.
        good=day.is_not_null()
        & (hour < 24)
        & (minute < 60)
        & (second < 61)
        & (zone_hour < 24)
        & (zone_minute < 60),
        zoned=pl.col("utc").is_not_null() | pl.col("sign").is_not_null(),
    )
    good = found["good"].fill_null(value=False)
    micros = found.select(pl.when(good).then("micros").otherwise(0))["micros"]
    return IsoMoments(micros.to_numpy(), good.to_numpy(), (found["zoned"] & good).to_numpy())


def _number(part: str) -> pl.Expr:
    return pl.col(part).cast(pl.Int64).fill_null(0)
