"""One connection to a server, which is bounded before anybody knows who is there.

Bodies have limits of their own, per token. The lines before and after them have not: without a bound here
anybody could fill the memory with a header that never ends, or by asking for much and reading nothing.
Uvicorn has no settings for these bounds; that is why its protocol class is extended here.
"""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tarry.gateway.limits import ClientNames, ConnectionSlots

__all__ = ["HEAD_S", "LEFT_S", "WRITE_S", "BoundedConnection"]

#: Within which the head of a request has come, from the first moment of its connection on.
HEAD_S = 30.0
#: Within which a client reads some of what waits for it; at the latest after twice that it is cut off.
WRITE_S = 15.0
#: For which what is left of a body is read after its request was answered.
LEFT_S = 10.0
_MOST = 64 << 10  # bytes that are no body: address, headers, what stands between chunks, trailers
_MOST_LEFT = 4 << 20  # bytes of a body after the answer: browsers show none before they have sent some
_MOST_WAITING = 8 << 10  # bytes of an answer, before whoever writes it has to wait
_FULL = b"Too many connections are open: try again in a minute."
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: 60\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_FULL), _FULL)
)


class BoundedConnection(HttpToolsProtocol):
    """One connection.

    >>> issubclass(BoundedConnection, asyncio.Protocol)
    True
    """

    slots = ConnectionSlots(1, ClientNames())  # of one process; each listener has its own
    _client: str | None = None  # whose slot it has
    _idle = 0  # bytes since a head was whole, or a part of a body came
    _left = 0  # bytes of a body that came after the answer
    _was_waiting = False  # whether something waited to be written at the last check
    _has_read = False  # whether the client has read some since then

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """A client has connected."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        peer = transport.get_extra_info("peername")
        self._client = self.slots.enter(peer[0] if peer else "")
        if self._client is None:
            self.transport = transport
            transport.write(_REFUSAL)
            transport.close()
            return
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_MOST_WAITING)
        self._start("head", HEAD_S, transport.close)
        self._start("reading", WRITE_S, self._check_reading)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        if self._client is not None:
            self.slots.leave(self._client)
        for name in tuple(self._timers):
            self._stop(name)
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
        self._start("head", HEAD_S, self.transport.close)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._idle = 0
        self._stop("head")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body has come. What comes after the answer is thrown away, and not for long."""
        self._idle = 0
        super().on_body(body)
        if self.cycle.response_complete:
            self._left += len(body)
            self._start("left", LEFT_S, self.transport.abort)
            if self._left > _MOST_LEFT:
                self.transport.abort()

    def on_message_complete(self) -> None:
        """The request is whole."""
        super().on_message_complete()
        self._left = 0
        self._stop("left")

    def resume_writing(self) -> None:
        """The client has read most of what waited."""
        self._has_read = True
        super().resume_writing()

    def _check_reading(self) -> None:
        """Cut a client off that has read nothing for a while; also one whose connection is closing."""
        is_waiting = self.transport.get_write_buffer_size() > 0
        if is_waiting and self._was_waiting and not self._has_read:
            self.transport.abort()
            return
        self._was_waiting, self._has_read = is_waiting, False
        self._stop("reading")
        self._start("reading", WRITE_S, self._check_reading)

    def _start(self, name: str, after_s: float, step: Callable[[], None]) -> None:
        """Start a timer, unless it runs already."""
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(after_s, step)

    def _stop(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()
