"""The wire: how much one connection may hold, and for how long, before anybody knows who is there.

Bodies have limits of their own, per token. The lines before and after them have not: without a bound here
anybody could fill the memory with a header that never ends, or by asking for much and reading nothing.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tarry.gateway.clients import Clients, Room

__all__ = ["HEAD_S", "LEFT_S", "WRITE_S", "Wire", "wire_for"]

#: Within which the head of a request has come, from the first moment of its connection on.
HEAD_S = 30.0
#: Within which a reader takes some of what waits for it; at the latest after twice that it is cut off.
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


class Wire(HttpToolsProtocol):
    """One connection.

    >>> issubclass(Wire, asyncio.Protocol)
    True
    """

    room = Room(1, Clients())  # of one process; `wire_for` gives another
    _place: str | None = None  # in the room
    _idle = 0  # bytes since a head was whole, or a part of a body came
    _left = 0  # bytes of a body that came after the answer
    _late: asyncio.TimerHandle | None = None
    _looks: asyncio.TimerHandle | None = None
    _hangs_up: asyncio.TimerHandle | None = None
    _waited = False  # whether something waited to be written at the last look
    _has_read = False  # whether the reader has taken some since then

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Somebody is there."""
        peer = transport.get_extra_info("peername")
        self._place = self.room.enter(peer[0] if peer else "")
        if self._place is None:
            self.transport = transport
            transport.write(_REFUSAL)
            transport.close()
            return
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_MOST_WAITING)
        self._wait()
        self._looks = self.loop.call_later(WRITE_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone."""
        if self._place is not None:
            self.room.leave(self._place)
        self._go_on()
        for timer in (self._looks, self._hangs_up):
            if timer is not None:
                timer.cancel()
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
        """A part of a body has come. What comes after the answer is thrown away, and not for long."""
        self._idle = 0
        super().on_body(body)
        if self.cycle.response_complete:
            self._left += len(body)
            if self._hangs_up is None:
                self._hangs_up = self.loop.call_later(LEFT_S, self.transport.abort)
            if self._left > _MOST_LEFT:
                self.transport.abort()

    def on_message_complete(self) -> None:
        """It was the last part."""
        super().on_message_complete()
        self._left = 0
        if self._hangs_up is not None:
            self._hangs_up.cancel()
            self._hangs_up = None

    def resume_writing(self) -> None:
        """The reader has taken most of what waited."""
        self._has_read = True
        super().resume_writing()

    def _look(self) -> None:
        """Cut a reader off who has taken nothing for a while; also one whom we have said goodbye to."""
        waits = self.transport.get_write_buffer_size() > 0
        if waits and self._waited and not self._has_read:
            self.transport.abort()
            return
        self._waited, self._has_read = waits, False
        self._looks = self.loop.call_later(WRITE_S, self._look)

    def _wait(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEAD_S, self.transport.close)

    def _go_on(self) -> None:
        self._idle = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None


def wire_for(room: Room) -> type[Wire]:
    """Connections that share this room.

    >>> wire_for(Room(7, Clients())).room is Wire.room
    False
    """
    return type("Wire", (Wire,), {"room": room})
