"""Where a gateway keeps its tables: opening the database that the settings name, its key, and its age.

A database is a SQLite file, or a PostgreSQL database by its URL. Opening one applies the migrations that it
has not seen; one that a newer tarry has written is left alone.
"""

import os
import re
import sqlite3
import stat
from collections.abc import Iterable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.config import Config, own_places
from tarry.keep.errors import Unavailable
from tarry.keep.keys import KEY_BYTES, Keys, key_in, make_durable, new_key, write_private
from tarry.keep.postgres import PostgresStore, first_line, read_dsn
from tarry.keep.rows import KEEPER, migrations
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Store, check_key

if TYPE_CHECKING:
    from tarry.gateway.gateway import Gateway

__all__ = [
    "ROOMS",
    "applied_migrations",
    "check_not_newer",
    "database_path",
    "first_keys",
    "keys_of",
    "make_key",
    "migrate",
    "open_database",
    "open_gateway",
    "open_store",
    "opened_database",
    "read_key",
    "swap_key",
]

#: The gateway's tables lie beside the keeper's: one transaction changes both.
ROOMS = (*KEEPER, "tarry.gateway")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def open_store(where: str, rooms: tuple[str, ...] = ROOMS) -> Store:
    """A store at a path, or at a URL that begins with postgresql:// (or postgres://).

    >>> open_store(":memory:").path
    ':memory:'
    """
    path = database_path(where)
    return PostgresStore(where, rooms) if path is None else SqliteStore(path, rooms)


