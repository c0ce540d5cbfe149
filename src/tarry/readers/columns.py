"""What parsers hand on (rows) and readers yield (columns), with an account of what could not be read."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray
from tarry.readers.faults import Faults, Unreadable

__all__ = ["TROUBLE", "Columns", "Rows", "Wanted", "refusing"]

# All that a damaged file makes the table library raise; a panic is not even an Exception.
TROUBLE = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    ArithmeticError,
    EOFError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    zlib.error,
)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The columns a person named; None where they are to be guessed.

    >>> Wanted(actor="wallet").target is None
    True
    """

    actor: str | None = None  # --actor
    target: str | None = None  # --target
    time: str | None = None  # --time


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """The rows of a file before anybody asked what their columns mean.

    >>> Rows(frame=pl.DataFrame({"a": [1]})).faults.count
    0
    """

    frame: pl.DataFrame  # every column
    lines: IntArray | None = None  # the line each row began on; None for a table that has no lines
    faults: Faults = field(default_factory=Faults)  # lines that were no rows
    notes: tuple[str, ...] = ()  # sentences a person should know
    unit: str | None = None  # the unit of time that the file itself states


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


@contextmanager
def refusing(problem: str, fix: str, *also: type[Exception]) -> Iterator[None]:
    """Turn whatever the table library raises into one sentence; `also` are errors of another library.

    >>> with refusing("the history a.parquet is damaged", "copy it again"):
    ...     raise pl.exceptions.ComputeError("a page of text")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the history a.parquet is damaged: copy it again
    """
    trouble: tuple[type[BaseException], ...] = (*TROUBLE, *also)
    try:
        yield
    except BadInput:
        raise
    except trouble:
        raise BadInput(problem, fix) from None
