"""What every store makes of several requests at once: each is accepted whole, or not at all."""

import pytest

from contracts.keeping import BATCHED, UNBATCHED, World, stiff_policy
from tarry.core.errors import BadInput
from tarry.core.policy import LABEL_RULES
from tarry.keep.admission import Terms, accept
from tarry.keep.errors import Paused

every_rule = pytest.mark.parametrize("rule", LABEL_RULES)
looking_rule = pytest.mark.parametrize("rule", [rule for rule in LABEL_RULES if rule != "none"])


def refused_terms(world: World, why: str) -> tuple[Terms, dict[str, object], type[Exception]]:
    """What makes a post be refused, and with which error."""
    labels = world.policy.labels
    if why == "its policy is over":
        return Terms(stiff_policy(labels, ends_at=world.closed - 5)), {}, BadInput
    if why == "its terms hold later":
        return Terms(world.policy, first_tick=world.closed + 2), {}, Paused
    return Terms(world.policy), {"depends_on": "no such receipt"}, BadInput


class Meddling:
    """A transaction beside which a post is withdrawn as soon as somebody has looked at it."""

    def __init__(self, transaction, post: int) -> None:
        self._transaction, self._post = transaction, post

    def __getattr__(self, name: str) -> object:
        return getattr(self._transaction, name)

    def one(self, name: str, /, **values: object) -> object:
        """Look, and then it happens."""
        row = self._transaction.one(name, **values)
        if values.get("id") == self._post:
            self._transaction.run("withdraw", id=self._post)
        return row


class RequestsContract:
    """Tests of requests; `new_world` comes from `StoreContract`."""

    # --- several at once ----------------------------------------------------------------------------

    @pytest.mark.parametrize("why", ["its policy is over", "its terms hold later", "it depends on nothing"])
    @every_rule
    def test_a_refused_request_touches_no_other(self, new_world, rule, why):
        """Of three requests the middle one is refused; the others leave as if it had never come."""
        world = new_world(stiff_policy(rule))
        arrival = world.closed + 1
        terms, wish, error = refused_terms(world, why)
        good, bad, last = world.send(
            [world.candidate("ann", "p1"), world.candidate("ann", "p2")],
            [world.candidate("cem", "p3"), world.candidate("bob", "p4", terms=terms, **wish)],
            [world.candidate("cem", "p5")],
        )

        assert isinstance(bad, error)
        assert set(world.rows("posts")) == {receipt.post for receipt in (*good, *last)}

        world.pass_ticks(20)

        first = UNBATCHED[rule] if rule in ("declared", "follower") else BATCHED[rule]
        delays = {"p1": first, "p2": BATCHED[rule], "p5": UNBATCHED[rule]}
        assert dict(world.delivered) == {target: arrival + delay for target, delay in delays.items()}
        assert len(world.delivered) == 3

    def test_the_terms_of_each_post_are_its_own(self, new_world):
        """Posts under two policies in one call have draws, a deadline and an account of their own."""
        world = new_world()
        arrival = world.closed + 1
        wide = Terms(stiff_policy(gap="16s"), "wide")
        hasty = Terms(stiff_policy(deadline_at=arrival + 5), "hasty")
        world.send(
            [world.candidate(target="p1"), world.candidate(target="p2", terms=wide)],
            [world.candidate(target="p3", terms=hasty)],
        )
        world.pass_ticks(30)

        delays = {"p1": BATCHED["held"], "p2": BATCHED["held"] + 8, "p3": 5}
        assert dict(world.delivered) == {target: arrival + delay for target, delay in delays.items()}
        assert {row["period"]: row["batched"] for row in world.dump("ledger")} == {
            "": 1,
            "wide": 1,
            "hasty": 1,
        }

    def test_a_policy_with_another_window_keeps_its_own_request_out(self, new_world):
        """Where one policy is not the store's kind its request is told so, whole; the others come in."""
        world = new_world()
        other = Terms(stiff_policy("follower"))
        mixed = [world.candidate("cyd", "p2"), world.candidate("cyd", "p3", terms=other)]
        refused, (receipt,), refused_whole = world.send(
            [world.candidate("bob", terms=other)], [world.candidate()], mixed
        )

        assert "tick, window and labels" in str(refused)
        assert str(refused_whole) == str(refused)
        assert set(world.rows("posts")) == {receipt.post}

    @pytest.mark.parametrize("ahead", [1, 3])
    def test_terms_hold_from_their_first_tick_on(self, new_world, ahead):
        """Before its terms hold a post is told how long to wait, and when it has waited it comes in."""
        world = new_world()
        first = world.closed + 1 + ahead
        terms = Terms(world.policy, first_tick=first)
        (refusal,) = world.send([world.candidate(terms=terms)])

        assert str(refusal).endswith(f"try again in {ahead} s")

        world.clock.sleep(ahead)
        ((receipt,),) = world.send([world.candidate(terms=terms)])

        assert world.rows("arrivals")[receipt.post]["arrival"] == first

    def test_a_parent_that_goes_meanwhile_breaks_nothing(self, new_world):
        """A parent that is withdrawn while its child comes in takes no other request down with it."""
        world = new_world()
        parent = world.admit(content=b"parent")
        requests = [world.candidate(depends_on=parent.secret)], [world.candidate("bob", "p2")]
        with world.store.transaction("admitting") as transaction:
            answers = accept(Meddling(transaction, parent.post), world.vault, requests)
        world.pass_ticks(20)

        assert [len(answer) for answer in answers] == [1, 1]
        assert sorted(target for target, _ in world.delivered) == ["p1", "p2"]
        assert world.gate.status(parent.secret).state == "withdrawn"

    # --- where a target lies ------------------------------------------------------------------------

    @pytest.mark.parametrize(("spaces", "apart"), [(("talk", "wiki"), True), (("talk", "talk"), False)])
    @looking_rule
    def test_a_name_in_another_space_is_another_target(self, new_world, rule, spaces, apart):
        """Posts on one name are batched where the name stands in two spaces, and not where in one."""
        world = new_world(stiff_policy(rule))
        arrival = world.closed + 1
        (receipts,) = world.send([world.candidate(space=space) for space in spaces])
        world.pass_ticks(20)

        last = world.gate.status(receipts[-1].secret).release_at
        assert last == arrival + (BATCHED if apart else UNBATCHED)[rule]

    def test_nobody_inherits_from_another_space(self, new_world):
        """A withdrawn post leaves its tick to a repost in its own space, and to none elsewhere."""
        world = new_world()
        ((old,),) = world.send([world.candidate(space="talk")])
        world.gate.withdraw(old.secret)
        world.pass_ticks(1)
        (there,), (here,) = world.send([world.candidate(space="wiki")], [world.candidate(space="talk")])

        arrivals = [world.rows("arrivals")[receipt.post]["arrival"] for receipt in (there, here)]
        assert arrivals == [world.closed + 1, world.closed]
