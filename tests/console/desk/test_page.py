"""The desk on the server's side: what it shows to whom, and what each of its forms does."""

import re
from html import unescape

import pytest

from contracts.at_desk import AtDesk
from tarry.core.entropy import Seeded
from tarry.core.policy import Policy
from tarry.gateway.monitoring import last_hour
from tarry.gateway.policy_changes import change_policy
from tarry.gateway.space_changes import add_space, end_space
from tarry.gateway.testing import new_token
from tarry.keep.errors import Refused, Unavailable, Unreachable
from tarry.keep.releaser import MOST_ATTEMPTS
from tarry.testing import ListOutlet

LONGEST = 60  # ticks, after which everything has left


@pytest.fixture
def broken():
    """An outlet that refuses everything for now."""
    return ListOutlet(broken=Refused("the forum says <b>no</b>"))


@pytest.fixture
def desk(broken):
    """Two spaces; what talk releases is refused."""
    with (made := AtDesk(outlets={"talk": broken})).http:
        yield made


@pytest.fixture
def parked(desk):
    """A post that is parked in talk, as its form names it."""
    desk.post(target="p<9>")
    desk.pass_ticks(LONGEST)
    desk.sign_in()
    return re.search(r'name="post" value="(\d+)"', desk.read())[1]


# --- spaces -------------------------------------------------------------------------------------------


def test_each_space_is_shown_with_what_an_operator_needs(desk):
    desk.sign_in()
    words = desk.words()

    for told in ("talk", "wiki", "open", "Circle all", "Outlet feed", "Deadline none", "1 the start holds"):
        assert told in words
    assert desk.http.get("/desk/promise/talk/1").status_code == 200


def test_a_space_is_paused_and_opened_again(desk):
    desk.sign_in()

    assert "Nobody can post there" in desk.done("pause", space="wiki")
    assert not desk.gateway.catalog.space("wiki").is_open
    assert "Open wiki again" in desk.read()
    assert desk.done("open", space="wiki") == "Open again."
    assert desk.gateway.catalog.space("wiki").is_open


def test_a_space_that_has_ended_offers_no_way_back(desk):
    desk.sign_in()
    with desk.gateway.store.transaction("closing") as transaction:
        end_space(transaction, desk.clock, "wiki")
    desk.gateway.refresh()

    assert "Open wiki again" not in desk.read()
    assert desk.act("open", space="wiki").status_code == 422


def test_a_policy_about_to_take_effect_says_until_when_admission_pauses(desk):
    desk.sign_in()
    desk.clock.sleep(1)
    with desk.gateway.store.transaction("closing") as transaction:
        change_policy(transaction, desk.clock, "talk", Policy(epsilon="2", gap="8s", window="3s"))
    desk.gateway.refresh()
    words = desk.words()
    (until,) = re.findall("admission pauses until (2026-01-01 00:00:[0-9]+ UTC)", words)

    assert f"2 {until} takes effect then its promise 1 the start its promise" in words
    desk.pass_ticks(LONGEST)
    words = desk.words()
    assert "admission pauses" not in words
    assert f"2 {until} holds its promise 1 the start its promise" in words


def test_a_policy_that_was_replaced_before_its_time_never_held(desk):
    desk.sign_in()
    with desk.gateway.store.transaction("closing") as transaction:
        for epsilon in ("2", "1.5"):
            change_policy(transaction, desk.clock, "talk", Policy(epsilon=epsilon, gap="8s", window="3s"))
    desk.gateway.refresh()
    words = desk.words()

    assert "takes effect then its promise 2 never held its promise 1 the start its promise" in words


@pytest.mark.parametrize(("passed", "told"), [(0, "Deadline 2026"), (7200, "Deadline passed at 2026")])
def test_a_deadline_is_told_before_and_after_it(passed, told):
    policy = Policy(epsilon="1", gap="8s", window="3s", deadline_at=1_767_225_600 + 3600)
    with (desk := AtDesk(policy=policy)).http:
        desk.sign_in()
        desk.clock.sleep(passed)

        assert told in desk.words()


def test_every_version_has_a_page_with_its_promise(desk):
    desk.sign_in()
    with desk.gateway.store.transaction("closing") as transaction:
        change_policy(transaction, desk.clock, "talk", Policy(epsilon="2", gap="8s", window="3s"))
    desk.gateway.refresh()
    first, second = (desk.words(f"/desk/promise/talk/{number}") for number in (1, 2))

    assert re.search(r'epsilon = "?1\b', first)
    assert re.search(r'epsilon = "?2\b', second)
    for number in ("0", "3", "01", "x", "%00"):
        assert desk.http.get(f"/desk/promise/talk/{number}").status_code == 404


