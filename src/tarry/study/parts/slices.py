"""A sorted history on disk: one file for each slice, each in the order of every table.

Cuts are known once the times are. Then each slice is taken out of the sorted Parquet file once (there
events are ordered by time, and those of one moment as in every table), and written as plain columns: no
pass has to decode or sort anything again. Beside a slice lie the columns that tasks have given for its
events.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tarry.core.history import row_order
from tarry.core.lanes import IntArray
from tarry.study.parts.engine import Columns, SlicePart
from tarry.study.parts.scratch import Scratch
from tarry.study.table import EventTable

__all__ = ["SORTED", "Slices", "frame_of", "keep_columns", "store_slice"]

Array = np.ndarray[Any, np.dtype[Any]]

#: What the sorted history is called until all slices are taken out of it.
SORTED = "sorted.parquet"
_FIRST, _LAST = -(1 << 61), 1 << 61  # before and after every moment
_MARKS = 1000  # a slice has about so many of the moments that are remembered
_AT_ONCE = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Slices:
    """Where the events are, and the moments at which slices begin.

    >>> Slices(
    ...     folder=Path("scratch"), cuts=(5,), marks=(2, 5), step=1, columns=("time", "actor", "target")
    ... ).edges[0][1]
    5
    """

    folder: Path
    cuts: Sequence[int]  # microseconds, rising
    marks: Sequence[int]  # the first moment of all, and every `step`th after it
    step: int
    columns: Sequence[str]  # of the sorted history

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Begin and end of each slice."""
        return list(pairwise([_FIRST, *self.cuts, _LAST]))

    def part(self, number: int, before: int, after: int) -> SlicePart:
        """A slice with its halo."""
        start, end = self.edges[number]
        low, high = _reach(start, end, before, after)
        pieces = [
            piece for each in self._touched(low, high) if (piece := self._piece(each, low, high)).events
        ]
        table, order = self._together(pieces)
        return SlicePart(
            table=table, start=start, end=end, kept=lambda name: _kept(self.folder, pieces, order, name)
        )

    def size(self, number: int, before: int, after: int) -> int:
        """How many events a part has: no more than this, and nearly so many."""
        low, high = _reach(*self.edges[number], before, after)
        inside = bisect_left(self.marks, high) - bisect_left(self.marks, low)
        return inside * self.step + self.step - 1

    @classmethod
    def cut(cls, folder: Path, rows: int, jobs: int = 1) -> "Slices":
        """Cut what is sorted there into slices of at most about so many rows; a moment is never parted.

        Each of so many jobs gets as many slices as the others: none has to wait for the last one.
        """
        scan = pl.scan_parquet(folder / SORTED)
        count = int(scan.select(pl.len()).collect().item())
        step = max(rows // _MARKS, 1)
        marks: list[int] = []
        for first in range(0, count, _AT_ONCE // step * step or step):
            some = scan.select("time").slice(first, _AT_ONCE // step * step or step).collect()
            marks.extend(some["time"].gather_every(step).to_list())
        pieces = ceil(count / (rows * jobs)) * jobs if count > rows else 1
        cuts = sorted({marks[piece * len(marks) // pieces] for piece in range(1, pieces)})
        columns = scan.collect_schema().names()
        return cls(folder=folder, cuts=tuple(cuts), marks=tuple(marks), step=step, columns=tuple(columns))

    def sorted_rows(self, number: int) -> pl.DataFrame:
        """The events of a slice as they stand in the sorted history: between two marks."""
        start, end = self.edges[number]
        first = max(bisect_left(self.marks, start) - 1, 0) * self.step
        last = bisect_left(self.marks, end) * self.step
        frame = pl.scan_parquet(self.folder / SORTED).slice(first, last - first).collect()
        low, high = np.searchsorted(frame["time"].to_numpy(), [start, end])
        return frame[int(low) : int(high)]

    def _touched(self, low: int, high: int) -> range:
        """The slices with moments from `low` to before `high`."""
        return range(bisect_right(self.cuts, low), bisect_left(self.cuts, high) + 1)

    def _piece(self, number: int, low: int, high: int) -> "_Piece":
        columns = np.load(self.folder / _file(number), mmap_mode="r")
        start, end = self.edges[number]
        if low <= start and end <= high:
            return _Piece(number=number, rows=None, events=columns.shape[1])
        time = columns[self.columns.index("time")]
        rows = np.flatnonzero((time >= low) & (time < high))
        return _Piece(number=number, rows=rows, events=len(rows))

    def _together(self, pieces: "Sequence[_Piece]") -> tuple[EventTable, IntArray | None]:
        """Pieces follow each other in time, and each is in order: so by actor is the order of all."""
        files = [np.load(self.folder / _file(piece.number), mmap_mode="r") for piece in pieces]

        def column(name: str) -> IntArray:
            place = self.columns.index(name)
            some = [piece.of(file[place]) for piece, file in zip(pieces, files, strict=True)]
            return np.concatenate(some) if some else np.zeros(0, dtype=np.int64)

        actor = column("actor")
        order = np.argsort(actor, kind="stable") if len(pieces) > 1 else None
        columns: dict[str, Any] = {
            name: _placed(actor if name == "actor" else column(name), order) for name in self.columns
        }
        if "declared" in columns:
            columns["declared"] = columns["declared"] != 0
        return EventTable(**columns, row=np.arange(len(actor))), order


@dataclass(frozen=True, kw_only=True, eq=False)
class _Piece:
    """What a part takes of one slice."""

    number: int
    rows: IntArray | None  # which of its events; None: all
    events: int  # how many

    def of(self, column: Array) -> Array:
        """These events' values, in memory."""
        return np.array(column) if self.rows is None else column[self.rows]


def _kept(folder: Path, pieces: Sequence[_Piece], order: IntArray | None, name: str) -> Columns | None:
    """What was kept of all these events under a name; None unless there is some of all of them."""
    paths = [folder / _file(piece.number, name) for piece in pieces]
    if not paths or not all(path.exists() for path in paths):
        return None
    files = [np.load(path, mmap_mode="r") for path in paths]
    return {
        field: _placed(
            np.concatenate([piece.of(file[field]) for piece, file in zip(pieces, files, strict=True)]),
            order,
        )
        for field in files[0].dtype.names
    }


def _placed(column: Array, order: IntArray | None) -> Array:
    return column if order is None else column[order]


def _reach(start: int, end: int, before: int, after: int) -> tuple[int, int]:
    return max(start - before, _FIRST), min(end + after, _LAST)


def _file(number: int, kept: str = "") -> str:
    """What is known of a slice: its events, or what was kept of them under a name."""
    return f"slice-{number:05d}{kept and '-'}{kept.replace('/', '-')}.npy"


def store_slice(slices: Slices, number: int) -> None:
    """Take a slice out of the sorted history.

    >>> store_slice.__name__
    'store_slice'
    """
    scratch = Scratch(slices.folder)
    if scratch.path(_file(number)).exists():
        return
    frame = slices.sorted_rows(number)
    # Events of one moment are in the order of every table already: only actors are left to bring together.
    order = row_order(frame["actor"].to_numpy())
    columns = np.empty((len(slices.columns), frame.height), dtype=np.int64)
    for place, name in enumerate(slices.columns):
        columns[place] = frame[name].to_numpy()[order]
    with scratch.whole(_file(number)) as draft, draft.open("wb") as file:
        np.save(file, columns)


def keep_columns(slices: Slices, number: int, named: Mapping[str, Columns], most: int) -> None:
    """Keep what a task gave of a slice's own events, as long as it is at most so many bytes an event."""
    for name, columns in named.items():
        kinds = [(field, column.dtype) for field, column in columns.items()]
        most -= np.dtype(kinds).itemsize
        if most < 0:
            return
        rows = np.empty(len(next(iter(columns.values()))), dtype=kinds)
        for field, column in columns.items():
            rows[field] = column
        with Scratch(slices.folder).whole(_file(number, name)) as draft, draft.open("wb") as file:
            np.save(file, rows)


def frame_of(table: EventTable) -> pl.DataFrame:
    """The columns of a table, by time, and events of one moment as they stand in the table.

    >>> from tarry.study.table import event_table
    >>> frame_of(event_table(actor=[1, 1], target=[2, 2], time=[9, 3]))["time"].to_list()
    [3, 9]
    """
    columns = {name: getattr(table, name) for name in ("actor", "target", "time", "track", "declared")}
    kept = {name: column for name, column in columns.items() if column is not None}
    return pl.DataFrame(kept).sort("time", maintain_order=True)
