"""The contestants of bench/gateway.py: each an ASGI app that answers one POST, served by uvicorn alike."""

import socket
from collections.abc import Callable
from contextlib import asynccontextmanager
from fractions import Fraction
from typing import Any

import msgspec
import psycopg
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import keep as ours
from tarry.core.policy import Policy
from tarry.gateway.app import create_app
from tarry.gateway.bodies import PostIn, ReceiptOut
from tarry.gateway.database import open_store
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import Limits
from tarry.gateway.space_changes import add_space
from tarry.gateway.testing import new_token
from tarry.keep.keys import Keys
from tarry.keep.posts import Receipt, Status
from tarry.keep.store import SystemClock

SETTLED = Status(state="waiting", earliest=1_800_000_000, latest=1_800_000_000, tick=Fraction(1))
RECEIPT = Receipt("0" * 64, 1, SETTLED)
MOMENT = "2027-01-15T08:00:00Z"
OUT = ReceiptOut(
    receipt=RECEIPT.secret, state="waiting", release_at=MOMENT, earliest_at=MOMENT, latest_at=MOMENT
)
UNLIMITED = Limits(rate_per_s=1e9, burst=1 << 40)


# --- limits: the same request and answer, and no work ---------------------------------------------------


def bare(_: str) -> Any:
    body = msgspec.json.encode(OUT)
    start = {
        "type": "http.response.start",
        "status": 202,
        "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())],
    }

    async def app(scope: dict, receive: Callable, send: Callable) -> None:
        assert scope["type"] == "http"
        while (await receive()).get("more_body"):
            pass
        await send(start)
        await send({"type": "http.response.body", "body": body})

    return app


def starlette(_: str) -> Starlette:
    async def nothing(_: PostIn) -> None: ...

    return _route(nothing)


def _route(work: Callable[[PostIn], Any], lifespan: Callable | None = None) -> Starlette:
    """One address of Starlette, with msgspec; what is to be done with a post is done before the answer."""
    decoder = msgspec.json.Decoder(PostIn)

    async def submit(request: Request) -> Response:
        await work(decoder.decode(await request.body()))
        return Response(msgspec.json.encode(OUT), 202, media_type="application/json")

    return Starlette(
        routes=[Route("/v1/spaces/{space}/posts", submit, methods=["POST"])], lifespan=lifespan
    )


def fastapi(_: str) -> Any:
    from fastapi import FastAPI  # noqa: PLC0415 - a peer
    from pydantic import BaseModel, Field  # noqa: PLC0415 - a peer

    class Post(BaseModel, extra="forbid"):
        actor: str = Field(min_length=1, max_length=1000, pattern="^[^\x00]*$")
        target: str = Field(min_length=1, max_length=1000, pattern="^[^\x00]*$")
        content: str | dict | list
        options: dict[str, Any] = {}
        track: str | None = None
        more_to_come: bool = False
        depends_on: str | None = None

    class Told(BaseModel):
        receipt: str
        state: str
        release_at: str | None
        earliest_at: str | None
        latest_at: str | None

    app, told = FastAPI(), Told(**msgspec.to_builtins(OUT))

    @app.post("/v1/spaces/{space}/posts", status_code=202)
    async def submit(space: str, post: Post) -> Told:  # noqa: ARG001 - read, and not used
        return told

    return app


def litestar(_: str) -> Any:
    from litestar import Litestar, post  # noqa: PLC0415 - a peer

    @post("/v1/spaces/{space:str}/posts", status_code=202)
    async def submit(space: str, data: PostIn) -> ReceiptOut:  # noqa: ARG001 - read, and not used
        return OUT

    return Litestar([submit])


# --- tarry, and what it is made of ------------------------------------------------------------------------


def gateway(where: str, policy: Policy = ours.POLICY) -> Gateway:
    """As `tarry space add` makes one: sealed, with a feed."""
    store, keys, clock = open_store(where), Keys(bytes(range(32))), SystemClock()
    with store.transaction("closing") as transaction:
        add_space(transaction, keys, clock, "talk", policy, sealed=True)
    return Gateway(store, keys, clock)


