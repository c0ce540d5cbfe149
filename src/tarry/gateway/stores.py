"""Where a gateway keeps its tables: a SQLite file, or a PostgreSQL database by its URL."""

from pathlib import Path

from tarry.keep.postgres import PostgresStore
from tarry.keep.queries import KEEPER
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Store

__all__ = ["ROOMS", "is_file", "open_store"]

#: The gateway's tables lie beside the keeper's: one transaction changes both.
ROOMS = (*KEEPER, "tarry.gateway")


def open_store(where: str) -> Store:
    """A store at a path, or at a URL that begins with postgresql:// (or postgres://).

    >>> open_store(":memory:").path
    ':memory:'
    """
    path = is_file(where)
    return PostgresStore(where, ROOMS) if path is None else SqliteStore(path, ROOMS)


def is_file(where: str) -> Path | None:
    """The path of a database that is a file.

    >>> is_file("gateway.db"), is_file("postgresql://tarry@db/tarry")
    (PosixPath('gateway.db'), None)
    """
    if where.startswith(("postgresql://", "postgres://")):
        return None
    return Path(where.removeprefix("sqlite://"))