# --- what waits ---------------------------------------------------------------------------------------


def test_what_waits_is_told_by_hour_of_release_as_it_stood_when_the_hour_began():
    """Batched, so that they wait for hours; the last one came so late that its label is not known."""
    hours_long = Policy(epsilon="1", gap="3h", window="10m", tick="1m")
    with (desk := AtDesk(policy=hours_long, entropy=Seeded(3).stream("a", "t", time=0))).http:
        desk.sign_in()
        for n in range(4):
            desk.post(target=f"p{n}", space="wiki")
        before = desk.words()
        desk.pass_ticks(55, seconds=60)
        assert desk.post("bob", space="wiki")["release_at"] is None
        desk.pass_ticks(6, seconds=60)
        words = desk.words()
        table = re.search(r"What waits, by hour of release a few posts (.*?) Withdraw from", words)[1]
        hours = re.findall(r"2026-01-01 (\d\d):00 UTC (under 5)", table.partition("Posts")[2])

        assert before.count("Nothing waited.") == 2
        assert "counted once an hour, the last time in the hour from 2026-01-01 01:00 UTC" in words
        assert [hour for hour, _ in hours] == sorted(hour for hour, _ in hours)
        assert hours
        assert all(int(hour) > 1 for hour, _ in hours)
        assert table.endswith("not known yet under 5")
        assert words.count("Nothing waited.") == 1


def test_fewer_than_five_posts_of_an_hour_are_not_counted_out_nor_in_any_sum(desk):
    """Not by the number, not by the bar, not by what is left of a sum."""
    desk.sign_in()
    seen = []
    for counts in ((1, 4, 12, 5), (3, 2, 12, 5)):
        with desk.gateway.store.transaction("closing") as transaction:
            transaction.tell("clear_outlook")
            for hour, posts in enumerate(counts, 500_000):
                values = {"hour": hour, "posts": posts}
                transaction._connection.execute(
                    "INSERT INTO outlook (outlet, hour, posts) VALUES ('talk', :hour, :posts)", values
                )
        seen.append(re.sub(r'value="\w{64}"', "", desk.read()))
    words = desk.words()

    assert seen[0] == seen[1]
    assert "17 posts, and a few" in words
    assert re.findall(r"UTC (under 5|[0-9]+)(?= )", words.partition("and a few")[2])[:4] == [
        "under 5",
        "under 5",
        "12",
        "5",
    ]


@pytest.mark.parametrize(
    ("arrivals", "told"), [(0, "no post in"), (1, "under 5 posts"), (4, "under 5 posts"), (5, "5 posts")]
)
def test_an_hour_with_few_posts_says_that_alone(desk, arrivals, told):
    desk.sign_in("operate")
    desk.pass_ticks(3, seconds=3600)
    with desk.gateway.store.transaction("reading") as transaction:
        hour = last_hour(transaction).at // 3600
    with desk.gateway.store.transaction("closing") as transaction:
        transaction._connection.execute(
            "INSERT INTO hours VALUES (:h, :n)", {"h": int(hour), "n": arrivals}
        )

    assert f"{told} " in health(desk)["Accepted"][1]


# --- parked posts -------------------------------------------------------------------------------------


def test_a_parked_post_is_shown_as_text_and_without_its_author(desk, parked):
    page, words = desk.read(), desk.words()

    assert "<b>no</b>" not in page
    assert "p<9>" in words
    assert "the forum says <b>no</b>" in unescape(page)
    assert "ann" not in re.sub("channel|announce", "", words)


def test_parked_posts_come_first_and_the_desk_is_not_green_with_them(desk, parked):
    page, told = desk.read(), desk.http.get("/desk/health").json()

    assert told["overall"]["state"] == "problem"
    assert told["overall"]["words"] == "1 post could not be delivered and waits for you"
    assert '<p class="problem overall" data-overall>' in page
    places = [page.index(part) for part in ("data-overall", "parked-heading", "health-heading")]
    assert places == sorted(places)
    assert health(desk)["Parked posts"][0] == "problem"


def test_of_a_space_that_is_not_ones_own_parked_posts_are_not_counted(desk, parked):
    desk.sign_in("operate", spaces=["wiki"])

    assert desk.http.get("/desk/health").json()["overall"]["state"] == "good"


def test_a_post_that_may_have_left_is_not_sent_again_by_the_first_button(desk, broken):
    broken.broken = Unreachable("it hung up", sent=True)
    desk.post(target="twice")
    for _ in range(MOST_ATTEMPTS + 1):
        desk.pass_ticks(LONGEST, seconds=10)
    desk.sign_in()
    page = desk.read()

    assert "It may have left already, and would then appear twice." in page
    assert "It may have left all the same: look there first." in desk.words()
    assert re.search(r'class="small quiet" aria-label="Retry the post on twice"', page)


