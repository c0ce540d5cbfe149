"""A gateway whose database or webhook is away for a while: it says so, waits, and goes on by itself."""

import json
import re
import threading
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from acceptance.gateway_process import ask_http, found_gateway, free_ports, processes, wait_for
from contracts.http_receiver import HttpReceiver, says
from contracts.postgres_server import PostgresServer
from tarry.core.policy import Policy
from tarry.gateway.app import create_app
from tarry.gateway.database import open_store
from tarry.gateway.gateway import Gateway
from tarry.gateway.space_changes import add_space
from tarry.gateway.testing import new_token
from tarry.keep.closing import close_ticks
from tarry.keep.keys import Keys
from tarry.keep.releaser import MOST_ATTEMPTS, Releaser
from tarry.testing import ManualClock

MISSED = re.compile("[0-9]+ ticks were missed; what fell due leaves now")
FEED = "/v1/spaces/talk/feed?after=0"
AWAY = "the store is away at the moment: try again later"
UNSURE = (
    "the store is away, and this may or may not have been accepted: send it again with the same "
    "Idempotency-Key"
)


# --- the database -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server():
    """A PostgreSQL that is as careful as one in use."""
    server = PostgresServer(durable=True)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(params=["stop", "kill", "move"])
def database(request, tmp_path):
    """Where a database is, how it goes away, and how it comes back."""
    if request.param != "move":
        server = request.getfixturevalue("server")
        return server.new_schema(), getattr(server, request.param), server.start
    house, elsewhere = tmp_path / "house", tmp_path / "elsewhere"
    house.mkdir()
    elsewhere.mkdir()
    return str(house / "gateway.db"), lambda: move(house, elsewhere), lambda: move(elsewhere, house)


def move(source: Path, target: Path) -> None:
    """Carry a file away, with the log beside it."""
    for file in source.iterdir():
        file.rename(target / file.name)


class Site:
    """A server, as those see it who use it."""

    def __init__(self, port, token):
        self.port, self._token = port, token

    def post(self, name, space="talk"):
        """Hand a post in, under a key of its own: the answer."""
        body = {"actor": name, "target": "paper 3", "content": name}
        headers = {"authorization": f"Bearer {self._token}", "idempotency_key": name.replace(" ", "-")}
        return ask_http(self.port, "POST", f"/v1/spaces/{space}/posts", body, **headers)

    def get(self, path, **headers):
        """Ask; the answer."""
        return ask_http(self.port, "GET", path, **headers)

    def feed(self):
        """What has been released."""
        status, told = self.get(FEED)
        assert status == 200
        return [item["content"] for item in told["items"]]


def test_a_database_that_goes_away_and_comes_back_is_waited_for(database, tmp_path):
    """Meanwhile everybody is told 503 in a sentence; afterwards what was accepted leaves, and once."""
    where, go_away, come_back = database
    site = Site(*free_ports(1), found_gateway(tmp_path, where))
    # A lease so short that every outage is longer: workers say how many ticks they have missed.
    with processes(tmp_path, where, lease_s=1) as ask:
        alive = [ask("serve", site.port), ask("work", 2), ask("work", 2)]
        status, receipt = site.post("before")
        assert status == 202
        wait_for(lambda: site.feed() == ["before"], "it works")
        assert site.post("just before")[0] == 202
        go_away()
        try:
            check_that_everybody_is_told(site, receipt["receipt"])
        finally:
            come_back()
        wait_for(lambda: site.get("/readyz") == (200, {"status": "ok"}), "the server is back")
        assert site.post("meanwhile")[0] == 202
        assert site.post("after")[0] == 202
        wait_for(lambda: len(site.feed()) == 4, "what was accepted leaves")
        assert sorted(site.feed()) == ["after", "before", "just before", "meanwhile"]
        # Somebody who waits between two tries learns of it later than the others.
        wait_for(lambda: everybody_has_noticed(tmp_path / "log"), "everybody has noticed")
        assert [ask("end", process) for process in alive] == [0, 0, 0]

    check_that_it_was_logged_once(tmp_path / "log")


def check_that_everybody_is_told(site, receipt):
    """Alive, and not ready; each refusal is a sentence without the names of files and machines."""
    assert site.get("/healthz") == (200, {"status": "ok"})
    assert site.get("/readyz") == (503, {"status": "unavailable"})
    for answer, sentence in (
        (site.post("meanwhile"), UNSURE),
        (site.get(FEED), AWAY),
        (site.get("/v1/receipt", tarry_receipt=receipt), AWAY),
    ):
        assert answer == (503, {"title": "The store is away", "status": 503, "detail": sentence})
    assert site.get("/v1/spaces")[0] == 200  # known by heart
    time.sleep(1.5)  # long enough for a worker to try in vain more than once
    assert site.get("/healthz") == (200, {"status": "ok"})
    assert site.get("/readyz")[0] == 503


def events(log):
    """What was logged by now; a line may be just being written."""
    whole, _, _ = log.read_text(encoding="utf-8").rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]


def away_and_back(log):
    """What was told of the store: that it is away, that it is back, and all of it."""
    told = [line["detail"] for line in events(log) if line["event"] in {"keeper", "store"}]
    away = [detail for detail in told if detail.endswith("; waiting for it to come back")]
    return away, [detail for detail in told if detail == "the store is back"], told


def everybody_has_noticed(log):
    """Whether all that have said that it is away have said that it is back."""
    away, back, _ = away_and_back(log)
    return len(away) == len(back)


