"""One call of an HTTP server: bounded in time, and nothing of a stranger's words goes further."""

import socket
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from contracts.http_receiver import HttpReceiver, says
from tarry.core.errors import BadInput
from tarry.keep.errors import Unreachable
from tarry.keep.outlets import http_call
from tarry.keep.outlets.http_call import Address, Answer, call, one_line, read_address

SOON_S, LONG_S = 0.3, 20
CALM_S = 5  # a slow machine's slack


@pytest.fixture
def receiver():
    """A server."""
    with HttpReceiver() as receiver:
        yield receiver


def ask(receiver, path="/hook", *, body=b"{}", timeout_s=LONG_S, **headers):
    """One call of it."""
    address = read_address(f"http://127.0.0.1:{receiver.port}{path}")
    return call(address, headers, body, timeout_s=timeout_s)


def read(receiver, *, most=100, timeout_s=LONG_S, **more):
    """One call of it by somebody who wants to know what it says."""
    address = read_address(f"http://127.0.0.1:{receiver.port}/api")
    return call(address, {}, b"a=b", timeout_s=timeout_s, who="the wiki", most=most, **more)


# --- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("http://forum.example", (False, "forum.example", 80, "/")),
        ("HTTPS://Forum.Example/", (True, "forum.example", 443, "/")),
        ("https://forum.example:8443/a/b?c=d&e", (True, "forum.example", 8443, "/a/b?c=d&e")),
        ("http://forum.example?c=%20d", (False, "forum.example", 80, "/?c=%20d")),
        ("http://forum.example//a", (False, "forum.example", 80, "//a")),
        ("http://127.0.0.1:80/@x", (False, "127.0.0.1", 80, "/@x")),
        ("http://[2001:db8::1]:81/", (False, "2001:db8::1", 81, "/")),
        ("http://my_host-1.internal.", (False, "my_host-1.internal.", 80, "/")),
    ],
)
def test_an_address_is_read(url, read):
    """The URL tells where to connect and what to ask for."""
    tls, host, port, path = read

    assert read_address(url) == Address(tls=tls, host=host, port=port, path=path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "forum.example",
        "//forum.example/",
        "ftp://forum.example/",
        "file:///etc/passwd",
        "http:///path",
        "http://",
        "http://:80/",
        "http://forum.example:0/",
        "http://forum.example:65536/",
        "http://forum.example:http/",
        "http://user@forum.example/",
        "http://user:password@forum.example/",
        "http://user:pass/word@forum.example/",
        "http://@forum.example/",
        "http://good.example\\@forum.example/",
        "http://forum.example/#",
        "http://forum.example/#top",
        "http://forum.example/a b",
        " http://forum.example/",
        "http://forum.example/\r\nHost: evil.example",
        "http://forum.exa\tmple/",
        "http://forum.example/\x00",
        "http://forum.example/ü",
        "http://bücher.example/",
        "http://a..b/",
        "http://-a.example/",
        "http://a%2fb/",
        f"http://{'a' * 64}.example/",
        f"http://{'a.' * 127}example/",
        "http://[::1/",
        "http://[forum.example]/",
        "http://[fe80::1%25eth0]/",
        "http://[::1]x/",
        "http://x[::1]/",
    ],
)
def test_what_is_no_address_is_refused(url):
    """With one sentence that shows no password."""
    with pytest.raises(BadInput, match=r"^the address of a webhook ") as told:
        read_address(url)
    assert "pass" not in str(told.value).removesuffix(
        "holds no user or password, found one: leave them out"
    )
    assert str(told.value).isprintable()


# --- calls ---------------------------------------------------------------------------------------


def test_a_call_is_one_post(receiver):
    """The request is what was asked for and what HTTP needs, and the answer is told."""
    receiver.answer = says(201, "Created")

    assert str(ask(receiver, "/hook?a=b", body=b"[1]", Mood="glad")) == "201 Created"
    (request,) = receiver.received
    assert request.line == "POST /hook?a=b HTTP/1.1"
    assert request.body == b"[1]"
    assert dict(request.headers) == {
        "Host": f"127.0.0.1:{receiver.port}",
        "Accept-Encoding": "identity",
        "Content-Length": "3",
        "Mood": "glad",
    }


