"""The ASGI app: the list of operations as routes, with the headers that every answer has."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarry.gateway import metrics
from tarry.gateway.door import Door
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import Limits
from tarry.gateway.operations import OPERATIONS, Operation
from tarry.gateway.problems import HANDLERS, NOTHING_HERE, problem, refuse
from tarry.gateway.routes import feeds, health, operate, posts, spaces

__all__ = ["create_app"]

_SUBJECTS = (posts, feeds, spaces, operate, health, metrics)  # importing them lists their operations
_PIECE = 8 << 10
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

    app = Starlette(routes=_routes(door, tell), lifespan=lifespan, exception_handlers=HANDLERS)
    # An address is what it is: a redirect would repeat whatever the Host header says.
    app.router.redirect_slashes = False
    app.add_middleware(_Answers)
    app.state.door = door
    return app


def _routes(door: Door, tell: Callable[[str], None] | None) -> list[Route]:
    """One for each address, so that a wrong method is told all the right ones."""
    paths: dict[str, dict[str, Operation]] = {}
    # They are looked through in turn: the address that is asked for most goes first.
    for each in sorted(OPERATIONS, key=lambda each: each.handler is not posts.submit_post):
        paths.setdefault(each.path, {})[each.method] = each
    return [
        Route(path, _endpoint(door, methods, tell), methods=list(methods))
        for path, methods in paths.items()
    ]


def _endpoint(
    door: Door, methods: dict[str, Operation], tell: Callable[[str], None] | None
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        # An encoded slash is no slash: a proxy that guards addresses would not see it.
        if b"%2f" in request.scope.get("raw_path", b"").lower():
            return problem(404, NOTHING_HERE)
        each = methods["GET" if request.method == "HEAD" else request.method]
        try:
            if each.scope is not None:
                await door.learn_token(request, door.secret(request))
            answer: Response = await each.handler(door, request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Exception as error:  # noqa: BLE001 - every error has its answer
            answer = refuse(error)
            if answer.status_code == 500 and tell is not None:
                tell(f"{each.name} broke: {type(error).__name__}")
        return answer

    return endpoint


class _Answers:
    """Adds what every answer has, and hands a long one on in pieces.

    A server waits after each piece until there is room for the next. Of a body that was handed on whole, a
    reader who does not read would hold a copy.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            body = message.get("body", b"")
            for start in range(0, len(body) - _PIECE, _PIECE):
                piece = body[start : start + _PIECE]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                await asyncio.sleep(0)  # somebody who has gone is noticed
            if len(body) > _PIECE:
                message = {**message, "body": body[-(len(body) % _PIECE or _PIECE) :]}
            await send(message)

        await self._app(scope, receive, send_more if scope["type"] == "http" else send)
