"""How old a database is: which of the numbered scripts it has seen. Opening one brings it up to date."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from tarry.core.errors import NotPossible
from tarry.gateway.stores import ROOMS, is_file, open_store
from tarry.keep.errors import Unavailable
from tarry.keep.postgres import read_dsn
from tarry.keep.rows import migrations

__all__ = ["applied", "bring_up_to_date", "check_not_newer"]


def applied(where: str) -> list[int]:
    """The scripts that a database has seen; none, where there is no database.

    >>> applied("/nowhere/gateway.db")
    []
    """
    path = is_file(where)
    return _applied_in_server(where) if path is None else _applied_in_file(path)


def check_not_newer(numbers: Iterable[int]) -> None:
    """Refuse what a newer tarry has written: nobody knows what this one would break in it.

    >>> check_not_newer([1, 9999])
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: this was written by a newer tarry (script 9999): use that one
    """
    if unknown := set(numbers) - set(migrations("sqlite", ROOMS)):
        raise NotPossible(f"this was written by a newer tarry (script {max(unknown)}): use that one")


def bring_up_to_date(where: str) -> tuple[list[int], list[int]]:
    """Apply what is missing; the scripts that were new to the database, and all that it has seen now.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     new, now = bring_up_to_date(f"{folder}/gateway.db")
    ...     (new == now, bring_up_to_date(f"{folder}/gateway.db")[0])
    (True, [])
    """
    before = applied(where)
    check_not_newer(before)
    open_store(where).close()
    now = applied(where)
    return sorted(set(now) - set(before)), now


def _applied_in_file(path: Path) -> list[int]:
    if not path.exists() or path.stat().st_size == 0:
        return []
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").fetchone()
            rows = connection.execute("SELECT number FROM migrations") if known else ()
            return sorted(number for (number,) in rows)
    except sqlite3.Error as error:
        raise Unavailable(f"the store cannot be opened: {error}") from None


def _applied_in_server(dsn: str) -> list[int]:
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        return []  # opening the store tells what to install
    read_dsn(dsn)
    try:
        with psycopg.connect(dsn, connect_timeout=10) as connection:
            row = connection.execute("SELECT to_regclass('migrations') IS NOT NULL").fetchone()
            rows = connection.execute("SELECT number FROM migrations") if row and row[0] else ()
            return sorted(number for (number,) in rows)
    except psycopg.Error as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise Unavailable(f"the store cannot be opened: {reason}") from None
