"""One question to a node: how it is asked, what counts as an answer, and where no question is put."""

import json
import time

import pytest

from contracts.http_receiver import says
from contracts.node_server import NodeServer
from tarry.core.errors import BadInput
from tarry.keep.errors import Unreachable
from tarry.net.address import read_address
from tarry.net.http_call import Response
from tarry.places.bitcoin.client import Node, NodeError, read_node


@pytest.fixture
def server(tmp_path):
    with NodeServer(tmp_path) as server:
        yield server


@pytest.fixture
def node(server):
    return read_node(server.url, cookie=server.cookie, timeout_s=5)


def test_a_question_says_what_is_asked_and_nothing_else(server, node):
    """Every byte but the length and the port is known beforehand."""
    assert node.ask("getblockcount") == 850_000

    (asked,) = server.received
    assert asked.body == b'{"jsonrpc": "1.0", "id": "tarry", "method": "getblockcount", "params": []}'
    assert asked.line == "POST / HTTP/1.1"
    assert dict(asked.headers) == {
        "Host": f"127.0.0.1:{server.port}",
        "Accept-Encoding": "identity",
        "Content-Length": str(len(asked.body)),
        "User-Agent": "tarry",
        "Connection": "close",
        "Content-Type": "application/json",
        "Authorization": "Basic X19jb29raWVfXzpmaXJzdA==",
    }


def test_a_new_cookie_is_found_by_itself(server, node):
    """A node writes one at each start; while there is none, it does not run."""
    server.start("__cookie__:second")
    assert node.ask("getblockcount") == 850_000
    server.cookie.write_text("__cookie__:first")
    with pytest.raises(Unreachable, match="does not know this login"):
        node.ask("getblockcount")
    server.cookie.unlink()
    with pytest.raises(Unreachable, match="the node's cookie is not there: start the node"):
        node.ask("getblockcount")
    node.check()  # it may run again when it is needed


def test_a_login_file_lets_in(server):
    """A password may hold a colon."""
    node = read_node(server.url, login=server.login)
    node.check()
    assert node.ask("getblockcount") == 850_000


def test_a_login_file_that_others_can_read_is_refused(server):
    """At the start and at each question, and the password is never told."""
    server.login.chmod(0o640)
    node = read_node(server.url, login=str(server.login))
    with pytest.raises(BadInput, match="must be closed to everybody else, not have rights 640: chmod go="):
        node.check()
    with pytest.raises(Unreachable) as told:
        node.ask("getblockcount")
    assert str(told.value) == "the node's login file cannot be used as it is now", "it tells no path"


@pytest.mark.parametrize("text", ["", "no colon", "\nann:password"])
def test_a_login_file_is_one_line(server, text):
    """Of a user and a password."""
    server.login.write_text(text)
    with pytest.raises(BadInput, match="does not hold user:password: write it in one line"):
        read_node(server.url, login=server.login).check()


def test_a_cookie_whose_folder_is_not_there_is_a_mistake(server, tmp_path):
    """Nobody would ever write it."""
    with pytest.raises(BadInput, match=r"there is no folder .* with a node's cookie"):
        read_node(server.url, cookie=tmp_path / "no" / ".cookie").check()


@pytest.mark.parametrize("status", [200, 500, 404, 400])
def test_an_error_is_read_whatever_its_status(server, node, status):
    """By version and kind of error it is 200, 500, 404 or 400."""
    body = json.dumps({"result": None, "error": {"code": -26, "message": "du\x1bst\n" * 99}, "id": "tarry"})
    server.answer = says(status, "Whatever", body=body.encode())
    with pytest.raises(NodeError) as told:
        node.ask("sendrawtransaction", "00")
    assert (told.value.code, len(told.value.reason)) == (-26, 200)
    assert str(told.value).isprintable()


def test_an_answer_of_the_newer_protocol_is_read(server, node):
    """Version 2 leaves out what is empty, and an answer may be null."""
    for result in ("null", "7"):
        server.answer = says(200, "OK", body=f'{{"jsonrpc":"2.0","result":{result},"id":"tarry"}}'.encode())
        assert node.ask("gettxout", "00", 0) == json.loads(result)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        says(200, "OK"),
        says(200, "OK", body=b"<html>"),
        says(200, "OK", body=b"[]"),
        says(200, "OK", body=b"{}"),
        says(200, "OK", body=b'{"error": 7}'),
        says(200, "OK", body=b'{"error": {"code": "x", "message": ""}}'),
        *(
            says(500, "Error", body=b'{"error": {"code": %b, "message": ""}}' % code)
            for code in (
                b"1e1000000",
                b"1e9999999999999999999999",
                b"-26.0",
                b'"-26"',
                b"true",
                b"Infinity",
            )
        ),
        says(500, "Error", body=b'{"error": {"code": %b, "message": ""}}' % (b"9" * 4000)),
        says(200, "OK", body=b'{"result": 1e1000000}'),
        says(200, "OK", body=b'{"result": [NaN, -Infinity]}'),
        says(200, "OK", body=b'{"result": 0.%b}' % (b"1" * 60_000)),
        says(200, "OK", body=b"[" * 100_000),
        says(200, "OK", body=b" " * (64 << 10) + b"{}"),
        says(503, "Service Unavailable", body=b"Work queue depth exceeded"),
        says(502, "Bad Gateway"),
        says(403, "Forbidden"),
        says(401, "Unauthorized"),
        says(302, "Found", "Location: http://127.0.0.1:1/"),
    ],
)
def test_what_is_no_answer_is_for_a_later_try(server, node, answer):
    """It says nothing about the transaction."""
    server.answer = answer
    with pytest.raises(Unreachable, match="the node"):
        node.ask("sendrawtransaction", "00")


