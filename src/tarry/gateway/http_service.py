"""The HTTP service of one process: what every handler of the gateway needs.

It knows who asks and what they send, and it runs whatever may block in a few threads of its own: the event
loop never touches the store. Bodies are read here, and not by Starlette, because here they are bounded in
bytes and in time.
"""

import asyncio
import contextlib
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tarry.core.errors import BadInput
from tarry.gateway.catalog import Scope, Space, Token, find_token, is_token
from tarry.gateway.counters import Counters, own_counters
from tarry.gateway.feed import Feed
from tarry.gateway.feed_formats import FeedStreams
from tarry.gateway.gateway import Gateway, Submission
from tarry.gateway.group_commit import GroupCommit
from tarry.gateway.limits import Backlog, ClientNames, Limits, RateLimiter, TooDeep, TooManyRequests
from tarry.gateway.problems import BadRequest, Forbidden, UnknownToken
from tarry.keep.errors import NoSuchPost
from tarry.keep.posts import Receipt

__all__ = [
    "MAX_NUMBER",
    "SILENCE_S",
    "HttpService",
    "check_host",
    "is_number",
    "json_response",
    "query_number",
    "read_body",
    "read_pieces",
]

#: The largest number that a store can hold.
MAX_NUMBER = (1 << 63) - 1
#: Between two pieces of a body.
SILENCE_S = 30.0
_READERS, _WRITERS = 4, 2  # threads
_LONG = 64 << 10  # bytes of JSON that are not decoded in the event loop
_MAX_KEY = 200
_KEY = re.compile(f"[!-~]{{1,{_MAX_KEY}}}")
#: An address of IPv4 or IPv6, or a name; and perhaps a port.
_HOST = re.compile(
    r"(?P<name>(?P<ip>[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-f:.]+\])|[a-z0-9_.-]+)(?::[0-9]+)?"
)
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


def json_response(record: msgspec.Struct, status: int = 200, *, size: int = 1) -> Response:
    """A response in JSON, padded with spaces to a multiple of a size: then its length tells nothing.

    >>> from tarry.gateway.bodies import HealthOut
    >>> json_response(HealthOut(status="ok"), size=20).body
    b'{"status":"ok"}     '
    """
    body = msgspec.json.encode(record)
    return Response(body + b" " * (-len(body) % size), status, media_type="application/json")


def query_number(request: Request, name: str, least: int, most: int) -> int | None:
    """A parameter of an address, if it is there.

    >>> query_number(Request({"type": "http", "query_string": b"limit=7"}), "limit", 1, 500)
    7
    """
    texts = request.query_params.getlist(name)
    if not texts:
        return None
    text = " and ".join(texts)  # of two nobody knows which one is meant
    if not is_number(text, least, most):
        raise BadInput(
            f"the parameter {name} must be a whole number from {least} to {most}, not {text[:40]!r}"
        )
    return int(text)


def is_number(text: str, least: int, most: int) -> bool:
    """Whether a text is a whole number in these bounds, in digits of ASCII and not too many of them.

    >>> is_number("7", 1, 500), is_number("501", 1, 500), is_number("+7", 1, 500)
    (True, False, False)
    """
    return text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most


def check_host(request: Request, hosts: Collection[str]) -> None:
    """Refuse a request to an unknown host name: IP addresses, localhost and these hosts are known.

    A site whose name is made to point at this machine has its visitors' browsers ask us, and reads the
    answers. The browser still says whom it believes to ask, and that can be no IP address.

    >>> check_host(Request({"type": "http", "headers": [(b"host", b"127.0.0.1:8420")]}), ())
    >>> check_host(Request({"type": "http", "headers": [(b"host", b"evil.example")]}), ["forum.example"])
    Traceback (most recent call last):
    tarry.gateway.problems.BadRequest: this gateway does not answer to the host name in this address: let \
its operator add it to the setting hosts
    """
    if "host" not in request.headers:  # no browser leaves it out
        return
    match = _HOST.fullmatch((_single_header(request, "host") or "").lower())
    name = match["name"].removesuffix(".") if match else ""
    is_ours = name in hosts or name == "localhost" or name.endswith(".localhost")
    if not match or not (match["ip"] or is_ours):
        raise BadRequest(
            421,
            "this gateway does not answer to the host name in this address: let its operator add it to the "
            "setting hosts",
        )


