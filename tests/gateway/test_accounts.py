"""An account's own choice of delays: ahead of time, never for one post."""

from datetime import datetime

import pytest

from tarry.core.policy import Policy
from tarry.core.straddle import quiet_ticks
from tarry.gateway.space_changes import forget_account

POLICY = Policy(epsilon="1", gap="8s", window="3s")
QUIET = quiet_ticks(POLICY, POLICY)
LONGEST = 60


@pytest.fixture
def site(new_site):
    """Two spaces with a choice beside the one without."""
    site = new_site()
    site.add_space("out", adoption="opt-out")
    site.add_space("in", adoption="opt-in")
    return site


def choose(site, space: str, *, delayed: bool, actor="ann", headers=None):
    """Make a choice."""
    body = {"actor": actor, "delayed": delayed}
    return site.http.put(f"/v1/spaces/{space}/accounts", json=body, headers=headers)


def is_delayed(site, space: str, actor="ann") -> bool:
    """Whether a post of this account would not leave in this very tick."""
    told = site.post(actor, space=space).json()
    arrival = datetime.fromtimestamp(site.now, tz=datetime.fromisoformat("2026-01-01T00:00:00Z").tzinfo)
    return told["release_at"] != arrival.isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(("space", "before"), [("out", True), ("in", False)])
def test_a_choice_holds_from_later_on_and_not_a_tick_earlier(site, space, before):
    """The answer names the moment; until then the old choice holds."""
    site.pass_ticks(1)
    answer = choose(site, space, delayed=not before)
    holds_from = datetime.fromisoformat(answer.json()["holds_from"]).timestamp()

    assert answer.status_code == 200
    assert answer.json()["delayed"] is not before
    assert holds_from == site.now + QUIET
    while site.now < holds_from:
        assert is_delayed(site, space) is before
        site.pass_ticks(1)
    assert is_delayed(site, space) is not before


def test_a_choice_is_of_one_account_alone(site):
    """Others go on as before."""
    choose(site, "out", delayed=False)
    site.pass_ticks(QUIET)

    assert not is_delayed(site, "out", "ann")
    assert is_delayed(site, "out", "bob")


def test_the_posts_of_an_opted_out_account_still_count_for_labels(site):
    """Or the label of a delayed post elsewhere would tell of the choice."""
    choose(site, "out", delayed=False)
    site.pass_ticks(QUIET)
    site.receipt(space="out")
    site.receipt(space="talk")
    site.pass_ticks(4)
    with site.gateway.store.transaction("reading") as transaction:
        spent = transaction.all("spent", erasable=1 << 60)

    assert sum(row["batched"] for row in spent) == 2


def test_where_everyone_is_delayed_there_is_no_choice(site):
    """422, in one sentence."""
    answer = choose(site, "talk", delayed=False)

    assert answer.status_code == 422
    assert "delays everyone" in answer.json()["detail"]


def test_only_who_may_submit_may_choose(site):
    """The forum asks for its accounts; nobody else does."""
    assert choose(site, "out", delayed=False, headers=site.as_("operate")).status_code == 403
    assert choose(site, "out", delayed=False, headers=site.as_("submit", spaces=("in",))).status_code == 403
    assert choose(site, "out", delayed=False, headers=site.as_("submit")).status_code == 200


def test_no_post_can_choose_for_itself(site):
    """There is no such field."""
    assert site.post(space="out", delayed=False).status_code == 422


def test_a_choice_waits_for_the_reach_of_a_policy_that_was_replaced_at_once(site):
    """Its posts are still on their way."""
    wide = Policy(epsilon="1", gap="40s", window="3s")
    site.change_policy(wide, "out", accept_straddle=True)
    site.change_policy(POLICY, "out", accept_straddle=True)
    answer = choose(site, "out", delayed=False)

    assert datetime.fromisoformat(answer.json()["holds_from"]).timestamp() == site.now + quiet_ticks(
        wide, wide
    )


def test_an_account_is_forgotten_once_its_last_acts_are_counted(site):
    """What is still to be counted would come back: the answer says so."""

    def forget() -> bool:
        with site.gateway.store.transaction("closing") as transaction:
            return forget_account(transaction, site.gateway.keys, "talk", actor="ann")

    for space in ("talk", "out"):
        site.receipt(space=space)
    complete = [forget()]
    site.pass_ticks(8)  # erased and counted
    complete.append(forget())
    with site.gateway.store.transaction("reading") as transaction:
        left = transaction.one("known_accounts")["answer"]

    assert (complete, left) == ([False, True], 0)
