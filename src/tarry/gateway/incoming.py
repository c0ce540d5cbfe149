"""The one reader of bodies: whatever a request sends is bounded in bytes and in time."""

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request

from tarry.gateway.problems import BadRequest

__all__ = ["SILENCE_S", "body", "pieces"]

#: Between two pieces of a body.
SILENCE_S = 30.0


async def pieces(
    request: Request, most: int, within_s: float, *, too_large: str = "", too_slow: str = ""
) -> AsyncIterator[bytes]:
    """A body as it comes: at most so many bytes, within so many seconds. The texts say what else it is.

    >>> async def sent():
    ...     return {"type": "http.request", "body": b"[1, 2]"}
    >>> async def read(most):
    ...     request = Request({"type": "http", "headers": []}, sent)
    ...     return [piece async for piece in pieces(request, most, within_s=30)]
    >>> asyncio.run(read(6))
    [b'[1, 2]']
    >>> asyncio.run(read(5))
    Traceback (most recent call last):
    tarry.gateway.problems.BadRequest: a request has at most 5 bytes
    """
    larger = BadRequest(413, too_large or f"a request has at most {most} bytes")
    said = request.headers.get("content-length", "")
    size = int(said) if said.isascii() and said.isdecimal() and len(said) < 20 else 0
    if size > most:
        raise larger
    size, stream, end = 0, request.stream(), asyncio.get_running_loop().time() + within_s
    while True:
        try:
            async with asyncio.timeout_at(min(end, asyncio.get_running_loop().time() + SILENCE_S)):
                piece = await anext(stream, None)
        except TimeoutError:
            raise BadRequest(408, too_slow or f"a request comes within {within_s:g} s") from None
        if piece is None:
            return
        size += len(piece)
        if size > most:
            raise larger
        if piece:
            yield piece


async def body(request: Request, most: int, within_s: float, *, too_large: str = "") -> bytes:
    """A whole body.

    >>> async def sent():
    ...     return {"type": "http.request", "body": b"[1, 2]"}
    >>> asyncio.run(body(Request({"type": "http", "headers": []}, sent), most=100, within_s=30))
    b'[1, 2]'
    """
    return b"".join([piece async for piece in pieces(request, most, within_s, too_large=too_large)])