def test_a_big_body_arrives_whole(receiver):
    """More than a socket takes at once."""
    body = bytes(range(256)) * 20_000

    assert ask(receiver, body=body).status == 204
    assert receiver.received[0].body == body


def test_a_proxy_of_the_environment_is_not_asked(receiver, monkeypatch):
    """The operator's address is where it goes."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    assert ask(receiver).status == 204


def test_a_refusal_before_the_body_was_read_is_heard(receiver):
    """A server that will not read a long body says so and hangs up."""
    receiver.listens = False
    receiver.answer = says(413, "Too Large")

    assert str(ask(receiver, body=bytes(50_000_000))) == "413 Too Large"


def test_the_next_place_of_a_name_is_tried(receiver, monkeypatch):
    """A name with a dead address and a live one is reached."""
    live = socket.getaddrinfo("127.0.0.1", receiver.port, type=socket.SOCK_STREAM)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        dead = socket.getaddrinfo(*closed.getsockname(), type=socket.SOCK_STREAM)
    no_such_family = [(socket.AF_UNSPEC, *dead[0][1:])]
    monkeypatch.setattr(http_call.socket, "getaddrinfo", lambda *_, **__: no_such_family + dead + live)

    assert call(read_address("http://forum.example/"), {}, b"", timeout_s=LONG_S).status == 204
    assert receiver.received[0].headers["Host"] == "forum.example"


def test_a_silent_place_leaves_time_for_the_next(monkeypatch):
    """Each place of a name has its share of the time that is left."""
    waits = []

    def silent(_place, wait_s):
        waits.append(wait_s)
        raise TimeoutError

    monkeypatch.setattr(http_call, "_open", silent)
    monkeypatch.setattr(http_call.socket, "getaddrinfo", lambda *_, **__: ["here", "there"])

    with pytest.raises(Unreachable, match="did not answer within"):
        call(read_address("http://forum.example/"), {}, b"", timeout_s=LONG_S)
    assert LONG_S / 4 < waits[0] <= LONG_S / 2 < waits[1] <= LONG_S


# --- trouble -------------------------------------------------------------------------------------


def test_nobody_there_is_told(receiver):
    """A port that nobody listens at."""
    receiver.stop()

    with pytest.raises(Unreachable, match=r"^the webhook cannot be reached: Connection refused$"):
        ask(receiver)


def test_a_name_that_does_not_exist_is_told(monkeypatch):
    """What the resolver says is told."""

    def knows_nothing(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(http_call.socket, "getaddrinfo", knows_nothing)

    with pytest.raises(Unreachable, match=r"^the webhook cannot be reached: Name or service not known$"):
        call(read_address("http://forum.example/"), {}, b"", timeout_s=LONG_S)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "the webhook hung up"),
        (b"\x1b[31m220 mail.example ESMTP\r\n", "the webhook answered something that is not HTTP"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "the webhook answered something that is not HTTP"),
        (b"HTTP/1.1 20", "the webhook answered something that is not HTTP"),
        (
            b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500 + b"\r\n",
            "the webhook answered something that is not HTTP",
        ),
        (b"HTTP/1.1 200 " + b"a" * 70_000, "the webhook answered something that is not HTTP"),
    ],
)
def test_what_is_no_answer_is_not_told(receiver, answer, told):
    """A server that hangs up, or speaks another language, is tried again, and its words go no further."""
    receiver.answer = answer

    with pytest.raises(Unreachable) as trouble:
        ask(receiver)
    assert str(trouble.value) == told


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 100\r\n\r\nhalf",
        b"Content-Length: x\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"Content-Encoding: gzip\r\n\r\nno gzip",
        b"\r\n",
    ],
)
def test_a_broken_body_does_not_change_the_outcome(receiver, rest):
    """The status has been heard: sending it again would send it twice."""
    receiver.answer = b"HTTP/1.1 200 OK\r\n" + rest

    assert ask(receiver).status == 200


def test_an_endless_answer_is_not_read_to_its_end(receiver):
    """After 64 KiB the rest is left."""
    written = []

    def endless(file, stopping):
        file.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not stopping.is_set():
            written.append(file.write(bytes(1 << 16)))

    receiver.answer = endless
    began = time.monotonic()

    assert ask(receiver).status == 200
    assert time.monotonic() - began < CALM_S
    assert sum(written) < 64 << 20  # the rest lies in the system's buffers


@given(some.text())
def test_a_line_for_a_person_is_one_line(text):
    """Printable ASCII, and never long."""
    line = one_line(text)

    assert line == "" or (line.isascii() and line.isprintable() and line == line.strip())
    assert len(line) <= 200


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("", "500"),
        ("a\x1b[2Jb\x07\x85c", "500 a [2Jb c"),
        ("long " * 1000, "500 " + ("long " * 40).strip()),
    ],
)
def test_the_reason_is_told_as_one_plain_line(receiver, reason, told):
    """A terminal is not steered by a stranger."""
    receiver.answer = says(500, reason, body=b"a secret of the server's")

    assert str(ask(receiver)).strip() == told


# --- what it says --------------------------------------------------------------------------------


def test_an_answer_is_read_where_it_is_wanted(receiver):
    """Its body, its headers by names in lower case, and its cookies."""
    cookies = [
        "Set-Cookie: a=1; path=/; HttpOnly",
        "set-cookie: b = x=y ;Max-Age=0",
        "Set-Cookie: nonsense",
    ]
    receiver.answer = says(200, "OK", "X-Mood: glad", *cookies, body=b"words")
    answer = read(receiver)

    assert (str(answer), answer.body, answer.headers["x-mood"]) == ("200 OK", b"words", "glad")
    assert answer.cookies == {"a": "1", "b": "x=y"}
    assert "words" not in repr(answer)


def test_an_answer_is_not_kept_where_it_is_not_wanted(receiver):
    """Only its status counts."""
    receiver.answer = says(200, "OK", "Set-Cookie: a=1", body=b"words")
    answer = ask(receiver)

    assert (answer.body, answer.headers, answer.cookies) == (b"", {}, {})


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 5\r\n\r\nwords",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nwo\r\n3\r\nrds\r\n0\r\n\r\n",
        b"\r\nwords",
    ],
    ids=["length", "chunks", "until it hangs up"],
)
def test_an_answer_may_be_as_long_as_was_said(receiver, rest):
    """To the byte; however its end is told, one that is longer is none."""
    receiver.answer = b"HTTP/1.1 200 OK\r\n" + rest

    assert read(receiver, most=5).body == b"words"
    with pytest.raises(Unreachable, match=r"^the wiki answered more than 4 bytes$"):
        read(receiver, most=4)


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        (b"Content-Length: 100\r\n\r\nhalf", "the wiki hung up"),
        (
            b"Transfer-Encoding: chunked\r\n\r\n9\r\nhalf",
            "the wiki answered something that is not HTTP",
        ),
        (b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "the wiki answered something that is not HTTP"),
    ],
)
def test_half_an_answer_is_none(receiver, rest, told):
    """What is wanted has to come whole."""
    receiver.answer = b"HTTP/1.1 200 OK\r\n" + rest

    with pytest.raises(Unreachable) as trouble:
        read(receiver)
    assert str(trouble.value) == told


def test_an_answer_that_drips_does_not_hold_the_worker(receiver):
    """All waits together end at one moment, and half an answer is none."""
    receiver.answer = drips(b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n")

    with pytest.raises(Unreachable, match=r"^the wiki did not answer within 0\.3 seconds$"):
        timed(lambda: read(receiver, timeout_s=SOON_S))


def test_a_question_without_a_body_has_none(receiver):
    """By whichever method; a POST says that there is nothing."""
    address = read_address(f"http://127.0.0.1:{receiver.port}/api")
    for method in ("GET", "DELETE", "POST"):
        call(address, {}, b"", timeout_s=LONG_S, method=method)

    seen = [(each.line, each.headers["Content-Length"], each.body) for each in receiver.received]
    assert seen == [
        ("GET /api HTTP/1.1", None, b""),
        ("DELETE /api HTTP/1.1", None, b""),
        ("POST /api HTTP/1.1", "0", b""),
    ]


# --- time ----------------------------------------------------------------------------------------


def drips(head):
    """Says this, and then a byte every now and then, for much longer than anybody should listen."""

    def drip(file, stopping):
        file.write(head)
        for _ in range(300):
            if not stopping.wait(SOON_S / 10):
                file.write(b"a")

    return drip


@pytest.mark.parametrize(
    "head",
    [b"", b"HTTP/1.1 200 O", b"HTTP/1.1 200 OK\r\nX: "],
    ids=["silence", "a reason without end", "a header without end"],
)
def test_a_server_that_drips_does_not_hold_the_worker(receiver, head):
    """However it spreads its bytes, the call ends when it should."""
    receiver.answer = drips(head) if head else lambda _file, stopping: stopping.wait(LONG_S)

    with pytest.raises(Unreachable, match=r"^the webhook did not answer within 0\.3 seconds$"):
        timed(lambda: ask(receiver, timeout_s=SOON_S))


def test_a_server_that_says_continue_for_ever_does_not_hold_the_worker(receiver):
    """Provisional answers are no answer."""

    def go_on(file, stopping):
        end = time.monotonic() + LONG_S
        while time.monotonic() < end and not stopping.wait(0.001):
            file.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    receiver.answer = go_on

    with pytest.raises(Unreachable, match="did not answer within"):
        timed(lambda: ask(receiver, timeout_s=SOON_S))


@pytest.mark.parametrize(
    "rest", [b"Content-Length: 9999\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nfff\r\n"]
)
def test_a_body_that_drips_ends_in_time_and_counts_as_arrived(receiver, rest):
    """The status was heard in time."""
    receiver.answer = drips(b"HTTP/1.1 200 OK\r\n" + rest)

    assert timed(lambda: ask(receiver, timeout_s=SOON_S)).status == 200


def test_a_server_that_does_not_read_does_not_hold_the_worker():
    """It accepts, and takes nothing in."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = read_address(f"http://127.0.0.1:{deaf.getsockname()[1]}")
        with pytest.raises(Unreachable, match="did not answer within"):
            timed(lambda: call(address, {}, bytes(50_000_000), timeout_s=SOON_S))


def test_encryption_that_never_begins_does_not_hold_the_worker(receiver):
    """It accepts, and says nothing of TLS."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = read_address(f"https://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(Unreachable, match="did not answer within"):
            timed(lambda: call(address, {}, b"", timeout_s=SOON_S))


def test_a_resolver_that_hangs_does_not_hold_the_worker(monkeypatch):
    """The name is not waited for any longer than the rest."""
    over = threading.Event()
    monkeypatch.setattr(http_call.socket, "getaddrinfo", lambda *_, **__: over.wait(LONG_S))
    try:
        with pytest.raises(Unreachable, match="did not answer within"):
            timed(lambda: call(read_address("http://forum.example"), {}, b"", timeout_s=SOON_S))
    finally:
        over.set()


def timed(step):
    """Its answer, which comes neither at once nor late."""
    began = time.monotonic()
    try:
        return step()
    finally:
        took = time.monotonic() - began
        assert SOON_S * 0.9 <= took < SOON_S + CALM_S


def test_an_answer_reads_as_a_person_would_say_it():
    """Without a reason there is no blank."""
    assert [str(Answer(status=404, reason=reason)) for reason in ("", "Gone away")] == [
        "404",
        "404 Gone away",
    ]
