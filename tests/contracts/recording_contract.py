"""What every store does for an outlet that publishes in it: marked and recorded together, or neither."""

from collections.abc import Sequence

import pytest

from contracts.keeping import WINDOW, World
from tarry.keep.errors import Refused
from tarry.keep.posts import Receipt, Release
from tarry.keep.releaser import LEASE_S, Outcome, Releaser
from tarry.keep.store import Transaction
from tarry.testing import ListOutlet


class Recording(ListOutlet):
    """Publishes in the store: in the ledger, whose rows are as good as any."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[Release]] = []
        self.breaks = False

    def record(self, transaction: Transaction, releases: Sequence[Release]) -> None:
        """Write each down, and then break if told to."""
        self.calls.append(list(releases))
        for release in releases:
            transaction.tell("charge", account=b"recorded", period=release.id, batched=1)
        if self.breaks:
            raise ZeroDivisionError


def record_due(new_world, count: int = 1) -> tuple[World, Recording, list[Receipt]]:
    """A world with posts that are due, at an outlet that records."""
    world, outlet = new_world(), Recording()
    world.outlets["list"] = outlet
    receipts = [world.admit(actor=f"a{n}", target=f"p{n}") for n in range(count)]
    world.pass_ticks(WINDOW + 1, release=False)
    return world, outlet, receipts


def recorded(world: World) -> dict[str, int]:
    """How often each release stands in the store."""
    return {row["period"]: row["batched"] for row in world.dump("ledger")}


class RecordingContract:
    """Tests of recording; `new_world` comes from `StoreContract`."""

    def test_what_leaves_is_recorded_once_in_the_order_of_its_keys(self, new_world):
        """One call for all that a worker has delivered, with those that failed left out."""
        world, outlet, receipts = record_due(new_world, 5)
        claim = world.releaser.claim("list")
        outcomes = world.releaser.deliver(claim)
        outcomes[2] = Outcome(outcomes[2].post, 1, "it failed")
        world.releaser.mark(claim, outcomes)

        posts = sorted(receipt.post for receipt in receipts)
        left = [world.keys.public_id(post) for post in posts if post != outcomes[2].post]
        assert [[release.id for release in call] for call in outlet.calls] == [left]
        assert recorded(world) == dict.fromkeys(left, 1)

    def test_a_worker_that_was_too_slow_records_nothing(self, new_world):
        """When its claim has been given away only the other worker's word is recorded."""
        world, outlet, (receipt,) = record_due(new_world)
        slow = world.releaser.claim("list")
        world.clock.sleep(LEASE_S)
        world.releaser.sweep()
        world.releaser.mark(slow, world.releaser.deliver(slow))
        quick = Releaser(world.vault).claim("list")
        world.releaser.mark(slow, world.releaser.deliver(slow))

        assert outlet.calls == [[], []]
        assert recorded(world) == {}

        world.releaser.mark(quick, world.releaser.deliver(quick))
        world.releaser.mark(slow, world.releaser.deliver(slow))

        assert recorded(world) == {world.keys.public_id(receipt.post): 1}

    def test_what_was_withdrawn_meanwhile_is_not_recorded(self, new_world):
        """A slow worker does not publish what its author has taken back since."""
        world, outlet, (receipt,) = record_due(new_world)
        slow = world.releaser.claim("list")
        world.clock.sleep(LEASE_S)
        world.releaser.sweep()
        outlet.broken = Refused("never")
        world.releaser.release()
        outlet.broken = None
        world.gate.withdraw(receipt.secret)
        world.releaser.mark(slow, world.releaser.deliver(slow))

        assert recorded(world) == {}
        assert world.gate.status(receipt.secret).state == "withdrawn"

    def test_a_record_that_breaks_marks_nothing(self, new_world):
        """Neither the record nor the mark is there; the posts leave after the lease, each once."""
        world, outlet, receipts = record_due(new_world, 3)
        outlet.breaks = True
        with pytest.raises(ZeroDivisionError):
            world.releaser.release()

        assert recorded(world) == {}
        assert {world.gate.status(each.secret).state for each in receipts} == {"waiting"}

        outlet.breaks = False
        world.clock.sleep(LEASE_S)
        world.releaser.sweep()
        world.releaser.release()

        assert recorded(world) == {world.keys.public_id(each.post): 1 for each in receipts}
        assert {world.gate.status(each.secret).state for each in receipts} == {"released"}
