"""A table of Spark's as events: columns are chosen, kinds are checked, and all is counted before the work.

Nothing of anybody reaches the computer that asks: only counts, the first and the last moment, and how many
events there are in each stretch of time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tarry.core.errors import BadInput, NotPossible
from tarry.core.lanes import IntArray
from tarry.readers.clocks import wall_clock
from tarry.readers.columns import Columns, Wanted, choose_columns
from tarry.readers.faults import Unreadable, clip
from tarry.readers.files import stated_unit as unit_of_file
from tarry.study.parts.cuts import Rhythm
from tarry.study.parts.spark import rows, workers
from tarry.study.parts.spark.rows import Roles
from tarry.study.question import Question
from tarry.study.source import SourceAccount
from tarry.study.table import LEAST_EVENTS, bot_column, is_bot_row

__all__ = [
    "BLOCK",
    "TABLE",
    "Events",
    "Frame",
    "check_source",
    "mapped",
    "open_frame",
    "read_spark",
    "roles_of",
    "stated_unit",
]

#: A frame of Spark's. The library has types of its own, and need not be installed.
Frame = Any
#: What the name of a table begins with; anything else is a path.
TABLE = "table:"
_WHAT = "the history"
_WHOLE = ("byte", "short", "integer", "long")
_KINDS = {  # what a column may hold, in Spark's words
    "actor": ((*_WHOLE, "string"), "whole numbers or texts"),
    "target": ((*_WHOLE, "string"), "whole numbers or texts"),
    "track": ((*_WHOLE, "string"), "whole numbers or texts"),
    "time": ((*_WHOLE, "timestamp", "timestamp_ntz", "date"), "timestamps, or numbers of a unit"),
}
_OTHERS = (".csv", ".tsv", ".jsonl", ".arrow", ".gz", ".zst")
_STRETCHES = 12  # bits: in so many stretches of time events are counted at once
_CROWD = 1 / 1000  # of all events: a stretch with more is looked at more closely
_FINER = 7  # bits
#: Events of a block: a slice has several.
BLOCK = 50_000
_LEAST_BLOCKS = 64
_MOST_PIECES = 1000


@dataclass(frozen=True, kw_only=True)
class Events:
    """A history on Spark: whole numbers, and when how much happens.

    >>> Events(frame=None, reading=SourceAccount(rows=5), rhythm=None).notes
    ()
    """

    frame: Frame  # blocks of events, by number: actor, target, time, and track or declared if asked for
    reading: SourceAccount
    rhythm: Any  # a Rhythm: of each block
    notes: Sequence[str] = ()  # what was left out


def open_frame(session: Any, source: str | Path) -> Frame:
    """Parquet files, or the table that `table:NAME` names.

    A path may be anything that Spark reads: a file, a folder, `s3a://bucket/events`.

    >>> from types import SimpleNamespace
    >>> open_frame(SimpleNamespace(table=str.upper), "table:wiki.events")
    'WIKI.EVENTS'
    """
    text = str(source)
    if text.startswith(TABLE):
        return session.table(text.removeprefix(TABLE))
    return session.read.parquet(text)


def check_source(source: str | Path) -> None:
    """Refuse files that are no Parquet, before Spark is started.

    >>> check_source("events.csv")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: Spark reads Parquet and tables, not 'events.csv': write it as Parquet first
    """
    if str(source).lower().endswith(_OTHERS):
        raise BadInput(
            f"Spark reads Parquet and tables, not {clip(Path(source).name)!r}",
            "write it as Parquet first",
        )


def stated_unit(source: str | Path) -> str | None:
    """The unit of time that a file states, where this computer can read the file.

    >>> stated_unit("s3a://bucket/events") is None
    True
    """
    path = Path(source)
    return unit_of_file(path) if path.is_file() else None


def mapped(frame: Frame, run: Callable[..., Any], schema: str) -> Frame:
    """A function over frames of rows, for the workers to run.

    >>> class Shown:
    ...     def mapInArrow(self, function, schema):
    ...         return schema
    >>> mapped(Shown(), iter, "time long")
    'time long'
    """
    return frame.mapInArrow(partial(workers.as_batches, run), schema)


def read_spark(frame: Frame, question: Question, unit: str | None = None, *, block: int = BLOCK) -> Events:
    """The events that count, in blocks of about so many, kept by the cluster; `unit` is what files state.

    >>> from types import SimpleNamespace
    >>> read_spark(SimpleNamespace(schema=SimpleNamespace(fields=[])), Question())
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the history has no column for the actor among no columns: name it with ...
    """
    kinds = {column.name: column.dataType.typeName() for column in frame.schema.fields}
    roles = roles_of(kinds, question, unit)
    raw = frame.select(*map(_quoted, roles.columns))
    counts = _survey(raw, roles)
    roles, notes = _settled(roles, counts, question)
    _check_distinct(raw, roles)
    events = mapped(raw, partial(rows.numbered, roles=roles), _schema(roles)).persist()
    readable = counts["rows"] - counts["unreadable"]
    left = readable - counts["bots"] if roles.marks or roles.without_bots else readable
    events, left, more = _filtered(events, question, left)
    if left < LEAST_EVENTS:
        raise NotPossible(
            f"a history needs at least {LEAST_EVENTS} events to have pairs, and {left} "
            f"{'is' if left == 1 else 'are'} left of {readable} rows: give a longer history, or filter less"
        )
    reading = SourceAccount(
        rows=counts["rows"],
        unreadable=_unreadable(counts),
        unreadable_count=counts["unreadable"],
        notes=_reader_notes(roles, kinds, counts, question),
    )
    blocks, rhythm = _packed(events, block)
    return Events(frame=blocks, reading=reading, rhythm=rhythm, notes=(*notes, *more))


# --- columns ----------------------------------------------------------------------------------------


def roles_of(kinds: Mapping[str, str], question: Question, unit: str | None = None) -> Roles:
    """Which column is what, by names and kinds in Spark's words; what cannot be read is refused.

    >>> roles_of({"user": "string", "page": "long", "ts": "timestamp"}, Question()).actor
    'user'
    >>> roles_of({"user": "string", "page": "long", "ts": "string"}, Question())
    Traceback (most recent call last):
    tarry.core.errors.BadInput: on Spark the time must be timestamps, or numbers of a unit, and ts ...
    """
    wall_clock(None, None, question.time_unit)
    if question.time_format is not None or question.time_zone is not None:
        raise BadInput(
            "on Spark a history must hold timestamps, or numbers of a unit",
            "leave --time-format and --time-zone out",
        )
    wanted = Wanted(actor=question.actor, target=question.target, time=question.time)
    for name in (question.track, question.declared):
        if name is not None and name not in kinds:
            raise BadInput(f"there is no column {name!r}", f"use {clip(', '.join(kinds), 120)}")
    chosen = choose_columns(list(kinds), wanted, _WHAT)
    roles = Roles(
        actor=chosen["actor"],
        target=chosen["target"],
        time=chosen["time"],
        unit=question.time_unit or unit,
        track=question.track,
        declared=question.declared,
        marks=None if question.without_bots is False else bot_column(_empty(kinds)),
        without_bots=question.without_bots is True,
    )
    _check_kinds(roles, kinds)
    if roles.without_bots:  # refuses where nothing says who is a bot
        is_bot_row(_empty(kinds, actor=roles.actor))
    return roles


def _check_kinds(roles: Roles, kinds: Mapping[str, str]) -> None:
    for role, name in {**roles.named, "time": roles.time}.items():
        allowed, words = _KINDS[role]
        if kinds[name] not in allowed:
            raise BadInput(f"on Spark the {role} must be {words}, and {clip(name)} holds {kinds[name]}")
    if kinds[roles.time] in _WHOLE and roles.unit not in {"s", "ms", "us", "ns"}:
        raise BadInput(
            f"on Spark the unit of times must be known, and {clip(roles.time)} holds numbers",
            "give --time-unit s, ms, us or ns",
        )


def _empty(kinds: Mapping[str, str], actor: str = "") -> Columns:
    """No rows of such columns, as a reader finds them."""
    schema = {name: pl.Int64() if kind in _WHOLE else pl.String() for name, kind in kinds.items()}
    return Columns(
        frame=pl.DataFrame(schema=schema),
        actor=actor,
        target="",
        time="",
        arrival=np.array([], dtype=np.int64),
    )


def _settled(roles: Roles, counts: Mapping[str, int], question: Question) -> tuple[Roles, list[str]]:
    """What the survey decides: which names are texts, and whether bots are left out."""
    roles = replace(roles, texts=tuple(role for role in roles.named if counts[role]))
    if counts["rows"] == counts["unreadable"]:
        raise BadInput(
            f"{_WHAT} must have rows that can be read, and has none among {counts['rows']}",
            "name its columns with --actor, --target and --time",
        )
    if counts["strange_declared"]:
        raise _strange(str(roles.declared))
    if counts["strange_marks"]:
        if question.without_bots:
            raise _strange(str(roles.marks))
        note = f"the column {roles.marks} does not say yes or no: bots, if any, are not left out"
        return replace(roles, marks=None), [note]
    if question.without_bots:
        return roles, _left_out(counts["bots"], "bots")
    whose = f"bots, whom the column {roles.marks} marks,"
    return (
        replace(roles, without_bots=roles.marks is not None),
        _left_out(counts["bots"], whose, " (--with-bots keeps them)"),
    )


def _strange(column: str) -> BadInput:
    return BadInput(
        f"the column {clip(column)} must say true or false, yes or no, 1 or 0, and does not everywhere"
    )


def _left_out(events: int, whose: str, hint: str = "") -> list[str]:
    return [f"{events:,} events of {whose} are left out{hint}"] if events else []


def _reader_notes(
    roles: Roles, kinds: Mapping[str, str], counts: Mapping[str, int], question: Question
) -> list[str]:
    """How the table was read, in the words of the reader of files."""
    notes = []
    chosen = {"actor": roles.actor, "target": roles.target, "time": roles.time}
    if any(getattr(question, role) is None and name != role for role, name in chosen.items()):
        notes.append(", ".join(f"{role}: {clip(name)}" for role, name in chosen.items()))
    if kinds[roles.time] == "timestamp_ntz":
        notes.append("times carry no zone: read as UTC")
    if kinds[roles.time] == "date":
        notes.append("times are days: read as midnight UTC")
    if not counts["clock"]:
        notes.append("all times are whole days: nothing can be said about minutes")
    return notes


# --- counts -----------------------------------------------------------------------------------------


def _survey(raw: Frame, roles: Roles) -> dict[str, int]:
    """What `surveyed` counts, of all rows."""
    counted = mapped(raw, partial(rows.surveyed, roles=roles), rows.SURVEY)
    return _only(counted.selectExpr(*(f"sum({name}) as {name}" for name in counted.columns)))


def _unreadable(surveyed: Mapping[str, int]) -> tuple[Unreadable, ...]:
    """The rows that could not be read, by what is wrong with them: the most first."""
    counts = [(surveyed[f"fault{number}"], reason) for number, reason in enumerate(rows.FAULTS)]
    most = sorted((count for count in counts if count[0]), key=lambda count: -count[0])
    return tuple(Unreadable(0, reason, rows=count) for count, reason in most)


def _schema(roles: Roles) -> str:
    """Of the events, in Spark's words."""
    more = (", track long" if roles.track else "") + (", declared boolean" if roles.declared else "")
    return f"actor long, target long, time long{more}"