def test_a_parked_post_that_is_retried_leaves(desk, parked, broken):
    broken.broken = None

    assert desk.done("retry", space="talk", post=parked) == "Put back. It leaves at the next chance."
    desk.pass_ticks(2)
    assert [each.target for each in broken.delivered] == ["p<9>"]
    assert "Nothing is parked." in desk.words()


def test_a_parked_post_that_is_withdrawn_never_leaves(desk, parked, broken):
    broken.broken = None

    assert desk.done("withdraw", space="talk", post=parked) == "Withdrawn. It will never appear."
    desk.pass_ticks(2)
    assert broken.delivered == []


@pytest.mark.parametrize("act", ["retry", "withdraw"])
def test_a_post_that_is_not_parked_any_more_is_told_so(desk, parked, act):
    desk.done("withdraw", space="talk", post=parked)
    answer = desk.act(act, space="talk", post=parked)

    assert answer.status_code == 409
    assert "this post is not parked any more" in answer.text
    assert 'href="/desk"' in answer.text
    for number in ("", "x", "-1", "9" * 30, "1e3", "٣"):
        assert desk.act(act, space="talk", post=number).status_code == 404


def test_a_parked_post_belongs_to_its_space(desk, parked):
    assert desk.act("retry", space="wiki", post=parked).status_code == 409
    assert "Nothing is parked." not in desk.words()


def test_of_many_parked_posts_the_first_hundred_are_shown(desk):
    for n in range(103):
        desk.post(actor=f"a{n}", target=f"p{n}")
    desk.pass_ticks(LONGEST)
    desk.sign_in()

    assert desk.read().count('value="retry"') == 100
    assert "and 3 more" in desk.words()
    assert "Parked posts 103" in desk.words()


# --- withdrawing --------------------------------------------------------------------------------------


def test_everything_that_waits_on_a_target_is_taken_back(desk):
    desk.sign_in()
    for actor, target in (("ann", "p1"), ("bob", "p1"), ("ann", "p2")):
        desk.post(actor, target, "wiki")

    assert desk.done("withdraw-on", space="wiki", target="p1") == "2 posts were taken back."
    assert desk.done("withdraw-on", space="wiki", target="p2") == "1 post was taken back."
    assert desk.done("withdraw-on", space="wiki", target="p2") == "Nothing waited there."
    desk.pass_ticks(LONGEST)
    assert desk.http.get("/v1/spaces/wiki/feed").json()["items"] == []


@pytest.mark.parametrize("target", ["", "x" * 1001, "\0"])
def test_a_target_has_a_name(desk, target):
    desk.sign_in()

    assert desk.act("withdraw-on", space="wiki", target=target).status_code == 422


@pytest.mark.parametrize(
    "query", ["done=x", "done=withdrawn_on&count=x", "done=withdrawn_many", "done=withdrawn_on"]
)
def test_only_sentences_of_ours_are_told(desk, query):
    desk.sign_in()

    assert 'role="status"' not in desk.read(f"/desk?{query}")


# --- tokens -------------------------------------------------------------------------------------------

MAKE = {"name": "the forum", "scope-submit": "yes"}


def make(desk, **fields):
    """Make a token on the desk; the page that shows it."""
    answer = desk.act("make", **{**MAKE, **fields})
    assert (answer.status_code, answer.headers["location"]) == (303, "/desk/token")
    return desk.read("/desk/token")


def test_a_token_is_made_shown_once_and_works(desk):
    desk.sign_in("admin")
    page = make(desk, **{"space-talk": "yes"})
    (token,) = re.findall("tarry_[0-9a-f]{64}", page)
    again = desk.http.get("/desk/token")

    assert (again.status_code, again.headers["location"]) == (303, "/desk")
    assert token not in desk.read()
    assert token not in desk.http.cookies.values()
    desk.sender = token
    desk.post(space="talk")
    body = {"actor": "a", "target": "t", "content": "c"}
    who = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    assert desk.http.post("/v1/spaces/wiki/posts", json=body, headers=who).status_code == 403


def test_the_new_token_travels_in_no_address_and_in_a_cookie_for_one_page(desk):
    desk.sign_in("admin")
    answer = desk.act("make", **MAKE, everywhere="yes")
    kept = answer.headers["set-cookie"]

    assert answer.headers["location"] == "/desk/token"
    assert kept.partition("; ")[2] == "HttpOnly; Max-Age=300; Path=/desk/token; SameSite=strict"


