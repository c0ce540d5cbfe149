"""The door: what every address of the gateway needs. Who asks, what they send, and where to answer from.

The event loop never touches the store: whatever may block runs in a few threads of the door's own.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from tarry.core.errors import BadInput
from tarry.gateway.admissions import Admissions
from tarry.gateway.book import Scope, Space, Token
from tarry.gateway.clients import Clients
from tarry.gateway.feed import Feed
from tarry.gateway.gateway import Gateway
from tarry.gateway.incoming import body
from tarry.gateway.limits import Buckets, Limits, TooDeep, TooMany
from tarry.gateway.problems import BadRequest, Forbidden, Unauthorised
from tarry.gateway.streams import Streams
from tarry.gateway.tokens import find_token, is_token
from tarry.keep.errors import NoSuchPost

__all__ = ["MOST_NUMBER", "Door", "answer", "check_host", "number"]

#: The largest number that a store can hold.
MOST_NUMBER = (1 << 63) - 1
_READERS, _WRITERS = 4, 2  # threads
_LONG = 64 << 10  # bytes of JSON that are not read in the event loop
_KEY_MOST = 200
#: How often one client may have the database looked at for a token that this process does not know.
_UNKNOWN = Limits(rate_per_s=0.2, burst=10)
_KEY = re.compile(f"[!-~]{{1,{_KEY_MOST}}}")
#: An address of IPv4 or IPv6, or a name; and perhaps a port.
_HOST = re.compile(
    r"(?P<name>(?P<ip>[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-f:.]+\])|[a-z0-9_.-]+)(?::[0-9]+)?"
)
_NOT_OURS = (
    "this gateway does not know the name in this address: its operator can add it to the setting hosts"
)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
T = TypeVar("T")
S = TypeVar("S", bound=Struct)


def answer(sent: Struct, status: int = 200, *, size: int = 1) -> Response:
    """An answer in JSON, with spaces after it up to a multiple of a size: its length tells nothing then.

    >>> from tarry.gateway.bodies import HealthOut
    >>> answer(HealthOut(status="ok"), size=20).body
    b'{"status":"ok"}     '
    """
    told = msgspec.json.encode(sent)
    return Response(told + b" " * (-len(told) % size), status, media_type="application/json")


def number(request: Request, name: str, least: int, most: int) -> int | None:
    """A parameter of an address, if it is there.

    >>> number(Request({"type": "http", "query_string": b"limit=7"}), "limit", 1, 500)
    7
    """
    texts = request.query_params.getlist(name)
    if not texts:
        return None
    text = " and ".join(texts)  # of two nobody knows which one is meant
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
        raise BadInput(
            f"the parameter {name}", f"is a whole number from {least} to {most}", found=repr(text[:40])
        )
    return int(text)


def check_host(request: Request, hosts: Collection[str]) -> None:
    """Refuse a request for a name that is not ours: an IP address, localhost and these hosts are.

    A site whose name is made to point at this machine has its visitors' browsers ask us, and reads the
    answers. The browser still says whom it believes to ask, and that can be no IP address.

    >>> check_host(Request({"type": "http", "headers": [(b"host", b"127.0.0.1:8420")]}), ())
    >>> check_host(Request({"type": "http", "headers": [(b"host", b"evil.example")]}), ["forum.example"])
    Traceback (most recent call last):
    tarry.gateway.problems.BadRequest: this gateway does not know the name in this address: its operator \
