"""Tokens over HTTP: 256 random bits, shown once, kept as a hash, bound and revocable."""

import asyncio
import threading
from hashlib import sha256
from unittest.mock import Mock

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from tarry.gateway.catalog import add_token
from tarry.gateway.operations import OPERATIONS

LONGEST = 60


def bearer(token: str) -> dict[str, str]:
    """The header."""
    return {"Authorization": f"Bearer {token}"}


def make(site, *scopes, spaces=(), name="the forum"):
    """Ask for a token."""
    body = {"name": name, "scopes": list(scopes), "spaces": list(spaces)}
    return site.http.post("/v1/tokens", json=body)


def test_a_token_has_256_random_bits_and_is_told_once(site):
    """Every one is another, and no list tells it again."""
    made = [make(site, "submit").json() for _ in range(20)]
    secrets = {each["token"].removeprefix("tarry_") for each in made}
    listed = site.http.get("/v1/tokens").text

    assert len(secrets) == 20
    assert all(len(bytes.fromhex(secret)) == 32 for secret in secrets)
    assert not any(secret in listed for secret in secrets)


def test_the_store_holds_the_sha_256_of_a_token_and_nothing_else_of_it(tmp_path, new_site):
    """Neither as text nor as bytes, anywhere in the file."""
    from tarry.gateway.database import open_store

    site = new_site(store=open_store(str(tmp_path / "store")))
    token = make(site, "submit").json()["token"]
    site.post(headers={**bearer(token), "Idempotency-Key": "k"})
    site.gateway.store.close()
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    secret = token.removeprefix("tarry_")

    assert sha256(token.encode()).digest() in raw
    assert secret.encode() not in raw
    assert bytes.fromhex(secret) not in raw


def test_a_revoked_token_is_not_known_any_more(site):
    """From the next request on; and revoking it again finds nothing."""
    made = make(site, "submit").json()
    mine = bearer(made["token"])
    assert site.post(headers=mine).status_code == 202
    gone = site.http.delete(f"/v1/tokens/{made['id']}")

    assert gone.status_code == 204
    assert site.post(headers=mine).status_code == 401
    assert site.http.delete(f"/v1/tokens/{made['id']}").status_code == 404
    assert made["id"] not in site.http.get("/v1/tokens").text


def test_a_receipt_outlives_the_token_it_came_by(site):
    """It is the author's, not the forum's."""
    made = make(site, "submit").json()
    receipt = site.receipt(headers=bearer(made["token"]))
    site.http.delete(f"/v1/tokens/{made['id']}")

    assert site.ask(receipt).json()["state"] == "waiting"


@pytest.mark.parametrize("number", ["x", "0" * 12, "0" * 11, "%00", "G" * 12, "' OR '1'='1", "é"])
def test_a_token_that_is_not_there_cannot_be_revoked(site, number):
    """404, and nobody loses theirs."""
    before = site.http.get("/v1/tokens").json()

    assert site.http.delete(f"/v1/tokens/{number}").status_code == 404
    assert site.http.get("/v1/tokens").json() == before


@pytest.mark.parametrize("number", ["0" * 12, "%00", "x"])
def test_nor_in_postgresql(new_site, postgres_server, number):
    """Which knows no NUL in a text."""
    from tarry.gateway.database import open_store

    site = new_site(store=open_store(postgres_server.new_schema()))

    assert site.http.delete(f"/v1/tokens/{number}").status_code == 404
    assert site.told == []
    site.gateway.store.close()


def new_elsewhere(site, scope="submit") -> str:
    """A token that another process has made: this one has not read it yet."""
    with site.gateway.store.transaction("closing") as transaction:
        return add_token(transaction, site.gateway.catalog, "new", [scope])[1]


def test_a_token_that_was_made_a_moment_ago_is_known(site):
    """The database is looked at before a token is refused."""
    assert site.post(headers=bearer(new_elsewhere(site))).status_code == 202


def test_unknown_tokens_make_the_database_busy_only_now_and_then(site, monkeypatch):
    """A client may try ten, and one more every five seconds; another client is not touched by it."""
    readings = Mock(wraps=site.gateway.refresh)
    monkeypatch.setattr(site.gateway, "refresh", readings)
    other = TestClient(site.app, client=("192.0.2.7", 4711))
    statuses = {site.post(headers=bearer(f"tarry_{n:064x}")).status_code for n in range(100)}

    assert statuses == {401}
    assert 10 <= readings.call_count < 20
    token = new_elsewhere(site, "admin")
    assert other.get("/v1/tokens", headers=bearer(token)).status_code == 200


