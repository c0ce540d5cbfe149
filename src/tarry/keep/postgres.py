"""A store in PostgreSQL, for several machines: they share its clock, its locks and its rows.

Needs psycopg (`pip install 'psycopg[binary]'`).
"""

import json
import os
import select
import threading
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from tarry.core.errors import BadInput, NotPossible
from tarry.keep.errors import Unavailable
from tarry.keep.rows import KEEPER, PARAMETER, migrations, queries
from tarry.keep.sharing import Snapshot
from tarry.keep.store import Clock, Kind, Row, SystemClock

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresStore", "first_line", "read_dsn", "statements"]

#: A server that is gone without a word is noticed within half a minute, and not after two hours; what the
#: URL says goes first.
_NETWORK: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_MIGRATING = 7462  # an advisory lock of its own
#: From so many rows on one statement for all of them is quicker than one for each.
_SEVERAL = 4
_MOST_BYTES = 1 << 20  # in one such statement, unless a single row has more


class PostgresStore:
    """The tables lie in the first schema of the connection's search path.

    `PostgresStore("postgresql://tarry@db/tarry")` makes them when they are not there yet.
    """

    def __init__(self, dsn: str, rooms: tuple[str, ...] = KEEPER) -> None:
        try:
            import psycopg  # noqa: PLC0415 - an extra
            from psycopg.rows import dict_row  # noqa: PLC0415 - likewise
        except ImportError:
            raise NotPossible(
                "a store in PostgreSQL needs the psycopg package: pip install 'psycopg[binary]'"
            ) from None
        self.dsn, self._parameters = dsn, read_dsn(dsn)
        self.rooms, self.statements = rooms, statements(rooms)
        self._psycopg, self._rows = psycopg, dict_row
        self._away = (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction)
        self._mine = threading.local()
        self._migrate()

    def clock(self) -> Clock:
        """The database's wall clock, which all machines share, beside this one's steady clock.

        Whoever closes ticks keeps the store's clock from jumping with its own steady clock; everybody
        else follows the database's wall clock from where the last close has left it.
        """
        return SystemClock()

    @contextmanager
    def transaction(self, kind: Kind) -> Iterator["PostgresTransaction"]:
        """One unit of work, durable when the block ends."""
        try:
            self._let_go_if_cut()
            connection = self.connection()
            try:
                # What asks for no answer is sent along with what comes next: few trips to the server.
                with connection.pipeline() as pipeline:
                    blind = connection.cursor()  # for all that is not asked for an answer: making one costs
                    for statement in _BEGIN[kind]:
                        blind.execute(statement)
                    yield PostgresTransaction(connection, pipeline, blind, self.statements)
                    blind.execute(b"COMMIT")
            except BaseException:
                self._roll_back(connection)
                raise
        except self._away as error:
            self.close()
            raise Unavailable(f"the store cannot be used: {first_line(error)}") from error

    def clear_traces(self, *, last: bool = False) -> bool:  # noqa: ARG002 - one shape for all stores
        """Leave dead rows to PostgreSQL's own vacuum: its log and pages are not ours to clear."""
        return True

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._mine, "connection", None)
        self._mine.connection = None
        if connection is not None and self._mine.process == os.getpid():
            connection.close()

    def connection(self) -> "psycopg.Connection[dict[str, Any]]":
        """This thread's connection."""
        connection: psycopg.Connection[dict[str, Any]] | None = getattr(self._mine, "connection", None)
        if connection is None or connection.closed or self._mine.process != os.getpid():
            where = self._psycopg.conninfo.make_conninfo(**{**_NETWORK, **self._parameters})
            connection = self._psycopg.connect(where, autocommit=True, row_factory=self._rows)
            self._mine.connection, self._mine.process = connection, os.getpid()
            # What is acknowledged is on the disk, whatever the server's default is.
            connection.execute("SET synchronous_commit = on")
        return connection

    def _let_go_if_cut(self) -> None:
        """Between transactions a server says nothing, unless it ends: then the next one finds it back."""
        connection = getattr(self._mine, "connection", None)
        if connection is not None and not connection.closed and self._mine.process == os.getpid():
            waiting = select.poll()
            waiting.register(connection.fileno(), select.POLLIN)
            if waiting.poll(0):
                self.close()

    def _roll_back(self, connection: "psycopg.Connection[dict[str, Any]]") -> None:
        try:
            if not connection.closed:
                connection.execute("ROLLBACK")
        except self._psycopg.Error:  # the error that led here is the one to tell
            self.close()

    def _migrate(self) -> None:
        """Apply the scripts that this store has not seen, one process at a time."""
        try:
            connection = self.connection()
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
                connection.execute("CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY)")
                done = {row["number"] for row in connection.execute("SELECT number FROM migrations")}
                for number, script in migrations("postgres", self.rooms).items():
                    if number not in done:
                        connection.execute(script.encode())
                        connection.execute("INSERT INTO migrations (number) VALUES (%s)", (number,))
        except self._away as error:
            self.close()
            raise Unavailable(f"the store cannot be opened: {first_line(error)}") from error


