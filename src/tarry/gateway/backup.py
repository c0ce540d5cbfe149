"""Backups: all tables at one moment, in a SQLite file that starts paused; restoring one, and resuming.

Between a backup and its return posts have left that the backup still holds as waiting. So a store that was
brought back lets nothing in or out until a person resumes it; what may have left already is then parked.
"""

import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.catalog import NO_SPACE
from tarry.gateway.database import ROOMS, applied_migrations, check_not_newer
from tarry.keep.closing import close_ticks
from tarry.keep.errors import Unavailable
from tarry.keep.keys import Keys, make_durable
from tarry.keep.rows import status_of, unfinished_posts
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Clock, Store, Transaction, current_tick, snapshot

__all__ = ["MayHaveLeft", "back_up", "may_have_left", "restore", "resume"]

_PARKED = "it was due while the store was away, and may have left: look, then retry or withdraw it"
_PAGE = 100  # rows at a time: each may hold a megabyte


class _Table(NamedTuple):
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


def back_up(store: Store, path: str | Path) -> dict[str, int]:
    """Write a snapshot of all tables to a new private file; the number of rows by table.

    Rows are written in the order of their random keys: a database server keeps them as they came.

    >>> from tarry.gateway.testing import small_gateway
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     back_up(small_gateway().store, f"{folder}/backup.db")["spaces"]
    1
    """
    path = Path(path)
    if path.exists():
        raise BadInput(f"{str(path)!r} already exists", "write the backup to a new file")
    if not path.parent.is_dir():
        raise NotPossible(f"no backup can be written to {str(path)!r}: make its folder first")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        counts = _write(store, draft)
        os.link(draft, path)  # whole or not at all, and never over another one
        make_durable(path.parent)
    except FileExistsError:
        raise BadInput(f"somebody has just made {str(path)!r}", "write the backup to a new file") from None
    except OSError as error:
        raise NotPossible(f"no backup can be written to {str(path)!r}: {error.strerror}") from None
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                Path(f"{draft}{ending}").unlink()
    return counts


def restore(store: Store, path: str | Path) -> dict[str, int]:
    """Bring a backup back into an empty database, which stays paused; the number of rows by table.

    >>> from tarry.gateway.database import open_store
    >>> from tarry.gateway.testing import small_gateway
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = back_up(small_gateway().store, f"{folder}/backup.db")
    ...     restore(open_store(":memory:"), f"{folder}/backup.db") == rows
    True
    """
    with _copy_of(Path(path)) as source, source.transaction("reading") as transaction:
        if transaction.snapshot() is None or not snapshot(transaction).settings.paused:
            raise BadInput(f"{str(path)!r} is a database in use, no backup", "tarry backup makes one of it")
        tables = _tables(source)
        with store.transaction("closing"):
            _check_empty(store, tables)
            return _copy(source, store, tables)


@dataclass(frozen=True, kw_only=True)
class MayHaveLeft:
    """A post that a backup holds as waiting, and that was to leave by now.

    >>> MayHaveLeft(post=7, space="talk", target="paper 3", at=Fraction(60)).space
    'talk'
    """

    post: int  # its random key
    space: str
    target: str
    at: Fraction  # when it was to leave, at the earliest; seconds since 1970


def may_have_left(transaction: Transaction, clock: Clock) -> list[MayHaveLeft]:
    """The waiting posts whose release lies in the past, or may.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     may_have_left(transaction, gateway.clock)
    []
    """
    here = snapshot(transaction)
    settings, now, posts = here.settings, current_tick(here, clock), []
    for post in unfinished_posts(transaction):
        status = status_of(transaction, settings, post)
        if status.state == "waiting" and status.earliest is not None and status.earliest < now:
            posts.append(
                MayHaveLeft(
                    post=post.id, space=post.outlet, target=post.target, at=status.earliest * settings.tick
                )
            )
    return sorted(posts, key=lambda each: (each.at, each.post))