def _check_distinct(raw: Frame, roles: Roles) -> None:
    """Refuse two names with one number, as the table in memory does."""
    if not roles.texts:
        return
    pairs = mapped(raw, partial(rows.names, roles=roles), rows.NAMES).distinct()
    twice = pairs.groupBy("role", "code").count().filter("count > 1").limit(1).collect()
    if twice:
        raise BadInput(
            f"two names of the column {roles.named[twice[0]['role']]} get the same number",
            "give the names as whole numbers",
        )


def _filtered(events: Frame, question: Question, left: int) -> tuple[Frame, int, list[str]]:
    """Without busy actors and without repetitions, in the order of the table in memory."""
    notes: list[str] = []
    if question.busy_limit is not None:
        if question.busy_limit < 1:
            raise BadInput(f"the most events of an actor must be at least 1, not {question.busy_limit}")
        calm = events.groupBy("actor").count().filter(f"count <= {question.busy_limit}").select("actor")
        events = events.join(calm, on="actor", how="left_semi").persist()
        before, left = left, events.count()
        notes += _left_out(before - left, f"actors with more than {question.busy_limit:,} events")
    if question.collapse:
        events = _collapsed(events).persist()
        before, left = left, events.count()
        notes.append(f"{before - left:,} events share actor, target and time with another, and count once")
    return events, left, notes


