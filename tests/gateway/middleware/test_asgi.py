"""Held views of a real FastAPI app and a real Starlette app, under a clock moved by hand."""

import asyncio
import re
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager

import pytest
from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.authentication import SimpleUser
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from gateway.middleware.holding import let_out, quick, raw_bytes, some_call, wait_until
from tarry.gateway.middleware.asgi import HoldPosts, same_origin
from tarry.gateway.middleware.held import ViewOutlet, pack
from tarry.keep.errors import Refused
from tarry.testing import ManualClock
from tarry.testing.outlets import OutletCase, OutletSuite

SLOW_VIEW = (
    "the view took longer than 0.2 s; it may have left all the same: look, then withdraw or repeat it"
)
PATHS = ("/papers/{paper}/reviews", "/odd/{how}")
MINE = {"X-User": "17", "Sec-Fetch-Site": "same-origin"}
#: What browsers and proxies say beside the content, and what must not outlive the arrival.
TELLING = {
    "Cookie": "session=s3cret",
    "User-Agent": "Netscape/4.0",
    "X-Forwarded-For": "192.0.2.7",
    "X-Request-Id": "req-00017",
    "Date": "Thu, 01 Jan 2026 00:00:00 GMT",
    "Referer": "https://forum.example.org/papers/3",
    "Authorization": "Bearer t0ken",
    "Accept-Language": "de-CH",
    "Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
}


def signed_in(request):
    return request.headers.get("x-user")


def paper_app(seen):
    """A FastAPI app that remembers what its views are told."""

    @asynccontextmanager
    async def lifespan(app):
        yield {"loop": asyncio.get_running_loop()}

    app = FastAPI(lifespan=lifespan)

    @app.post("/papers/{paper}/reviews", status_code=201)
    async def review(paper: str, request: Request, text: dict):
        assert request.app is app
        assert request.state.loop is asyncio.get_running_loop()  # the app's own, with all that lives in it
        seen.append({"paper": paper, "json": text, "request": request})

    @app.post("/odd/{how}")
    async def odd(how: str):
        if how == "slow":
            await asyncio.sleep(3600)
        if how == "raises":
            raise LookupError("user 17")
        if how == "late":
            raise TimeoutError
        return RedirectResponse("/elsewhere", 303) if how == "redirects" else Response(status_code=418)

    @app.get("/papers/{paper}/reviews")
    async def reviews(paper: str):
        seen.append(f"the reviews of {paper}")

    @app.post("/papers")
    async def submit():
        seen.append("another paper")

    return app


@contextmanager
def served(app, folder, **others):
    """An app behind the middleware, with a client; a keeper only where it is asked for."""
    told = {
        name: others.pop(name) for name in tuple(others) if name in {"csrf", "as_user", "keep", "timeout_s"}
    }
    settings = quick(folder, *PATHS, **others)
    held = HoldPosts(app, settings, user=signed_in, **{"keep": False, **told})
    with TestClient(held, base_url="https://forum.example.org") as client:
        yield held, client


@pytest.fixture
def seen():
    return []


@pytest.fixture
def site(tmp_path, seen):
    with served(paper_app(seen), tmp_path / "a") as (held, client):
        yield held, client


def test_a_post_is_held_and_its_view_called_at_its_release(site, seen):
    held, client = site
    answer = client.post("/papers/3/reviews?round=2&x=%C3%A9", json={"text": "I agree."}, headers=MINE)

    assert answer.status_code == 202
    told = answer.json()
    assert set(told) == {"receipt", "state", "release_at", "earliest_at", "latest_at"}
    assert (told["state"], seen) == ("waiting", [])
    let_out(held.hold)
    (call,) = seen
    assert (call["paper"], call["json"]) == ("3", {"text": "I agree."})
    request = call["request"]
    assert (request.method, request.url.path, request.query_params["x"]) == (
        "POST",
        "/papers/3/reviews",
        "é",
    )
    assert request.state.tarry_user == "17"
    assert len(request.state.tarry_release) == 32
    status = client.get("/_tarry/receipt", headers={"Tarry-Receipt": told["receipt"]}).json()
    assert status["state"] == "released"


