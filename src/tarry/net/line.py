"""A connection on which all waits together end at one moment.

A timeout of a socket bounds one wait, so a server that sends a byte now and then could hold a worker for
ever. No thread is left behind in a conversation; only a system's resolver, which nobody can hurry, is.
"""

import io
import socket
import ssl
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any

from tarry.net.address import Address

__all__ = ["Bounded", "TooLong", "connect"]


def connect(address: Address, end: float, tls: ssl.SSLContext | None = None) -> socket.socket:
    """A connection to the first place that answers, encrypted where the address says so.

    The end is a moment of the monotonic clock, and `TimeoutError` is raised when it has come.

    >>> connect(Address(tls=False, host="127.0.0.1", port=9, path="/"), time.monotonic() + 5)
    Traceback (most recent call last):
    ConnectionRefusedError: [Errno 111] Connection refused
    """
    places = _look_up(address, end)
    trouble: OSError = OSError("the name has no address")
    for tried, place in enumerate(places):
        try:
            # A place that is silent leaves the others their share of the time.
            sock = _open(place, _left(end) / (len(places) - tried))
        except OSError as error:
            trouble = error
        else:
            return _encrypt(sock, address.host, end, tls) if address.tls else sock
    raise trouble


def _open(place: Any, wait_s: float) -> socket.socket:
    family, kind, protocol, _, where = place
    sock = socket.socket(family, kind, protocol)
    try:
        sock.settimeout(wait_s)
        sock.connect(where)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # the body follows the head at once
    except BaseException:
        sock.close()
        raise
    return sock


def _encrypt(sock: socket.socket, host: str, end: float, tls: ssl.SSLContext | None) -> socket.socket:
    try:
        sock.settimeout(_left(end))  # the handshake as a whole is held to it
        return (tls or ssl.create_default_context()).wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise


def _look_up(address: Address, end: float) -> list[Any]:
    """The places of a name. Nobody can tell the system's resolver to hurry: a slow one is left behind."""
    answers = SimpleQueue[Any]()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
        except OSError as error:
            answers.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        places: list[Any] | OSError = answers.get(timeout=_left(end))
    except Empty:
        raise TimeoutError from None
    if isinstance(places, OSError):
        raise places
    return places


def _left(end: float) -> float:
    """Seconds until the end. Zero would not mean "no time" to a socket, so it is never returned."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class TooLong(Exception):
    """More was said than anybody asked for.

    >>> raise TooLong
    Traceback (most recent call last):
    tarry.net.line.TooLong
    """


class Bounded(io.RawIOBase):
    """What `http.client` needs of a socket, with one end for all waits. Whoever connected closes it.

    Beyond `most` bytes, whatever they are meant to be, nothing is read: `TooLong`.

    >>> here, there = socket.socketpair()
    >>> with here, there:
    ...     Bounded(there, time.monotonic() + 5).sendall(b"hello")
    ...     Bounded(here, time.monotonic() + 5).makefile("rb").read(5)
    b'hello'
    """

    def __init__(self, sock: socket.socket, end: float, most: int = 1 << 20) -> None:
        self._sock, self._end, self._most = sock, end, most
        self.sent = False  # whether the other side may have got anything

    def sendall(self, data: bytes) -> None:
        """Send all of it in time."""
        self.sent = True
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(_left(self._end))
            rest = rest[self._sock.send(rest) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What the other side says, to be read with the same end."""
        return io.BufferedReader(Bounded(self._sock, self._end, self._most))

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for some bytes."""
        self._sock.settimeout(_left(self._end))
        read = self._sock.recv_into(buffer)
        self._most -= read
        if self._most < 0:
            raise TooLong
        return read
