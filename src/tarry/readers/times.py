"""A column of times, of whatever kind, as whole microseconds since 1970 UTC."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray
from tarry.readers.faults import clip, shown
from tarry.readers.iso import iso_moments
from tarry.readers.numbers import FAR, FINE, MISSING, NO_MOMENT, UNITS, in_reach, read_numbers

__all__ = ["HINT", "Moments", "check_unit", "moments"]

HINT = "write times as ISO 8601 (2024-05-01T10:00:00Z), or as numbers with --time-unit"
_BARE = "times carry no zone: read as UTC"
_DAY = 86_400_000_000
_SAID = ("", "is missing", "is not a moment", "is not a finite number", "is outside the years 1900 to 2200")


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
        return f"time {_SAID[fault]}" + ("" if fault == MISSING else shown(self.source[row]))


def check_unit(unit: str | None) -> None:
    """Refuse a unit of time that does not exist.

    >>> check_unit("min")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: --time-unit must be one of s, ms, us, ns, iso, found min
    """
    if unit is not None and unit not in {*UNITS, "iso"}:
        raise BadInput("--time-unit", f"must be one of {', '.join(UNITS)}, iso", found=clip(unit))


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
        what, rule = f"the column {clip(column.name)}", "must hold numbers, moments or ISO 8601 texts"
        raise BadInput(what, rule, found=clip(kind.base_type()), fix="name another with --time NAME")
    return read._replace(
        arrival=np.where(read.fault == FINE, read.arrival, 0), notes=(*read.notes, *_warnings(read))
    )


def _warnings(read: Moments) -> list[str]:
    """What a person should know of any column of times."""
    good = read.arrival[read.fault == FINE]
    found = []
    if len(good) and not (good % _DAY).any():
        found.append("all times are whole days: nothing can be said about minutes")
    if (read.fault == NO_MOMENT).any():
        found.append(HINT)
    return found


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
        what, fix = "a column read with --time-unit iso", "give s, ms, us or ns"
        raise BadInput(what, "must hold texts", found=f"a column of {clip(column.dtype)}", fix=fix)
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
    as_numbers = texts.set(~is_number, None)
    micros, fault, notes = read_numbers(as_numbers.cast(pl.Int64, strict=False), numbers, unit)
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
