"""One call of an HTTP server: bounded in time, and nothing of a stranger's words goes further."""

import socket
import sys
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as some

from contracts.http_receiver import HttpReceiver, says
from tarry.net.address import read_address
from tarry.net.http_call import NoAnswer, Response, call, one_line

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


def silent(_file, stopping):
    """A server that listens and never answers."""
    stopping.wait()


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


def test_a_name_is_told_without_its_usual_port(receiver, monkeypatch):
    """As everybody else tells it."""
    here = socket.getaddrinfo("127.0.0.1", receiver.port, type=socket.SOCK_STREAM)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: here)

    for url in ("http://forum.example/", "http://forum.example:80/", "http://forum.example:81/"):
        call(read_address(url), {}, b"", timeout_s=LONG_S)
    told = [request.headers["Host"] for request in receiver.received]
    assert told == ["forum.example", "forum.example", "forum.example:81"]


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

    assert ask(receiver, body=bytes(50_000_000)).status == 413


# --- trouble -------------------------------------------------------------------------------------


def test_nobody_there_is_told(receiver):
    """A port that nobody listens at."""
    receiver.stop()

    with pytest.raises(NoAnswer, match=r"^the server cannot be reached: Connection refused$") as trouble:
        ask(receiver)
    assert (trouble.value.kind, trouble.value.reason) == ("unreachable", "Connection refused")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "the server hung up"),
        (b"\x1b[31m220 mail.example ESMTP\r\n", "the server answered something that is not HTTP"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "the server answered something that is not HTTP"),
        (b"HTTP/1.1 20", "the server answered something that is not HTTP"),
        (
            b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500 + b"\r\n",
            "the server answered something that is not HTTP",
        ),
        (b"HTTP/1.1 200 " + b"a" * 70_000, "the server answered something that is not HTTP"),
    ],
)
def test_what_is_no_answer_is_not_told(receiver, answer, told):
    """A server that hangs up, or speaks another language, is tried again, and its words go no further."""
    receiver.answer = answer

    with pytest.raises(NoAnswer) as trouble:
        ask(receiver)
    assert str(trouble.value) == told
    assert (trouble.value.kind, trouble.value.reason) == ("not HTTP" if answer else "hung up", "")


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


@pytest.mark.parametrize("reason", ["", "\x1b[2J\x07\x85", "long " * 1000, "no, lgpassword=s3cret"])
def test_no_word_of_a_servers_own_is_told(receiver, reason):
    """It may repeat what was sent, or steer a terminal: the number is told, and what it means."""
    receiver.answer = says(500, reason, body=b"a secret of the server's")
    answer = ask(receiver)

    assert str(answer) == "500 Internal Server Error"
    assert "s3cret" not in repr(answer)


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
    with pytest.raises(NoAnswer, match=r"^the wiki answered more than 4 bytes$") as trouble:
        read(receiver, most=4)
    assert trouble.value.kind == "too long"


@pytest.mark.parametrize(
    ("rest", "kind", "told"),
    [
        (b"Content-Length: 100\r\n\r\nhalf", "hung up", "hung up"),
        (
            b"Transfer-Encoding: chunked\r\n\r\n9\r\nhalf",
            "half an answer",
            "answered something that is not HTTP",
        ),
        (
            b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            "half an answer",
            "answered something that is not HTTP",
        ),
    ],
)
def test_half_an_answer_is_none(receiver, rest, kind, told):
    """What is wanted has to come whole."""
    receiver.answer = b"HTTP/1.1 200 OK\r\n" + rest

    with pytest.raises(NoAnswer) as trouble:
        read(receiver)
    assert (trouble.value.kind, str(trouble.value)) == (kind, f"the wiki {told}")


