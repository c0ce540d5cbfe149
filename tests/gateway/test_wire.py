"""What is read of a request before anybody knows who sends it: not much, and not for long."""

import contextlib
import socket

import pytest

from tarry.gateway import wire

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
    monkeypatch.setattr(wire, "HEAD_S", 0.2)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(begin)

        assert heard(line) == b""


def test_the_next_head_on_the_same_connection_is_held_to_the_same(port, monkeypatch):
    """The first one was whole."""
    monkeypatch.setattr(wire, "HEAD_S", 0.5)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(GET + b"\r\n" + GET)
        told = heard(line)

    assert told.count(b"200 OK") == 1


def test_a_long_body_and_many_requests_pass(site, new_server):
    """Bodies have a limit of their own."""
    server = new_server(site.app)
    post = {"actor": "ann", "target": "p1", "content": "a" * 900_000}
    with server.client(headers={"Authorization": f"Bearer {site.token}"}) as http:
        statuses = [http.post("/v1/spaces/talk/posts", json=post).status_code for _ in range(3)]
        statuses += [http.get("/healthz").status_code for _ in range(200)]

    assert set(statuses) == {200, 202}
