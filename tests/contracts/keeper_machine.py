"""A keeper under everything that can happen to it, beside a model of what it ought to do.

Posts come, change and go; clocks jump; workers die at every point; outlets fail; the process crashes. After
each step the tables are compared with the model, row by row; in the end everything must have left.
"""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from contracts.keeper_model import HOUR, Entry, Event, KeeperModel
from contracts.keeping import World, lively_policy, season_policy
from contracts.policies import SEASON_RULES
from tarry.core.entropy import Seeded
from tarry.core.policy import LABEL_RULES, Policy
from tarry.core.release import Draws
from tarry.keep.errors import AlreadyUsed, Refused, TooLate, Unreachable
from tarry.keep.gate import Gate
from tarry.keep.posts import Receipt
from tarry.keep.releaser import LEASE_S, Claim, Releaser
from tarry.keep.sharing import Snapshot
from tarry.keep.store import Store, last_past_tick, now_tick

if TYPE_CHECKING:
    from tarry.keep.releaser import Outcome

__all__ = ["KeeperMachine", "Low"]

ACTORS, TARGETS, OUTLETS = ("ann", "bob"), ("p1", "p2", "p3"), ("list", "once")
TROUBLES = {
    "none": None,
    "away": Unreachable("not now"),
    "refusal": Refused("never"),
    "no answer": Unreachable("it hung up", sent=True),
}
SOME = st.integers(0, 10**6)


class Low:
    """The shortest retry, always: the model knows it."""

    def randbelow(self, n: int, /) -> int:
        """Nothing."""
        return 0


