"""A request that another process answers: every byte goes there and back."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from contracts.asgi import SCOPE, call
from tarry.gateway.forwarding import Forwarding, answer_forwarded

BODY = bytes(range(256)) * 4000


async def echo(request: Request) -> Response:
    """All that was sent, and who has sent it."""
    body = await request.body()
    told = {"x-client": request.client.host if request.client else "", "x-query": request.url.query}
    return Response(body, 201, headers={**told, "x-head": request.headers.get("x-head", "")})


async def many(_: Request) -> Response:
    async def pieces():
        for _ in range(200):
            yield b"x" * 10_000

    return StreamingResponse(pieces())


async def waiting(request: Request) -> Response:
    """Tells that nobody is there any more."""
    try:
        await request.body()
    except ClientDisconnect:
        return Response(status_code=400)
    return Response()


async def broken(_: Request) -> Response:
    raise KeyError("ann")


def site() -> Starlette:
    return Starlette(
        routes=[
            Route("/desk", echo, methods=["POST", "GET"]),
            Route("/desk/many", many),
            Route("/desk/broken", broken),
            Route("/desk/waiting", waiting, methods=["POST"]),
            Route("/deskless", echo, methods=["GET"]),
        ]
    )


class Both:
    """The process that a client has reached, and the one that answers."""

    def __init__(self) -> None:
        self.here, self.there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.there.setblocking(False)
        nobody = Starlette()
        self.app = Forwarding(nobody, ["/desk"], self.here)
        self.answers = []
        self.asked = 0

    @asynccontextmanager
    async def answering(self):
        loop = asyncio.get_running_loop()

        def take():
            _, (handle,), _, _ = socket.recv_fds(self.there, 100, 1)
            self.asked += 1
            self.answers.append(asyncio.create_task(answer_forwarded(site(), socket.socket(fileno=handle))))

        loop.add_reader(self.there, take)
        yield
        loop.remove_reader(self.there)
        await asyncio.gather(*self.answers, return_exceptions=True)

    def close(self):
        self.here.close()
        self.there.close()


@pytest.fixture
def both():
    made = Both()
    yield made
    made.close()


def ask(both, *arguments, **more):
    async def asked():
        async with both.answering():
            return await call(both.app, *arguments, **more)

    return asyncio.run(asked())


def test_what_is_sent_arrives_and_what_is_answered_comes_back(both):
    answer = ask(both, "POST", "/desk?a=%20b", body=BODY, headers={"X-Head": "\xe4"})

    assert (answer.status, answer.content == BODY) == (201, True)
    assert dict(answer.headers)[b"x-query"] == b"a=%20b"


def test_a_long_answer_comes_in_pieces(both):
    assert ask(both, "GET", "/desk/many").content == b"x" * 2_000_000


def test_only_paths_below_are_handed_on(both):
    """A name that begins alike is another one."""
    assert [ask(both, "GET", path).status for path in ("/deskless", "/", "/v1/spaces")] == [404] * 3
    assert both.asked == 0


def test_what_breaks_there_is_an_error_here(both):
    assert ask(both, "GET", "/desk/broken").status == 500


def test_where_nobody_answers_it_says_so(both):
    both.there.close()

    answer = ask_nobody(both)
    assert answer.status == 503
    assert answer.json()["detail"] == "this page cannot be shown at this moment: try again in a minute"


def ask_nobody(both):
    return asyncio.run(call(both.app, "GET", "/desk"))


def test_whoever_answers_learns_that_the_client_has_gone(both):
    """Here before the body was sent."""
    parts = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        parts.append(message)

    async def asked():
        scope = {**SCOPE, "method": "POST", "path": "/desk/waiting", "query_string": b"", "headers": []}
        async with both.answering():
            await both.app(scope, receive, send)

    asyncio.run(asked())

    assert parts[0]["status"] == 400
