"""The ASGI app: the list of operations as routes, with the headers that every answer has.

Health and metrics are answered here too. None of these answers changes at an arrival.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarry.gateway.bodies import HealthOut
from tarry.gateway.counters import Counters
from tarry.gateway.gateway import Gateway
from tarry.gateway.http_service import HttpService, check_host, json_response
from tarry.gateway.limits import Limits
from tarry.gateway.monitoring import metrics
from tarry.gateway.operations import OPERATIONS, Operation, openapi, operation
from tarry.gateway.problems import HANDLERS, NOTHING_HERE, BadRequest, problem, refuse
from tarry.gateway.routes import operate, posts, spaces
from tarry.keep.errors import Unavailable

__all__ = ["CommonHeaders", "create_app", "create_metrics_app"]

_SUBJECTS = (posts, spaces, operate)  # importing them lists their operations
_PIECE = 8 << 10
_METRICS_MEDIA = "text/plain; version=0.0.4"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def create_app(
    gateway: Gateway,
    *,
    limits: Limits | None = None,
    tell: Callable[[str], None] | None = None,
    counters: Counters | None = None,
) -> Starlette:
    """The gateway's HTTP API. `tell` gets a line for each error of ours, without what was sent.

    `counters` are those of a process that shares its limits with others.

    >>> from tarry.gateway.testing import small_gateway
    >>> app = create_app(small_gateway())
    >>> app.state.service.close()
    """
    service = HttpService(gateway, limits or Limits(), counters)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    app = Starlette(routes=_routes(service, tell), lifespan=lifespan, exception_handlers=HANDLERS)
    # A redirect would repeat whatever the Host header says.
    app.router.redirect_slashes = False
    app.add_middleware(CommonHeaders)
    app.state.service = service
    #: Paths below which one process alone answers, where a server has several.
    app.state.of_one_process = ()
    return app


def create_metrics_app(gateway: Gateway, hosts: Collection[str] = ()) -> Starlette:
    """The metrics alone, without a token: for a second listener that only the operator reaches.

    >>> from tarry.gateway.testing import small_gateway
    >>> [route.path for route in create_metrics_app(small_gateway()).routes]
    ['/metrics']
    """

    def read(request: Request) -> Response:
        try:
            check_host(request, hosts)
            return Response(metrics(gateway), media_type=_METRICS_MEDIA)
        except BadRequest as error:
            return refuse(error)
        except Unavailable:
            return Response(status_code=503)

    return Starlette(routes=[Route("/metrics", read, methods=["GET"])])


@operation("GET", "/healthz", gives=HealthOut)
async def is_alive(service: HttpService, _: Request) -> Response:  # noqa: ARG001 - it looks at nothing
    """Whether this process answers."""
    return json_response(HealthOut(status="ok"))


@operation("GET", "/readyz", gives=HealthOut, refusals=(503,))
async def is_ready(service: HttpService, _: Request) -> Response:
    """Whether this process reaches its store."""
    try:
        await service.call(service.gateway.refresh)
    except Unavailable:
        return json_response(HealthOut(status="unavailable"), 503)
    return json_response(HealthOut(status="ok"))


@operation("GET", "/metrics", scope="operate", media="text/plain")
async def read_metrics(service: HttpService, _: Request) -> Response:
    """Metrics for Prometheus. Not one number changes at an arrival."""
    return Response(await service.call(partial(metrics, service.gateway)), media_type=_METRICS_MEDIA)


@operation("GET", "/openapi.json")
async def read_api(service: HttpService, _: Request) -> Response:  # noqa: ARG001 - the same for everybody
    """The description of this API, as OpenAPI."""
    return Response(msgspec.json.encode(openapi()), media_type="application/json")


def _routes(service: HttpService, tell: Callable[[str], None] | None) -> list[Route]:
    """One for each address, so that a refusal of a wrong method lists all the right ones."""
    paths: dict[str, dict[str, Operation]] = {}
    # Routes are tried in turn: the address with the most requests goes first.
    for each in sorted(OPERATIONS, key=lambda each: each.handler is not posts.submit_post):
        paths.setdefault(each.path, {})[each.method] = each
    return [
        Route(path, _endpoint(service, methods, tell), methods=list(methods))
        for path, methods in paths.items()
    ]


def _endpoint(
    service: HttpService, methods: dict[str, Operation], tell: Callable[[str], None] | None
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        # An encoded slash is no slash: a proxy that guards addresses would not see it.
        if b"%2f" in request.scope.get("raw_path", b"").lower():
            return problem(404, NOTHING_HERE)
        each = methods["GET" if request.method == "HEAD" else request.method]
        try:
            if each.scope is not None:
                await service.learn_token(request, service.secret(request))
                request.state.token = service.token(request, each.scope)
            response: Response = await each.handler(service, request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Exception as error:  # noqa: BLE001 - every error has its answer
            response = refuse(error)
            if response.status_code == 500 and tell is not None:
                tell(f"{each.name} broke: {type(error).__name__}")
        return response

    return endpoint


class CommonHeaders:
    """Adds the headers that every answer has, and sends a long answer in pieces.

    A server waits after each piece until there is room for the next. Of a body that was sent whole, a
    client that does not read would hold a copy.

    >>> callable(CommonHeaders(Starlette()))
    True
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with them."""

        async def send_pieces(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            body = message.get("body", b"")
            for start in range(0, len(body) - _PIECE, _PIECE):
                piece = body[start : start + _PIECE]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                await asyncio.sleep(0)  # a client that has gone is noticed
            if len(body) > _PIECE:
                message = {**message, "body": body[-(len(body) % _PIECE or _PIECE) :]}
            await send(message)

        await self._app(scope, receive, send_pieces if scope["type"] == "http" else send)
