"""The releaser: claims what is due, delivers it, marks it. Several may work on one store.

A claim is a lease. A worker that dies leaves its claims to lapse, after which another takes them up;
where a delivery must not happen twice they are parked for a person instead. A delivery that fails is
tried again, later and later, and parked in the end: nothing is ever dropped. One account that cannot get in
is another matter: `lockouts` tells.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from tarry.core.entropy import Entropy, Secure
from tarry.keep.clock import MICROS
from tarry.keep.lockouts import Kin, lockout_delay, look_for_kin, move_account
from tarry.keep.outlet import Outlet
from tarry.keep.posts import Release
from tarry.keep.store import Row, Transaction, place
from tarry.keep.tries import CUT_OFF, Outcome, doubted, try_once
from tarry.keep.vault import Vault

__all__ = ["LEASE_S", "Claim", "Releaser", "retry_delay"]

LEASE_S = 10
_LONGEST_DELAY_S = 300
SHUT = "its content cannot be opened: the key is another one, or the store was changed"
_PARKED_ABOVE = "what it depends on is parked: repeat that first, or withdraw this"


@dataclass(frozen=True)
class Claim:
    """Posts that one worker has taken, with the token that proves it.

    >>> Claim(token=7, outlet="list", posts=()).posts
    ()
    """

    token: int
    outlet: str
    posts: tuple[tuple[int, Release], ...]  # the key of each post, and what leaves
    shut: int = 0  # posts that were parked instead: they cannot be opened
    by: Outlet | None = field(default=None, repr=False)  # who delivers them, and no other one meanwhile


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
        for name in tuple(self.vault.outlets):
            while claim := self.claim(name):
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
            self._park_children(transaction)

    def due(self) -> set[str]:
        """The outlets where something is due."""
        with self.vault.store.transaction("reading") as transaction:
            return due_outlets(transaction)

    def claim(self, outlet: str, most: int | None = None) -> Claim | None:
        """Take due posts of one outlet; just one where "started" must be written for each."""
        with self.vault.store.transaction("working") as transaction:
            return self.claim_within(transaction, outlet, self.vault.now(transaction), most)

    def claim_within(
        self, transaction: Transaction, outlet: str, now: int, most: int | None = None
    ) -> Claim | None:
        """The same as part of a transaction; what was claimed is ours when it has been committed."""
        by = self.vault.outlets[outlet]
        once = by.delivery == "at most once"
        batch = 1 if once else by.batch
        token = int.from_bytes(os.urandom(8)) >> 1
        rows = transaction.all(
            "claim",
            claim=token,
            until=now + LEASE_S * MICROS,
            once=int(once),
            outlet=outlet,
            most=batch if most is None else min(most, batch),
        )
        if not rows:
            return None
        self.vault.follow(place(transaction).settings)
        rows.sort(key=lambda row: (row["release"], row["id"]))
        tick = self.vault.settings.tick
        moments = {number: number * tick for number in {row["release"] for row in rows}}
        posts = [(row["id"], self._leaving(row, moments[row["release"]])) for row in rows]
        for post, release in posts:
            if release is None:  # nothing that a later try would change
                transaction.tell("mark_parked", id=post, claim=token, problem=SHUT, doubted=doubted(SHUT))
        opened = tuple((post, release) for post, release in posts if release is not None)
        return Claim(token, outlet, opened, shut=len(posts) - len(opened), by=by)

    def deliver(self, claim: Claim) -> list[Outcome]:
        """Hand each post to its outlet. What happens here happens in the world."""
        outlet = claim.by or self.vault.outlets[claim.outlet]
        return [try_once(outlet, post, release) for post, release in claim.posts]

    def renew(self, token: int) -> None:
        """Keep a claim while its delivery takes long."""
        with self.vault.store.transaction("working") as transaction:
            until = self.vault.now(transaction) + LEASE_S * MICROS
            transaction.tell("renew", claim=token, until=until)

    def mark(self, claim: Claim, outcomes: list[Outcome]) -> None:
        """Write down how the deliveries ended."""
        locked = self._kin(claim, outcomes)
        # No admission runs beside a move: what came in meanwhile would be left behind.
        with self.vault.store.transaction("closing" if locked else "working") as transaction:
            done = json.dumps([outcome.post for outcome in outcomes if not outcome.problem])
            left = {row["id"] for row in transaction.all("mark_released", posts=done, claim=claim.token)}
            outlet = claim.by or self.vault.outlets[claim.outlet]
            outlet.record(transaction, [release for post, release in claim.posts if post in left])
            for outcome in outcomes:
                if outcome.post in locked:
                    self._mark_locked_out(transaction, claim.token, outcome, locked[outcome.post])
                elif outcome.problem:
                    self._mark_failed(transaction, claim.token, outcome)
            if any(outcome.parked for outcome in outcomes):
                self._park_children(transaction)

    def _mark_failed(self, transaction: Transaction, token: int, outcome: Outcome) -> None:
        # In one person's own store it holds up the rest until it has left, as whatever is late does there.
        until = self.vault.now(transaction) + retry_delay(outcome.attempt, self._entropy)
        _write_failure(transaction, token, outcome, until)

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
            row = transaction.one("by_id", id=outcome.post)
            delay = lockout_delay(outcome.locked_s or 0, self._entropy)
            if row is not None:
                move_account(transaction, self.vault, kin, row, delay)

    def _leaving(self, row: Row, at: Fraction) -> Release | None:
        """What leaves; None if it cannot be opened."""
        post, seal = row["id"], self.vault.seal
        try:
            content = seal.open(post, "content", row["content"])
            stored = seal.open(post, "options", row["options"])
            options = {} if stored == b"{}" else json.loads(stored)
        except Exception:  # noqa: BLE001 - whatever the cipher says, one row must not stop the others
            return None
        return Release(
            id=self.vault.keys.public_id(post),
            target=row["target"],
            content=content,
            options=options,
            at=at,
            attempt=row["attempts"],
        )

    def _park_children(self, transaction: Transaction) -> None:
        """In one person's own store a person's act must not let out what waited for a parked post."""
        if self.vault.settings.personal:
            while transaction.run("park_children", problem=_PARKED_ABOVE):
                pass


def due_outlets(transaction: Transaction) -> set[str]:
    """The outlets where something is due, as part of a transaction."""
    return {row["outlet"] for row in transaction.all("due_outlets")}


def _write_failure(transaction: Transaction, token: int, outcome: Outcome, until: int | None = None) -> int:
    """How a try failed; 0 if the claim was not ours any more."""
    told = {"id": outcome.post, "claim": token}
    if outcome.parked:
        both = doubted(outcome.problem)
        problem = both if outcome.sent else outcome.problem
        return transaction.run("mark_parked", **told, problem=problem, doubted=both)
    if outcome.sent:  # as if its worker had died: a problem would say that it can be changed
        return transaction.run("mark_retry", **told, problem=None, until=until)
    if outcome.locked_s is not None:
        return transaction.run("mark_locked_out", **told, problem=outcome.problem)
    return transaction.run("mark_retry", **told, problem=outcome.problem, until=until)
