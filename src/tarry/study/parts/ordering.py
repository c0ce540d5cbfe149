"""From a Parquet file of any size to one of whole numbers, by time: read some at a time, sorted on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tarry.core.entropy import stable_code
from tarry.core.errors import BadInput, NotPossible
from tarry.readers.batches import LINE, Batches
from tarry.readers.columns import Wanted
from tarry.readers.faults import Unreadable
from tarry.study.parts.scratch import SORTING, Scratch
from tarry.study.question import Question
from tarry.study.source import SourceAccount
from tarry.study.table import LEAST_EVENTS, says_yes

if TYPE_CHECKING:  # an extra of its own
    import duckdb

__all__ = ["Ordered", "open_batches", "ordered", "sort_database"]

_BOT = r"(?i).bot"


@dataclass(frozen=True, kw_only=True)
class Ordered:
    """A history by time, and how it was read.

    >>> Ordered.of({"rows": 2, "events": 2, "notes": [], "left_out": [], "unreadable": []}).events
    2
    """

    rows: int  # with those that could not be read
    events: int  # that count
    notes: tuple[str, ...]  # of the reader
    left_out: tuple[str, ...]  # of the table: what was left out
    unreadable: tuple[tuple[int, str], ...]  # the first few rows that could not be read: row and reason
    unreadable_count: int = 0

    @property
    def account(self) -> SourceAccount:
        """How the source was read."""
        return SourceAccount(
            rows=self.rows,
            unreadable=tuple(Unreadable(line, reason) for line, reason in self.unreadable),
            unreadable_count=self.unreadable_count,
            notes=self.notes,
        )

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Ordered":
        """What was kept as plain values."""
        lists = {name: tuple(plain[name]) for name in ("notes", "left_out")}
        unreadable = tuple((line, reason) for line, reason in plain["unreadable"])
        return cls(**{**plain, **lists, "unreadable": unreadable})


def open_batches(path: Path, question: Question, *, lines: bool = False) -> Batches:
    """The events of a file, with the columns that the question needs; with `lines` also their rows.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.parquet"
    ...     pl.DataFrame({"voter": [1], "proposal": [7], "time": [5], "bot": [False]}).write_parquet(path)
    ...     open_batches(path, Question(time_unit="s")).also
    ('bot',)
    """
    wanted = Wanted(actor=question.actor, target=question.target, time=question.time)
    if question.time_format is not None or question.time_zone is not None:
        raise BadInput(
            "a file that is read by parts must hold timestamps, or numbers of a unit",
            "leave --time-format and --time-zone out",
        )
    batches = Batches(path, wanted, question.time_unit)
    also = [name for name in (question.track, question.declared) if name is not None]
    marks = _mark_column(batches, question)
    marked = [] if marks is None else [marks]
    return Batches(path, wanted, question.time_unit, [*also, *marked], lines=lines)


def ordered(
    batches: Batches,
    question: Question,
    scratch: Scratch,
    memory: int,
    threads: int | None = None,
) -> Ordered:
    """Write the events that count to `sorted.parquet` in the scratch folder, in order of time.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path, question = Path(folder) / "votes.parquet", Question(time_unit="s")
    ...     frame = pl.DataFrame({"voter": ["a", "b"], "proposal": [7, 7], "time": [9, 5]})
    ...     frame.write_parquet(path)
    ...     scratch = Scratch(Path(folder))
    ...     found = ordered(open_batches(path, question), question, scratch, 10**9)
    ...     found.events, pl.read_parquet(scratch.path("sorted.parquet"))["time"].to_list()
    (2, [5000000, 9000000])
    """
    kept = scratch.read("ordered.json")
    if kept is not None:
        return Ordered.of(kept)
    scratch.drop("raw-")
    marks = _mark_column(batches, question)
    for number, batch in enumerate(batches):
        numbered = _numbered(batch, question, marks)
        with scratch.whole(f"raw-{number:06d}.parquet") as draft:
            # Read once, and by the sort alone: to pack it would cost more than it spares.
            numbered.write_parquet(draft, compression="uncompressed", statistics=False)
    readable = batches.rows > batches.faults.count
    left_out = _sort(question, marks, scratch, memory, threads) if readable else []
    events = int(pl.scan_parquet(scratch.path("sorted.parquet")).select(pl.len()).collect().item())
    if events < LEAST_EVENTS:
        raise NotPossible(
            f"a history needs at least {LEAST_EVENTS} events to have pairs, and {events} "
            f"{'is' if events == 1 else 'are'} left of {batches.rows - batches.faults.count} rows: "
            "give a longer history, or filter less"
        )
    plain = {
        "rows": batches.rows,
        "events": events,
        "notes": batches.notes,
        "left_out": left_out,
        "unreadable": [[fault.line, fault.reason] for fault in batches.unreadable],
        "unreadable_count": batches.faults.count,
    }
    scratch.write("ordered.json", plain)
    scratch.drop("raw-")
    return Ordered.of(plain)


def _mark_column(batches: Batches, question: Question) -> str | None:
    """The column that marks bots, if it is asked for."""
    if question.without_bots is False:
        return None
    return next((name for name in batches.columns if name.lower() in ("is_bot", "bot")), None)


# --- names as numbers -----------------------------------------------------------------------------


def _numbered(batch: pl.DataFrame, question: Question, marks: str | None) -> pl.DataFrame:
    """Whole numbers for everything; of texts their hash, a second hash, and the number that they write."""
    columns = [batch["time"]]
    for role, name in (("actor", "actor"), ("target", "target"), ("track", question.track)):
        if name is not None:
            columns.extend(_codes(role, batch[name]))
    if question.declared is not None:
        columns.append(pl.Series("declared", says_yes(batch[question.declared])))
    if marks is not None:
        columns.append(_marked(batch[marks], strictly=bool(question.without_bots)))
    elif question.without_bots:
        columns.append(_bot_names(batch["actor"]))
    if LINE in batch.columns:
        columns.append(batch[LINE].alias("line"))
    return pl.DataFrame(columns)


def _codes(role: str, names: pl.Series) -> list[pl.Series]:
    """As `table_of` numbers them; whether texts are all numbers is known only after the last of them."""
    if names.dtype.is_float():
        raise BadInput(
            f"the column {names.name} must hold whole numbers or texts in a file that is read by parts",
            "convert it",
        )
    if names.dtype.is_integer() and names.dtype != pl.UInt64 and role != "track":
        return [names.cast(pl.Int64).alias(role)]
    texts = names.cast(pl.String).fill_null("")
    numbers = texts.cast(pl.Int64, strict=False)
    written = numbers.set(numbers.cast(pl.String) != texts, None)
    distinct = texts.unique()
    codes = np.array([stable_code(text) for text in distinct], dtype=np.uint64).view(np.int64)
    lookup = pl.DataFrame({"name": distinct, "code": codes})
    hashed = texts.to_frame("name").join(lookup, on="name", how="left", maintain_order="left")["code"]
    return [hashed.alias(role), texts.hash().alias(f"{role}_check"), written.alias(f"{role}_number")]


def _marked(column: pl.Series, *, strictly: bool) -> pl.Series:
    """Whether each row is marked as a bot's; nothing where that cannot be said, unless it must be."""
    try:
        return pl.Series("bot", says_yes(column))
    except BadInput:
        if strictly:
            raise
        return pl.Series("bot", [None] * len(column), dtype=pl.Boolean)


