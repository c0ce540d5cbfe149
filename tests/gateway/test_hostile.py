"""Hostile input: a 4xx in one sentence, or a right 2xx; never a 5xx, never a hint of others."""

import json
import socket
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tarry.gateway.app import create_app
from tarry.gateway.database import open_store
from tarry.gateway.limits import Limits
from tarry.gateway.testing import new_token, small_gateway

LONGEST = 60
POST = {"actor": "ann", "target": "p1", "content": "x"}
JSON = {"Content-Type": "application/json"}
DEEP = 100_000


def body(content: bytes, **others: bytes) -> bytes:
    """A post in JSON, with content written by hand."""
    fields = {"actor": b'"ann"', "target": b'"p1"', "content": content, **others}
    return b"{" + b",".join(b'"%b":%b' % (name.encode(), value) for name, value in fields.items()) + b"}"


#: What is sent, and how it is answered.
BODIES = {
    "invalid UTF-8 in content": (body(b'"\xff"'), 400),
    "an overlong slash": (body(b'"\xc0\xaf"'), 400),
    "a surrogate in UTF-8": (body(b'"\xed\xa0\x80"'), 400),
    "UTF-16": (json.dumps(POST).encode("utf-16"), 400),
    "a byte order mark": (b"\xef\xbb\xbf" + body(b'""'), 400),
    "a lone surrogate": (body(rb'"\ud800"'), 400),
    "a lone surrogate in a name": (body(b'""', actor=rb'"\ud800x"'), 400),
    "a lone surrogate in a key": (body(rb'{"\udfff":1}'), 400),
    "two halves the wrong way round": (body(rb'"\udc00\ud800"'), 400),
    "a pair of surrogates": (body(rb'"\ud83d\ude00"'), 202),
    "a pair of surrogates, cut off": (body(rb'"\ud83d\ude00"')[:-2], 400),
    "a pair of surrogates beside NaN": (body(rb'["\ud83d\ude00", NaN]'), 400),
    "a NUL in content": (body(rb'"\u0000"'), 202),
    "a NUL in a key of content": (body(rb'{"\u0000":1}'), 202),
    "a NUL in the actor": (body(b'""', actor=rb'"a\u0000b"'), 422),
    "a NUL in the target": (body(b'""', target=rb'"\u0000"'), 422),
    "a NUL in the track": (body(b'""', track=rb'"\u0000"'), 422),
    "a bare NUL": (body(b'"\0"'), 400),
    "a bare line end": (body(b'"\n"'), 400),
    "NaN": (body(b"[NaN]"), 400),
    "Infinity": (body(b"[-Infinity]"), 400),
    "a number beyond all floats": (body(b"[1e999]"), 422),
    "a whole number of 5000 digits": (body(b"[" + b"9" * 5000 + b"]"), 422),
    "a whole number of 4000 digits": (body(b"[" + b"9" * 4000 + b"]"), (202, 422)),
    "a large whole number as option": (body(b'""', options=b'{"a":' + b"9" * 300 + b"}"), 202),
    "a tiny number": (body(b"[1e-999]"), 202),
    "minus nothing": (body(b"[-0, -0.0]"), 202),
    "a hexadecimal number": (body(b"[0x10]"), 400),
    "a leading nought": (body(b"[01]"), 400),
    "the same key twice": (body(b'{"a":1,"a":2}'), 400),
    "the same field twice": (body(b'"a"')[:-1] + b',"content":"b"}', 400),
    "an actor twice": (body(b'"a"')[:-1] + b',"actor":"bob"}', 400),
    "nested without end": (body(b"[" * DEEP), 422),
    "nested and closed": (body(b"[" * DEEP + b"]" * DEEP), 422),
    "nested objects": (body(b'{"a":' * DEEP + b"1" + b"}" * DEEP), 422),
    "nested options": (body(b'""', options=b'{"a":' * 500 + b"1" + b"}" * 500), 422),
    "nested in an unknown field": (body(b'""', unknown=b"[" * DEEP + b"]" * DEEP), 422),
    "nested instead of a name": (body(b'""', actor=b"[" * DEEP), 422),
    "a hundred thousand keys": (
        body(b"{" + b",".join(b'"%d":1' % n for n in range(100_000)) + b"}"),
        (202, 413),
    ),
    "a hundred thousand unknown fields": (
        b"{" + b",".join(b'"%d":1' % n for n in range(90_000)) + b"}",
        422,
    ),
    "keys that hash alike": (
        body(b"{" + b",".join(b'"%d":0' % (n << 61) for n in range(3000)) + b"}"),
        202,
    ),
    "a list": (b"[]", 422),
    "null": (b"null", 422),
    "a text": (b'"x"', 422),
    "two documents": (body(b'""') * 2, 400),
    "a comment": (b"/* */" + body(b'""'), 400),
    "a comma too many": (b'{"actor":"a",}', 400),
    "white space": (b" \n\t ", 400),
    "half of it": (body(b'"x"')[:-3], 400),
    "a name of a thousand and one": (body(b'""', actor=b'"' + b"x" * 1001 + b'"'), 422),
    "a name of a thousand wide letters": (
        body(b'""', actor=b'"' + "\U0001f600".encode() * 1000 + b'"'),
        202,
    ),
    "an address as option": (body(b'""', options=b'{"url":"http://169.254.169.254/"}'), 202),
    "an outlet of one's own": (body(b'""', outlet=b'"webhook"'), 422),
    "a tick of one's own": (body(b'""', arrival=b"1", release=b"1"), 422),
    "a truth that is a number": (body(b'""', more_to_come=b"1"), 422),
    "null for a name": (body(b'""', actor=b"null"), 422),
}


