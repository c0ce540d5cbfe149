"""Pruning: old rows go, and nothing that the gateway does next changes by it."""

from fractions import Fraction

import pytest

from contracts.house import ALL_GONE, KINDS, POLICY, House, new_database
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.gateway import upkeep
from tarry.gateway.feed import Feed
from tarry.gateway.policy_changes import change_policy
from tarry.gateway.space_changes import add_space, adopt_delays, end_space
from tarry.gateway.upkeep import prune

DAY_S = 24 * 3600
OLD = Fraction(30 * DAY_S)


@pytest.fixture(params=KINDS)
def house(request, tmp_path):
    house = House(new_database(request, request.param, tmp_path), spaces=("talk", "reviews"))
    yield house
    house.store.close()


def pruned(house, what, **more):
    return prune(house.store, house.clock, what, OLD, **more)


def fill(house, count, space="talk"):
    house.admit_many([f"{space}-{number}" for number in range(count)], space=space)
    house.jump(ALL_GONE)


def positions(house, space="talk"):
    return [item.position for item in reversed(Feed(house.store, space).latest())]


@pytest.mark.parametrize("at_a_time", [2, 500])
def test_old_releases_go_a_few_at_a_time_and_the_new_ones_stay(house, monkeypatch, at_a_time):
    monkeypatch.setattr(upkeep, "_AT_A_TIME", at_a_time)
    fill(house, 5)
    house.jump(31 * DAY_S)
    fill(house, 2)
    counted = pruned(house, "feed", dry=True)
    before = positions(house)
    gone = pruned(house, "feed")

    assert before == [1, 2, 3, 4, 5, 6, 7]
    assert counted == gone == 5
    assert positions(house) == [6, 7]
    assert pruned(house, "feed") == 0


def test_positions_go_on_where_they_were(house):
    """Whoever follows a feed by its positions would miss what gets an old one."""
    fill(house, 3)
    house.jump(31 * DAY_S)
    pruned(house, "feed")
    kept = positions(house)
    fill(house, 1)

    assert kept == [3]
    assert positions(house) == [3, 4]


def test_the_feed_of_one_space_is_pruned_alone(house):
    for space in ("talk", "reviews"):
        fill(house, 3, space)
    house.jump(31 * DAY_S)

    assert pruned(house, "feed", space="talk") == 2
    assert (positions(house), positions(house, "reviews")) == ([3], [1, 2, 3])


def test_counts_of_old_hours_go_but_the_last_stays(house):
    """A change of all policies asks when somebody came last."""
    fill(house, 1)
    house.jump(DAY_S)
    fill(house, 1)
    house.jump(31 * DAY_S)
    before = house.rows("hours")

    assert pruned(house, "hours") == 1
    assert house.rows("hours") == [max(before, key=lambda row: row["hour"])]
    assert pruned(house, "hours") == 0


def test_a_choice_that_was_replaced_goes_and_the_one_that_holds_stays(house):
    keys, clock = house.gateway.keys, house.clock
    house.change(lambda t: add_space(t, keys, clock, "free", POLICY, adoption="opt-out"))

    def choose(actor, *, delayed):
        house.change(lambda t: adopt_delays(t, keys, clock, "free", actor=actor, delayed=delayed))
        house.jump(DAY_S)

    choose("ann", delayed=False)
    choose("ann", delayed=True)
    choose("bob", delayed=False)
    house.jump(31 * DAY_S)
    choose("bob", delayed=True)  # not long ago: the one before it is not old yet

    assert pruned(house, "adoptions", dry=True) == 1
    assert pruned(house, "adoptions") == 1
    assert sorted(row["delayed"] for row in house.rows("adoptions")) == [0, 1, 1]


def test_the_ledger_of_replaced_policies_and_ended_spaces_goes(house):
    keys, clock = house.gateway.keys, house.clock
    house.change(lambda t: add_space(t, keys, clock, "lives", POLICY))
    for space in ("talk", "reviews", "lives"):
        for target in ("p1", "p2"):
            house.admit("ann", target, space=space)
    house.jump(ALL_GONE)
    other = Policy(epsilon="2", gap="30s", window="10s")
    house.change(lambda t: change_policy(t, clock, "talk", other))
    house.change(lambda t: end_space(t, clock, "reviews"))
    house.jump(DAY_S)
    young = pruned(house, "ledger")
    house.jump(31 * DAY_S)
    for target in ("p1", "p2"):
        house.admit("ann", target)
    house.jump(ALL_GONE)
    periods = {row["period"] for row in house.rows("ledger")}
    gone = pruned(house, "ledger")

    assert periods == {"talk 1", "talk 2", "reviews 1", "lives 1"}
    assert (young, gone) == (0, 2)
    assert {row["period"] for row in house.rows("ledger")} == {"talk 2", "lives 1"}


def test_what_is_young_or_belongs_to_all_spaces_is_refused(house):
    with pytest.raises(BadInput, match="only what is 7d old or older may be pruned"):
        prune(house.store, house.clock, "feed", Fraction(7 * DAY_S - 1))
    with pytest.raises(
        BadInput, match="hours cannot be pruned for space 'talk' alone: leave the space out"
    ):
        pruned(house, "hours", space="talk")
