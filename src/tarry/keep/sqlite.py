"""A store in one SQLite file: durable, shared by the processes of one machine, no server.

`synchronous=FULL` over a write-ahead log: what is acknowledged is on the disk. `secure_delete` wipes
what is erased; `clear_traces` removes the copies that the log and the gaps between rows still hold.

Whoever reads waits for nobody: a reader sees the store as the last commit has left it, while others write,
and while the file is written anew.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Self

from tarry.keep.errors import Unavailable
from tarry.keep.rows import KEEPER, PARAMETER, migrations, queries
from tarry.keep.sharing import Snapshot
from tarry.keep.store import Answer, Clock, Kind, Row, SystemClock

__all__ = ["SqliteStore"]

_PATIENCE_MS = 10_000
#: A file is written anew in memory, and for a hundredth of the time at most.
_MOST_REBUILT = 256 << 20
_REST = 100
_Pick = Callable[[Mapping[str, object]], tuple[object, ...]]
_PRAGMAS = ("synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY")


class _Connection(sqlite3.Connection):
    """With what its last admission left behind."""

    remembered: Snapshot | None = None
    remembered_at: tuple[int, int] | None = None


class SqliteStore:
    """The file is made, private to its owner, when it is not there yet.

    >>> store = SqliteStore(":memory:")
    >>> with store.transaction("working") as transaction:
    ...     transaction.one("busy_until")["waiting"]
    0
    """

    def __init__(self, path: str | Path, rooms: tuple[str, ...] = KEEPER) -> None:
        self.path = str(path)
        self.rooms, self.statements = rooms, queries("sqlite", rooms)
        self._file = Path(path).absolute()
        self._mine = threading.local()
        # Threads that write take turns here: waiting in SQLite would sleep for milliseconds each time.
        self.turn = threading.RLock()
        self._rebuild_at = 0.0
        self._shared = self._connect(":memory:") if self.path == ":memory:" else None
        self._migrate()

    def clock(self) -> Clock:
        """This machine's: a file has one machine."""
        return SystemClock()

    def transaction(self, kind: Kind) -> "SqliteTransaction":
        """One unit of work, durable when the block ends."""
        return SqliteTransaction(self, kind)

    def clear_traces(self, *, last: bool = False) -> bool:
        """Write the file anew, so that no erased row is left between its rows, and empty the log into it.

        A file that takes long is written anew more seldom, unless this is the last chance for a while: at
        another call, and not when the time has come, for the moments of these calls are public.
        """
        if self._shared:
            return True
        connection = None
        try:
            with self.turn:
                connection = self.connection()
                connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS // 100}")  # or at the next tick
                rebuilt = (not last and time.monotonic() < self._rebuild_at) or self._rebuild(connection)
                busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        except BaseException as error:
            self.give_up(connection, error)
            raise
        return rebuilt and not busy

    def _rebuild(self, connection: _Connection) -> bool:
        """When SQLite splits a page it leaves old bytes behind that `secure_delete` does not wipe."""
        if self._file.stat().st_size > _MOST_REBUILT:
            return True
        begun = time.monotonic()
        try:
            connection.execute("VACUUM")
        except sqlite3.OperationalError:
            if connection.in_transaction:
                connection.remembered_at = None
                connection.execute("ROLLBACK")
            return False  # somebody is writing, or the disk is full: later
        ended = time.monotonic()
        self._rebuild_at = ended + _REST * (ended - begun)
        return True

    def close(self) -> None:
        """Close this thread's connection; a store in memory lives as long as somebody holds it."""
        connection = getattr(self._mine, "connection", None)
        self._mine.connection = None
        if connection is not None and self._mine.file[0] == os.getpid():
            connection.close()

    def __del__(self) -> None:
        """A store that nobody holds any more leaves no connection open."""
        if (shared := getattr(self, "_shared", None)) is not None:
            shared.close()
        elif hasattr(self, "_mine"):
            self.close()

    def connection(self) -> _Connection:
        """This thread's connection, to the file that is there now."""
        if self._shared:
            return self._shared
        connection: _Connection | None = getattr(self._mine, "connection", None)
        # What is written to a file that was moved or deleted is lost: look whether it is still this one.
        status = self._file.stat()
        mine = (os.getpid(), status.st_dev, status.st_ino)
        if connection is None or self._mine.file != mine:
            self.close()
            # A file that is gone stays gone until somebody brings it back.
            connection = self._connect(f"{self._file.as_uri()}?mode=rw")
            self._mine.connection, self._mine.file = connection, mine
        return connection

    def _make_file(self) -> None:
        """Born private: SQLite gives its log the rights of the file.

        A file that is there is not opened: closing it again would drop, without a word, every lock that
        this process holds on it, and another process could then throw away a log that is in use.
        """
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self._file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    @staticmethod
    def _connect(where: str) -> _Connection:
        connection = sqlite3.connect(
            where,
            uri=True,
            timeout=_PATIENCE_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            factory=_Connection,
        )
        connection.row_factory = sqlite3.Row
        for pragma in ("journal_mode = WAL", *_PRAGMAS):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def give_up(self, connection: _Connection | None, error: BaseException, what: str = "store") -> None:
        """Undo what was begun; where the store is to blame, begin anew next time, and say so."""
        if connection is not None:
            connection.remembered_at = None
            with contextlib.suppress(sqlite3.Error):  # the error that led here is the one to tell
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        # The bare class is what a file that is no database, or is damaged, gives.
        if isinstance(error, sqlite3.OperationalError | OSError) or type(error) is sqlite3.DatabaseError:
            self.close()
            raise Unavailable(f"the {what} cannot be used: {_why(error)}") from error

    def _migrate(self) -> None:
        """Apply the scripts that this store has not seen, each with its number in one transaction."""
        connection = None
        try:
            if not self._shared:
                self._make_file()
            connection = self.connection()
            connection.execute("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)")
            if not self._missing(connection):
                return
            connection.execute("BEGIN IMMEDIATE")
            # Looked up again: another process may have been quicker.
            for number, script in self._missing(connection).items():
                for statement in _statements(script):
                    connection.execute(statement)
                connection.execute("INSERT INTO migrations (number) VALUES (?)", (number,))
            connection.execute("COMMIT")
        except BaseException as error:
            self.give_up(connection, error, f"store {self.path!r}")  # who opens it has just named it
            raise

    def _missing(self, connection: _Connection) -> dict[int, str]:
        done = {row["number"] for row in connection.execute("SELECT number FROM migrations")}
        scripts = migrations("sqlite", self.rooms)
        return {number: scripts[number] for number in scripts if number not in done}


