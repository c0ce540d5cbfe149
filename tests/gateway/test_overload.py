"""Past a public bound on unfinished work everybody is refused alike: 503, one sentence, one wait."""

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest
from starlette.testclient import TestClient

from contracts.asgi import call
from contracts.keeping import as_long_as
from tarry.console.site import create_site
from tarry.core.errors import BadInput
from tarry.gateway.app import create_app
from tarry.gateway.config import Config
from tarry.gateway.limits import Backlog, Limits, Overloaded
from tarry.gateway.testing import new_token, small_gateway

POST = {"actor": "ann", "target": "p1", "content": ""}
BOUND = 3
WORDS = "this gateway has more unfinished work than it takes: try again in 5 s"


class Stuck:
    """A gateway whose disk takes its time."""

    def __init__(self, **more) -> None:
        self.gateway, self.free = small_gateway(), threading.Event()
        admit = self.gateway.admit

        def slowly(submissions):
            assert self.free.wait(60)
            return admit(submissions)

        self.gateway.admit = slowly
        self.app = create_app(self.gateway, limits=Limits(unfinished_posts=BOUND, **more))
        self.tokens = [new_token(self.gateway) for _ in range(2)]

    async def post(self, token=0, path="posts", body=POST, **headers):
        """A request of one of two tokens."""
        told = {"Authorization": f"Bearer {self.tokens[token]}", **headers}
        return await call(self.app, "POST", f"/v1/spaces/talk/{path}", body=body, headers=told)

    @asynccontextmanager
    async def full(self, of=0):
        """One token's posts wait for the disk, as many as may; in the end they are accepted."""
        begun = [asyncio.create_task(self.post(of)) for _ in range(BOUND)]
        for _ in as_long_as(lambda: not self.is_full()):
            await asyncio.sleep(0.001)
        yield
        self.free.set()
        assert [(await each).status for each in begun] == [202] * BOUND

    def is_full(self) -> bool:
        try:
            self.app.state.service.backlog.check()
        except Overloaded:
            return True
        return False

    def close(self) -> None:
        self.free.set()
        self.app.state.service.close()


@pytest.fixture
def stuck():
    made = Stuck()
    yield made
    made.close()


def test_past_the_bound_everybody_gets_the_same_answer(stuck):
    """Whoever's work it is, whatever is asked, with a key or without: every byte is the same."""

    async def seen():
        async with stuck.full(of=0):
            return [
                await stuck.post(0),
                await stuck.post(1),
                await stuck.post(1, body=b"no JSON at all"),
                await stuck.post(0, **{"Idempotency-Key": "4711"}),
                await stuck.post(0, path="batches", body={"posts": [POST] * 100}),
                await stuck.post(1, path="batches", body={"posts": [POST]}),
            ]

    answers = asyncio.run(seen())

    assert len(set(answers)) == 1
    assert answers[0].status == 503
    assert dict(answers[0].headers)[b"retry-after"] == b"5"
    assert answers[0].json()["detail"] == WORDS


def test_when_the_work_is_done_everybody_is_let_in_again(stuck):
    """The bound looks at what is unfinished now, and remembers nobody."""

    async def seen():
        async with stuck.full():
            pass
        return [await stuck.post(token) for token in (0, 1)]

    assert [answer.status for answer in asyncio.run(seen())] == [202, 202]


def test_who_has_no_token_or_asks_too_often_is_told_that_and_nothing_of_the_load():
    """The bound is for those who would be let in."""
    stuck = Stuck(rate_per_s=0.001, burst=BOUND)

    async def seen():
        async with stuck.full(of=0):
            stranger = await call(stuck.app, "POST", "/v1/spaces/talk/posts", body=POST)
            return stranger, await stuck.post(0)

    stranger, eager = asyncio.run(seen())
    stuck.close()

    assert (stranger.status, eager.status) == (401, 429)


def test_what_changes_nothing_is_answered_past_the_bound(stuck):
    """Who reads, and who asks for a post of theirs, is not refused."""

    async def seen():
        async with stuck.full():
            receipt = {"Tarry-Receipt": "0" * 64}
            return [
                (await call(stuck.app, "GET", "/v1/spaces/talk/feed")).status,
                (await call(stuck.app, "GET", "/v1/receipt", headers=receipt)).status,
                (await call(stuck.app, "DELETE", "/v1/receipt", headers=receipt)).status,
            ]

    assert asyncio.run(seen()) == [200, 404, 404]


def test_a_post_from_the_board_is_refused_in_the_same_words():
    """Without a token, as a page."""
    site = create_site(small_gateway(), limits=Limits(unfinished_posts=BOUND), config=Config(boards="talk"))
    with (
        TestClient(site, "http://localhost", follow_redirects=False) as http,
        site.state.service.backlog.of(BOUND),
    ):
        fields = {"target": "cats", "content": "They do not care."}
        answer = http.post("/board/talk", data=fields, headers={"Sec-Fetch-Site": "same-origin"})

    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    assert WORDS in answer.text


def test_a_request_is_not_refused_for_its_own_size():
    """Only what others have begun counts: a batch larger than the bound is let in when there is room."""
    backlog = Backlog(BOUND)
    with backlog.of(BOUND - 1), backlog.of(1000), pytest.raises(Overloaded):
        backlog.check()
    backlog.check()


def test_work_that_fails_is_finished_too():
    """Or the gateway would close for good."""
    backlog = Backlog(1)
    with pytest.raises(BadInput), backlog.of(1):
        raise BadInput("it breaks a rule")
    backlog.check()
