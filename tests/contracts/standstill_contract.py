"""What every store does with what arrives, or is tried again, while an account is locked out."""

import pytest

from contracts.closing_contract import every_rule
from contracts.keeping import BATCHED, UNBATCHED, WINDOW, World, stiff_policy
from contracts.lockout_contract import LEAST, ends, lock, moved, say, wiki_world, work
from tarry.keep.admission import Terms
from tarry.keep.errors import Refused

__all__ = ["StandstillContract"]

OUTAGE, EVERY = 3600, 130


def lockout(world: World) -> dict[str, int]:
    """The one lockout there is."""
    (row,) = world.dump("lockouts")
    return row


def shut_out(world: World, *, wait_s: int = 0):
    """A post of the account falls due and cannot get in."""
    first = say(world, "first")
    world.pass_ticks(first.status.earliest - world.closed, release=False)
    lock(world, "nym", wait_s=wait_s)
    work(world)
    return first


def count_logins(world: World) -> list[int]:
    """The ticks at which somebody knocks, from now on."""
    knocks, outlet = [], world.outlets["wiki"]
    honest = outlet.deliver

    def deliver(release):
        knocks.append(world.closed)
        honest(release)

    outlet.deliver = deliver
    return knocks


class StandstillContract:
    """Tests of an account's clock; `new_world` comes from `StoreContract`."""

    # --- what arrives -------------------------------------------------------------------------------

    @every_rule
    def test_what_arrives_while_its_account_is_locked_out_counts_from_its_end(self, new_world, rule):
        """Its delay begins there, whatever its label and whenever that is known."""
        world = wiki_world(new_world, stiff_policy(rule))
        shut_out(world)
        resumes = lockout(world)["resumes"]
        world.pass_ticks(20, release=False)
        alone = say(world, "p1")
        pair = [say(world, target, actor="ann") for target in ("p2", "p3")]
        told = [alone.status.earliest, *(each.status.latest for each in pair)]
        world.pass_ticks(WINDOW + 1, release=False)

        assert ends(world, [alone]) == [(resumes + UNBATCHED[rule],) * 2]
        assert ends(world, [pair[1]]) == [(resumes + BATCHED[rule],) * 2]
        assert (told[0], told[2]) == (resumes + UNBATCHED[rule], resumes + BATCHED[rule])

    def test_what_needs_no_account_or_another_one_is_not_held_up(self, new_world):
        """A lockout is one account's."""
        world = wiki_world(new_world)
        shut_out(world)
        arrival = world.closed + 1
        others = [say(world, "p1", account="bob"), say(world, "p2", account=None), world.admit("cem")]

        assert {each.status.earliest for each in others} == {arrival + UNBATCHED["held"]}

    def test_the_same_account_waits_at_every_outlet(self, new_world):
        """It is the same login."""
        world = wiki_world(new_world)
        shut_out(world)

        assert say(world, "p1", outlet="other").status.earliest == lockout(world)["resumes"] + WINDOW

    def test_in_a_personal_store_all_that_arrives_waits(self, new_world):
        """There is one clock, for every account and outlet."""
        world = wiki_world(new_world, stiff_policy("held"), personal=True)
        shut_out(world)
        others = [say(world, "p1", account="bob"), world.admit("cem", "p2")]

        assert {each.status.earliest for each in others} == {lockout(world)["resumes"] + WINDOW}

    def test_a_personal_stores_lockout_moves_with_everything_else(self, new_world):
        """After missed ticks, too, what arrives next does not overtake what arrived before."""
        world = wiki_world(new_world, stiff_policy("held"), personal=True)
        shut_out(world)
        before = say(world, "p1")
        world.clock.sleep(100.0)
        after = say(world, "p2")

        world.pass_ticks(WINDOW + 1, release=False)

        assert ends(world, [before]) == ends(world, [after])
        assert after.status.earliest - before.status.earliest in (99, 100)

    def test_what_is_not_delayed_waits_too(self, new_world):
        """Who has not adopted delays has an account that cannot get in all the same."""
        world = wiki_world(new_world)
        shut_out(world)
        terms = Terms(world.policy, adoption="opt-in")
        options = {"account": "nym"}
        ((receipt,),) = world.send([world.candidate(outlet="wiki", options=options, terms=terms)])

        assert receipt.status.release_at == lockout(world)["resumes"]

    def test_a_public_deadline_stays_where_it_is(self, new_world):
        """What it lets out leaves at the deadline, or at the end of the lockout: no arrival shows."""
        world = wiki_world(new_world)
        shut_out(world)
        resumes, found = lockout(world)["resumes"], {}
        for deadline in (resumes - 9, resumes + 1):
            policy = stiff_policy("held", deadline_at=deadline)
            for _ in range(2):
                candidate = world.candidate(
                    f"actor {len(found)}", outlet="wiki", options={"account": "nym"}, terms=Terms(policy)
                )
                ((receipt,),) = world.send([candidate])
                found.setdefault(deadline, set()).update(ends(world, [receipt])[0])
                world.pass_ticks(1, release=False)

        assert found == {resumes - 9: {resumes}, resumes + 1: {resumes + 1}}

    @pytest.mark.parametrize("late", [0, 1, 40])
    def test_what_arrives_next_does_not_overtake_what_arrived_before(self, new_world, late):
        """However long after its tick the try has failed, and what had arrived meanwhile."""
        world = wiki_world(new_world)
        first = say(world, "first")
        world.pass_ticks(WINDOW + 1 + late, release=False)
        before = say(world, "p1")
        world.pass_ticks(1, release=False)
        lock(world, "nym")
        work(world)
        after = say(world, "p2")
        (start, _), (last, _), (new, _) = ends(world, [first, before, after])

        assert start == lockout(world)["until"]
        assert new - last == 1  # as they arrived

    # --- a long outage ------------------------------------------------------------------------------

    def test_in_a_long_outage_posts_that_arrive_push_nobody(self, new_world):
        """All moves by the time it was locked out; nobody knocks in between; first come is first."""
        world = wiki_world(new_world)
        first = shut_out(world)
        begun, knocks, receipts = lockout(world)["since"], count_logins(world), [first]
        doors = {lockout(world)["until"]}
        while world.closed - begun < OUTAGE:
            world.clock.sleep(min(EVERY, lockout(world)["until"] - world.closed))
            world.close()
            world.releaser.release()
            receipts.append(say(world, f"p{len(receipts)}"))
            doors.add(lockout(world)["until"])
        end = lockout(world)["until"]
        releases = [early for early, _ in ends(world, receipts)]

        assert ends(world, [first]) == [(end, end)]  # it was due when the outage began
        assert end - begun <= OUTAGE + EVERY + LEAST * 3 // 2  # it ends after the last try
        assert set(knocks) <= doors
        assert len(knocks) == len(doors) - 1 <= OUTAGE // LEAST
        assert releases == sorted(releases)
        assert releases[-1] - end <= WINDOW + len(doors)  # of ticks at which a door was found shut

    def test_when_it_is_over_it_is_forgotten(self, new_world):
        """What arrives later waits for nothing, and no row is left."""
        world = wiki_world(new_world)
        shut_out(world)
        lock(world)
        world.clock.sleep(float(lockout(world)["resumes"] - world.closed))
        world.close()
        arrival = world.closed + 1

        assert world.dump("lockouts") == []
        assert say(world, "p1").status.earliest == arrival + WINDOW

    def test_a_restart_does_not_forget_a_lockout(self, new_world):
        """It is written down."""
        world = wiki_world(new_world)
        shut_out(world)
        resumes = lockout(world)["resumes"]
        world.restart()

        assert say(world, "p1").status.earliest == resumes + WINDOW

    def test_a_server_that_asks_for_long_is_left_alone_for_as_long(self, new_world):
        """Twenty hours, if it wants that."""
        world = wiki_world(new_world)
        shut_out(world, wait_s=72_000)

        assert 72_000 <= lockout(world)["until"] - world.closed <= 72_000 + 1800

    # --- what is tried again, or handed in again ----------------------------------------------------

    def parked(self, world, target):
        """A post of the account that a person has to look at."""
        receipt = say(world, target)
        world.outlets["wiki"].troubles = {"nym": Refused("blocked")}
        world.pass_ticks(WINDOW + 1, release=False)
        work(world)
        assert world.gate.status(receipt.secret).state == "parked"
        lock(world)
        return receipt

    def test_what_an_operator_tries_again_meanwhile_moves_nobody_else(self, new_world):
        """It waits for the end of the lockout like the others, and keeps its distance to the next such."""
        world = wiki_world(new_world)
        old = [self.parked(world, "p1"), self.parked(world, "p2")]
        first = shut_out(world)
        other, before = say(world, "p3"), lockout(world)
        world.pass_ticks(WINDOW + 1, release=False)
        told = ends(world, [first, other])
        for each in old:
            world.gate.unpark_post(each.post)
            work(world)
            world.pass_ticks(7, release=False)
        (one, _), (two, _) = ends(world, old)

        assert ends(world, [first, other]) == told
        assert lockout(world) == before
        assert (one >= before["until"], two - one) == (True, 7)

    def test_what_was_parked_for_days_does_not_make_its_account_later_by_days(self, new_world):
        """It is due when it is put back, and not since it was parked."""
        world = wiki_world(new_world)
        old = self.parked(world, "p1")
        world.clock.sleep(3 * 86_400)
        world.close()
        new = say(world, "p2")
        world.pass_ticks(1, release=False)
        world.gate.unpark_post(old.post)
        before = ends(world, [new])
        lock(world, "nym")
        work(world)

        assert LEAST <= moved(before, ends(world, [new]))[0] <= LEAST * 3 // 2

    def test_what_depends_on_a_post_that_is_put_back_is_published_no_earlier(self, new_world):
        """Under no earlier tick than what it depends on."""
        world = wiki_world(new_world)
        parent = say(world, "p1")
        child = say(world, "p1", depends_on=parent.secret)
        world.outlets["wiki"].troubles = {"nym": Refused("blocked")}
        world.pass_ticks(WINDOW + 1, release=False)
        work(world)
        lock(world)
        world.clock.sleep(86_400)
        world.close()
        world.gate.unpark_post(parent.post)
        world.releaser.release()

        assert world.gate.status(parent.secret).state == world.gate.status(child.secret).state == "released"
        assert [at for _, at in world.delivered] == [world.closed] * 2

    @pytest.mark.parametrize("wait", [0, WINDOW + 2])
    def test_who_inherits_from_what_did_not_move_leaves_no_earlier(self, new_world, wait):
        """Of a withdrawn post nothing tells its account; its heir has one, and waits with it."""
        world = wiki_world(new_world)
        gone = [say(world, target, actor="ann") for target in ("p1", "p2")]  # batched
        world.pass_ticks(wait, release=False)
        drawn = ends(world, gone)
        for each in gone:
            world.gate.withdraw(each.secret)
        first = say(world, "first")
        world.fix_release(first.post, world.closed)  # a label that was known early
        lock(world, "nym")
        work(world)
        door = lockout(world)
        heirs = [say(world, target, actor="ann") for target in ("p1", "p2")]

        assert set(moved(drawn, ends(world, heirs))) == {door["until"] - door["since"]}
        assert min(ends(world, heirs))[0] >= door["until"]
        assert [(each.status.earliest, each.status.latest) for each in heirs] == ends(world, heirs)

    def test_the_store_has_nothing_but_a_keyed_hash_of_the_account(self, new_world):
        """And no row of another table has it."""
        world = wiki_world(new_world)
        shut_out(world)
        say(world, "p1")
        name = bytes(lockout(world)["account"])
        tables = ("posts", "arrivals", "ledger")
        values = [value for table in tables for row in world.dump(table) for value in row.values()]

        assert name == world.keys.login("https://wiki.example nym")
        assert name not in [bytes(value) for value in values if isinstance(value, bytes | memoryview)]
