"""The releaser: claims what is due, delivers it, marks it. Several may work on one store.

What leaves by the store itself, as a feed does, needs no claim: it is found, opened, recorded and marked in
one transaction, so that no crash can lose it or let it leave twice.

For all else a claim is a lease. A worker that dies leaves its claims to lapse, after which another takes
them up; where a delivery must not happen twice they are parked for a person instead. A delivery that fails
is tried again, later and later, and parked in the end: nothing is ever dropped. One account that cannot get
in is another matter: `lockouts` tells.

A try may end without anybody knowing whether it came through: a worker died, or everything was sent and no
answer came. Such a post is *in doubt* (`states`): it may be public already, so its author cannot change it
or take it back as if it were not; a later try shows, or a person looks.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from tarry.core.entropy import Entropy, Secure
from tarry.core.errors import TarryError
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.keep.lockouts import Kin, lockout_delay, look_for_kin, move_account
from tarry.keep.outlet import Outlet
from tarry.keep.posts import Release
from tarry.keep.rows import Claimed, post_by_key, read_all
from tarry.keep.store import MICROS, Transaction, Vault, snapshot

__all__ = [
    "LEASE_S",
    "MOST_ATTEMPTS",
    "Claim",
    "Outcome",
    "Published",
    "Releaser",
    "doubted",
    "due_outlets",
    "printable",
    "retry_delay",
    "try_once",
]

LEASE_S = 10
MOST_ATTEMPTS = 12
_LONGEST_DELAY_S = 300
_MOST_TEXT = 500
_NOT_IN = "its account cannot get in now"
#: What a person reads of a post that cannot be opened.
SHUT = "its content cannot be opened, by another key or after a change of the store: put the right key back"
#: What a person reads of a delivery whose worker died, where it must not be tried again.
CUT_OFF = "its delivery was cut off and may or may not have happened: look, then withdraw or repeat it"


@dataclass(frozen=True)
class Claim:
    """Posts that one worker has taken, with the token that proves it.

    >>> from tarry.testing import ListOutlet
    >>> Claim(token=7, outlet="list", posts=(), by=ListOutlet()).posts
    ()
    """

    token: int
    outlet: str
    posts: tuple[tuple[int, Release], ...]  # the key of each post, and what leaves
    by: Outlet = field(repr=False)  # who delivers them, and no other one meanwhile
    shut: int = 0  # posts that were parked instead: they cannot be opened


class Published(NamedTuple):
    """What has left by the store itself.

    >>> Published("talk", left=3).shut
    0
    """

    outlet: str
    left: int
    shut: int = 0  # posts that were parked instead: they cannot be opened


@dataclass(frozen=True)
class Outcome:
    """How one delivery ended.

    >>> Outcome(post=1, attempt=1).problem
    ''
    """

    post: int
    attempt: int
    problem: str = ""  # empty: delivered
    parked: bool = False  # not tried again: a person looks at it
    locked_s: int | None = None  # its account cannot get in, and is to wait for so many seconds
    sent: bool = False  # with a problem: it may have arrived nevertheless

    def __post_init__(self) -> None:
        """Whoever wrote the text: the store takes it, and a person can read it."""
        if self.problem:
            object.__setattr__(self, "problem", printable(self.problem) or "it failed without a word")


def retry_delay(attempt: int, entropy: Entropy) -> int:
    """Microseconds until the next try: doubling, at most five minutes, and half of it at random.

    >>> 500_000 <= retry_delay(1, Secure()) < 1_000_000
    True
    """
    most = min(_LONGEST_DELAY_S, 2 ** (attempt - 1)) * MICROS
    return int(most // 2 + entropy.randbelow(most // 2))


class Releaser:
    """One worker.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> Releaser(memory_vault(Policy(epsilon="1", gap="11m"))).release()
    0
    """

    def __init__(self, vault: Vault, entropy: Entropy | None = None) -> None:
        self.vault = vault
        self._entropy = entropy or Secure()

    def release(self) -> int:
        """Claim, deliver and mark everything that is due; how many posts left."""
        left = 0
        for name, outlet in tuple(self.vault.outlets.items()):
            while outlet.in_store and (published := self.publish(name)):
                left += published.left
            while not outlet.in_store and (claim := self.claim(name)):
                outcomes = self.deliver(claim)
                self.mark(claim, outcomes)
                left += sum(not outcome.problem for outcome in outcomes)
        return left

    def sweep(self, alive: Iterable[int] = ()) -> None:
        """Take back what dead workers held, and what is to be tried again by now.

        The claims that are known to be `alive` are renewed first: after a sleep all claims look dead.
        """
        with self.vault.store.transaction("working") as transaction:
            now = self.vault.now(transaction)
            for token in alive:
                transaction.tell("renew", claim=token, until=now + LEASE_S * MICROS)
            transaction.tell("park_cut_off", now=now, problem=CUT_OFF)
            transaction.tell("return_lapsed", now=now)
            transaction.tell("try_again", now=now)
            self.vault.settings.sharing.park_children(transaction)

    def due(self) -> set[str]:
        """The outlets where something is due."""
        with self.vault.store.transaction("reading") as transaction:
            return due_outlets(transaction)

    def claim(self, outlet: str, most: int | None = None) -> Claim | None:
        """Take due posts of one outlet; just one where "started" must be written for each.

        None if nothing is due, and where the outlet publishes in the store: then `publish` does it.
        """
        with self.vault.store.transaction("working") as transaction:
            return self.claim_within(transaction, outlet, self.vault.now(transaction), most)

    def claim_within(
        self, transaction: Transaction, outlet: str, now: int, most: int | None = None
    ) -> Claim | None:
        """The same as part of a transaction; what was claimed is ours when it has been committed."""
        by, token = self.vault.outlets[outlet], _new_token()
        if by.in_store:  # since a moment ago: marked without its record, a post would be lost
            return None
        once = by.delivery == "at most once"
        batch = 1 if once else by.batch
        due = self._due(transaction, outlet, batch if most is None else min(most, batch))
        if not due:
            return None
        _take(transaction, token, [post.id for post in due], now, once=once)
        opened = self._open(due)
        shut = _park_shut(transaction, token, due, opened)
        return Claim(token, outlet, opened, by, shut=shut)

    def publish(self, outlet: str) -> Published | None:
        """Let due posts leave by an outlet that publishes in the store; None if there are none."""
        with self.vault.store.transaction("working") as transaction:
            return self.publish_within(transaction, outlet, self.vault.now(transaction))

    def publish_within(self, transaction: Transaction, outlet: str, now: int) -> Published | None:
        """The same as part of a transaction; what it has published has left when it has been committed."""
        by = self.vault.outlets[outlet]
        due = self._due(transaction, outlet, by.batch) if by.in_store else []
        if not due:
            return None
        opened = self._open(due)
        if len(opened) < len(due):
            token, ours = _new_token(), {number for number, _ in opened}
            _take(transaction, token, [post.id for post in due if post.id not in ours], now)
            _park_shut(transaction, token, due, opened)
        transaction.tell("mark_published", posts=json.dumps([number for number, _ in opened]))
        by.record(transaction, [release for _, release in opened])
        return Published(outlet, len(opened), len(due) - len(opened))

    def _due(self, transaction: Transaction, outlet: str, most: int) -> list[Claimed]:
        """What is due at an outlet, in the order in which it leaves."""
        due = read_all(transaction, Claimed, "due", outlet=outlet, most=most)
        if due:
            self.vault.follow(snapshot(transaction).settings)
        return due

    def _open(self, due: Sequence[Claimed]) -> tuple[tuple[int, Release], ...]:
        """What leaves, without what cannot be opened."""
        tick = self.vault.settings.tick
        moments = {number: number * tick for number in {post.release for post in due}}
        leaving = ((post.id, self._leaving(post, moments[post.release])) for post in due)
        return tuple((number, release) for number, release in leaving if release is not None)

    def deliver(self, claim: Claim) -> list[Outcome]:
        """Hand each post to its outlet. What happens here happens in the world."""
        return [try_once(claim.by, post, release) for post, release in claim.posts]

    def renew(self, token: int) -> None:
        """Keep a claim while its delivery takes long."""
        with self.vault.store.transaction("working") as transaction:
            transaction.tell("renew", claim=token, until=self.vault.now(transaction) + LEASE_S * MICROS)

    def mark(self, claim: Claim, outcomes: list[Outcome]) -> None:
        """Write down how the deliveries ended."""
        locked = self._kin(claim, outcomes)
        # No admission runs beside a move: what came in meanwhile would be left behind.
        with self.vault.store.transaction("closing" if locked else "working") as transaction:
            done = json.dumps([outcome.post for outcome in outcomes if not outcome.problem])
            transaction.tell("mark_released", posts=done, claim=claim.token)
            for outcome in outcomes:
                if outcome.post in locked:
                    self._mark_locked_out(transaction, claim.token, outcome, locked[outcome.post])
                elif outcome.problem:
                    # In one person's own store it holds up the rest until it has left, as all that is late.
                    until = self.vault.now(transaction) + retry_delay(outcome.attempt, self._entropy)
                    _write_failure(transaction, claim.token, outcome, until)
            if any(outcome.parked for outcome in outcomes):
                self.vault.settings.sharing.park_children(transaction)

    def _kin(self, claim: Claim, outcomes: list[Outcome]) -> dict[int, Kin]:
        """Of the posts whose accounts cannot get in: what else waits for the same account."""
        locked = {outcome.post for outcome in outcomes if outcome.locked_s is not None}
        return {
            post: look_for_kin(self.vault, claim.outlet, release.options)
            for post, release in claim.posts
            if post in locked
        }

    def _mark_locked_out(self, transaction: Transaction, token: int, outcome: Outcome, kin: Kin) -> None:
        if _write_failure(transaction, token, outcome):
            post = post_by_key(transaction, outcome.post)
            delay = lockout_delay(outcome.locked_s or 0, self._entropy)
            if post is not None:
                move_account(transaction, self.vault, kin, post.timing, delay)

    def _leaving(self, post: Claimed, at: Fraction) -> Release | None:
        """What leaves; None if it cannot be opened."""
        seal = self.vault.seal
        try:
            content = seal.open(post.id, "content", post.content)
            stored = seal.open(post.id, "options", post.options)
            options = {} if stored == b"{}" else json.loads(stored)
        except Exception:  # noqa: BLE001 - whatever the cipher says, one row must not stop the others
            return None
        return Release(
            id=self.vault.keys.public_id(post.id),
            target=post.target,
            content=content,
            options=options,
            at=at,
            attempt=post.attempts,
        )


def due_outlets(transaction: Transaction) -> set[str]:
    """The outlets where something is due, as part of a transaction.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("reading") as transaction:
    ...     due_outlets(transaction)
    set()
    """
    return {row["outlet"] for row in transaction.all("due_outlets")}


def _new_token() -> int:
    return int.from_bytes(os.urandom(8)) >> 1


def _take(
    transaction: Transaction, token: int, posts: Sequence[int], now: int, *, once: bool = False
) -> None:
    """Claim due posts, which nobody else can have meanwhile."""
    until = now + LEASE_S * MICROS
    transaction.tell("claim", claim=token, until=until, once=int(once), posts=json.dumps(posts))


def _park_shut(
    transaction: Transaction, token: int, due: Sequence[Claimed], opened: Sequence[tuple[int, Release]]
) -> int:
    """Park what was claimed and cannot be opened, which no later try would change; how many there are."""
    ours = {number for number, _ in opened}
    shut = [post.id for post in due if post.id not in ours]
    for number in shut:
        _write_failure(transaction, token, Outcome(number, 1, SHUT, parked=True))
    return len(shut)


def _write_failure(transaction: Transaction, token: int, outcome: Outcome, until: int | None = None) -> int:
    """How a try failed; 0 if the claim was not ours any more."""
    failed = {"id": outcome.post, "claim": token, "problem": outcome.problem}
    if outcome.parked:
        return transaction.run(
            "mark_parked", **failed, sent=int(outcome.sent), doubted=doubted(outcome.problem)
        )
    if outcome.locked_s is not None and not outcome.sent:
        return transaction.run("mark_locked_out", **failed)
    return transaction.run("mark_retry", **failed, sent=int(outcome.sent), until=until)


def printable(text: str) -> str:
    """A text for the store and for a person: printable, one line, bounded.

    >>> printable("no file l" + chr(0xDCFC) + "gin" + chr(0) + chr(10) + "here")
    'no file l gin here'
    """
    kept = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * _MOST_TEXT])
    return " ".join(kept.split())[:_MOST_TEXT]


def doubted(problem: str) -> str:
    """What happened last, and that an earlier or this same try may have come through.

    >>> doubted("the webhook hung up")
    'the webhook hung up; it may have left all the same: look, then withdraw or repeat it'
    """
    return f"{problem}; it may have left all the same: look, then withdraw or repeat it"


def try_once(outlet: Outlet, post: int, release: Release) -> Outcome:
    """Hand a release to its outlet. What happens here happens in the world.

    >>> from fractions import Fraction
    >>> from tarry.testing import ListOutlet
    >>> release = Release(id="ab", target="paper 3", content=b"I agree.", at=Fraction(60))
    >>> try_once(ListOutlet(broken=Unreachable("it hung up", sent=True)), 7, release)
    Outcome(post=7, attempt=1, problem='it hung up', parked=False, locked_s=None, sent=True)
    """
    attempt = release.attempt
    try:
        outlet.deliver(release)
    except Refused as refusal:
        return Outcome(post, attempt, _sentence(refusal), parked=True, sent=refusal.sent)
    except Exception as error:  # noqa: BLE001 - whatever it is, the post stays and a person reads why
        last = outlet.delivery == "at most once" or attempt >= MOST_ATTEMPTS
        # An error that no outlet should raise does not say how far it had come.
        sent = error.sent if isinstance(error, Unreachable) else not isinstance(error, TarryError)
        if isinstance(error, LockedOut):
            problem, parked = str(error) or _NOT_IN, last and sent
            return Outcome(post, attempt, problem, parked=parked, locked_s=error.wait_s, sent=sent)
        return Outcome(post, attempt, _sentence(error), parked=last, sent=sent)
    return Outcome(post, attempt)


def _sentence(error: Exception) -> str:
    return str(error) or type(error).__name__
