"""Every answer has its headers, and none that tells of time or of us."""

import http.client

import pytest

SECURE = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
POST = {"actor": "ann", "target": "p1", "content": "x"}
#: method, path, what is sent, whether with a token, and the status.
ANSWERS = [
    ("GET", "/healthz", None, False, 200),
    ("GET", "/readyz", None, False, 200),
    ("GET", "/openapi.json", None, False, 200),
    ("GET", "/v1/spaces", None, False, 200),
    ("GET", "/v1/spaces/talk/policy", None, False, 200),
    ("GET", "/v1/spaces/talk/policy.toml", None, False, 200),
    ("GET", "/v1/spaces/talk/feed", None, False, 200),
    ("GET", "/v1/spaces/talk/feed.atom", None, False, 200),
    ("HEAD", "/v1/spaces/talk/feed", None, False, 200),
    ("HEAD", "/v1/spaces/talk/feed/events", None, False, 200),
    ("POST", "/v1/spaces/talk/posts", POST, True, 202),
    ("POST", "/v1/tokens", {"name": "x", "scopes": ["submit"]}, True, 201),
    ("GET", "/v1/spaces/talk/feed?after=x", None, False, 422),
    ("POST", "/v1/spaces/talk/posts", POST, False, 401),
    ("POST", "/v1/spaces/talk/posts", {}, True, 422),
    ("GET", "/v1/receipt", None, False, 404),
    ("GET", "/nowhere", None, False, 404),
    ("GET", "/v1/spaces/", None, False, 404),
    ("OPTIONS", "/v1/spaces", None, False, 405),
    ("DELETE", "/v1/spaces/talk/parked/1", None, True, 404),
]


@pytest.fixture
def served(site, new_server):
    """The site behind the real server."""
    return new_server(site.app)


def test_every_answer_of_the_real_server_has_the_secure_headers_and_no_clock(site, served):
    """Also refusals; neither Server nor Date, and no header that we have not thought of."""
    known = {*SECURE, "content-type", "content-length", "allow", "www-authenticate", "x-accel-buffering"}
    with served.client() as client:
        for method, path, body, signed, status in ANSWERS:
            headers = {"Authorization": f"Bearer {site.token}"} if signed else {}
            answer = client.request(method, path, json=body, headers=headers)
            assert answer.status_code == status, path
            assert {name: answer.headers.get(name) for name in SECURE} == SECURE, path
            assert set(answer.headers) <= known, path


def test_a_stream_has_the_same_headers(served):
    """From its first byte on."""
    with served.client() as client, client.stream("GET", "/v1/spaces/talk/feed/events") as answer:
        assert {name: answer.headers.get(name) for name in SECURE} == SECURE
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert {"date", "server"}.isdisjoint(answer.headers)


def test_a_mistake_of_ours_has_them_too(site, monkeypatch):
    """500 is an answer like others."""
    monkeypatch.setattr(site.gateway.receipts, "status", lambda _: 1 / 0)
    answer = site.ask("f" * 64)

    assert answer.status_code == 500
    assert {name: answer.headers.get(name) for name in SECURE} == SECURE


def test_what_is_not_even_http_is_answered_without_a_clock(served):
    """By the server itself, with nothing but a line."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    connection.connect()
    connection.sock.sendall(b"GET / HTTP/9\x00\r\n\r\n")
    answer = http.client.HTTPResponse(connection.sock)
    answer.begin()
    names = {name.lower() for name, _ in answer.getheaders()}
    answer.close()
    connection.close()

    assert answer.status == 400
    assert {"date", "server"}.isdisjoint(names)


def test_head_has_the_headers_of_get_and_no_body(site):
    """Whatever can be read."""
    for method, path, _, _, status in ANSWERS[:8]:
        got, head = site.http.request(method, path), site.http.head(path)
        assert head.status_code == status
        assert head.content == b""
        assert head.headers == got.headers


def test_no_answer_lets_scripts_of_other_sites_read_it(site):
    """No CORS header, whoever asks."""
    answer = site.http.get("/v1/spaces", headers={"Origin": "https://evil.example"})

    assert not [name for name in answer.headers if name.startswith("access-control")]
