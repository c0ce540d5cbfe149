"""Whether the gateway works, and what it can do. None of these answers changes at an arrival."""

from functools import cache

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tarry.gateway.bodies import HealthOut
from tarry.gateway.door import Door, answer
from tarry.gateway.openapi import openapi
from tarry.gateway.operations import operation
from tarry.keep.errors import Unavailable

__all__: list[str] = []


@operation("GET", "/healthz", gives=HealthOut)
async def is_alive(door: Door, _: Request) -> Response:  # noqa: ARG001 - it does not even look
    """This process answers."""
    return answer(HealthOut(status="ok"))


@operation("GET", "/readyz", gives=HealthOut, refusals=(503,))
async def is_ready(door: Door, _: Request) -> Response:
    """This process reaches its store."""
    try:
        await door.call(door.gateway.refresh)
    except Unavailable:
        return answer(HealthOut(status="unavailable"), 503)
    return answer(HealthOut(status="ok"))


@operation("GET", "/openapi.json")
async def read_api(door: Door, _: Request) -> Response:  # noqa: ARG001 - the same for everybody
    """This page, in the words of OpenAPI."""
    return Response(_page(), media_type="application/json")


@cache
def _page() -> bytes:
    return msgspec.json.encode(openapi())