def _collapsed(events: Frame) -> Frame:
    """One of all events that share actor, target and time: the first by what else is known of them."""
    others = [name for name in ("declared", "track") if name in events.columns]
    if not others:
        return events.distinct()
    key = ("actor", "target", "time")
    rest = events.selectExpr(*key, f"struct({', '.join(others)}) as rest")
    first = rest.groupBy(*key).agg({"rest": "min"}).withColumnRenamed("min(rest)", "rest")
    return first.selectExpr(*key, *(f"rest.{name} as {name}" for name in events.columns if name in others))


def _rhythm(events: Frame) -> Rhythm:
    """How many events there are in each stretch of time, finer where there are many of them."""
    ends = _only(events.selectExpr("min(time) as least", "max(time) as most", "count(*) as events"))
    start, end = ends["least"], ends["most"] + 1
    crowd = max(int(ends["events"] * _CROWD), 1)
    bits = max((end - start).bit_length() - _STRETCHES, 0)
    counts, crowds = _stretches(events, start, bits), dict[int, int]()
    while bits and (crowded := [number for number, count in counts.items() if count > crowd]):
        crowds |= {start + (number << bits): counts[number] for number in counts.keys() - set(crowded)}
        events = events.filter(f"{_stretch(start, bits)} in ({', '.join(map(str, crowded))})")
        bits = max(bits - _FINER, 0)
        counts = _stretches(events, start, bits)
    crowds |= {start + (number << bits): count for number, count in counts.items()}
    moments = sorted(crowds)
    return Rhythm(start=_array(moments), count=_array([crowds[moment] for moment in moments]), end=end)