def tarry(where: str) -> Starlette:
    return create_app(gateway(where), limits=UNLIMITED)


def no_insert(_: str) -> Starlette:
    """The same app, token, limits, reading and answer; the post is not even prepared."""

    async def admit(_: object) -> list[Receipt]:
        return [RECEIPT]

    app = tarry(":memory:")
    app.state.service.group_commit.admit = admit
    return app


def handed_over(_: str) -> Starlette:
    """Through the thread that admits, and back."""
    app = tarry(":memory:")
    app.state.service.gateway.admit = lambda requests: [[RECEIPT]] * len(requests)
    return app


def prepared(_: str) -> Starlette:
    """And with all that is done before the transaction."""
    app = tarry(":memory:")
    here = app.state.service.gateway

    def admit(requests: list) -> list[list[Receipt]]:
        for request in requests:
            here._prepare(here.catalog, request)  # noqa: SLF001 - a bench may look inside
        return [[RECEIPT]] * len(requests)

    here.admit = admit
    return app


# --- peers behind the same route --------------------------------------------------------------------------


def huey(where: str) -> Starlette:
    from huey import SqliteHuey  # noqa: PLC0415 - a peer

    app = SqliteHuey(filename=where, fsync=True)

    @app.task()
    def job(actor: str, target: str, content: str) -> None: ...

    def schedule(post: PostIn) -> None:
        job.schedule((post.actor, post.target, post.content), delay=86_400)

    return _route(lambda post: run_in_threadpool(schedule, post))


def procrastinate(where: str) -> Starlette:
    import procrastinate as peer  # noqa: PLC0415 - a peer

    app = peer.App(connector=peer.PsycopgConnector(conninfo=where))

    @app.task(name="job")
    def job(actor: str, target: str, content: str) -> None: ...

    @asynccontextmanager
    async def lifespan(_: object) -> Any:
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            yield

    async def defer(post: PostIn) -> None:
        later = job.configure(schedule_in={"days": 1})
        await later.defer_async(actor=post.actor, target=post.target, content=post.content)

    return _route(defer, lifespan)


def celery(where: str) -> Starlette:
    from celery import Celery  # noqa: PLC0415 - a peer

    app = Celery("bench", broker=where, set_as_current=False)

    @app.task(name="job", ignore_result=True)
    def job(actor: str, target: str, content: str) -> None: ...

    def delay(post: PostIn) -> None:
        job.apply_async((post.actor, post.target, post.content), countdown=86_400)

    return _route(lambda post: run_in_threadpool(delay, post))


def pgmq(where: str) -> Starlette:
    """The SQL of the package pgmq, as a server without its extension runs it; one call for each post."""
    from importlib.resources import files  # noqa: PLC0415 - for this peer alone

    from psycopg_pool import AsyncConnectionPool  # noqa: PLC0415 - comes with a peer

    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute((files("pgmq") / "sql" / "pgmq.sql").read_text(encoding="utf-8"))
        connection.execute("SELECT pgmq.create('posts')")
    pool = AsyncConnectionPool(where, min_size=4, max_size=10, open=False, kwargs={"autocommit": True})

    async def send(post: PostIn) -> None:
        async with pool.connection() as connection:
            message = msgspec.json.encode(post).decode()
            await connection.execute("SELECT pgmq.send('posts', %s::jsonb, 86400)", [message])

    @asynccontextmanager
    async def lifespan(_: object) -> Any:
        async with pool:
            yield

    return _route(send, lifespan)


DOORS: dict[str, Callable[[str], Any]] = {
    each.__name__: each
    for each in (
        *(bare, starlette, fastapi, litestar),
        *(tarry, no_insert, handed_over, prepared),
        *(huey, procrastinate, celery, pgmq),
    )
}


def serve(name: str, where: str) -> None:
    """Serve until terminated; the port and a token are told first."""
    app = DOORS[name](where)
    service = getattr(getattr(app, "state", None), "service", None)
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    token = new_token(service.gateway) if service is not None else "none"
    print(listener.getsockname()[1], token, flush=True)
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
    )
    uvicorn.Server(config).run([listener])
