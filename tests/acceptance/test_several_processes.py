"""`tarry serve --processes 2` is one server: whichever process answers, it counts and shows the same.

A client that keeps its connection stays with the process that it has reached; the other one is halted for
as long as that connection is made.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx2
import psycopg
import pytest

from acceptance.gateway_process import ask_http, found_gateway, wait_for
from gateway.test_connection_budget import budget, count_connections
from tarry.gateway.catalog import add_token, read_catalog
from tarry.gateway.database import open_store

WORKERS, BURST, STREAMS, CONNECTIONS = 2, 60, 3, 40
SETTINGS = {
    "workers_in_server": WORKERS,
    "rate_per_s": 1,
    "burst": BURST,
    "client_streams": STREAMS,
    "connections": CONNECTIONS,
    "boards": "talk",
    "client_posts_per_min": 1,
    "client_burst": 5,
}
#: What a browser says of its own forms.
OURS = {"Sec-Fetch-Site": "same-origin"}
EVENTS = "/v1/spaces/talk/feed/events"
POST = {"actor": "ann", "target": "p1", "content": "I agree."}


class Several:
    """The command, and hands on its processes."""

    def __init__(self, folder: Path, where: str, *, port: int = 0, found: bool = True) -> None:
        if found:
            found_gateway(folder, where)
        self.where = where
        told = {**SETTINGS, "database": where, "key_file": folder / "key", "port": port}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TARRY_")}
        self.first = subprocess.Popen(
            [sys.executable, "-m", "tarry", "serve", "--processes", "2", "--json"],
            env={**kept, **{f"TARRY_{name.upper()}": str(value) for name, value in told.items()}},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.url = json.loads(self.first.stdout.readline())["listening"]
        self.port = int(self.url.rpartition(":")[2])

    def others(self) -> list[int]:
        """The processes that answer."""
        children = Path(f"/proc/{self.first.pid}/task").glob("*/children")
        found = [int(child) for each in children for child in each.read_text(encoding="ascii").split()]
        return sorted(each for each in found if is_alive(each))

    def token(self, *scopes: str) -> str:
        """Another token; the command line would make it so."""
        with closing(open_store(self.where)) as store, store.transaction("closing") as transaction:
            return add_token(transaction, read_catalog(transaction), "a test", scopes)[1]

    @contextmanager
    def client_of(self, process: int, **more):
        """A client with one connection, which this process answers."""
        others = [each for each in self.others() if each != process]
        limits = httpx2.Limits(max_connections=1)
        with httpx2.Client(base_url=self.url, limits=limits, timeout=60, trust_env=False, **more) as client:
            for each in others:
                os.kill(each, signal.SIGSTOP)
            try:
                assert client.get("/healthz").status_code == 200
            finally:
                for each in others:
                    os.kill(each, signal.SIGCONT)
            yield client

    def end(self) -> list[dict]:
        """Ask it to end, in good order; what it has logged."""
        os.killpg(self.first.pid, signal.SIGTERM)
        out, err = self.first.communicate(timeout=60)
        assert (self.first.returncode, out) == (0, "")
        return [json.loads(line) for line in err.splitlines()]

    def remove(self) -> None:
        """Whatever has happened, nothing is left."""
        if self.first.poll() is None:
            self.first.kill()
        self.first.communicate(timeout=60)


def is_alive(process: int) -> bool:
    try:
        return b"tarry.gateway.processes" in Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


@pytest.fixture(scope="module")
def server(postgres_server, tmp_path_factory):
    """One server, whose processes nobody kills."""
    made = Several(tmp_path_factory.mktemp("several"), postgres_server.new_database())
    yield made
    made.remove()


@pytest.fixture
def own(postgres_server, tmp_path):
    """A server of one's own."""
    made = Several(tmp_path, postgres_server.new_database())
    yield made
    made.remove()


@pytest.fixture
def two(server):
    """A client of each process."""
    with ExitStack() as opened:
        yield [opened.enter_context(server.client_of(process)) for process in server.others()]


# --- limits ---------------------------------------------------------------------------------------


