"""Accounts that cannot get in for a while, several workers, and what must hold whatever they do.

Ticks close on time here, so that in a store of many nothing but an account's outage moves a release. After
each step the moments that authors are told are compared with those before it, and of one account's posts
the ticks that they count from with their arrivals: the order stays, and no distance grows.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from contracts.keeping import World
from contracts.lockout_contract import LoginOutlet
from tarry.core.entropy import Seeded
from tarry.core.policy import Policy
from tarry.core.release import Draws
from tarry.keep.errors import LockedOut, TooLate
from tarry.keep.posts import Receipt, prospect_of
from tarry.keep.releaser import Claim, Releaser
from tarry.keep.store import Store

if TYPE_CHECKING:
    from tarry.keep.releaser import Outcome

__all__ = ["LockoutMachine"]

ACCOUNTS, OUTLETS, TARGETS = ("nym", "nemo"), ("wiki", "other"), ("p1", "p2", "p3")
MINUTE = 60  # a tick
LEAST = 5  # ticks that an account waits
SOME = st.integers(0, 10**6)


@dataclass(eq=False)
class Told:
    """A post that waits, and what its author was told."""

    receipt: Receipt
    account: str
    first: int  # the earliest moment there was for it
    ends: tuple[int, int]  # the moments of which it is one now
    arrival: int | None = None  # None: it has inherited from another
    counts: int = 0  # the tick from which its delay is counted now
    release: int | None = None

    def moved(self, ends: tuple[int, int]) -> set[int]:
        """By how much it may have moved: both moments alike, or to the one that its label has chosen."""
        early, late = ends[0] - self.ends[0], ends[1] - self.ends[1]
        assert early == late or ends[0] == ends[1], "one of two moments changed without the other"
        return {early, late}


class LockoutMachine(RuleBasedStateMachine):
    """A subclass says, in `new_store`, how an empty store is made and found again."""

    new_store: Callable[[], Callable[[], Store]]
    kinds = (("held", False), ("held", True), ("follower", False))  # labels, and whether it is one person's

    @initialize(data=st.data(), sealed=st.booleans())
    def found(self, data, sealed):
        """A store of some kind begins."""
        labels, personal = data.draw(st.sampled_from(self.kinds), label="kind")
        policy = Policy(epsilon="1", labels=labels, gap="8m", window="3m", tick="1m")
        self.world = World(type(self).new_store(), policy, personal=personal, sealed=sealed)
        self.world.outlets |= {name: LoginOutlet() for name in OUTLETS}
        self.personal, self.number, self.draws = personal, 0, Seeded(1).stream("all", "draws", 0)
        self.posts: dict[int, Told] = {}
        self.claims: list[tuple[Claim, list[Outcome] | None]] = []
        self.locked: set[str] = set()  # accounts that a worker has found locked since the last look
        self.lost: Counter[int] = Counter()  # posts whose worker has died

    def _pick(self, things, number):
        return things[number % len(things)]

    # --- authors ------------------------------------------------------------------------------------

    @rule(account=st.sampled_from(ACCOUNTS), outlet=st.sampled_from(OUTLETS), on=st.sampled_from(TARGETS))
    def post(self, account, outlet, on):
        """The person behind an account posts; perhaps what they have withdrawn before."""
        self.number += 1
        wanted = {"options": {"account": account}, "secret": f"{self.number:064x}", "entropy": self.draws}
        ((receipt,),) = self.world.send([self.world.candidate(account, on, outlet, **wanted)])
        ends = (receipt.status.earliest, receipt.status.latest)
        self.posts[receipt.post] = told = Told(receipt, account, ends[0], ends)
        row, tick = self.world.rows("arrivals").get(receipt.post), self.world.closed + 1
        if row is not None and row["arrival"] == tick:
            settings, draws = self.world.vault.settings, Draws(row["unbatched"], row["batched"])
            delay = prospect_of(tick, draws, row["label"], settings, None).earliest - tick
            told.arrival, told.counts = tick, ends[0] - delay
            told.release = self.world.rows("posts")[receipt.post]["release"]
            door = self._door(account)
            assert told.counts == max(tick, door["resumes"] if door else 0)
        assert ends[0] >= self._shut_until(account), "it is to leave while its account is locked out"

    def _door(self, account):
        """The lockout that the store knows of."""
        name = self.world.keys.login("" if self.personal else f"https://wiki.example {account}")
        return next((row for row in self.world.dump("lockouts") if bytes(row["account"]) == name), None)

    def _shut_until(self, account) -> int:
        door = self._door(account)
        return door["until"] if door and door["until"] > self.world.closed else 0

    @precondition(lambda self: self.posts)
    @rule(number=SOME)
    def withdraw(self, number):
        """An author takes a post back, unless it may have left."""
        told = self._pick(list(self.posts.values()), number)
        try:
            self.world.gate.withdraw(told.receipt.secret)
        except TooLate:
            return
        assert not self.lost[told.receipt.post], "a post that may have left was withdrawn"
        del self.posts[told.receipt.post]

    # --- time and troubles --------------------------------------------------------------------------

    @rule(ticks=st.integers(1, 12))
    def keep_time(self, ticks):
        """Ticks go by, and each closes on time; what dead workers held comes back."""
        for _ in range(ticks):
            self.world.clock.sleep(MINUTE)
            self.world.close()
            self.world.releaser.sweep([claim.token for claim, _ in self.claims])
            # In a personal store what is due and has not left holds up the rest.
            self.look(may_move=self.personal)

    @rule(account=st.sampled_from(ACCOUNTS), wait_s=st.sampled_from((None, None, 0, 60, 500)))
    def trouble(self, account, wait_s):
        """An account cannot get in, or can again."""
        for name in OUTLETS:
            troubles = self.world.outlets[name].troubles
            troubles.pop(account, None)
            if wait_s is not None:
                troubles[account] = LockedOut("no", wait_s=wait_s)

    # --- workers ------------------------------------------------------------------------------------

    @rule(outlet=st.sampled_from(OUTLETS))
    def claim(self, outlet):
        """A worker takes a post, which must be due."""
        if (claim := self.world.releaser.claim(outlet)) is not None:
            assert all(release.at <= self.world.closed * MINUTE for _, release in claim.posts)
            accounts = [release.options["account"] for _, release in claim.posts]
            assert not any(map(self._shut_until, accounts)), "somebody knocks before the time"
            self.claims.append((claim, None))

    @precondition(lambda self: self.claims)
    @rule(number=SOME)
    def deliver(self, number):
        """A worker delivers, if it has not yet; nothing leaves before the moment it was given first."""
        place = number % len(self.claims)
        claim, outcomes = self.claims[place]
        if outcomes is None:
            outcomes = self.world.releaser.deliver(claim)
            self.claims[place] = (claim, outcomes)
        for outcome, (post, release) in zip(outcomes, claim.posts, strict=True):
            assert post not in self.posts or release.at >= self.posts[post].first * MINUTE
            assert outcome.problem or self._deliveries(release.id) <= 1 + self.lost[post]

    def _deliveries(self, public_id) -> int:
        delivered = [release for name in OUTLETS for release in self.world.outlets[name].delivered]
        return sum(release.id == public_id for release in delivered)

    @precondition(lambda self: any(outcomes is not None for _, outcomes in self.claims))
    @rule(number=SOME)
    def mark(self, number):
        """A worker tells how it went."""
        self._mark(self._pick([each for each in self.claims if each[1] is not None], number))

    def _mark(self, each):
        self.claims.remove(each)
        claim, outcomes = each
        before, accounts = self.world.rows("posts"), {post: r.options["account"] for post, r in claim.posts}
        doors = {post: self._door(account) for post, account in accounts.items()}
        Releaser(self.world.vault, self.draws).mark(claim, outcomes)
        after = self.world.rows("posts")
        for outcome in outcomes:
            if outcome.locked_s is not None:
                row = after[outcome.post]
                assert row["attempts"] == before[outcome.post]["attempts"] - 1
                old, new = doors[outcome.post], self._door(accounts[outcome.post])
                assert row["release"] >= new["until"]
                if old is not None and old["until"] > self.world.closed:
                    assert new == old, "who knocks while the door is known to be shut has moved it"
                else:
                    least = max(LEAST, -(-outcome.locked_s // MINUTE))
                    assert least <= new["until"] - self.world.closed <= least * 3 // 2 + 1
                    self.locked.add(self.posts[outcome.post].account)

    @rule(outlet=st.sampled_from(OUTLETS), workers=st.integers(1, 3))
    def work(self, outlet, workers):
        """Some workers beside each other take what is due and tell how it went, the last one first."""
        mine = len(self.claims)
        for _ in range(workers):
            self.claim(outlet)
        for number in range(mine, len(self.claims)):
            self.deliver(number)
        for each in reversed(self.claims[mine:]):
            self._mark(each)

    @rule(account=st.sampled_from(ACCOUNTS), outlet=st.sampled_from(OUTLETS), cut_off=st.booleans())
    def meet_a_shut_door(self, account, outlet, cut_off):
        """Something has fallen due, perhaps for a worker that died; more came; the account is locked."""
        self.trouble(account, None)
        self.post(account, outlet, "p1")
        for _ in range(40):
            before = len(self.claims)
            self.claim(outlet)
            if len(self.claims) > before:
                break
            self.keep_time(1)
        if cut_off and self.claims:
            self.die(len(self.claims) - 1)
            self.keep_time(1)
        self.post(account, outlet, "p2")
        self.trouble(account, 0)
        self.work(outlet, 2)
        self.look(may_move=False)
        self.post(account, outlet, "p3")

    @precondition(lambda self: self.claims)
    @rule(number=SOME)
    def die(self, number):
        """A worker dies, before its delivery or after it."""
        each = self._pick(self.claims, number)
        self.claims.remove(each)
        self.lost.update(post for post, _ in each[0].posts)

    @rule()
    def crash(self):
        """Everything in memory is gone."""
        while self.claims:
            self.die(0)
        self.world.restart()

    # --- what must hold -------------------------------------------------------------------------------

    @invariant()
    def only_outages_move_releases(self):
        """Nothing moves but what waits for a locked account, and that by the same time."""
        self.look(may_move=False)

    def look(self, *, may_move):
        """Compare what authors are told with what they were told before."""
        moves: dict[str, list[set[int]]] = {}
        for post, told in list(self.posts.items()):
            status = self.world.gate.status(told.receipt.secret)
            assert status.state != "parked", status.problem
            if status.state != "waiting":
                del self.posts[post]
                continue
            ends = (status.earliest, status.latest)
            moves.setdefault("all" if self.personal else told.account, []).append(told.moved(ends))
            told.ends = ends
        self._keep_count()
        locked = {"all"} if self.personal and self.locked else self.locked
        for account, found in moves.items():
            by = max(set.intersection(*found), default=-1)
            assert by >= 0, "the distances between releases of one account have changed"
            assert by == 0 or may_move or account in locked or 0 in set.intersection(*found)
        self.locked = set()

    def _keep_count(self):
        """From which ticks delays are counted: never further apart than arrivals, nor in another order."""
        rows, arrivals = self.world.rows("posts"), self.world.rows("arrivals")
        clocks: dict[str, list[Told]] = {}
        for post, told in self.posts.items():
            if told.arrival is None:
                continue
            release = rows[post]["release"]
            if told.release is None:  # it has waited for its label until now
                told.counts = told.arrival + arrivals[post]["shift"]
            else:
                told.counts += release - told.release
            told.release = release
            clocks.setdefault("all" if self.personal else told.account, []).append(told)
        for each in clocks.values():
            each.sort(key=lambda told: told.arrival)
            for first, second in pairwise(each):
                apart = second.counts - first.counts
                assert 0 <= apart <= second.arrival - first.arrival, "what arrived later is overtaking"

    # --- the end --------------------------------------------------------------------------------------

    def teardown(self):
        """Everybody gets in again, and everything leaves."""
        if not hasattr(self, "world"):
            return
        try:
            self.crash()
            for name in OUTLETS:
                self.world.outlets[name].troubles = {}
            for _ in range(200):
                if not self.posts:
                    break
                self.keep_time(1)
                for outlet in OUTLETS:
                    self.work(outlet, 3)
                self.look(may_move=False)
            assert not self.posts, "a post was left waiting"
        finally:
            self.world.leave()
