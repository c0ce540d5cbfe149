"""Making and changing spaces from a page: who may, what it costs, and what cannot be done from here."""

import re
from html import unescape

import pytest

from contracts.at_desk import POLICY, AtDesk
from tarry.console.pages import texts
from tarry.core.exact import format_duration
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.core.straddle import quiet_ticks
from tarry.gateway.space_changes import change_space, end_space

T = texts()["desk"]
OTHER = Policy(epsilon="0.5", gap="20s", window="3s")


@pytest.fixture
def desk():
    with (made := AtDesk()).http:
        made.sign_in("operate", "spaces")
        yield made


def send(desk, path="/desk/space", act="preview", **fields):
    shown = {"policy": write_policy(OTHER), "title": "Reviews", **fields}
    version = desk.gateway.catalog.spaces["talk"].version.number
    return desk.http.post(path, data={"csrf": desk.csrf, "act": act, "version": str(version), **shown})


def words(answer):
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def problem(answer):
    return unescape(re.search(r'id="problem">([^<]*)<', answer.text)[1])


# --- making ---------------------------------------------------------------------------------------------


def test_what_a_space_costs_is_shown_before_it_is_made(desk):
    answer = send(desk, name="reviews")

    assert answer.status_code == 200
    assert "reviews" not in desk.gateway.catalog.spaces
    assert T["preview"]["heading"] in words(answer)
    assert f"{T['preview']['epsilon']} 0.5" in words(answer)
    assert T["preview"]["pause"][:30] not in words(answer)

    answer = send(desk, act="do", name="reviews", adoption="opt-in")
    assert answer.headers["location"] == "/desk?done=made_space"
    made = desk.gateway.catalog.space("reviews")
    assert (made.title, made.adoption, dict(made.outlet)) == ("Reviews", "opt-in", {"kind": "feed"})
    assert made.version.policy == OTHER
    assert T["done"]["made_space"] in desk.words("/desk?done=made_space")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "Reviews"}, "small letters"),
        ({"name": "talk"}, T["space_taken"]),
        ({"name": "x", "policy": "epsilon ="}, "TOML"),
        ({"name": "x", "policy": write_policy(Policy(epsilon="1", gap="9s", window="4s"))}, "tick, window"),
        ({"name": "x", "adoption": "nobody"}, "unknown adoption"),
        ({"name": "x", "title": "a\tb"}, "one line"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence_and_stays_in_the_form(desk, fields, told):
    for act in ("preview", "do"):
        answer = send(desk, act=act, **fields)
        assert answer.status_code == 422
        assert told in problem(answer)
        assert f'value="{fields["name"]}"' in answer.text
    assert list(desk.gateway.catalog.spaces) == ["talk", "wiki"]


@pytest.mark.parametrize("field", ["outlet", "webhook", "circle", "accounts"])
def test_a_made_space_has_a_feed_whatever_else_a_form_says(desk, field):
    send(desk, act="do", name="x", **{field: "https://evil.example/"})

    made = desk.gateway.catalog.space("x")
    assert (dict(made.outlet), made.circle) == ({"kind": "feed"}, "all")


# --- changing -------------------------------------------------------------------------------------------


def test_what_a_change_of_policy_costs_is_shown_and_then_done_after_a_pause(desk):
    answer = send(desk, "/desk/space/talk", title="talk")

    shown = words(answer)
    assert f"{T['preview']['epsilon']} 1 0.5" in shown
    assert f"{T['preview']['gap']} 8s 20s" in shown
    length = re.search(r"takes nothing in for (\w+), until", shown)[1]
    assert desk.gateway.catalog.space("talk").version.number == 1

    assert send(desk, "/desk/space/talk", act="do", title="Talk").status_code == 303
    changed = desk.gateway.catalog.space("talk")
    assert (changed.title, changed.version.number, changed.version.policy) == ("Talk", 2, OTHER)
    assert length == format_duration(quiet_ticks(POLICY, OTHER) * POLICY.tick)
    assert T["changes"] in desk.words()


def test_a_title_alone_costs_nothing(desk):
    policy = write_policy(POLICY)
    answer = send(desk, "/desk/space/talk", title="Chat", policy=policy)
    assert T["preview"]["title_alone"] in words(answer)
    send(desk, "/desk/space/talk", act="do", title="Chat", policy=policy)

    assert desk.gateway.catalog.space("talk").title == "Chat"
    assert desk.gateway.catalog.space("talk").version.number == 1
    assert problem(send(desk, "/desk/space/talk", title="Chat", policy=policy)) == T["space_same"]


def test_a_space_that_somebody_else_has_changed_is_not_changed_again(desk):
    send(desk, "/desk/space/talk", act="do", title="Talk")
    answer = send(desk, "/desk/space/talk", act="do", policy=write_policy(POLICY), version="1")

    assert problem(answer) == T["space_moved"]
    assert desk.gateway.catalog.space("talk").version.number == 2


def test_a_space_that_releases_elsewhere_or_has_ended_is_not_for_this_page(desk):
    with desk.gateway.store.transaction("closing") as transaction:
        change_space(transaction, "talk", outlet={"kind": "webhook", "url": "https://a.example/h"})
        end_space(transaction, desk.clock, "wiki")
    desk.gateway.refresh()

    for name, told in (("talk", "space_elsewhere"), ("wiki", "space_ended")):
        answer = desk.http.get(f"/desk/space/{name}")
        assert (answer.status_code, T[told] in words(answer)) == (409, True)
    assert "/desk/space/" not in desk.read()
    assert "a.example" not in desk.read()


# --- who may --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scopes", "spaces", "may"),
    [
        (("operate",), (), (403, 403, 403)),
        (("operate", "spaces"), (), (200, 200, 200)),
        (("operate", "spaces"), ("talk",), (200, 200, 403)),
        (("admin",), (), (200, 200, 200)),
    ],
)
def test_a_scope_of_its_own_says_who_may(desk, scopes, spaces, may):
    made, talk, wiki = may
    desk.http.cookies.clear()
    desk.sign_in(*scopes, spaces=spaces)
    asked = {"": made, "/talk": talk, "/wiki": wiki}

    assert {path: desk.http.get(f"/desk/space{path}").status_code for path in asked} == asked
    is_for_all = made == 200 and not spaces
    assert send(desk, act="do", name="more").status_code == (303 if is_for_all else 403)
    assert ("more" in desk.gateway.catalog.spaces) is is_for_all
    assert send(desk, "/desk/space/wiki", act="do").status_code == (303 if wiki == 200 else 403)
    assert ("/desk/space/wiki" in desk.read()) is (wiki == 200)


def test_a_form_from_elsewhere_or_of_another_session_is_refused(desk):
    own = {"policy": write_policy(OTHER), "name": "x", "act": "do"}

    assert desk.http.post("/desk/space", data=own).status_code == 403
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    answer = desk.http.post("/desk/space", data={"csrf": desk.csrf, **own}, headers=elsewhere)
    assert answer.status_code == 403
    desk.http.cookies.clear()
    assert desk.http.get("/desk/space").headers["location"] == "/desk/sign-in?then=/desk/space"
    assert list(desk.gateway.catalog.spaces) == ["talk", "wiki"]


def test_a_policy_of_an_audit_comes_along(desk):
    page = desk.http.get("/desk/space", params={"policy": write_policy(OTHER)}).text

    assert "epsilon = 0.5" in unescape(page)
    link = unescape(re.search(r'href="(/desk/space/talk\?[^"]*)"', page)[1])
    assert "epsilon = 0.5" in unescape(desk.read(link))
