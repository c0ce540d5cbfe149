"""What every store tells of a post whose label is open: of laws that are not coupled, never a draw."""

from dataclasses import replace

import pytest

from contracts.keeping import WINDOW, World, lively_policy, loose_policy, stiff_policy
from contracts.lockout_contract import ends, lock, moved, say, wiki_world, work
from contracts.standstill_contract import lockout, shut_out
from tarry.core.release import Draws
from tarry.keep.posts import Receipt

__all__ = ["TellingContract"]

#: The law of `loose_policy`: delays of 0 to 15 ticks unbatched, of 11 to 15 batched.
LONGEST = 15
#: The shortest and the longest of both, some in between, and two that agree.
DRAWS = [Draws(0, 11), Draws(15, 15), Draws(4, 12), Draws(15, 11), Draws(11, 11)]
#: Labels that are not known at arrival, with the ticks until they are.
HOLDS = {"held": WINDOW, "simultaneous": 0}
open_rules = pytest.mark.parametrize("rule", HOLDS)


def admit_drawn(world: World, draws: Draws, actor: str = "ann", target: str = "p1", **others) -> Receipt:
    """Hand in a post that has drawn this."""
    candidate = world.candidate(actor, target, **others)
    ((receipt,),) = world.send([candidate._replace(draws=draws)])
    return receipt


def admit_all(world: World, **others) -> list[Receipt]:
    """One post for each of the draws, in one tick, everybody an actor of their own."""
    return [
        admit_drawn(world, draws, f"author {number}", f"p{number}", **others)
        for number, draws in enumerate(DRAWS)
    ]


def told(world: World, receipts) -> set[str]:
    """What authors are told, as it reads."""
    return {repr(world.gate.status(each.secret)) for each in receipts}


