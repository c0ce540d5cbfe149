"""Spaces over HTTP: their pages, their policies' versions, their deadline, and whom they share."""

import re
from datetime import datetime

import pytest

from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy
from tarry.core.straddle import quiet_ticks
from tarry.gateway.space_changes import end_space

POLICY = Policy(epsilon="1", gap="8s", window="3s")
STRICTER = Policy(epsilon="0.5", gap="9s", window="3s")
LONGEST = 60


def seconds(text: str) -> float:
    """Seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


# --- pages -------------------------------------------------------------------------------------------


def test_everybody_may_read_the_spaces_and_their_promises(new_site):
    """Names, versions, windows; the policy as a file and in plain words."""
    site = new_site(spaces=("wiki", "talk"))
    site.http.headers.pop("authorization")
    listed = site.http.get("/v1/spaces").json()["spaces"]
    page = site.http.get("/v1/spaces/talk/policy").json()

    assert [each["name"] for each in listed] == ["talk", "wiki"]
    assert site.http.get("/v1/spaces/talk").json() == listed[0]
    assert listed[0] == {
        "name": "talk",
        "title": "talk",
        "version": 1,
        "is_open": True,
        "has_ended": False,
        "resumes_at": None,
        "window_s": 3.0,
        "deadline_at": None,
        "adoption": "everyone",
    }
    assert page["version"] == 1
    assert page["holds_from"] is None
    assert read_policy(page["policy"]).epsilon == 1
    assert page["promised"]
    assert page["not_promised"]
    assert site.http.get("/v1/spaces/talk/policy.toml").text == page["policy"]


def test_a_space_that_has_ended_says_so_and_goes_on_telling_what_it_released(site):
    site.receipt(content="before")
    with site.gateway.store.transaction("closing") as transaction:
        end_space(transaction, site.clock, "talk")
    site.gateway.refresh()
    refusal = site.post()
    site.pass_ticks(LONGEST)

    assert (refusal.status_code, refusal.json()["detail"]) == (
        409,
        "space 'talk' has ended and takes no more posts: use another space",
    )
    assert site.http.get("/v1/spaces/talk").json()["has_ended"]
    assert [item["content"] for item in site.feed()["items"]] == ["before"]
    assert site.http.post("/v1/spaces/talk/open").status_code == 422


@pytest.mark.parametrize("path", ["", "/policy", "/policy.toml"])
@pytest.mark.parametrize("name", ["nowhere", "TALK", "ta%20lk", "%C3%A9", "talk%00", "x" * 5000])
def test_a_space_that_is_not_there_has_no_page(site, name, path):
    """404, in one short sentence."""
    answer = site.http.get(f"/v1/spaces/{name}{path}")

    assert answer.status_code == 404
    assert len(answer.content) < 600


def test_a_paused_space_takes_nothing_in_and_lets_out_what_waits(site):
    """Until it is opened again."""
    site.receipt()
    paused = site.http.post("/v1/spaces/talk/pause")
    refused = site.post()
    site.pass_ticks(LONGEST)

    assert paused.json()["is_open"] is False
    assert refused.status_code == 409
    assert "paused" in refused.json()["detail"]
    assert len(site.feed()["items"]) == 1
    assert site.http.post("/v1/spaces/talk/open").json()["is_open"] is True
    assert site.post().status_code == 202


def test_a_pause_is_of_one_space_alone(new_site):
    """The others go on."""
    site = new_site(spaces=("wiki", "talk"))
    site.http.post("/v1/spaces/talk/pause")

    assert site.post(space="wiki").status_code == 202


# --- versions ----------------------------------------------------------------------------------------


def test_a_new_policy_holds_after_a_pause_of_the_longest_reach_and_a_tick(site):
    """Not one tick earlier; the page names the moment, the refusal the seconds until then."""
    site.pass_ticks(1)
    last = site.post()
    version = site.change_policy(STRICTER)
    page = site.http.get("/v1/spaces/talk/policy").json()
    quiet = quiet_ticks(POLICY, STRICTER)

    assert last.status_code == 202
    assert page["version"] == version.number == 2
    assert seconds(page["holds_from"]) == site.now + quiet

    for left in range(quiet, 0, -1):
        refused = site.post()
        assert refused.status_code == 409
        assert int(re.search(r"try again in (\d+) s", refused.json()["detail"])[1]) == left
        site.pass_ticks(1)

    assert seconds(page["holds_from"]) == site.now
    assert site.post().status_code == 202


def test_the_pause_counts_every_gap_of_both_policies(site):
    """A track of its own with a longer gap makes it longer."""
    wide = Policy(epsilon="1", gap="8s", window="3s", track_gaps={"slow": "40s"})
    site.change_policy(wide)

    assert seconds(site.http.get("/v1/spaces/talk/policy").json()["holds_from"]) > site.now + 40


def test_what_waits_leaves_under_the_policy_it_came_under(site):
    """The moments that its author was told stay."""
    told = site.post().json()
    site.change_policy(STRICTER)
    site.pass_ticks(LONGEST)
    (item,) = site.feed()["items"]

    assert item["at"] in {told["earliest_at"], told["latest_at"]}


def test_an_operator_who_accepts_the_loss_changes_at_once(site):
    """No pause."""
    site.change_policy(STRICTER, accept_straddle=True)

    assert site.post().status_code == 202
    assert site.http.get("/v1/spaces/talk").json()["version"] == 2


@pytest.mark.parametrize("since", [0, 5, 30])
def test_a_pause_reaches_back_over_changes_that_were_made_at_once(site, since):
    """What was accepted was the loss between the first two policies, not between first and third."""
    wide = Policy(epsilon="1", gap="40s", window="3s")
    site.change_policy(wide, accept_straddle=True)
    site.pass_ticks(1)
    site.receipt()
    last = site.now
    site.change_policy(POLICY, accept_straddle=True)
    site.pass_ticks(since)
    site.change_policy(STRICTER)
    holds_from = seconds(site.http.get("/v1/spaces/talk/policy").json()["holds_from"])

    assert holds_from == max(last + quiet_ticks(wide, STRICTER), site.now + quiet_ticks(POLICY, STRICTER))


def test_a_pause_before_a_new_policy_says_when_it_ends(site):
    """On the page of the space, in the refusal, and to who opens it; when it is over nothing is said."""
    site.change_policy(STRICTER)
    holds_from = site.http.get("/v1/spaces/talk/policy").json()["holds_from"]
    refused = site.post()

    assert site.http.get("/v1/spaces/talk").json()["resumes_at"] == holds_from
    assert site.http.get("/v1/spaces").json()["spaces"][0]["resumes_at"] == holds_from
    assert site.http.post("/v1/spaces/talk/open").json()["resumes_at"] == holds_from
    assert refused.status_code == 409
    site.pass_ticks(int(refused.headers["retry-after"]) - 1)
    assert site.post().status_code == 409
    assert site.http.get("/v1/spaces/talk").json()["resumes_at"] == holds_from
    site.pass_ticks(1)
    assert site.post().status_code == 202
    assert site.http.get("/v1/spaces/talk").json()["resumes_at"] is None


def test_a_pause_whose_end_nobody_knows_names_no_moment(site):
    """An operator's."""
    site.http.post("/v1/spaces/talk/pause")
    refused = site.post()

    assert refused.status_code == 409
    assert "retry-after" not in refused.headers


