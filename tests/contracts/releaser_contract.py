"""What every store lets workers do: claim with a lease, deliver, mark, try again, give up, take over."""

import threading
from itertools import pairwise

import pytest

from contracts.keeping import UNBATCHED, WINDOW, World, stiff_policy
from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.releaser import LEASE_S, MOST_ATTEMPTS, Outcome, Releaser


def due(world: World, count: int = 1, outlet: str = "list") -> list:
    """Receipts of posts that are due and not claimed."""
    receipts = [world.admit(actor=f"a{n}", target=f"p{n}", outlet=outlet) for n in range(count)]
    world.pass_ticks(WINDOW + 1, release=False)
    return receipts


def keep(world: World, ticks: int) -> None:
    """As a keeper does: close, release, and take up again what is to be tried again by now."""
    for _ in range(ticks):
        world.pass_ticks(1)
        world.releaser.sweep()


class ReleaserContract:
    """Tests of workers; `new_world` comes from `StoreContract`."""

    # --- claims -----------------------------------------------------------------------------------

    def test_nothing_is_claimed_before_its_tick_has_closed(self, new_world):
        """A post whose release tick is still open cannot be claimed."""
        world = new_world()
        receipt = world.admit()
        world.pass_ticks(WINDOW, release=False)

        assert world.closed == receipt.status.earliest - 1
        assert world.releaser.claim("list") is None

        world.pass_ticks(1, release=False)

        assert [post for post, _ in world.releaser.claim("list").posts] == [receipt.post]

    def test_posts_of_one_tick_leave_in_the_order_of_their_random_keys(self, new_world):
        """Inside a tick nothing tells in which order posts arrived."""
        world = new_world()
        receipts = due(world, 20)

        claim = world.releaser.claim("list")
        assert [post for post, _ in claim.posts] == sorted(receipt.post for receipt in receipts)

    def test_earlier_ticks_leave_first(self, new_world):
        """Claims come in the order of release ticks, whatever the keys are."""
        world = new_world()
        for number in range(6):
            world.admit(actor=f"a{number}", target=f"p{number}")
            world.pass_ticks(1, release=False)
        world.pass_ticks(WINDOW, release=False)
        world.releaser.release()

        assert [target for target, _ in world.delivered] == [f"p{n}" for n in range(6)]

    def test_two_workers_never_claim_the_same_post(self, new_world):
        """What one worker has claimed another does not see, in one claim or in many."""
        world = new_world()
        receipts = due(world, 5)
        world.outlets["list"].batch = 2
        first = world.releaser.claim("list")
        world.outlets["list"].batch = 500
        second = Releaser(world.vault).claim("list")

        taken = [{post for post, _ in claim.posts} for claim in (first, second)]
        assert [len(posts) for posts in taken] == [2, 3]
        assert taken[0] | taken[1] == {receipt.post for receipt in receipts}
        assert world.releaser.claim("list") is None

    def test_many_workers_at_once_deliver_each_post_once(self, new_world):
        """Workers in several threads share what is due without delivering anything twice."""
        world = new_world()
        due(world, 40)
        world.outlets["list"].batch = 3

        def work() -> None:
            worker = Releaser(world.vault)
            while claim := worker.claim("list"):
                worker.mark(claim, worker.deliver(claim))
            world.store.close()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        world.releaser.release()  # what a worker saw as taken while it was on its way back

        ids = [release.id for release in world.outlets["list"].delivered]
        assert len(ids) == len(set(ids)) == 40

    # --- leases -----------------------------------------------------------------------------------

    def test_a_dead_workers_claim_comes_back_after_one_lease(self, new_world):
        """Up to the end of its lease a claim stands; then another worker delivers under the same id."""
        world = new_world()
        due(world)
        first = world.releaser.claim("list")
        world.clock.sleep(LEASE_S - 0.001)
        world.releaser.sweep()

        assert world.releaser.claim("list") is None

        world.clock.sleep(0.001)
        world.releaser.sweep()
        second = world.releaser.claim("list")

        old, new = first.posts[0][1], second.posts[0][1]
        assert (new.id, new.at, new.content) == (old.id, old.at, old.content)
        assert (old.attempt, new.attempt) == (1, 2)

    def test_a_worker_at_work_keeps_its_claim(self, new_world):
        """A renewed claim does not lapse."""
        world = new_world()
        due(world)
        claim = world.releaser.claim("list")
        for _ in range(4):
            world.clock.sleep(LEASE_S - 1)
            world.releaser.sweep()
            world.releaser.renew(claim.token)

        assert world.releaser.claim("list") is None

    @pytest.mark.parametrize("problem", ["", "it failed", "it was refused"])
    def test_a_slow_workers_word_counts_for_nothing_once_its_claim_is_given_away(self, new_world, problem):
        """Marking with a claim that another worker holds changes nothing."""
        world = new_world()
        (receipt,) = due(world)
        slow = world.releaser.claim("list")
        world.clock.sleep(LEASE_S)
        world.releaser.sweep()
        lapsed = world.dump("posts")
        outcome = Outcome(receipt.post, 1, problem, parked=problem == "it was refused")
        world.releaser.mark(slow, [outcome])

        assert world.dump("posts") == lapsed

        quick = world.releaser.claim("list")
        taken = world.dump("posts")
        world.releaser.mark(slow, [outcome])

        assert world.dump("posts") == taken

        world.releaser.mark(quick, world.releaser.deliver(quick))

        assert world.gate.status(receipt.secret).state == "released"

    def test_what_may_run_once_is_parked_when_it_was_cut_off(self, new_world):
        """A lapsed claim of an at-most-once outlet is parked for a person, and never tried again."""
        world = new_world()
        (receipt,) = due(world, outlet="once")
        world.releaser.claim("once")
        world.clock.sleep(LEASE_S)
        world.restart()
        world.releaser.sweep()

        status = world.gate.status(receipt.secret)
        assert status.state == "parked"
        assert "may or may not have happened" in status.problem
        assert world.releaser.release() == 0

        world.pass_ticks(30)

        assert world.delivered == []

    def test_a_slow_worker_may_still_tell_how_a_parked_run_ended(self, new_world):
        """When what was parked as cut off was merely slow, its worker's word is taken."""
        world = new_world()
        (receipt,) = due(world, outlet="once")
        claim = world.releaser.claim("once")
        world.clock.sleep(LEASE_S)
        world.releaser.sweep()
        world.releaser.mark(claim, world.releaser.deliver(claim))

        assert world.gate.status(receipt.secret).state == "released"
        assert len(world.delivered) == 1

    def test_a_slow_worker_may_not_end_what_a_person_has_put_back(self, new_world):
        """Once a parked post is put back or withdrawn the old worker's word counts for nothing."""
        world = new_world()
        first, second = due(world, 2, outlet="once")
        claims = [world.releaser.claim("once") for _ in range(2)]
        world.clock.sleep(LEASE_S)
        world.releaser.sweep()
        world.gate.unpark_post(first.post)
        world.gate.withdraw(second.secret)
        for claim in claims:
            world.releaser.mark(claim, world.releaser.deliver(claim))

        assert world.gate.status(first.secret).state == "waiting"
        assert world.gate.status(second.secret).state == "withdrawn"

    def test_what_may_run_once_is_claimed_one_by_one(self, new_world):
        """A claim of an at-most-once outlet holds one post: "started" is written for each."""
        world = new_world()
        due(world, 3, outlet="once")

        assert [len(world.releaser.claim("once").posts) for _ in range(3)] == [1, 1, 1]

    # --- failures ---------------------------------------------------------------------------------

    def test_retries_come_later_and_later_and_end_parked(self, new_world):
        """A failing delivery is tried twelve times, at growing distances, and then parked."""
        world = new_world()
        (receipt,) = due(world)
        world.outlets["list"].broken = Unreachable("the server does not answer")
        for attempt in range(1, MOST_ATTEMPTS):
            assert world.releaser.release() == 0
            row = world.rows("posts")[receipt.post]
            wait = row["until"] - world.now
            most = min(300, 2 ** (attempt - 1)) * 1_000_000
            assert (row["attempts"], row["claim"]) == (attempt, None)
            assert most // 2 <= wait < most
            world.releaser.sweep()
            assert world.releaser.claim("list") is None
            world.clock.sleep(wait / 1_000_000)
            world.releaser.sweep()

        assert world.gate.status(receipt.secret).state == "waiting"

        world.releaser.release()

        status = world.gate.status(receipt.secret)
        assert (status.state, status.problem) == ("parked", "the server does not answer")

    def test_a_later_try_delivers_the_same_release(self, new_world):
        """After a failure the post leaves under the same id and tick, with a higher attempt."""
        world = new_world()
        (receipt,) = due(world)
        world.outlets["list"].broken = Unreachable("not now")
        world.releaser.release()
        world.outlets["list"].broken = None
        world.clock.sleep(1)
        world.releaser.sweep()
        world.releaser.release()

        (release,) = world.outlets["list"].delivered
        assert (int(release.at), release.attempt) == (receipt.status.earliest, 2)
        assert world.gate.status(receipt.secret).problem is None

    @pytest.mark.parametrize(
        ("outlet", "trouble"), [("list", Refused("no such mailbox")), ("once", Unreachable("not now"))]
    )
    def test_what_will_never_work_is_parked_at_once(self, new_world, outlet, trouble):
        """A refusal, and any failure of what may run once, is parked at the first try."""
        world = new_world()
        (receipt,) = due(world, outlet=outlet)
        world.outlets[outlet].broken = trouble
        world.releaser.release()

        status = world.gate.status(receipt.secret)
        assert (status.state, status.problem) == ("parked", str(trouble))

    def test_one_failure_does_not_hold_up_the_others(self, new_world):
        """A post that fails waits alone: the other posts of its claim leave."""
        world = new_world()
        receipts = due(world, 3)
        claim = world.releaser.claim("list")
        outcomes = world.releaser.deliver(claim)
        failed = outcomes[1].post
        outcomes[1] = Outcome(failed, 1, "it failed")
        world.releaser.mark(claim, outcomes)

        for receipt in receipts:
            state = world.gate.status(receipt.secret).state
            assert state == ("waiting" if receipt.post == failed else "released")

    def test_a_child_waits_for_a_parent_that_fails(self, new_world):
        """While its parent is tried again, or parked, a child does not leave."""
        world = new_world()
        parent = world.admit(content=b"parent")
        world.admit(content=b"child", depends_on=parent.secret)
        world.outlets["list"].broken = Unreachable("not now")
        world.pass_ticks(WINDOW + 3)
        world.outlets["list"].broken = Refused("never")
        world.clock.sleep(5)
        world.releaser.sweep()
        world.releaser.release()
        world.outlets["list"].broken = None
        world.pass_ticks(5)

        assert world.gate.status(parent.secret).state == "parked"
        assert world.delivered == []

        world.gate.unpark_post(parent.post)
        world.releaser.release()

        assert [release.content for release in world.outlets["list"].delivered] == [b"parent", b"child"]

    # --- one person's own store -------------------------------------------------------------------

    def test_a_delivery_that_hangs_holds_the_others_up(self, new_world):
        """While one delivery is under way in one person's store, the rest keep their distance from it."""
        world = new_world(stiff_policy("none"), personal=True)
        first = world.admit(actor="ann", target="p1")
        world.pass_ticks(2, release=False)
        second = world.admit(actor="ann", target="p2")
        distance = second.status.latest - first.status.latest
        world.pass_ticks(first.status.latest - world.closed, release=False)
        claim = world.releaser.claim("list")
        for _ in range(8):
            world.pass_ticks(1, release=False)
            world.releaser.renew(claim.token)
        due_now = world.releaser.claim("list")
        moved = [world.gate.status(each.secret).latest for each in (first, second)]

        assert due_now is None
        assert (moved[1] - moved[0], moved[0]) == (distance, world.closed)

    @pytest.mark.parametrize("labels", ["held", "none"])
    def test_a_delivery_that_fails_holds_the_others_up(self, new_world, labels):
        """One person's outage moves every waiting release by as long as it lasts: nothing piles up."""
        world = new_world(stiff_policy(labels), personal=True)
        first = world.admit(actor="ann", target="p1")
        keep(world, 1)
        second = world.admit(actor="bob", target="p2")
        keep(world, UNBATCHED[labels] - 2)
        third = world.admit(actor="cem", target="p3")
        world.outlets["list"].broken = Unreachable("not now")
        keep(world, 40)
        waiting = [world.gate.status(each.secret).state for each in (first, second, third)]
        world.outlets["list"].broken = None
        keep(world, 100)

        told = [each.status.earliest for each in (first, second, third)]
        left = dict(world.delivered)
        assert waiting == ["waiting"] * 3
        assert left["p1"] >= told[0] + 40 - UNBATCHED[labels]
        assert {left[f"p{n + 1}"] - told[n] for n in range(3)} == {left["p1"] - told[0]}

    def test_what_arrives_in_an_outage_does_not_overtake_what_waits(self, new_world):
        """All count from their arrival or from the end of the outage: in order, and no further apart."""
        world = new_world(stiff_policy("none"), personal=True)
        world.outlets["list"].broken = Unreachable("not now")
        for number in range(30):
            world.admit(actor="ann", target=f"{number}")
            keep(world, 3)
        world.outlets["list"].broken = None
        keep(world, 200)

        left = [tick for _, tick in sorted(world.delivered, key=lambda each: int(each[0]))]
        assert len(left) == 30
        assert {later - earlier for earlier, later in pairwise(left)} <= {0, 1, 2, 3}
        assert left[0] >= world.closed - 200

    def test_a_command_that_has_begun_holds_nobody_up(self, new_world):
        """What may run only once and has begun has happened: the rest leave when they would have."""
        world = new_world(stiff_policy("none"), personal=True)
        first = world.admit(actor="ann", target="p1", outlet="once")
        second = world.admit(actor="ann", target="p2")
        world.pass_ticks(first.status.latest - world.closed, release=False)
        claim = world.releaser.claim("once")
        world.releaser.release()
        third = world.admit(actor="ann", target="p3")
        world.pass_ticks(5)

        assert len(claim.posts) == 1
        assert world.gate.status(second.secret).state == "released"
        assert world.gate.status(third.secret).latest == third.status.latest

    def test_what_depends_on_a_parked_post_is_parked_with_it(self, new_world):
        """In one person's store no keystroke about a parked post lets out what waited for it."""
        world = new_world(personal=True)
        parent = world.admit(target="p1", outlet="once")
        child = world.admit(target="p1", depends_on=parent.secret)
        world.outlets["once"].broken = RuntimeError("it broke")
        world.pass_ticks(WINDOW + 1)
        world.outlets["once"].broken = None
        states = [world.gate.status(each.secret).state for each in (parent, child)]
        again = world.gate.repeat_post(parent.post, "ann")
        world.releaser.release()
        after = world.gate.repeat_post(child.post, "ann")

        assert states == ["parked", "parked"]
        assert world.delivered == []
        assert world.rows("posts")[after.post]["parent"] == again.post

    def test_a_parked_post_is_not_put_back_in_ones_own_store(self, new_world):
        """There it would leave at the moment of a keystroke: it is repeated instead."""
        world = new_world(personal=True)
        post = world.admit(outlet="once").post
        world.outlets["once"].broken = RuntimeError("it broke")
        world.pass_ticks(WINDOW + 1)

        with pytest.raises(BadInput, match="cannot be put back: repeat it"):
            world.gate.unpark_post(post)

    # --- odd ends ---------------------------------------------------------------------------------

    def test_a_claim_that_is_known_to_live_survives_a_sleep(self, new_world):
        """After the machine has slept, a sweep renews what its own workers are delivering."""
        world = new_world()
        due(world)
        claim = world.releaser.claim("list")
        world.clock.sleep(LEASE_S + 5)
        world.releaser.sweep([claim.token])

        assert world.releaser.claim("list") is None

    def test_content_that_cannot_be_opened_stops_nobody_else(self, new_world):
        """A row that was changed by somebody is parked; the others leave."""
        world = new_world(sealed=True)
        receipts = due(world, 3)
        strange = world.rows("posts")[receipts[0].post]["content"]
        with world.store.transaction("working") as transaction:
            transaction.run("replace", id=receipts[1].post, content=strange, options=strange)
        world.releaser.release()

        assert [world.gate.status(each.secret).state for each in receipts] == [
            "released",
            "parked",
            "released",
        ]
        assert "cannot be opened" in world.gate.status(receipts[1].secret).problem
