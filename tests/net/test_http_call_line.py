"""Connections: every place of a name has its share of the time, and no name is waited for too long."""

import socket
import threading
import time

import pytest

from contracts.http_receiver import HttpReceiver
from tarry.net import http_call
from tarry.net.address import Address
from tarry.net.http_call import Bounded, TooLong, connect

SOON_S, LONG_S = 0.3, 20
FORUM = Address(tls=False, host="forum.example", port=80, path="/")


def in_time(seconds=LONG_S):
    """The end of what begins now."""
    return time.monotonic() + seconds


def test_the_next_place_of_a_name_is_tried(monkeypatch):
    """A name with a dead address and a live one is reached."""
    with HttpReceiver() as receiver:
        live = socket.getaddrinfo("127.0.0.1", receiver.port, type=socket.SOCK_STREAM)
        with socket.create_server(("127.0.0.1", 0)) as closed:
            dead = socket.getaddrinfo(*closed.getsockname(), type=socket.SOCK_STREAM)
        no_such_family = [(socket.AF_UNSPEC, *dead[0][1:])]
        monkeypatch.setattr(http_call.socket, "getaddrinfo", lambda *_, **__: no_such_family + dead + live)

        with connect(FORUM, in_time()) as sock:
            assert sock.getpeername()[1] == receiver.port


def test_a_silent_place_leaves_time_for_the_next(monkeypatch):
    """Each place of a name has its share of the time that is left."""
    waits = []

    def silent(_place, wait_s):
        waits.append(wait_s)
        raise TimeoutError

    monkeypatch.setattr(http_call, "_open", silent)
    monkeypatch.setattr(http_call.socket, "getaddrinfo", lambda *_, **__: ["here", "there"])

    with pytest.raises(TimeoutError):
        connect(FORUM, in_time())
    assert LONG_S / 4 < waits[0] <= LONG_S / 2 < waits[1] <= LONG_S


def test_a_name_that_does_not_exist_is_told(monkeypatch):
    """What the resolver says is told."""

    def knows_nothing(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(http_call.socket, "getaddrinfo", knows_nothing)

    with pytest.raises(socket.gaierror, match="Name or service not known"):
        connect(FORUM, in_time())


def test_a_resolver_that_hangs_does_not_hold_the_worker(monkeypatch):
    """The name is not waited for any longer than the rest."""
    over, began = threading.Event(), time.monotonic()
    monkeypatch.setattr(http_call.socket, "getaddrinfo", lambda *_, **__: over.wait(LONG_S))
    try:
        with pytest.raises(TimeoutError):
            connect(FORUM, in_time(SOON_S))
    finally:
        over.set()
    assert SOON_S * 0.9 <= time.monotonic() - began < LONG_S / 2


def test_an_end_that_has_come_ends_every_step():
    """Nothing is sent, and nothing waited for, afterwards."""
    here, there = socket.socketpair()
    with here, there:
        there.sendall(b"too late")
        late = Bounded(here, in_time(-1))
        for step in (lambda: late.sendall(b"x"), lambda: late.makefile("rb").read(1)):
            with pytest.raises(TimeoutError):
                step()
    with pytest.raises(TimeoutError):
        connect(FORUM, in_time(-1))


def test_no_more_is_read_than_was_asked_for():
    """Whatever the bytes are meant to be, and however they are asked for."""
    here, there = socket.socketpair()
    with here, there:
        there.sendall(bytes(1000))
        with pytest.raises(TooLong):
            Bounded(here, in_time(), 999).makefile("rb").read(-1)
        there.sendall(bytes(1000))
        there.shutdown(socket.SHUT_WR)
        assert Bounded(here, in_time(), 1000).makefile("rb").read(-1) == bytes(1000)


def test_a_line_knows_whether_anything_was_sent():
    """As soon as the first byte is tried: some of it may arrive."""
    here, there = socket.socketpair()
    with here, there:
        line = Bounded(here, in_time())
        assert not line.sent
        line.sendall(b"x")
        assert line.sent