def test_nothing_of_the_arrival_reaches_the_view(site, seen):
    """The whole scope of a released call: what was sealed, and what is the same for everybody."""
    held, client = site
    client.post("/papers/3/reviews", json={}, headers=MINE | TELLING)
    let_out(held.hold)
    scope = {**seen[0]["request"].scope}
    shown = {name: scope[name] for name in ("client", "server", "scheme", "headers", "query_string")}

    assert shown == {
        "client": None,
        "server": ("forum.example.org", 443),
        "scheme": "https",
        "headers": [
            (b"host", b"forum.example.org"),
            (b"content-type", b"application/json"),
            (b"content-length", b"2"),
        ],
        "query_string": b"",
    }
    assert set(scope["state"]) == {"loop", "tarry_user", "tarry_release"}
    assert not any(word in str(scope) for word in TELLING.values())


def test_the_language_is_kept_only_where_the_operator_says_so(tmp_path, seen):
    with served(paper_app(seen), tmp_path / "a", keep_language=True) as (held, client):
        client.post("/papers/3/reviews", json={}, headers=MINE | TELLING)
        let_out(held.hold)

    assert seen[0]["request"].headers["accept-language"] == "de-CH"


def test_other_calls_go_through(site, seen):
    _, client = site

    assert client.get("/papers/3/reviews", headers=MINE).status_code == 200
    assert client.post("/papers", headers=MINE).status_code == 200
    assert client.get("/openapi.json").status_code == 200
    assert seen == ["the reviews of 3", "another paper"]


def test_odd_spellings_of_a_path_do_not_slip_by(site, seen):
    _, client = site
    odd = ["/papers/3/reviews/", "/papers/%33/reviews", "/papers/3/reviews%0A", "/papers/3%0A/reviews"]
    answers = [client.post(path, json={}, headers=MINE).status_code for path in odd]

    assert (answers, seen) == ([202] * 4, [])


def test_a_mounted_app_is_found_where_it_is_mounted(tmp_path, seen):
    settings = quick(tmp_path / "a", *PATHS, origin="https://example.org/forum")
    held = HoldPosts(paper_app(seen), settings, user=signed_in, keep=False)
    with TestClient(held, root_path="/forum") as client:
        assert client.post("/forum/papers/3/reviews", json={}, headers=MINE).status_code == 202
        let_out(held.hold)

    assert str(seen[0]["request"].url) == "https://example.org/forum/papers/3/reviews"


# --- who may ----------------------------------------------------------------------------------------


def test_without_a_user_a_call_is_refused_or_left_to_the_app(tmp_path, seen):
    with served(paper_app(seen), tmp_path / "a") as (_, client):
        refused = client.post("/papers/3/reviews", json={}, headers={"Sec-Fetch-Site": "same-origin"})
        assert (refused.status_code, seen) == (401, [])
    with served(paper_app(seen), tmp_path / "b", anonymous="pass") as (_, client):
        passed = client.post("/papers/3/reviews", json={}, headers={"Sec-Fetch-Site": "same-origin"})
        assert (passed.status_code, len(seen)) == (201, 1)


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://forum.example.org"}, False),
        ({"Origin": "https://FORUM.example.org"}, True),
        ({"Origin": "https://forum.example.org.evil.example"}, False),
        ({"Origin": "https://forum.example.org:8443"}, False),
        ({"Origin": "null"}, False),
        ({}, False),
    ],
)
def test_calls_from_other_sites_are_refused(site, seen, headers, allowed):
    _, client = site
    answer = client.post("/papers/3/reviews", json={}, headers={"X-User": "17"} | headers)

    assert (answer.status_code, seen) == (202 if allowed else 403, [])


def test_a_site_may_check_in_its_own_way(tmp_path):
    async def token(request):
        return request.headers.get("x-token") == "right"

    with served(paper_app([]), tmp_path / "a", csrf=token) as (_, client):
        told = [client.post("/odd/x", headers={"X-User": "17", "X-Token": t}) for t in ("right", "wrong")]

    assert [answer.status_code for answer in told] == [202, 403]


