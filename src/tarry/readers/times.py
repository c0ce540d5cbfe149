"""A column of times, of whatever kind, as whole microseconds since 1970 UTC.

Numbers are counts of a unit since 1970, or days of the calendar written as numbers; texts are numbers or
ISO 8601, or of a form that a person gives (`clocks.py`). Units and years that count are in `moments.py`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray
from tarry.readers.clocks import TextMoments, WallClock, at_place, formed_moments, iso_moments
from tarry.readers.faults import clip, shown
from tarry.readers.moments import (
    END_S,
    FIRST_DATE,
    FIRST_S,
    LAST_DATE,
    LIMITS,
    PER_SECOND,
    UNITS,
    own_clock,
)

__all__ = [
    "FINE",
    "HINT",
    "WHOLE_DAYS",
    "Counted",
    "Moments",
    "days_of",
    "in_reach",
    "moments",
    "read_numbers",
]

HINT = (
    "write times as ISO 8601 (2024-05-01T10:00:00Z), or as numbers with --time-unit, or give --time-format"
)
WHOLE_DAYS = "all times are whole days: nothing can be said about minutes"
FINE, MISSING, NO_MOMENT, NOT_FINITE, FAR, SKIPPED = range(6)  # what can be wrong with a time
REASONS = (
    "",
    "is missing",
    "is not a moment",
    "is not a finite number",
    "is outside the years 1900 to 2200",
    "was never shown by the clocks of the zone, which were put forward",
)
# Days of a spreadsheet: those that a history may have, and how many lie before 1970.
_SHEET_DAYS, _SHEET_START = (20_000, 60_000), 25_569
_DAY = 86_400_000_000
_PYTHON_DAYS = 700_000  # before and after 1970


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
        hidden = fault == MISSING or (fault == FAR and _is_beyond_python(self.source, row))
        return f"time {REASONS[fault]}" + ("" if hidden else shown(self.source[row]))


def _is_beyond_python(column: pl.Series, row: int) -> bool:
    """Whether a moment of a column of moments is so far off that Python has no date for it."""
    if not column.dtype.is_temporal():
        return False
    unit = str(getattr(column.dtype, "time_unit", ""))  # a date has none: it counts days
    per_day = 86_400 * PER_SECOND[unit] if unit else 1
    return bool(abs(int(column.to_physical()[row])) // per_day > _PYTHON_DAYS)


def moments(
    column: pl.Series,
    unit: str | None = None,
    stated: str | None = None,
    clock: WallClock = WallClock(),  # noqa: B008 - a tuple of two texts
) -> Moments:
    """Read numbers, texts or moments; `unit` is a person's word, `stated` that of the file.

    A column of moments knows its unit, so that neither counts there. The clock says how texts are
    written, and what is meant by times without a zone.

    >>> found = moments(pl.Series([1_700_000_000, None]))
    >>> found.arrival.tolist(), found.reason(1)
    ([1700000000000000, 0], 'time is missing')
    >>> found.notes
    ('times read as seconds, by their size: 2023-11-14 to 2023-11-14',)
    >>> moments(pl.Series(["2024-05-01T10:00:00+02:00"])).arrival.tolist()
    [1714550400000000]
    """
    kind = column.dtype
    if clock.form is not None:
        read, bare = _from_form(column, clock.form)
    elif kind.is_temporal() and not isinstance(kind, pl.Time | pl.Duration):
        read, bare = _from_moments(column, clock.zone)
    elif isinstance(kind, pl.String | pl.Decimal | pl.Categorical | pl.Enum | pl.Null):
        read, bare = _from_texts(column, unit or stated)
    elif kind.is_numeric():
        read, bare = _from_numbers(column, unit, stated)
    else:
        raise BadInput(
            f"the column {clip(column.name)} must hold numbers, moments or ISO 8601 texts, "
            f"not {clip(kind.base_type())}",
            "name another with --time NAME",
        )
    read = _placed(read, bare, clock.zone)
    return read._replace(
        arrival=np.where(read.fault == FINE, read.arrival, 0), notes=(*read.notes, *_warnings(read))
    )


def _placed(read: Moments, bare: BoolArray, zone: str | None) -> Moments:
    """With the moments of times that carry no zone, by the clock of the zone that is given."""
    bare = bare & (read.fault == FINE)
    count, known = int(bare.sum()), int((read.fault == FINE).sum())
    if not count:
        unused = "no time of day is without a zone: --time-zone changes nothing"
        return read if zone is None else read._replace(notes=(*read.notes, unused))
    said = f"times carry no zone: read as {zone or 'UTC'}"
    notes = [*read.notes, said if count == known else f"{count} of {known} {said}"]
    if zone is None:
        return read._replace(notes=tuple(notes))
    placed = at_place(read.arrival[bare], zone)
    arrival, fault = read.arrival.copy(), read.fault.copy()
    arrival[bare] = placed.micros
    fault[np.flatnonzero(bare)[placed.skipped]] = SKIPPED
    if placed.twice:
        notes.append(f"{placed.twice} times were shown twice when clocks were put back: the first is meant")
    return read._replace(arrival=arrival, fault=fault, notes=tuple(notes))


def _warnings(read: Moments) -> Iterator[str]:
    """What a person should know of any column of times."""
    good = read.arrival[read.fault == FINE]
    if len(good) and not (good % _DAY).any():
        yield WHOLE_DAYS
    if (read.fault == NO_MOMENT).any():
        yield HINT


def _from_moments(column: pl.Series, zone: str | None) -> tuple[Moments, BoolArray]:
    """Dates and moments of any unit; what carries a zone is UTC inside."""
    notes: tuple[str, ...] = ()
    bare = getattr(column.dtype, "time_zone", None) is None
    if column.dtype == pl.Date:
        notes, bare = ("times are days: read as midnight UTC",) if zone is None else (), zone is not None
        unit, counts = "s", column.to_physical().cast(pl.Int64) * 86_400
    else:
        unit, counts = str(getattr(column.dtype, "time_unit", "us")), column.to_physical()
    micros, fault, _, _ = read_numbers(counts, counts, unit)
    return Moments(micros, fault, column, notes), np.full(len(column), bare)


def _from_numbers(column: pl.Series, unit: str | None, stated: str | None) -> tuple[Moments, BoolArray]:
    if unit == "iso":
        raise BadInput(
            f"--time-unit iso is for texts, and the column holds {clip(column.dtype)}",
            "give s, ms, us or ns",
        )
    is_float = column.dtype.is_float()
    whole = column.clear(column.len()).cast(pl.Int64) if is_float else column.cast(pl.Int64, strict=False)
    micros, fault, notes, bare = read_numbers(whole, column, unit or stated)
    if column.dtype == pl.Float32:
        notes = (*notes, "times are stored as 32-bit floats, which round them")
    return Moments(micros, fault, column, notes), np.full(len(column), bare)


def _from_form(column: pl.Series, form: str) -> tuple[Moments, BoolArray]:
    """Texts, or whole numbers, of the form that a person has given."""
    kind = column.dtype
    if not (kind.is_integer() or isinstance(kind, pl.String | pl.Categorical | pl.Enum | pl.Null)):
        raise BadInput(f"--time-format is for texts, and the column holds {clip(kind)}", "leave it out")
    texts = column.cast(pl.String).str.strip_chars().replace("", None)
    read = formed_moments(texts, form)
    fault = _text_faults(read)
    fault[texts.is_null().to_numpy()] = MISSING
    return Moments(read.micros, fault, texts, ()), ~read.zoned


def _text_faults(read: TextMoments) -> npt.NDArray[np.uint8]:
    return np.where(read.good, np.where(in_reach(read.micros), FINE, FAR), NO_MOMENT).astype(np.uint8)


def _from_texts(column: pl.Series, unit: str | None) -> tuple[Moments, BoolArray]:
    """Texts that are numbers or ISO 8601, each by its own rule; `iso` says that none is a number."""
    texts = column.cast(pl.String).str.strip_chars().replace("", None)
    numbers = texts.cast(pl.Float64, strict=False)
    if unit == "iso":
        numbers = numbers.clear(numbers.len())
    is_number = numbers.is_not_null()
    whole = texts.set(~is_number, None).cast(pl.Int64, strict=False)
    micros, fault, notes, from_sheet = read_numbers(whole, numbers, unit)
    written = (~is_number & texts.is_not_null()).to_numpy()
    bare = np.full(len(texts), from_sheet)
    if not written.any():
        return Moments(micros, fault, texts, notes), bare
    iso = iso_moments(texts.filter(written))
    micros[written] = iso.micros
    fault[written] = _text_faults(iso)
    bare[written] = ~iso.zoned
    counted, read = int((fault[~written] == FINE).sum()), int(iso.good.sum())
    if counted and read:
        notes = (f"{counted} of {counted + read} times are numbers, the others ISO 8601 texts", *notes)
    elif not counted:
        notes = ()
    return Moments(micros, fault, texts, notes), bare


class Counted(NamedTuple):
    """The moments of a column of numbers.

    >>> read_numbers(pl.Series([5, None]), pl.Series([5.0, None]), "s").fault.tolist()
    [0, 1]
    """

    micros: IntArray  # microseconds since 1970 UTC; anything where there is a fault
    fault: npt.NDArray[np.uint8]  # which fault each row has, FINE for none
    notes: tuple[str, ...]  # how they were read, if that was guessed
    from_sheet: bool  # days of a spreadsheet, by the clock on its wall


def read_numbers(whole: pl.Series, numbers: pl.Series, unit: str | None) -> Counted:
    """Read numbers of a unit: `whole` where they are whole and fit 63 bits, `numbers` for all of them.

    Without a unit they are dates, if all of them could be, or days of a spreadsheet with times of day,
    and else of the unit that fits their size.

    >>> days = pl.Series([20240501, 20240503])
    >>> read_numbers(days, days, None).notes
    ('times read as dates (YYYYMMDD): 2024-05-01 to 2024-05-03',)
    >>> read_numbers(pl.Series([None], dtype=pl.Int64), pl.Series([45413.4166666667]), None).notes
    ('times read as days of a spreadsheet (--time-unit if not): 2024-05-01 to 2024-05-01',)
    """
    floats = numbers.cast(pl.Float64).fill_null(np.nan).to_numpy()
    finite = np.isfinite(floats)
    form = _Form(unit, whole) if unit in UNITS else _guessed(whole, floats, finite)
    is_whole = form.whole.is_not_null().to_numpy()
    exact, exact_good = _in_micros(form.whole.fill_null(0).to_numpy(), form.unit)
    near, near_good = _in_micros(np.where(finite, floats, 0), form.unit)
    micros = np.where(is_whole, exact, near)
    fault = np.where(np.where(is_whole, exact_good, near_good), FINE, FAR).astype(np.uint8)
    fault[~finite] = NOT_FINITE
    fault[numbers.is_null().to_numpy()] = MISSING
    return Counted(micros, fault, _guess_note(form, micros[fault == FINE]), form.from_sheet)


class _Form(NamedTuple):
    """How numbers are written."""

    unit: str
    whole: pl.Series  # counts of the unit, where they are whole
    guess: str = ""  # in words; nothing where a person or the file has said it
    by_size: bool = False
    from_sheet: bool = False


def _guessed(whole: pl.Series, floats: npt.NDArray[np.float64], finite: BoolArray) -> _Form:
    if _is_sheet(floats[finite]):  # to the millisecond: more is not in so many digits
        millis = np.rint((np.where(finite, floats, _SHEET_START) - _SHEET_START) * 86_400_000)
        words = "days of a spreadsheet (--time-unit if not)"
        return _Form("ms", pl.Series(millis).cast(pl.Int64), words, from_sheet=True)
    dates = _dates(floats, finite)
    if dates is not None:
        return _Form("s", dates, "dates (YYYYMMDD)")
    unit = _guess_unit(np.abs(floats[finite]))
    return _Form(unit, whole, f"{UNITS[unit]}, by their size", by_size=True)


def _guess_note(form: _Form, good: IntArray) -> tuple[str, ...]:
    """What was guessed, and which days come of it."""
    if not form.guess:
        return ()
    days = days_of(good)
    if len(good) and form.by_size and own_clock(int(good.min()), int(good.max())):
        days = "they begin near 0, so they count from a start of their own"
    return (f"times read as {form.guess}" + (f": {days}" if days else ""),)


def _is_sheet(sizes: npt.NDArray[np.float64]) -> bool:
    """Whether all numbers are days of a spreadsheet from 1954 to 2064, some with a time of day."""
    least, most = _SHEET_DAYS
    return bool(len(sizes) and sizes.min() >= least and sizes.max() < most and (sizes % 1).any())


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
    if not len(sizes) or sizes.min() < FIRST_DATE or sizes.max() > LAST_DATE or (sizes % 1).any():
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
