"""What parsers hand on (rows) and readers yield (columns), and which column says who, on what and when.

A column is the one that a person named, or one of the usual names. A name with points leads into columns:
`user.name` is the field `name` of the column `user`.
"""

import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray
from tarry.readers.faults import Faults, Unreadable, clip
from tarry.readers.free_memory import is_short

__all__ = [
    "TROUBLE",
    "Columns",
    "Rows",
    "Wanted",
    "add_inner",
    "choose_columns",
    "faults_of_names",
    "name_column",
    "paths_of",
    "refusing",
    "unnest",
]

# All that a damaged file makes the table library raise; a panic is not even an Exception. Too little memory
# is not among them: the file is not to blame.
TROUBLE = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    ArithmeticError,
    EOFError,
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
        if is_short():
            raise MemoryError from None
        raise BadInput(problem, fix) from None


# In the order in which they are tried: a column `target` wins over a column `title`.
USUAL = {
    "actor": (
        *("actor", "user", "author", "reviewer"),
        *("actor_id", "user_id", "author_id", "reviewer_id"),
        *("username", "user_name", "userid", "login", "account", "account_id"),
        *("editor", "voter", "commenter", "contributor", "member", "member_id", "email", "user_email"),
        *("sender", "from", "wallet", "owner", "owner_user_id"),
    ),
    "target": (
        *("target", "page", "paper", "address", "thread"),
        *("target_id", "page_id", "paper_id", "address_id", "thread_id"),
        *("topic", "topic_id", "discussion", "discussion_id"),
        *("page_title", "title", "forum", "forum_id", "repo", "repository", "proposal", "proposal_id"),
        *("article", "submission", "submission_id", "issue", "package", "item", "item_id"),
        *("post", "post_id", "file", "filename", "to"),
    ),
    "time": (
        *("time", "timestamp", "created_at"),
        *("datetime", "date", "ts", "created", "creation_date", "published_at", "submitted_at"),
        *("posted_at", "date_created", "created_time", "event_time", "posted", "published", "submitted"),
    ),
}
# A name that is a number or a date, or holds a time of day, a long number, an address or a bracket.
_DATA = re.compile(
    r"^[0-9 .,:+\-TZ/]*[0-9][0-9 .,:+\-TZ/]*$|[0-9]:[0-9]{2}|[0-9]{8}|\b[0-9]{4}\b|[@{}\[\]]"
)
_LISTED = 20
_ROOM = 120  # characters of a sentence that the names of columns may take


def choose_columns(columns: Sequence[str], wanted: Wanted, what: str = "the frame") -> dict[str, str]:
    """The column of each role.

    >>> choose_columns(["Page", "user", "created_at"], Wanted())
    {'actor': 'user', 'target': 'Page', 'time': 'created_at'}
    >>> choose_columns(["user", "page", "address", "ts"], Wanted(target="address"))["target"]
    'address'
    """
    named: dict[str, str | None] = vars(wanted)
    for role, name in named.items():
        if name is not None and name not in columns:
            raise BadInput(
                f"{what} has no column {clip(name)} for --{role}",
                f"name one that it has, {_listed(columns)}",
            )
    chosen: dict[str, str] = {}
    for role, name in named.items():
        chosen[role] = name or _guess(role, columns, {*named.values(), *chosen.values()}, what)
    if len(set(chosen.values())) < len(chosen):
        same = ", ".join(f"{role} = {clip(name)}" for role, name in chosen.items())
        raise BadInput(f"actor, target and time must be three different columns, not {same}")
    return chosen


def name_column(role: str, series: pl.Series) -> pl.Series:
    """A column of names as whole numbers or texts; any other kind is refused.

    >>> name_column("actor", pl.Series(["ann"], dtype=pl.Categorical)).dtype
    String
    """
    kind = series.dtype
    if kind.is_integer() and not isinstance(kind, pl.Int128 | pl.UInt128):
        return series
    # More than 64 bits do not fit where names are compared as numbers; as texts they do.
    if kind.is_integer() or isinstance(kind, pl.String | pl.Categorical | pl.Enum | pl.Null):
        return series.cast(pl.String)
    raise BadInput(
        f"the column {clip(series.name)} must name the {role} by whole numbers or texts, "
        f"not {clip(kind.base_type())}",
        f"convert it, or name another column with --{role} NAME",
    )


def faults_of_names(role: str, series: pl.Series) -> list[tuple[BoolArray, str]]:
    """Rows without a name that can be used, and what to say of them.

    >>> [(rows.tolist(), reason) for rows, reason in faults_of_names("actor", pl.Series([5, None]))]
    [([False, True], 'actor is missing')]
    """
    missing = (series.is_null(), f"{role} is missing")
    if series.dtype != pl.String:
        return [(missing[0].to_numpy(), missing[1])]
    empty = missing[0] | (series == "").fill_null(value=False)
    # Where texts are stored at one width a NUL at the end is dropped: two names would be one.
    marked = series.str.ends_with("\0").fill_null(value=False)
    return [(empty.to_numpy(), missing[1]), (marked.to_numpy(), f"{role} ends in NUL")]


def paths_of(wanted: Wanted, columns: Collection[str] = ()) -> list[str]:
    """The names that a person gave which have points, and which no column has as they are.

    >>> paths_of(Wanted(actor="user.name", target="page.id", time="ts"), ["page.id", "user"])
    ['user.name']
    """
    return [name for name in vars(wanted).values() if name and "." in name and name not in columns]


def unnest(frame: pl.DataFrame, wanted: Wanted) -> pl.DataFrame:
    """A table with a column more for each name that leads into another column.

    >>> frame = pl.DataFrame({"user": [{"name": "ann"}, None]})
    >>> unnest(frame, Wanted(actor="user.name"))["user.name"].to_list()
    ['ann', None]
    """
    for path in paths_of(wanted, frame.columns):
        first, *names = path.split(".")
        inner = pl.col(first)
        for name in names:
            inner = inner.struct.field(name)
        with suppress(pl.exceptions.PolarsError):  # no such column, no such field, or no field inside it
            frame = frame.with_columns(inner.alias(path))
    return frame


def add_inner(row: dict[str, Any], paths: Iterable[str]) -> None:
    """Put into an object what its objects hold at these paths.

    >>> event = {"user": {"name": "ann"}}
    >>> add_inner(event, ["user.name", "page.id"])
    >>> event
    {'user': {'name': 'ann'}, 'user.name': 'ann'}
    """
    for path in paths:
        value: Any = row
        for name in path.split("."):
            value = value.get(name, ...) if isinstance(value, dict) else ...
        if value is not ...:
            row.setdefault(path, value)


def _guess(role: str, columns: Sequence[str], taken: set[str | None], what: str) -> str:
    free = [column for column in reversed(columns) if column not in taken]
    by_name = {column.strip().lower().replace(" ", "_").replace("-", "_"): column for column in free}
    by_name |= {column: column for column in free}  # who is called so goes before who is called alike
    for usual in USUAL[role]:
        if usual in by_name:
            return by_name[usual]
    raise BadInput(
        f"{what} has no column for the {role} among {_listed(columns)}",
        f"name it with --{role} NAME",
    )


def _listed(columns: Sequence[str]) -> str:
    if not columns:
        return "no columns"
    if any(_DATA.search(name) for name in columns):
        return f"{len(columns)} columns whose names look like data (is the first line a header?)"
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    return "the columns " + clip(", ".join(clip(name) for name in columns[:_LISTED]), _ROOM) + more
