"""The processes of a gateway: they answer, say nothing about who asks, and end in good order."""

import io
import json
import re
import socket
import struct
import threading
import time
from contextlib import contextmanager

import httpx2
import pytest

from tarry.core.errors import NotPossible
from tarry.core.policy import Policy
from tarry.gateway.config import Config
from tarry.gateway.database import open_store
from tarry.gateway.feed import FeedOutlet
from tarry.gateway.monitoring import EVENTS, Log
from tarry.gateway.server import ThreadGroup, bind, serve, work
from tarry.gateway.space_changes import add_space
from tarry.gateway.testing import new_token, small_gateway
from tarry.keep.errors import Unavailable
from tarry.keep.posts import Release
from tarry.keep.store import SystemClock

DEADLINE_S = 30
#: Everything leaves within a second.
FAST = Policy(epsilon="6", gap="0.4s", window="0.2s", tick="0.1s")
POST = {"actor": "ann", "target": "p1", "content": "I agree."}


def wait_until(happens):
    end = time.monotonic() + DEADLINE_S
    while not (answer := happens()):
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)
    return answer


class Runner:
    """A server in a thread, with everything it has logged."""

    def __init__(self, gateway, **settings):
        self.gateway, self.stream, self.told = gateway, io.StringIO(), []
        self.running, self.failure = ThreadGroup(), None
        self._config = Config(port=0, **settings)
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            serve(self.gateway, self._config, Log(self.stream), self.running, self.told.append)
        except NotPossible as failure:
            self.failure = str(failure)

    def start(self):
        self._thread.start()
        wait_until(lambda: self.told or self.failure)

    def end(self):
        self.running.stop()
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()

    @property
    def log(self):
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def client(self, **more):
        return httpx2.Client(base_url=self.told[0], timeout=DEADLINE_S, trust_env=False, **more)


@contextmanager
def served(gateway=None, **settings):
    runner = Runner(gateway or small_gateway(FAST, SystemClock()), **settings)
    runner.start()
    try:
        yield runner
    finally:
        runner.end()


@pytest.fixture
def server():
    with served() as runner:
        runner.token = new_token(runner.gateway, "submit", "operate")
        yield runner


def authorised(server):
    return {"Authorization": f"Bearer {server.token}"}


def test_a_post_comes_in_waits_and_appears(server):
    with server.client(headers=authorised(server)) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.post("/v1/spaces/talk/posts", json=POST).status_code == 202
        items = wait_until(lambda: client.get("/v1/spaces/talk/feed").json()["items"])

    assert [item["content"] for item in items] == ["I agree."]


def test_no_answer_names_the_program_or_a_time(server):
    with server.client() as client:
        for path in ("/healthz", "/nowhere", "/v1/spaces/talk/feed"):
            assert {"server", "date"}.isdisjoint(client.get(path).headers)