@pytest.mark.parametrize(
    ("why", "word"),
    [
        ("a lone surrogate", "surrogate"),
        ("a lone surrogate in a name", "surrogate"),
        ("an actor twice", "not twice: 'actor'"),
        ("half of it", "truncated"),
        ("a pair of surrogates, cut off", "truncated"),
        ("a pair of surrogates beside NaN", "invalid character"),
    ],
)
def test_the_sentence_names_the_reason(site, why, word):
    """And no other one."""
    answer = site.http.post("/v1/spaces/talk/posts", content=BODIES[why][0], headers=JSON)

    assert word in answer.json()["detail"]


@pytest.fixture(scope="module")
def stores(postgres_server):
    """Both kinds of store."""
    return {"memory": ":memory:", "postgres": postgres_server.new_schema()}


@pytest.mark.parametrize("why", BODIES)
def test_a_hostile_body_is_answered_in_one_sentence(site, why):
    """The store is not touched by what is refused, and what is accepted comes out in the end."""
    sent, status = BODIES[why]
    answer = site.http.post("/v1/spaces/talk/posts", content=sent, headers=JSON)
    statuses = status if isinstance(status, tuple) else (status,)
    site.pass_ticks(LONGEST)

    assert answer.status_code in statuses
    assert len(site.feed()["items"]) == (answer.status_code == 202)
    assert site.http.get("/v1/spaces/talk/feed.atom").status_code == 200
    assert site.told == []
    if answer.status_code >= 400:
        assert answer.json()["detail"].isprintable()


def test_the_same_bodies_with_a_key_and_in_postgresql(new_site, postgres_server):
    """Whatever memory takes, a real database takes too; the key adds a hash of it all."""
    site = new_site(store=open_store(postgres_server.new_schema()))
    accepted = 0
    for number, (sent, status) in enumerate(BODIES.values()):
        named = {**JSON, "Idempotency-Key": f"k{number}"}
        answer = site.http.post("/v1/spaces/talk/posts", content=sent, headers=named)
        assert answer.status_code in (status if isinstance(status, tuple) else (status,)), sent[:80]
        accepted += answer.status_code == 202
    site.pass_ticks(LONGEST)

    assert len(site.feed()["items"]) == accepted
    assert site.told == []
    site.gateway.store.close()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_no_bytes_whatsoever_break_anything(site, sent):
    """Noise is refused."""
    answer = site.http.post("/v1/spaces/talk/posts", content=sent, headers=JSON)

    assert answer.status_code in {400, 422}
    assert site.told == []


NAMES = [
    "'; DROP TABLE posts; --",
    "%(id)s :id ? $1",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "\r\nSet-Cookie: a=b",
    "\u202e\u200b\ufeff",
    "ünïcödé \U0001f600",
    "a/b",
    "all/ann",
    "x" * 1000,
    "\x1b[31m\x07",
]


@pytest.mark.parametrize("kind", ["memory", "postgres"])
def test_odd_names_are_names_like_others(new_site, stores, kind):
    """They come out as they went in, and operators can name them."""
    site = new_site(store=open_store(stores[kind]))
    for name in NAMES:
        site.receipt(name, name, name)
    for name in NAMES[:4]:
        withdrawn = site.http.post("/v1/spaces/talk/withdrawals", json={"target": name})
        assert withdrawn.json() == {"withdrawn": 1}
    site.pass_ticks(LONGEST)

    assert {item["target"] for item in site.feed()["items"]} == set(NAMES[4:])
    assert site.told == []
    site.gateway.store.close()


