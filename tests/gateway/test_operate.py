"""What operators may do: look at what is parked, put it back, take posts back. Nothing leaves early."""

import pytest

from tarry.keep.errors import Refused

LONGEST = 60


@pytest.fixture
def site(new_site, broken):
    """A space whose outlet refuses everything for now, and one that works."""
    broken.broken = Refused("the forum says no")
    return new_site(spaces=("talk", "wiki"), outlets={"talk": broken})


@pytest.fixture
def parked(site):
    """What is parked: one post in talk."""
    site.receipt(target="p9")
    site.pass_ticks(LONGEST)
    (post,) = site.http.get("/v1/spaces/talk/parked").json()["parked"]
    return post


def test_what_is_parked_is_listed_with_the_reason(parked):
    """And nothing of its author or arrival."""
    assert set(parked) == {"post", "target", "release_at", "attempts", "problem"}
    assert parked["target"] == "p9"
    assert "the forum says no" in parked["problem"]


def test_a_parked_post_that_is_put_back_leaves(site, parked, broken):
    """Once its outlet works again; nothing is parked then."""
    broken.broken = None
    answer = site.http.post(f"/v1/spaces/talk/parked/{parked['post']}/retry")
    site.pass_ticks(2)

    assert answer.status_code == 204
    assert answer.content == b""
    assert [release.target for release in broken.delivered] == ["p9"]
    assert site.http.get("/v1/spaces/talk/parked").json() == {"parked": []}


def test_a_parked_post_that_is_taken_back_never_leaves(site, parked, broken):
    """Though its outlet works again."""
    broken.broken = None
    assert site.http.delete(f"/v1/spaces/talk/parked/{parked['post']}").status_code == 204
    site.pass_ticks(2)

    assert broken.delivered == []
    assert site.http.delete(f"/v1/spaces/talk/parked/{parked['post']}").status_code == 409


def test_a_post_that_waits_is_not_put_back_and_so_not_released_early(new_site):
    """Its key may be known to its author alone; even so nothing happens."""
    from tarry.keep.keys import post_key, receipt_hash

    site = new_site()
    told = site.post().json()
    number = post_key(receipt_hash(told["receipt"]))
    retry = site.http.post(f"/v1/spaces/talk/parked/{number}/retry")
    drop = site.http.delete(f"/v1/spaces/talk/parked/{number}")

    assert (retry.status_code, drop.status_code) == (409, 409)
    assert site.ask(told["receipt"]).json() == {name: told[name] for name in told if name != "receipt"}


@pytest.mark.parametrize("number", ["0", "1", "-1", "x", "9" * 19, "9" * 30, "%00", "1e3", "٣", "1%2F2"])
@pytest.mark.parametrize("act", [("POST", "/retry"), ("DELETE", "")])
def test_a_post_that_is_not_there_is_not_found(site, number, act):
    """Whatever stands in its place; and no receipt is spoken of, where none was asked for."""
    answer = site.http.request(act[0], f"/v1/spaces/talk/parked/{number}{act[1]}")

    assert answer.status_code == 404
    assert "receipt" not in answer.json()["detail"]


def test_a_post_of_another_space_is_as_good_as_none(site, parked):
    """Byte for byte the same answer as to one that never was."""
    others = site.http.post(f"/v1/spaces/wiki/parked/{parked['post']}/retry")
    nobody = site.http.post("/v1/spaces/wiki/parked/12345/retry")

    assert others.status_code == 404
    assert others.content == nobody.content
    assert site.http.get("/v1/spaces/wiki/parked").json() == {"parked": []}
    assert len(site.http.get("/v1/spaces/talk/parked").json()["parked"]) == 1


def test_a_token_of_another_space_may_do_nothing_here(site, parked):
    """403, and the post stays where it is."""
    theirs = site.as_("operate", spaces=("wiki",))
    number = parked["post"]
    asked = [
        ("GET", "/v1/spaces/talk/parked", None),
        ("POST", f"/v1/spaces/talk/parked/{number}/retry", None),
        ("DELETE", f"/v1/spaces/talk/parked/{number}", None),
        ("POST", "/v1/spaces/talk/withdrawals", {"target": "p9"}),
        ("POST", "/v1/spaces/talk/pause", None),
        ("POST", "/v1/spaces/talk/open", None),
        ("GET", "/metrics", None),
        ("GET", "/v1/tokens", None),
    ]
    answers = [site.http.request(how, path, json=body, headers=theirs) for how, path, body in asked]
    through = site.http.post(f"/v1/spaces/wiki/parked/{number}/retry", headers=theirs)

    assert {answer.status_code for answer in answers} == {403}
    assert through.status_code == 404
    assert site.http.get("/v1/spaces/talk/parked").json() == {"parked": [parked]}