async def read_pieces(
    request: Request, most: int, within_s: float, *, too_large: str = "", too_slow: str = ""
) -> AsyncIterator[bytes]:
    """A body as it arrives: at most so many bytes, within so many seconds. Two messages can be replaced.

    >>> async def sent():
    ...     return {"type": "http.request", "body": b"[1, 2]"}
    >>> async def read(most):
    ...     request = Request({"type": "http", "headers": []}, sent)
    ...     return [piece async for piece in read_pieces(request, most, within_s=30)]
    >>> asyncio.run(read(6))
    [b'[1, 2]']
    >>> asyncio.run(read(5))
    Traceback (most recent call last):
    tarry.gateway.problems.BadRequest: a request must have at most 5 bytes
    """
    larger = too_large or f"a request must have at most {most} bytes"
    if is_number(request.headers.get("content-length", ""), most + 1, 10**19):
        raise BadRequest(413, larger)
    size, stream, end = 0, request.stream(), asyncio.get_running_loop().time() + within_s
    while True:
        try:
            async with asyncio.timeout_at(min(end, asyncio.get_running_loop().time() + SILENCE_S)):
                piece = await anext(stream, None)
        except TimeoutError:
            raise BadRequest(408, too_slow or f"a request must arrive within {within_s:g} s") from None
        if piece is None:
            return
        size += len(piece)
        if size > most:
            raise BadRequest(413, larger)
        if piece:
            yield piece


async def read_body(request: Request, most: int, within_s: float, *, too_large: str = "") -> bytes:
    """A whole body.

    >>> async def sent():
    ...     return {"type": "http.request", "body": b"[1, 2]"}
    >>> asyncio.run(read_body(Request({"type": "http", "headers": []}, sent), most=100, within_s=30))
    b'[1, 2]'
    """
    return b"".join([piece async for piece in read_pieces(request, most, within_s, too_large=too_large)])


