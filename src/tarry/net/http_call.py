"""One call of an HTTP server, bounded in time and size as a whole.

All waits together (for the name, the connection, the encryption, sending and the answer) end at one moment:
a timeout of a socket bounds one wait, so a server that sends a byte now and then could hold a worker for
ever. No redirect is followed, no proxy asked, nothing is kept between calls. No thread is left behind in a
conversation; only a system's resolver, which nobody can hurry, is.
"""

import contextlib
import io
import json
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead, responses
from typing import Any, Literal

from tarry.core.errors import TarryError
from tarry.net.address import Address

__all__ = ["Bounded", "Failure", "NoAnswer", "Response", "TooLong", "call", "connect", "one_line"]

_MOST_READ = 64 << 10
_MOST_HEAD = 256 << 10  # all that an answer says before its body
_MOST_TEXT = 200

#: Why there was no answer. Half an answer is one that broke off, or whose pieces do not fit together.
Failure = Literal[
    "timeout", "hung up", "unreachable", "certificate", "too long", "half an answer", "not HTTP"
]


@dataclass(frozen=True, kw_only=True)
class Response:
    """What a server answered. Its text is the number and what it means: no words of the server's.

    >>> str(Response(status=404))
    '404 Not Found'
    """

    status: int
    body: bytes = field(default=b"", repr=False)  # as far as it was wanted
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # by names in lower case
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def fields(self) -> dict[str, Any] | None:
        """The JSON object that it holds; None if it holds none.

        >>> Response(status=200, body=b'{"id": 7}').fields, Response(status=200, body=b"[7]").fields
        ({'id': 7}, None)
        """
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def __str__(self) -> str:
        # A server's own words for it may repeat what was sent: a name, a password, the content.
        return f"{self.status} {responses.get(self.status, '')}".strip()


class NoAnswer(TarryError):
    """A server gave no answer. Its text is a sentence; rooms with words of their own go by the kind.

    `sent` means that the request, or part of it, had gone out: the server may have done what it was asked.

    >>> error = NoAnswer("the wiki cannot be reached: Connection refused", reason="Connection refused")
    >>> error.kind, error.reason
    ('unreachable', 'Connection refused')
    """

    def __init__(
        self, sentence: str, *, kind: Failure = "unreachable", reason: str = "", sent: bool = False
    ) -> None:
        self.kind, self.reason = kind, reason  # what the system or the encryption says, if they do
        self.sent = sent
        super().__init__(sentence)


def one_line(text: str) -> str:
    """A text of somebody else's for a person to read: printable, one line, not long.

    >>> one_line("Not" + chr(27) + "[31m" + chr(10) + "Found")
    'Not [31m Found'
    """
    plain = "".join(letter if letter.isascii() and letter.isprintable() else " " for letter in text)
    return " ".join(plain.split())[:_MOST_TEXT]


class TooLong(Exception):
    """More was said than anybody asked for.

    >>> raise TooLong
    Traceback (most recent call last):
    tarry.net.http_call.TooLong
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


def call(
    address: Address,
    headers: Mapping[str, str],
    body: bytes,
    *,
    timeout_s: float,
    tls: ssl.SSLContext | None = None,
    method: str = "POST",
    who: str = "the server",
    most: int = 0,
) -> Response:
    """Ask once; `NoAnswer` when there was none in time. What is not HTTP is no answer.

    The server's certificate is checked: against what the system trusts, unless `tls` says otherwise. Up to
    `most` bytes of the answer's body are returned; one that is longer is no answer. Bytes are counted, not
    what is made of them: JSON, once it is objects, may take thirty times as much memory.

    >>> call(Address(tls=False, host="127.0.0.1", port=9, path="/"), {}, b"", timeout_s=5)
    Traceback (most recent call last):
    tarry.net.http_call.NoAnswer: the server cannot be reached: Connection refused
    """
    end = time.monotonic() + timeout_s
    # With the heads and the marks of the pieces, which are small beside the body if anybody means well:
    # `http.client` takes a piece of -1 bytes for one without end, and any number of heads before the last.
    size = most or _MOST_READ
    line: Bounded | None = None
    try:
        with contextlib.closing(connect(address, end, tls)) as sock:
            line = Bounded(sock, end, _MOST_HEAD + size + size // 4)
            connection = HTTPConnection(address.host, address.port)
            connection.default_port = 443 if address.tls else 80  # only another is named in the Host header
            connection.sock = line
            with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
                # A server may refuse a long body before it has read it all: its answer is there to be read.
                connection.request(method, address.path, body or None, dict(headers))
            with contextlib.closing(connection.getresponse()) as response:
                return _read(response, most)
    except (OSError, HTTPException, TooLong) as error:
        trouble = _no_answer(error, who, timeout_s, size)
        trouble.sent = line is not None and line.sent
        raise trouble from error


def _no_answer(error: Exception, who: str, timeout_s: float, size: int) -> NoAnswer:
    """What went wrong, sorted. What a server said is in no sentence."""
    match error:
        case TimeoutError():
            return NoAnswer(f"{who} did not answer within {timeout_s:g} seconds", kind="timeout")
        case ConnectionResetError():
            return NoAnswer(f"{who} hung up", kind="hung up")
        case OSError():
            reason = one_line(error.strerror or str(error))
            sentence = f"{who} cannot be reached: {reason}"
            if isinstance(error, ssl.SSLCertVerificationError):
                return NoAnswer(sentence, kind="certificate", reason=one_line(error.verify_message))
            return NoAnswer(sentence, kind="unreachable", reason=reason)
        case TooLong():
            return NoAnswer(f"{who} answered more than {size} bytes", kind="too long")
        case _:
            kind: Failure = "half an answer" if isinstance(error, IncompleteRead) else "not HTTP"
            return NoAnswer(f"{who} answered something that is not HTTP", kind=kind)


def _read(response: HTTPResponse, most: int) -> Response:
    if not most:
        # Let a server finish what it says. Its status has been heard: nothing here changes the outcome.
        with contextlib.suppress(OSError, HTTPException, ValueError, TooLong):
            response.read(_MOST_READ)
        return Response(status=response.status)
    body = response.read(most + 1)
    if len(body) > most:
        raise TooLong
    if response.length:  # the connection ended before the answer did
        raise ConnectionResetError
    return Response(
        status=response.status,
        body=body,
        headers={name.lower(): value for name, value in response.getheaders()},
        cookies=_cookies(response),
    )


def _cookies(response: HTTPResponse) -> dict[str, str]:
    """What the server wants to hear again; for how long and where is not asked: it is for this visit."""
    pairs = (each.partition(";")[0].partition("=") for each in response.msg.get_all("Set-Cookie", []))
    return {name.strip(): value.strip() for name, sign, value in pairs if sign}


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
    places = Future[list[Any]]()

    def look_up() -> None:
        try:
            places.set_result(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
        except OSError as error:
            places.set_exception(error)

    threading.Thread(target=look_up, daemon=True).start()
    return places.result(timeout=_left(end))


def _left(end: float) -> float:
    """Seconds until the end. Zero would not mean "no time" to a socket, so it is never returned."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
