"""What every store does for an outlet that publishes in it: record and mark at once, or not at all."""

import threading
from collections.abc import Sequence

import pytest

from contracts.keeping import WINDOW, World
from tarry.keep.errors import TooLate
from tarry.keep.posts import Receipt, Release
from tarry.keep.releaser import SHUT, Published, Releaser
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


def record_due(new_world, count: int = 1, **others) -> tuple[World, Recording, list[Receipt]]:
    """A world with posts that are due, at an outlet that records."""
    world, outlet = new_world(**others), Recording()
    world.outlets["list"] = outlet
    receipts = [world.admit(actor=f"a{n}", target=f"p{n}") for n in range(count)]
    world.pass_ticks(WINDOW + 1, release=False)
    return world, outlet, receipts


def recorded(world: World) -> dict[str, int]:
    """How often each release stands in the store."""
    return {row["period"]: row["batched"] for row in world.dump("ledger")}


class RecordingContract:
    """Tests of recording; `new_world` comes from `StoreContract`."""

    def test_what_is_published_in_the_store_is_recorded_once_in_the_order_of_its_keys(self, new_world):
        """One call for all that is due; nothing is claimed, delivered otherwise, or left over."""
        world, outlet, receipts = record_due(new_world, 5)
        told = world.releaser.publish("list")
        again = world.releaser.publish("list")

        left = [world.keys.public_id(post) for post in sorted(receipt.post for receipt in receipts)]
        assert (told, again) == (Published("list", left=5), None)
        assert [[release.id for release in call] for call in outlet.calls] == [left]
        assert recorded(world) == dict.fromkeys(left, 1)
        assert outlet.delivered == []
        for row in world.dump("posts"):
            gone = [row[name] for name in ("content", "options", "pseudonym", "claim", "until", "problem")]
            assert (row["state"], row["target"], gone) == ("released", "", [None] * 6)

    def test_as_much_as_goes_at_once_is_published_at_once(self, new_world):
        """The rest waits for the next transaction, in the order of ticks."""
        world, outlet, _ = record_due(new_world, 5)
        outlet.batch = 2

        assert world.releaser.release() == 5
        assert [len(call) for call in outlet.calls] == [2, 2, 1]

    def test_an_outlet_that_changes_in_this_moment_loses_nothing(self, new_world):
        """Asked to leave by a way that is not its outlet's any more, a post stays for the next look."""
        world, recording, (receipt,) = record_due(new_world)
        claimed = world.releaser.claim("list")
        world.outlets["list"] = ListOutlet()
        published = world.releaser.publish("list")

        assert (claimed, published) == (None, None)
        assert world.gate.status(receipt.secret).state == "waiting"

        world.outlets["list"] = recording

        assert world.releaser.release() == 1
        assert recorded(world) == {world.keys.public_id(receipt.post): 1}

    def test_what_is_published_in_the_store_cannot_be_taken_back(self, new_world):
        """It has left."""
        world, _, (receipt,) = record_due(new_world)
        world.releaser.release()

        with pytest.raises(TooLate):
            world.gate.withdraw(receipt.secret)
        assert world.gate.status(receipt.secret).state == "released"

    def test_nothing_is_published_before_its_tick_has_closed_or_before_its_parent(self, new_world):
        """The same rule as for claims: a child is due after its parent has left."""
        world, outlet = new_world(), Recording()
        world.outlets["list"] = outlet
        parent = world.admit()
        child = world.admit(depends_on=parent.secret)
        world.pass_ticks(WINDOW, release=False)
        early = world.releaser.publish("list")
        world.pass_ticks(1, release=False)
        world.releaser.release()

        assert early is None
        assert [[release.id for release in call] for call in outlet.calls] == [
            [world.keys.public_id(each.post)] for each in (parent, child)
        ]

    def test_a_record_that_breaks_marks_nothing(self, new_world):
        """Neither the record nor the mark is there; the posts leave at the next chance, with no lease."""
        world, outlet, receipts = record_due(new_world, 3)
        outlet.breaks = True
        with pytest.raises(ZeroDivisionError):
            world.releaser.release()

        assert recorded(world) == {}
        assert {row["state"] for row in world.dump("posts")} == {"waiting"}

        outlet.breaks = False
        world.releaser.release()

        assert recorded(world) == {world.keys.public_id(each.post): 1 for each in receipts}
        assert {world.gate.status(each.secret).state for each in receipts} == {"released"}

    def test_what_cannot_be_opened_is_parked_and_the_rest_is_published(self, new_world):
        """One row must not stop the others."""
        world, _, receipts = record_due(new_world, 3, sealed=True)
        spoilt = receipts[1]
        world.tell("store_payload", id=spoilt.post, content=b"spoilt", options=b"spoilt")

        assert world.releaser.publish("list") == Published("list", left=2, shut=1)
        assert len(recorded(world)) == 2
        status = world.gate.status(spoilt.secret)
        assert (status.state, status.problem) == ("parked", SHUT)

    def test_what_a_worker_of_an_earlier_version_has_claimed_leaves_after_its_lease(self, new_world):
        """It is in doubt then; publishing it ends the doubt, and a second time changes nothing."""
        world, outlet, (receipt,) = record_due(new_world)
        world.outlets["list"] = ListOutlet()  # it claimed at every outlet
        world.releaser.claim("list")
        world.outlets["list"] = outlet
        assert world.releaser.publish("list") is None

        world.clock.sleep(10)
        world.releaser.sweep()
        doubted = world.gate.status(receipt.secret).in_doubt
        world.releaser.release()

        assert doubted
        assert recorded(world) == {world.keys.public_id(receipt.post): 1}

    def test_many_workers_at_once_publish_each_post_once(self, new_world):
        """Whoever finds a post has it until the end of the transaction."""
        world, outlet, receipts = record_due(new_world, 40)
        outlet.batch = 3
        troubles: list[BaseException] = []

        def work() -> None:
            worker = Releaser(world.vault)
            try:
                while worker.publish("list"):
                    pass
            except BaseException as error:  # noqa: BLE001 - raised below
                troubles.append(error)
            world.store.close()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        world.releaser.release()  # what a worker saw as taken while it was on its way back

        assert troubles == []
        assert recorded(world) == {world.keys.public_id(each.post): 1 for each in receipts}

    def test_a_paused_store_publishes_nothing(self, new_world):
        """Nothing leaves a store that was brought back until a person says so."""
        world, outlet, _ = record_due(new_world)
        world.tell("pause", paused=1)

        assert world.releaser.publish("list") is None
        assert outlet.calls == []
