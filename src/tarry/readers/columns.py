"""What a reader yields: plain columns, and an honest account of the rows that could not be read."""

from dataclasses import dataclass

import polars as pl

from tarry.core.lanes import IntArray
from tarry.readers.faults import Unreadable

__all__ = ["Columns"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """A history as it was found: who acted on what, and when.

    >>> import numpy as np
    >>> found = pl.DataFrame({"user": ["ann"], "page": ["p1"], "ts": [60]})
    >>> columns = Columns(
    ...     frame=found, actor="user", target="page", time="ts", arrival=np.array([60_000_000])
    ... )
    >>> len(columns), columns.unreadable_count
    (1, 0)
    """

    frame: pl.DataFrame  # every input column of the rows that can be read, in the file's order
    actor: str  # the column taken for the hidden doer
    target: str  # the column taken for the visible thing acted on
    time: str  # the column taken for the moment of the act
    arrival: IntArray  # microseconds since 1970 UTC, one for each row of the frame
    unreadable: tuple[Unreadable, ...] = ()  # the first few rows that could not be read
    unreadable_count: int = 0  # how many there were
    notes: tuple[str, ...] = ()  # sentences a person should know

    def __len__(self) -> int:
        return self.frame.height