class SqliteTransaction:
    """Statements by name, from BEGIN to COMMIT.

    >>> with SqliteStore(":memory:").transaction("working") as transaction:
    ...     transaction.run("unpark", id=1, problem=None, anew=0)
    0
    """

    __slots__ = (
        "_begin",
        "_connection",
        "_cursor",
        "_execute",
        "_statements",
        "_store",
        "_version",
        "_waits",
    )

    def __init__(self, store: SqliteStore, kind: Kind) -> None:
        self._store, self._statements = store, store.statements
        # A writer is alone in SQLite, whatever it writes.
        self._begin = "BEGIN" if kind == "reading" else "BEGIN IMMEDIATE"
        # A store in memory has a single connection.
        self._waits = kind != "reading" or store.path == ":memory:"

    def __enter__(self) -> Self:
        """Wait for one's turn, if one means to write."""
        if self._waits:
            self._store.turn.acquire()
        connection = None
        try:
            self._connection = connection = self._store.connection()
            self._cursor = connection.cursor()
            self._execute = self._cursor.execute
            self._execute(self._begin)
        except BaseException as error:
            self._let_go()
            self._store.give_up(connection, error)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        """Write it all down, or none of it."""
        try:
            if error is None:
                try:
                    self._execute("COMMIT")
                except sqlite3.Error as trouble:
                    self._store.give_up(self._connection, trouble)
                    raise
            else:
                self._store.give_up(self._connection, error)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._waits:
            self._store.turn.release()

    def one(self, name: str, /, **values: object) -> Row | None:
        """The first row of an answer, if there is one."""
        row: Row | None = self._answer(name, values).fetchone()
        return row

    def all(self, name: str, /, **values: object) -> list[Row]:
        """Every row of an answer."""
        return self._answer(name, values).fetchall()

    def ask(self, name: str, /, **values: object) -> Answer:
        """The same: here nothing is gained by waiting."""
        rows = self.all(name, **values)
        return lambda: rows

    def run(self, name: str, /, **values: object) -> int:
        """How many rows a change has touched."""
        return self._answer(name, values).rowcount

    def snapshot(self) -> Snapshot | None:
        """The current tick and settings; None before the store is founded."""
        connection = self._connection
        self._version = self._execute("PRAGMA data_version").fetchone()[0]
        if connection.remembered_at == (self._version, connection.total_changes):
            return connection.remembered
        row = self.one("snapshot")
        return None if row is None else Snapshot.of(row)

    def remember(self, snapshot: Snapshot) -> None:
        """Spare the next transaction the question, unless anybody has written since.

        One counter tells of other connections, the other of this one.
        """
        connection = self._connection
        connection.remembered_at = self._version, connection.total_changes
        connection.remembered = snapshot

    def lock(self, names: Iterable[bytes]) -> None:
        """Nothing to wait for: a writer is alone."""

    def tell(self, name: str, /, **values: object) -> None:
        """Change something, whatever it touches."""
        self._answer(name, values)

    def many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """One change for each of many rows."""
        statement, pick = _in_order(self._statements[name])
        self._cursor.executemany(statement, map(pick, rows))

    def _answer(self, name: str, values: Mapping[str, object]) -> sqlite3.Cursor:
        statement, pick = _in_order(self._statements[name])
        return self._execute(statement, pick(values))


def _why(error: Exception) -> str:
    """In words, without numbers and paths."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _statements(script: str) -> list[str]:
    """The statements of a script, one by one: `executescript` would end the transaction first."""
    statements, rest = [], ""
    for line in script.splitlines(keepends=True):
        rest += line
        if sqlite3.complete_statement(rest):
            statements.append(rest)
            rest = ""
    return statements


@cache
def _in_order(text: str) -> tuple[str, _Pick]:
    """A statement with its parameters in order, and who puts them so: finding them by name is slow."""
    names = PARAMETER.findall(text)
    pick: _Pick = itemgetter(*names) if len(names) > 1 else lambda values: tuple(values[n] for n in names)
    return PARAMETER.sub("?", text), pick