def _packed(events: Frame, most: int) -> tuple[Frame, Rhythm]:
    """The events in blocks by time, each one value; the cluster keeps these instead."""
    rhythm = _rhythm(events)
    cuts = rhythm.cuts(before=0, after=0, most=min(most, max(rhythm.events // _LEAST_BLOCKS, 1)))
    kinds = ", ".join(f"{column.name} {column.dataType.simpleString()}" for column in events.schema)
    placed = mapped(events, partial(workers.block_numbers, cuts=cuts), f"{kinds}, block int")
    gathered = placed.repartition(min(len(cuts) + 1, _MOST_PIECES), "block").sortWithinPartitions("block")
    blocks = mapped(gathered, workers.pack, "block int, data binary").persist()
    blocks.count()  # so that what they are made of can be given up
    events.unpersist()
    return blocks, rhythm.joined(cuts)


def _stretches(events: Frame, start: int, bits: int) -> dict[int, int]:
    counted = events.selectExpr(f"{_stretch(start, bits)} as stretch").groupBy("stretch").count()
    return {row["stretch"]: row["count"] for row in counted.collect()}


def _stretch(start: int, bits: int) -> str:
    """The number of the stretch in which a moment lies: as Spark counts, in whole numbers."""
    return f"shiftright(time - ({start}), {bits})"


def _only(frame: Frame) -> dict[str, int]:
    """The one row of a frame; where there was nothing to add up, 0."""
    [row] = frame.collect()
    return {name: value or 0 for name, value in row.asDict().items()}


def _array(numbers: Sequence[int]) -> IntArray:
    return np.array(numbers, dtype=np.int64)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
