"""A source becomes a table: a file, a frame or a stream is read, and it is told how that went."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput
from tarry.readers.columns import Columns
from tarry.readers.faults import Unreadable, clip
from tarry.readers.files import read_history
from tarry.readers.frames import read_events, read_frame
from tarry.study.question import Question
from tarry.study.table import EventTable, table_of

__all__ = ["Source", "SourceAccount", "read_source"]

#: A path, a frame (polars, pandas, DuckDB, Arrow), what a reader found, a table, or a stream of events.
Source = Any


@dataclass(frozen=True, kw_only=True)
class SourceAccount:
    """How a history was read.

    >>> SourceAccount(rows=5, unreadable_count=1).sentence
    '1 of 5 rows could not be read'
    """

    rows: int = 0  # with those that could not be read
    unreadable: Sequence[Unreadable] = ()  # the first few that could not be read
    unreadable_count: int = 0
    notes: Sequence[str] = ()  # what was guessed, and what one should know

    @property
    def sentence(self) -> str:
        """How many rows could not be read; nothing where all could."""
        count = self.unreadable_count
        return f"{count:,} of {self.rows:,} rows could not be read" if count else ""


def read_source(source: Source, question: Question) -> tuple[SourceAccount, EventTable]:
    """The table of the events that count, and how it was read.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"user": ["ann", None, "bob"], "page": [1, 2, 3], "ts": [0, 60, 61]})
    >>> account, table = read_source(frame, Question(time_unit="s"))
    >>> account.sentence, len(table)
    ('1 of 3 rows could not be read', 2)
    """
    if isinstance(source, EventTable):
        return SourceAccount(rows=len(source)), _filtered(source, question)
    columns = _columns(source, question)
    table = table_of(
        columns,
        bots=None if question.without_bots is None else not question.without_bots,
        collapse=question.collapse,
        most=question.busy_limit,
        track=question.track,
        declared=question.declared,
    )
    reading = SourceAccount(
        rows=len(columns) + columns.unreadable_count,
        unreadable=columns.unreadable,
        unreadable_count=columns.unreadable_count,
        notes=columns.notes,
    )
    return reading, table


def _columns(source: Source, question: Question) -> Columns:
    if isinstance(source, Columns):
        return source
    is_frame = hasattr(source, "__arrow_c_stream__") or hasattr(source, "collect")  # the latter: a lazy one
    if is_frame or isinstance(source, str | Path):
        read: Callable[..., Columns] = read_frame if is_frame else read_history
        return read(
            source,
            actor=question.actor,
            target=question.target,
            time=question.time,
            time_unit=question.time_unit,
            time_format=question.time_format,
            time_zone=question.time_zone,
        )
    if isinstance(source, Iterable):
        return read_events(source)
    kind = clip(type(source).__name__)
    fix = "give a relation, such as connection.sql('from acts')" if hasattr(source, "sql") else ""
    raise BadInput(f"a history must be a path, a frame, a table or events, not {kind}", fix)


def _filtered(table: EventTable, question: Question) -> EventTable:
    if question.without_bots:
        raise BadInput("an EventTable does not say who is a bot", "leave bots out before it is made")
    if question.busy_limit is not None:
        table = table.without_busy(question.busy_limit)
    return table.collapse() if question.collapse else table
