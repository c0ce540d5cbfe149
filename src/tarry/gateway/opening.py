"""Opening what the settings name: the database, its key, the gateway."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.config import Config
from tarry.gateway.keyfile import make_key, read_key
from tarry.gateway.migrations import applied, check_not_newer
from tarry.gateway.stores import is_file, open_store
from tarry.keep.keys import Keys
from tarry.keep.store import Store
from tarry.keep.vault import check_key

if TYPE_CHECKING:
    from tarry.gateway.gateway import Gateway

__all__ = ["first_keys", "keys_of", "open_database", "open_gateway", "opened"]


def open_database(config: Config, *, make: bool = False) -> Store:
    """The database; a SQLite file that is not there is made only where that is meant.

    >>> open_database(Config(database="/nowhere/gateway.db"))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: there is no database '/nowhere/gateway.db': tarry space add makes one
    """
    where = config.database
    if (path := is_file(where)) and not make and not path.exists():
        raise NotPossible(f"there is no database {str(path)!r}: tarry space add makes one")
    if path and path.exists():
        _check_private(path)
    check_not_newer(applied(where))
    return open_store(where)


def _check_private(path: Path) -> None:
    """Who reads the file knows what waits, and the arrivals of the last windows. A group may share it."""
    rights = stat.S_IMODE(path.stat().st_mode)
    if rights & stat.S_IRWXO:
        fix = f"chmod o= {str(path)!r}"
        raise BadInput("the database", "is closed to others", found=f"rights {rights:o}", fix=fix)


@contextmanager
def opened(config: Config, *, make: bool = False) -> Iterator[Store]:
    """The database for a while.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, opened(Config(database=f"{folder}/g.db"), make=True) as store:
    ...     store.rooms
    ('tarry.keep', 'tarry.gateway')
    """
    store = open_database(config, make=make)
    try:
        yield store
    finally:
        store.close()


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
        check_outlets(gateway.book, gateway.keys)
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
        return make_key(config.key_file)
    return keys_of(config, store)


def keys_of(config: Config, store: Store) -> Keys:
    """The key of a store that is there.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     keys = make_key(f"{folder}/key")
    ...     keys_of(Config(key_file=f"{folder}/key"), open_store(":memory:")).seal == keys.seal
    True
    """
    keys = read_key(config.key_file)
    check_key(store, keys)
    return keys