def resume(transaction: Transaction, keys: Keys, clock: Clock) -> int:
    """Let a paused store work again, inside a closing transaction; how many posts were parked for it.

    What was still without a label gets it when the ticks that were missed close, and its release may then
    turn out to lie in the past as well.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("closing") as transaction:
    ...     transaction.tell("pause", paused=1)
    ...     resume(transaction, gateway.keys, gateway.clock)
    0
    """
    if transaction.snapshot() is None:
        raise NotPossible(NO_SPACE)
    here = snapshot(transaction)
    if not here.settings.paused:
        raise NotPossible("this gateway is not paused: there is nothing to resume")
    # Before the ticks close, which would date them anew: a person needs to know when they were due.
    parked = transaction.run("park_overdue", tick=current_tick(here, clock) - 1, problem=_PARKED)
    transaction.tell("pause", paused=0)
    closed = close_ticks(transaction, keys, clock)
    return parked + transaction.run("park_overdue", tick=closed.tick, problem=_PARKED)


def _write(store: Store, draft: Path) -> dict[str, int]:
    with closing(SqliteStore(draft, ROOMS)) as copy:
        with store.transaction("reading"), copy.transaction("closing"):
            counts = _copy(store, copy, _tables(copy))
            if not counts["settings"]:
                raise NotPossible("there is nothing to back up: this gateway has no space yet")
        # One file, with nothing beside it.
        copy.connection().execute("PRAGMA journal_mode = DELETE")
    return counts


def _copy(source: Store, target: Store, tables: list[_Table]) -> dict[str, int]:
    """All rows, inside a transaction of either; the copy is paused."""
    if not isinstance(source, SqliteStore):  # before anything is asked: all tables as of one moment
        _connection(source).execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    into, counts = _connection(target), {}
    into.execute("DELETE FROM book")  # the one row that every new store has
    for table in tables:
        marks = ", ".join([_mark(target)] * len(table.columns))
        insert = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({marks})"  # noqa: S608 - our own names
        counts[table.name] = 0
        for page in _pages(source, table):
            into.cursor().executemany(insert, page)
            counts[table.name] += len(page)
    into.execute("UPDATE settings SET paused = 1")
    return counts


def _pages(source: Store, table: _Table) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a table in the order of its key, some at a time."""
    key, mark = ", ".join(table.key), _mark(source)
    after = f"WHERE ({key}) > ({', '.join([mark] * len(table.key))})"
    last: tuple[Any, ...] = ()
    while True:
        query = f"SELECT {', '.join(table.columns)} FROM {table.name} {after if last else ''} ORDER BY {key} LIMIT {_PAGE}"  # noqa: S608, E501 - our own names
        rows = _connection(source).execute(query, last).fetchall()
        if not rows:
            return
        yield [tuple(row[column] for column in table.columns) for row in rows]
        last = tuple(rows[-1][column] for column in table.key)


def _tables(store: SqliteStore) -> list[_Table]:
    """The tables of a store; the list of migrations is each store's own, and left out."""
    connection = store.connection()
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
        "AND name <> 'migrations' ORDER BY name"
    )
    tables = []
    for name in [row["name"] for row in names.fetchall()]:
        columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
        key = {column["pk"]: column["name"] for column in columns if column["pk"]}
        tables.append(
            _Table(name, tuple(each["name"] for each in columns), tuple(key[n] for n in sorted(key)))
        )
    return tables


def _check_empty(store: Store, tables: list[_Table]) -> None:
    for table in tables:
        query = f"SELECT 1 AS present FROM {table.name} LIMIT 1"  # noqa: S608 - our own names
        if table.name != "book" and _connection(store).execute(query).fetchone() is not None:
            raise BadInput(
                f"the database that the settings name is not empty (there are rows in {table.name})",
                "name a new one to bring the backup back into",
            )


@contextmanager
def _copy_of(path: Path) -> Iterator[SqliteStore]:
    """A private copy, brought up to date: the backup itself is left as it is."""
    applied = applied_migrations(str(path)) if path.is_file() else []
    if not applied:
        raise BadInput(f"{str(path)!r} is no backup", "give a file that tarry backup has written")
    check_not_newer(applied)
    with tempfile.TemporaryDirectory(prefix="tarry-restore-") as folder:
        copy = Path(folder, "copy.db")
        os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            with (
                closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as old,
                closing(sqlite3.connect(copy)) as new,
            ):
                old.backup(new)
        except sqlite3.Error as error:
            raise Unavailable(f"the backup cannot be read: {error}") from None
        with closing(SqliteStore(copy, ROOMS)) as store:
            yield store


def _connection(store: Store) -> Any:
    """This thread's connection, inside the transaction that has been begun on it."""
    return store.connection()  # type: ignore[attr-defined]  # both stores have one


def _mark(store: Store) -> str:
    return "?" if isinstance(store, SqliteStore) else "%s"