def test_a_token_has_one_rate(server, two):
    """Two processes with a rate each would let twice as many requests in."""
    headers = {"Authorization": f"Bearer {server.token('operate')}"}
    start, let_in = time.monotonic(), 0
    for turn in range(3 * BURST):
        answer = two[turn % 2].get("/v1/spaces/talk/parked", headers=headers)
        if answer.status_code == 429:
            break
        let_in += 1

    assert answer.status_code == 429
    assert let_in <= BURST + (time.monotonic() - start) * SETTINGS["rate_per_s"] + 1
    assert {each.get("/v1/spaces/talk/parked", headers=headers).status_code for each in two} <= {200, 429}


def test_a_client_without_a_token_has_one_rate(two):
    """On the board as well, and they are known by one name to both."""
    fields = {"target": "cats", "content": "They do not care."}
    answers = [
        two[turn % 2].post("/board/talk", data=fields, headers=OURS).status_code
        for turn in range(SETTINGS["client_burst"] + 1)
    ]

    assert answers == [303] * SETTINGS["client_burst"] + [429]


def test_streams_have_one_number_of_places(server, two, events_of):
    """Two here and one there are three."""
    here, there = server.others()
    opened = [events_of(here), events_of(here), events_of(there)]
    refused = [each.get(EVENTS) for each in two]

    assert [each.status_code for each in opened] == [200] * STREAMS
    assert [each.status_code for each in refused] == [429, 429]
    assert all("too many streams" in each.json()["detail"] for each in refused)


def begun(opened, client):
    """A stream that has its place: it says that it is here."""
    answer = opened.enter_context(client.stream("GET", EVENTS))
    lines = answer.iter_lines()
    opened.callback(lines.close)  # kept until then: the stream ends with whoever reads it
    assert next(lines) == ": here"
    return answer


@pytest.fixture
def events_of(server):
    """Opens streams of events."""
    with ExitStack() as opened:

        def listen(process):
            client = opened.enter_context(server.client_of(process))
            return begun(opened, client)

        yield listen


def test_connections_have_one_number_of_places(server):
    """However they are spread over the processes."""
    with ExitStack() as opened:
        answers = []
        for _ in range(CONNECTIONS + 1):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), 60))
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            answers.append(connection.recv(12))

    assert answers[-1] == b"HTTP/1.1 503"
    assert answers.count(b"HTTP/1.1 503") <= 5  # what the tests before have left is just being closed
    wait_for(lambda: ask_http(server.port, "GET", "/healthz") is not None, "there is room again")


# --- what operators do ----------------------------------------------------------------------------


def signed_in(server, client, process):
    """The session of an operator who signs in at one process."""
    assert (
        client.post("/desk/sign-in", data={"token": server.token("operate")}, headers=OURS).status_code
        == 303
    )
    return dict(client.cookies)


def csrf_of(client, path) -> str:
    return re.search(r'name="csrf" value="([0-9a-f]{64})"', client.get(path).text)[1]


def test_who_has_signed_out_is_out_everywhere(server, two):
    """A cookie that somebody has copied is worth nothing at the other process."""
    here, _ = two
    session = signed_in(server, here, 0)
    for client in two:
        client.cookies.update(session)
    assert [each.get("/desk").status_code for each in two] == [200, 200]

    assert (
        here.post("/desk/sign-out", data={"csrf": csrf_of(here, "/desk")}, headers=OURS).status_code == 303
    )
    here.cookies.update(session)
    assert [each.get("/desk").status_code for each in two] == [303, 303]


def test_an_audit_is_the_same_at_both(server, two):
    """It is uploaded at one, looked at by the other, and deleted for both."""
    here, there = two
    there.cookies.update(signed_in(server, here, 0))
    rows = "".join(f"ann,page {n},{n}\n" for n in range(200))
    files = {"history": ("votes.csv", f"user,page,at\n{rows}".encode())}
    fields = {"csrf": csrf_of(here, "/audit")}
    sent = here.post("/audit", data=fields, files=files, headers=OURS)
    place = sent.headers["location"]

    wait_for(lambda: there.get(f"{place}/state").json()["state"] == "ready", "its columns are known")
    assert there.get("/audit").text.count(place) == here.get("/audit").text.count(place) > 0
    assert there.post(f"{place}/delete", data=fields, headers=OURS).status_code == 303
    assert [each.get(f"{place}/state").status_code for each in two] == [404, 404]


