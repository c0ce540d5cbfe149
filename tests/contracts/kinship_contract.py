"""Posts that belong together, in every store: a repost and its forerunner, a child and its parent."""

import pytest

from contracts.keeping import BATCHED, UNBATCHED, WINDOW, lively_policy, stiff_policy
from tarry.core.errors import BadInput
from tarry.core.policy import LABEL_RULES
from tarry.keep.errors import TooLate
from tarry.keep.keys import under_receipt
from tarry.keep.posts import Post

every_rule = pytest.mark.parametrize("rule", LABEL_RULES)


class KinshipContract:
    """Tests of withdrawing, inheriting and depending; `new_world` comes from `StoreContract`."""

    # --- withdraw and repost ---

    @every_rule
    def test_a_withdrawn_post_never_leaves(self, new_world, rule):
        """A withdrawn post is not delivered, and its content is gone at once."""
        world = new_world(stiff_policy(rule))
        receipt = world.admit()

        assert world.gate.withdraw(receipt.secret).state == "withdrawn"
        row = world.rows("posts")[receipt.post]
        assert (row["content"], row["options"], row["target"]) == (None, None, "")

        world.pass_ticks(30)

        assert world.delivered == []
        assert world.gate.status(receipt.secret).state == "withdrawn"
        with pytest.raises(TooLate, match="withdrawn"):
            world.gate.withdraw(receipt.secret)

    @pytest.mark.parametrize("rule", ["held", "declared", "follower", "simultaneous"])
    def test_a_withdrawn_post_still_counts_for_labels(self, new_world, rule):
        """A post whose partner was withdrawn is batched all the same."""
        world = new_world(stiff_policy(rule))
        arrival = world.closed + 1
        world.gate.withdraw(world.admit(target="p1").secret)
        world.admit(target="p2")
        world.pass_ticks(30)

        assert world.delivered == [("p2", arrival + BATCHED[rule])]

    @every_rule
    def test_a_repost_inherits_tick_and_draws(self, new_world, rule):
        """A repost takes over the arrival, draws and label of the withdrawn post, later though it comes."""
        world = new_world(lively_policy(rule))
        old = world.admit(more_to_come=True)
        before = world.rows("arrivals")[old.post]
        world.gate.withdraw(old.secret)
        world.clock.sleep(2)
        new = world.admit()

        assert world.dump("arrivals") == [{**before, "id": new.post}]
        assert new.status == old.status

    def test_a_repost_after_erasure_inherits_the_release(self, new_world):
        """When arrival and draws are erased a repost leaves when the withdrawn post would have."""
        world = new_world()
        old, _ = world.admit(target="p1"), world.admit(target="p2")
        world.gate.withdraw(old.secret)
        world.pass_ticks(3 * WINDOW)

        assert world.dump("arrivals") == []

        new = world.admit(target="p1")

        assert new.status.release_at == old.status.latest
        assert world.dump("arrivals") == []

        world.pass_ticks(20)

        assert sorted(world.delivered) == [("p1", old.status.latest), ("p2", old.status.latest)]

    @pytest.mark.parametrize("wait", [1, 3 * WINDOW])
    def test_nobody_inherits_twice(self, new_world, wait):
        """A second repost beside the first draws for itself, before erasure and after."""
        world = new_world()
        old, _ = world.admit(target="p1"), world.admit(target="p2")
        world.gate.withdraw(old.secret)
        world.pass_ticks(wait)
        world.admit(target="p1")
        arrival = world.closed + 1
        second = world.admit(target="p1")

        assert world.rows("arrivals")[second.post]["arrival"] == arrival

    def test_a_repost_withdrawn_again_passes_the_tick_on(self, new_world):
        """Withdrawing and reposting again and again keeps the first tick and draws."""
        world = new_world(lively_policy())
        receipt = world.admit()
        first = world.dump("arrivals")
        for _ in range(3):
            world.gate.withdraw(receipt.secret)
            world.clock.sleep(0.5)
            world.close()
            receipt = world.admit()

        assert world.dump("arrivals") == [{**first[0], "id": receipt.post}]

    def test_two_reposts_in_one_transaction_inherit_once(self, new_world):
        """Of two reposts handed in together one inherits."""
        world = new_world()
        world.gate.withdraw(world.admit().secret)
        first = world.dump("arrivals")[0]["arrival"]
        world.clock.sleep(1.5)
        post = Post(actor="ann", target="p1", outlet="list", content=b"again")
        world.gate.admit_many([post, post])

        assert sorted(row["arrival"] for row in world.dump("arrivals")) == [first, first + 2]

    def test_only_the_same_actor_on_the_same_target_inherits(self, new_world):
        """Another actor, or another target, draws for itself."""
        world = new_world()
        world.gate.withdraw(world.admit(actor="ann", target="p1").secret)
        world.clock.sleep(1)
        new = [world.admit(actor="bob", target="p1"), world.admit(actor="ann", target="p2")]

        arrivals = world.rows("arrivals")
        assert len(arrivals) == 3
        assert {arrivals[each.post]["arrival"] for each in new} == {world.closed + 2}

    def test_after_its_life_a_withdrawn_post_leaves_nothing_behind(self, new_world):
        """Once its tick has passed nobody inherits from a withdrawn post, and its hash is forgotten."""
        world = new_world()
        old = world.admit()
        world.gate.withdraw(old.secret)
        world.pass_ticks(WINDOW + 1)

        assert world.rows("posts")[old.post]["pseudonym"] is None
        assert world.dump("legacies") == []

        arrival = world.closed + 1
        new = world.admit()

        assert world.rows("arrivals")[new.post]["arrival"] == arrival

    def test_when_a_withdrawn_post_is_forgotten_nothing_is_left_to_inherit(self, new_world):
        """Whoever deletes its row, as the end of a space does, need not think of its heirs."""
        world = new_world()
        world.gate.withdraw(world.admit().secret)
        world.tell("forget_done")
        world.pass_ticks(1)

        assert world.dump("legacies") == []

    def test_while_a_post_waits_its_pseudonym_is_sealed_under_its_receipt(self, new_world):
        """The row does not tell whose it is, not even to who has the key and tries names."""
        world = new_world()
        one, other = world.admit(), world.admit()
        rows, mine = world.rows("posts"), world.keys.pseudonym("ann", "p1")
        stored = [bytes(rows[each.post]["pseudonym"]) for each in (one, other)]

        assert len({*stored, mine}) == 3
        assert [under_receipt(r.secret, s) for r, s in zip((one, other), stored, strict=True)] == [mine] * 2

    def test_a_repost_of_what_an_operator_took_back_inherits_while_its_arrival_is_known(self, new_world):
        """Before erasure the arrival tells whose it was."""
        world = new_world(lively_policy())
        old = world.admit()
        world.gate.withdraw_post(old.post)
        world.clock.sleep(1)

        assert world.admit().status == old.status

    def test_into_the_place_that_an_operator_emptied_its_author_puts_something_else(self, new_world):
        """After erasure nobody knows whose it was; with the receipt it leaves when it would have."""
        world = new_world()
        old, _ = world.admit(target="p1"), world.admit(target="p2")
        world.pass_ticks(2 * WINDOW + 1)
        world.gate.withdraw_post(old.post)
        (legacy,) = world.dump("legacies")

        assert (legacy["pseudonym"], legacy["target"]) == (None, "p1")

        revived = world.gate.replace(old.secret, b"something else")

        assert (revived.state, revived.release_at) == ("waiting", old.status.latest)
        assert world.dump("legacies") == []

        world.pass_ticks(20)

        left = {r.target: (r.content, int(r.at)) for r in world.outlets["list"].delivered}
        assert left["p1"] == (b"something else", old.status.latest)

    def test_a_repost_of_what_an_operator_took_back_after_erasure_draws_once_more(self, new_world):
        """Nobody knows whose it was; the place stays its author's, and what is drawn is inherited again."""
        world = new_world()
        old, _ = world.admit(target="p1"), world.admit(target="p2")
        world.pass_ticks(2 * WINDOW + 1)
        world.gate.withdraw_post(old.post)
        arrival = world.closed + 1
        again = world.admit(target="p1")

        assert world.rows("arrivals")[again.post]["arrival"] == arrival

        world.gate.withdraw(again.secret)
        world.clock.sleep(1)

        assert world.admit(target="p1").status == again.status

    def test_a_place_that_was_filled_again_can_be_withdrawn_and_inherited(self, new_world):
        """Its pseudonym is sealed under the same receipt."""
        world = new_world()
        old, _ = world.admit(target="p1"), world.admit(target="p2")
        world.pass_ticks(2 * WINDOW + 1)
        world.gate.withdraw_post(old.post)
        world.gate.replace(old.secret, b"something else")
        world.admit(target="p1", depends_on=old.secret)
        world.gate.withdraw(old.secret)
        heir = world.admit(target="p1")

        assert heir.status.release_at == old.status.latest

    def test_a_place_has_one_heir(self, new_world):
        """Whoever has reposted does not fill the old place too, nor one that its time is over for."""
        world = new_world()
        taken, late = world.admit(target="p1"), world.admit(actor="bob", target="p2")
        for each in (taken, late):
            world.gate.withdraw_post(each.post)
        world.admit(target="p1")
        with pytest.raises(TooLate, match="withdrawn"):
            world.gate.replace(taken.secret, b"again")
        world.pass_ticks(20)
        with pytest.raises(TooLate, match="withdrawn"):
            world.gate.replace(late.secret, b"again")

        assert [target for target, _ in world.delivered] == ["p1"]

    # --- depends_on ---

    @every_rule
    def test_a_post_leaves_no_earlier_than_the_one_it_depends_on(self, new_world, rule):
        """A child takes the later of its own tick and its parent's, and leaves after it."""
        world = new_world(stiff_policy(rule))
        arrival = world.closed + 1
        world.admit(target="p2", more_to_come=True)
        parent = world.admit(target="p1")  # batched, where there are labels
        world.pass_ticks(WINDOW + 1, release=False)
        child = world.admit(target="p1", depends_on=parent.secret, content=b"child")
        due = max(arrival + BATCHED[rule], arrival + WINDOW + 1 + UNBATCHED[rule])

        assert child.status.earliest == due

        world.pass_ticks(30)

        of_p1 = [release for release in world.outlets["list"].delivered if release.target == "p1"]
        assert [release.content for release in of_p1] == [b"ann on p1", b"child"]
        assert int(of_p1[1].at) == due
        assert int(of_p1[0].at) == arrival + BATCHED[rule]

    def test_a_chain_waits_for_its_head(self, new_world):
        """Children of children follow too, one after the other."""
        world = new_world()
        world.admit(target="p2")
        last = world.admit(content=b"0")
        head = last.status.latest
        world.pass_ticks(WINDOW + 1)
        for number in (1, 2, 3):
            last = world.admit(content=b"%d" % number, depends_on=last.secret)

        assert last.status.earliest == head

        world.pass_ticks(20)

        mine = [r for r in world.outlets["list"].delivered if r.target == "p1"]
        assert [(r.content, int(r.at)) for r in mine] == [(b"%d" % n, head) for n in range(4)]

    def test_a_parent_is_visible_or_ones_own_on_the_same_target(self, new_world):
        """Another's waiting post, one on another target, and a withdrawn one are no parents."""
        world = new_world()
        gone = world.admit(target="p1")
        world.gate.withdraw(gone.secret)
        bobs, other = world.admit(actor="bob", target="p1"), world.admit(actor="ann", target="p2")
        for parent in (gone, bobs, other):
            with pytest.raises(BadInput, match="depends_on"):
                world.admit(actor="ann", target="p1", depends_on=parent.secret)
        world.pass_ticks(20)

        world.admit(actor="ann", target="p1", depends_on=bobs.secret)

    def test_a_withdrawn_parent_holds_nobody_up(self, new_world):
        """When its parent is withdrawn a child leaves at its own tick."""
        world = new_world()
        parent = world.admit(outlet="once")
        world.clock.sleep(1)
        child = world.admit(depends_on=parent.secret, content=b"child")
        world.gate.withdraw(parent.secret)
        world.pass_ticks(10)

        assert world.delivered == [("p1", child.status.earliest)]
