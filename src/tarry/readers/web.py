"""Servers that answer in JSON: asked politely, in bounded time and size, and told of in one sentence.

Whatever is asked, the server learns only the question: the same `User-Agent` from everybody, no cookies.
"""

import json
import time
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

from tarry.core.errors import BadInput, NotPossible
from tarry.net.http_call import Answer
from tarry.readers.web_call import Question, ask_once, split_address

__all__ = ["MOST", "get_json", "post_json"]

MOST = 64 << 20  # bytes of one answer
_TRIES = 5
_LONGEST_WAIT_S = 120.0  # a server that wants more is left alone, and the person told
_USUAL_WAIT_S = 5.0
_REDIRECTS = 3
_OK = frozenset({HTTPStatus.OK})
_BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_MOVED = frozenset({301, 302, 303, 307, 308})
_ADVICE = {
    401: "check the login",
    403: "it does not let this reader in",
    404: "is the address right?",
    405: "is the address right?",
    429: "try again later",
    500: "try again later",
    502: "try again later",
    503: "try again later",
    504: "try again later",
}


def get_json(
    url: str,
    params: Mapping[str, str] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
    most: int = MOST,
    who: str = "",
    busy: Callable[[Any], bool] = lambda _: False,
    wait: Callable[[float], None] = time.sleep,
) -> Any:
    """The value that a server answers to a GET.

    A server that says that it is too busy is asked again after the time it wants, a few times. `busy` knows
    answers that say so in their own words; `who` is what sentences call the server.

    >>> get_json("http://127.0.0.1:9/api.php", {"action": "query"}, who="the wiki")
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: the wiki cannot be reached (Connection refused): is the address right?
    """
    parts = split_address(url)
    if params:
        url += ("&" if parts.query else "?") + urlencode(params)
    question = Question(
        who=who or f"the server {parts.netloc}",
        address=url,
        headers=_headers(headers),
        timeout_s=timeout_s,
        most=most,
    )
    return _Visit(question, busy=busy, wait=wait).value()


def post_json(
    url: str,
    value: object,
    *,
    headers: Mapping[str, str] | None = None,
    login: tuple[str, str] | None = None,
    timeout_s: float = 60.0,
    most: int = MOST,
    who: str = "",
    answers: Collection[int] = _OK,
    wait: Callable[[float], None] = time.sleep,
) -> Any:
    """The value that a server answers to a POST of another one.

    `login` is a user and a password, which no sentence shows. `answers` are the statuses whose body is an
    answer: some servers tell of errors in JSON with a status of their own.

    >>> post_json("http://127.0.0.1:9/", {"method": "getblockcount"}, login=("x", "y"), who="the node")
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: the node cannot be reached (Connection refused): is the address right?
    """
    sent = {**(headers or {}), "Content-Type": "application/json"}
    if login:
        sent["Authorization"] = "Basic " + b64encode(":".join(login).encode()).decode()
    question = Question(
        method="POST",
        who=who or f"the server {split_address(url).netloc}",
        address=url,
        headers=_headers(sent),
        body=json.dumps(value).encode(),
        timeout_s=timeout_s,
        most=most,
    )
    return _Visit(question, answers=answers, wait=wait).value()


def _headers(given: Mapping[str, str] | None) -> dict[str, str]:
    headers = {**(given or {}), "Accept": "application/json", "User-Agent": "tarry"}
    # The standard library would refuse it in a sentence that shows it, and it may be a token.
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        raise BadInput("a header of a request", "must be printable ASCII", found="another character")
    return headers


@dataclass(frozen=True)
class _Visit:
    """One question, asked until the server is not busy."""

    question: Question
    answers: Collection[int] = _OK
    busy: Callable[[Any], bool] = lambda _: False
    wait: Callable[[float], None] = time.sleep

    def value(self) -> Any:
        who = self.question.who
        for tries_left in reversed(range(_TRIES)):
            reply = _ask(self.question)
            if reply.status not in _BUSY:
                value = self._value(reply)
                if not self.busy(value):
                    return value
            pause_s = _pause_s(reply)
            if pause_s > _LONGEST_WAIT_S:
                raise NotPossible(f"{who} asks to be left alone for {pause_s:.0f} seconds: try again then")
            if tries_left:
                self.wait(pause_s)
        raise NotPossible(f"{who} stays too busy to answer, asked {_TRIES} times: try again later")

    def _value(self, reply: Answer) -> Any:
        who = self.question.who
        if reply.status not in self.answers:
            raise NotPossible(f"{who} answered {_status(reply.status)}")
        try:
            return json.loads(reply.body)
        except (ValueError, RecursionError):
            found = f"{len(reply.body)} bytes that are none" if reply.body else "nothing"
            status = "" if reply.status == HTTPStatus.OK else f" to status {reply.status}"
            raise BadInput(
                f"the answer of {who}{status}", "must be JSON", found=found, fix="is the address right?"
            ) from None


def _status(status: int) -> str:
    """A status in the standard's words, not the server's."""
    try:
        told = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        told = str(status)
    return f"{told}: {_ADVICE[status]}" if status in _ADVICE else told


def _pause_s(reply: Answer) -> float:
    """How long a server wants to be left alone: a number of seconds, or a moment by its own clock."""
    text = reply.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        end, now = (parsedate_to_datetime(when) for when in (text, reply.headers.get("date", "")))
        return max((end - now).total_seconds(), 1.0)
    except (TypeError, ValueError):  # none, or not the two that are needed
        return _USUAL_WAIT_S


def _ask(question: Question) -> Answer:
    """Ask; a GET is led on to another address of the same server."""
    for _ in range(_REDIRECTS + 1):
        reply = ask_once(question)
        if reply.status not in _MOVED:
            return reply
        old = split_address(question.address)
        to = urljoin(question.address, reply.headers.get("location", ""))
        if question.method != "GET" or not _same_server(old, to):
            raise BadInput(
                f"the address of {question.who}",
                "must lead to what answers",
                found="a redirect elsewhere",
                fix="give the address that it leads to, if you trust it",
            )
        question = replace(question, address=to)
    raise NotPossible(f"{question.who} redirects in a circle: is the address right?")


def _same_server(old: SplitResult, to: str) -> bool:
    """Whether an address is of the server that named it, or of its encrypted door."""
    try:
        here, there = _door(old), _door(urlsplit(to))
    except ValueError:
        return False
    return there == here or (here == ("http", old.hostname, 80) and there == ("https", old.hostname, 443))


def _door(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
