"""What every store does when ticks close: labels, releases, missed ticks, erasure, the ledger."""

import pytest

from contracts.keeping import BATCHED, UNBATCHED, WINDOW, stiff_policy
from tarry.core.policy import LABEL_RULES
from tarry.keep.closing import RECEIPT_DAYS
from tarry.keep.errors import NoSuchPost

every_rule = pytest.mark.parametrize("rule", LABEL_RULES)
#: Who is batched of two posts on two targets, by how many ticks they are apart.
PAIRS = {
    "held": {0: (1, 1), WINDOW: (1, 1), WINDOW + 1: (0, 0)},
    "declared": {0: (0, 1), WINDOW: (0, 1), WINDOW + 1: (0, 0)},
    "follower": {0: (0, 1), WINDOW: (0, 1), WINDOW + 1: (0, 0)},
    "simultaneous": {0: (1, 1), 1: (0, 0)},
    "none": {0: (0, 0)},
}
PAIR_CASES = [(rule, apart, labels) for rule, cases in PAIRS.items() for apart, labels in cases.items()]
#: Ticks between the public moments at which arrivals are erased.
PERIOD = {"held": WINDOW, "declared": WINDOW, "follower": WINDOW, "simultaneous": 60, "none": 60}
KEPT = {"held": 2 * WINDOW, "declared": WINDOW, "follower": WINDOW, "simultaneous": 0, "none": 0}