def check_that_it_was_logged_once(log):
    """Each process says once that the store is away and once that it is back, and nothing of ours broke."""
    away, back, told = away_and_back(log)

    assert len(away) == len(back) >= 3
    missed = [detail for detail in told if MISSED.fullmatch(detail)]
    assert missed
    assert sorted(told) == sorted([*away, *back, *missed])
    mishaps = [line["detail"] for line in events(log) if line["event"] == "mishap"]
    assert all(each.endswith("WARNING of psycopg") for each in mishaps)  # about connections that were cut


# --- the target of a webhook ------------------------------------------------------------------------


@pytest.fixture
def receiver():
    """Where a webhook goes."""
    with HttpReceiver() as receiver:
        yield receiver


def webhook_to(receiver):
    return {"kind": "webhook", "url": f"http://127.0.0.1:{receiver.port}/hook"}


class Hooked:
    """A gateway with one space, "talk", that sends to a webhook, and a clock moved by hand."""

    def __init__(self, receiver):
        store, keys, self.clock = open_store(":memory:"), Keys(bytes(32)), ManualClock()
        policy = Policy(epsilon="1", gap="30s", window="10s")
        with store.transaction("closing") as transaction:
            add_space(transaction, keys, self.clock, "talk", policy, outlet=webhook_to(receiver))
        self.gateway = Gateway(store, keys, self.clock)
        self.headers = {"Authorization": f"Bearer {new_token(self.gateway, 'submit', 'operate')}"}

    def pass_time(self, seconds):
        """Time goes by; a worker does what is to be done then."""
        self.clock.sleep(seconds)
        with self.gateway.store.transaction("closing") as transaction:
            close_ticks(transaction, self.gateway.keys, self.clock)
        worker = Releaser(self.gateway.vault)
        worker.sweep()
        worker.release()


@pytest.mark.parametrize("trouble", [b"", says(503, "Service Unavailable")], ids=["hangs up", "is busy"])
def test_a_webhook_that_is_down_is_tried_again_until_a_person_has_to_look(receiver, trouble):
    """Every try sends the same bytes under one id; parked in the end, it leaves when it is put back."""
    receiver.answer = trouble
    hooked = Hooked(receiver)
    with TestClient(create_app(hooked.gateway), headers=hooked.headers) as http:
        post = {"actor": "ann", "target": "paper 3", "content": "I agree."}
        receipt = {"Tarry-Receipt": http.post("/v1/spaces/talk/posts", json=post).json()["receipt"]}
        for tries in range(1, MOST_ATTEMPTS + 1):
            hooked.pass_time(301)  # the longest wait between two tries is five minutes
            assert len(receiver.received) == tries
            state = http.get("/v1/receipt", headers=receipt).json()["state"]
            assert state == ("waiting" if tries < MOST_ATTEMPTS else "parked")
        hooked.pass_time(301)
        assert len(receiver.received) == MOST_ATTEMPTS

        (parked,) = http.get("/v1/spaces/talk/parked").json()["parked"]
        assert (parked["target"], parked["attempts"]) == ("paper 3", MOST_ATTEMPTS)
        assert parked["problem"].startswith("the webhook ")

        receiver.answer = says(204, "No Content")
        hooked.pass_time(301)
        assert len(receiver.received) == MOST_ATTEMPTS
        assert http.post(f"/v1/spaces/talk/parked/{parked['post']}/retry").status_code == 204
        hooked.pass_time(1)

        assert http.get("/v1/receipt", headers=receipt).json()["state"] == "released"
        assert http.get("/v1/spaces/talk/parked").json()["parked"] == []
    assert len(receiver.received) == MOST_ATTEMPTS + 1
    assert len({(each.head, each.body) for each in receiver.received}) == 1
    assert len({each.headers["Tarry-Id"] for each in receiver.received}) == 1


@pytest.mark.parametrize("others", [{"hook", "talk"}, {"talk"}], ids=["one is slow", "two are slow"])
def test_a_webhook_that_is_slow_holds_no_other_space_up(receiver, tmp_path, others):
    """While deliveries to one target hang, those of other spaces leave; while several do, feeds go on."""
    waking, lively = threading.Event(), HttpReceiver()
    receiver.answer = lambda *_: waking.wait(60)
    slow = {"slow"} if "hook" in others else {"slow", "slower"}
    outlets = {name: webhook_to(receiver) for name in slow}
    outlets |= {"hook": webhook_to(lively), "talk": {"kind": "feed"}}
    where = str(tmp_path / "gateway.db")
    site = Site(*free_ports(1), found_gateway(tmp_path, where, **outlets))
    with lively, processes(tmp_path, where) as ask:
        alive = [ask("serve", site.port), ask("work", 4)]
        posts = [f"{name} {number}" for name in slow for number in range(6)]
        for post in posts:  # more than the worker has threads
            assert site.post(post, post.split()[0])[0] == 202
        wait_for(lambda: len(receiver.received) == 1 + len(slow), "the targets hang")
        for name in others:
            assert site.post(name, name)[0] == 202
        wait_for(lambda: site.feed() == ["talk"], "the feed goes on", seconds=8)
        wait_for(lambda: len(lively.received) == ("hook" in others), "the other webhook too", seconds=8)
        assert len(receiver.received) == 1 + len(slow), "they hang no more: nothing was shown"

        receiver.answer = says(204, "No Content")
        waking.set()
        wait_for(lambda: len(arrived(receiver)) == len(posts), "what hung leaves in the end")
        assert [ask("end", process) for process in alive] == [0, 0]


def arrived(receiver):
    """The ids of what was sent."""
    return {each.headers["Tarry-Id"] for each in receiver.received}
