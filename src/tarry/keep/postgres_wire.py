"""The way to one PostgreSQL server: statements go there together, and their answers come back together.

psycopg makes a cursor for each statement and looks at the socket after each. A gateway that asks ten short
questions for a handful of posts spent more on that than on all it computes. Here statements are prepared
once, wait until an answer is wanted, and go in one piece; psycopg connects, reads rows and knows errors.
"""

import select
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from psycopg import OperationalError, errors
from psycopg.adapt import Transformer
from psycopg.pq import DiagnosticField, ExecStatus, Format

from tarry.keep.postgres_form import Copy, Prepared, copy_rows, parameter

if TYPE_CHECKING:
    from psycopg import Connection, Error
    from psycopg.pq.abc import PGresult

__all__ = ["Sent", "Wire"]

_GOOD = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)


class Sent:
    """A statement on its way, and its result once that is there.

    >>> Sent().result is None
    True
    """

    __slots__ = ("result",)

    def __init__(self) -> None:
        self.result: PGresult | None = None


class Wire:
    """A connection. What psycopg itself is to do on it comes after `settle`, and before the next `send`."""

    def __init__(self, connection: "Connection[dict[str, Any]]") -> None:
        self.connection, self._server = connection, connection.pgconn
        self._reader = Transformer(connection)
        self._names: dict[bytes, bytes] = {}  # of what is prepared
        self._numbers = count()
        self._sent: list[tuple[Sent, bytes]] = []  # what is not answered yet, and what it prepares
        self._socket = select.poll()

    def send(self, statement: Prepared, values: Mapping[str, object]) -> Sent:
        """Have a statement done, along with what comes next."""
        given = [parameter(values[name]) for name in statement.names]
        formats = [
            Format.BINARY if isinstance(values[name], bytes | bytearray | memoryview) else Format.TEXT
            for name in statement.names
        ]
        if not self._sent:
            self._server.enter_pipeline_mode()
        if (name := self._names.get(statement.text)) is None:
            name = self._names[statement.text] = b"t%d" % next(self._numbers)
            self._server.send_prepare(name, statement.text)
            self._sent.append((Sent(), statement.text))
        asked = Sent()
        self._server.send_query_prepared(name, given, formats, Format.BINARY)
        self._sent.append((asked, b""))
        return asked

    def rows(self, asked: Sent) -> list[dict[str, Any]]:
        """The rows that a statement has found."""
        result = self._result_of(asked)
        self._reader.set_pgresult(result)
        names = [(result.fname(number) or b"").decode() for number in range(result.nfields)]
        named = self._reader.load_rows(0, result.ntuples, partial(zip, names))
        return [dict(row) for row in named]

    def count(self, asked: Sent) -> int:
        """How many rows it has changed."""
        return self._result_of(asked).command_tuples or 0

    def settle(self) -> None:
        """Wait until all that was sent is done; raise the first error, after which nothing was done."""
        if not self._sent:
            return
        sent, self._sent = self._sent, []
        self._server.pipeline_sync()
        broken = None
        for asked, prepares in sent:
            asked.result = result = self._last_result()
            if result.status not in _GOOD:
                self._names.pop(prepares, None)
                broken = broken or result
        self._next_result()  # of the end itself
        self._server.exit_pipeline_mode()
        if broken is not None:
            raise self._error(broken)

    def copy(self, copy: Copy, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert many rows, once all that was sent is done."""
        data = b"".join(copy_rows(copy, rows))
        self.settle()
        begun = self._server.exec_(copy.text)
        if begun.status != ExecStatus.COPY_IN:
            raise self._error(begun)
        self._server.put_copy_data(data)
        self._server.put_copy_end()
        done = self._last_result()
        if done.status not in _GOOD:
            raise self._error(done)

    def _result_of(self, asked: Sent) -> "PGresult":
        if asked.result is None:
            self.settle()
        if asked.result is None:
            raise OperationalError("the connection was lost before an answer came")
        return asked.result

    def _last_result(self) -> "PGresult":
        """Of one statement; nothing comes after it."""
        if (result := self._next_result()) is None:
            raise OperationalError(self._server.get_error_message())
        while self._next_result() is not None:
            pass
        return result

    def _next_result(self) -> "PGresult | None":
        """What the server says next; other threads go on meanwhile."""
        while (is_full := self._server.flush()) or self._server.is_busy():
            self._socket.register(self._server.socket, select.POLLIN | (select.POLLOUT if is_full else 0))
            self._socket.poll()
            self._server.consume_input()
        return self._server.get_result()

    def _error(self, result: "PGresult") -> "Error":
        """What psycopg would raise."""
        if not result.error_field(DiagnosticField.SQLSTATE):
            return OperationalError(self._server.get_error_message())
        return errors.error_from_result(result)