def answered(response):
    """What a question comes to when this is answered."""
    address = read_address("http://127.0.0.1:8332")
    return Node(address=address, send=lambda *_, **__: response).ask("getblockcount")


@pytest.mark.parametrize("number", ["1e1000000", "1e4000000", "-1e-4000000"])
def test_a_number_is_not_worked_out_for_minutes(number):
    """A code or an amount of a million digits would hold the whole keeper."""
    for body in (f'{{"error": {{"code": {number}, "message": ""}}}}', f'{{"result": {number}}}'):
        begun = time.process_time()
        with pytest.raises(Unreachable):
            answered(Response(status=500, body=body.encode()))
        assert time.process_time() - begun < 0.5


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (b"", True),
        (says(200, "OK", body=b"<html>"), True),
        (says(503, "Service Unavailable", body=b"Work queue depth exceeded"), True),
        (says(401, "Unauthorized"), False),
        (says(403, "Forbidden"), False),
    ],
)
def test_what_leaves_open_whether_it_was_done_is_told_so(server, node, answer, sent):
    """Who does not let in has done nothing."""
    server.answer = answer
    with pytest.raises(Unreachable) as told:
        node.ask("sendrawtransaction", "00")
    assert told.value.sent is sent


def test_only_a_whole_transaction_is_a_long_answer(server, node):
    """All others are small, and are not read without end."""
    server.answer = says(200, "OK", body=b'{"result": "%b"}' % (b"0" * (1000 << 10)))

    assert len(node.ask("getrawtransaction", "00")) == 1000 << 10
    with pytest.raises(Unreachable, match="the node answered more than 65536 bytes"):
        node.ask("getmempoolentry", "00")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (None, "must be a URL, not None"),
        ("ftp://127.0.0.1", "must begin with http:// or https://"),
        ("http://ann:password@127.0.0.1:8332", "must hold no user or password"),
        ("http://node.example:8332", "must begin with https:// unless it is on this machine"),
        ("http://192.168.0.7:8332", "must begin with https:// unless it is on this machine"),
        ("http://localhost.example:8332", "must begin with https:// unless it is on this machine"),
        ("http://127.0.0.1:99999", "is not a URL with a host and a port"),
    ],
)
def test_a_bad_address_is_refused(url, sentence):
    """A password on the line, or in the options, would be everybody's."""
    with pytest.raises(BadInput) as told:
        read_node(url, cookie="/c/.cookie")
    assert sentence in str(told.value)
    assert "password@" not in str(told.value)


@pytest.mark.parametrize("url", ["http://localhost", "http://127.9.9.9:1", "http://[::1]:8332"])
def test_a_node_on_this_machine_needs_no_encryption(url):
    """Nobody reads what does not leave."""
    assert read_node(url, cookie="/c/.cookie").address.is_here


def test_a_node_elsewhere_is_encrypted():
    """And not here."""
    assert not read_node("https://node.example", cookie="/c/.cookie").address.is_here


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "the node has neither a cookie nor a login"),
        ({"cookie": "/a", "login": "/b"}, "the node has both a cookie and a login"),
        ({"cookie": ".cookie"}, "the cookie of a node must be an absolute path"),
        ({"login": "~/login"}, "the login of a node must be an absolute path"),
        ({"login": 7}, "the login of a node must be an absolute path"),
        ({"login": "/a\0"}, "the login of a node must be an absolute path"),
        ({"cookie": "/a", "timeout_s": 31}, "the timeout of a node must be above 0 and at most 30 s"),
        ({"cookie": "/a", "timeout_s": float("nan")}, "the timeout of a node must be above 0"),
    ],
)
def test_one_file_lets_in(files, sentence):
    """A cookie or a login, at a place that is the same from everywhere."""
    with pytest.raises(BadInput, match=sentence):
        read_node("http://127.0.0.1", **files)
