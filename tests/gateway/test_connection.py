"""What is read of a request before anybody knows who sends it: not much, and not for long."""

import contextlib
import socket
from unittest.mock import Mock

import pytest

from tarry.gateway import connection, server
from tarry.gateway.app import create_app
from tarry.gateway.feed import FeedOutlet
from tarry.gateway.limits import Limits
from tarry.gateway.testing import small_gateway
from tarry.keep.posts import Release
from tarry.keep.sqlite import SqliteStore

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /v1/spaces/talk/posts HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
MOST_SENT = 8 << 20  # far more than is read, with all that sockets hold on the way
FLOODS = {
    "headers": (GET, b"X-A: " + b"a" * 1000 + b"\r\n"),
    "one header": (GET + b"X-A: ", b"a" * 1000),
    "an address": (b"GET /", b"a" * 1000),
    "trailers": (POST + b"0\r\n", b"X-A: " + b"a" * 1000 + b"\r\n"),
    "an extension of a chunk": (POST + b"1;", b"a" * 1000),
}


@pytest.fixture
def port(site, new_server):
    """Of a real server."""
    return new_server(site.app).port


def heard(line) -> bytes:
    """All that comes until the other side hangs up."""
    told = b""
    with contextlib.suppress(ConnectionResetError):
        while more := line.recv(1 << 16):
            told += more
    return told


@pytest.mark.parametrize("kind", FLOODS)
def test_a_head_that_never_ends_is_cut_off(port, kind):
    """It would fill the memory, whoever sends it."""
    begin, more = FLOODS[kind]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(begin)
        sent = 0
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while sent < MOST_SENT:
                sent += line.send(more * 64)

    assert sent < MOST_SENT


@pytest.mark.parametrize("begin", [b"", GET, b"GET"])
def test_a_head_that_does_not_come_is_not_waited_for(port, monkeypatch, begin):
    """Connections are not endless either."""
    monkeypatch.setattr(connection, "HEAD_S", 0.2)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(begin)

        assert heard(line) == b""


def test_the_next_head_on_the_same_connection_is_held_to_the_same(port, monkeypatch):
    """The first one was whole."""
    monkeypatch.setattr(connection, "HEAD_S", 0.5)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(GET + b"\r\n" + GET)
        told = heard(line)

    assert told.count(b"200 OK") == 1


def test_a_long_body_and_many_requests_pass(site, new_server):
    """Bodies have a limit of their own."""
    behind = new_server(site.app)
    post = {"actor": "ann", "target": "p1", "content": "a" * 900_000}
    with behind.client(headers={"Authorization": f"Bearer {site.token}"}) as http:
        statuses = [http.post("/v1/spaces/talk/posts", json=post).status_code for _ in range(3)]
        statuses += [http.get("/healthz").status_code for _ in range(200)]

    assert set(statuses) == {200, 202}


# --- readers, and what comes after an answer ----------------------------------------------------------


@pytest.fixture
def full(tmp_path, new_server):
    """A real server whose feed is far longer than what sockets hold."""
    gateway = small_gateway(store=SqliteStore(tmp_path / "store", ("tarry.keep", "tarry.gateway")))
    releases = [Release(id="0" * 32, target="p", content=b"\x01" * (1 << 20), options={}, at=0)]
    with gateway.store.transaction("working") as transaction:
        FeedOutlet("talk").record(transaction, releases)
    return new_server(create_app(gateway))


ASKS = {
    "and stays": b"GET /v1/spaces/talk/feed HTTP/1.1\r\nHost: x\r\n\r\n",
    "and says goodbye": b"GET /v1/spaces/talk/feed HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "of a short answer again and again": b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 20,
}


@pytest.mark.parametrize("how", ASKS)
def test_a_reader_who_reads_nothing_is_cut_off(full, monkeypatch, wait_until, how):
    """What waits for it does not wait for ever, and what was begun for it ends."""
    monkeypatch.setattr(connection, "WRITE_S", 0.2)
    state = full._server.server_state
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", full.port))
        line.sendall(ASKS[how])
        wait_until(lambda: state.connections)
        wait_until(lambda: not state.connections)
        wait_until(lambda: not state.tasks)


def test_one_who_reads_gets_everything_however_long_it_takes(full, monkeypatch):
    """A reader is not slow because an answer is long."""
    monkeypatch.setattr(connection, "WRITE_S", 0.05)
    with full.client() as client:
        for _ in range(5):
            assert len(client.get("/v1/spaces/talk/feed").json()["items"][0]["content"]) == 1 << 20


def test_a_refused_body_is_not_read_to_its_end(port):
    """Nobody knows who sends it: the answer comes first, and then not much is read any more."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(
            b"POST /v1/spaces/talk/posts HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n"
        )
        assert line.recv(1 << 16).startswith(b"HTTP/1.1 401")
        sent = 0
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while sent < 8 * MOST_SENT:
                sent += line.send(b"x" * (1 << 16))

    assert sent < 8 * MOST_SENT


def test_nor_is_it_waited_for(port, monkeypatch):
    """Though a byte comes now and then."""
    monkeypatch.setattr(connection, "LEFT_S", 0.2)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(b"POST /v1/spaces/talk/posts HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n")
        assert line.recv(1 << 16).startswith(b"HTTP/1.1 401")
        line.sendall(b"x")

        assert heard(line) == b""


def test_a_body_that_ends_soon_after_its_answer_leaves_the_connection_open(port, monkeypatch):
    """The next request on it is answered."""
    monkeypatch.setattr(connection, "LEFT_S", 0.0)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(b"POST /v1/spaces/talk/posts HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n")
        assert line.recv(1 << 16).startswith(b"HTTP/1.1 401")
        line.sendall(b"xyz" + GET + b"\r\n")

        assert line.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_one_connection_too_many_is_told_to_come_back(new_server, wait_until):
    """And when somebody has gone there is room again."""
    behind = new_server(create_app(small_gateway(), limits=Limits(connections=3)))
    with contextlib.ExitStack() as opened:
        lines = [
            opened.enter_context(socket.create_connection(("127.0.0.1", behind.port), timeout=20))
            for _ in range(3)
        ]
        wait_until(lambda: len(behind._server.server_state.connections) == 3)
        with socket.create_connection(("127.0.0.1", behind.port), timeout=20) as refused:
            told = heard(refused)
        assert told.startswith(b"HTTP/1.1 503")
        assert told.endswith(b"Too many connections are open: try again in a minute.")
        lines[0].close()
        wait_until(lambda: len(behind._server.server_state.connections) == 2)
        with behind.client() as client:
            assert client.get("/healthz").status_code == 200


def test_there_are_no_more_connections_than_the_system_has_files(monkeypatch):
    """Running out of them would stop deliveries too."""
    monkeypatch.setattr(server.resource, "getrlimit", lambda _: (1024, 1024))
    monkeypatch.setattr(server.resource, "setrlimit", Mock(side_effect=ValueError))
    with server.bind("127.0.0.1", 0) as listener:
        slots = server.Listener(create_app(small_gateway()), listener)._slots()
    clients = [slots.enter("127.0.0.1") for _ in range(1100)]

    assert clients.index(None) == 1024 - 200