class ClosingContract:
    """Tests of closing ticks; `new_world` comes from `StoreContract`."""

    # --- labels -----------------------------------------------------------------------------------

    @pytest.mark.parametrize(("rule", "apart", "labels"), PAIR_CASES)
    @pytest.mark.parametrize("late", [False, True])
    def test_two_posts_on_two_targets(self, new_world, rule, apart, labels, late):
        """Posts of one actor on two targets are batched up to the window apart, and not beyond it."""
        world = new_world(stiff_policy(rule))
        arrivals = [world.closed + 1, world.closed + 1 + apart]
        first = world.admit(target="p1")
        if late:
            world.clock.sleep(apart)
        else:
            world.pass_ticks(apart)
        second = world.admit(target="p2")
        world.pass_ticks(20)

        delays = (UNBATCHED[rule], BATCHED[rule])
        ticks = [arrival + delays[label] for arrival, label in zip(arrivals, labels, strict=True)]
        if late:  # nothing was closed in between: what fell due left at the recovery
            ticks = [max(tick, arrivals[1]) for tick in ticks]
        found = [world.gate.status(receipt.secret).release_at for receipt in (first, second)]
        assert found == ticks

    @pytest.mark.parametrize("rule", ["held", "declared", "follower", "simultaneous"])
    def test_posts_on_one_target_and_posts_of_others_are_not_batched(self, new_world, rule):
        """Neither a burst on one target nor another actor's post makes a post batched."""
        world = new_world(stiff_policy(rule))
        arrival = world.closed + 1
        for actor, target in (("ann", "p1"), ("ann", "p1"), ("bob", "p2"), ("bob", "p2")):
            world.admit(actor=actor, target=target)
        world.pass_ticks(20)

        assert {tick for _, tick in world.delivered} == {arrival + UNBATCHED[rule]}
        assert len(world.delivered) == 4

    def test_a_declaration_covers_its_own_post_and_the_window_after_it(self, new_world):
        """After "more to come" that post and the next window's posts are batched, on one target too."""
        world = new_world(stiff_policy("declared"))
        start = world.closed + 1
        receipts = [world.admit(more_to_come=True)]
        for wait in (WINDOW, 1):
            world.pass_ticks(wait)
            receipts.append(world.admit())
        world.pass_ticks(20)

        found = [world.gate.status(receipt.secret).release_at - start for receipt in receipts]
        assert found == [BATCHED["declared"], WINDOW + BATCHED["declared"], WINDOW + 1]

    def test_a_label_is_fixed_only_when_the_window_has_really_passed(self, new_world):
        """The earlier of two posts a whole window apart is batched, however late the other."""
        world = new_world()
        world.clock.sleep(0.5)
        first = world.admit(target="p1")  # tick 1, counted from here
        world.clock.sleep(WINDOW + 0.5)  # exactly the end of the last tick that matters
        world.close()

        assert world.rows("arrivals")[first.post]["label"] is None

        second = world.admit(target="p2")
        world.pass_ticks(WINDOW + 2)

        for receipt in (first, second):
            assert world.gate.status(receipt.secret).release_at == receipt.status.latest

    # --- missed ticks -----------------------------------------------------------------------------

    def test_a_tick_closes_when_it_lies_wholly_in_the_past(self, new_world):
        """At the last moment of a tick it is open, a microsecond later it closes, and only once."""
        world = new_world()
        first = world.closed + 1  # the world begins at the last moment of this tick

        assert world.close().tick == first - 1

        world.clock.sleep(0.000_001)

        assert (world.close().tick, world.close().tick) == (first, first)

        world.clock.sleep(0.999_999)

        assert world.close().tick == first
        assert world.closed == first

    def test_a_gateway_publishes_what_fell_due_in_missed_ticks_under_the_recovery(self, new_world):
        """Missed ticks give the labels of ticks on time, and what fell due is published under the last."""
        world = new_world()
        world.admit(actor="bob")
        pair = [world.admit(target="p1"), world.admit(target="p2")]
        world.clock.sleep(9.5)
        closed = world.close()
        world.releaser.release()

        assert closed.missed == 9
        assert world.delivered == [("p1", closed.tick)]

        world.pass_ticks(20)

        assert {each[1] for each in world.delivered[1:]} == {pair[0].status.latest}

    def test_what_was_due_before_keeps_its_tick(self, new_world):
        """A post that was due before ticks were missed is published under its own tick."""
        world = new_world()
        receipt = world.admit()
        world.pass_ticks(WINDOW + 1, release=False)
        world.clock.sleep(5)
        world.close()
        world.releaser.release()

        assert world.delivered == [("p1", receipt.status.earliest)]

    @every_rule
    def test_a_personal_store_moves_every_release_by_the_ticks_missed(self, new_world, rule):
        """In one person's own store every waiting release moves later by as much, and distances stay."""
        world = new_world(stiff_policy(rule), personal=True)
        start = world.closed + 1
        world.admit(actor="ann", target="p1")
        world.admit(actor="ann", target="p2")
        world.pass_ticks(1)
        world.admit(actor="bob", target="p3")
        world.clock.sleep(7)
        closed = world.close()
        world.releaser.release()
        world.pass_ticks(40)

        delays = (UNBATCHED[rule], BATCHED[rule])
        labels = (*PAIRS[rule][0], 0)
        planned = [start + delays[labels[0]], start + delays[labels[1]], start + 1 + delays[labels[2]]]
        moved = [tick if tick == start else tick + closed.missed for tick in planned]
        assert closed.missed == 6
        assert sorted(world.delivered) == list(zip(("p1", "p2", "p3"), moved, strict=True))

    def test_a_personal_store_moves_a_withdrawn_post_too(self, new_world):
        """A repost after missed ticks inherits the moved release: nobody gains by withdrawing."""
        world = new_world(personal=True)
        world.admit(target="p2")
        old = world.admit(target="p1")
        world.gate.withdraw(old.secret)
        world.pass_ticks(2 * WINDOW + 1)
        world.clock.sleep(4)
        world.close()
        new = world.admit(target="p1")

        assert new.status.release_at == old.status.latest + 3

    def test_missed_ticks_do_not_move_a_post_that_arrives_after_them(self, new_world):
        """An admission to a personal store closes what was missed first."""
        world = new_world(personal=True)
        world.clock.sleep(50.5)
        receipt = world.admit()
        arrival = world.rows("arrivals")[receipt.post]["arrival"]
        world.pass_ticks(WINDOW + 2)

        assert world.delivered == [("p1", arrival + UNBATCHED["held"])]

    def test_a_clock_set_back_closes_nothing_twice(self, new_world):
        """When the wall clock is set back, ticks neither reopen nor close again."""
        world = new_world()
        world.pass_ticks(5)
        closed = world.closed
        world.clock.set_wall(-3600)
        world.close()

        assert world.closed == closed

        world.admit()
        world.pass_ticks(20)

        assert len(world.delivered) == 1

    def test_after_a_reboot_the_wall_clock_is_believed(self, new_world):
        """After a reboot ticks go on from the wall clock, though never before the last closed one."""
        world = new_world()
        world.pass_ticks(5)
        closed = world.closed
        world.clock.reboot("second")
        world.clock.set_wall(100)
        world.restart()

        assert world.close().tick == closed + 100

        world.clock.reboot("third")
        world.clock.set_wall(-50)

        assert world.close().tick == closed + 100

    def test_after_a_reboot_into_the_past_time_goes_on(self, new_world):
        """A wall clock that comes back an hour late does not stop the store's clock for an hour."""
        world = new_world()
        world.admit()
        world.clock.set_wall(-3600)
        world.clock.reboot("second")
        world.pass_ticks(20)

        assert len(world.delivered) == 1

    # --- erasure ----------------------------------------------------------------------------------

    @every_rule
    def test_arrivals_are_erased_at_the_first_public_moment_after_labels_need_them(self, new_world, rule):
        """An arrival is kept while a label may look at it, then until a period ends, and no tick longer."""
        world, last = new_world(stiff_policy(rule)), {}
        period = PERIOD[rule]
        for _ in range(4):
            arrival = world.closed + 1
            last[world.admit().post] = -(-(arrival + KEPT[rule]) // period) * period
            world.pass_ticks(1)
        for _ in range(KEPT[rule] + period):
            living = {post for post, tick in last.items() if world.closed < tick}
            assert set(world.rows("arrivals")) == living
            world.pass_ticks(1)

        assert world.dump("arrivals") == []

    def test_when_ticks_were_missed_the_same_arrivals_are_erased(self, new_world):
        """Who is erased together depends on arrivals and on the calendar, and not on outages."""
        world = new_world()
        first = world.closed + 1
        while (first + 2 * WINDOW) % WINDOW:  # an arrival that is the last one of its group
            world.pass_ticks(1)
            first += 1
        receipts = [world.admit()]
        world.pass_ticks(1)
        receipts.append(world.admit())
        world.clock.sleep(2 * WINDOW + 1)
        world.close()

        assert set(world.rows("arrivals")) == {receipts[1].post}

    @every_rule
    def test_a_post_that_has_left_keeps_a_receipt_and_a_tick(self, new_world, rule):
        """After its release a row holds neither content nor target nor hash of a person."""
        world = new_world(stiff_policy(rule))
        receipt = world.admit()
        world.pass_ticks(20)

        row = world.rows("posts")[receipt.post]
        gone = ("content", "options", "pseudonym", "claim", "until", "parent", "problem")
        assert [row[name] for name in gone] == [None] * len(gone)
        assert row["target"] == ""

    def test_the_ledger_counts_batched_acts_by_period(self, new_world):
        """Each batched act is counted once, for its actor and the period of its policy."""
        world = new_world()
        for target in ("p1", "p2", "p2"):
            world.admit(actor="ann", target=target)
        world.admit(actor="bob", target="p1")
        withdrawn = world.admit(actor="ann", target="p3")
        world.gate.withdraw(withdrawn.secret)
        world.admit(actor="ann", target="p3")

        assert world.gate.batched_acts("ann") == 0

        world.pass_ticks(20)

        assert world.gate.batched_acts("ann") == 4
        assert world.gate.batched_acts("bob") == 0
        assert len(world.dump("ledger")) == 1

        later = world.gate_under(stiff_policy(starts_at=world.closed))

        assert later.batched_acts("ann") == 0

    def test_receipts_are_forgotten_after_a_week(self, new_world):
        """A receipt is answered for seven days after the release, and parked posts stay."""
        world = new_world()
        left, parked = world.admit(), world.admit(actor="bob", outlet="once")
        world.outlets["once"].broken = RuntimeError("it broke")
        world.pass_ticks(10)
        world.clock.sleep(RECEIPT_DAYS * 86_400 - 60)
        world.close()

        assert world.gate.status(left.secret).state == "released"

        world.clock.sleep(120)
        world.close()

        assert world.gate.status(parked.secret).state == "parked"
        with pytest.raises(NoSuchPost):
            world.gate.status(left.secret)
