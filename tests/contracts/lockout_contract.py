"""What every store does when one account cannot get in: all that waits for it moves by the same time."""

import threading
from collections.abc import Mapping

import pytest

from contracts.keeping import WINDOW, World, stiff_policy
from tarry.keep.errors import LockedOut, TooLate, Unreachable
from tarry.keep.lockouts import look_for_kin
from tarry.keep.posts import Release, State
from tarry.keep.releaser import LEASE_S, MOST_ATTEMPTS, Releaser
from tarry.testing import ListOutlet

__all__ = ["LockoutContract", "LoginOutlet"]

LEAST = 300  # ticks of a second: five minutes
NO_LOGIN = LockedOut("the wiki refuses this account's login")


class LoginOutlet(ListOutlet):
    """Logs in as the account that a post names; `troubles` says which accounts cannot get in, and why."""

    def __init__(self) -> None:
        super().__init__(delivery="exactly once", batch=1)
        self.troubles: dict[str, Unreachable] = {}

    def account(self, options: Mapping[str, str]) -> str | None:
        """The account, with its place."""
        return f"https://wiki.example {options['account']}" if options.get("account") else None

    def deliver(self, release: Release) -> None:
        """Log in first."""
        if trouble := self.troubles.get(release.options.get("account", "")):
            raise trouble
        super().deliver(release)


def wiki_world(new_world, *arguments, **settings) -> World:
    """A world with two outlets that log in."""
    world = new_world(*arguments, **settings)
    world.outlets |= {"wiki": LoginOutlet(), "other": LoginOutlet()}
    return world


def say(world: World, target: str, account: str | None = "nym", outlet: str = "wiki", **others):
    """Hand in a post of an account; everybody is an actor of their own, so that nothing is batched."""
    options = {} if account is None else {"account": account}
    others = {"actor": f"author of {target}", **others}
    return world.admit(target=target, outlet=outlet, options=options, **others)


def lock(world: World, *accounts: str, wait_s: int = 0) -> None:
    """These accounts, and no others, cannot get in."""
    trouble = LockedOut(str(NO_LOGIN), wait_s=wait_s)
    for name in ("wiki", "other"):
        world.outlets[name].troubles = dict.fromkeys(accounts, trouble)


def ends(world: World, receipts) -> list[tuple[int, int]]:
    """When these posts leave, as their authors are told."""
    found = [world.gate.status(each.secret) for each in receipts]
    return [(status.earliest, status.latest) for status in found]


def moved(before, after) -> list[int]:
    """By how much each moved; both of its moments by the same."""
    shifts = [(new[0] - old[0], new[1] - old[1]) for old, new in zip(before, after, strict=True)]
    assert all(early == late for early, late in shifts)
    return [early for early, _ in shifts]


def go_on(world: World, ticks: int = 12) -> None:
    """The clock jumps to where the next post is to leave; then ticks pass as they do."""
    releases = [row["release"] for row in world.dump("posts") if State(row["state"]).is_on_its_way]
    world.clock.sleep(max(0, min(filter(None, releases)) - world.closed - 2))
    world.close()
    world.pass_ticks(ticks)


def work(world: World, outlet: str = "wiki"):
    """One worker takes one post and tells how it went."""
    claim = world.releaser.claim(outlet)
    world.releaser.mark(claim, world.releaser.deliver(claim))
    return claim


