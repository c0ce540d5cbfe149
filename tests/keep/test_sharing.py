"""One person's own store, and one that many share: each decides for itself, and nobody asks which it is."""

import re
from pathlib import Path

import pytest

import tarry
from contracts.keeping import World, stiff_policy
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.keep.keys import Keys, under_receipt
from tarry.keep.sharing import PERSONAL, SHARED, StoreSettings
from tarry.testing import memory_store

POLICY, KEYS = Policy(epsilon="1", gap="11m"), Keys(bytes(32))
PSEUDONYM, RECEIPT = bytes(range(16)), "a receipt"


def test_settings_know_who_shares_the_store():
    assert StoreSettings.of(POLICY).sharing is SHARED
    assert StoreSettings.of(POLICY, personal=True).sharing is PERSONAL


def test_only_the_sharing_knows_which_it_is():
    """Elsewhere a branch on the kind of store would be a rule that nobody finds."""
    source = Path(tarry.__file__).parent
    asked = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"\.personal\b|is (?:not )?(?:PERSONAL|SHARED)\b", path.read_text(encoding="utf-8"))
    }

    assert asked == {"keep/sharing.py"}


def test_a_pseudonym_is_sealed_where_many_share_a_store():
    """Its owner needs no receipt; anybody else cannot tell without one."""
    stored = SHARED.seal_pseudonym(RECEIPT, PSEUDONYM)

    assert stored == under_receipt(RECEIPT, PSEUDONYM) != PSEUDONYM
    assert SHARED.open_pseudonym(stored, RECEIPT) == PSEUDONYM
    assert SHARED.open_pseudonym(stored, None) is None
    assert PERSONAL.seal_pseudonym(RECEIPT, PSEUDONYM) == PSEUDONYM
    assert PERSONAL.open_pseudonym(PSEUDONYM, None) == PSEUDONYM


def test_one_person_has_one_clock_and_many_have_one_for_each_account():
    assert PERSONAL.clock_name(KEYS, "nym") == PERSONAL.clock_name(KEYS, None) is not None
    assert SHARED.clock_name(KEYS, None) is None
    assert SHARED.clock_name(KEYS, "nym") != SHARED.clock_name(KEYS, "other")


def test_one_persons_store_keeps_to_its_policy():
    """A shared one has policies of its spaces."""
    other = Policy(epsilon="2", gap="11m")
    PERSONAL.check_policy(write_policy(POLICY), POLICY)
    SHARED.check_policy(write_policy(POLICY), other)

    with pytest.raises(BadInput, match="this store has adopted another policy"):
        PERSONAL.check_policy(write_policy(POLICY), other)


@pytest.mark.parametrize("personal", [False, True])
def test_missed_ticks_move_everything_or_let_it_out(personal):
    """One person's releases keep their distances; what others share leaves under the tick of recovery."""
    store = memory_store()
    world = World(lambda: store, stiff_policy("follower"), personal=personal)
    world.admit("ann", "p1")
    world.admit("ann", "p2")  # batched: it waits
    world.pass_ticks(1)
    waiting = max(row["release"] for row in world.dump("posts"))
    world.clock.sleep(100)
    world.close()
    moved = max(row["release"] for row in world.dump("posts"))
    closed = world.closed
    world.leave()

    assert moved == (waiting + 99 if personal else closed)