class TellingContract:
    """Tests of what is told; `new_world` comes from `StoreContract`."""

    @open_rules
    def test_no_draw_is_told_until_the_label_is_decided(self, new_world, rule):
        """Two posts of one tick read alike, whatever they drew; then each is told its release."""
        world = new_world(loose_policy(rule, gap="11s" if rule == "simultaneous" else "8s"))
        receipts, arrival, hold = admit_all(world), world.closed + 1, HOLDS[rule]

        assert len({repr(each.status) for each in receipts}) == 1
        first = receipts[0].status
        assert (first.earliest, first.latest) == (arrival + hold, arrival + hold + LONGEST)
        assert (first.in_between, first.release_at) == (True, None)
        for _ in range(hold):
            world.pass_ticks(1)
            assert told(world, receipts) == {repr(first)}

        world.pass_ticks(1)
        releases = [arrival + hold + draws.unbatched for draws in DRAWS]

        assert ends(world, receipts) == [(release, release) for release in releases]
        assert not any(world.gate.status(each.secret).in_between for each in receipts)

        world.pass_ticks(LONGEST)

        assert sorted(world.delivered) == sorted((f"p{n}", release) for n, release in enumerate(releases))

    def test_a_batched_post_leaves_as_it_drew(self, new_world):
        """The receipt of a pair reads like that of a lone post, and the label takes the other draw."""
        world = new_world(loose_policy())
        arrival = world.closed + 1
        pair = [admit_drawn(world, Draws(number, 12), "ann", f"p{number}") for number in (1, 2)]
        lone = admit_drawn(world, Draws(3, 14), "bob", "p3")

        assert told(world, pair) == told(world, [lone])

        world.pass_ticks(WINDOW + 1)

        assert ends(world, [*pair, lone]) == [(arrival + WINDOW + ticks,) * 2 for ticks in (12, 12, 3)]

    @pytest.mark.parametrize(
        "policy", [lively_policy(), lively_policy("none")], ids=["coupled", "label-free"]
    )
    def test_coupled_draws_are_told_as_ever(self, new_world, policy):
        """Nothing is stored beside these draws, and both are told."""
        world = new_world(policy)
        receipt = world.admit()
        row = world.rows("arrivals")[receipt.post]
        hold = row["arrival"] + policy.hold_ticks

        assert (row["earliest"], row["latest"]) == (None, None)
        assert receipt.status.earliest == hold + min(row["unbatched"], row["batched"])
        assert receipt.status.latest == hold + max(row["unbatched"], row["batched"])
        assert not receipt.status.in_between

    @pytest.mark.parametrize("rule", ["declared", "follower"])
    def test_where_the_label_is_known_at_once_so_is_the_release(self, new_world, rule):
        """There is nothing to hide from who knows their own label."""
        world = new_world(loose_policy(rule))
        receipt = admit_drawn(world, Draws(4, 12))
        row = world.rows("arrivals")[receipt.post]

        assert receipt.status.release_at == world.closed + 1 + 4
        assert (row["earliest"], row["latest"]) == (None, None)

    def test_a_repost_is_told_what_the_first_one_was(self, new_world):
        """Tick and draws are taken over, and what is told instead of them is, too."""
        world = new_world(loose_policy())
        receipts, arrival = admit_all(world), world.closed + 1
        gone = {repr(world.gate.withdraw(each.secret)) for each in receipts}
        heirs = []
        for number in range(len(DRAWS)):
            world.pass_ticks(number % 2)
            heirs.append(admit_drawn(world, Draws(0, 0), f"author {number}", f"p{number}"))

        assert len(gone) == 1
        assert {repr(each.status) for each in heirs} == {repr(receipts[0].status)} == told(world, heirs)

        world.pass_ticks(WINDOW + LONGEST + 1)
        releases = {f"p{n}": arrival + WINDOW + draws.unbatched for n, draws in enumerate(DRAWS)}

        assert dict(world.delivered) == releases

    def test_a_post_behind_another_tells_no_draw_of_it(self, new_world):
        """Nor does it tell one of its own, and it leaves when both may."""
        world, arrival = new_world(loose_policy()), None
        parents = admit_all(world)
        world.pass_ticks(1)
        arrival = world.closed + 1
        children = [
            admit_drawn(world, replace(draws), f"author {n}", f"p{n}", depends_on=parent.secret)
            for n, (draws, parent) in enumerate(zip(reversed(DRAWS), parents, strict=True))
        ]

        assert len({repr(each.status) for each in children}) == 1 == len(told(world, children))
        assert (children[0].status.earliest, children[0].status.in_between) == (arrival + WINDOW, True)

        world.pass_ticks(WINDOW + 1, release=False)
        pairs = zip(reversed(DRAWS), DRAWS, strict=True)
        releases = [max(own.unbatched, above.unbatched - 1) for own, above in pairs]

        assert ends(world, children) == [(arrival + WINDOW + release,) * 2 for release in releases]

    @pytest.mark.parametrize(("room", "known"), [(8, False), (WINDOW - 1, True), (40, False)])
    def test_a_deadline_is_told_as_it_is(self, new_world, room, known):
        """By then all has left; what leaves then under every draw is told so at once."""
        world = new_world(loose_policy())
        deadline = world.closed + 1 + room
        gate = world.gate_under(loose_policy(deadline_at=deadline))
        arrival = world.closed + 1
        candidates = [
            world.candidate(f"author {n}", f"p{n}", terms=gate.terms)._replace(draws=draws)
            for n, draws in enumerate(DRAWS)
        ]
        (receipts,) = world.send(candidates)
        status = receipts[0].status

        assert {each.status for each in receipts} == {status}
        assert status.earliest == min(arrival + WINDOW, deadline)
        assert status.latest == min(arrival + WINDOW + LONGEST, deadline)
        assert status.in_between is not known

        world.pass_ticks(WINDOW + LONGEST + 1)
        releases = [min(arrival + WINDOW + draws.unbatched, deadline) for draws in DRAWS]

        assert sorted(world.delivered) == sorted((f"p{n}", release) for n, release in enumerate(releases))

    def test_after_missed_ticks_what_is_told_moves_with_the_post(self, new_world):
        """In one person's own store: by as much for all, and the release lies in it."""
        world = new_world(loose_policy(), personal=True)
        receipts, arrival = admit_all(world), world.closed + 1
        before = ends(world, receipts)
        world.clock.sleep(2.0)
        world.close()
        late = moved(before, ends(world, receipts))

        assert late == [1] * len(DRAWS)
        assert len(told(world, receipts)) == 1

        world.pass_ticks(WINDOW, release=False)

        assert ends(world, receipts) == [(arrival + 1 + WINDOW + draws.unbatched,) * 2 for draws in DRAWS]

    def test_a_lockout_moves_what_is_told(self, new_world):
        """What waits moves by as much as the account has to wait, and what arrives counts from its end."""
        world = wiki_world(new_world, loose_policy())
        options = {"account": "nym"}
        first = admit_drawn(world, Draws(0, 11), "somebody", "first", outlet="wiki", options=options)
        world.pass_ticks(WINDOW, release=False)
        receipts = admit_all(world, outlet="wiki", options=options)
        world.pass_ticks(1, release=False)
        arrival, before = world.closed, ends(world, receipts)
        lock(world, "nym")
        work(world)
        (ticks,) = set(moved(before, ends(world, receipts)))
        later = admit_drawn(world, Draws(4, 12), "cem", "p9", outlet="wiki", options=options)
        resumes = lockout(world)["resumes"]

        assert world.gate.status(first.secret).state == "waiting"
        assert ticks > 0
        assert len(told(world, receipts)) == 1
        assert (later.status.earliest, later.status.latest) == (
            resumes + WINDOW,
            resumes + WINDOW + LONGEST,
        )

        world.pass_ticks(WINDOW + 1, release=False)
        releases = [arrival + WINDOW + draws.unbatched + ticks for draws in DRAWS]

        assert ends(world, receipts) == [(release, release) for release in releases]
        assert ends(world, [later]) == [(resumes + WINDOW + 4,) * 2]

    def test_a_repost_by_an_account_that_is_locked_out_tells_no_draw(self, new_world):
        """How far it moves depends on its draws: what is told is all that may become of any."""
        world = wiki_world(new_world, loose_policy())
        nym = {"outlet": "wiki", "options": {"account": "nym"}}
        admit_drawn(world, Draws(0, 11), "somebody", "first", **nym)
        world.pass_ticks(WINDOW + 1, release=False)
        lock(world, "nym")
        work(world)
        old, arrival = admit_all(world), world.closed + 1
        since = arrival + WINDOW + 6  # some have drawn less than this, and some more
        world.tell("lock_out", **{**lockout(world), "since": since, "until": since + 2})
        for each in old:
            world.gate.withdraw(each.secret)
        heirs = admit_all(world, **nym)
        status = heirs[0].status

        assert len({repr(each.status) for each in heirs}) == 1 == len(told(world, heirs))
        assert (status.earliest, status.in_between) == (since + 2, True)

        world.pass_ticks(WINDOW + 1, release=False)
        releases = [early for early, _ in ends(world, heirs)]

        assert releases == [since + 2, *(arrival + WINDOW + ticks for ticks in (15, 8, 15, 11))]
        assert all(status.earliest <= release <= status.latest for release in releases)

    def test_a_law_with_two_delays_alone_is_not_told_apart_either(self, new_world):
        """Whether what is told are draws is a matter of the law, and not of what was drawn."""
        world = wiki_world(new_world, stiff_policy())
        shut_out(world)

        assert say(world, "p1").status.in_between
