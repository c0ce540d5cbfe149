"""Frames of a table library, and streams of events, as plain columns."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray
from tarry.readers.clocks import WallClock, wall_clock
from tarry.readers.columns import (
    Columns,
    Rows,
    Wanted,
    choose_columns,
    faults_of_names,
    name_column,
    refusing,
    unnest,
)
from tarry.readers.events import Event, EventStream
from tarry.readers.faults import CONVERT, SHOWN, Faults, clip
from tarry.readers.times import HINT, Moments, check_unit, moments

__all__ = ["faults_among", "notes_of", "read_events", "read_frame", "take_columns"]

_MANY = 0.1  # the share of unreadable rows from which on it is told
_AT_ONCE = 50_000  # events that are held as Python tuples
_EVENT = {
    "actor": pl.String,
    "target": pl.String,
    "time": pl.Int64,
    "track": pl.String,
    "is_bot": pl.Boolean,
}


def read_frame(
    frame: Any,
    *,
    actor: str | None = None,
    target: str | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    time_format: str | None = None,
    time_zone: str | None = None,
    lines: Sequence[int] | IntArray | None = None,
) -> Columns:
    """Read a frame of polars, lazy or not, of pandas, or anything that exports an Arrow stream.

    `lines` says where each row came from, for the account of rows that cannot be read; without it
    they are numbered from 1.

    >>> found = read_frame(pl.DataFrame({"user": ["ann", None], "page": [7, 7], "ts": [60, 61]}))
    >>> found.actor, found.arrival.tolist(), found.unreadable
    ('user', [60000000], (Unreadable(line=2, reason='actor is missing'),))
    """
    table = _collected(frame)
    numbers = None if lines is None else np.asarray(lines, dtype=np.int64)
    if numbers is not None and numbers.shape != (table.height,):
        raise BadInput(f"the lines must be {table.height}, one for each row, not {numbers.shape}")
    rows = Rows(frame=table, lines=numbers, faults=Faults("the frame"))
    clock = wall_clock(time_format, time_zone, time_unit)
    return take_columns(rows, Wanted(actor=actor, target=target, time=time), time_unit, clock)


def read_events(events: Iterable[Event]) -> Columns:
    """Take a stream of events into memory, with its account of what could not be read.

    >>> found = read_events([Event("ann", "p 1", 5), Event("ann", "p 2", 6)])
    >>> found.arrival.tolist(), found.frame["target"].to_list()
    ([5, 6], ['p 1', 'p 2'])
    """
    rows = iter(events)
    chunks = [pl.DataFrame(schema=_EVENT)]
    while some := list(islice(rows, _AT_ONCE)):
        chunks.append(pl.DataFrame(some, schema=_EVENT, orient="row"))
    frame = pl.concat(chunks)
    stream = events if isinstance(events, EventStream) else EventStream((), Faults("the events"))
    return Columns(
        frame=frame,
        actor="actor",
        target="target",
        time="time",
        arrival=frame["time"].to_numpy(),
        unreadable=tuple(stream.faults.first),
        unreadable_count=stream.faults.count,
        notes=tuple(stream.notes),
    )


def take_columns(
    rows: Rows,
    wanted: Wanted,
    time_unit: str | None,
    clock: WallClock = WallClock(),  # noqa: B008 - a tuple of two texts
) -> Columns:
    """Choose the columns of parsed rows, read the times, and set aside what cannot be read.

    >>> table = pl.DataFrame({"actor": [1], "target": [2], "time": [3]})
    >>> take_columns(Rows(frame=table), Wanted(), "s").arrival.tolist()
    [3000000]
    """
    check_unit(time_unit)
    what = rows.faults.what
    rows = replace(rows, frame=unnest(rows.frame, wanted))
    chosen = choose_columns(rows.frame.columns, wanted, what)
    if not rows.frame.height and not rows.faults.count:
        raise BadInput(f"{what} has no rows, only the names of columns", "give one with rows")
    names = [name_column(role, rows.frame[chosen[role]]) for role in ("actor", "target")]
    with refusing(f"the times of {what} cannot be read", "name another column with --time NAME"):
        when = moments(rows.frame[chosen["time"]], time_unit, rows.unit, clock)
    reasons = [
        pair for role, name in zip(chosen, names, strict=False) for pair in faults_of_names(role, name)
    ]
    bad = np.logical_or.reduce([when.fault > 0, *(mask for mask, _ in reasons)])
    faults = _account(rows, bad, reasons, when)
    if bad.all():
        where = "row" if rows.lines is None else "line"
        faults.refuse(f"none among {faults.count}", where, HINT if HINT in when.notes else "")
    frame = rows.frame.with_columns(names)
    return Columns(
        frame=frame.filter(~bad) if bad.any() else frame,
        **chosen,
        arrival=when.arrival[~bad],
        unreadable=tuple(faults.first),
        unreadable_count=faults.count,
        notes=(
            *notes_of(rows, chosen, wanted, faults.count, rows.frame.height + rows.faults.count),
            *rows.notes,
            *when.notes,
        ),
    )


def _collected(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        with refusing("the query of the lazy frame fails", "collect it first"):
            return frame.collect()
    kind = clip(type(frame).__name__)
    if not hasattr(frame, "__arrow_c_stream__"):
        raise BadInput(f"the frame must be one of polars or export an Arrow stream, not {kind}")
    with refusing(f"the Arrow stream of {kind} is no table", "give a frame of rows"):
        if type(frame).__module__.partition(".")[0] == "pandas":
            return _from_pandas(frame)
        return pl.DataFrame(frame)


def _from_pandas(frame: Any) -> pl.DataFrame:
    """A frame of pandas, column by column: its own Arrow stream needs pyarrow, and this does not."""
    columns = (frame.iloc[:, place] for place in range(frame.shape[1]))
    return pl.DataFrame([_pandas_column(str(column.name), column) for column in columns])


def _pandas_column(name: str, column: Any) -> pl.Series:
    zone = getattr(column.dtype, "tz", None)
    if zone is not None:
        naive = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return pl.Series(name, naive.to_numpy()).dt.replace_time_zone("UTC")
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufM":
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    values = column.astype(object)
    return pl.Series(name, values.where(column.notna(), None).tolist(), strict=False)


def _account(rows: Rows, bad: BoolArray, reasons: list[tuple[BoolArray, str]], when: Moments) -> Faults:
    """The faults of the whole file, by line: those of the parser and those found here."""
    lines = np.arange(1, len(bad) + 1) if rows.lines is None else rows.lines
    return rows.faults.joined(faults_among(lines, bad, reasons, when))


def faults_among(
    lines: IntArray, bad: BoolArray, reasons: list[tuple[BoolArray, str]], when: Moments
) -> Faults:
    """What is wrong with bad rows: the first few one by one, the others counted.

    >>> when = moments(pl.Series(["soon"]))
    >>> faults_among(np.array([7]), np.array([True]), [], when).first[0].line
    7
    """
    found = Faults()
    for row in np.flatnonzero(bad)[:SHOWN].tolist():
        of_names = [reason for mask, reason in reasons if mask[row]]
        found.add(int(lines[row]), of_names[0] if of_names else when.reason(row))
    found.count = int(bad.sum())
    return found


def notes_of(rows: Rows, chosen: dict[str, str], wanted: Wanted, unreadable: int, total: int) -> list[str]:
    """What a person should know of a history of so many rows, besides how its times were read.

    >>> rows = Rows(frame=pl.DataFrame({"user": ["a"], "page": ["p"], "ts": [1]}))
    >>> notes_of(rows, {"actor": "user", "target": "page", "time": "ts"}, Wanted(), 0, 1)
    ['actor: user, target: page, time: ts']
    """
    notes = []
    guessed = [role for role in chosen if getattr(wanted, role) is None and chosen[role] != role]
    if guessed:
        notes.append(", ".join(f"{role}: {clip(name)}" for role, name in chosen.items()))
    if "release" in rows.frame.columns and chosen["time"] != "release":
        notes.append(
            f"this looks like simulated output: times are those of {clip(chosen['time'])} "
            "(or give --time release)"
        )
    if lines := rows.faults.not_text:
        notes.append(f"{lines} {'lines are' if lines > 1 else 'line is'} not UTF-8 text: {CONVERT}")
    if unreadable > _MANY * total:
        notes.append(f"{unreadable} of {total} rows cannot be read ({100 * unreadable / total:.1f} %)")
    return notes