def test_a_name_with_a_slash_is_not_another_circles(site):
    """An actor named like a circle and an actor is somebody else all the same."""
    site.add_space("wiki", circle="b")
    site.receipt("a", "p1")
    site.receipt("b/a", "p2")
    site.receipt("a", "p3", space="wiki")
    site.pass_ticks(4)
    with site.gateway.store.transaction("reading") as transaction:
        assert transaction.all("spent", erasable=1 << 60) == []


PATHS = [
    "/v1/spaces/%2e%2e/posts",
    "/v1/spaces/talk%2Fposts",
    "/v1/spaces/talk%2F..%2Ftalk/posts",
    "/v1/spaces/ta%7flk/posts",
    "/v1%2Fspaces/talk/posts",
    "/v1/spaces/%00/posts",
    "/v1/spaces/%ff%fe/posts",
    "/v1/spaces/%F0%9F%98%80/posts",
    "/v1/spaces/t%C3%A4lk/posts",
    "/v1/spaces/' OR 1=1 --/posts",
    "/v1/spaces/Talk/posts",
    "/v1/spaces/talk /posts",
    "/v1/spaces/talk;a=b/posts",
    "/v1/spaces/talk/posts/",
    "/v1/spaces//posts",
    "//v1/spaces/talk/posts",
    "/v1/spaces/" + "x" * 20_000 + "/posts",
    "/v1/spaces/%0d%0aSet-Cookie:%20a=b/posts",
    "/%2e%2e/%2e%2e/etc/passwd",
]


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
def test_an_odd_address_is_not_there(site, path):
    """404 in one short sentence, and no header that was smuggled in."""
    answer = site.http.post(path, json=POST)

    assert answer.status_code == 404
    assert answer.json()["detail"].isprintable()
    assert len(answer.content) < 600
    assert "set-cookie" not in answer.headers
    assert site.rows("not_done") == []


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "application/json2",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "json",
        "\xff",
    ],
)
def test_what_does_not_say_that_it_is_json_is_not_read(site, kind):
    """So that no form of another site can post in somebody's name."""
    answer = site.http.post(
        "/v1/spaces/talk/posts", content=json.dumps(POST), headers={"Content-Type": kind.encode("latin-1")}
    )

    assert answer.status_code == 415
    assert site.rows("not_done") == []


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "APPLICATION/JSON", " application/json ;x"]
)
def test_what_says_it_in_other_words_is(site, kind):
    """A parameter or a capital changes nothing."""
    answer = site.http.post(
        "/v1/spaces/talk/posts", content=json.dumps(POST), headers={"Content-Type": kind}
    )

    assert answer.status_code == 202


ODD_HEADERS = {
    "Last-Event-ID": ["-1", "x", "9" * 40, "\xb2", "1\x00", ""],
    "Tarry-Receipt": ["\x00", "\xff" * 64, "x" * 10_000],
    "Accept": ["text/html", "\xff", "*/*;q=9"],
    "Accept-Encoding": ["gzip", "\xff"],
    "Content-Length": ["x", "-1"],
    "Host": ["", "evil.example", "a\tb", "[", "x" * 5000],
    "X-HTTP-Method-Override": ["DELETE"],
    "X-Forwarded-For": ["'; DROP TABLE posts"],
    "Range": ["bytes=0-1"],
    "If-None-Match": ["*"],
    "Cookie": ["a=b; \xff"],
}


@pytest.mark.parametrize(
    "path", ["/v1/spaces", "/v1/spaces/talk/feed", "/v1/spaces/talk/feed.atom", "/v1/receipt"]
)
@pytest.mark.parametrize("name", ODD_HEADERS)
def test_odd_headers_change_nothing(site, path, name):
    """The answer is the one without them."""
    plain = site.http.get(path)
    for value in ODD_HEADERS[name]:
        odd = site.http.get(path, headers={name: value.encode("latin-1")})
        assert odd.status_code == plain.status_code
        assert odd.content == plain.content
        assert odd.headers == plain.headers


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["/v1/spaces/{}/feed", "/v1/spaces/talk/parked/{}/retry", "/v1/tokens/{}", "/{}"]),
    st.text(min_size=1, max_size=30) | st.text(string.printable, min_size=1),
    st.sampled_from(["GET", "POST", "PUT", "DELETE"]),
)
def test_no_address_whatsoever_breaks_anything(site, path, part, method):
    """Whatever stands in its places."""
    from urllib.parse import quote

    answer = site.http.request(method, path.format(quote(part.encode("utf-8", "surrogatepass"))))

    assert answer.status_code in {200, 404, 405}
    assert site.told == []


# --- what only a real server meets ---------------------------------------------------------------------