def test_what_cannot_be_a_token_is_not_looked_up(site, monkeypatch):
    readings = Mock(wraps=site.gateway.refresh)
    monkeypatch.setattr(site.gateway, "refresh", readings)
    for text in ("", "x", "tarry_", "tarry_" + "g" * 64, "tarry_" + "0" * 65):
        assert site.post(headers=bearer(text)).status_code == 401

    assert readings.call_count == 0


def test_all_who_wait_for_an_unknown_token_wait_for_one_reading(site):
    """However many clients there are; what was asked for while a reading went on is read after it."""
    service, began = site.app.state.service, []
    has_begun, goes_on = threading.Event(), threading.Event()

    def read():
        began.append(1)
        has_begun.set()
        assert goes_on.wait(20)

    async def ask(number):
        scope = {"type": "http", "client": (f"192.0.2.{number}", 1), "headers": []}
        await service.learn_token(Request(scope), f"tarry_{number:064x}")

    async def crowd():
        first = asyncio.create_task(ask(0))
        assert await asyncio.to_thread(has_begun.wait, 20)
        others = [asyncio.create_task(ask(number)) for number in range(1, 50)]
        await asyncio.sleep(0)
        goes_on.set()
        await asyncio.gather(first, *others)

    site.gateway.refresh = read
    asyncio.run(crowd())

    assert len(began) == 2


SCOPED = [each for each in OPERATIONS if each.scope is not None]


def ask(site, each, headers, space="talk"):
    """Ask for an operation with its own example."""
    path = each.path.format(space=space, post="1", token="0" * 12)
    return site.http.request(each.method, path, json=each.example, headers=headers)


@pytest.mark.parametrize("each", SCOPED, ids=lambda each: each.name)
def test_every_operation_asks_for_its_own_scope(site, each):
    """The other scopes do not do, admin does for all."""
    for scope in ("submit", "operate", "admin"):
        status = ask(site, each, site.as_(scope)).status_code
        assert (status == 403) is (scope not in {each.scope, "admin"}), scope


@pytest.mark.parametrize("each", SCOPED, ids=lambda each: each.name)
def test_every_operation_minds_the_spaces_of_a_token(new_site, each):
    """A token of one space does nothing in another, nor to the gateway as a whole."""
    site = new_site(spaces=("talk", "wiki"))
    mine = site.as_("submit", "operate", "admin", spaces=("wiki",))

    assert ask(site, each, mine).status_code == 403
    if "{space}" in each.path:
        assert ask(site, each, mine, "wiki").status_code != 403


@pytest.mark.parametrize("each", SCOPED, ids=lambda each: each.name)
@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Basic x",
        "bearer tarry_" + "0" * 64,
        "Bearer \xff\xfe",
        "tarry_",
    ],
)
def test_nobody_gets_in_without_a_token(site, each, value):
    """401 that says how, whether or not what is asked for exists."""
    answers = [ask(site, each, {"Authorization": value.encode("latin-1")}, name) for name in ("talk", "no")]

    for answer in answers:
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.content == answers[0].content


def test_two_authorization_headers_are_none(site):
    """Nobody knows which of them a proxy has looked at."""
    good = ("Authorization", f"Bearer {site.token}")
    del site.http.headers["Authorization"]
    twice = site.http.get("/v1/tokens", headers=[good, ("Authorization", "Bearer x")])
    again = site.http.get("/v1/tokens", headers=[good, good])

    assert (twice.status_code, again.status_code) == (401, 401)
    assert site.http.get("/v1/tokens", headers=[good]).status_code == 200


def test_the_scheme_may_be_written_in_any_case(site):
    """As HTTP wants it."""
    assert site.http.get("/v1/tokens", headers={"Authorization": f"bEARER {site.token}"}).status_code == 200


def test_a_token_is_made_as_it_is_listed(new_site):
    """Scopes and spaces in order, each once."""
    site = new_site(spaces=("talk", "wiki"))
    made = make(site, "submit", "operate", "submit", spaces=("wiki", "talk", "wiki")).json()
    del made["token"]

    assert made in site.http.get("/v1/tokens").json()["tokens"]
    assert (made["scopes"], made["spaces"]) == (["operate", "submit"], ["talk", "wiki"])


@pytest.mark.parametrize(
    ("scopes", "spaces", "name", "status"),
    [
        (["all"], [], "x", 422),
        ([], [], "x", 422),
        (["submit"], ["nowhere"], "x", 404),
        (["submit"], ["\0"], "x", 422),
        (["submit"], [], "", 422),
        (["submit"], [], "a\nb", 422),
        (["submit"], [], "x" * 101, 422),
    ],
)
def test_a_token_that_would_mean_nothing_is_refused(site, scopes, spaces, name, status):
    """In one sentence."""
    before = site.http.get("/v1/tokens").json()

    assert make(site, *scopes, spaces=spaces, name=name).status_code == status
    assert site.http.get("/v1/tokens").json() == before
