"""One store with everything around it, and laws so stiff that each release can be told beforehand."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from contracts.policies import policy_with
from tarry.core.entropy import Entropy, Secure
from tarry.core.errors import TarryError
from tarry.core.law import Law
from tarry.core.mechanism import Ask, Family, LawPair
from tarry.core.policy import LABEL_RULES, LabelRule, Policy
from tarry.keep.admission import Candidate, Terms, accept, prepare
from tarry.keep.closing import Closed, close_ticks
from tarry.keep.errors import Unavailable
from tarry.keep.gate import Gate
from tarry.keep.keys import Keys
from tarry.keep.posts import TRANSITIONS, Post, Receipt
from tarry.keep.releaser import Releaser
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.store import Store, Transaction, Vault, snapshot
from tarry.testing import ListOutlet, ManualClock

__all__ = [
    "ARROWS",
    "BATCHED",
    "SEEN_CHANGES",
    "UNBATCHED",
    "WINDOW",
    "World",
    "as_long_as",
    "lively_policy",
    "loose",
    "loose_policy",
    "season_policy",
    "stiff_policy",
]

#: Every change of a post's state that may happen, and those that have happened in this process.
ARROWS = {(old, new) for old, news in TRANSITIONS.items() for new in news}
SEEN_CHANGES: set[tuple[str, str]] = set()

WINDOW = 3
_GAP = 8
#: Ticks from arrival to release under the stiff laws: the hold, and then no delay or all of it.
UNBATCHED: dict[LabelRule, int] = {"held": 3, "declared": 0, "follower": 0, "simultaneous": 0, "none": 4}
BATCHED: dict[LabelRule, int] = {"held": 14, "declared": 11, "follower": 8, "simultaneous": 8, "none": 4}


def as_long_as(condition: Callable[[], object], most: int = 10_000) -> Iterator[None]:
    """A loop that goes on while this holds, and fails rather than go on for ever."""
    for _ in range(most):
        if not condition():
            return
        yield
    raise AssertionError(f"it still holds after {most} times")


def _stiff(ask: Ask) -> LawPair:
    """Unbatched acts leave at once, batched ones where batched delays begin."""
    later = Law.of_masses([0] * ask.start + [1])
    return LawPair(batched=later, unbatched=Law.of_masses([1]), start=ask.start)


def _stiff_and_label_free(ask: Ask) -> LawPair:
    law = Law.of_masses([0] * UNBATCHED["none"] + [1])
    return LawPair(batched=law, unbatched=law, start=ask.start)


def loose(ask: Ask) -> LawPair:
    """Both labels draw for themselves, and may draw the same: 0 to G + 4 ticks, or most often G."""
    unbatched = Law.of_masses([Fraction(1, ask.start + 5)] * (ask.start + 5))
    batched = Law.of_masses([0] * ask.start + [Fraction(1, 2)] + [Fraction(1, 8)] * 4)
    return LawPair(batched=batched, unbatched=unbatched, start=ask.start)


def stiff_policy(labels: LabelRule = "held", **others: object) -> Policy:
    """A policy whose draws are always the same, in ticks of a second."""
    law = _stiff_and_label_free if labels == "none" else _stiff
    return _policy(labels, law=law, **others)


def lively_policy(labels: LabelRule = "held", **others: object) -> Policy:
    """The same with laws that are really random."""
    return _policy(labels, law="label-free" if labels == "none" else "zero-inflated-uniform", **others)


def loose_policy(labels: LabelRule = "held", **others: object) -> Policy:
    """One whose laws are not coupled: what is drawn for one label says nothing of the other."""
    return _policy(labels, law=loose, **others)


def season_policy(labels: LabelRule = "held") -> Policy:
    """One with the law for many pairs, which is not coupled either."""
    return _policy(labels, law="cosine")


def _policy(labels: LabelRule, *, law: str | Family, **others: object) -> Policy:
    assert labels in LABEL_RULES
    if labels in ("held", "declared", "follower"):
        others["window"] = f"{WINDOW}s"
    if labels == "none":
        others["delta"] = "0.1"
    return policy_with(law, epsilon="1", labels=labels, **{"gap": f"{_GAP}s", **others})


def watch_states(transaction: Transaction) -> None:
    """From now on every change of a post's state is written down, in a table of the tests' own."""
    connection = transaction._connection
    connection.execute("CREATE TABLE IF NOT EXISTS state_changes (old TEXT, new TEXT)")
    name = "CREATE TRIGGER watch AFTER UPDATE ON posts"
    note = "INSERT INTO state_changes VALUES (OLD.state, NEW.state)"
    if isinstance(connection, sqlite3.Connection):
        name = name.replace("TRIGGER", "TRIGGER IF NOT EXISTS")
        connection.execute(f"{name} WHEN OLD.state <> NEW.state BEGIN {note}; END")
        return
    body = f"'BEGIN {note}; RETURN NULL; END'"
    connection.execute(f"CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS {body}")
    connection.execute("DROP TRIGGER IF EXISTS watch ON posts")
    connection.execute(f"{name} FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION note()")


class World:
    """A store, its gate, its releaser, its clock and two outlets: "list", and "once" (at most once).

    `reopen` gives the store again, as another process would find it.
    """

    def __init__(
        self,
        reopen: Callable[[], Store],
        policy: Policy | None = None,
        *,
        personal: bool = False,
        sealed: bool = False,
    ) -> None:
        self.policy = policy or stiff_policy()
        self.clock = ManualClock()
        self.outlets = {"list": ListOutlet(), "once": ListOutlet(delivery="at most once")}
        self.keys = Keys(bytes(range(32)))
        self._reopen, self._stores = reopen, [reopen()]
        with self.store.transaction("closing") as transaction:
            settings = StoreSettings.of(self.policy, personal=personal, sealed=sealed)
            begin_store(transaction, settings, self.clock)
            watch_states(transaction)
        self._enter()

    def _enter(self) -> None:
        self.vault = Vault(self.store, self.keys, self.outlets, self.clock)
        self.gate = Gate(self.vault, self.policy)
        self.releaser = Releaser(self.vault)

    @property
    def store(self) -> Store:
        """The store as it was opened last."""
        return self._stores[-1]

    def restart(self) -> None:
        """Everything in memory is gone; the store is found again."""
        self.store.close()
        self._stores.append(self._reopen())
        self._enter()

    def leave(self) -> None:
        """Close what was opened; whatever has happened, states have changed in allowed ways alone."""
        try:
            changes = {(row["old"], row["new"]) for row in self.dump("state_changes")}
        except Unavailable:  # the test has taken the store away
            changes = set()
        finally:
            for store in self._stores:
                store.close()
        assert changes <= ARROWS, changes - ARROWS
        SEEN_CHANGES.update(changes)

    def gate_under(self, policy: Policy) -> Gate:
        """A gate of the same store under another policy."""
        return Gate(self.vault, policy)

    def admit(self, actor: str = "ann", target: str = "p1", outlet: str = "list", **others) -> Receipt:
        """Hand a post in."""
        content = others.pop("content", f"{actor} on {target}".encode())
        return self.gate.admit(Post(actor=actor, target=target, outlet=outlet, content=content, **others))

    def candidate(
        self,
        actor: str = "ann",
        target: str = "p1",
        outlet: str = "list",
        *,
        terms: Terms | None = None,
        entropy: Entropy | None = None,
        secret: str | None = None,
        body: bytes | None = None,
        **others: object,
    ) -> Candidate:
        """A post that is ready to be handed in, perhaps for the second time."""
        content = others.pop("content", f"{actor} on {target}".encode())
        post = Post(actor=actor, target=target, outlet=outlet, content=content, **others)
        terms, entropy = terms or Terms(self.policy), entropy or Secure()
        return prepare(self.vault, terms, entropy, post, secret=secret, body=body)

    def send(self, *requests: Sequence[Candidate]) -> list[list[Receipt] | TarryError]:
        """Hand several requests in at once."""
        kind = "closing" if self.vault.settings.personal else "admitting"
        with self.store.transaction(kind) as transaction:
            return accept(transaction, self.vault, requests)

    def tell(self, name: str, /, **values: object) -> None:
        """Change something in the store by a statement's name."""
        with self.store.transaction("closing") as transaction:
            transaction.tell(name, **values)

    def fix_release(self, post: int, release: int) -> None:
        """As if the label of a post were known, and fixed its release."""
        change = f"UPDATE posts SET release = {release} WHERE id = {post} AND release IS NULL"  # noqa: S608 - numbers
        with self.store.transaction("closing") as transaction:
            transaction._connection.execute(change)

    def close(self) -> Closed:
        """Close what lies in the past."""
        with self.store.transaction("closing") as transaction:
            return close_ticks(transaction, self.keys, self.clock)

    def pass_ticks(self, count: int, *, release: bool = True) -> None:
        """Time goes by, and every tick closes on time."""
        for _ in range(count):
            self.clock.sleep(1)
            self.close()
            if release:
                self.releaser.release()

    @property
    def closed(self) -> int:
        """The last closed tick."""
        with self.store.transaction("working") as transaction:
            return snapshot(transaction).closed

    @property
    def now(self) -> int:
        """The store's clock."""
        with self.store.transaction("working") as transaction:
            return self.vault.now(transaction)

    @property
    def delivered(self) -> list[tuple[str, int]]:
        """What has left, by target, with the tick it was published under."""
        return [(r.target, int(r.at)) for outlet in self.outlets.values() for r in outlet.delivered]

    def rows(self, table: str) -> dict[int, dict[str, object]]:
        """A table as it lies in the store, by post."""
        return {row["id"]: row for row in self.dump(table)}

    def dump(self, table: str) -> list[dict[str, object]]:
        """Every row of a table."""
        with self.store.transaction("working") as transaction:
            found = transaction._connection.execute(f"SELECT * FROM {table}")  # noqa: S608 - our own name
            return [dict(row) for row in found.fetchall()]