def test_a_body_that_is_too_large_is_refused(tmp_path, seen):
    with served(paper_app(seen), tmp_path / "a", most_bytes=10) as (held, client):
        told = [client.post("/odd/x", content=b"." * size, headers=MINE) for size in (10, 11)]

        assert [answer.status_code for answer in told] == [202, 413]
        assert len(held.hold.gate.posts()) == 1


def test_a_client_that_hangs_up_half_way_is_not_held_and_not_let_through(site, seen):
    held, _ = site
    messages = [
        {"type": "http.request", "body": b'{"text":', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive():
        return messages.pop(0)

    async def send(message):
        seen.append(message)

    headers = [(name.lower().encode(), told.encode()) for name, told in MINE.items()]
    scope = {"type": "http", "method": "POST", "path": "/papers/3/reviews", "headers": headers}
    asyncio.run(held(scope, receive, send))

    assert (seen, held.hold.gate.posts()) == ([], [])


# --- receipts ---------------------------------------------------------------------------------------


def test_a_browser_gets_a_page(site):
    _, client = site
    page = client.post("/odd/x", headers=MINE | {"Accept": "text/html,*/*;q=0.8"})

    assert page.status_code == 202
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "It will appear at 2026-01-01 00:00:" in page.text
    refused = client.post("/odd/x", headers={"Accept": "text/html"})
    assert (refused.status_code, "sign in first" in refused.text) == (401, True)


def test_a_receipt_takes_a_call_back(site, seen):
    held, client = site
    mine = {"Tarry-Receipt": client.post("/papers/3/reviews", json={}, headers=MINE).json()["receipt"]}

    assert client.delete("/_tarry/receipt", headers=mine).json()["state"] == "withdrawn"
    assert client.delete("/_tarry/receipt", headers=mine).status_code == 409
    let_out(held.hold)
    assert seen == []


def test_without_its_receipt_nobody_learns_of_a_call(site):
    _, client = site
    told = [client.get("/_tarry/receipt", headers=headers) for headers in ({}, {"Tarry-Receipt": "0" * 64})]

    assert [answer.status_code for answer in told] == [404, 404]
    assert told[0].json() == told[1].json()
    assert client.post("/_tarry/receipt").status_code == 405


def test_answers_may_not_be_kept_by_anybody_on_the_way(site):
    _, client = site
    held = client.post("/odd/x", headers=MINE)
    about = client.get("/_tarry/receipt", headers={"Tarry-Receipt": held.json()["receipt"]})

    assert {held.headers["cache-control"], about.headers["cache-control"]} == {"no-store"}


def test_a_store_that_is_away_is_told_in_a_sentence(tmp_path):
    file = tmp_path / "a" / "held.db"
    with served(paper_app([]), tmp_path / "a", database=file) as (_, client):
        file.rename(tmp_path / "gone.db")
        answer = client.post("/odd/x", headers=MINE)

    assert answer.status_code == 503
    assert answer.json()["detail"].startswith("the store cannot be used")


# --- releases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "state", "problem"),
    [
        ("redirects", "released", None),
        ("is a teapot", "parked", "the view answered 418"),
        ("raises", "parked", "the view raised LookupError"),
        ("late", "parked", "the view raised TimeoutError"),
        ("slow", "parked", SLOW_VIEW),
    ],
)
def test_what_a_view_answers_decides(tmp_path, caplog, how, state, problem):
    with served(paper_app([]), tmp_path / "a", timeout_s=0.2) as (held, client):
        receipt = client.post(f"/odd/{how}", headers=MINE).json()["receipt"]
        let_out(held.hold)
        told = client.get("/_tarry/receipt", headers={"Tarry-Receipt": receipt}).json()

    assert (told["state"], told.get("problem")) == (state, problem)
    if how == "raises":  # through the layers of FastAPI
        assert re.search(r"the view raised LookupError at middleware/test_asgi.py:\d+\n", caplog.text)
        assert "user 17" not in caplog.text


def test_a_keeper_lives_as_long_as_the_app(tmp_path, seen):
    with served(paper_app(seen), tmp_path / "a", keep=True) as (held, client):
        client.post("/papers/3/reviews", json={"text": "I agree."}, headers=MINE)
        wait_until(lambda: seen, meanwhile=lambda: held.settings.clock.sleep(1))
        assert "tarry keeper" in {thread.name for thread in threading.enumerate()}
    assert "tarry keeper" not in {thread.name for thread in threading.enumerate()}


def test_behind_the_sign_in_of_a_starlette_app_the_view_sees_the_user(tmp_path, seen):
    """The usual order: sign-in outside, holding inside; a released call comes in behind the sign-in."""

    class SignIn:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            if scope["type"] == "http":
                scope["user"] = SimpleUser(dict(scope["headers"])[b"x-user"].decode())
            await self.app(scope, receive, send)

    async def view(request):
        assert request.app is app
        seen.append((request.user.username, (await request.body()).decode()))
        return Response()

    def as_user(scope, user):
        scope["user"] = SimpleUser(user)

    def user(request):
        return request.user.username

    settings = quick(tmp_path / "a")
    holding = Middleware(HoldPosts, settings, user=user, as_user=as_user, keep=True)
    app = Starlette(
        routes=[Route("/posts", view, methods=["POST"])], middleware=[Middleware(SignIn), holding]
    )
    with TestClient(app) as client:
        assert client.post("/posts", content="hello", headers=MINE).status_code == 202
        wait_until(lambda: seen, meanwhile=lambda: settings.clock.sleep(1))

    assert seen == [("17", "hello")]


def test_a_call_waits_through_a_restart(tmp_path, seen):
    kept = {"database": tmp_path / "a" / "held.db", "clock": ManualClock()}
    with served(paper_app(seen), tmp_path / "a", **kept) as (_, client):
        client.post("/papers/3/reviews", json={}, headers=MINE | {"X-User": "user-9f3b1c"})
    assert b"user-9f3b1c" not in raw_bytes(tmp_path / "a")
    with served(paper_app(seen), tmp_path / "a", **kept) as (held, _):
        let_out(held.hold)

    assert seen[0]["request"].state.tarry_user == "user-9f3b1c"


class AppWorld:
    """An app that remembers everything a call tells it."""

    content = pack(some_call(query="a=1", language="de"))

    def __init__(self, folder):
        self.options, self.scopes = {}, []
        self.broken = None
        self._held = HoldPosts(self._app, quick(folder / "held"), user=signed_in, keep=False)
        self.outlet = ViewOutlet(lambda call, release: asyncio.run(self._held._run(call, release)))

    async def _app(self, scope, receive, send):
        if self.broken:
            raise self.broken
        self.scopes.append((repr(scope), await receive()))
        await Response()(scope, receive, send)

    def sent(self):
        """Every scope and body."""
        return list(self.scopes)

    def close(self):
        """Nothing is left running."""


class TestReleasedCall(OutletSuite):
    """What an app is told of a release follows from the release alone."""

    case = OutletCase(
        world=AppWorld,
        undeliverable=[{"path": "/posts"}],
        troubles={"raises": (lambda world: setattr(world, "broken", OSError()), Refused)},
    )


def test_importing_it_needs_neither_fastapi_nor_django():
    code = "import sys, tarry.gateway.middleware.asgi; print({'fastapi', 'django'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert ran.stdout == "set()\n"


def test_the_built_in_check_wants_a_word_from_a_browser():
    assert not same_origin(Request({"type": "http", "headers": [(b"host", b"a.example")]}))


# --- the page of a browser ------------------------------------------------------------------------


def form_of(answer):
    """The address of the form on a page, and what it would send."""
    (address,) = re.findall('<form method="post" action="([^"]+)">', answer.text)
    return address, dict(re.findall('<input type="hidden" name="([^"]+)" value="([^"]+)">', answer.text))


def test_a_browser_takes_its_call_back_with_the_form_on_the_page(site, seen):
    held, client = site
    page = client.post("/papers/3/reviews", json={}, headers=MINE | {"Accept": "text/html"})
    address, fields = form_of(page)

    assert client.post(address, data=fields, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    answer = client.post(address, data=fields, headers=MINE)
    assert (answer.status_code, "It will not appear." in answer.text) == (200, True)
    assert client.post(address, data=fields, headers=MINE).status_code == 409
    assert client.get(address, headers=MINE).status_code == 405
    assert client.post(address, content=b"." * 5000, headers=MINE).status_code == 413
    let_out(held.hold)
    assert seen == []