class PostgresTransaction:
    """Statements by name on an open connection."""

    def __init__(
        self,
        connection: "psycopg.Connection[dict[str, Any]]",
        pipeline: "psycopg.Pipeline",
        blind: "psycopg.Cursor[dict[str, Any]]",
        statements: Mapping[str, bytes],
    ) -> None:
        self._connection, self._pipeline, self._statements = connection, pipeline, statements
        self._blind = blind

    def one(self, name: str, /, **values: object) -> Row | None:
        """The first row of an answer, if there is one."""
        return self._connection.execute(self._statements[name], values).fetchone()

    def all(self, name: str, /, **values: object) -> list[Row]:
        """Every row of an answer."""
        return list(self._connection.execute(self._statements[name], values).fetchall())

    def run(self, name: str, /, **values: object) -> int:
        """How many rows a change has touched."""
        cursor = self._connection.execute(self._statements[name], values)
        self._pipeline.sync()
        return cursor.rowcount

    def snapshot(self) -> Snapshot | None:
        """The current tick and settings; None before the store is founded."""
        row = self.one("snapshot")
        return None if row is None else Snapshot.of(row)

    def remember(self, snapshot: Snapshot) -> None:
        """Nothing: others write here all the time, and nobody could say whether they have."""

    def tell(self, name: str, /, **values: object) -> None:
        """Change something, without waiting for the answer."""
        self._blind.execute(self._statements[name], values)

    def lock(self, names: Iterable[bytes]) -> None:
        """Wait for other transactions that hold one of these names."""
        self._blind.execute(
            self._statements["lock"], {"numbers": [int.from_bytes(name[:8], signed=True) for name in names]}
        )

    def many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """One change for each of many rows, without waiting for the answers.

        What is inserted often has a statement for several rows: to send one costs as much as to insert one.
        """
        several = self._statements.get(f"{name}_rows")
        for lot in [rows] if several is None else _lots(rows):
            if several is not None and len(lot) >= _SEVERAL:
                self._blind.execute(several, {"rows": json.dumps(lot, default=_as_text)})
            elif len(lot) == 1:
                self._blind.execute(self._statements[name], lot[0])
            elif lot:
                self._connection.cursor().executemany(self._statements[name], lot)


def _lots(rows: Sequence[Mapping[str, object]]) -> Iterator[Sequence[Mapping[str, object]]]:
    """Rows that go to the server together: many small ones, or a large one. A parameter has its bounds."""
    lot: list[Mapping[str, object]] = []
    size = 0
    for row in rows:
        more = sum(len(value) for value in row.values() if isinstance(value, bytes | str))
        if lot and size + more > _MOST_BYTES:
            yield lot
            lot, size = [], 0
        lot.append(row)
        size += more
    if lot:
        yield lot


def _as_text(value: bytes) -> str:
    """Bytes inside JSON."""
    return b2a_base64(value, newline=False).decode("ascii")


def read_dsn(dsn: str) -> dict[str, Any]:
    """The parameters in a URL. One that cannot be read is never quoted: there may be a password in it.

    >>> read_dsn("postgresql://tarry@db/tarry")["host"]
    'db'
    """
    from psycopg import ProgrammingError, conninfo  # noqa: PLC0415 - an extra

    try:
        return dict(conninfo.conninfo_to_dict(dsn))
    except ProgrammingError:
        raise BadInput(
            "the address of the database cannot be read", "use a URL such as postgresql://user@host/name"
        ) from None


@cache
def statements(rooms: tuple[str, ...] = KEEPER) -> dict[str, bytes]:
    """The statements in psycopg's own way.

    >>> statements()["by_id"].endswith(b"%(id)s")
    True
    """
    return {
        name: PARAMETER.sub(r"%(\1)s", text.replace("%", "%%")).encode()  # bytes: taken as they are
        for name, text in queries("postgres", rooms).items()
    }


_QUERIES = statements()
# Whatever the server's defaults: a snapshot taken before a lock was granted would miss what it waited for.
_WRITE = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_BEGIN = {
    "reading": (b"BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY",),
    "working": (_WRITE, _QUERIES["lock_working"]),
    "admitting": (_WRITE, _QUERIES["lock_admission"]),
    "closing": (_WRITE, _QUERIES["lock_closing"]),
}


def first_line(error: Exception) -> str:
    """What a database says of an error, without the lines that quote what was sent.

    >>> first_line(ValueError("no such table" + chr(10) + "LINE 1: SELECT")), first_line(ValueError())
    ('no such table', 'ValueError')
    """
    return (str(error).splitlines() or [type(error).__name__])[0]
