"""One call of an HTTP server, bounded in time as a whole.

A timeout of a socket bounds one wait, so a server that sends a byte now and then could hold a worker for
ever. Here all waits together (for the name, the connection, the encryption, sending and the answer) end at
one moment. No redirect is followed, no proxy asked, nothing is kept between calls.
"""

import contextlib
import io
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

from tarry.core.errors import BadInput
from tarry.keep.errors import Unreachable

__all__ = ["Address", "Answer", "call", "one_line", "read_address"]

_MOST_READ = 64 << 10
_MOST_TEXT = 200
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*\.?")


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a server listens, and what is asked for there.

    >>> read_address("https://hooks.example.org/new?key=7")
    Address(tls=True, host='hooks.example.org', port=443, path='/new?key=7')
    """

    tls: bool  # https
    host: str  # a name, or an IP address without brackets
    port: int
    path: str  # with the query


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a server said, as far as anybody is told of it.

    >>> str(Answer(status=404, reason="Not Found"))
    '404 Not Found'
    """

    status: int
    reason: str  # one line without control characters
    body: bytes = field(default=b"", repr=False)  # as far as it was asked for
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # by names in lower case
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return f"{self.status} {self.reason}".strip()


def read_address(url: str, what: str = "the address of a webhook") -> Address:
    """Check a URL that an operator gives.

    >>> read_address("ftp://example.org")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of a webhook begins with http:// or https://, found another
    """
    # Before it is taken apart: urlsplit removes line ends and tabs without a word.
    if not (url.isascii() and url.isprintable()) or " " in url:
        fix = "write other characters as percent codes"
        raise BadInput(what, "is printable ASCII without spaces", found="another character", fix=fix)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # its text may hold a password
        raise BadInput(what, "is a URL with a host and a port that can be", found="another") from None
    if parts.scheme not in {"http", "https"}:
        raise BadInput(what, "begins with http:// or https://", found="another")
    if "@" in parts.netloc:
        raise BadInput(what, "holds no user or password", found="one", fix="leave them out")
    if "#" in url:
        raise BadInput(what, "has no fragment", found="a #", fix="leave it out")
    if not _is_host(parts.netloc, host) or port == 0:
        raise BadInput(what, "has a host and a port that can be", found=repr(parts.netloc))
    query = f"?{parts.query}" if parts.query else ""
    tls = parts.scheme == "https"
    return Address(tls=tls, host=host, port=port or (443 if tls else 80), path=(parts.path or "/") + query)


def _is_host(written: str, host: str) -> bool:
    """Whether this host is one, and all that is written but for the port."""
    shown = f"[{host}]" if ":" in host else host
    if not re.fullmatch(rf"{re.escape(shown)}(:[0-9]*)?", written, re.IGNORECASE):
        return False
    if ":" not in host:
        return _HOST.fullmatch(host) is not None
    try:
        return ipaddress.IPv6Address(host).scope_id is None  # a scope would name this machine's parts
    except ValueError:
        return False


def one_line(text: str) -> str:
    """A text of somebody else's for a person to read: printable, one line, not long.

    >>> one_line("Not" + chr(27) + "[31m" + chr(10) + "Found")
    'Not [31m Found'
    """
    plain = "".join(letter if letter.isascii() and letter.isprintable() else " " for letter in text)
    return " ".join(plain.split())[:_MOST_TEXT]


def call(
    address: Address,
    headers: Mapping[str, str],
    body: bytes,
    *,
    timeout_s: float,
    tls: ssl.SSLContext | None = None,
    method: str = "POST",
    who: str = "the webhook",
    most: int = 0,
) -> Answer:
    """Ask once; `Unreachable` when there was no answer in time. What is not HTTP is no answer.

    The server's certificate is checked: against what the system trusts, unless `tls` says otherwise. Up to
    `most` bytes of what it says are returned; an answer that is longer is no answer.

    >>> call(read_address("http://127.0.0.1:9"), {}, b"", timeout_s=5)
    Traceback (most recent call last):
    tarry.keep.errors.Unreachable: the webhook cannot be reached: Connection refused
    """
    end = time.monotonic() + timeout_s
    try:
        with contextlib.closing(_connect(address, end, tls)) as sock:
            return _exchange(address, _Bounded(sock, end), _Asked(method, dict(headers), body, most))
    except TimeoutError as error:
        raise Unreachable(f"{who} did not answer within {timeout_s:g} seconds") from error
    except ConnectionResetError as error:
        raise Unreachable(f"{who} hung up") from error
    except OSError as error:
        told = one_line(error.strerror or str(error))
        raise Unreachable(f"{who} cannot be reached: {told}") from error
    except _TooLong as error:
        raise Unreachable(f"{who} answered more than {most} bytes") from error
    except HTTPException as error:  # its text holds what the server said
        raise Unreachable(f"{who} answered something that is not HTTP") from error


class _TooLong(Exception):
    """More was said than anybody asked for."""


@dataclass(frozen=True)
class _Asked:
    method: str
    headers: dict[str, str]
    body: bytes
    most: int


def _exchange(address: Address, line: "_Bounded", asked: _Asked) -> Answer:
    connection = HTTPConnection(address.host, address.port)
    connection.default_port = 443 if address.tls else 80  # only another one is named in the Host header
    connection.sock = line
    with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
        # A server may refuse a long body before it has read it all: its answer is there to be read.
        connection.request(asked.method, address.path, asked.body or None, asked.headers)
    with contextlib.closing(connection.getresponse()) as response:
        status, reason = response.status, one_line(response.reason)
        if not asked.most:
            _read_away(response)
            return Answer(status=status, reason=reason)
        body = response.read(asked.most + 1)
        if len(body) > asked.most:
            raise _TooLong
        if response.length:  # the connection ended before the answer did
            raise ConnectionResetError
        return Answer(
            status=status,
            reason=reason,
            body=body,
            headers={name.lower(): value for name, value in response.getheaders()},
            cookies=_cookies(response),
        )


def _cookies(response: HTTPResponse) -> dict[str, str]:
    """What the server wants to hear again; for how long and where is not asked: it is for this visit."""
    pairs = (each.partition(";")[0].partition("=") for each in response.msg.get_all("Set-Cookie", []))
    return {name.strip(): value.strip() for name, sign, value in pairs if sign}


def _read_away(response: HTTPResponse) -> None:
    """Let a server finish what it says. Its status has been heard: nothing here changes the outcome."""
    with contextlib.suppress(OSError, HTTPException, ValueError):
        response.read(_MOST_READ)


def _connect(address: Address, end: float, tls: ssl.SSLContext | None) -> socket.socket:
    """A connection to the first place that answers, encrypted where the address says so."""
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
    found = SimpleQueue[Any]()

    def ask() -> None:
        try:
            found.put(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
        except OSError as error:
            found.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        places: list[Any] | OSError = found.get(timeout=_left(end))
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


class _Bounded(io.RawIOBase):
    """What `http.client` needs of a socket, with one end for all waits. Whoever connected closes it."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock, self._end = sock, end

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(_left(self._end))
            rest = rest[self._sock.send(rest) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Bounded(self._sock, self._end))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(_left(self._end))
        return self._sock.recv_into(buffer)
