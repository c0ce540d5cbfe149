"""What all posts of a store share, and where a store stands."""

from fractions import Fraction

import pytest

from contracts.keeping import WINDOW, lively_policy
from tarry.core.errors import BadInput
from tarry.core.policy import LABEL_RULES, Policy
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.store import snapshot
from tarry.testing import ManualClock, memory_store


@pytest.mark.parametrize("rule", LABEL_RULES)
def test_settings_follow_from_a_policy(rule):
    """A policy's tick, window and labels are its store's, and so is the hold."""
    policy = lively_policy(rule)
    settings = StoreSettings.of(policy, personal=True, sealed=True)

    settings.check(policy)
    assert (settings.window_ticks, settings.hold_ticks) == (policy.window_ticks, policy.hold_ticks)
    assert settings.waits_for_label is (rule in ("held", "simultaneous"))
    assert (settings.personal, settings.sealed) == (True, True)


@pytest.mark.parametrize(
    "other", [{"tick": "2s"}, {"window": "4s"}, {"labels": "follower"}, {"labels": "declared"}]
)
def test_a_policy_that_would_compare_posts_differently_is_refused(other):
    """Tick, window and labels belong to the store; epsilon and gap may change."""
    same = {"epsilon": "1", "gap": "8s", "window": f"{WINDOW}s"}
    settings = StoreSettings.of(Policy(**same))

    settings.check(Policy(**{**same, "epsilon": "2", "gap": "1h"}))
    with pytest.raises(BadInput, match="must have the same tick, window and labels"):
        settings.check(Policy(**{**same, **other}))


def test_a_store_is_founded_once():
    """A new store takes clock and settings; an old one keeps its own."""
    store, clock = memory_store(), ManualClock()
    with store.transaction("closing") as transaction:
        begin_store(transaction, StoreSettings.of(lively_policy(), personal=True), clock, "a policy")
        first = snapshot(transaction)
    clock.sleep(100)
    with store.transaction("closing") as transaction:
        begin_store(transaction, StoreSettings.of(lively_policy("follower")), clock)

        assert snapshot(transaction) == first
    assert first.settings == StoreSettings.of(lively_policy(), personal=True)
    assert first.policy == "a policy"
    assert first.closed * first.settings.tick < Fraction(first.anchor.time, 1_000_000)


def test_an_empty_store_says_what_it_needs():
    """A store that nobody has founded cannot be used, and says so."""
    empty = memory_store()
    with empty.transaction("working") as transaction, pytest.raises(BadInput, match="store is empty"):
        snapshot(transaction)


def test_a_block_that_fails_leaves_nothing_behind():
    """A transaction is one unit: when it fails, none of it has happened."""
    store = memory_store(lively_policy())

    def fail():
        with store.transaction("working") as transaction:
            transaction.run("charge", account=b"a", period="", batched=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.transaction("working") as transaction:
        assert transaction.one("account", account=b"a", period="") is None
