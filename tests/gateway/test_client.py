"""The client: what it sends, what it tries again, and how it tells of refusals."""

import http.server
import logging
import threading
from contextlib import contextmanager

import httpx2
import msgspec
import pytest
from starlette.testclient import TestClient

from tarry.core.errors import BadInput
from tarry.gateway import client as client_module
from tarry.gateway.app import create_app
from tarry.gateway.bodies import PostIn
from tarry.gateway.client import Client, Refusal
from tarry.gateway.testing import new_token, small_gateway
from tarry.keep.closing import close_ticks
from tarry.keep.errors import Unavailable
from tarry.keep.releaser import Releaser


@pytest.fixture
def gateway():
    return small_gateway()


@pytest.fixture
def client(gateway):
    with TestClient(create_app(gateway)) as http:
        yield Client("http://testserver/", new_token(gateway), http=http)


@pytest.fixture(autouse=True)
def impatience(monkeypatch):
    """Nobody waits between two tries."""
    monkeypatch.setattr(client_module.time, "sleep", lambda _: None)


def a_post(target="paper 3", content="I agree."):
    return PostIn(actor="ann", target=target, content=content)


def pass_ticks(gateway, ticks):
    releaser = Releaser(gateway.vault)
    for _ in range(ticks):
        gateway.clock.sleep(1)
        with gateway.store.transaction("closing") as transaction:
            close_ticks(transaction, gateway.keys, gateway.clock)
        releaser.release()


def test_a_post_is_handed_in_asked_about_changed_and_taken_back(client):
    posted = client.submit("talk", a_post())

    assert posted.state == "waiting"
    assert client.status(posted.receipt).latest_at == posted.latest_at
    assert client.replace(posted.receipt, {"score": 3}).state == "waiting"
    assert client.withdraw(posted.receipt).state == "withdrawn"
    assert client.status(posted.receipt).state == "withdrawn"


def test_what_was_handed_in_is_read_in_the_feed(gateway, client):
    client.submit("talk", a_post(content={"score": 3}))
    client.submit_all("talk", [a_post("paper 4"), a_post("paper 5")])
    pass_ticks(gateway, 200)

    feed = client.feed("talk", after=0)
    assert sorted(item.target for item in feed.items) == ["paper 3", "paper 4", "paper 5"]
    assert {"score": 3} in [item.content for item in feed.items]
    assert client.feed("talk", after=feed.next).items == []
    assert [item.position for item in client.feed("talk", after=1, limit=1).items] == [2]


def test_the_policy_comes_with_its_promise(client):
    policy = client.policy("talk")

    assert policy.version == 1
    assert policy.promised
    assert policy.not_promised


def test_the_same_key_is_accepted_once(client):
    first, second = (client.submit("talk", a_post(), key="mine") for _ in range(2))

    assert first == second
    assert client.submit("talk", a_post()).receipt != first.receipt


def test_a_refusal_is_one_sentence_with_its_status(client):
    with pytest.raises(Refusal, match="no space 'nowhere'") as caught:
        client.submit("nowhere", a_post())
    assert caught.value.status == 404
    with pytest.raises(Refusal) as caught:
        client.status("0" * 64)
    assert caught.value.status == 404


class Flaky(httpx2.BaseTransport):
    """Answers as scripted, and remembers what was asked."""

    def __init__(self, *script):
        self.script, self.asked = list(script), []

    def handle_request(self, request):
        self.asked.append(request)
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


def receipt_answer():
    told = {
        "receipt": "ab",
        "state": "waiting",
        "release_at": None,
        "earliest_at": None,
        "latest_at": None,
    }
    return httpx2.Response(202, content=msgspec.json.encode(told))


def test_a_lost_answer_is_asked_for_again_with_the_same_key():
    script = Flaky(httpx2.ReadError("gone"), httpx2.Response(503), receipt_answer())
    client = Client("http://x", "tarry_a", http=httpx2.Client(transport=script))

    assert client.submit("talk", a_post()).receipt == "ab"
    keys = [request.headers["idempotency-key"] for request in script.asked]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert len({request.content for request in script.asked}) == 1