class HttpService:
    """The gateway, limits, threads and streams that the handlers of one process share.

    What is counted for the limits is in `counters`, which the processes of one server share.

    >>> from tarry.gateway.testing import small_gateway
    >>> service = HttpService(small_gateway(), Limits())
    >>> service.close()
    """

    def __init__(self, gateway: Gateway, limits: Limits, counters: Counters | None = None) -> None:
        self.gateway, self.limits = gateway, limits
        self.counters = counters = counters or own_counters()
        self.backlog = Backlog(limits.unfinished_posts, counters.unfinished)
        self.group_commit = GroupCommit(gateway)
        self.rates = RateLimiter(limits, levels=counters.rates)  # by token
        # Whoever writes may have to wait for others who write; whoever reads must not wait for them.
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="reader")
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="writer")
        self.streams = FeedStreams(
            gateway.store, self.call, limits.open_streams, limits.client_streams, counters.streams
        )
        self.clients = ClientNames(limits.trusted_proxies, key=counters.client_key)
        self.guest_rates = RateLimiter(  # of posts on boards, by client
            Limits(rate_per_s=limits.client_posts_per_min / 60, burst=limits.client_burst),
            reason="too many posts came from your network address",
            levels=counters.guests,
        )
        # How often one client may have the database looked at for a token that this process does not know.
        self._unknown_tokens = RateLimiter(Limits(rate_per_s=0.2, burst=10), levels=counters.unknown)
        self._shared: dict[tuple[str, str], tuple[tuple[int, int], asyncio.Task[bytes]]] = {}
        self._reading: asyncio.Task[object] | None = None  # the catalog, at this moment
        self._next_reading: asyncio.Task[object] | None = None  # as soon as that is done
        self.closers: list[Callable[[], None]] = []  # of what pages keep beside the API
        self._is_closed = False

    def close(self) -> None:
        """Finish what has been begun; once is enough."""
        if self._is_closed:
            return
        self._is_closed = True
        self.streams.close()
        self.group_commit.close()
        for close in self.closers:
            close()
        for threads, count in ((self._readers, _READERS), (self._writers, _WRITERS)):
            everybody = Barrier(count)  # each thread has a connection of its own to close
            for _ in range(count):
                threads.submit(self._disconnect, everybody)
            threads.shutdown()

    def _disconnect(self, everybody: Barrier) -> None:
        everybody.wait()
        self.gateway.store.close()

    async def call(self, step: Callable[[], T]) -> T:
        """Run something that may block but changes nothing, beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, step)

    async def change(self, step: Callable[[], T]) -> T:
        """Change something in the store, beside the event loop and beside those who read."""
        return await asyncio.get_running_loop().run_in_executor(self._writers, step)

    async def admit(self, submission: Submission) -> list[Receipt]:
        """Accept a submission, unless too much is unfinished; when this returns, its posts are stored."""
        with self.backlog.of(len(submission.posts)):
            return await self.group_commit.admit(submission)

    async def shared(self, feed: Feed, kind: str, write: Callable[[], bytes]) -> bytes:
        """What is the same for everybody until something is released or the spaces change: written once.

        However many read it, and do not read it to the end, it is once in memory.
        """
        version = (await self.call(feed.last_position), self.gateway.catalog.generation)
        known, written = self._shared.get((feed.space, kind), (None, None))
        if written is None or known != version:
            written = asyncio.create_task(self.call(write))
            self._shared[feed.space, kind] = version, written
        try:
            return await asyncio.shield(written)
        except Exception:
            self._shared.pop((feed.space, kind), None)
            raise

    def space(self, request: Request) -> Space:
        """The space that an address names."""
        return self.gateway.catalog.space(request.path_params["space"])

    async def learn_token(self, request: Request, secret: str) -> None:
        """Read the catalog again where a token may have been made after the last reading.

        Whoever sends random tokens makes work in this way, so that each client can do it now and then only,
        and all who wait for the catalog wait for one reading.
        """
        if is_token(secret) and find_token(self.gateway.catalog, secret) is None:
            with contextlib.suppress(TooManyRequests):
                self._unknown_tokens.take(self.clients.name(request.scope))
                if self._next_reading is None:
                    self._next_reading = asyncio.create_task(self._read_catalog(self._reading))
                await asyncio.shield(self._next_reading)

    async def _read_catalog(self, before: "asyncio.Task[object] | None") -> None:
        if before is not None:
            await asyncio.wait([before])
        self._reading, self._next_reading = self._next_reading, None
        try:
            await self.call(self.gateway.refresh)
        finally:
            self._reading = None

    def secret(self, request: Request) -> str:
        """The token that a request brings; empty, if it brings none."""
        kind, _, secret = (_single_header(request, "authorization") or "").partition(" ")
        return secret.strip() if kind.lower() == "bearer" else ""

    def token(self, request: Request, scope: Scope) -> Token:
        """The token of a request, if it allows this scope."""
        token = find_token(self.gateway.catalog, self.secret(request))
        if token is None:
            raise UnknownToken
        self.rates.take(token.id)
        if not token.allows(scope, request.path_params.get("space")):
            raise Forbidden(scope)
        return token

    def receipt(self, request: Request) -> str:
        """The receipt that a request brings."""
        if not (secret := _single_header(request, "tarry-receipt")):
            raise NoSuchPost
        return secret

    def key(self, request: Request) -> str | None:
        """The idempotency key of a request, if it has one."""
        keys = request.headers.getlist("idempotency-key")
        if not keys:
            return None
        key = " and ".join(keys)  # of two nobody knows which one is meant
        if not _KEY.fullmatch(key):
            raise BadInput(
                f"Idempotency-Key must be one header of 1 to {_MAX_KEY} printable ASCII characters without "
                f"spaces, not {key[:40]!r}"
            )
        return key

    async def read(self, request: Request, kind: type[S]) -> S:
        """The JSON that a request sends, as a record."""
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != "application/json":
            raise BadRequest(
                415, "the request must be JSON and say so: send Content-Type: application/json"
            )
        body = await read_body(request, self.limits.body_bytes, self.limits.body_s)
        if len(body) > _LONG:  # hundreds of thousands of brackets take a while
            return await self.call(partial(self._decode, body, kind))
        return self._decode(body, kind)

    def _decode(self, text: bytes, kind: type[S]) -> S:
        try:
            record = msgspec.json.decode(text, type=kind)
            _TWICE.decode(text.decode())
        except msgspec.ValidationError as error:
            raise BadRequest(422, f"the request must have the right fields: {error}") from None
        except RecursionError:
            raise TooDeep(self.limits.nesting) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            reason = "it holds half of a surrogate pair" if _has_half_pair(text) else error
            raise BadRequest(400, f"the request must be JSON: {reason}") from None
        return record


def _single_header(request: Request, name: str) -> str | None:
    """A header that makes sense only once: of two, nobody knows which one a proxy has looked at."""
    values = request.headers.getlist(name)
    return values[0] if len(values) == 1 else None


def _check_once(pairs: list[tuple[str, object]]) -> None:
    """Refuse a name that occurs twice: another reader of the same JSON could take the other actor."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise BadRequest(
            400, f"a name must stand once in an object of the request, not twice: {twice[0][:40]!r}"
        )


_TWICE = json.JSONDecoder(object_pairs_hook=_check_once, parse_int=str, parse_float=str)


def _has_half_pair(text: bytes) -> bool:
    """Whether half of a surrogate pair is what is wrong: Python reads it, and cannot write it."""
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        return isinstance(error, UnicodeEncodeError)
    return False
