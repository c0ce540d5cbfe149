"""The wire: how much of a request is read, and for how long, before anybody knows who sends it.

Bodies have limits of their own, per token. The lines before and after them have not: without a bound here
anybody could fill the memory with a header that never ends.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["HEAD_S", "Wire"]

#: Within which the head of a request has come, from the first moment of its connection on.
HEAD_S = 30.0
_MOST = 64 << 10  # bytes that are no body: address, headers, what stands between chunks, trailers


class Wire(HttpToolsProtocol):
    """One connection.

    >>> issubclass(Wire, asyncio.Protocol)
    True
    """

    _idle = 0  # bytes since a head was whole, or a part of a body came
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Somebody is there."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone."""
        self._go_on()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless there is no end to it."""
        self._idle += len(data)
        super().data_received(data)
        if self._idle > _MOST and not self.transport.is_closing():
            self.send_400_response("This request is too long.")

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """It is whole."""
        self._go_on()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body has come."""
        self._idle = 0
        super().on_body(body)

    def _wait(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEAD_S, self.transport.close)

    def _go_on(self) -> None:
        self._idle = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None