def test_nothing_is_logged_at_a_request_whatever_comes(server):
    """Neither a good request nor a bad one, nor bytes that are no HTTP, adds a line."""
    before = len(server.log)
    with server.client(headers=authorised(server)) as client:
        client.post("/v1/spaces/talk/posts", json=POST)
        client.post("/v1/spaces/talk/posts", json=POST, headers={"Authorization": "Bearer none"})
        client.post("/v1/spaces/talk/posts", content=b"{", headers={"Content-Type": "application/json"})
        client.get("/v1/spaces/nowhere/feed")
        wait_until(lambda: client.get("/v1/spaces/talk/feed").json()["items"])
    port = int(server.told[0].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(b"no HTTP at all\r\n\r\n")
        raw.settimeout(DEADLINE_S)
        while raw.recv(1000):
            pass

    assert server.log[before:] == []


def test_something_that_breaks_is_told_in_the_end_without_what_was_sent(monkeypatch):
    with served(workers_in_server=0) as server:
        token = new_token(server.gateway, "submit")

        def broken(requests):
            raise KeyError(requests)

        monkeypatch.setattr(server.gateway, "admit", broken)
        with server.client(headers={"Authorization": f"Bearer {token}"}) as client:
            assert client.post("/v1/spaces/talk/posts", json=POST).status_code == 500
        assert [line["event"] for line in server.log] == ["started"]
    mishaps = [line["detail"] for line in server.log if line["event"] == "mishap"]

    assert mishaps == ["1 x submit_post broke: KeyError"]
    assert {line["event"] for line in server.log} <= set(EVENTS)
    assert "ann" not in server.stream.getvalue()


def test_metrics_have_a_listener_of_their_own():
    with served(metrics_port=0) as server:
        (started,) = [line["detail"] for line in server.log]
        main, other = re.findall(r"http://127\.0\.0\.1:\d+", started)
        assert main == server.told[0]
        with httpx2.Client(trust_env=False) as client:
            assert client.get(f"{other}/metrics").text.startswith("# HELP tarry_")
            assert client.get(f"{other}/healthz").status_code == 404
            assert client.get(f"{main}/metrics").status_code == 401


def test_new_spaces_and_tokens_are_known_within_seconds(tmp_path):
    """Another process makes them; its posts come in and appear."""
    store = open_store(str(tmp_path / "gateway.db"))
    with served(small_gateway(FAST, SystemClock(), store=store)) as server:
        other = open_store(str(tmp_path / "gateway.db"))
        with other.transaction("closing") as transaction:
            add_space(transaction, server.gateway.keys, SystemClock(), "late", FAST)
        fresh = small_gateway(FAST, SystemClock(), store=other)
        token = new_token(fresh, "submit")
        with server.client(headers={"Authorization": f"Bearer {token}"}) as client:
            wait_until(lambda: client.post("/v1/spaces/late/posts", json=POST).status_code == 202)
            wait_until(lambda: client.get("/v1/spaces/late/feed").json()["items"])
        other.close()
    store.close()


def test_a_store_that_goes_away_is_told_once_and_so_is_its_return(monkeypatch):
    monkeypatch.setattr("tarry.gateway.server._REFRESH_S", 0.01)
    with served(workers_in_server=0) as server:
        looks, refresh = [], server.gateway.refresh

        def away():
            looks.append(1)
            if len(looks) < 5:
                raise Unavailable("the store cannot be used: gone")
            return refresh()

        monkeypatch.setattr(server.gateway, "refresh", away)
        wait_until(lambda: len(looks) > 6)
    told = [line["detail"] for line in server.log if line["event"] == "store"]

    assert told == ["the store cannot be used: gone; waiting for it to come back", "the store is back"]


def test_a_request_that_has_begun_is_answered_before_the_end(server):
    """Told to stop in the middle of a request, it waits for the rest of it, and stores the post."""
    body = json.dumps(POST).encode()
    head = (
        f"POST /v1/spaces/talk/posts HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    port = int(server.told[0].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.settimeout(DEADLINE_S)
        raw.sendall(head.encode() + body[:5])
        with server.client() as client:  # by the time this is answered the other is being read
            client.get("/healthz")
        server.running.stop()
        wait_until(lambda: not _listens(port))
        raw.sendall(body[5:])
        answer = raw.recv(65536)

    assert answer.startswith(b"HTTP/1.1 202")
    server.end()
    assert [line["event"] for line in server.log] == ["started", "stopping", "stopped"]


def _listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def test_who_listens_to_a_stream_does_not_hold_the_end_up(server):
    with server.client() as client, client.stream("GET", "/v1/spaces/talk/feed/events") as answer:
        assert answer.status_code == 200
        lines = answer.iter_lines()
        next(lines)
        begun = time.monotonic()
        server.end()

    assert time.monotonic() - begun < 8  # and not the ten seconds that a request may take


def test_a_port_that_is_taken_is_told_in_one_sentence():
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        gateway, running = small_gateway(), ThreadGroup()
        for config in (Config(port=port), Config(port=0, metrics_port=port)):
            with pytest.raises(NotPossible, match=rf"cannot listen at 127.0.0.1, port {port} \(Address"):
                serve(gateway, config, Log(io.StringIO()), running, print)


def test_an_address_may_be_of_the_newer_kind():
    try:
        bind("::1", 0).close()
    except NotPossible:
        pytest.skip("this machine has no IPv6")
    with served(host="::1") as server:
        assert server.told[0].startswith("http://[::1]:")
        with server.client() as client:
            assert client.get("/healthz").status_code == 200


def test_a_part_that_breaks_ends_the_server_and_is_told(monkeypatch):
    def broken(_):
        raise ZeroDivisionError

    monkeypatch.setattr("tarry.gateway.server.Keeper.run", broken)
    runner = Runner(small_gateway(FAST, SystemClock()))
    runner.start()
    runner._thread.join(DEADLINE_S)

    assert re.fullmatch(
        r"the keeper broke \(ZeroDivisionError at test_server.py:\d+\): start it again, and report this",
        runner.failure,
    )
    assert [line["event"] for line in runner.log][-2:] == ["stopping", "stopped"]


def test_workers_release_what_a_server_without_any_takes_in(tmp_path):
    where = str(tmp_path / "gateway.db")
    gateway = small_gateway(FAST, SystemClock(), store=open_store(where))
    stream, running = io.StringIO(), ThreadGroup()
    with served(gateway, workers_in_server=0) as server:
        token = new_token(gateway, "submit")
        with server.client(headers={"Authorization": f"Bearer {token}"}) as client:
            client.post("/v1/spaces/talk/posts", json=POST)
            other = small_gateway(FAST, SystemClock(), store=open_store(where))
            worker = threading.Thread(target=work, args=(other, Log(stream), running))
            worker.start()
            wait_until(lambda: client.get("/v1/spaces/talk/feed").json()["items"])
            running.stop()
            worker.join(DEADLINE_S)

    events = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert events == ["started", "stopping", "stopped"]


def test_nothing_is_left_open(server):
    """Its end closes every connection: to who asked, and to the database."""
    port = server.told[0].rpartition(":")[2]
    server.end()

    assert not _listens(int(port))
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("listener")]


LEAVES = {
    "before the end of a head": b"GET /v1/spaces HTTP/1.1\r\nHost",
    "before the end of a body": b"POST /v1/spaces/talk/posts HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n"
    b"Content-Type: application/json\r\nAuthorization: Bearer %b\r\n\r\n{",
    "before the answer": b"GET /v1/spaces/talk/feed HTTP/1.1\r\nHost: x\r\n\r\n",
    "in the middle of a long answer": b"GET /v1/spaces/talk/feed HTTP/1.1\r\nHost: x\r\n\r\n",
    "in the middle of another one": b"GET /v1/spaces/talk/feed.atom HTTP/1.1\r\nHost: x\r\n\r\n",
    "in the middle of a stream": b"GET /v1/spaces/talk/feed/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n",
}


def test_whoever_leaves_is_no_mishap_of_ours():
    """However rudely: nothing is counted, and nothing told."""
    gateway = small_gateway(FAST, SystemClock())
    token = new_token(gateway).encode()
    large = Release(id="0" * 32, target="p", content=b"\x01" * (1 << 20), options={}, at=0)
    with gateway.store.transaction("working") as transaction:
        FeedOutlet("talk").record(transaction, [large])
    with served(gateway) as runner:
        port = int(runner.told[0].rpartition(":")[2])
        for how, sent in LEAVES.items():
            for _ in range(3):
                with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as line:
                    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    line.sendall(sent % token if b"%b" in sent else sent)
                    if "middle" in how:
                        assert line.recv(1000).startswith(b"HTTP/1.1 200")
        with runner.client() as client:
            assert client.get("/readyz").status_code == 200

    assert [line["event"] for line in runner.log] == ["started", "stopping", "stopped"]
