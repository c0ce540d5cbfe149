"""Servers that answer in JSON: asked politely, in bounded time and size, and told of in one sentence.

Whatever is asked, the server learns only the question: the same `User-Agent` from everybody, no cookies.
"""

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urljoin

from tarry.core.errors import BadInput, NotPossible
from tarry.net.address import Address, read_address
from tarry.net.http_call import Failure, NoAnswer, Response, call

__all__ = ["MOST", "BadStatus", "WebRequest", "ask", "get_json", "post_json"]

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
    404: "check the address",
    405: "check the address",
    429: "try again later",
    500: "try again later",
    502: "try again later",
    503: "try again later",
    504: "try again later",
}


class BadStatus(NotPossible):
    """A server answered with a status that is no answer.

    >>> BadStatus("the wiki answered 403 Forbidden", 403).status
    403
    """

    def __init__(self, sentence: str, status: int) -> None:
        self.status = status
        super().__init__(sentence)


@dataclass(frozen=True, kw_only=True)
class WebRequest:
    """What is asked for, and how long and how much may be answered. Its text shows no secret.

    >>> address = read_address("http://127.0.0.1:8332/")
    >>> WebRequest(who="the node", address=address, headers={"Authorization": "Basic eDp5"})
    WebRequest(method='GET', who='the node')
    """

    method: str = "GET"
    who: str  # what sentences call the server
    address: Address = field(repr=False)  # with the query, which may hold a key
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    timeout_s: float = field(default=60.0, repr=False)
    most: int = field(default=MOST, repr=False)  # bytes of an answer


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
    tarry.core.errors.NotPossible: the wiki cannot be reached (Connection refused): check the address
    """
    query = f"{'&' if '?' in url else '?'}{urlencode(params)}" if params else ""
    address = read_address(url + query)
    request = WebRequest(
        who=who or f"the server {address.server}",
        address=address,
        headers=_headers(headers),
        timeout_s=timeout_s,
        most=most,
    )
    return ask(request, wait, read=lambda response: _value(request, response, _OK), busy=busy)


def post_json(
    url: str,
    value: object,
    *,
    who: str = "",
    answers: Collection[int] = _OK,
    wait: Callable[[float], None] = time.sleep,
) -> Any:
    """The value that a server answers to a POST of another one.

    `answers` are the statuses whose body is an answer: some servers tell of errors in JSON with a status of
    their own.

    >>> post_json("http://127.0.0.1:9/", {"method": "getblockcount"}, who="the node")
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: the node cannot be reached (Connection refused): check the address
    """
    address = read_address(url)
    request = WebRequest(
        method="POST",
        who=who or f"the server {address.server}",
        address=address,
        headers=_headers({"Content-Type": "application/json"}),
        body=json.dumps(value).encode(),
    )
    return ask(request, wait, read=lambda response: _value(request, response, answers))


def _headers(more: Mapping[str, str] | None) -> dict[str, str]:
    headers = {**(more or {}), "Accept": "application/json", "User-Agent": "tarry"}
    # The standard library would refuse it in a sentence that shows it, and it may be a token.
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        raise BadInput("a header of a request must be printable ASCII", "check the login or token")
    return headers


def ask(
    request: WebRequest,
    wait: Callable[[float], None] = time.sleep,
    *,
    read: Callable[[Response], Any] = lambda response: response,
    busy: Callable[[Any], bool] = lambda _: False,
) -> Any:
    """What a server answers once it is not too busy, whatever the status; `read` makes a value of it.

    >>> ask(WebRequest(who="the node", address=read_address("http://127.0.0.1:9/")))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: the node cannot be reached (Connection refused): check the address
    """
    for tries_left in reversed(range(_TRIES)):
        response = _led_on(request)
        if response.status not in _BUSY:
            value = read(response)
            if not busy(value):
                return value
        pause_s = _pause_s(response)
        if pause_s > _LONGEST_WAIT_S:
            raise NotPossible(
                f"{request.who} asks to be left alone for {pause_s:.0f} seconds: try again then"
            )
        if tries_left:
            wait(pause_s)
    raise NotPossible(f"{request.who} stays too busy to answer, asked {_TRIES} times: try again later")


def _value(request: WebRequest, response: Response, answers: Collection[int]) -> Any:
    if response.status not in answers:
        advice = _ADVICE.get(response.status)
        raise BadStatus(
            f"{request.who} answered {response}" + (f": {advice}" if advice else ""), response.status
        )
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError):
        size = f"{len(response.body)} bytes that are no JSON" if response.body else "nothing"
        status = "" if response.status == HTTPStatus.OK else f" with status {response.status}"
        raise BadInput(f"{request.who} answered {size}{status}", "check the address") from None


def _pause_s(response: Response) -> float:
    """How long a server wants to be left alone: a number of seconds, or a moment by its own clock."""
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        end, now = (parsedate_to_datetime(when) for when in (text, response.headers.get("date", "")))
        return max((end - now).total_seconds(), 1.0)
    except (TypeError, ValueError):  # none, or not the two that are needed
        return _USUAL_WAIT_S


def _led_on(request: WebRequest) -> Response:
    """Ask; a GET is led on to another address of the same server."""
    for _ in range(_REDIRECTS + 1):
        response = _ask_once(request)
        if response.status not in _MOVED:
            return response
        to = _redirect(request, response.headers.get("location", ""))
        if to is None:
            raise BadInput(
                f"the address of {request.who} redirects elsewhere",
                "give the address that it leads to, if you trust it",
            )
        request = replace(request, address=to)
    raise NotPossible(f"{request.who} redirects in a circle: check the address")


def _redirect(request: WebRequest, location: str) -> Address | None:
    """Where a GET is led to, if that is of the server that says so, or of its encrypted door."""
    old = request.address
    try:
        to = read_address(urljoin(old.url, location.partition("#")[0]))
    except (BadInput, ValueError):
        return None
    here, there = ((each.tls, each.host.lower(), each.port) for each in (old, to))
    is_door = here == (False, there[1], 80) and there == (True, here[1], 443)
    return to if request.method == "GET" and (there == here or is_door) else None


def _ask_once(request: WebRequest) -> Response:
    """Ask, and give up when there is no whole answer in time.

    Certificates are checked against what the system trusts.
    """
    try:
        return call(
            request.address,
            request.headers,
            request.body,
            timeout_s=request.timeout_s,
            method=request.method,
            who=request.who,
            most=request.most,
        )
    except NoAnswer as error:
        says: dict[Failure, str] = {
            "timeout": f"did not answer within {request.timeout_s:g} seconds: try again later",
            "hung up": "hung up before its answer was whole: try again",
            "half an answer": "hung up before its answer was whole: try again",
            "unreachable": f"cannot be reached ({error.reason[:80]}): check the address",
            "certificate": f"has an untrusted certificate ({error.reason[:80]}): check the address",
            "too long": f"answered more than {request.most} bytes: ask for less at once",
            "not HTTP": "answered something that is not HTTP: check the address",
        }
        # What caused it may hold what the server said.
        raise NotPossible(f"{request.who} {says[error.kind]}") from None