def _bot_names(actors: pl.Series) -> pl.Series:
    if actors.dtype.is_integer():
        raise BadInput(
            "nothing says who is a bot: actors are numbers, and there is no column is_bot or bot",
            "add such a column, or leave busy actors out instead",
        )
    return actors.cast(pl.String).str.contains(_BOT).alias("bot")


# --- sorting --------------------------------------------------------------------------------------


def sort_database(folder: Path, memory: int, threads: int | None = None) -> "duckdb.DuckDBPyConnection":
    """A database in memory that spills into the folder, and reaches for nothing outside.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, sort_database(Path(folder), 10**9) as base:
    ...     base.execute("select max(x) from (values (1), (2)) t(x)").fetchone()
    (2,)
    """
    try:
        import duckdb  # noqa: PLC0415 - an extra of its own
    except ImportError:
        raise NotPossible(
            "the engine stream needs DuckDB: pip install '.[stream]' in a checkout of tarry"
        ) from None
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory // 10**6}MB",
        "temp_directory": str(folder / SORTING),
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if threads is not None:
        settings["threads"] = threads
    return duckdb.connect(":memory:", config=settings)


def _sort(
    question: Question, marks: str | None, scratch: Scratch, memory: int, threads: int | None
) -> list[str]:
    """Keep what counts, order it by time; and say what was left out."""
    with sort_database(scratch.folder, memory, threads) as base:
        raw = _quoted(scratch.path("raw-*.parquet"))
        base.execute(f"create view raw as select * from read_parquet({raw})")
        there = [row[0] for row in base.execute("describe raw").fetchall()]
        base.execute(f"create view named as select {_named(base, there)} from raw")
        notes, kept = _without_bots(base, marks, question, bots="bot" in there)
        kept, more = _without_busy(base, kept, question)
        kept, once = _collapsed(base, kept, question)
        order = ", ".join(
            name for name in ("time", "actor", "target", "declared", "track", "line") if name in there
        )
        with scratch.whole("sorted.parquet") as draft:
            base.execute(
                f"copy (select {order} from {kept} order by {order}) to {_quoted(draft)} "
                "(format parquet, compression uncompressed, row_group_size 122880)"
            )
        return [*notes, *more, *once]


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _named(base: "duckdb.DuckDBPyConnection", there: Sequence[str]) -> str:
    """The columns, names by the number that they write if all of a column do, else by their hash."""
    columns = [name for name in there if "_" not in name]
    for place, role in enumerate(columns):
        if f"{role}_number" not in there:
            continue
        if not _one(base, f"select count(*) from raw where {role}_number is null"):
            columns[place] = f"{role}_number as {role}"
            continue
        twice = f"select {role} from raw group by {role} having min({role}_check) <> max({role}_check)"
        if _one(base, f"select count(*) from ({twice})"):
            raise BadInput(
                f"two names of the column {role} get the same number", "give the names as whole numbers"
            )
    return ", ".join(columns)


