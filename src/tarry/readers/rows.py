"""What a parser hands on: rows with the lines they stood on, and the lines that were no rows."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray
from tarry.readers.faults import Faults

__all__ = ["TROUBLE", "Rows", "Wanted", "refusing"]

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


@contextmanager
def refusing(what: str, rule: str, found: str, fix: str = "") -> Iterator[None]:
    """Turn whatever the table library raises into one sentence.

    >>> with refusing("the history a.parquet", "must be a whole Parquet file", "damage inside"):
    ...     raise pl.exceptions.ComputeError("a page of text")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the history a.parquet must be a whole Parquet file, found damage inside
    """
    try:
        yield
    except BadInput:
        raise
    except TROUBLE:
        raise BadInput(what, rule, found=found, fix=fix) from None