def test_every_version_of_a_policy_stays_public(site):
    """Whoever was promised something can look it up; what is asked for without a number is the last one."""
    first = site.http.get("/v1/spaces/talk/policy").json()
    site.change_policy(STRICTER)
    page = "/v1/spaces/talk/policy"

    assert site.http.get(page).json() == site.http.get(f"{page}?version=2").json()
    assert site.http.get(f"{page}?version=1").json() == first
    assert site.http.get(f"{page}.toml?version=1").text == first["policy"]
    assert site.http.get(f"{page}?version=3").status_code == 404
    assert site.http.get(f"{page}.toml?version=3").status_code == 404
    assert site.http.get(f"{page}?version=0").status_code == 422


@pytest.mark.parametrize("adoption", ["everyone", "opt-out", "opt-in"])
def test_whose_posts_are_delayed_is_public(site, adoption):
    """A promise that holds for some accounts alone says so."""
    site.add_space("wiki", adoption=adoption)
    page = site.http.get("/v1/spaces/wiki/policy").json()

    assert site.http.get("/v1/spaces/wiki").json()["adoption"] == adoption
    assert any("delays" in each and "account" in each for each in page["not_promised"]) is (
        adoption != "everyone"
    )


@pytest.mark.parametrize(
    "other",
    [
        Policy(epsilon="1", gap="8s", window="4s"),
        Policy(epsilon="1", gap="8s", window="3s", labels="follower"),
        Policy(epsilon="1", gap="8s", window="4s", tick="2s"),
    ],
)
def test_another_tick_window_or_label_rule_is_refused(site, other):
    """Labels look over all spaces, so these have one of each."""
    with pytest.raises(BadInput, match="tick, window and labels"):
        site.change_policy(other)
    with pytest.raises(BadInput, match="tick, window and labels"):
        site.add_space("wiki", other)

    assert [each["version"] for each in site.http.get("/v1/spaces").json()["spaces"]] == [1]
    assert site.post().status_code == 202