def test_it_gives_up_in_the_end():
    script = Flaky(*[httpx2.ConnectError("away")] * 5)
    client = Client("http://x", "tarry_a", http=httpx2.Client(transport=script))

    with pytest.raises(Unavailable, match=r"^no answer from the gateway at http://x: away$"):
        client.submit("talk", a_post())
    assert len(script.asked) == 5


def test_an_answer_of_something_else_is_told_in_one_sentence():
    script = Flaky(httpx2.Response(200, text="<html>"), httpx2.Response(200, json={"hello": "there"}))
    client = Client("http://x", "tarry_a", http=httpx2.Client(transport=script))

    for _ in range(2):
        with pytest.raises(Refusal, match="the server at http://x is no gateway: check the address"):
            client.policy("talk")


@pytest.mark.parametrize("url", ["127.0.0.1:8420", "localhost", "ftp://x", "http://", ""])
def test_an_address_that_is_none_is_refused_at_once(url):
    with pytest.raises(BadInput, match="must begin with http:// or https://"):
        Client(url)


class OneAnswer(http.server.BaseHTTPRequestHandler):
    """Accepts everything."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = receipt_answer().content
        self.send_response(202)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing."""


@contextmanager
def served():
    """A server on this machine."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), OneAnswer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_no_request_reaches_the_log_of_whoever_hands_posts_in(caplog):
    """An app that logs everything would else write down the moment of each arrival."""
    caplog.set_level(logging.DEBUG)
    with served() as url, Client(url, "tarry_a") as client:
        client.submit("talk", a_post())
    with pytest.raises(Unavailable), Client(url, "tarry_a") as client:
        client.submit("talk", a_post())

    assert caplog.records == []


def test_a_refusal_is_not_asked_for_again():
    script = Flaky(httpx2.Response(422, json={"title": "", "status": 422, "detail": "no"}))
    client = Client("http://x", "tarry_a", http=httpx2.Client(transport=script))

    with pytest.raises(Refusal, match="no"):
        client.submit("talk", a_post())
    assert len(script.asked) == 1


def test_a_receipt_goes_without_the_token():
    script = Flaky(httpx2.Response(200, content=receipt_answer().content))
    client = Client("http://x", "tarry_a", http=httpx2.Client(transport=script))
    client.status("secret")

    assert script.asked[0].headers["tarry-receipt"] == "secret"
    assert "authorization" not in script.asked[0].headers


def test_an_answer_that_is_not_ours_is_told_by_its_number():
    script = Flaky(*[httpx2.Response(502, text="<html>") for _ in range(5)])
    client = Client("http://x", "tarry_a", http=httpx2.Client(transport=script))

    with pytest.raises(Refusal, match="answered 502"):
        client.policy("talk")


def event(position):
    told = {"position": position, "id": "a", "target": "t", "at": "x", "options": {}, "content": "c"}
    return b"id: %d\nevent: release\ndata: %b\n\n" % (position, msgspec.json.encode(told))


def test_following_waits_for_a_gateway_that_is_away_and_asks_no_more_than_now_and_then(monkeypatch):
    """A stream that ends at once, and a proxy that says so, are the same as a broken connection."""
    waits = []
    monkeypatch.setattr(client_module.time, "sleep", waits.append)
    away = [httpx2.Response(503), httpx2.Response(502), httpx2.Response(429), httpx2.Response(200)]
    client = Client(
        "http://x", http=httpx2.Client(transport=Flaky(*away, httpx2.Response(200, content=event(1))))
    )

    assert next(client.follow("talk")).position == 1
    assert len(waits) == 4
    assert all(wait > 0 for wait in waits)


def test_following_what_is_not_there_is_refused():
    script = Flaky(httpx2.Response(404, json={"title": "", "status": 404, "detail": "no such space"}))
    with pytest.raises(Refusal, match="no such space"):
        next(Client("http://x", http=httpx2.Client(transport=script)).follow("talk"))


def test_following_goes_on_where_a_broken_connection_stopped():
    first = httpx2.Response(200, content=b": here\n\n" + event(1) + event(2))
    script = Flaky(first, httpx2.ReadError("gone"), httpx2.Response(200, content=event(3)))
    client = Client("http://x", http=httpx2.Client(transport=script))
    following = client.follow("talk")

    assert [next(following).position for _ in range(3)] == [1, 2, 3]
    assert [request.url.params["after"] for request in script.asked] == ["0", "2", "2"]
