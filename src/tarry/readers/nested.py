"""Columns inside others: `user.name` is the field `name` of the column `user`."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from tarry.readers.rows import Wanted

__all__ = ["add_inner", "paths_of", "unnest"]


def paths_of(wanted: Wanted, columns: Iterable[str] = ()) -> list[str]:
    """The names that a person gave which have points, and which no column has as they are.

    >>> paths_of(Wanted(actor="user.name", target="page.id", time="ts"), ["page.id", "user"])
    ['user.name']
    """
    there = set(columns)
    named = (wanted.actor, wanted.target, wanted.time)
    return [name for name in named if name is not None and "." in name and name not in there]


def unnest(frame: pl.DataFrame, wanted: Wanted) -> pl.DataFrame:
    """A table with a column more for each name that leads into another column.

    >>> frame = pl.DataFrame({"user": [{"name": "ann"}, None]})
    >>> unnest(frame, Wanted(actor="user.name"))["user.name"].to_list()
    ['ann', None]
    """
    for path in paths_of(wanted, frame.columns):
        kind: object = pl.Struct(frame.schema)
        names = path.split(".")
        for name in names:
            kind = _fields(kind).get(name)
        if kind is not None:
            found = pl.col(names[0])
            for name in names[1:]:
                found = found.struct.field(name)
            frame = frame.with_columns(found.alias(path))
    return frame


def _fields(kind: object) -> dict[str, object]:
    return {field.name: field.dtype for field in kind.fields} if isinstance(kind, pl.Struct) else {}


def add_inner(found: dict[str, Any], paths: Iterable[str]) -> None:
    """Put into an object what its objects hold at these paths.

    >>> event = {"user": {"name": "ann"}}
    >>> add_inner(event, ["user.name", "page.id"])
    >>> event
    {'user': {'name': 'ann'}, 'user.name': 'ann'}
    """
    for path in paths:
        value: Any = found
        for name in path.split("."):
            value = value.get(name, ...) if isinstance(value, dict) else ...
        if value is not ...:
            found.setdefault(path, value)