# --- the deadline --------------------------------------------------------------------------------------


def test_nothing_is_admitted_after_the_deadline_and_all_has_left_by_then(new_site):
    """The page tells it; a post at its tick is the last."""
    from tarry.testing import ManualClock

    clock = ManualClock()
    end = clock.wall // 1_000_000 + 20
    site = new_site(policy=Policy(epsilon="1", gap="8s", window="3s", deadline_at=end), clock=clock)
    receipts = []
    while site.now < end:
        site.pass_ticks(1)
        receipts.append(site.receipt(target=f"p{site.now}"))
    site.pass_ticks(1)
    refused = site.post()

    assert seconds(site.http.get("/v1/spaces/talk").json()["deadline_at"]) == end
    assert refused.status_code == 422
    assert "deadline" in refused.json()["detail"]
    assert len(site.feed()["items"]) == len(receipts) == 20
    assert {site.ask(receipt).json()["state"] for receipt in receipts} == {"released"}


# --- circles -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("circle", "label"), [("all", 1), ("others", 0)])
def test_spaces_label_together_if_they_are_of_one_circle(site, circle, label):
    """The same name in another circle is another person."""
    site.add_space("wiki", circle=circle)
    site.receipt(space="talk")
    site.receipt(space="wiki")
    site.pass_ticks(4)
    with site.gateway.store.transaction("reading") as transaction:
        spent = transaction.all("spent", erasable=1 << 60)

    assert sum(row["batched"] for row in spent) == 2 * label


def test_the_same_target_in_two_spaces_of_a_circle_is_two_targets(site):
    """Their names are the spaces' own."""
    site.add_space("wiki")
    site.receipt(space="talk", target="front page")
    site.receipt(space="wiki", target="front page")
    site.pass_ticks(4)
    with site.gateway.store.transaction("reading") as transaction:
        spent = transaction.all("spent", erasable=1 << 60)

    assert sum(row["batched"] for row in spent) == 2


def test_releases_appear_in_the_feed_of_their_own_space(site):
    """And in no other."""
    site.add_space("wiki")
    site.receipt(space="talk", content="t")
    site.receipt(space="wiki", content="w")
    site.pass_ticks(LONGEST)

    assert [item["content"] for item in site.feed("talk")["items"]] == ["t"]
    assert [item["content"] for item in site.feed("wiki")["items"]] == ["w"]


def test_another_server_obeys_a_change_at_once(new_site, postgres_server):
    """It compares the generation inside the admitting transaction, not its own copy of the book."""
    from tarry.gateway.database import open_store

    dsn = postgres_server.new_schema()
    here = new_site(store=open_store(dsn))
    there = new_site(store=open_store(dsn), clock=here.clock)
    here.http.post("/v1/spaces/talk/pause")

    assert there.gateway.catalog.space("talk").is_open  # it has not heard of it
    assert there.post().status_code == 409
    assert there.rows("not_done") == []
    for site in (here, there):
        site.gateway.store.close()