class LockoutContract:
    """Tests of one account's outage; `new_world` comes from `StoreContract`."""

    # --- what moves ---------------------------------------------------------------------------------

    @pytest.mark.parametrize("sealed", [False, True])
    def test_all_that_waits_for_the_account_moves_by_the_same_time(self, new_world, sealed):
        """What is due, to come, and without a label yet, at whichever outlet: all of it, and only that."""
        world = wiki_world(new_world, sealed=sealed)
        due = [say(world, "p1"), say(world, "p2", outlet="other")]
        world.pass_ticks(1, release=False)
        soon = [say(world, "p3"), say(world, "p4", account="bob"), say(world, "p5", outlet="list")]
        world.pass_ticks(WINDOW, release=False)
        pending = [say(world, "p6"), say(world, "p7", account="bob")]
        receipts = [*due, *soon, *pending]
        before, late = ends(world, receipts), world.closed - due[0].status.earliest
        lock(world, "nym")
        work(world)
        ticks, *shifts = moved(before, ends(world, receipts))

        assert late + LEAST <= ticks <= late + LEAST * 3 // 2
        assert shifts == [ticks, ticks, 0, 0, ticks, 0]
        assert before[-2][0] < before[-2][1]  # its label was not known yet
        assert world.releaser.claim("other") is None

    def test_the_other_side_says_how_long_it_wants_to_be_left_alone(self, new_world):
        """The account waits for at least as long, up to half of it more."""
        world = wiki_world(new_world)
        receipt = say(world, "p1")
        world.pass_ticks(WINDOW + 1, release=False)
        lock(world, "nym", wait_s=1000)
        work(world)

        assert 1000 <= ends(world, [receipt])[0][0] - world.closed <= 1500

    def test_when_the_account_gets_in_again_its_posts_leave_as_far_apart_as_drawn(self, new_world):
        """However often the login has failed, they never leave all at once."""
        world = wiki_world(new_world)
        for number in range(4):
            say(world, f"p{number}")
            world.pass_ticks(number + 1, release=False)
        lock(world, "nym")
        for _ in range(3):
            go_on(world)
        lock(world)
        go_on(world)

        assert [target for target, _ in world.delivered] == ["p0", "p1", "p2", "p3"]
        first = world.delivered[0][1]
        assert [at - first for _, at in world.delivered] == [0, 1, 3, 6]

    def test_a_post_without_an_account_moves_alone(self, new_world):
        """An outlet that does not know the account of a post moves nobody else's."""
        world = wiki_world(new_world)
        receipts = [say(world, "p1", account=None), say(world, "p2", account=None)]
        world.pass_ticks(1, release=False)
        receipts.append(say(world, "p3"))
        world.pass_ticks(WINDOW + 1, release=False)
        before = ends(world, receipts)
        lock(world, "")
        post = work(world).posts[0][0]
        shifts = moved(before, ends(world, receipts))

        assert [ticks > 0 for ticks in shifts] == [each.post == post for each in receipts]

    def test_options_that_cannot_be_opened_or_read_stop_nobody(self, new_world):
        """One odd row stays where it is; the others move."""
        world = wiki_world(new_world, sealed=True)
        first = say(world, "p1")
        world.pass_ticks(1, release=False)
        second, strange = say(world, "p2"), say(world, "p3")
        row = world.rows("posts")[first.post]
        with world.store.transaction("working") as transaction:
            transaction.run("replace", id=strange.post, content=row["content"], options=row["options"])
        world.pass_ticks(WINDOW, release=False)
        before = ends(world, [first, second, strange])
        lock(world, "nym")
        work(world)
        shifts = moved(before, ends(world, [first, second, strange]))

        assert (shifts[0], shifts[2]) == (shifts[1], 0)
        assert shifts[0] >= LEAST

    def test_in_a_personal_store_everything_moves(self, new_world):
        """There every account is the same person's."""
        world = wiki_world(new_world, stiff_policy("held"), personal=True)
        first = say(world, "p1")
        world.pass_ticks(1, release=False)
        receipts = [first, say(world, "p2", account="bob"), say(world, "p3", outlet="list")]
        world.pass_ticks(WINDOW, release=False)
        receipts.append(say(world, "p4", outlet="list"))
        before = ends(world, receipts)
        lock(world, "nym")
        work(world)
        shifts = set(moved(before, ends(world, receipts)))

        assert len(shifts) == 1
        assert LEAST <= min(shifts) <= LEAST * 3 // 2 + 1

    # --- what a try is worth ------------------------------------------------------------------------

    def test_a_try_that_did_not_get_in_is_none(self, new_world):
        """It is not counted, and the post is never parked for it; its author may still change it."""
        world = wiki_world(new_world)
        receipt = say(world, "p1")
        lock(world, "nym")
        for _ in range(MOST_ATTEMPTS + 2):
            world.clock.sleep(float(ends(world, [receipt])[0][0] - world.closed + 2))
            world.close()
            work(world)
        row, status = world.rows("posts")[receipt.post], world.gate.status(receipt.secret)

        assert (row["attempts"], row["claim"], row["until"]) == (0, None, None)
        assert (status.state, status.problem) == ("waiting", str(NO_LOGIN))

        world.gate.replace(receipt.secret, b"other")

        assert world.gate.withdraw(receipt.secret).state == "withdrawn"

    def test_other_failures_count_as_before(self, new_world):
        """A try that got in and failed counts, and stays counted when the next one is locked out."""
        world = wiki_world(new_world)
        receipt = say(world, "p1")
        world.pass_ticks(WINDOW + 1, release=False)
        world.outlets["wiki"].troubles = {"nym": Unreachable("not now")}
        work(world)
        world.clock.sleep(1)
        world.releaser.sweep()
        lock(world, "nym")
        claim = work(world)

        assert claim.posts[0][1].attempt == 2
        assert world.rows("posts")[receipt.post]["attempts"] == 1

    def test_what_was_cut_off_before_is_still_not_known(self, new_world):
        """Who was not let in has not looked: the post may have left, and is not changed meanwhile."""
        world = wiki_world(new_world)
        receipt = say(world, "p1")
        world.pass_ticks(WINDOW + 1, release=False)
        world.releaser.claim("wiki")
        world.clock.sleep(LEASE_S)
        world.releaser.sweep()
        lock(world, "nym")
        work(world)
        for change in (world.gate.withdraw, lambda secret: world.gate.replace(secret, b"other")):
            with pytest.raises(TooLate):
                change(receipt.secret)
        lock(world)
        world.clock.sleep(LEAST * 2)
        world.close()

        assert work(world).posts[0][1].attempt == 2

    def test_a_slow_workers_lockout_counts_for_nothing_once_its_claim_is_given_away(self, new_world):
        """It moves nothing and marks nothing."""
        world = wiki_world(new_world)
        say(world, "p1")
        world.pass_ticks(WINDOW + 1, release=False)
        lock(world, "nym")
        claim = world.releaser.claim("wiki")
        outcomes = world.releaser.deliver(claim)
        world.clock.sleep(LEASE_S)
        world.releaser.sweep()
        before = world.dump("posts")
        world.releaser.mark(claim, outcomes)

        assert world.dump("posts") == before

    # --- several workers ----------------------------------------------------------------------------

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_two_that_fail_together_keep_their_distance_and_wait_once(self, new_world, order):
        """Two workers find the same account locked: everything moves as if one had."""
        world = wiki_world(new_world)
        receipts = [say(world, "p1")]
        world.pass_ticks(2, release=False)
        receipts += [say(world, "p2"), say(world, "p3")]
        world.pass_ticks(WINDOW + 1, release=False)
        before = ends(world, receipts)
        lock(world, "nym")
        claims = [world.releaser.claim("wiki") for _ in range(2)]
        outcomes = [world.releaser.deliver(claim) for claim in claims]
        for number in order:
            Releaser(world.vault).mark(claims[number], outcomes[number])
        shifts = moved(before, ends(world, receipts))

        assert len(set(shifts)) == 1
        assert LEAST <= before[0][0] + shifts[0] - world.closed <= LEAST * 3 // 2

    def test_what_another_worker_delivers_meanwhile_leaves_once(self, new_world):
        """It was due and got in: it has left now, and not at the moment to which it was moved."""
        world = wiki_world(new_world)
        receipts = {each.post: each for each in (say(world, "p1"), say(world, "p2"))}
        world.pass_ticks(WINDOW + 1, release=False)
        fails, leaves = [world.releaser.claim("wiki") for _ in range(2)]
        delivered = world.releaser.deliver(leaves)
        lock(world, "nym")
        world.releaser.mark(fails, world.releaser.deliver(fails))
        world.releaser.mark(leaves, delivered)
        status = world.gate.status(receipts[leaves.posts[0][0]].secret)
        lock(world)
        go_on(world)

        assert (status.state, status.latest) == ("released", leaves.posts[0][1].at)
        assert sorted(target for target, _ in world.delivered) == ["p1", "p2"]

    def test_many_workers_in_threads_lose_nothing_and_keep_the_distances(self, new_world):
        """Beside admissions and each other."""
        world = wiki_world(new_world)
        receipts = []
        for number in range(6):
            receipts.append(say(world, f"p{number}"))
            world.pass_ticks(1, release=False)
        world.pass_ticks(WINDOW, release=False)
        before = ends(world, receipts)
        lock(world, "nym")
        workers = [Releaser(world.vault) for _ in range(3)]
        claims = [worker.claim("wiki") for worker in workers]

        def fail(number: int) -> None:
            workers[number].mark(claims[number], workers[number].deliver(claims[number]))
            world.store.close()

        def post() -> None:
            for number in range(5):
                say(world, f"new {number}", account="bob")
            world.store.close()

        tasks = [threading.Thread(target=fail, args=(number,)) for number in range(3)]
        tasks.append(threading.Thread(target=post))
        for task in tasks:
            task.start()
        for task in tasks:
            task.join()

        assert len(set(moved(before, ends(world, receipts)))) == 1
        assert {row["claim"] for row in world.dump("posts")} == {None}

    def test_what_comes_in_between_the_look_and_the_move_moves_too(self, new_world, monkeypatch):
        """All that waits is looked through first: nobody waits for that, and nobody is left behind."""
        world = wiki_world(new_world)
        say(world, "p1")
        world.pass_ticks(WINDOW + 1, release=False)
        late, honest = [], look_for_kin

        def look(*arguments):
            kin = honest(*arguments)
            late.extend([say(world, "p2"), say(world, "p3", account="bob")])
            return kin

        monkeypatch.setattr("tarry.keep.releaser.look_for_kin", look)
        lock(world, "nym")
        work(world)
        shifts = moved([(each.status.earliest, each.status.latest) for each in late], ends(world, late))

        assert shifts[0] >= LEAST
        assert shifts[1] == 0

    # --- families -----------------------------------------------------------------------------------

    def test_a_child_stays_behind_its_parent(self, new_world):
        """Whatever account it has itself: if it is another one it waits for its parent, and no longer."""
        world = wiki_world(new_world)
        parent = say(world, "p1")
        world.pass_ticks(1, release=False)
        follow = {"actor": "author of p1", "depends_on": parent.secret}
        same, other = say(world, "p1", **follow), say(world, "p1", account="bob", **follow)
        beside = say(world, "p2", account="bob")
        world.pass_ticks(WINDOW + 1, release=False)
        before = ends(world, [parent, same, other, beside])
        lock(world, "nym")
        work(world)
        shifts = moved(before, ends(world, [parent, same, other, beside]))

        assert shifts == [shifts[0], shifts[0], shifts[0] - 1, 0]  # a tick later it was drawn

        lock(world)
        world.releaser.release()
        go_on(world)

        assert [target for target, _ in world.delivered] == ["p2", "p1", "p1", "p1"]
        assert world.outlets["wiki"].delivered[1].id == world.keys.public_id(parent.post)

    def test_what_waits_for_a_parked_post_does_not_make_the_others_later(self, new_world):
        """A post that cannot leave is moved, and its age does not count."""
        world = wiki_world(new_world)
        parent = say(world, "p1", outlet="once", account=None)
        child = say(world, "p1", depends_on=parent.secret)
        world.outlets["once"].broken = RuntimeError("it broke")
        world.pass_ticks(WINDOW + 2)
        world.clock.sleep(500)
        world.close()
        late = say(world, "p2")
        world.pass_ticks(WINDOW + 1, release=False)
        before = ends(world, [late, child])
        lock(world, "nym")
        work(world)
        shifts = moved(before, ends(world, [late, child]))

        assert world.gate.status(parent.secret).state == "parked"
        assert shifts[0] == shifts[1] <= LEAST * 3 // 2 + 1

    @pytest.mark.parametrize("fixed", [True, False])
    def test_whoever_inherits_from_a_withdrawn_post_inherits_the_move(self, new_world, fixed):
        """Withdrawing and posting again is no way around the wait, with a label and before it."""
        world = wiki_world(new_world)
        batched = {"actor": "ann"}
        withdrawn = say(world, "p1", **batched)
        kept = say(world, "p1", **batched)
        say(world, "p9", account="bob", **batched)  # makes the batch
        if fixed:
            world.pass_ticks(WINDOW + 1, release=False)
            fails = say(world, "p2")
            world.pass_ticks(WINDOW + 1, release=False)
        else:
            world.fix_release(kept.post, world.closed)  # a label that was known early
            fails = kept
        before = ends(world, [withdrawn, fails])
        world.gate.withdraw(withdrawn.secret)
        lock(world, "nym")
        work(world)
        ticks = ends(world, [fails])[0][0] - before[1][0]
        heir = say(world, "p1", **batched)

        assert ends(world, [heir]) == [(before[0][0] + ticks, before[0][1] + ticks)]

    @pytest.mark.parametrize("by_operator", [True, False])
    def test_the_place_of_a_withdrawn_post_moves_with_its_account(self, new_world, by_operator):
        """Though nothing else waits on its target; whoever fills the place leaves as far apart as drawn."""
        world = wiki_world(new_world)
        fails, gone = say(world, "p2"), say(world, "p1", actor="ann")
        say(world, "p9", account="bob", actor="ann")  # makes the batch
        other = say(world, "p1", account="bob", actor="eve")
        say(world, "p8", account="bob", actor="eve")
        world.pass_ticks(2 * WINDOW + 1, release=False)  # arrivals are erased
        before = ends(world, [fails, gone, other])
        for each in (gone, other):
            if by_operator:
                world.gate.withdraw_post(each.post)
            else:
                world.gate.withdraw(each.secret)
        lock(world, "nym")
        work(world)
        if by_operator:
            world.gate.replace(gone.secret, b"again", {"account": "nym"})
            world.gate.replace(other.secret, b"again", {"account": "bob"})
            after = ends(world, [fails, gone, other])
        else:
            heirs = [say(world, "p1", actor="ann"), say(world, "p1", account="bob", actor="eve")]
            after = ends(world, [fails, *heirs])
        shifts = moved(before, after)

        assert shifts == [shifts[0], shifts[0], 0]
        assert shifts[0] >= LEAST

    # --- crashes ------------------------------------------------------------------------------------

    def test_a_restart_forgets_nothing_of_it(self, new_world):
        """What was moved stays moved, and its problem is told."""
        world = wiki_world(new_world)
        receipt = say(world, "p1")
        world.pass_ticks(WINDOW + 1, release=False)
        lock(world, "nym")
        work(world)
        before = ends(world, [receipt])
        world.restart()

        assert ends(world, [receipt]) == before
        assert world.gate.status(receipt.secret).problem == str(NO_LOGIN)
        assert world.releaser.claim("wiki") is None
