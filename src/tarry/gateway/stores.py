"""Where a gateway keeps its tables: a SQLite file, or a PostgreSQL database by its URL."""

from tarry.keep.postgres import PostgresStore
from tarry.keep.queries import KEEPER
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Store

__all__ = ["ROOMS", "open_store"]

#: The gateway's tables lie beside the keeper's: one transaction changes both.
ROOMS = (*KEEPER, "tarry.gateway")


def open_store(where: str) -> Store:
    """A store at a path, or at a URL that begins with postgresql:// (or postgres://).

    >>> open_store(":memory:").path
    ':memory:'
    """
    if where.startswith(("postgresql://", "postgres://")):
        return PostgresStore(where, ROOMS)
    return SqliteStore(where.removeprefix("sqlite://"), ROOMS)
