"""Where a gateway keeps its tables: a SQLite file, or a PostgreSQL database by its URL."""

import re
from pathlib import Path

from tarry.core.errors import BadInput
from tarry.keep.postgres import PostgresStore
from tarry.keep.rows import KEEPER
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Store

__all__ = ["ROOMS", "is_file", "open_store"]

#: The gateway's tables lie beside the keeper's: one transaction changes both.
ROOMS = (*KEEPER, "tarry.gateway")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def open_store(where: str, rooms: tuple[str, ...] = ROOMS) -> Store:
    """A store at a path, or at a URL that begins with postgresql:// (or postgres://).

    >>> open_store(":memory:").path
    ':memory:'
    """
    path = is_file(where)
    return PostgresStore(where, rooms) if path is None else SqliteStore(path, rooms)


def is_file(where: str) -> Path | None:
    """The path of a database that is a file.

    >>> is_file("gateway.db"), is_file("postgresql://tarry@db/tarry")
    (PosixPath('gateway.db'), None)
    """
    scheme = _SCHEME.match(where)
    if scheme is None:
        return Path(where)
    if scheme[1] in {"postgresql", "postgres"}:
        return None
    if scheme[1] == "sqlite":
        return Path(where.removeprefix("sqlite://"))
    # Never quoted whole: there may be a password in it.
    rule = "is the path of a SQLite file, or begins with postgresql://"
    raise BadInput("the address of a database", rule, found=f"{scheme[1]}://")
