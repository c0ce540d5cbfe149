"""Nobody who reads waits for somebody who writes: a stall would tell when something is stored or erased."""

import asyncio
import contextlib
import random
import sqlite3
import threading
import time
from urllib.parse import urlencode

import psycopg
import pytest

from contracts.asgi import SCOPE, call
from contracts.at_desk import OURS
from contracts.house import KINDS, House, new_database
from contracts.stalls import ALPHA, Poll, chance_of, slowest
from tarry.console.site import create_site
from tarry.gateway.config import Config
from tarry.gateway.feed import Feed
from tarry.gateway.limits import Limits
from tarry.gateway.testing import new_token

#: A reader who has to wait for a lock waits for ten seconds.
SOON_S = 6
PATHS = (
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/v1/spaces",
    "/v1/spaces/talk",
    "/v1/spaces/talk/policy",
    "/v1/spaces/talk/feed",
    "/v1/spaces/talk/feed?after=1&limit=2",
    "/v1/spaces/talk/feed.atom",
    "/board/talk",
    "/board/talk/promise",
    "/desk/sign-in",
)
FOR_OPERATORS = ("/metrics", "/v1/spaces/talk/parked", "/v1/tokens")
EVENTS = "/v1/spaces/talk/feed/events"


class Site:
    """A gateway with its pages, on a real database, and people who read and write there."""

    def __init__(self, where: str) -> None:
        self.house = House(where)
        self.app = create_site(
            self.house.gateway,
            limits=Limits(rate_per_s=1e6, burst=10**6),
            config=Config(boards="talk"),
        )
        self.house.admit_many([f"person {number}" for number in range(5)])
        self.house.jump(200)
        self.waiting = [self.house.admit(actor=f"person {number}").secret for number in range(6)]
        tokens = {scope: new_token(self.house.gateway, scope) for scope in ("submit", "operate", "admin")}
        self.headers = {scope: {"Authorization": f"Bearer {token}"} for scope, token in tokens.items()}
        self.desk = asyncio.run(self._sign_in(tokens["operate"]))

    async def _sign_in(self, token: str) -> dict[str, str]:
        form = urlencode({"token": token}).encode()
        answer = await call(self.app, "POST", "/desk/sign-in", body=form, headers=OURS)
        (cookie,) = [value for name, value in answer.headers if name == b"set-cookie"]
        return {"Cookie": cookie.decode().partition(";")[0]}

    async def read_everything(self) -> dict[str, int]:
        """The status of every address that only reads; each must answer soon."""
        receipt = self.waiting[0]
        asked = [(path, {}) for path in PATHS]
        asked += [(path, self.headers["admin" if "token" in path else "operate"]) for path in FOR_OPERATORS]
        asked += [("/v1/receipt", {"Tarry-Receipt": receipt}), (f"/receipt/{receipt}", {})]
        asked += [("/desk", self.desk), ("/desk/health", self.desk)]
        found = {}
        for path, headers in asked:
            async with asyncio.timeout(SOON_S):
                found[path] = (await call(self.app, "GET", path, headers=headers)).status
        async with asyncio.timeout(SOON_S):
            found[EVENTS] = await self._listen()
        return found

    async def _listen(self) -> int:
        """Until the first release has been told."""
        told, heard = asyncio.Event(), []

        async def receive():
            await asyncio.Event().wait()

        async def send(message):
            heard.append(message)
            if b"event: release" in message.get("body", b""):
                told.set()

        scope = {**SCOPE, "method": "GET", "path": EVENTS, "query_string": b"after=0", "headers": []}
        listener = asyncio.create_task(self.app(scope, receive, send))
        await told.wait()
        listener.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listener
        return heard[0]["status"]

    def write_something(self) -> list[asyncio.Task]:
        """More writers than the gateway has threads for."""
        post = {"actor": "ann", "target": "p1", "content": "hello"}
        calls = [call(self.app, "POST", "/v1/spaces/talk/posts", body=post, headers=self.headers["submit"])]
        calls += [
            call(self.app, "DELETE", "/v1/receipt", headers={"Tarry-Receipt": receipt})
            for receipt in self.waiting[1:]
        ]
        return [asyncio.create_task(each) for each in calls]

    def close(self) -> None:
        self.app.state.service.close()
        self.house.store.close()