def database_path(where: str) -> Path | None:
    """The path of a database that is a file; None for a server's.

    >>> database_path("gateway.db"), database_path("postgresql://tarry@db/tarry")
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
    raise BadInput(f"a database must be a SQLite file or begin with postgresql://, not with {scheme[1]}://")


# --- what the settings name -----------------------------------------------------------------------


def open_database(config: Config, *, make: bool = False) -> Store:
    """The database; a SQLite file that does not exist is made only with `make`.

    >>> open_database(Config(database="/nowhere/gateway.db"))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: there is no database '/nowhere/gateway.db': tarry space add makes one
    """
    where = config.database
    if (path := database_path(where)) and not make and not path.exists():
        raise NotPossible(f"there is no database {str(path.absolute())!r}: tarry space add makes one")
    if make:
        _make_own_folder("database", where)
    # Who reads the file knows what waits, and the arrivals of the last windows. A group may share it.
    rights = stat.S_IMODE(path.stat().st_mode) if path and path.exists() else 0
    if rights & stat.S_IRWXO:
        raise BadInput(f"others can read the database {str(path)!r} (mode {rights:o})", f"chmod o= {path}")
    check_not_newer(applied_migrations(where))
    return open_store(where)


def opened_database(config: Config, *, make: bool = False) -> AbstractContextManager[Store]:
    """The database, closed at the end of the block.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with opened_database(Config(database=f"{folder}/g.db"), make=True) as store:
    ...         store.rooms
    ('tarry.keep', 'tarry.gateway')
    """
    return closing(open_database(config, make=make))


def open_gateway(config: Config) -> "Gateway":
    """The gateway: a database with at least one space, its key, and outlets that can work.

    >>> open_gateway(Config(database="/nowhere/gateway.db"))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: there is no database '/nowhere/gateway.db': tarry space add makes one
    """
    from tarry.gateway.gateway import Gateway  # noqa: PLC0415 - most commands need the database alone
    from tarry.gateway.outlets import check_outlets  # noqa: PLC0415 - likewise

    store = open_database(config)
    try:
        gateway = Gateway(store, read_key(config.key_file))
        check_outlets(gateway.catalog, gateway.keys)
    except BaseException:
        store.close()
        raise
    return gateway


def first_keys(config: Config, store: Store) -> Keys:
    """The key; a new store gets a new one, an old one never does.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     keys = first_keys(Config(key_file=f"{folder}/key"), open_store(":memory:"))
    ...     Path(folder, "key").stat().st_mode & 0o777 == 0o600
    True
    """
    with store.transaction("reading") as transaction:
        is_new = transaction.snapshot() is None
    if is_new and not Path(config.key_file).exists():
        _make_own_folder("key_file", config.key_file)
        return make_key(config.key_file)
    return keys_of(config, store)


def _make_own_folder(setting: str, path: str) -> None:
    """The folder of a place that nobody has named is made; any other must be there."""
    if not Path(path).parent.exists() and path == own_places(os.environ)[setting]:
        Path(path).parent.mkdir(mode=0o700, parents=True)


def keys_of(config: Config, store: Store) -> Keys:
    """The key of a store that exists.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     keys = make_key(f"{folder}/key")
    ...     keys_of(Config(key_file=f"{folder}/key"), open_store(":memory:")).seal == keys.seal
    True
    """
    keys = read_key(config.key_file)
    check_key(store, keys)
    return keys


# --- migrations -----------------------------------------------------------------------------------


def applied_migrations(where: str) -> list[int]:
    """The migrations that a database has seen; none, where there is no database.

    >>> applied_migrations("/nowhere/gateway.db")
    []
    """
    path = database_path(where)
    return _applied_in_server(where) if path is None else _applied_in_file(path)


def check_not_newer(numbers: Iterable[int]) -> None:
    """Refuse a database that a newer tarry has written: nobody knows what this one would break in it.

    >>> check_not_newer([1, 9999])
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: a newer tarry has written this (migration 9999): use that one
    """
    if unknown := set(numbers) - set(migrations("sqlite", ROOMS)):
        raise NotPossible(f"a newer tarry has written this (migration {max(unknown)}): use that one")


def migrate(where: str) -> tuple[list[int], list[int]]:
    """Apply the missing migrations; those that were new to the database, and all that it has seen now.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     new, now = migrate(f"{folder}/gateway.db")
    ...     (new == now, migrate(f"{folder}/gateway.db")[0])
    (True, [])
    """
    before = applied_migrations(where)
    check_not_newer(before)
    open_store(where).close()
    now = applied_migrations(where)
    return sorted(set(now) - set(before)), now


def _applied_in_file(path: Path) -> list[int]:
    if not path.exists() or path.stat().st_size == 0:
        return []
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").fetchone()
            rows = connection.execute("SELECT number FROM migrations") if known else ()
            return sorted(row[0] for row in rows)
    except sqlite3.Error as error:
        raise Unavailable(f"the store cannot be opened: {error}") from None


def _applied_in_server(dsn: str) -> list[int]:
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        return []  # opening the store says what to install
    read_dsn(dsn)
    try:
        with psycopg.connect(dsn, connect_timeout=10) as connection:
            known = connection.execute("SELECT to_regclass('migrations')").fetchone()
            rows = connection.execute("SELECT number FROM migrations") if known and known[0] else ()
            return sorted(row[0] for row in rows)
    except psycopg.Error as error:
        raise Unavailable(f"the store cannot be opened: {first_line(error)}") from None


# --- the file that holds a store's key: private, made once, and never inside the database ---------

#: Readable by others, or writable by anybody else. A group may read: service managers hand secrets on so.
_TOO_OPEN = stat.S_IRWXO | stat.S_IWGRP


def read_key(path: str | Path) -> Keys:
    """The key of a store.

    >>> read_key("/nowhere/key")
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: there is no key file '/nowhere/key': put it back, or name it in key_file
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotPossible(
            f"there is no key file {str(path)!r}: put it back, or name it in key_file"
        ) from None
    except OSError as error:
        raise NotPossible(f"the key file {str(path)!r} cannot be read: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"the key file must be a plain file, not {str(path)!r}")
        if status.st_mode & _TOO_OPEN:
            raise BadInput(
                f"the key file {str(path)!r} is open to others (mode {stat.S_IMODE(status.st_mode):o})",
                f"chmod 600 {path}",
            )
        return Keys(key_in(os.read(descriptor, 4 * KEY_BYTES)))
    finally:
        os.close(descriptor)


def make_key(path: str | Path) -> Keys:
    """A new key in a new file that only its owner may read; an existing file is left alone.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     keys = make_key(f"{folder}/key")
    ...     read_key(f"{folder}/key").actor("ann") == keys.actor("ann")
    True
    """
    try:
        write_private(Path(path), f"{new_key().hex()}\n".encode())
    except OSError as error:
        raise NotPossible(
            f"no key file can be made at {str(path)!r} ({error.strerror}): name another place"
        ) from None
    return read_key(path)


def swap_key(path: Path, new: Path, old: Path) -> None:
    """Replace a key by a new one; the old one is kept beside it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path, new, old = (Path(folder, name) for name in ("key", "key.new", "key.old"))
    ...     first, second = make_key(path), make_key(new)
    ...     swap_key(path, new, old)
    ...     read_key(path).seal == second.seal, read_key(old).seal == first.seal, new.exists()
    (True, True, False)
    """
    with suppress(FileExistsError):  # whoever was cut off had come that far
        os.link(path, old)
    new.replace(path)
    make_durable(path.parent)