# --- withdrawals --------------------------------------------------------------------------------------


def withdraw(site, space="wiki", **body) -> int:
    """Take posts back; how many."""
    answer = site.http.post(f"/v1/spaces/{space}/withdrawals", json=body)
    assert answer.status_code == 200
    return answer.json()["withdrawn"]


def test_everything_that_waits_on_a_target_is_taken_back(site):
    """There, and nowhere else."""
    gone = [site.receipt(actor, "p1", space="wiki") for actor in ("ann", "bob")]
    kept = [site.receipt("ann", "p2", space="wiki"), site.receipt("ann", "p1", space="talk")]

    assert withdraw(site, target="p1") == 2
    assert withdraw(site, target="p1") == 0
    assert {site.ask(receipt).json()["state"] for receipt in gone} == {"withdrawn"}
    assert {site.ask(receipt).json()["state"] for receipt in kept} == {"waiting"}


def test_no_operator_asks_what_one_actor_has_waiting(site):
    """Whoever could ask that could try names on a stolen copy; and nothing is taken back by mistake."""
    receipt = site.receipt("ann", "p1", space="wiki")
    for actor in ("ann", "bob"):
        asked = site.http.post("/v1/spaces/wiki/withdrawals", json={"target": "p1", "actor": actor})
        assert asked.status_code == 422
    assert site.ask(receipt).json()["state"] == "waiting"


def test_an_author_puts_something_else_into_the_place_of_what_was_taken_back(site):
    """With the receipt, until it would have left, at the same moment; while the space is open."""
    told = site.post("ann", "p1", space="wiki").json()
    site.post("ann", "p2", space="talk")  # a batch: it waits for long enough, whatever is drawn
    site.pass_ticks(8)  # erased
    withdraw(site, target="p1")
    site.http.post("/v1/spaces/wiki/pause")
    paused = site.ask(told["receipt"], "PUT", json={"content": "better"})
    site.http.post("/v1/spaces/wiki/open")
    answer = site.ask(told["receipt"], "PUT", json={"content": "better"})
    site.pass_ticks(LONGEST)

    assert (paused.status_code, answer.status_code, answer.json()["state"]) == (409, 200, "waiting")
    (item,) = site.feed("wiki")["items"]
    assert (item["target"], item["content"]) == ("p1", "better")
    assert item["at"] == answer.json()["release_at"]
    assert item["at"] in {told["earliest_at"], told["latest_at"]}


def test_what_has_left_is_not_taken_back(site):
    """It is public."""
    site.receipt("ann", "p1", space="wiki")
    site.pass_ticks(LONGEST)

    assert withdraw(site, target="p1") == 0
    assert len(site.feed("wiki")["items"]) == 1


def test_what_is_parked_is_taken_back_with_the_rest(site, parked):
    """A person had to look at it anyway."""
    assert withdraw(site, "talk", target=parked["target"]) == 1
    assert site.http.get("/v1/spaces/talk/parked").json() == {"parked": []}


def test_a_withdrawn_post_still_counts_for_labels(site):
    """Or the operator's hand would show in when the author's other posts leave."""
    site.receipt("ann", "p1", space="wiki")
    site.receipt("ann", "p2", space="wiki")
    withdraw(site, target="p1")
    site.pass_ticks(4)
    with site.gateway.store.transaction("reading") as transaction:
        spent = transaction.all("spent", erasable=1 << 60)

    assert sum(row["batched"] for row in spent) == 2


def test_nothing_an_operator_does_makes_a_post_leave_early(site):
    """Each of their doors in turn, and the post leaves at a moment that its author was told."""
    told = site.post("ann", "p1", space="wiki").json()
    withdraw(site, target="p2")
    for word in ("pause", "open", "pause", "open"):
        site.http.post(f"/v1/spaces/wiki/{word}")
    site.http.get("/v1/spaces/wiki/parked")
    site.releaser.release()

    assert site.feed("wiki")["items"] == []
    site.pass_ticks(LONGEST)
    (item,) = site.feed("wiki")["items"]
    assert item["at"] in {told["earliest_at"], told["latest_at"]}


def test_withdrawals_on_postgresql_count_the_same(new_site, postgres_server):
    """By target."""
    from tarry.gateway.database import open_store

    site = new_site(store=open_store(postgres_server.new_schema()))
    for actor, target in (("ann", "p1"), ("bob", "p1"), ("ann", "p2")):
        site.receipt(actor, target)

    assert withdraw(site, "talk", target="p1") == 2
    assert len(site.rows("not_done")) == 1
    site.gateway.store.close()
