"""One call of an HTTP server, bounded in time and size as a whole.

All waits together (for the name, the connection, the encryption, sending and the answer) end at one moment.
No redirect is followed, no proxy asked, nothing is kept between calls.
"""

import contextlib
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead, responses
from typing import Literal

from tarry.core.errors import TarryError
from tarry.net.address import Address
from tarry.net.line import Bounded, TooLong, connect

__all__ = ["Failure", "NoAnswer", "Response", "call", "one_line"]

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
    line: Bounded | None = None
    try:
        with contextlib.closing(connect(address, end, tls)) as sock:
            line = Bounded(sock, end, _most_at_all(most))
            return _exchange(address, line, _Request(method, dict(headers), body, most))
    except (OSError, HTTPException, TooLong) as error:
        trouble = _no_answer(error, who, timeout_s, most)
        trouble.sent = line is not None and line.sent
        raise trouble from error


def _most_at_all(most: int) -> int:
    """Bytes with the heads and the marks of the pieces, which are small beside them if anybody means well.

    `http.client` takes a piece of -1 bytes for one without end, and any number of heads before the last.
    """
    body = most or _MOST_READ
    return _MOST_HEAD + body + body // 4


def _no_answer(error: Exception, who: str, timeout_s: float, most: int) -> NoAnswer:
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
            return NoAnswer(f"{who} answered more than {most or _MOST_READ} bytes", kind="too long")
        case _:
            kind: Failure = "half an answer" if isinstance(error, IncompleteRead) else "not HTTP"
            return NoAnswer(f"{who} answered something that is not HTTP", kind=kind)


@dataclass(frozen=True)
class _Request:
    method: str
    headers: dict[str, str]
    body: bytes
    most: int


def _exchange(address: Address, line: Bounded, request: _Request) -> Response:
    connection = HTTPConnection(address.host, address.port)
    connection.default_port = 443 if address.tls else 80  # only another one is named in the Host header
    connection.sock = line
    with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
        # A server may refuse a long body before it has read it all: its answer is there to be read.
        connection.request(request.method, address.path, request.body or None, request.headers)
    with contextlib.closing(connection.getresponse()) as response:
        if not request.most:
            _read_away(response)
            return Response(status=response.status)
        body = response.read(request.most + 1)
        if len(body) > request.most:
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


def _read_away(response: HTTPResponse) -> None:
    """Let a server finish what it says. Its status has been heard: nothing here changes the outcome."""
    with contextlib.suppress(OSError, HTTPException, ValueError, TooLong):
        response.read(_MOST_READ)
