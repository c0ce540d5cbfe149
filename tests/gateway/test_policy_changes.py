"""Which policies of a space still reach on, and what it costs not to wait for them."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.core.straddle import quiet_ticks, straddle_loss
from tarry.gateway.catalog import PolicyVersion, Space, read_catalog
from tarry.gateway.policy_changes import (
    check_unchanged,
    cost_at_once,
    insert_version,
    next_version,
    still_reaching,
)
from tarry.gateway.testing import small_gateway

SHORT, MIDDLE, LONG = (Policy(epsilon="1", gap=gap, window="3s") for gap in ("8s", "12s", "20s"))
OTHER = Policy(epsilon="1", gap="8s", window="4s")


def space(*begun: tuple[Policy, int]) -> Space:
    """A space that has had these policies, each from a tick on."""
    versions = (
        PolicyVersion(number=number, text=write_policy(policy), first_tick=first)
        for number, (policy, first) in enumerate(begun, 1)
    )
    return Space(name="talk", title="Talk", circle="all", outlet={}, versions=tuple(versions))


def numbers(place: Space, policy: Policy, tick: int) -> list[int]:
    return [each.number for each in still_reaching(place, policy, tick)]


def test_a_policy_that_waits_has_admitted_nothing():
    """What is compared is the one before it: from long to middle nothing is bounded, from short it is."""
    place = space((LONG, 0), (SHORT, 150))

    assert numbers(place, MIDDLE, 100) == [1]
    assert cost_at_once(place, MIDDLE, 100).extra == straddle_loss(LONG, MIDDLE).extra == inf
    assert straddle_loss(SHORT, MIDDLE).extra < inf


def test_one_that_was_replaced_before_its_pause_was_over_never_counts():
    assert numbers(space((LONG, 0), (SHORT, 150), (MIDDLE, 100)), LONG, 110) == [1, 3]


def test_the_worst_of_all_that_reach_on_is_told():
    place = space((LONG, 0), (SHORT, 100))

    assert cost_at_once(place, MIDDLE, 101).extra == inf
    late = 100 + quiet_ticks(LONG, MIDDLE)
    assert numbers(place, MIDDLE, late - 1) == [1, 2]
    assert numbers(place, MIDDLE, late) == [2]
    assert cost_at_once(place, MIDDLE, late) == straddle_loss(SHORT, MIDDLE)


def test_what_was_over_when_the_window_changed_is_not_compared():
    place = space((OTHER, 0), (SHORT, 100))

    assert numbers(place, MIDDLE, 101) == [2]


@given(st.lists(st.integers(0, 300), min_size=1, max_size=5), st.integers(0, 400))
def test_each_that_is_left_out_has_admitted_nothing_or_is_quiet(firsts, tick):
    """Told from the definition: tick by tick, the newest version that has begun admits."""
    place = space(*zip([SHORT, LONG, MIDDLE, LONG, SHORT], [0, *firsts[1:]], strict=False))
    kept = numbers(place, MIDDLE, tick)
    for version in place.versions:
        later = [each.first_tick for each in place.versions[version.number :]]
        admitted = [at for at in range(tick + 1) if version.first_tick <= at < min([*later, tick + 1])]
        reaches = admitted and admitted[-1] + quiet_ticks(version.policy, MIDDLE) > tick
        assert version.number in kept or not reaches


def test_a_cost_that_was_told_of_other_policies_is_not_acted_on():
    with pytest.raises(NotPossible, match="somebody has just changed the policy of 'talk'"):
        check_unchanged(space((LONG, 0)), space((LONG, 0), (SHORT, 9)))


def test_the_same_policy_in_other_words_is_no_other_policy():
    """What an earlier version wrote down, with other comments, is not replaced by itself."""
    gateway = small_gateway()
    with gateway.store.transaction("closing") as transaction:
        now = read_catalog(transaction).space("talk").version
        other_words = PolicyVersion(number=2, text=f"# by an earlier version\n{now.text}", first_tick=7)
        insert_version(transaction, "talk", other_words)
        with pytest.raises(BadInput, match="space 'talk' has this policy already: give another one"):
            next_version(transaction, gateway.clock, "talk", read_policy(now.text))
