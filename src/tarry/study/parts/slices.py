"""A sorted history on disk: one Parquet file by time, and where it is cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tarry.study.parts.engine import SlicePart
from tarry.study.table import EventTable

__all__ = ["Slices", "frame_of", "table_from"]

_FIRST, _LAST = -(1 << 61), 1 << 61  # before and after every moment
_ORDER = ("actor", "time", "target", "declared", "track")


@dataclass(frozen=True, kw_only=True)
class Slices:
    """Where the events are, by time, and the moments at which slices begin.

    >>> Slices(path=Path("sorted.parquet"), cuts=(5,)).edges[0][1]
    5
    """

    path: Path
    cuts: Sequence[int]  # microseconds, rising

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Begin and end of each slice."""
        return list(pairwise([_FIRST, *self.cuts, _LAST]))

    def part(self, number: int, before: int, after: int) -> SlicePart:
        """A slice with its halo."""
        start, end = self.edges[number]
        inside = (pl.col("time") >= max(start - before, _FIRST)) & (
            pl.col("time") < min(end + after, _LAST)
        )
        frame = pl.scan_parquet(self.path).filter(inside).collect()
        return SlicePart(table=table_from(frame), start=start, end=end)

    def size(self, number: int, before: int, after: int) -> int:
        """How many events a part has."""
        start, end = self.edges[number]
        inside = (pl.col("time") >= max(start - before, _FIRST)) & (
            pl.col("time") < min(end + after, _LAST)
        )
        return int(pl.scan_parquet(self.path).filter(inside).select(pl.len()).collect().item())

    @classmethod
    def cut(cls, path: Path, rows: int) -> "Slices":
        """Cut into slices of about so many rows; a moment is never parted."""
        scan = pl.scan_parquet(path).select("time")
        count = int(scan.select(pl.len()).collect().item())
        places = range(rows, count, max(rows, 1))
        moments = [int(scan.slice(place, 1).collect().item()) for place in places]
        return cls(path=path, cuts=tuple(sorted(set(moments))))


def table_from(frame: pl.DataFrame) -> EventTable:
    """The table of some rows of a sorted history.

    >>> table_from(pl.DataFrame({"actor": [2, 1], "target": [5, 5], "time": [0, 0]})).actor.tolist()
    [1, 2]
    """
    frame = frame.sort([name for name in _ORDER if name in frame.columns], maintain_order=True)
    columns: dict[str, Any] = {name: frame[name].to_numpy() for name in frame.columns}
    return EventTable(**columns, row=np.arange(len(frame)))


def frame_of(table: EventTable) -> pl.DataFrame:
    """The columns of a table, by time.

    >>> from tarry.study.table import event_table
    >>> frame_of(event_table(actor=[1, 1], target=[2, 2], time=[9, 3]))["time"].to_list()
    [3, 9]
    """
    columns = {name: getattr(table, name) for name in ("actor", "target", "time", "track", "declared")}
    kept = {name: column for name, column in columns.items() if column is not None}
    return pl.DataFrame(kept).sort("time", maintain_order=True)
