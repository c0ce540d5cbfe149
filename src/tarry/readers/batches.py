"""A Parquet file too large for the memory: its events some at a time, as `read_history` reads them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tarry.core.errors import BadInput
from tarry.readers.columns import Rows, Wanted, choose_columns, faults_of_names, name_column, refusing
from tarry.readers.faults import Faults, Unreadable, clip
from tarry.readers.files import check_start, stated_unit
from tarry.readers.frames import faults_among, notes_of
from tarry.readers.sources import TextFile, check_readable
from tarry.readers.times import FINE, WHOLE_DAYS, moments

__all__ = ["LINE", "Batches"]

#: A name that no role has, and hardly a column.
LINE = "line of file"

_DAY = 86_400_000_000
_NEEDED = "a file that is read by parts must say what its times are"


class Batches:
    """The events of a Parquet file, some at a time. The account of it is whole after the last ones.

    Each batch has the columns actor, target and time (microseconds), and those of `also`. With `lines` it
    also says which row of the file each is, from 0 on, in the column LINE.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.parquet"
    ...     pl.DataFrame({"voter": ["ann", None], "proposal": [7, 8], "time": [5, 6]}).write_parquet(path)
    ...     batches = Batches(path, Wanted(), "s")
    ...     [batch["time"].to_list() for batch in batches], batches.faults.count, batches.rows
    ([[5000000]], 1, 2)
    """

    def __init__(
        self,
        path: str | Path,
        wanted: Wanted,
        time_unit: str | None = None,
        also: Sequence[str] = (),
        at_once: int = 1_000_000,
        *,
        lines: bool = False,
    ) -> None:
        self.path, self.wanted, self.at_once, self.lines = Path(path), wanted, at_once, lines
        what = f"the history {clip(self.path.name, 60)}"
        check_readable(self.path, what, pipes=False)
        self.faults = Faults(what)
        self._scan = self._opened(what)
        schema = self._scan.collect_schema()
        self.columns = schema.names()
        self.chosen = choose_columns(self.columns, wanted, what)
        for name in also:
            if name not in self.columns:
                raise BadInput(
                    f"the history has no column {clip(name)}", f"it has {', '.join(self.columns)}"
                )
        self.also = tuple(also)
        self.unit = time_unit or stated_unit(self.path)
        _check_times(schema[self.chosen["time"]], self.unit)
        self.rows = 0
        self._whole_days, self._notes = True, dict[str, None]()

    def __iter__(self) -> Iterator[pl.DataFrame]:
        self.rows, self.faults = 0, Faults(self.faults.what)
        while (some := self._some(self.rows)).height:
            yield self._read(some)
            self.rows += some.height

    @property
    def unreadable(self) -> tuple[Unreadable, ...]:
        """The first few rows that could not be read."""
        return tuple(self.faults.first)

    @property
    def notes(self) -> list[str]:
        """What one should know, in the order of `read_history`."""
        shape = Rows(frame=pl.DataFrame(schema=dict.fromkeys(self.columns, pl.Null)), faults=Faults())
        notes = notes_of(shape, self.chosen, self.wanted, self.faults.count, self.rows)
        return [*notes, *self._notes, *([WHOLE_DAYS] if self._whole_days else [])]

    def _opened(self, what: str) -> pl.LazyFrame:
        check_start(TextFile(path=self.path, what=what).head(), what)
        with refusing(f"{what} is no Parquet file that can be read", "check it, or copy it again"):
            scan = pl.scan_parquet(self.path)
            scan.collect_schema()
            return scan

    def _some(self, first: int) -> pl.DataFrame:
        names = list(dict.fromkeys([*self.chosen.values(), *self.also]))
        with refusing(f"{self.faults.what} is damaged inside", "copy it again"):
            return self._scan.select(names).slice(first, self.at_once).collect()

    def _read(self, some: pl.DataFrame) -> pl.DataFrame:
        names = {role: name_column(role, some[self.chosen[role]]) for role in ("actor", "target")}
        when = moments(some[self.chosen["time"]], self.unit)
        reasons = [pair for role, name in names.items() for pair in faults_of_names(role, name)]
        bad = np.logical_or.reduce([when.fault != FINE, *(mask for mask, _ in reasons)])
        lines = np.arange(self.rows + 1, self.rows + 1 + some.height)
        self.faults = self.faults.joined(faults_among(lines, bad, reasons, when))
        self._whole_days &= not bool((when.arrival[when.fault == FINE] % _DAY).any())
        self._notes.update(dict.fromkeys(note for note in when.notes if note != WHOLE_DAYS))
        read = pl.DataFrame([names["actor"].alias("actor"), names["target"].alias("target")])
        read = read.with_columns(pl.Series("time", when.arrival), *(some[name] for name in self.also))
        if self.lines:
            read = read.with_columns(pl.Series(LINE, lines - 1))
        return read.filter(~bad) if bad.any() else read


def _check_times(kind: pl.DataType, unit: str | None) -> None:
    """Times that one row alone can tell: moments, or numbers of a unit that is known."""
    if isinstance(kind, pl.Datetime | pl.Date):
        return
    if not kind.is_integer():
        raise BadInput(f"{_NEEDED}, and these are {clip(kind)}", "store them as timestamps")
    if unit is None or unit == "iso":
        raise BadInput(f"{_NEEDED}, and these are numbers", "give --time-unit s, ms, us or ns")