def test_both_tell_the_same_metrics(server, two):
    """They are read from the database; of the clock's two lines the later one is later."""
    headers = {"Authorization": f"Bearer {server.token('submit', 'operate')}"}
    assert two[0].post("/v1/spaces/talk/posts", json=POST, headers=headers).status_code == 202
    wait_for(lambda: two[1].get("/v1/spaces/talk/feed").json()["items"], "it is released")
    told = [each.get("/metrics", headers=headers).text.splitlines() for each in two]

    lines = [[line for line in each if "_seconds " not in line] for each in told]
    assert lines[0] == lines[1]
    assert any(re.fullmatch(r'tarry_releases_total\{space="talk"\} [1-9].*', line) for line in lines[0])


def test_a_new_token_is_known_to_both_at_once(server, two):
    """Each process reads the catalog by itself."""
    headers = {"Authorization": f"Bearer {server.token('operate')}"}

    assert [each.get("/v1/spaces/talk/parked", headers=headers).status_code for each in two] == [200, 200]


# --- lives and deaths -----------------------------------------------------------------------------


def test_one_that_is_killed_is_replaced_and_what_it_held_is_free(own):
    """The other one answers meanwhile; the log tells it when the hour or the server ends."""
    victim, survivor = own.others()
    with own.client_of(victim) as doomed, doomed.stream("GET", EVENTS), own.client_of(survivor) as client:
        os.kill(victim, signal.SIGKILL)
        assert client.get("/healthz").status_code == 200
        wait_for(lambda: len(own.others()) == 2, "another one has begun")
        (new,) = set(own.others()) - {survivor}
        with ExitStack() as opened:
            wait_for(lambda: is_answering(own, new), "it answers")
            for _ in range(STREAMS):
                begun(opened, opened.enter_context(own.client_of(new)))
    log = own.end()

    assert [each["event"] for each in log] == ["started", "stopping", "mishap", "stopped"]
    assert log[2]["detail"] == "1 x a process that answers ended with -9, and was replaced"


def is_answering(server, process):
    """Whether it answers while the other one is halted."""
    os.kill(other := next(each for each in server.others() if each != process), signal.SIGSTOP)
    try:
        return ask_http(server.port, "GET", "/healthz") is not None
    finally:
        os.kill(other, signal.SIGCONT)


def test_when_the_first_one_is_killed_the_others_end_and_another_server_begins(own, tmp_path):
    """At the same port, at once."""
    others = own.others()
    own.first.kill()
    own.first.wait()
    again = Several(tmp_path, own.where, port=own.port, found=False)
    try:
        wait_for(lambda: not any(map(is_alive, others)), "the old ones have ended")
        assert ask_http(again.port, "GET", "/healthz") == (200, {"status": "ok"})
        assert [each["event"] for each in again.end()] == ["started", "stopping", "stopped"]
    finally:
        again.remove()


def test_signals_are_for_the_first_one(own):
    """Whoever ends the others by mistake has not ended the server; nothing is left when it has ended."""
    others = own.others()
    for process in others:
        os.kill(process, signal.SIGTERM)
        os.kill(process, signal.SIGINT)
    assert ask_http(own.port, "GET", "/healthz") == (200, {"status": "ok"})
    assert own.others() == others
    own.end()

    assert not any(map(is_alive, others))


def test_they_hold_no_more_connections_than_the_page_says(server):
    """N processes that answer hold N times as many, and the first one as many as a server of one."""
    token, most = server.token("submit", "operate"), []
    headers = {"authorization": f"Bearer {token}"}
    with psycopg.connect(server.where, autocommit=True) as onlooker:
        for _ in range(15):
            ask_http(server.port, "POST", "/v1/spaces/talk/posts", POST, **headers)
            ask_http(server.port, "GET", "/v1/spaces/talk/feed")
            most.append(count_connections(onlooker))

    assert max(most) <= 3 * budget("tarry serve") + WORKERS
