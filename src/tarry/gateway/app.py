"""The ASGI app: the list of operations as routes, with the headers that every answer has."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarry.gateway.door import Door
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import Limits
from tarry.gateway.openapi import openapi
from tarry.gateway.operations import OPERATIONS, Operation
from tarry.gateway.problems import HANDLERS, refuse
from tarry.gateway.routes import feeds, health, operate, posts, spaces

__all__ = ["create_app"]

_SUBJECTS = (posts, feeds, spaces, operate, health)  # importing them lists their operations
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def create_app(
    gateway: Gateway, *, limits: Limits | None = None, tell: Callable[[str], None] | None = None
) -> Starlette:
    """The gateway's HTTP API. `tell` hears of mistakes of ours, without what was asked.

    >>> from tarry.gateway.testing import small_gateway
    >>> app = create_app(small_gateway())
    >>> app.state.door.close()
    """
    door = Door(gateway, limits or Limits())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        door.close()

    async def page(_: Request) -> Response:
        return JSONResponse(openapi())

    routes = [_route(door, each, tell) for each in OPERATIONS]
    routes.append(Route("/openapi.json", page, methods=["GET"]))
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=HANDLERS)
    app.add_middleware(_Headers)
    app.state.door = door
    return app


def _route(door: Door, each: Operation, tell: Callable[[str], None] | None) -> Route:
    handler: Callable[[Door, Request], Awaitable[Response]] = each.handler

    async def endpoint(request: Request) -> Response:
        try:
            return await handler(door, request)
        except Exception as error:  # noqa: BLE001 - every error has its answer
            answer = refuse(error)
            if answer.status_code == 500 and tell is not None:
                tell(f"{each.name} broke: {type(error).__name__}")
            return answer

    return Route(each.path, endpoint, methods=[each.method], name=each.name)


class _Headers:
    """Adds what every answer has."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_more if scope["type"] == "http" else send)
