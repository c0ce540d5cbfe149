"""The door: what every address of the gateway needs. Who asks, what they send, and where to answer from.

The event loop never touches the store: whatever may block runs in a few threads of the door's own.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from tarry.core.errors import BadInput
from tarry.gateway.admissions import Admissions
from tarry.gateway.book import Scope, Space, Token
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import Buckets, Limits
from tarry.gateway.problems import BadRequest, Forbidden, Unauthorised
from tarry.gateway.streams import Streams
from tarry.gateway.tokens import find_token
from tarry.keep.errors import NoSuchPost

__all__ = ["Door", "answer"]

_THREADS = 4
_KEY_MOST = 200
T = TypeVar("T")
S = TypeVar("S", bound=Struct)


def answer(body: Struct, status: int = 200) -> Response:
    """An answer in JSON.

    >>> from tarry.gateway.bodies import HealthOut
    >>> answer(HealthOut(status="ok")).body
    b'{"status":"ok"}'
    """
    return Response(msgspec.json.encode(body), status, media_type="application/json")


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
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="door")
        self.streams = Streams(gateway.store, self.call, limits.open_streams)
        self._decoders: dict[type[Struct], msgspec.json.Decoder[Struct]] = {}

    def close(self) -> None:
        """Finish what has been begun."""
        self.admissions.close()
        self._threads.shutdown()

    async def call(self, step: Callable[[], T]) -> T:
        """Do something that may block, beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, step)

    def space(self, request: Request) -> Space:
        """The space that an address names."""
        return self.gateway.book.space(request.path_params["space"])

    def token(self, request: Request, scope: Scope) -> Token:
        """Who asks, if they may."""
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        token = find_token(self.gateway.book, secret.strip()) if kind.lower() == "bearer" else None
        if token is None:
            raise Unauthorised
        self.buckets.take(token.id)
        if not token.allows(scope, request.path_params.get("space")):
            raise Forbidden(scope)
        return token

    def receipt(self, request: Request) -> str:
        """The receipt that a request brings."""
        if not (secret := request.headers.get("tarry-receipt", "")):
            raise NoSuchPost
        return secret

    def key(self, request: Request) -> str | None:
        """The request's own key, if it may come again."""
        key = request.headers.get("idempotency-key")
        if key is not None and not (0 < len(key) <= _KEY_MOST and key.isascii() and key.isprintable()):
            rule = f"is 1 to {_KEY_MOST} printable ASCII characters"
            raise BadInput("an Idempotency-Key", rule, found=f"{len(key)} characters, or others")
        return key

    async def read(self, request: Request, kind: type[S]) -> S:
        """What a request sends."""
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != "application/json":
            raise BadRequest(415, "send JSON, and say so: Content-Type: application/json")
        body = await self._body(request)
        decoder = self._decoders.setdefault(kind, msgspec.json.Decoder(kind))
        try:
            return decoder.decode(body)  # type: ignore[return-value]  # the decoder of this kind
        except msgspec.ValidationError as error:
            raise BadRequest(422, f"the request does not fit: {error}") from None
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise BadRequest(400, f"the request is not JSON: {error}") from None

    async def _body(self, request: Request) -> bytes:
        most, size, parts = self.limits.body_bytes, 0, []
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise BadRequest(413, f"a request has at most {most} bytes")
            parts.append(part)
        return b"".join(parts)
