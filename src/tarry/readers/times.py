"""A column of times, of whatever kind, as whole microseconds since 1970 UTC.

Numbers are counts of a unit since 1970, or days of the calendar written as numbers; texts are numbers or
ISO 8601. The form of texts, the units and the years that count are those of `moments.py`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray
from tarry.readers.faults import clip, shown
from tarry.readers.moments import END_S, FIRST_S, ISO, LIMITS, PER_SECOND, zone_offset_s

__all__ = [
    "HINT",
    "UNITS",
    "Counted",
    "IsoMoments",
    "Moments",
    "check_unit",
    "days_of",
    "in_reach",
    "iso_moments",
    "moments",
    "read_numbers",
]

HINT = "write times as ISO 8601 (2024-05-01T10:00:00Z), or as numbers with --time-unit"
UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
FINE, MISSING, NO_MOMENT, NOT_FINITE, FAR = range(5)  # what can be wrong with a time
_REASONS = (
    "",
    "is missing",
    "is not a moment",
    "is not a finite number",
    "is outside the years 1900 to 2200",
)
_BARE = "times carry no zone: read as UTC"
_DAY = 86_400_000_000
_FIRST_DATE, _LAST_DATE = 19000101, 22001231  # the years that count, as dates without hyphens


class Moments(NamedTuple):
    """The moments of a column, and what is wrong with the rows that hold none.

    >>> moments(pl.Series(["soon"]), "s").reason(0)
    'time is not a moment (a text of 4 characters)'
    """

    arrival: IntArray  # microseconds since 1970 UTC; 0 where there is none
    fault: npt.NDArray[np.uint8]  # which fault each row has, 0 for none
    source: pl.Series  # the column as it was
    notes: tuple[str, ...]  # how it was read

    def reason(self, row: int) -> str:
        """What is wrong with the time of one row."""
        fault = int(self.fault[row])
        return f"time {_REASONS[fault]}" + ("" if fault == MISSING else shown(self.source[row]))


def check_unit(unit: str | None) -> None:
    """Refuse a unit of time that does not exist.

    >>> check_unit("min")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: --time-unit must be one of s, ms, us, ns, iso, not min
    """
    if unit is not None and unit not in {*UNITS, "iso"}:
        raise BadInput(f"--time-unit must be one of {', '.join(UNITS)}, iso, not {clip(unit)}")


def moments(column: pl.Series, unit: str | None = None, stated: str | None = None) -> Moments:
    """Read numbers, texts or moments; `unit` is a person's word, `stated` that of the file.

    A column of moments knows its unit, so that neither counts there.

    >>> found = moments(pl.Series([1_700_000_000, None]))
    >>> found.arrival.tolist(), found.reason(1)
    ([1700000000000000, 0], 'time is missing')
    >>> found.notes
    ('times read as seconds, by their size: 2023-11-14 to 2023-11-14',)
    >>> moments(pl.Series(["2024-05-01T10:00:00+02:00"])).arrival.tolist()
    [1714550400000000]
    """
    kind = column.dtype
    if kind.is_temporal() and not isinstance(kind, pl.Time | pl.Duration):
        read = _from_moments(column)
    elif isinstance(kind, pl.String | pl.Decimal | pl.Categorical | pl.Enum | pl.Null):
        read = _from_texts(column, unit or stated)
    elif kind.is_numeric():
        read = _from_numbers(column, unit, stated)
    else:
        raise BadInput(
            f"the column {clip(column.name)} must hold numbers, moments or ISO 8601 texts, "
            f"not {clip(kind.base_type())}",
            "name another with --time NAME",
        )
    return read._replace(
        arrival=np.where(read.fault == FINE, read.arrival, 0), notes=(*read.notes, *_warnings(read))
    )


def _warnings(read: Moments) -> list[str]:
    """What a person should know of any column of times."""
    good = read.arrival[read.fault == FINE]
    warnings = []
    if len(good) and not (good % _DAY).any():
        warnings.append("all times are whole days: nothing can be said about minutes")
    if (read.fault == NO_MOMENT).any():
        warnings.append(HINT)
    return warnings


def _from_moments(column: pl.Series) -> Moments:
    """Dates and moments of any unit; what carries a zone is UTC inside."""
    if column.dtype == pl.Date:
        notes: tuple[str, ...] = ("times are days: read as midnight UTC",)
        unit, counts = "s", column.to_physical().cast(pl.Int64) * 86_400
    else:
        notes = () if getattr(column.dtype, "time_zone", None) else (_BARE,)
        unit, counts = str(getattr(column.dtype, "time_unit", "us")), column.to_physical()
    micros, fault, _ = read_numbers(counts, counts, unit)
    return Moments(micros, fault, column, notes)


def _from_numbers(column: pl.Series, unit: str | None, stated: str | None) -> Moments:
    if unit == "iso":
        raise BadInput(
            f"--time-unit iso is for texts, and the column holds {clip(column.dtype)}",
            "give s, ms, us or ns",
        )
    is_float = column.dtype.is_float()
    whole = column.clear(column.len()).cast(pl.Int64) if is_float else column.cast(pl.Int64, strict=False)
    micros, fault, notes = read_numbers(whole, column, unit or stated)
    if column.dtype == pl.Float32:
        notes = (*notes, "times are stored as 32-bit floats, which round them")
    return Moments(micros, fault, column, notes)


def _from_texts(column: pl.Series, unit: str | None) -> Moments:
    """Texts that are numbers or ISO 8601, each by its own rule; `iso` says that none is a number."""
    texts = column.cast(pl.String).str.strip_chars()
    texts = texts.set(texts == "", None)
    numbers = texts.cast(pl.Float64, strict=False)
    if unit == "iso":
        numbers = numbers.clear(numbers.len())
    is_number = numbers.is_not_null()
    whole = texts.set(~is_number, None).cast(pl.Int64, strict=False)
    micros, fault, notes = read_numbers(whole, numbers, unit)
    written = (~is_number & texts.is_not_null()).to_numpy()
    if not written.any():
        return Moments(micros, fault, texts, notes)
    iso = iso_moments(texts.filter(written))
    micros[written] = iso.micros
    fault[written] = np.where(iso.good, np.where(in_reach(iso.micros), FINE, FAR), NO_MOMENT)
    counted, read = int((fault[~written] == FINE).sum()), int(iso.good.sum())
    bare = int((iso.good & ~iso.zoned).sum())
    if counted and read:
        notes = (f"{counted} of {counted + read} times are numbers, the others ISO 8601 texts", *notes)
    elif not counted:
        notes = ()
    if bare:
        notes = (*notes, _BARE if bare == read else f"{bare} of {read} {_BARE}")
    return Moments(micros, fault, texts, notes)


class Counted(NamedTuple):
    """The moments of a column of numbers.

    >>> read_numbers(pl.Series([5, None]), pl.Series([5.0, None]), "s").fault.tolist()
    [0, 1]
    """

    micros: IntArray  # microseconds since 1970 UTC; anything where there is a fault
    fault: npt.NDArray[np.uint8]  # which fault each row has, FINE for none
    notes: tuple[str, ...]  # how they were read, if that was guessed


def read_numbers(whole: pl.Series, numbers: pl.Series, unit: str | None) -> Counted:
    """Read numbers of a unit: `whole` where they are whole and fit 63 bits, `numbers` for all of them.

    Without a unit they are dates, if all of them could be, and else of the unit that fits their size.

    >>> days = pl.Series([20240501, 20240503])
    >>> read_numbers(days, days, None).notes
    ('times read as dates (YYYYMMDD): 2024-05-01 to 2024-05-03',)
    """
    floats = numbers.cast(pl.Float64).fill_null(np.nan).to_numpy()
    finite, guess = np.isfinite(floats), ""
    if unit not in UNITS:
        dates = _dates(floats, finite)
        unit = "s" if dates is not None else _guess_unit(np.abs(floats[finite]))
        guess = f"{UNITS[unit]}, by their size" if dates is None else "dates (YYYYMMDD)"
        whole = whole if dates is None else dates
    is_whole = whole.is_not_null().to_numpy()
    exact, exact_good = _in_micros(whole.fill_null(0).to_numpy(), unit)
    near, near_good = _in_micros(np.where(finite, floats, 0), unit)
    micros = np.where(is_whole, exact, near)
    fault = np.where(np.where(is_whole, exact_good, near_good), FINE, FAR).astype(np.uint8)
    fault[~finite] = NOT_FINITE
    fault[numbers.is_null().to_numpy()] = MISSING
    days = days_of(micros[fault == FINE])
    return Counted(
        micros, fault, (f"times read as {guess}" + (f": {days}" if days else ""),) if guess else ()
    )


def in_reach(micros: IntArray) -> BoolArray:
    """Which moments lie in the years 1900 to 2200.

    >>> in_reach(np.array([0, 10**16])).tolist()
    [True, False]
    """
    seconds = micros // PER_SECOND["us"]
    return (seconds >= FIRST_S) & (seconds < END_S)


def days_of(micros: IntArray) -> str:
    """The first and the last day of moments, by UTC.

    >>> days_of(np.array([86_400_000_000, 5]))
    '1970-01-01 to 1970-01-02'
    """
    if not len(micros):
        return ""
    first, last = (
        np.datetime64(int(end), "us").astype("datetime64[D]") for end in (micros.min(), micros.max())
    )
    return f"{first} to {last}"


def _dates(floats: npt.NDArray[np.float64], finite: BoolArray) -> pl.Series | None:
    """The seconds of each day, if every number is a date without hyphens."""
    sizes = floats[finite]
    if not len(sizes) or sizes.min() < _FIRST_DATE or sizes.max() > _LAST_DATE or (sizes % 1).any():
        return None
    texts = pl.Series(np.where(finite, floats, 0).astype(np.int64)).cast(pl.String)
    days = texts.str.to_date("%Y%m%d", strict=False)
    if days.null_count() > len(floats) - len(sizes):
        return None
    return days.cast(pl.Int32).cast(pl.Int64) * 86_400


def _guess_unit(sizes: npt.NDArray[np.float64]) -> str:
    """The unit in which all numbers are plausible moments; 1e11 seconds are three thousand years."""
    if not len(sizes):
        return "s"
    low, high = float(sizes.min()), float(sizes.max())
    first, last = (next((u for u, limit in LIMITS.items() if size < limit), "ns") for size in (low, high))
    if first != last:
        raise BadInput(
            f"the times must be of one unit, and their sizes go from {low:.6g} to {high:.6g}",
            "give --time-unit s, ms, us or ns",
        )
    return first


def _in_micros(counts: IntArray | npt.NDArray[np.float64], unit: str) -> tuple[IntArray, BoolArray]:
    """Counts of a unit to the nearest microsecond, and which are in reach; whole ones without a float."""
    per_second = PER_SECOND[unit]
    good = (counts >= FIRST_S * per_second) & (counts < END_S * per_second)
    inside = np.where(good, counts, 0)
    if counts.dtype.kind == "f":
        micros = inside * (1e6 / per_second) if per_second <= 1e6 else inside / 1000.0
        return np.rint(micros).astype(np.int64), good
    if unit == "ns":
        return inside // 1000 + (inside % 1000 >= 500), good
    return inside * (1_000_000 // per_second), good


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
    return IsoMoments(micros.to_numpy(), good.to_numpy(), (read["zoned"] & good).to_numpy())


def _seconds_ahead(zones: pl.Series) -> pl.Expr:
    """The offset of each row; UTC where none is written, nothing where no place has such a zone."""
    offsets: dict[str, int | None] = {}
    for zone in zones.drop_nulls().unique():
        try:
            offsets[zone] = zone_offset_s(zone)
        except ValueError:
            offsets[zone] = None
    if not offsets:
        return pl.lit(0)
    return pl.col("zone").replace_strict(offsets, default=0, return_dtype=pl.Int64)