class KeeperMachine(RuleBasedStateMachine):
    """A subclass says, in `new_store`, how an empty store is made and found again."""

    new_store: Callable[[], Callable[[], Store]]
    label_rules: tuple[str, ...] = LABEL_RULES

    @initialize(data=st.data(), personal=st.booleans())
    def found(self, data, personal):
        """A store of some kind begins."""
        policy = self.policy(data)
        self.world = World(type(self).new_store(), policy, personal=personal)
        self.model = KeeperModel(policy, personal=personal, closed=self.world.closed)
        self.draws = Seeded(1).stream("all", "draws", 0)
        self.claims: list[tuple[Claim, list[Outcome] | None, dict[int, int]]] = []
        self.requests: list[list[dict]] = []  # all that were ever accepted
        self.contents = 0
        self._enter()

    def policy(self, data) -> Policy:
        """With a law for one pair or for a season: draws that may be told to their author, or not."""
        labels = data.draw(st.sampled_from(self.label_rules), label="labels")
        season = labels in SEASON_RULES and data.draw(st.booleans(), label="season")
        return season_policy(labels) if season else lively_policy(labels)

    def _enter(self):
        self.world.gate = Gate(self.world.vault, self.world.policy, self.draws)
        self.world.releaser = Releaser(self.world.vault, Low())

    def _pick(self, entries, number):
        return entries[number % len(entries)]

    @property
    def entries(self) -> list[Entry]:
        """Posts in the order in which they came."""
        return list(self.model.entries.values())

    # --- authors ------------------------------------------------------------------------------------

    @rule(
        who=st.sampled_from(ACTORS),
        on=st.sampled_from(TARGETS),
        outlet=st.sampled_from(OUTLETS),
        more=st.booleans(),
        follow=st.one_of(st.none(), SOME),
    )
    def admit(self, who, on, outlet, more, follow):
        """Somebody posts; now and then it depends on another post."""
        mine = [e for e in self.entries if self._may_follow(e, who, on)]
        parent = None if follow is None or not mine else self._pick(mine, follow)
        self._admit([(who, on, outlet, more, parent)])

    @rule(
        actor=st.sampled_from(ACTORS),
        first=st.sampled_from(TARGETS),
        second=st.sampled_from(TARGETS),
        requests=st.integers(1, 2),
    )
    def admit_two(self, actor, first, second, requests):
        """Somebody posts twice at once, in one request or in two."""
        asked = [(actor, first, "list", False, None), (actor, second, "once", False, None)]
        self._admit(*([asked] if requests == 1 else [[each] for each in asked]))

    @rule(actor=st.sampled_from(ACTORS), apart=st.integers(1, 5))
    def admit_apart(self, actor, apart):
        """Somebody posts on two targets, about a window apart."""
        self._admit([(actor, "p1", "list", False, None)])
        self.keep_time(apart)
        self._admit([(actor, "p2", "list", False, None)])

    @precondition(lambda self: any(e.state == "withdrawn" for e in self.entries))
    @rule(number=SOME)
    def repost(self, number):
        """Somebody posts again what they have withdrawn."""
        old = self._pick([e for e in self.entries if e.state == "withdrawn"], number)
        self._admit([(old.actor, old.target, old.outlet, True, None)])

    def _may_follow(self, entry, actor, target) -> bool:
        own = entry.state == "waiting" and (entry.actor, entry.target) == (actor, target)
        return own or entry.state == "released"

    def _admit(self, *asked):
        now = self.world.now
        requests = [[self._post(*each) for each in request] for request in asked]
        answers = self.world.send(*map(self._candidates, requests))
        self.requests += requests
        self._catch_up(now, closing=self.model.personal)
        arrivals = self.world.rows("arrivals")
        for request, answer, parents in zip(requests, answers, asked, strict=True):
            for post, receipt, (*_, parent) in zip(request, answer, parents, strict=True):
                self._note(post, receipt, parent, arrivals, now)

    def _post(self, actor, target, outlet, more, parent) -> dict:
        self.contents += 1
        return {
            "actor": actor,
            "target": target,
            "outlet": outlet,
            "content": b"%d" % self.contents,
            "more_to_come": more,
            "depends_on": parent and parent.secret,
            "secret": f"{self.contents:064x}",
            "body": b"request %d" % self.contents,
        }

    def _candidates(self, request):
        return [self.world.candidate(**post, entropy=self.draws) for post in request]

    def _note(self, post: dict, receipt: Receipt, parent, arrivals, now):
        event, who, on = None, post["actor"], post["target"]
        if not self.model.inherits(who, on):
            row = arrivals[receipt.post]
            draws = Draws(row["unbatched"], row["batched"])
            event = Event(who, on, row["arrival"], draws, post["more_to_come"])
        waits = parent if parent is not None and parent.state == "waiting" else None
        entry = Entry(receipt.post, post["secret"], who, on, post["outlet"], post["content"], event, waits)
        self.model.admit(entry, now_tick(now, self.world.policy.tick))
        status = receipt.status
        assert (status.state, (status.earliest, status.latest)) == ("waiting", self.model.prospect(entry))

    @precondition(lambda self: self.requests)
    @rule(number=SOME, same=st.booleans())
    def send_again(self, number, same):
        """A request comes once more, as it was or as another one under its key."""
        now, request = self.world.now, self._pick(self.requests, number)
        again = request if same else [{**post, "body": b"another"} for post in request]
        (answer,) = self.world.send(self._candidates(again))
        self._catch_up(now, closing=self.model.personal)
        assert isinstance(answer, list if same else AlreadyUsed)
        for post, receipt in zip(request if same else (), answer if same else (), strict=True):
            entry, status = self.model.entries[receipt.post], receipt.status
            assert receipt.secret == entry.secret == post["secret"]
            assert status.state == entry.state
            assert entry.state != "waiting" or (status.earliest, status.latest) == self.model.prospect(
                entry
            )

    @precondition(lambda self: self.model.entries)
    @rule(number=SOME)
    def replace(self, number):
        """An author changes what will be said."""
        entry = self._pick(self.entries, number)
        self.contents += 1
        content = b"%d" % self.contents
        if self.model.changeable(entry):
            self.world.gate.replace(entry.secret, content)
            entry.content = content
        elif entry.state != "parked":
            self._too_late(lambda: self.world.gate.replace(entry.secret, content))

    @precondition(lambda self: self.model.entries)
    @rule(number=SOME)
    def withdraw(self, number):
        """An author takes a post back."""
        entry = self._pick(self.entries, number)
        if self.model.changeable(entry) or entry.state == "parked":
            assert self.world.gate.withdraw(entry.secret).state == "withdrawn"
            self.model.withdraw(entry)
        else:
            self._too_late(lambda: self.world.gate.withdraw(entry.secret))

    def _too_late(self, change):
        try:
            change()
        except TooLate:
            return
        raise AssertionError("a post that has left was changed")

    @precondition(lambda self: not self.model.personal and any(e.state == "parked" for e in self.entries))
    @rule(number=SOME)
    def unpark(self, number):
        """A person puts a parked post back."""
        entry = self._pick([e for e in self.entries if e.state == "parked"], number)
        self.world.gate.unpark_post(entry.id)
        self.model.unpark(entry)

    # --- time ---------------------------------------------------------------------------------------

    @rule(milliseconds=st.integers(1, 3000), close=st.booleans())
    def pass_time(self, milliseconds, close):
        """A moment goes by."""
        self.world.clock.sleep(milliseconds / 1000)
        if close:
            self.close()

    @rule(ticks=st.integers(1, 8))
    def keep_time(self, ticks):
        """Ticks go by, and each closes on time."""
        for _ in range(ticks):
            self.world.clock.sleep(15 / 16)
            self.close()

    @rule(seconds=st.one_of(st.integers(4, 40), st.just(HOUR)))
    def sleep_long(self, seconds):
        """The machine sleeps: ticks are missed."""
        self.world.clock.sleep(seconds)

    @rule(seconds=st.sampled_from((-3600, -30, -2, 2, 30, 3600)))
    def set_wall(self, seconds):
        """Somebody sets the wall clock."""
        self.world.clock.set_wall(seconds)

    @rule(seconds=st.integers(-10, 30), number=SOME)
    def reboot(self, seconds, number):
        """The machine starts anew, and comes back with another time."""
        self.world.clock.reboot(f"boot {number}")
        self.world.clock.set_wall(seconds)
        self.crash()

    @rule()
    def close(self):
        """The keeper closes what lies in the past."""
        now = self.world.now
        self.world.close()
        self._catch_up(now, closing=True)

    def _catch_up(self, now, *, closing):
        before, closed = self.model.closed, self.world.closed
        past = last_past_tick(now, self.world.policy.tick)
        assert closed == (max(before, past) if closing else before)
        self.model.close(closed)

    # --- workers ------------------------------------------------------------------------------------

    @rule(outlet=st.sampled_from(OUTLETS), trouble=st.sampled_from(sorted(TROUBLES)))
    def trouble(self, outlet, trouble):
        """An outlet fails, or works again."""
        self.world.outlets[outlet].broken = TROUBLES[trouble]

    @rule(outlet=st.sampled_from(OUTLETS))
    def claim(self, outlet):
        """A worker takes what is due, and exactly that."""
        now, due = self.world.now, self.model.due(outlet)
        claim = self.world.releaser.claim(outlet)
        taken = [post for post, _ in claim.posts] if claim else []
        assert taken == [entry.id for entry in due]
        if claim is not None:
            self.model.claim(due, claim.token, now)
            self.claims.append((claim, None, {entry.id: entry.release for entry in due}))

    @precondition(lambda self: self.claims)
    @rule(number=SOME)
    def deliver(self, number):
        """A worker delivers, if it has not yet."""
        place = number % len(self.claims)
        claim, outcomes, releases = self.claims[place]
        if outcomes is None:
            before = {name: len(outlet.delivered) for name, outlet in self.world.outlets.items()}
            outcomes = self.world.releaser.deliver(claim)
            self.claims[place] = (claim, outcomes, releases)
            self._check_delivered(claim, before[claim.outlet], releases)

    def _check_delivered(self, claim, before, releases):
        posts = {release.id: post for post, release in claim.posts}
        for release in self.world.outlets[claim.outlet].delivered[before:]:
            entry = self.model.entries[posts[release.id]]
            entry.deliveries += 1
            assert release.id == self.world.keys.public_id(entry.id)
            assert (release.target, int(release.at)) == (entry.target, releases[entry.id])
            assert release.at <= self.model.closed
            doubles = entry.put_back if entry.outlet == "once" else entry.put_back + entry.lapses
            assert entry.deliveries <= 1 + doubles, "delivered twice though nothing was cut off"

    @precondition(lambda self: any(outcomes is not None for _, outcomes, _ in self.claims))
    @rule(number=SOME)
    def mark(self, number):
        """A worker writes down how its deliveries ended."""
        self._mark(self._pick([each for each in self.claims if each[1] is not None], number))

    def _mark(self, each):
        claim, outcomes, _ = each
        self.claims.remove(each)
        now = self.world.now
        self.world.releaser.mark(claim, outcomes)
        self.model.mark(claim.token, outcomes, now)

    @rule()
    def work(self):
        """A worker does all that it can."""
        for outlet in OUTLETS:
            while self.model.due(outlet):
                self.claim(outlet)
                self.deliver(len(self.claims) - 1)
                self._mark(self.claims[-1])

    @precondition(lambda self: self.claims)
    @rule(number=SOME)
    def die(self, number):
        """A worker dies, before its deliveries or after them."""
        self.claims.remove(self._pick(self.claims, number))

    @precondition(lambda self: self.claims)
    @rule(number=SOME)
    def renew(self, number):
        """A worker keeps its claim."""
        token = self._pick(self.claims, number)[0].token
        self.world.releaser.renew(token)
        for entry in self.entries:
            if entry.claim == token and entry.until is not None and entry.state == "waiting":
                entry.until = self.world.now + 10_000_000

    @rule()
    def sweep(self):
        """What dead workers held comes back."""
        now = self.world.now
        self.world.releaser.sweep()
        self.model.sweep(now)

    @rule(outlet=st.sampled_from(OUTLETS), tells=st.booleans())
    def fall_behind(self, outlet, tells):
        """A worker delivers and takes too long to say so: its claim is given away; then it may speak."""
        self.await_due(outlet)
        if self.model.due(outlet):
            self.claim(outlet)
            self.deliver(len(self.claims) - 1)
            self.world.clock.sleep(LEASE_S * 16 / 15)
            self.sweep()
            if tells:
                self._mark(self.claims[-1])

    def await_due(self, outlet):
        """Ticks close on time until there is something to do for an outlet, if there ever will be."""
        mine = [e for e in self.entries if e.outlet == outlet and e.state == "waiting" and e.parent is None]
        for _ in range(20 if mine else 0):
            if self.model.due(outlet):
                break
            self.keep_time(1)

    @rule()
    def crash(self):
        """Everything in memory is gone."""
        self.claims = []
        self.world.restart()
        self._enter()

    # --- what must hold -------------------------------------------------------------------------------

    @invariant()
    def arrivals_match(self):
        """Stored arrivals, draws and labels are those of the model; what no label needs is gone."""
        labels = self.model.labels()
        expected = {
            post: {
                "actor": self.world.keys.actor(event.actor),
                "pseudonym": self.world.keys.pseudonym(event.actor, event.target),
                "arrival": event.arrival,
                "unbatched": event.draws.unbatched,
                "batched": event.draws.batched,
                "label": self.model.known_label(event, labels),
            }
            for post, event in self.model.living_events().items()
        }
        rows = self.world.rows("arrivals")
        assert {post: {name: row[name] for name in expected[post]} if post in expected else row
                for post, row in rows.items()} == expected  # fmt: skip

    @invariant()
    def posts_match(self):
        """Stored states, release ticks and claims are those of the model."""
        expected = {
            entry.id: (
                entry.stored,
                entry.release,
                entry.parent and entry.parent.id,
                entry.claim,
                entry.until,
                entry.attempts,
                entry.problem,
                entry.content if entry.state in ("waiting", "parked") else None,
                entry.state in ("waiting", "parked"),
            )
            for entry in self.entries
        }
        found = {
            post: (
                *(row[name] for name in ("state", "release", "parent", "claim", "until", "attempts")),
                row["problem"] is not None,
                row["content"],
                row["pseudonym"] is not None,
            )
            for post, row in self.world.rows("posts").items()
        }
        assert found == expected, (found, expected)

    @invariant()
    def legacies_match(self):
        """What may be inherited is known by its pseudonym, and no longer than it lives."""
        expected = {
            entry.id: self.world.keys.pseudonym(entry.actor, entry.target)
            for entry in self.entries
            if entry.state == "withdrawn" and entry.heritable and self.model.is_alive(entry)
        }
        assert {post: row["pseudonym"] for post, row in self.world.rows("legacies").items()} == expected

    @invariant()
    def snapshot_matches(self):
        """The snapshot that a connection remembers is what its rows tell."""
        with self.world.store.transaction("reading") as transaction:
            said, row = transaction.snapshot(), transaction.one("snapshot")
        assert said._replace(now=None) == Snapshot.of(row)._replace(now=None)

    @invariant()
    def ledger_matches(self):
        """Batched acts are counted once, when they are erased."""
        expected: dict[bytes, int] = {}
        living = set(self.model.living_events().values())
        for event, batched in self.model.labels().items():
            if batched and event not in living:
                account = self.world.keys.account(self.world.keys.actor(event.actor))
                expected[account] = expected.get(account, 0) + 1
        assert {bytes(row["account"]): row["batched"] for row in self.world.dump("ledger")} == expected

    @invariant()
    def hours_match(self):
        """Where many share a store, arrivals are counted by the hour when they are erased."""
        living = set(self.model.living_events().values())
        gone = Counter(event.arrival // HOUR for event in self.model.events if event not in living)
        found = {row["hour"]: row["arrivals"] for row in self.world.dump("hours")}
        assert found == ({} if self.model.personal else gone)

    @invariant()
    def outlook_matches(self):
        """It shows what waited when the last hour ended."""
        rows = self.world.dump("outlook")
        assert {(row["outlet"], row["hour"]): row["posts"] for row in rows} == self.model.outlook

    # --- the end --------------------------------------------------------------------------------------

    def teardown(self):
        """Run the clock until nothing can be waiting any more."""
        if not hasattr(self, "world"):
            return
        try:
            self.drain()
        finally:
            self.world.leave()

    def drain(self):
        """All workers die, all outlets work, time goes by."""
        self.claims = []
        for outlet in self.world.outlets.values():
            outlet.broken = None
        ends = [self.model.prospect(entry)[1] for entry in self.entries if entry.state == "waiting"]
        ahead = max([0, *(end - self.model.closed for end in ends)])
        # A gateway may sleep; a personal store would move everything by as much: there ticks close in turn.
        steps, seconds = (20 + ahead * 16 // 15, 15 / 16) if self.model.personal else (12, 20 + ahead / 4)
        for _ in range(steps):
            self.world.clock.sleep(seconds)
            self.close()
            self.sweep()
            self.work()
        self.arrivals_match()
        self.posts_match()
        self.ledger_matches()
        for entry in self.entries:
            assert entry.state != "waiting" or held_up(entry), "a post was left waiting"
            assert entry.deliveries >= (entry.state == "released"), "a post is lost"


def held_up(entry: Entry) -> bool:
    """Whether a parked post stands before this one."""
    above = entry.parent
    return above is not None and (above.state == "parked" or (above.state == "waiting" and held_up(above)))
