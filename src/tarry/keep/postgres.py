"""A store in PostgreSQL, for several machines: they share its clock, its locks and its rows.

Needs psycopg (`pip install 'psycopg[binary]'`).
"""

import json
import os
import select
import threading
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from tarry.core.errors import BadInput, NotPossible
from tarry.keep.errors import Unavailable
from tarry.keep.postgres_form import Prepared, statement_of
from tarry.keep.rows import KEEPER, migrations, queries
from tarry.keep.sharing import Snapshot
from tarry.keep.store import Answer, Clock, Kind, Row, SystemClock

if TYPE_CHECKING:
    import psycopg

    from tarry.keep.postgres_wire import Wire

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

            from tarry.keep.postgres_wire import Wire  # noqa: PLC0415 - likewise
        except ImportError:
            raise NotPossible(
                "a store in PostgreSQL needs the psycopg package: pip install 'psycopg[binary]'"
            ) from None
        self.dsn, self._parameters = dsn, read_dsn(dsn)
        self.rooms, self.statements = rooms, statements(rooms)
        self._psycopg, self._rows, self._new_wire = psycopg, dict_row, Wire
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
            wire = self._wire()
            try:
                # What asks for no answer is sent along with what comes next: few trips to the server.
                for statement in _BEGIN[kind]:
                    wire.send(statement, {})
                transaction = PostgresTransaction(wire, self.statements)
                if kind == "admitting":
                    transaction.foresee()
                yield transaction
                wire.send(_COMMIT, {})
                wire.settle()
            except BaseException:
                self._roll_back(wire)
                raise
        except self._away as error:
            self.close()
            raise Unavailable(f"the store cannot be used: {first_line(error)}") from error

    def clear_traces(self, *, last: bool = False) -> bool:  # noqa: ARG002 - one shape for all stores
        """Leave dead rows to PostgreSQL's own vacuum: its log and pages are not ours to clear."""
        return True

    def close(self) -> None:
        """Close this thread's connection."""
        wire: Wire | None = getattr(self._mine, "wire", None)
        self._mine.wire = None
        if wire is not None and self._mine.process == os.getpid():
            wire.connection.close()

    def connection(self) -> "psycopg.Connection[dict[str, Any]]":
        """This thread's connection; what was sent on it is done."""
        wire = self._wire()
        wire.settle()
        return wire.connection

    def _wire(self) -> "Wire":
        wire: Wire | None = getattr(self._mine, "wire", None)
        if wire is None or wire.connection.closed or self._mine.process != os.getpid():
            where = self._psycopg.conninfo.make_conninfo(**{**_NETWORK, **self._parameters})
            # psycopg itself prepares nothing: at times it would forget what the wire has prepared.
            connection = self._psycopg.connect(
                where, autocommit=True, row_factory=self._rows, prepare_threshold=None
            )
            wire = self._mine.wire = self._new_wire(connection)
            self._mine.process = os.getpid()
            # What is acknowledged is on the disk, whatever the server's default is.
            connection.execute("SET synchronous_commit = on")
        return wire

    def _let_go_if_cut(self) -> None:
        """Between transactions a server says nothing, unless it ends: then the next one finds it back."""
        wire: Wire | None = getattr(self._mine, "wire", None)
        if wire is not None and not wire.connection.closed and self._mine.process == os.getpid():
            waiting = select.poll()
            waiting.register(wire.connection.fileno(), select.POLLIN)
            if waiting.poll(0):
                self.close()

    def _roll_back(self, wire: "Wire") -> None:
        """Undo what was begun; what was cut off between question and answer needs a new connection."""
        with suppress(self._psycopg.Error):  # the error that led here is the one to tell
            wire.settle()
        try:
            if not wire.connection.closed:
                wire.connection.execute("ROLLBACK")
        except self._psycopg.Error:
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

    def __init__(self, wire: "Wire", statements: Mapping[str, Prepared]) -> None:
        self._wire, self._statements = wire, statements
        self._foreseen: Answer | None = None  # the snapshot, asked for ahead of time

    @property
    def _connection(self) -> "psycopg.Connection[dict[str, Any]]":
        """For statements that have no name."""
        self._wire.settle()
        return self._wire.connection

    def one(self, name: str, /, **values: object) -> Row | None:
        """The first row of an answer, if there is one."""
        rows = self.all(name, **values)
        return rows[0] if rows else None

    def all(self, name: str, /, **values: object) -> list[Row]:
        """Every row of an answer."""
        return self.ask(name, **values)()

    def ask(self, name: str, /, **values: object) -> Answer:
        """The same, where the rows can wait."""
        asked = self._wire.send(self._statements[name], values)
        return lambda: list(self._wire.rows(asked))

    def run(self, name: str, /, **values: object) -> int:
        """How many rows a change has touched."""
        return self._wire.count(self._wire.send(self._statements[name], values))

    def foresee(self) -> None:
        """Ask for the snapshot along with the beginning: it will be wanted at once."""
        self._foreseen = self.ask("snapshot")

    def snapshot(self) -> Snapshot | None:
        """The current tick and settings; None before the store is founded."""
        answer, self._foreseen = self._foreseen or self.ask("snapshot"), None
        rows = answer()
        return Snapshot.of(rows[0]) if rows else None

    def remember(self, snapshot: Snapshot) -> None:
        """Nothing: others write here all the time, and nobody could say whether they have."""

    def tell(self, name: str, /, **values: object) -> None:
        """Change something, without waiting for the answer."""
        self._wire.send(self._statements[name], values)

    def lock(self, names: Iterable[bytes]) -> None:
        """Wait for other transactions that hold one of these names."""
        numbers = [int.from_bytes(name[:8], signed=True) for name in names]
        self._wire.send(self._statements["lock"], {"numbers": numbers})

    def many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """One change for each of many rows, without waiting for the answers.

        What is plainly inserted is copied; of the rest, what is written often has a statement for several
        rows: to send one costs as much as to insert one.
        """
        plain = None if len(rows) < _SEVERAL else self._statements[name].copy
        several = self._statements.get(f"{name}_rows")
        for lot in _lots(rows) if plain or several else [rows]:
            if plain:
                self._wire.copy(plain, lot)
            elif several and len(lot) >= _SEVERAL:
                self._wire.send(several, {"rows": json.dumps(lot, default=_as_text)})
            else:
                for row in lot:
                    self._wire.send(self._statements[name], row)


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
def statements(rooms: tuple[str, ...] = KEEPER) -> dict[str, Prepared]:
    """The statements in the server's own way.

    >>> statements()["by_id"].text.endswith(b"$1")
    True
    """
    return {name: statement_of(text) for name, text in queries("postgres", rooms).items()}


_QUERIES = statements()
# Whatever the server's defaults: a snapshot taken before a lock was granted would miss what it waited for.
_WRITE = statement_of("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
_BEGIN = {
    "reading": (statement_of("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"),),
    "working": (_WRITE, _QUERIES["lock_working"]),
    "admitting": (_WRITE, _QUERIES["lock_admission"]),
    "closing": (_WRITE, _QUERIES["lock_closing"]),
}
_COMMIT = statement_of("COMMIT")


def first_line(error: Exception) -> str:
    """What a database says of an error, without the lines that quote what was sent.

    >>> first_line(ValueError("no such table" + chr(10) + "LINE 1: SELECT")), first_line(ValueError())
    ('no such table', 'ValueError')
    """
    return (str(error).splitlines() or [type(error).__name__])[0]
