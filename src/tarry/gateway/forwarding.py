"""Requests that one process of a server answers for all of them: handed on whole, and answered through.

What operators do is rare, and some of it only the process that answered remembers: sessions that were
ended, audits under way. So the process that a connection happens to have reached hands such a request on.
Each has a pair of sockets of its own, one end of which is sent to the other process: nobody else can reach
it. What goes over it are the messages of ASGI, each in a frame: its length, and MessagePack.
"""

import asyncio
import contextlib
import socket
from collections.abc import Collection
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarry.gateway.problems import problem

__all__ = ["Forwarding", "answer_forwarded"]

_LENGTH = 4  # bytes
_AWAY = "this page cannot be shown at this moment: try again in a minute"
_SCOPE = (
    *("type", "http_version", "method", "scheme", "path", "raw_path", "query_string", "root_path"),
    *("headers", "client", "server"),
)


class Forwarding:
    """An app that hands requests below some paths on, through a socket to the process that answers them.

    >>> from tarry.gateway.app import create_app
    >>> from tarry.gateway.testing import small_gateway
    >>> app = create_app(small_gateway())
    >>> here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    >>> Forwarding(app, ["/desk"], here).state is app.state
    True
    >>> app.state.service.close(), here.close(), there.close()
    (None, None, None)
    """

    def __init__(self, app: Any, paths: Collection[str], other: socket.socket) -> None:
        self._app, self._paths, self._other = app, tuple(paths), other
        self.state = app.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] == "http" and self._is_theirs(scope["path"]):
            await self._hand_on(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_theirs(self, path: str) -> bool:
        return any(path == each or path.startswith(f"{each}/") for each in self._paths)

    async def _hand_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._other, [b"request"], [theirs.fileno()], socket.MSG_DONTWAIT)
        except OSError:  # it has ended, or has more to do than it can
            ours.close()
            await problem(503, _AWAY)(scope, receive, send)
            return
        reader, writer = await asyncio.open_connection(sock=ours)
        await _write(writer, {name: scope[name] for name in _SCOPE if name in scope})
        body = asyncio.create_task(_pass_on(receive, writer))
        try:
            while (message := await _read(reader)) is not None:
                await send(message)
        finally:
            body.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await body
            writer.close()


async def _pass_on(receive: Receive, writer: asyncio.StreamWriter) -> None:
    """The body, as it comes; at last that the client has gone."""
    message: Message = {"type": ""}
    while message["type"] != "http.disconnect":
        message = await receive()
        await _write(writer, message)


async def answer_forwarded(app: ASGIApp, near: socket.socket) -> None:
    """Answer a request that another process has handed on through this socket.

    >>> from tarry.gateway.app import create_app
    >>> from tarry.gateway.testing import small_gateway
    >>> async def ask(app):
    ...     here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ...     parts = []
    ...
    ...     async def receive():
    ...         return {"type": "http.disconnect"}
    ...
    ...     async def send(message):
    ...         parts.append(message)
    ...
    ...     scope = {
    ...         "type": "http",
    ...         "method": "GET",
    ...         "path": "/healthz",
    ...         "query_string": b"",
    ...         "headers": [],
    ...     }
    ...     asking = asyncio.create_task(Forwarding(app, ["/healthz"], here)(scope, receive, send))
    ...     await asyncio.sleep(0)
    ...     _, (handle,), _, _ = socket.recv_fds(there, 100, 1)
    ...     await answer_forwarded(app, socket.socket(fileno=handle))
    ...     await asking
    ...     here.close(), there.close()
    ...     return parts[0]["status"]
    >>> app = create_app(small_gateway())
    >>> asyncio.run(ask(app))
    200
    >>> app.state.service.close()
    """
    reader, writer = await asyncio.open_connection(sock=near)
    try:
        if (described := await _read(reader)) is None:
            return
        scope = {
            **described,
            "asgi": {"version": "3.0"},
            "headers": [tuple(pair) for pair in described["headers"]],
            "client": described.get("client") and tuple(described["client"]),
        }

        async def receive() -> Message:
            return await _read(reader) or {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            await _write(writer, message)

        await app(scope, receive, send)
    except OSError:  # the other process has gone, and with it whoever asked
        pass
    finally:
        writer.close()


async def _write(writer: asyncio.StreamWriter, message: Any) -> None:
    text = msgspec.msgpack.encode(message)
    writer.write(len(text).to_bytes(_LENGTH, "big") + text)
    await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Any:
    """The next message; None: there is none any more."""
    try:
        length = int.from_bytes(await reader.readexactly(_LENGTH), "big")
        return msgspec.msgpack.decode(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