def _without_bots(
    base: "duckdb.DuckDBPyConnection", marks: str | None, question: Question, *, bots: bool
) -> tuple[list[str], str]:
    if not bots:
        return [], "named"
    if _one(base, "select count(*) from named where bot is null"):
        return [f"the column {marks} does not say yes or no: bots, if any, are not left out"], "named"
    base.execute("create view people as select * from named where not bot")
    left_out = _one(base, "select count(*) from named where bot")
    whose = "bots" if question.without_bots else f"bots, whom the column {marks} marks,"
    hint = "" if question.without_bots else " (--with-bots keeps them)"
    return ([f"{left_out:,} events of {whose} are left out{hint}"] if left_out else []), "people"


def _without_busy(
    base: "duckdb.DuckDBPyConnection", kept: str, question: Question
) -> tuple[str, list[str]]:
    most = question.busy_limit
    if most is None:
        return kept, []
    if most < 1:
        raise BadInput(f"the most events of an actor must be at least 1, not {most}")
    busy = f"select actor from {kept} group by actor having count(*) > {most}"
    base.execute(f"create view calm as select * from {kept} where actor not in ({busy})")
    left_out = _one(base, f"select count(*) from {kept}") - _one(base, "select count(*) from calm")
    whose = f"actors with more than {most:,} events"
    return "calm", [f"{left_out:,} events of {whose} are left out"] if left_out else []


def _collapsed(base: "duckdb.DuckDBPyConnection", kept: str, question: Question) -> tuple[str, list[str]]:
    if not question.collapse:
        return kept, []
    known = [name for name, given in (("declared", question.declared), ("track", question.track)) if given]
    first = f"row_number() over (partition by actor, target, time order by {', '.join(known or ['actor'])})"
    base.execute(
        f"create view once as select * from (select *, {first} as place from {kept}) where place = 1"
    )
    fewer = _one(base, f"select count(*) from {kept}") - _one(base, "select count(*) from once")
    return "once", [f"{fewer:,} events share actor, target and time with another, and count once"]


def _one(base: "duckdb.DuckDBPyConnection", query: str) -> int:
    row = base.execute(query).fetchone()
    return int(row[0]) if row else 0
