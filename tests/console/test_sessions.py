"""Signing in: who gets in, how long it lasts, and what a stolen or forged form can do."""

import re

import pytest
from starlette.testclient import TestClient

from contracts.at_desk import OURS, AtDesk
from tarry.console import sessions
from tarry.console.sessions import Sessions, local_path
from tarry.gateway.catalog import add_token
from tarry.gateway.limits import TooManyRequests
from tarry.gateway.testing import new_token

WRONG = "tarry_" + "0" * 64


@pytest.fixture
def desk():
    with (made := AtDesk()).http:
        yield made


def cookie(desk) -> str:
    """What the browser has kept."""
    return desk.http.cookies.get("tarry_desk")


# --- who gets in --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/desk", "/desk/health", "/desk/token", "/desk/promise/talk/1"])
def test_without_a_session_every_page_leads_to_the_sign_in(desk, path):
    answer = desk.http.get(path)

    assert (answer.status_code, answer.headers["location"]) == (303, f"/desk/sign-in?then={path}")


def test_a_form_without_a_session_leads_to_the_sign_in_and_then_to_the_page(desk):
    answer = desk.http.post("/desk", data={"act": "pause", "space": "talk"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/desk/sign-in?then=/desk")
    assert desk.gateway.catalog.space("talk").is_open


@pytest.mark.parametrize("scopes", [("operate",), ("admin",), ("submit", "operate")])
def test_operators_and_administrators_get_in(desk, scopes):
    desk.sign_in(*scopes)

    assert "Signed in with the token a test" in desk.words()


@pytest.mark.parametrize("token", ["", " ", "a guess", WRONG, "tarry_\N{SNOWMAN}", "x" * 5000])
def test_a_wrong_token_is_told_one_sentence_and_is_not_repeated(desk, token):
    answer = desk.try_token(token)

    assert answer.status_code == 403
    assert answer.text.count('role="alert"') == 1
    assert (
        "Unknown token: check that you have copied all of it, or ask whether it was revoked." in answer.text
    )
    assert "set-cookie" not in answer.headers
    assert not token.strip() or token not in answer.text


def test_a_token_that_only_submits_is_told_what_it_lacks(desk):
    answer = desk.try_token(new_token(desk.gateway, "submit"))

    assert answer.status_code == 403
    assert "the desk needs the scope operate or admin" in answer.text
    assert "set-cookie" not in answer.headers


def test_the_token_is_neither_in_the_cookie_nor_in_a_page(desk):
    token = desk.sign_in("admin")

    assert token not in cookie(desk)
    assert token.removeprefix("tarry_") not in cookie(desk)
    assert token not in desk.read()


def test_the_cookie_is_for_no_script_and_no_other_site(desk):
    answer = desk.try_token(new_token(desk.gateway, "operate"))
    kept = answer.headers["set-cookie"]

    assert kept.startswith("tarry_desk=")
    assert kept.partition("; ")[2] == "HttpOnly; Max-Age=43200; Path=/; SameSite=strict"


def test_behind_tls_the_cookie_is_this_hosts_alone():
    with (desk := AtDesk(is_https=True)).http:
        answer = desk.try_token(new_token(desk.gateway, "operate"))

        assert answer.headers["set-cookie"].startswith("__Host-tarry_desk=")
        assert answer.headers["set-cookie"].endswith("; Path=/; SameSite=strict; Secure")
        assert "Desk" in desk.read()


def test_who_is_signed_in_already_goes_straight_on(desk):
    desk.sign_in()
    answer = desk.http.get("/desk/sign-in?then=/audit")

    assert (answer.status_code, answer.headers["location"]) == (303, "/audit")


# --- where one goes after it ----------------------------------------------------------------------------

ELSEWHERE = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\\/evil.example",
    "https://evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "/desk\r\nSet-Cookie: a=b",
    "/desk\n",
    "/\t/evil.example",
    "/\x00/evil.example",
    " /desk",
    "/desk?then=//evil.example",
    "/%2f/evil.example",
    "/%5cevil.example",
    "/..//evil.example",
    "/./desk",
    "/desk//evil.example",
    "/\N{FULLWIDTH SOLIDUS}evil.example",
    "/" + "a" * 500,
    "desk",
    "",
    "/desk/sign-in",
    "/desk/sign-out",
]


@pytest.mark.parametrize("then", ELSEWHERE, ids=map(repr, ELSEWHERE))
def test_nobody_is_led_elsewhere_after_signing_in(desk, then):
    """Not by the address of the page, not by the field of the form."""
    page = desk.http.get("/desk/sign-in", params={"then": then}).text
    answer = desk.try_token(new_token(desk.gateway, "operate"), then=then)

    assert local_path(then) == "/desk"
    assert re.findall(r'name="then" value="([^"]*)"', page) == ["/desk"]
    assert answer.headers["location"] == "/desk"
    assert "a=b" not in answer.headers["set-cookie"]


@pytest.mark.parametrize("then", ["/desk", "/audit", "/audit/run-7", "/desk/promise/talk/1"])
def test_a_page_of_this_site_is_gone_on_to(desk, then):
    answer = desk.try_token(new_token(desk.gateway, "operate"), then=then)

    assert answer.headers["location"] == then


# --- how long it lasts ----------------------------------------------------------------------------------


def test_signing_out_ends_the_session_even_for_a_copy_of_the_cookie(desk):
    desk.sign_in()
    copy = cookie(desk)
    answer = desk.http.post("/desk/sign-out", data={"csrf": desk.csrf})

    assert (answer.status_code, answer.headers["location"]) == (303, "/desk/sign-in")
    assert cookie(desk) is None
    assert desk.http.get("/desk", headers={"Cookie": f"tarry_desk={copy}"}).status_code == 303


def test_signing_out_needs_the_form_of_the_session(desk):
    desk.sign_in()

    assert desk.http.post("/desk/sign-out", data={}).status_code == 403
    assert desk.http.get("/desk").status_code == 200


def test_signing_out_twice_is_no_mistake(desk):
    desk.sign_in()
    form = {"csrf": desk.csrf}
    desk.http.post("/desk/sign-out", data=form)

    assert desk.http.post("/desk/sign-out", data=form).headers["location"] == "/desk/sign-in"


def test_a_session_ends_after_twelve_hours_at_the_latest(desk, monkeypatch):
    now = sessions.time.time()
    desk.sign_in()
    for passed, status in ((12 * 3600 - 5, 200), (12 * 3600 + 2, 303), (-3600, 303)):
        monkeypatch.setattr(sessions.time, "time", lambda passed=passed: now + passed)

        assert desk.http.get("/desk").status_code == status


def test_revoking_a_token_ends_its_sessions_and_no_others(desk):
    desk.sign_in("operate")
    first = cookie(desk)
    desk.sign_in("admin")
    (number,) = [t.id for t in desk.gateway.catalog.tokens.values() if t.scopes == {"operate"}]
    desk.gateway.revoke_token(number)

    assert desk.http.get("/desk").status_code == 200
    desk.http.cookies.clear()
    assert desk.http.get("/desk", headers={"Cookie": f"tarry_desk={first}"}).status_code == 303


def test_a_cookie_that_was_changed_is_nobodys(desk):
    desk.sign_in()
    hashed, until, number, signature = (good := cookie(desk)).split(".")
    other = desk.gateway.catalog.tokens
    (another,) = [key.hex() for key, token in other.items() if token.scopes == {"submit"}]
    desk.http.cookies.clear()
    forged = [
        "",
        ".",
        "...",
        signature,
        f".{signature}",
        good[:-1],
        good + "0",
        f"{another}.{until}.{number}.{signature}",
        f"{hashed}.{int(until) + 1}.{number}.{signature}",
        f"{hashed}.{until}.{number}0.{signature}",
        f"{hashed}.{until}.{number}.{'0' * 64}",
        f"{hashed}.{until}.{number}.\N{LATIN SMALL LETTER E WITH ACUTE}".encode().decode("latin-1"),
    ]
    for each in forged:
        answer = desk.http.get("/desk", headers={"Cookie": f"tarry_desk={each}".encode("latin-1")})

        assert answer.status_code == 303, each
    assert desk.http.get("/desk", headers={"Cookie": f"tarry_desk={good}"}).status_code == 200


def test_the_cookie_of_another_gateway_is_nobodys(desk):
    """Its key is another one, though it may know a token of the same hash."""
    from tarry.keep.keys import Keys

    desk.sign_in()
    desk.gateway.keys = Keys(bytes(32))

    assert desk.http.get("/desk").status_code == 303


def test_every_sign_in_is_a_session_of_its_own(desk):
    token = desk.sign_in()
    first, form = cookie(desk), desk.csrf
    desk.try_token(token)

    assert cookie(desk) != first
    assert desk.csrf != form
    assert desk.http.post("/desk", data={"csrf": form, "act": "pause", "space": "talk"}).status_code == 403


# --- forms from elsewhere -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "from_where",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "", "Origin": "http://testserver"},
        {"Sec-Fetch-Site": None, "Origin": "http://evil.example"},
        {"Sec-Fetch-Site": None, "Origin": "null"},
        {"Sec-Fetch-Site": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/desk", "/desk/sign-in", "/desk/sign-out"])
def test_a_form_from_elsewhere_is_refused_though_it_knows_everything(desk, from_where, path):
    token = desk.sign_in()
    fields = {"csrf": desk.csrf, "act": "pause", "space": "talk", "token": token}
    given = {name: value for name, value in {**OURS, **from_where}.items() if value is not None}
    desk.http.headers = {"User-Agent": "a browser"}
    answer = desk.http.post(path, data=fields, headers=given)

    assert answer.status_code == 403
    assert desk.gateway.catalog.space("talk").is_open
    assert desk.http.get("/desk").status_code == 200


@pytest.mark.parametrize("csrf", [None, "", "0" * 64, "\N{SNOWMAN}"])
def test_a_form_without_the_sessions_own_mark_is_refused(desk, csrf):
    desk.sign_in()
    fields = {"act": "pause", "space": "talk"} | ({} if csrf is None else {"csrf": csrf})
    answer = desk.http.post("/desk", data=fields)

    assert answer.status_code == 403
    assert "this form is too old or not yours: load the page again" in answer.text
    assert desk.gateway.catalog.space("talk").is_open


def test_one_operators_form_is_not_anothers(desk):
    desk.sign_in()
    theirs = desk.csrf
    desk.sign_in("admin")
    answer = desk.http.post("/desk", data={"csrf": theirs, "act": "pause", "space": "talk"})

    assert answer.status_code == 403


# --- guessing -------------------------------------------------------------------------------------------


def test_wrong_tokens_are_stopped_and_right_ones_are_not(desk):
    """Nobody can lock an operator out; a success gives nobody who guesses another try."""
    found = [desk.try_token(WRONG).status_code for _ in range(12)]
    desk.sign_in()
    after = desk.try_token(WRONG)

    assert found == [403] * 10 + [429] * 2
    assert (after.status_code, after.headers["retry-after"]) == (429, "5")
    assert "too many wrong tokens came from your network address: try again in 5 s" in after.text


def test_one_clients_wrong_tokens_show_to_no_other(desk):
    """Neither before nor after somebody else was stopped."""
    other = TestClient(desk.site, "http://localhost", headers=OURS, client=("192.0.2.7", 4711))

    def answers():
        sent = [other.post("/desk/sign-in", data={"token": WRONG}) for _ in range(5)]
        return [(answer.status_code, answer.text, dict(answer.headers)) for answer in sent]

    before = answers()
    assert [desk.try_token(WRONG).status_code for _ in range(11)][-1] == 429

    assert answers() == before
    assert {status for status, *_ in before} == {403}


def test_a_token_that_was_made_a_moment_ago_signs_in(desk):
    """Also before this server has looked for new ones."""
    with desk.gateway.store.transaction("closing") as transaction:
        token = add_token(transaction, desk.gateway.catalog, "new", ["operate"])[1]

    assert desk.try_token(token).status_code == 303


def test_a_while_later_a_wrong_token_is_told_so_again():
    now = [0.0]
    tries = Sessions(now=lambda: now[0])
    for _ in range(10):
        tries.fail("me")
    with pytest.raises(TooManyRequests):
        tries.fail("me")
    now[0] = 5.0
    tries.fail("me")
    with pytest.raises(TooManyRequests):
        tries.fail("me")


def test_what_was_signed_out_of_is_forgotten_when_it_would_have_ended(monkeypatch):
    ended = Sessions()
    now = sessions.time.time()
    ended.end(f"ab.{int(now) + 10}.cd")

    assert ended.has_ended(f"ab.{int(now) + 10}.cd")
    monkeypatch.setattr(sessions.time, "time", lambda: now + 20)
    ended.end(f"ab.{int(now) + 90}.ef")
    assert len(ended._ended) == 1
