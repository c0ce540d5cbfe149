"""A line to a server that passes everything on, notes when what was asked, and can keep an answer back.

With it a test can stop the world at the worst moment: the server has done what it was asked, and who asked
does not know.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

__all__ = ["Asked", "HeldLine"]

_DEADLINE_S = 60.0
_CHUNK = 1 << 16


@dataclass
class Asked:
    """One connection: what was said, and when."""

    at: float  # seconds since 1970, when the last of it passed
    request: bytes = b""


class HeldLine:
    """Leads from a port of its own to another port of this machine."""

    def __init__(self, port: int) -> None:
        self._to, self._holding = port, b""
        self.held, self.let_go = threading.Event(), threading.Event()
        self.asked: list[Asked] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes who waits for a connection
        self._listener.close()
        self._thread.join(_DEADLINE_S)

    @contextmanager
    def holding(self, words: bytes) -> Iterator[threading.Event]:
        """From now on answers to requests with these words are kept back; the event tells of the first.

        At the end whoever asked is cut off without an answer.
        """
        self.held.clear()
        self.let_go.clear()
        self._holding = words
        try:
            yield self.held
        finally:
            self._holding = b""
            self.let_go.set()

    def with_words(self, words: bytes) -> list[Asked]:
        """The requests with these words in them."""
        return [each for each in self.asked if words in each.request]

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                threading.Thread(target=self._pass_on, args=(caller,), daemon=True).start()

    def _pass_on(self, caller: socket.socket) -> None:
        asked = Asked(time.time())
        with caller, contextlib.suppress(OSError):
            self.asked.append(asked)
            with socket.create_connection(("127.0.0.1", self._to), _DEADLINE_S) as server:
                threading.Thread(target=_carry, args=(caller, server, asked), daemon=True).start()
                self._answer(server, caller, asked)
            caller.shutdown(socket.SHUT_RDWR)  # a close alone waits for who listens to it

    def _answer(self, server: socket.socket, caller: socket.socket, asked: Asked) -> None:
        while chunk := server.recv(_CHUNK):
            if self._holding and self._holding in asked.request:
                self.held.set()
                self.let_go.wait(_DEADLINE_S)
                return
            caller.sendall(chunk)


def _carry(caller: socket.socket, server: socket.socket, asked: Asked) -> None:
    with contextlib.suppress(OSError):
        while chunk := caller.recv(_CHUNK):
            asked.request += chunk
            asked.at = time.time()
            server.sendall(chunk)
        server.shutdown(socket.SHUT_WR)
