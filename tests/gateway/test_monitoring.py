"""How a gateway stands: true, and the same before and after somebody has posted."""

from collections import Counter
from fractions import Fraction

import pytest

from contracts.house import KINDS, House, new_database
from tarry.core.policy import Policy
from tarry.core.season import Season
from tarry.gateway.monitoring import AdmissionHour, UpcomingReleases, read_status
from tarry.gateway.policy_changes import change_policy

HOUR = 3600
NEXT = Policy(epsilon="3", gap="30s", window="10s")


@pytest.fixture(params=KINDS)
def house(request, tmp_path):
    house = House(new_database(request, request.param, tmp_path), spaces=("talk", "reviews"))
    house.clock.sleep(HOUR / 2)  # into the middle of an hour
    house.close_ticks()
    yield house
    house.store.close()


def look(house):
    with house.store.transaction("reading") as transaction:
        return read_status(transaction, house.clock)


def begun(house):
    """When the current hour has begun."""
    return Fraction(house.clock.wall // 1_000_000 // HOUR * HOUR)


def test_nothing_in_it_changes_when_somebody_posts(house):
    before = look(house)
    house.admit_many(["ann", "bob"])
    house.admit("ann", "p2", space="reviews")

    assert look(house) == before


def test_admissions_are_told_by_the_hour_after_the_hour(house):
    first = begun(house)
    house.admit_many(["ann", "bob"])
    house.admit("cem", space="reviews")
    house.jump(100)
    assert look(house).hours == ()

    house.jump(HOUR / 2 - 101)  # one second before the hour is over
    house.admit("dee")
    house.jump(10)
    assert look(house).hours == ()  # over, but its last arrivals are not counted yet

    house.jump(20)
    assert look(house).hours == (AdmissionHour(at=first, admissions=4),)


def test_what_waits_is_told_as_it_stood_when_the_last_hour_ended(house):
    hour = begun(house)
    house.clock.sleep(HOUR / 2 - 1)
    house.close_ticks()
    house.admit_many(["ann", "bob"])
    house.admit("cem", space="reviews")
    house.jump(2)
    ahead = look(house).ahead
    house.admit("dee")
    house.jump(60)

    waits = Counter()
    for each in ahead:  # a space has a line for each hour
        waits[each.space] += each.posts
    assert waits == {"talk": 2, "reviews": 1}
    assert {each.at for each in ahead} <= {None, hour + HOUR}
    assert all(isinstance(each, UpcomingReleases) for each in ahead)
    assert look(house).ahead == ahead


def test_lag_and_lateness_are_the_clocks(house):
    house.admit()
    house.clock.sleep(200)
    found = look(house)
    assert (found.now, found.lag) == (Fraction(house.clock.wall, 1_000_000), 200)
    assert found.late == 0  # nothing is due before its tick closes

    house.close_ticks()
    found = look(house)
    assert (found.lag, found.closed_at) == (0, found.now - 1)
    house.clock.sleep(7)
    assert look(house).late == 8  # it is due under the tick of recovery
    house.release()
    assert look(house).late == 0


def test_parked_posts_are_counted_by_space(house):
    house.admit_many(["ann", "bob"])
    house.admit("cem", space="reviews")
    house.clock.sleep(200)
    house.close_ticks()
    house.change(lambda transaction: transaction.tell("park_overdue", tick=1 << 40, problem="a test"))

    assert look(house).parked == {"talk": 2, "reviews": 1}


def test_the_ledger_is_told_as_a_number_of_accounts(house):
    """Share 1/2 under the first policy and 3/2 under the second: nats are summed over both."""

    def batch(actors, times=1):
        for _ in range(times):
            house.admit_many(actors)
            house.admit_many(actors, "p2")
            house.jump(200)

    batch(["ann", "bob", "cem"], 3)  # 6 acts, 3 nats each: not above
    assert look(house).accounts == 0  # told when the hour is over
    house.jump(3600)
    found = look(house)
    assert (found.accounts, found.spent) == (3, 0)

    house.change(lambda t: change_policy(t, house.clock, "talk", NEXT, accept_straddle=True))
    batch(["bob", "dee"])  # and 3 more for each of these two
    house.jump(3600)
    found = look(house)
    assert (found.accounts, found.spent) == (4, 1)


def test_a_season_goes_on_under_the_next_policy(house):
    """Six acts are inside a season of eight; six more under its second version are beyond it."""

    def season(blocks):
        allowed = Season(acts=8, epsilon=Fraction(2), delta=Fraction("0.01"))
        law = {"law": "cosine", "blocks": blocks, "order": "4"}
        return Policy(gap="30s", window="10s", season=allowed, **law)

    def batch(actors):
        for _ in range(3):
            house.admit_many(actors)
            house.admit_many(actors, "p2")
            house.jump(200)

    house.change(lambda t: change_policy(t, house.clock, "talk", season(5), accept_straddle=True))
    batch(["ann", "bob"])
    house.jump(HOUR)
    assert (look(house).accounts, look(house).spent) == (2, 0)

    house.change(lambda t: change_policy(t, house.clock, "talk", season(6), accept_straddle=True))
    batch(["bob", "dee"])
    house.jump(HOUR)
    assert (look(house).accounts, look(house).spent) == (3, 1)


def test_a_store_that_was_brought_back_says_so(house):
    house.change(lambda transaction: transaction.tell("pause", paused=1))

    assert look(house).paused
