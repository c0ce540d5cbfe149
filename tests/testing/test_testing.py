"""What we ship for tests behaves like what it stands for."""

import pytest

from contracts.keeping import lively_policy
from tarry.core.entropy import Seeded
from tarry.keep.errors import Unreachable
from tarry.keep.gate import Gate
from tarry.keep.posts import Post, Release
from tarry.keep.store import Reading
from tarry.testing import ListOutlet, ManualClock, memory_store, memory_vault


def test_a_manual_clock_moves_only_by_hand():
    """Time goes by, the wall is set, the machine reboots: each moves what it moves in the world."""
    clock = ManualClock(wall=100)

    assert clock.read() == clock.read(7) == Reading(100, 0, "first")

    clock.sleep(2.5)
    clock.set_wall(-1)

    assert clock.read() == Reading(1_500_100, 2_500_000, "first")

    clock.reboot("second")

    assert clock.read() == Reading(1_500_100, 0, "second")


def test_a_memory_store_is_a_store_of_its_own():
    """Two stores in memory share nothing, and one of them survives closing."""
    first, second = memory_store(lively_policy()), memory_store()
    with first.transaction("working") as transaction:
        assert transaction.one("snapshot") is not None
    first.close()
    with first.transaction("working") as transaction:
        assert transaction.one("snapshot") is not None
    with second.transaction("working") as transaction:
        assert transaction.one("snapshot") is None


def test_a_memory_vault_has_an_outlet_or_the_ones_it_is_given():
    """Without outlets there is one named "list"; otherwise there are those."""
    assert list(memory_vault(lively_policy()).outlets) == ["list"]
    assert list(memory_vault(lively_policy(), feed=ListOutlet()).outlets) == ["feed"]
    assert memory_vault(lively_policy(), personal=True).settings.personal


def test_a_list_outlet_remembers_or_fails():
    """It keeps what it was given, and while it is broken it raises what it was told to."""
    outlet, release = ListOutlet(), Release(id="a", target="t", content=b"", at=0)
    outlet.deliver(release)
    outlet.broken = Unreachable("not now")

    with pytest.raises(Unreachable):
        outlet.deliver(release)
    assert outlet.delivered == [release]


def test_seeded_entropy_gives_the_same_delays_each_time():
    """A gate with a seeded source draws the same again."""

    def delays():
        policy = lively_policy()
        gate = Gate(memory_vault(policy), policy, Seeded(7).stream("any", "event", 0))
        posts = [Post(actor=f"a{n}", target="t", outlet="list", content=b"") for n in range(20)]
        return [receipt.status for receipt in gate.admit_many(posts)]

    assert delays() == delays()
