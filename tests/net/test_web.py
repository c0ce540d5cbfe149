"""Servers that answer in JSON: whatever they do, a value or one sentence comes, in time, and no secret."""

import ssl
import subprocess
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from net.loopback import Loopback, says
from tarry.core.errors import BadInput, NotPossible
from tarry.net.address import read_address
from tarry.net.web import get_json, post_json

SECRET = "open-sesame"  # noqa: S105 - of nobody
SOON_S = 0.3


def endless(start):
    """An answer that begins so and never ends."""

    def answer(file, stopping):
        file.write(start)
        while not stopping.is_set():
            file.write(b"[" * 65536)

    return answer


def trickle(file, stopping):
    """A byte of a header now and then."""
    file.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not stopping.wait(0.02):
        file.write(b"x")


def silent(_file, stopping):
    """No answer at all."""
    stopping.wait()


def in_turn(*answers):
    """One answer after the other, then the last again and again."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def failing(server, **options):
    """The sentence with which a question fails."""
    with pytest.raises((BadInput, NotPossible)) as caught:
        get_json(f"{server.url}?key={SECRET}", headers={"Authorization": SECRET}, **options)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_a_server_learns_the_question_and_the_same_of_everybody_else():
    """Parameters as they are given, a constant name, nothing of this machine."""
    with Loopback(lambda _: says({"ok": [1]})) as server:
        value = get_json(f"{server.url}?a=1", {"title": "Ö|&=", "empty": ""})

    (asked,) = server.asked
    assert value == {"ok": [1]}
    assert (asked.method, asked.path) == ("GET", "/api.php")
    assert asked.query == {"a": "1", "title": "Ö|&=", "empty": ""}
    assert asked.headers == {
        "accept": "application/json",
        "accept-encoding": "identity",
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "tarry",
    }


def test_a_value_is_posted():
    """As JSON."""
    with Loopback(lambda asked: says(asked.value)) as server:
        value = post_json(server.url, {"x": ["ö"]})

    (asked,) = server.asked
    assert value == {"x": ["ö"]}
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["user-agent"] == "tarry"


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_left_alone_as_long_as_it_wants(status):
    """By a number of seconds, by a moment of its own clock, or a usual time; then it is asked again."""
    clock = {"Date": "Wed, 01 May 2024 10:00:00 GMT", "Retry_After": "Wed, 01 May 2024 10:00:30 GMT"}
    busy = [
        says(status=status, Retry_After="7"),
        says(status=status, **clock),
        says(status=status, Retry_After="soon"),
        says(status=status),
    ]
    waits = []
    with Loopback(in_turn(*busy, says(5))) as server:
        assert get_json(server.url, wait=waits.append) == 5

    assert waits == [7, 30, 5, 5]
    assert len(server.asked) == 5


def test_an_answer_may_say_in_its_own_words_that_the_server_is_busy():
    """Such as a lag told with status 200."""
    waits = []
    with Loopback(in_turn(says({"error": "lag"}, Retry_After="3"), says({"fine": 1}))) as server:
        assert get_json(server.url, wait=waits.append, busy=lambda value: "error" in value) == {"fine": 1}

    assert waits == [3]


def test_a_server_that_stays_busy_is_given_up():
    """After a few times; and at once when it wants longer than anybody waits."""
    waits = []
    with Loopback(lambda _: says(status=503)) as server:
        assert "stays too busy to answer, asked 5 times" in failing(server, wait=waits.append)
    assert waits == [5] * 4
    with Loopback(lambda _: says(status=429, Retry_After="3600")) as server:
        assert "left alone for 3600 seconds: try again then" in failing(server, wait=waits.append)
    assert len(waits) == 4


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (says(status=401), "answered 401 Unauthorized: check the login"),
        (says(status=404), "answered 404 Not Found: check the address"),
        (says(status=500), "answered 500 Internal Server Error: try again later"),
        (says(status=799), "answered 799"),
        (says(body=b"<html>"), "answered 6 bytes that are no JSON: check the address"),
        (says(body=b""), "answered nothing: check the address"),
        (says(body=b'{"a": 1'), "answered 7 bytes that are no JSON"),
        (says(body=b"\xff\xfe"), "bytes that are no JSON"),
        (says(body=b"[" * 100_000), "bytes that are no JSON"),
        (b"SSH-2.0-OpenSSH\r\n", "answered something that is not HTTP"),
        (b"", "hung up before its answer was whole"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", "hung up before its answer was whole"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}", "hung up before"),
        (endless(b"HTTP/1.1 200 OK\r\n\r\n"), "answered more than 1000000 bytes"),
        (endless(b"HTTP/1.1 200 OK\r\nX: "), "answered something that is not HTTP"),
    ],
)
def test_what_is_no_answer_is_told_in_one_sentence(answer, told):
    """Who, what, what to do; nothing of what the server said, and no secret."""
    with Loopback(lambda _: answer) as server:
        sentence = failing(server, most=1_000_000)

    assert told in sentence
    assert f"the server 127.0.0.1:{server.port}" in sentence
    assert len(sentence.splitlines()) == 1


@pytest.mark.parametrize("slow", [silent, trickle])
def test_all_waits_together_end(slow):
    """Also with a server that sends a byte now and then; and the thread that asked ends as well."""
    before, began = threading.active_count(), time.monotonic()
    with Loopback(lambda _: slow) as server:
        assert "did not answer within 0.3 seconds" in failing(server, timeout_s=SOON_S)
        assert time.monotonic() - began < 10
    deadline = time.monotonic() + 10
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_redirect_within_a_server_is_followed():
    """With the question as the new address has it."""
    with Loopback(in_turn(says(status=302, Location="/w/api.php?moved=1"), says(5))) as server:
        assert get_json(server.url, {"a": "1"}) == 5

    assert (server.asked[1].path, server.asked[1].query) == ("/w/api.php", {"moved": "1"})


@pytest.mark.parametrize(
    "to",
    [
        "http://127.0.0.2/",
        "http://localhost:{port}/",
        "http://127.0.0.1:9/",
        "https://127.0.0.1:{port}/",
        "ftp://127.0.0.1:{port}/",
        "//evil.example/",
        "http://127.0.0.1:x/",
    ],
)
def test_no_redirect_leads_to_another_server(to):
    """The person decides whether to trust it."""
    with Loopback(lambda _: says(status=301, Location=to.format(port=server.port))) as server:
        assert "redirects elsewhere: give the address that it leads to" in failing(server)
    assert len(server.asked) == 1


def test_a_login_is_never_redirected():
    """Not even within the server."""
    with (
        Loopback(lambda _: says(status=307, Location="/other")) as server,
        pytest.raises(BadInput, match="redirects elsewhere"),
    ):
        post_json(server.url, {"id": "ann", "password": SECRET})
    assert len(server.asked) == 1


def test_a_circle_of_redirects_ends():
    """With a sentence."""
    with Loopback(lambda _: says(status=301, Location="/api.php")) as server:
        assert "redirects in a circle" in failing(server)
    assert len(server.asked) == 4


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path):
    """Whatever it says."""
    paths = [str(tmp_path / name) for name in ("key", "certificate")]
    command = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-keyout", paths[0], "-out", paths[1]], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(paths[1], paths[0])

    with (
        Loopback(lambda _: says(5), tls) as server,
        pytest.raises(NotPossible, match="has an untrusted certificate"),
    ):
        get_json(server.url.replace("http:", "https:"))
    assert server.asked == []


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("ftp://wiki.example", "must begin with http"),
        ("wiki.example/api.php", "must begin with http"),
        ("file:///etc/passwd", "must begin with http"),
        (f"http://ann:{SECRET}@wiki.example", "must hold no user or password"),
        ("http:///api.php", "must have a host"),
        ("http://wiki.example:0/", "must have a host and a port that can be"),
        ("http://wiki.example:99999/", "is not a URL with a host and a port"),
        ("http://a..b/", "(must have|is not a URL with) a host and a port"),
        ("http://[::1/", "(must have|is not a URL with) a host and a port"),
        ("http://wiki.example/a b", "must be printable ASCII"),
        ("http://wiki.example/\r\nHost: x", "must be printable ASCII"),
        ("", "must begin with http"),
    ],
)
def test_an_address_that_can_be_none_is_refused(address, told):
    """Before anything is sent, and without showing a password."""
    with pytest.raises(BadInput, match=told) as caught:
        get_json(address)
    assert SECRET not in str(caught.value)


def test_a_header_that_would_end_early_is_refused_without_showing_it():
    """It may be a token."""
    with pytest.raises(BadInput, match="a header of a request must be printable ASCII") as caught:
        get_json("http://127.0.0.1:9/", headers={"Authorization": f"{SECRET}\n"})
    assert SECRET not in str(caught.value)


@given(some.text() | some.from_regex(r"https?://.*"))
def test_any_text_is_an_address_or_one_sentence(text):
    """What is accepted has a host, and a port if it names one."""
    try:
        parts = read_address(text)
    except BadInput as error:
        told = str(error)
        assert len(told.splitlines()) == 1
    else:
        assert parts.host
        assert parts.port != 0
