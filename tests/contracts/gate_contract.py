"""What every store lets the gate do: admit, tell, replace, refuse, put back."""

import pytest

from contracts.keeping import UNBATCHED, WINDOW, lively_policy, stiff_policy
from tarry.core.errors import BadInput
from tarry.core.policy import LABEL_RULES
from tarry.keep.errors import NoSuchPost, Refused, TooLate, Unreachable
from tarry.keep.posts import Post

every_rule = pytest.mark.parametrize("rule", LABEL_RULES)


class GateContract:
    """Tests of the gate; `new_world` comes from `StoreContract`."""

    # --- admit and status ---

    @every_rule
    def test_a_clock_set_back_stamps_nobody_before_another(self, new_world, rule):
        """Two people post in turn while the wall clock is set back: no arrival is before the last one."""
        world, stamps = new_world(stiff_policy(rule)), []
        world.clock.sleep(60)  # nothing was closed: the clock may lean by almost four seconds
        for number in range(12):
            world.clock.sleep(0.4)
            world.clock.set_wall(-120 if number % 2 else 120)
            receipt = world.admit(actor=("ann", "bob")[number % 2])
            stamps.append(world.rows("arrivals")[receipt.post]["arrival"])

        assert stamps == sorted(stamps)
        assert stamps[-1] > stamps[0]

    @every_rule
    def test_a_lone_post_leaves_once_and_at_its_tick(self, new_world, rule):
        """A lone post leaves once, at its arrival plus hold and draw."""
        world = new_world(stiff_policy(rule))
        arrival = world.closed + 1
        receipt = world.admit()
        world.pass_ticks(UNBATCHED[rule])

        assert world.delivered == []
        assert world.gate.status(receipt.secret).state == "waiting"

        world.pass_ticks(10)

        assert world.delivered == [("p1", arrival + UNBATCHED[rule])]
        status = world.gate.status(receipt.secret)
        assert status.state == "released"
        assert status.release_at == arrival + UNBATCHED[rule]

    def test_the_status_names_both_ticks_until_the_label_is_known(self, new_world):
        """A held post may leave at two moments until its label is known, and then at one."""
        world = new_world()
        arrival = world.closed + 1
        receipt = world.admit()

        assert (receipt.status.earliest, receipt.status.latest) == (arrival + 3, arrival + 14)
        assert world.gate.status(receipt.secret) == receipt.status
        assert receipt.status.release_at is None

        world.pass_ticks(WINDOW + 1, release=False)

        assert world.gate.status(receipt.secret).release_at == arrival + 3

    def test_a_release_both_labels_agree_on_is_told_at_once(self, new_world, force_draws):
        """Where both draws are the same the author learns the release at admission."""
        force_draws("longest")
        world = new_world(lively_policy())
        receipt = world.admit()
        row = world.rows("arrivals")[receipt.post]

        assert row["unbatched"] == row["batched"]
        assert receipt.status.release_at == row["arrival"] + WINDOW + row["batched"]

    def test_nobody_is_told_about_a_post_without_its_receipt(self, new_world):
        """A receipt that names no post is answered with NoSuchPost."""
        world = new_world()
        world.admit()

        for ask in (world.gate.status, world.gate.withdraw, lambda secret: world.gate.replace(secret, b"")):
            with pytest.raises(NoSuchPost):
                ask("no such receipt")

    def test_several_posts_are_accepted_or_none(self, new_world):
        """When one of several posts is refused, none of them is stored."""
        world = new_world()
        good = Post(actor="ann", target="p1", outlet="list", content=b"good")
        bad = Post(actor="ann", target="p1", outlet="list", content=b"bad", depends_on="nothing")
        with pytest.raises(BadInput, match="depends_on"):
            world.gate.admit_many([good, bad])

        assert world.dump("posts") == []
        assert world.dump("arrivals") == []
        assert len(world.gate.admit_many([good, good])) == 2

    def test_names_of_people_are_not_stored(self, new_world):
        """No table holds an actor's name."""
        world = new_world()
        world.admit(actor="annabella", content=b"words")

        assert not any("annabella" in str(world.dump(table)) for table in ("posts", "arrivals", "ledger"))

    @every_rule
    def test_everything_survives_a_restart(self, new_world, rule):
        """What was admitted before a restart leaves after it as if there had been none."""
        world = new_world(lively_policy(rule))
        receipt = world.admit()
        before = world.rows("arrivals")[receipt.post]
        world.restart()

        assert world.rows("arrivals")[receipt.post] == before

        world.pass_ticks(80)

        assert [target for target, _ in world.delivered] == ["p1"]

    # --- replace ---

    @pytest.mark.parametrize("sealed", [False, True])
    def test_replaced_content_leaves_at_the_old_tick(self, new_world, sealed):
        """Replacing content and options changes what is said and not when."""
        world = new_world(sealed=sealed)
        receipt = world.admit(content=b"old")
        before = world.rows("arrivals")
        world.gate.replace(receipt.secret, b"newer", {"to": "all"})
        world.gate.replace(receipt.secret, b"newest")

        assert world.rows("arrivals") == before

        world.pass_ticks(10)

        (release,) = world.outlets["list"].delivered
        assert (release.content, release.options, int(release.at)) == (
            b"newest",
            {"to": "all"},
            receipt.status.earliest,
        )

    def test_sealed_content_is_not_in_the_tables(self, new_world):
        """With encryption on, neither content nor options lie in the store."""
        world = new_world(sealed=True)
        world.admit(content=b"plain words", options={"to": "somebody"})

        assert "plain words" not in str(world.dump("posts"))
        assert "somebody" not in str(world.dump("posts"))

    def test_what_has_left_or_is_leaving_cannot_be_changed(self, new_world):
        """A post that is being delivered, or has been, can be neither replaced nor withdrawn."""
        world = new_world()
        receipt = world.admit()
        world.pass_ticks(WINDOW + 1, release=False)
        claim = world.releaser.claim("list")
        for state in ("leaving at this moment", "released"):
            for change in (world.gate.withdraw, lambda secret: world.gate.replace(secret, b"late")):
                with pytest.raises(TooLate, match=state):
                    change(receipt.secret)
            world.releaser.mark(claim, world.releaser.deliver(claim))

        assert world.outlets["list"].delivered[0].content == b"ann on p1"

    # --- refusals, and the owner's view ---

    def test_a_gate_has_the_window_of_its_store(self, new_world):
        """A policy with another window, tick or labels is refused by the store."""
        world = new_world()
        with pytest.raises(BadInput, match="window"):
            world.gate_under(stiff_policy("follower"))

    def test_posts_outside_the_period_of_the_policy_are_refused(self, new_world):
        """Before it begins, after it ends and after its deadline a policy accepts nothing."""
        world = new_world()
        now = world.now // 1_000_000
        periods = {
            "from": {"starts_at": now + 5},
            "until": {"ends_at": now - 5},
            "deadline": {"deadline_at": now - 5},
        }
        for name, period in periods.items():
            gate = world.gate_under(stiff_policy(**period))
            with pytest.raises(BadInput, match=name):
                gate.admit(Post(actor="ann", target="p1", outlet="list", content=b""))

    def test_a_deadline_lets_everything_out(self, new_world):
        """A batched post leaves at the policy's deadline where that comes first."""
        world = new_world()
        deadline = world.closed + 6
        gate = world.gate_under(stiff_policy(deadline_at=deadline))
        for target in ("p1", "p2"):
            gate.admit(Post(actor="ann", target=target, outlet="list", content=b""))
        world.pass_ticks(10)

        assert sorted(world.delivered) == [("p1", deadline), ("p2", deadline)]

    def test_the_owner_sees_what_waits_and_what_is_parked(self, new_world):
        """The owner's view holds waiting and parked posts, and no others."""
        world = new_world()
        kept, parked = world.admit(target="p1"), world.admit(actor="bob", target="p2", outlet="once")
        world.gate.withdraw(world.admit(actor="cem", target="p3").secret)
        world.outlets["once"].broken = Refused("it broke")
        world.outlets["list"].broken = Unreachable("for now")
        world.pass_ticks(WINDOW + 1)

        states = {row["id"]: (status.state, status.problem) for row, status in world.gate.posts()}
        assert states == {kept.post: ("waiting", "for now"), parked.post: ("parked", "it broke")}

    def test_a_parked_post_is_repeated_as_a_new_act(self, new_world):
        """Repeating a parked post admits it anew, at this moment and with draws of its own."""
        world = new_world()
        old = world.admit(outlet="once", content=b"words", options={"a": 1})
        world.outlets["once"].broken = RuntimeError("it broke")
        world.pass_ticks(2 * WINDOW + 2)
        world.outlets["once"].broken = None
        arrival = world.closed + 1
        new = world.gate.repeat_post(old.post, "ann")

        assert world.rows("arrivals")[new.post]["arrival"] == arrival
        with pytest.raises(NoSuchPost):
            world.gate.status(old.secret)

        world.pass_ticks(10)

        (release,) = world.outlets["once"].delivered
        assert (release.content, release.options, int(release.at)) == (b"words", {"a": 1}, arrival + 3)
        with pytest.raises(TooLate, match="released"):
            world.gate.repeat_post(new.post, "ann")

    def test_an_operator_puts_a_parked_post_back(self, new_world):
        """An unparked post leaves at the next chance, and one that is not parked cannot be put back."""
        world = new_world()
        post = world.admit(outlet="once").post
        world.outlets["once"].broken = RuntimeError("it broke")
        world.pass_ticks(WINDOW + 1)
        world.outlets["once"].broken = None
        world.gate.unpark_post(post)
        world.releaser.release()

        assert len(world.delivered) == 1
        with pytest.raises(TooLate, match="released"):
            world.gate.unpark_post(post)
