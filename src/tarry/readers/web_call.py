"""One question to a server over HTTP, bounded in time and size as a whole.

A timeout of a socket bounds one wait, so a server that sends a byte now and then could hold a reader for
ever. Here a thread asks, and is left behind when all its waits together have taken too long. No proxy is
asked, no redirect followed, nothing kept between questions.
"""

import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from queue import Empty, SimpleQueue
from urllib.parse import SplitResult, urlsplit

from tarry.core.errors import BadInput, NotPossible
from tarry.readers.faults import clip

__all__ = ["Question", "Reply", "ask_once", "split_address"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked for, and how long and how much may be answered. Its text shows no secret.

    >>> Question(who="the node", address="http://127.0.0.1:8332/", headers={"Authorization": "Basic eDp5"})
    Question(method='GET', who='the node')
    """

    method: str = "GET"
    who: str  # what sentences call the server
    address: str = field(repr=False)  # with the query, which may hold a key
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    timeout_s: float = field(default=60.0, repr=False)
    most: int = field(default=64 << 20, repr=False)  # bytes of an answer


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a server answered.

    >>> Reply(status=200, headers={"retry-after": "5"}, body=b"{}").status
    200
    """

    status: int
    headers: Mapping[str, str]  # by names in lower case
    body: bytes = field(repr=False)


def split_address(address: str, what: str = "the address") -> SplitResult:
    """Check the address of a server that a person gives; no sentence shows more of it than its host.

    >>> split_address("https://wiki.example.org/w/api.php").path
    '/w/api.php'
    >>> split_address("ftp://wiki.example.org")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address must begin with http:// or https://, found another beginning
    """
    # Before it is taken apart: urlsplit removes line ends and tabs without a word.
    if not (address.isascii() and address.isprintable()) or " " in address:
        fix = "write other characters as percent codes"
        raise BadInput(what, "must be printable ASCII without spaces", found="another character", fix=fix)
    try:
        parts = urlsplit(address)
        sound = bool((parts.hostname or "").encode("idna")) and parts.port != 0
    except ValueError:  # its text may hold a password
        raise BadInput(what, "must be a URL with a host and a port that can be", found="another") from None
    if parts.scheme not in {"http", "https"}:
        raise BadInput(what, "must begin with http:// or https://", found="another beginning")
    if "@" in parts.netloc:
        raise BadInput(what, "must hold no user or password", found="one", fix="leave them out")
    if not sound:
        raise BadInput(what, "must have a host and a port that can be", found=repr(clip(parts.netloc)))
    return parts


def ask_once(question: Question) -> Reply:
    """Ask, and give up when there is no whole answer in time.

    Certificates are checked against what the system trusts.

    >>> ask_once(Question(who="the node", address="http://127.0.0.1:9/"))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: the node cannot be reached (Connection refused): is the address right?
    """
    parts, who = split_address(question.address), question.who
    try:
        return _in_time(question, parts)
    except TimeoutError:
        raise NotPossible(
            f"{who} did not answer within {question.timeout_s:g} seconds: try later"
        ) from None
    except ssl.SSLCertVerificationError as error:
        told = clip(error.verify_message, 80)
        raise NotPossible(f"{who} has a certificate that this machine does not trust ({told})") from None
    except (ConnectionResetError, BrokenPipeError, IncompleteRead):
        raise NotPossible(f"{who} hung up before its answer was whole: try again") from None
    except OSError as error:
        told = clip(error.strerror or error, 80)
        raise NotPossible(f"{who} cannot be reached ({told}): is the address right?") from None
    except _TooLong:
        raise NotPossible(f"{who} answered more than {question.most} bytes: ask for less at once") from None
    except HTTPException:  # its text holds what the server said
        raise NotPossible(f"{who} answered something that is not HTTP: is the address right?") from None


class _TooLong(Exception):
    """More was said than anybody asked for."""


class _Line:
    """The connection of one question: opened by the thread that asks, cut by the one that waits."""

    def __init__(self, parts: SplitResult, timeout_s: float) -> None:
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self.http = kind(parts.hostname or "", parts.port, timeout=timeout_s)
        self._sock: socket.socket | None = None

    def open(self) -> None:
        self.http.connect()
        self._sock = self.http.sock  # which it forgets when the server says that it will close

    def cut(self) -> None:
        if self._sock is not None:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)  # whoever waits on it hears of its end


def _in_time(question: Question, parts: SplitResult) -> Reply:
    line = _Line(parts, question.timeout_s)
    found = SimpleQueue[Reply | BaseException]()

    def ask() -> None:
        try:
            found.put(_exchange(line, question, parts))
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
            found.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        reply = found.get(timeout=question.timeout_s)
    except Empty:
        raise TimeoutError from None
    finally:
        line.cut()
    if isinstance(reply, BaseException):
        raise reply
    return reply


def _exchange(line: _Line, question: Question, parts: SplitResult) -> Reply:
    with closing(line.http):
        line.open()
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            # A server may refuse a long body before it has read it all: its answer is there to be read.
            line.http.request(question.method, path, question.body, dict(question.headers))
        with closing(line.http.getresponse()) as response:
            body = response.read(question.most + 1)
            if len(body) > question.most:
                raise _TooLong
            if response.length:  # the connection ended before the answer did
                raise ConnectionResetError
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Reply(status=response.status, headers=headers, body=body)