def test_a_cookie_with_no_token_in_use_shows_nothing(desk):
    desk.sign_in("admin")
    answer = desk.http.get("/desk/token", headers={"Cookie": "tarry_new_token=<b>; " + joined(desk)})

    assert answer.status_code == 303


def joined(desk) -> str:
    """The browser's cookies."""
    return "; ".join(f"{name}={value}" for name, value in desk.http.cookies.items())


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "say where the token is good"),
        ({"everywhere": "yes", "space-talk": "yes"}, "say where the token is good"),
        ({"scope-submit": "no", "everywhere": "yes"}, "say what the token allows"),
        (
            {"name": " ", "everywhere": "yes"},
            "the name of a token must have 1 to 100 characters on one line",
        ),
        (
            {"name": "a\nb", "everywhere": "yes"},
            "the name of a token must have 1 to 100 characters on one line",
        ),
        ({"space-nowhere": "yes"}, "say where the token is good"),
    ],
)
def test_nobody_gets_a_token_for_everything_by_forgetting_to_choose(desk, fields, told):
    desk.sign_in("admin")
    before = len(desk.gateway.catalog.tokens)
    answer = desk.act("make", **{**MAKE, **fields})

    assert answer.status_code == 422
    assert told in unescape(answer.text)
    assert len(desk.gateway.catalog.tokens) == before


def test_a_revoked_token_is_refused_from_then_on(desk):
    desk.sign_in("admin")
    other = new_token(desk.gateway, "operate")
    number = desk.gateway.catalog.tokens[sha(other)].id

    assert desk.ask_api(other, "/v1/spaces/talk/parked").status_code == 200
    assert "Revoked." in desk.done("revoke", token=number)
    assert desk.ask_api(other, "/v1/spaces/talk/parked").status_code == 401
    again = desk.act("revoke", token=number)
    assert again.status_code == 409
    assert "this token is not in use any more" in again.text


def test_revoking_ones_own_token_ends_the_session(desk):
    own = desk.sign_in("admin")
    answer = desk.act("revoke", token=desk.gateway.catalog.tokens[sha(own)].id)

    assert answer.status_code == 303
    assert desk.http.get(answer.headers["location"]).headers["location"] == "/desk/sign-in?then=/desk"


def sha(token: str) -> bytes:
    from tarry.gateway.catalog import token_hash

    return token_hash(token)


# --- who sees and does what -----------------------------------------------------------------------------


def test_a_token_of_some_spaces_sees_only_those(desk):
    desk.post(target="secret target")
    desk.pass_ticks(LONGEST)
    desk.sign_in("operate", spaces=("wiki",))
    words = desk.words()

    assert "wiki" in words
    for hidden in ("talk", "secret target", "Accepted", "Ledger", "Due posts", "Tokens"):
        assert hidden not in words
    for line in desk.http.get("/desk/health").json()["lines"]:
        assert line["label"] in {"Store", "Ticks", "Parked posts"}  # those of its own spaces
    assert desk.http.get("/desk/promise/talk/1").status_code == 403
    assert desk.http.get("/desk/promise/wiki/1").status_code == 200


@pytest.mark.parametrize("act", ["pause", "open", "retry", "withdraw", "withdraw-on"])
def test_a_token_of_some_spaces_does_nothing_elsewhere(desk, act):
    """A space that is not there is refused like one that is not theirs."""
    desk.sign_in("operate", spaces=("wiki",))
    answers = [desk.act(act, space=space, post="1", target="p1") for space in ("talk", "nowhere", "")]

    assert [answer.status_code for answer in answers] == [403] * 3
    assert len({answer.text for answer in answers}) == 1
    assert desk.gateway.catalog.space("talk").is_open


@pytest.mark.parametrize(
    ("scope", "spaces"), [("operate", ()), ("operate", ("talk",)), ("admin", ("talk",))]
)
def test_tokens_are_for_administrators_of_the_whole_gateway(desk, scope, spaces):
    """Whoever may administer some spaces could make a token for the others."""
    desk.sign_in(scope, spaces=spaces)
    before = dict(desk.gateway.catalog.tokens)
    (number, *_) = [token.id for token in before.values()]

    assert "Make a token" not in desk.words()
    assert number not in desk.read()
    assert desk.act("make", **MAKE, everywhere="yes").status_code == 403
    assert desk.act("revoke", token=number).status_code == 403
    assert desk.gateway.catalog.tokens == before


def test_a_new_tokens_page_is_for_administrators(desk):
    desk.sign_in("operate")
    secret = new_token(desk.gateway, "submit")
    answer = desk.http.get("/desk/token", headers={"Cookie": f"tarry_new_token={secret}; {joined(desk)}"})

    assert answer.status_code == 303
    assert secret not in answer.text