@pytest.fixture(params=KINDS)
def site(request, tmp_path):
    site = Site(new_database(request, request.param, tmp_path))
    yield site
    site.close()


@contextlib.contextmanager
def foreign_lock(where: str):
    """Another process writes, and does not come to an end."""
    if where.startswith("postgresql:"):
        with psycopg.connect(where) as other:
            other.execute("LOCK TABLE posts, arrivals, clock, releases IN EXCLUSIVE MODE")
            yield
            other.rollback()
    else:
        with contextlib.closing(sqlite3.connect(where, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")


def test_every_address_that_reads_answers_while_others_wait_to_write(site):
    """Behind a foreign lock posts, withdrawals and the keeper wait; nobody who reads does."""
    closing = threading.Thread(target=close_a_tick, args=(site,))

    async def meanwhile():
        with foreign_lock(site.house.where):
            closing.start()
            writers = site.write_something()
            statuses = await site.read_everything()
            waited = not any(writer.done() for writer in writers)
        return statuses, waited, [answer.status for answer in await asyncio.gather(*writers)]

    statuses, waited, written = asyncio.run(meanwhile())
    closing.join()

    assert set(statuses.values()) == {200}, statuses
    assert waited
    assert written == [202, *[200] * 5]


def close_a_tick(site: Site) -> None:
    site.house.jump(1)
    site.house.store.close()


def test_every_address_that_reads_answers_while_the_file_is_written_anew(tmp_path):
    """In the middle of `VACUUM`, which holds the turn of all who write."""
    site = Site(str(tmp_path / "gateway.db"))
    store, begun, may_go_on = site.house.store, threading.Event(), threading.Event()

    def stop_in_the_middle() -> int:
        begun.set()
        return 0 if may_go_on.wait(60) else 1

    def tidy() -> None:
        store.connection().set_progress_handler(stop_in_the_middle, 100)
        assert store.clear_traces(last=True)
        store.close()

    thread = threading.Thread(target=tidy)
    thread.start()
    try:
        assert begun.wait(60)
        statuses = asyncio.run(site.read_everything())
        in_the_middle = thread.is_alive()
    finally:
        may_go_on.set()
        thread.join()
    site.close()

    assert set(statuses.values()) == {200}, statuses
    assert in_the_middle


# --- the comparison by the stop watch, which bench/stalls.py makes over real connections ----------------


async def poll_for(site: Site, seconds: float) -> float:
    """Ask for the feed again and again: the longest wait."""
    polls, end = [], time.monotonic() + seconds
    while (begun := time.monotonic()) < end:
        await call(site.app, "GET", "/v1/spaces/talk/feed?after=1&limit=2")
        polls.append(Poll(begun, time.monotonic() - begun))
        await asyncio.sleep(0.002)
    return slowest(polls, 0, end)


def test_a_stall_that_follows_an_arrival_is_found(tmp_path, monkeypatch):
    """Where readers wait for whoever tidies up after an arrival, the slowest answers tell it."""
    site, tidying, after = Site(str(tmp_path / "gateway.db")), threading.Lock(), Feed.sizes_after

    def wait_and_read(*asked):
        with tidying:
            return after(*asked)

    monkeypatch.setattr(Feed, "sizes_after", wait_and_read)

    def tidy() -> None:
        with tidying:
            time.sleep(0.4)

    async def worlds() -> tuple[list[float], list[float]]:
        with_arrival, without = [], []
        for _ in range(9):
            without.append(await poll_for(site, 0.5))
            timer = threading.Timer(0.05, tidy)
            timer.start()
            with_arrival.append(await poll_for(site, 0.5))
            timer.join()
        return with_arrival, without

    with_arrival, without = asyncio.run(worlds())
    site.close()

    assert chance_of(with_arrival, without) < ALPHA


def test_two_worlds_that_are_alike_are_told_apart_as_often_as_declared():
    """However waits are spread, a tenth of all comparisons of like with like gives less than a tenth."""
    chance = random.Random(4)

    def waits() -> list[float]:
        return [chance.paretovariate(1) for _ in range(9)]

    found = [chance_of(waits(), waits(), shuffles=200) for _ in range(500)]

    assert 0.06 < sum(each < 0.1 for each in found) / 500 < 0.14