def test_an_answer_that_drips_does_not_hold_the_worker(receiver):
    """All waits together end at one moment, and half an answer is none."""
    receiver.answer = drips(b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n")

    with pytest.raises(NoAnswer, match=r"^the wiki did not answer within 0\.3 seconds$"):
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

    with pytest.raises(NoAnswer, match=r"^the server did not answer within 0\.3 seconds$") as trouble:
        timed(lambda: ask(receiver, timeout_s=SOON_S))
    assert trouble.value.kind == "timeout"


def test_a_server_that_says_continue_for_ever_does_not_hold_the_worker(receiver):
    """Provisional answers are no answer; Python 3.14 gives up after a hundred of them, before the time."""

    def go_on(file, stopping):
        end = time.monotonic() + LONG_S
        while time.monotonic() < end and not stopping.wait(0.001):
            file.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    receiver.answer = go_on

    gives_up = sys.version_info >= (3, 14)
    with pytest.raises(
        NoAnswer, match="something that is not HTTP" if gives_up else "did not answer within"
    ):
        ask(receiver, timeout_s=SOON_S) if gives_up else timed(lambda: ask(receiver, timeout_s=SOON_S))


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
        with pytest.raises(NoAnswer, match="did not answer within"):
            timed(lambda: call(address, {}, bytes(50_000_000), timeout_s=SOON_S))


def test_encryption_that_never_begins_does_not_hold_the_worker(receiver):
    """It accepts, and says nothing of TLS."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = read_address(f"https://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(NoAnswer, match="did not answer within"):
            timed(lambda: call(address, {}, b"", timeout_s=SOON_S))


def timed(step):
    """Its answer, which comes neither at once nor late."""
    began = time.monotonic()
    try:
        return step()
    finally:
        took = time.monotonic() - began
        assert SOON_S * 0.9 <= took < SOON_S + CALM_S


def test_an_answer_reads_as_a_person_would_say_it():
    """A number that means nothing to anybody is told alone."""
    assert [str(Response(status=status)) for status in (404, 599)] == ["404 Not Found", "599"]


# --- whether anything was sent -------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no HTTP\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        says(200, body=bytes(101)),
        silent,
    ],
    ids=["hangs up", "nonsense", "half an answer", "too long", "silent"],
)
def test_who_gives_no_answer_may_have_done_it(receiver, answer):
    """The request had gone out."""
    receiver.answer = answer

    with pytest.raises(NoAnswer) as trouble:
        # Who is silent is waited for: long enough for a busy machine to have sent the request.
        read(receiver, timeout_s=CALM_S / 2 if answer is silent else LONG_S)
    assert trouble.value.sent


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_who_was_not_reached_has_not_done_it(receiver, scheme):
    """Nobody listens there, or it does not speak TLS: nothing was asked."""
    if scheme == "http":
        receiver.stop()
    address = read_address(f"{scheme}://127.0.0.1:{receiver.port}/")

    with pytest.raises(NoAnswer) as trouble:
        call(address, {}, b"", timeout_s=SOON_S)
    assert not trouble.value.sent


def test_a_name_that_is_none_was_asked_nothing(monkeypatch):
    """The resolver knows no such name."""
    monkeypatch.setattr(socket, "getaddrinfo", unknown_name)

    with pytest.raises(NoAnswer) as trouble:
        call(read_address("http://forum.example/"), {}, b"", timeout_s=SOON_S)
    assert not trouble.value.sent


def unknown_name(*_, **__):
    """A resolver that knows nobody."""
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


# --- whatever a server says, it is not read for ever -----------------------------------------------


@pytest.mark.parametrize("most", [0, 1000])
@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", bytes(1 << 16)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1;" + b"a" * 9999 + b"\r\nx\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\na: " + b"b" * 9999 + b"\r\n\r\n"),
    ],
    ids=["a piece of minus one byte", "pieces with long names", "heads without end"],
)
def test_what_is_no_body_is_counted_too(receiver, head, piece, most):
    """`http.client` reads some things without a limit; the line has one."""
    written = []

    def endless(file, stopping):
        file.write(head)
        while not stopping.is_set():
            written.append(file.write(piece))

    receiver.answer = endless
    tracemalloc.start()
    try:
        answer = read(receiver, most=most)
    except NoAnswer as trouble:
        answer = trouble.kind
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    if head and not most:
        assert answer.status == 200  # it was heard: what comes after it does not count
    else:
        assert answer == "too long"
    assert peak < 8 << 20
    assert sum(written) < 64 << 20  # the rest lies in the system's buffers
