"""Which column says who acted, on what and when: as a person named it, or by its usual names."""

import re
from collections.abc import Sequence

import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray
from tarry.readers.faults import clip
from tarry.readers.rows import Wanted

__all__ = ["choose_columns", "faults_of_names", "name_column"]

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
    named = {"actor": wanted.actor, "target": wanted.target, "time": wanted.time}
    for role, name in named.items():
        if name is not None and name not in columns:
            found = f"no {clip(name)} among {_listed(columns)}"
            raise BadInput(what, f"must have the column that --{role} names", found=found)
    chosen: dict[str, str] = {}
    for role, name in named.items():
        chosen[role] = name or _guess(role, columns, {*named.values(), *chosen.values()}, what)
    if len(set(chosen.values())) < len(chosen):
        found = ", ".join(f"{role} = {clip(name)}" for role, name in chosen.items())
        raise BadInput("actor, target and time", "must be three different columns", found=found)
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
        f"the column {clip(series.name)}",
        f"must name the {role} by whole numbers or texts",
        found=clip(kind.base_type()),
        fix=f"convert it, or name another column with --{role} NAME",
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


def _guess(role: str, columns: Sequence[str], taken: set[str | None], what: str) -> str:
    free = [column for column in reversed(columns) if column not in taken]
    plain = {_plain(column): column for column in free}
    for usual in USUAL[role]:
        if usual in free:
            return usual
        if usual in plain:
            return plain[usual]
    fix = f"name it with --{role} NAME"
    raise BadInput(what, f"must have a column for the {role}", found=_listed(columns), fix=fix)


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _listed(columns: Sequence[str]) -> str:
    if not columns:
        return "no columns"
    if any(_DATA.search(name) for name in columns):
        return f"{len(columns)} columns whose names look like data (is the first line a header?)"
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    return "the columns " + clip(", ".join(clip(name) for name in columns[:_LISTED]), _ROOM) + more