@pytest.mark.parametrize("act", [None, "", "read", "__class__"])
def test_what_the_desk_does_not_know_is_refused(desk, act):
    desk.sign_in("admin")

    assert desk.act(act or "").status_code == 422


def test_a_space_that_is_not_there_is_not_found(desk):
    desk.sign_in("admin")

    assert desk.act("pause", space="nowhere").status_code == 404
    assert desk.http.get("/desk/promise/nowhere/1").status_code == 404


# --- health -------------------------------------------------------------------------------------------


def health(desk) -> dict[str, tuple[str, str]]:
    """The lines, by their labels; the page says the same."""
    lines = desk.http.get("/desk/health").json()["lines"]
    page = desk.read()
    for line in lines:
        assert f'<div class="health-{line["state"]}"><dt>{line["label"]}</dt>' in page
        assert line["words"] in unescape(page)
    return {line["label"]: (line["state"], line["words"]) for line in lines}


def test_a_gateway_that_is_well_says_so(desk):
    desk.sign_in()

    assert '<p class="good overall" data-overall><strong>All is well:</strong>' in desk.read()
    assert health(desk) == {
        "Store": ("good", "reached"),
        "Ticks": ("good", "close on time"),
        "Parked posts": ("good", "none"),
        "Due posts": ("good", "leave on time"),
        "Accepted": ("good", "no post in the hour from"),
        "Ledger": ("good", "no account is beyond what is promised, as counted in the hour from"),
    }


def test_ticks_that_nobody_closes_are_a_problem(desk):
    desk.sign_in()
    desk.clock.sleep(600)
    state, words = health(desk)["Ticks"]

    assert state == "problem"
    assert words.startswith("10m behind: nobody closes them.")


def test_a_due_post_that_does_not_leave_is_told(desk, broken):
    broken.broken = Unreachable("the forum is away")
    desk.post()
    desk.pass_ticks(120)
    desk.sign_in()
    state, words = health(desk)["Due posts"]

    assert state == "note"
    assert words.startswith("the first one has waited 1m")


def test_a_store_brought_back_from_a_backup_says_what_to_do(desk):
    desk.sign_in()
    with desk.gateway.store.transaction("closing") as transaction:
        transaction.tell("pause", paused=1)
    found = health(desk)

    assert found["Paused"][0] == "problem"
    assert "tarry resume" in found["Paused"][1]
    assert "tarry resume" in found["Paused"][1]
    assert not {"Ticks", "Due posts"} & set(found)


def test_a_store_that_is_away_leaves_a_page_that_says_so(desk, monkeypatch):
    """And a form that cannot be done says one sentence, without what the database says."""
    desk.sign_in("admin")
    form = desk.csrf

    def away(kind):
        raise Unavailable("connection to 10.1.2.3 failed for user tarry")

    monkeypatch.setattr(desk.gateway.store, "transaction", away)
    words = desk.words()
    answer = desk.http.post("/desk", data={"csrf": form, "act": "pause", "space": "talk"})

    assert health(desk) == {
        "Store": ("problem", "cannot be reached: nothing comes in and nothing leaves until it is back")
    }
    assert "talk" in words
    assert "Parked posts" not in words
    assert answer.status_code == 503
    assert "the store is away at the moment" in answer.text
    assert "10.1.2.3" not in answer.text


def test_accounts_above_three_nats_are_counted_and_not_named(desk):
    desk.sign_in()
    for n in range(7):  # half a nat each
        desk.post("ann", f"p{n}", "wiki")
    for n in range(6):
        desk.post("bob", f"p{n}", "wiki")
    desk.pass_ticks(20)
    assert health(desk)["Ledger"][0] == "good"  # told when the hour is over
    desk.clock.sleep(3600)
    desk.pass_ticks(1)

    assert health(desk)["Ledger"] == (
        "note",
        (
            "1 account is beyond what is promised: against a long watch its owner has little left. "
            "Counted in the hour from"
        ),
    )


def test_spaces_without_posts_of_ones_own_are_no_mistake(desk):
    with desk.gateway.store.transaction("closing") as transaction:
        add_space(
            transaction,
            desk.gateway.keys,
            desk.clock,
            "choice",
            Policy(epsilon="1", gap="8s", window="3s"),
            adoption="opt-in",
            title="<i>Choice</i>",
        )
    desk.gateway.refresh()
    desk.sign_in("admin")

    assert "<i>" not in desk.read()
    assert "posts of those who have opted in" in desk.words()