can add it to the setting hosts
    """
    if "host" not in request.headers:  # no browser leaves it out
        return
    name = _HOST.fullmatch((_one(request, "host") or "").lower())
    if name is not None:
        own = name["name"].removesuffix(".")
        if name["ip"] or own == "localhost" or own.endswith(".localhost") or own in hosts:
            return
    raise BadRequest(421, _NOT_OURS)


class Door:
    """One process's door to a gateway.

    >>> from tarry.gateway.testing import small_gateway
    >>> door = Door(small_gateway(), Limits())
    >>> door.close()
    """

    def __init__(self, gateway: Gateway, limits: Limits) -> None:
        self.gateway, self.limits = gateway, limits
        self.admissions = Admissions(gateway)
        self.buckets = Buckets(limits)
        # Whoever writes may have to wait for others who write; whoever reads must not wait for them.
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="reader")
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="writer")
        self.streams = Streams(gateway.store, self.call, limits.open_streams, limits.client_streams)
        self.clients = Clients(limits.trusted_proxies)
        self.guests = Buckets(
            Limits(rate_per_s=limits.client_posts_per_min / 60, burst=limits.client_burst),
            why="too many posts came from your network address",
        )
        self._unknown = Buckets(_UNKNOWN)
        self._shared: dict[tuple[str, str], tuple[tuple[int, int], asyncio.Task[bytes]]] = {}
        self._reading: asyncio.Task[object] | None = None  # the book, by now
        self._next_reading: asyncio.Task[object] | None = None  # as soon as that is done
        self._decoders: dict[type[Struct], msgspec.json.Decoder[Struct]] = {}
        self._is_closed = False

    def close(self) -> None:
        """Finish what has been begun; once is enough."""
        if self._is_closed:
            return
        self._is_closed = True
        self.streams.close()
        self.admissions.close()
        for threads, count in ((self._readers, _READERS), (self._writers, _WRITERS)):
            everybody = Barrier(count)  # each thread has a connection of its own to let go of
            for _ in range(count):
                threads.submit(self._let_go, everybody)
            threads.shutdown()

    def _let_go(self, everybody: Barrier) -> None:
        everybody.wait()
        self.gateway.store.close()

    async def call(self, step: Callable[[], T]) -> T:
        """Do something that may block but changes nothing, beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, step)

    async def change(self, step: Callable[[], T]) -> T:
        """Change something in the store, beside the event loop and beside those who read."""
        return await asyncio.get_running_loop().run_in_executor(self._writers, step)

    async def shared(self, feed: Feed, kind: str, write: Callable[[], bytes]) -> bytes:
        """What is the same for everybody until something is released or the spaces change: written once.

        However many read it, and do not read it to the end, it is once in memory.
        """
        version = (await self.call(feed.last_position), self.gateway.book.generation)
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
        return self.gateway.book.space(request.path_params["space"])

    async def learn_token(self, request: Request, secret: str) -> None:
        """Read the book again where a token may have been made after the last reading.

        Whoever sends random tokens makes work in this way, so that each client can do it now and then only,
        and all who wait for the book wait for one reading.
        """
        if is_token(secret) and find_token(self.gateway.book, secret) is None:
            with contextlib.suppress(TooMany):
                self._unknown.take(self.clients.name(request.scope))
                if self._next_reading is None:
                    self._next_reading = asyncio.create_task(self._read_book(self._reading))
                await asyncio.shield(self._next_reading)

    async def _read_book(self, before: "asyncio.Task[object] | None") -> None:
        if before is not None:
            await asyncio.wait([before])
        self._reading, self._next_reading = self._next_reading, None
        try:
            await self.call(self.gateway.refresh)
        finally:
            self._reading = None

    def secret(self, request: Request) -> str:
        """The token that a request brings; empty, if it brings none."""
        kind, _, secret = (_one(request, "authorization") or "").partition(" ")
        return secret.strip() if kind.lower() == "bearer" else ""

    def token(self, request: Request, scope: Scope) -> Token:
        """Who asks, if they may."""
        token = find_token(self.gateway.book, self.secret(request))
        if token is None:
            raise Unauthorised
        self.buckets.take(token.id)
        if not token.allows(scope, request.path_params.get("space")):
            raise Forbidden(scope)
        return token

    def sender(self, request: Request) -> bytes:
        """The token itself. It is stored nowhere: who has store and key cannot make its receipts again."""
        return self.secret(request).encode()

    def receipt(self, request: Request) -> str:
        """The receipt that a request brings."""
        if not (secret := _one(request, "tarry-receipt")):
            raise NoSuchPost
        return secret

    def key(self, request: Request) -> str | None:
        """The request's own key, if it may come again."""
        if "idempotency-key" not in request.headers:
            return None
        key = _one(request, "idempotency-key") or ""
        if not _KEY.fullmatch(key):
            rule = f"is one header of 1 to {_KEY_MOST} printable ASCII characters without spaces"
            raise BadInput("an Idempotency-Key", rule, found=f"{len(key)} characters, or others")
        return key

    async def read(self, request: Request, kind: type[S]) -> S:
        """What a request sends."""
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != "application/json":
            raise BadRequest(415, "send JSON, and say so: Content-Type: application/json")
        sent = await body(request, self.limits.body_bytes, self.limits.body_s)
        if len(sent) > _LONG:  # hundreds of thousands of brackets take a while
            return await self.call(partial(self._decode, sent, kind))
        return self._decode(sent, kind)

    def _decode(self, text: bytes, kind: type[S]) -> S:
        if (decoder := self._decoders.get(kind)) is None:
            decoder = self._decoders[kind] = msgspec.json.Decoder(kind)
        try:
            sent = decoder.decode(text)
            _check_names(text)
        except msgspec.ValidationError as error:
            raise BadRequest(422, f"the request does not fit: {error}") from None
        except RecursionError:
            raise TooDeep(self.limits.nesting) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            half = _SURROGATE.search(text) and "truncated" in str(error)
            why = "half of a surrogate pair stands in it, or it was cut off" if half else error
            raise BadRequest(400, f"the request is not JSON: {why}") from None
        return sent  # type: ignore[return-value]  # the decoder of this kind


def _one(request: Request, name: str) -> str | None:
    """A header that makes sense only once: of two, nobody knows which one a proxy has looked at."""
    values = request.headers.getlist(name)
    return values[0] if len(values) == 1 else None


def _check_names(text: bytes) -> None:
    """Of two actors nobody knows which one another reader of the same JSON takes."""
    json.loads(text, object_pairs_hook=_once, parse_int=str, parse_float=str)


def _once(pairs: list[tuple[str, object]]) -> None:
    seen = set()
    for name, _ in pairs:
        if name in seen:
            raise BadRequest(400, f"an object of the request has a name twice: {name[:40]!r}")
        seen.add(name)
