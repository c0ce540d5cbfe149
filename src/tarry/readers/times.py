"""A column of times, of whatever kind, as whole microseconds since 1970 UTC."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray
from tarry.readers.iso import iso_moments
from tarry.readers.rows import clip

__all__ = ["UNITS", "Moments", "check_unit", "moments"]

UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
_LIMITS = {"s": 1e11, "ms": 1e14, "us": 1e17}  # a number from there on is of a finer unit
_FIRST_S, _END_S = -2_208_988_800, 7_289_654_400  # the years 1900 to 2200
_BARE = "times carry no zone: read as UTC"

_FINE, _MISSING, _NO_MOMENT, _NOT_FINITE, _FAR = range(5)
_SAID = ("", "is missing", "is not a moment", "is not a finite number", "is outside the years 1900 to 2200")


class Moments(NamedTuple):
    """The moments of a column, and what is wrong with the rows that hold none.

    >>> moments(pl.Series(["soon"]), "s").reason(0)
    'time is not a moment: soon'
    """

    arrival: IntArray  # microseconds since 1970 UTC; 0 where there is none
    fault: npt.NDArray[np.uint8]  # which fault each row has, 0 for none
    source: pl.Series  # the column as it was
    notes: tuple[str, ...]  # how it was read

    def reason(self, row: int) -> str:
        """What is wrong with the time of one row."""
        fault = int(self.fault[row])
        value = "" if fault == _MISSING else f": {clip(self.source[row])}"
        return f"time {_SAID[fault]}{value}"


def check_unit(unit: str | None) -> None:
    """Refuse a unit of time that does not exist.

    >>> check_unit("min")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: --time-unit is one of s, ms, us, ns, iso, found min
    """
    if unit is not None and unit not in {*UNITS, "iso"}:
        raise BadInput("--time-unit", f"is one of {', '.join(UNITS)}, iso", found=clip(unit))


def moments(column: pl.Series, unit: str | None = None, stated: str | None = None) -> Moments:
    """Read numbers, texts or moments; `unit` is a person's word, `stated` that of the file.

    A column of moments knows its unit, so that neither counts there.

    >>> found = moments(pl.Series([1_700_000_000, None]))
    >>> found.arrival.tolist(), found.reason(1), found.notes
    ([1700000000000000, 0], 'time is missing', ('times read as seconds, by their size',))
    >>> moments(pl.Series(["2024-05-01T10:00:00+02:00"])).arrival.tolist()
    [1714550400000000]
    """
    kind = column.dtype
    if kind.is_temporal() and not isinstance(kind, pl.Time | pl.Duration):
        return _from_moments(column)
    if isinstance(kind, pl.String | pl.Decimal | pl.Categorical | pl.Enum | pl.Null):
        return _from_texts(column, unit or stated)
    if not kind.is_numeric():
        rule = "holds numbers, moments or ISO 8601 texts"
        raise BadInput(
            f"the column {clip(column.name)}", rule, found=clip(kind), fix="name another with --time NAME"
        )
    if unit == "iso":
        rule = "is for texts"
        raise BadInput(
            "--time-unit iso", rule, found=f"a column of {clip(kind)}", fix="give s, ms, us or ns"
        )
    if kind.is_float():
        return _from_numbers(column, column.clear(column.len()).cast(pl.Int64), column, unit or stated)
    whole = column.cast(pl.Int64, strict=False)
    return _from_numbers(column, whole, column.cast(pl.Float64), unit or stated)


def _from_moments(column: pl.Series) -> Moments:
    """Dates and moments of any unit; what carries a zone is UTC inside."""
    if column.dtype == pl.Date:
        notes: tuple[str, ...] = ("times are days: read as midnight UTC",)
        unit, counts = "s", column.to_physical().cast(pl.Int64) * 86_400
    else:
        notes = () if getattr(column.dtype, "time_zone", None) else (_BARE,)
        unit, counts = str(getattr(column.dtype, "time_unit", "us")), column.to_physical()
    return _from_numbers(column, counts, counts.cast(pl.Float64), unit)._replace(notes=notes)


def _from_texts(column: pl.Series, unit: str | None) -> Moments:
    """Texts that are numbers or ISO 8601: whichever most of them are, unless a unit decides."""
    texts = column.cast(pl.String).str.strip_chars()
    texts = texts.set(texts == "", None)
    numbers = texts.cast(pl.Float64, strict=False)
    written = texts.len() - texts.null_count()
    counted = numbers.len() - numbers.null_count()
    if unit != "iso" and (unit is not None or 2 * counted >= written):
        return _from_numbers(texts, texts.cast(pl.Int64, strict=False), numbers, unit)
    micros, good, zoned = iso_moments(texts)
    seconds = micros // _PER_SECOND["us"]
    fault = np.where(good, _FINE, _NO_MOMENT)
    fault[good & ((seconds < _FIRST_S) | (seconds >= _END_S))] = _FAR
    fault[texts.is_null().to_numpy()] = _MISSING
    bare, read = int((good & ~zoned).sum()), int(good.sum())
    notes = () if not bare else (_BARE if bare == read else f"{bare} of {read} {_BARE}",)
    return Moments(np.where(fault == _FINE, micros, 0), fault.astype(np.uint8), texts, notes)


def _from_numbers(column: pl.Series, whole: pl.Series, numbers: pl.Series, unit: str | None) -> Moments:
    """Numbers of a unit: `whole` where they are whole and fit 63 bits, `numbers` for all of them."""
    missing, is_whole = column.is_null().to_numpy(), whole.is_not_null().to_numpy()
    floats = numbers.cast(pl.Float64).fill_null(np.nan).to_numpy()
    finite = np.isfinite(floats)
    notes: tuple[str, ...] = ()
    if unit not in UNITS:
        unit = _guess_unit(np.abs(floats[finite]))
        notes = (f"times read as {UNITS[unit]}, by their size",)
    if column.dtype == pl.Float32:
        notes = (*notes, "times are stored as 32-bit floats, which round them")
    exact, near = _exact(whole.fill_null(0).to_numpy(), unit), _rounded(np.where(finite, floats, 0), unit)
    arrival = np.where(is_whole, exact.micros, near.micros)
    fault = np.where(np.where(is_whole, exact.good, near.good), _FINE, _FAR)
    fault[~finite] = _NOT_FINITE
    if column.dtype == pl.String:
        fault[numbers.is_null().to_numpy()] = _NO_MOMENT
    fault[missing] = _MISSING
    return Moments(np.where(fault == _FINE, arrival, 0), fault.astype(np.uint8), column, notes)


def _guess_unit(sizes: npt.NDArray[np.float64]) -> str:
    """The unit in which all numbers are plausible moments; 1e11 seconds are three thousand years."""
    if not len(sizes):
        return "s"
    low, high = float(sizes.min()), float(sizes.max())
    first, last = (next((u for u, limit in _LIMITS.items() if size < limit), "ns") for size in (low, high))
    if first != last:
        found = f"mixed units (sizes from {low:.6g} to {high:.6g})"
        raise BadInput("the times", "are of one unit", found=found, fix="give --time-unit s, ms, us or ns")
    return first


class _Micros(NamedTuple):
    micros: IntArray
    good: BoolArray


def _exact(counts: IntArray, unit: str) -> _Micros:
    """Whole counts of a unit in microseconds, without a float on the way; the nearest one for ns."""
    per_second = _PER_SECOND[unit]
    good = (counts >= _FIRST_S * per_second) & (counts < _END_S * per_second)
    inside = np.where(good, counts, 0)
    if unit == "ns":
        return _Micros(inside // 1000 + (inside % 1000 >= 500), good)
    return _Micros(inside * (1_000_000 // per_second), good)


def _rounded(numbers: npt.NDArray[np.float64], unit: str) -> _Micros:
    """Numbers of a unit, to the nearest microsecond."""
    per_second = float(_PER_SECOND[unit])
    good = (numbers >= _FIRST_S * per_second) & (numbers < _END_S * per_second)
    inside = np.where(good, numbers, 0.0)
    micros = inside * (1e6 / per_second) if per_second <= 1e6 else inside / 1000.0
    return _Micros(np.rint(micros).astype(np.int64), good)
