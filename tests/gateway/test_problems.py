"""Refusals: the right 4xx, one sentence each, and nothing in them that tells of others."""

import pytest

from tarry.gateway.problems import _TITLES, problem, refuse

LONGEST = 60
POST = {"actor": "ann", "target": "p1", "content": "x"}
JSON = {"Content-Type": "application/json"}

#: method, path, what is sent along, and the status.
REFUSED = {
    "no such address": ("GET", "/v2", {}, 404),
    "a slash too many": ("GET", "/v1/spaces/", {}, 404),
    "no such space": ("POST", "/v1/spaces/no/posts", {"json": POST}, 404),
    "no such method": ("PATCH", "/v1/receipt", {}, 405),
    "not JSON": ("POST", "/v1/spaces/talk/posts", {"content": b"{", "headers": JSON}, 400),
    "nothing": ("POST", "/v1/spaces/talk/posts", {"content": b"", "headers": JSON}, 400),
    "no type": ("POST", "/v1/spaces/talk/posts", {"content": b"{}"}, 415),
    "a form": ("POST", "/v1/spaces/talk/posts", {"data": {"actor": "ann"}}, 415),
    "a field missing": ("POST", "/v1/spaces/talk/posts", {"json": {"actor": "a", "target": "t"}}, 422),
    "a field too many": ("POST", "/v1/spaces/talk/posts", {"json": {**POST, "address": "http://x"}}, 422),
    "an empty name": ("POST", "/v1/spaces/talk/posts", {"json": {**POST, "actor": ""}}, 422),
    "a long name": ("POST", "/v1/spaces/talk/posts", {"json": {**POST, "target": "x" * 1001}}, 422),
    "a number for a text": ("POST", "/v1/spaces/talk/posts", {"json": {**POST, "content": 7}}, 422),
    "an unknown parent": ("POST", "/v1/spaces/talk/posts", {"json": {**POST, "depends_on": "x"}}, 422),
    "large options": (
        "POST",
        "/v1/spaces/talk/posts",
        {"json": {**POST, "options": {"a": "x" * 20000}}},
        422,
    ),
    "a reserved option": (
        "POST",
        "/v1/spaces/talk/posts",
        {"json": {**POST, "options": {"content_type": "text/html"}}},
        422,
    ),
    "an odd key": (
        "POST",
        "/v1/spaces/talk/posts",
        {"json": POST, "headers": {"Idempotency-Key": " "}},
        422,
    ),
    "no receipt": ("GET", "/v1/receipt", {}, 404),
    "no scope": ("GET", "/v1/tokens", {"headers": {"Authorization": "Bearer x"}}, 401),
}


@pytest.mark.parametrize("why", REFUSED)
def test_every_refusal_is_one_sentence_with_the_right_status(site, why):
    """As RFC 9457 wants it: a title for the kind, the sentence, the status once more."""
    method, path, more, status = REFUSED[why]
    answer = site.http.request(method, path, **more)
    told = answer.json()

    assert answer.status_code == status == told["status"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(told) == {"title", "status", "detail"}
    assert told["title"] == _TITLES[status]
    assert told["detail"]
    assert told["detail"].isprintable()
    assert len(told["detail"]) <= 400
    assert site.told == []


@pytest.mark.parametrize(
    "path", ["/v1/receipt", "/v1/tokens", "/v1/spaces/{space}/feed", "/healthz", "/openapi.json"]
)
@pytest.mark.parametrize("method", ["OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"])
def test_a_wrong_method_is_told_all_the_right_ones(site, path, method):
    """405 with Allow."""
    answer = site.http.request(method, path.format(space="talk"))
    allowed = {word.strip() for word in answer.headers["allow"].split(",")}
    known = site.http.get("/openapi.json").json()["paths"][path]

    assert answer.status_code == 405
    assert allowed - {"HEAD"} == {each.upper() for each in known}


def test_what_was_sent_is_quoted_on_one_line_and_not_at_length(site):
    """A field's name is somebody's text."""
    answer = site.http.post("/v1/spaces/talk/posts", json={**POST, "x\r\nSet-Cookie: a=b\x1b[2J" * 100: 1})

    assert answer.status_code == 422
    assert answer.json()["detail"].isprintable()
    assert len(answer.json()["detail"]) <= 400


def test_a_mistake_of_ours_is_told_to_nobody_but_the_operator(site, monkeypatch):
    """500 in one sentence; the operator hears which operation and which kind of error, and no more."""

    def broken(*_):
        raise KeyError("ann's secret")

    monkeypatch.setattr(site.gateway.receipts, "status", broken)
    answer = site.ask("f" * 64)

    assert answer.status_code == 500
    assert "ann" not in answer.text
    assert site.told == ["read_receipt broke: KeyError"]


def test_a_mistake_in_an_admission_is_answered_too(site, monkeypatch):
    """And the next post is taken."""
    admit = site.gateway.admit
    monkeypatch.setattr(site.gateway, "admit", lambda _: 1 / 0)
    broken = site.post()
    monkeypatch.setattr(site.gateway, "admit", admit)

    assert broken.status_code == 500
    assert site.told == ["submit_post broke: ZeroDivisionError"]
    assert site.post().status_code == 202


def test_a_store_that_is_away_is_told_as_503(site, monkeypatch):
    """On every address that needs it, and the health of the process does not."""
    from tarry.keep.errors import Unavailable

    def away(_):
        raise Unavailable("the store cannot be used: the server is gone")

    monkeypatch.setattr(site.gateway.store, "transaction", away)

    assert site.post().status_code == 503
    assert "same Idempotency-Key" in site.post().json()["detail"]
    assert site.ask("f" * 64).status_code == 503
    assert site.http.get("/v1/spaces/talk/feed").status_code == 503
    assert site.http.get("/readyz").json() == {"status": "unavailable"}
    assert site.http.get("/healthz").status_code == 200
    assert site.told == []


def test_whether_somebody_elses_post_exists_shows_nowhere(site):
    """Depending on an unknown, another's, a withdrawn and another target's post: the same answer."""
    theirs = site.receipt("bob")
    elsewhere = site.receipt("ann", "p2")
    gone = site.receipt("ann")
    site.ask(gone, "DELETE")
    wrong = ["f" * 64, theirs, elsewhere, gone, "f" * 32, "x"]
    answers = [site.post(depends_on=each) for each in wrong]

    assert {answer.status_code for answer in answers} == {422}
    assert len({answer.content for answer in answers}) == 1


def test_titles_are_there_for_every_status_we_use():
    """And an unknown one still has words."""
    assert b"Not possible" in problem(418, "a teapot").body
    assert refuse(ValueError("x")).status_code == 500