@pytest.fixture
def served(new_server):
    """A real server that waits a moment for slow senders."""
    gateway = small_gateway()
    server = new_server(create_app(gateway, limits=Limits(body_s=0.3, body_bytes=5000)))
    server.token = new_token(gateway)
    return server


def talk(server, *parts: bytes) -> bytes:
    """Send bytes; what is answered until the connection ends."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=15) as connection:
        for part in parts:
            connection.sendall(part)
        heard = b""
        while b"\r\n\r\n" not in heard or b"}" not in heard.partition(b"\r\n\r\n")[2]:
            if not (more := connection.recv(65_536)):
                break
            heard += more
        return heard


def head(server, *lines: str, path="/v1/spaces/talk/posts") -> bytes:
    """The head of a post."""
    told = [f"POST {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {server.token}", *lines]
    return "\r\n".join([*told, "Content-Type: application/json", "", ""]).encode("latin-1")


def test_a_body_that_never_ends_is_let_go(served):
    """Whether its length was told or not; others are answered meanwhile."""
    for lines in (["Content-Length: 100"], ["Transfer-Encoding: chunked"]):
        start = b'{"actor"' if "Length" in lines[0] else b'8\r\n{"actor"\r\n'
        with served.client() as others:
            heard = talk(served, head(served, *lines), start)
            assert others.get("/healthz").status_code == 200
        assert heard.startswith(b"HTTP/1.1 408")
        assert b"a request must arrive within 0.3 s" in heard


def test_a_body_that_says_it_is_too_large_is_refused_unread(served):
    """Not one byte of it is waited for."""
    heard = talk(served, head(served, "Content-Length: 5001"))

    assert heard.startswith(b"HTTP/1.1 413")


def test_a_body_in_chunks_is_cut_off_where_it_is_too_large(served):
    """Though it goes on and on."""
    chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
    heard = talk(served, head(served, "Transfer-Encoding: chunked"), chunk, chunk)

    assert heard.startswith(b"HTTP/1.1 413")


def test_whoever_hangs_up_in_the_middle_is_no_mistake_of_ours(site, new_server, wait_until):
    """Nothing is told to the operator, nothing is stored."""
    server = new_server(site.app)
    server.token = site.token
    with socket.create_connection(("127.0.0.1", server.port), timeout=15) as connection:
        connection.sendall(head(server, "Content-Length: 100") + b'{"actor"')
    with server.client() as client:
        assert client.get("/healthz").status_code == 200
    wait_until(lambda: not server._server.server_state.tasks)

    assert site.told == []
    assert site.rows("not_done") == []


RAW = {
    "a line end in a header": (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\nc: d\r\n\r\n", (400,)),
    "a bare return": (b"GET /healthz HTTP/1.1\r\nHost: x\rEvil: 1\r\n\r\n", (400,)),
    "two lengths": (
        b"POST /v1/spaces HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        (400,),
    ),
    "a length and chunks": (
        b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        (400,),
    ),
    "a negative length": (b"POST /v1/spaces HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", (400,)),
    "a NUL in the address": (b"GET /v1/spaces/\0 HTTP/1.1\r\nHost: x\r\n\r\n", (400, 404)),
    "bytes in the address": (b"GET /v1/spaces/\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n", (400, 404)),
    "a whole address": (b"GET http://evil.example/v1/spaces HTTP/1.1\r\nHost: x\r\n\r\n", (200, 400, 404)),
    "an address without a slash": (b"GET v1 HTTP/1.1\r\nHost: x\r\n\r\n", (400, 404)),
    "an asterisk": (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", (400, 404, 405)),
    "a long address": (b"GET /" + b"x" * 60_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", (400, 404, 414, 431)),
    "no version": (b"GET /healthz\r\n\r\n", (200, 400)),
    "an upgrade": (
        b"GET /v1/spaces HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        (200, 400, 403, 426),
    ),
    "noise": (bytes(range(256)), (400,)),
}


@pytest.mark.parametrize("why", RAW)
def test_what_is_hardly_http_is_refused_by_the_server(served, why):
    """And the next one is answered."""
    sent, statuses = RAW[why]
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        heard = connection.recv(65_536)
    with served.client() as others:
        assert others.get("/healthz").status_code == 200

    assert int(heard.split(b" ", 2)[1]) in statuses
    assert b"Traceback" not in heard


def test_two_authorization_headers_over_a_real_connection_are_none(served):
    """Servers join or keep them; either way nobody gets in."""
    body = json.dumps(POST)
    lines = ["Authorization: Bearer x", f"Content-Length: {len(body)}"]

    assert talk(served, head(served, *lines), body.encode()).startswith(b"HTTP/1.1 401")
