"""Numbers as moments: counts of a unit since 1970, or days of the calendar written as numbers."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray

__all__ = [
    "FAR",
    "FINE",
    "MISSING",
    "NOT_FINITE",
    "NO_MOMENT",
    "UNITS",
    "Counted",
    "days_of",
    "in_reach",
    "read_numbers",
]

UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
FINE, MISSING, NO_MOMENT, NOT_FINITE, FAR = range(5)  # what can be wrong with a time
_PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
_LIMITS = {"s": 1e11, "ms": 1e14, "us": 1e17}  # a number from there on is of a finer unit
_FIRST_S, _END_S = -2_208_988_800, 7_289_654_400  # the years 1900 to 2200
_FIRST_DATE, _LAST_DATE = 19000101, 22001231  # the same years, as dates without hyphens


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
    finite, said = np.isfinite(floats), ""
    if unit not in UNITS:
        dates = _dates(floats, finite)
        unit = "s" if dates is not None else _guess_unit(np.abs(floats[finite]))
        said = f"{UNITS[unit]}, by their size" if dates is None else "dates (YYYYMMDD)"
        whole = whole if dates is None else dates
    is_whole = whole.is_not_null().to_numpy()
    exact, near = _exact(whole.fill_null(0).to_numpy(), unit), _rounded(np.where(finite, floats, 0), unit)
    micros = np.where(is_whole, exact.micros, near.micros)
    fault = np.where(np.where(is_whole, exact.good, near.good), FINE, FAR).astype(np.uint8)
    fault[~finite] = NOT_FINITE
    fault[numbers.is_null().to_numpy()] = MISSING
    days = days_of(micros[fault == FINE])
    return Counted(
        micros, fault, (f"times read as {said}" + (f": {days}" if days else ""),) if said else ()
    )


def in_reach(micros: IntArray) -> BoolArray:
    """Which moments lie in the years 1900 to 2200.

    >>> in_reach(np.array([0, 10**16])).tolist()
    [True, False]
    """
    seconds = micros // _PER_SECOND["us"]
    return (seconds >= _FIRST_S) & (seconds < _END_S)


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
    first, last = (next((u for u, limit in _LIMITS.items() if size < limit), "ns") for size in (low, high))
    if first != last:
        found = f"mixed units (sizes from {low:.6g} to {high:.6g})"
        raise BadInput(
            "the times", "must be of one unit", found=found, fix="give --time-unit s, ms, us or ns"
        )
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
