"""What a parser hands on: rows with the lines they stood on, and the lines that were no rows."""

import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray
from tarry.readers.columns import SHOWN, Unreadable

__all__ = [
    "CONVERT",
    "NOT_TEXT",
    "PATIENCE",
    "TROUBLE",
    "Faults",
    "Rows",
    "Wanted",
    "clip",
    "refusing",
    "shown",
]

PATIENCE = 10_000  # lines without a single row among them, after which a file counts as rubbish
NOT_TEXT = "the line is not UTF-8 text"
CONVERT = "convert the file first (for example with iconv)"
_PLAIN = re.compile(r"[0-9 .,:+\-TZ/]+")  # digits and the marks of dates, which name nobody

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


class Faults:
    """Lines that could not be read: the first few in full, the others counted.

    >>> faults = Faults("the history votes.csv")
    >>> faults.add(2, "not an object")
    >>> faults.count, str(faults.first[0])
    (1, 'line 2: not an object')
    """

    def __init__(self, what: str = "the frame") -> None:
        self.what = what
        self.first: list[Unreadable] = []
        self.count = 0
        self.not_text = 0  # how many of them are not UTF-8

    def add(self, line: int, reason: str) -> None:
        """Note one more."""
        self.count += 1
        self.not_text += reason == NOT_TEXT
        if len(self.first) < SHOWN:
            self.first.append(Unreadable(line, reason))

    def joined(self, other: "Faults") -> "Faults":
        """These and others of the same file, by line."""
        both = Faults(self.what)
        both.first = sorted([*self.first, *other.first], key=lambda fault: fault.line)[:SHOWN]
        both.count = self.count + other.count
        both.not_text = self.not_text + other.not_text
        return both

    def give_up_if_hopeless(self, good: int) -> None:
        """Refuse a file of which nothing so far was a row: rubbish is not read to its end."""
        if not good and self.count >= PATIENCE:
            self.refuse(f"none among its first {self.count} lines")

    def refuse(self, found: str, where: str = "line", hint: str = "") -> NoReturn:
        """Say that there is no row at all, why the first one is none, and perhaps what to do."""
        first = self.first[0]
        hint = CONVERT if first.reason == NOT_TEXT else hint
        fix = f"the first fault is in {where} {first.line}: {first.reason}" + (f"; {hint}" if hint else "")
        raise BadInput(self.what, "must have rows that can be read", found=found, fix=fix)


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


def clip(text: object, size: int = 40) -> str:
    r"""Somebody else's text, short and on one line.

    >>> clip("a\nb" + "c" * 99, 8)
    'a?bcccc…'
    """
    shown = "".join(c if c.isprintable() else "?" for c in str(text)[: size + 1])
    return shown if len(shown) <= size else shown[: size - 1] + "…"


def shown(value: object) -> str:
    """What a sentence may show of a cell: a number or a date, but of any other text only its length.

    >>> shown("2024-13-01"), shown("ann@example.org")
    (': 2024-13-01', ' (a text of 15 characters)')
    """
    if not isinstance(value, str) or _PLAIN.fullmatch(value):
        return f": {clip(value)}"
    return f" (a text of {len(value)} character{'' if len(value) == 1 else 's'})"
