"""Accepting posts: one transaction that stamps them, stores their draws, and promises a release.

Everything that needs no transaction (checks, hashes, draws, encryption) happens before it begins, so that
tick closing and other admissions wait as briefly as possible.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from tarry.core.entropy import Entropy
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.core.release import Draws, draw_pair
from tarry.keep.checks import check_period, check_post
from tarry.keep.clock import advance, now_tick
from tarry.keep.closing import close_ticks
from tarry.keep.keys import new_receipt, post_key, receipt_hash
from tarry.keep.posts import Post, Receipt
from tarry.keep.prospects import Prospect, behind_parents, prospect, prospect_of
from tarry.keep.store import Place, Row, Transaction, by_receipt, place
from tarry.keep.vault import Vault

__all__ = ["accept", "prepare"]


class Candidate(NamedTuple):
    """A post on its way in: checked, hashed, drawn and sealed."""

    post: Post
    id: int
    secret: str
    receipt: bytes
    actor: bytes
    pseudonym: bytes
    draws: Draws
    content: bytes
    options: bytes


def prepare(vault: Vault, policy: Policy, entropy: Entropy, post: Post) -> Candidate:
    """Do all that can be done before the transaction.

    >>> from tarry.core.entropy import Secure
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> post = Post(actor="ann", target="paper 3", outlet="list", content=b"I agree.")
    >>> prepare(memory_vault(policy), policy, Secure(), post).options
    b'{}'
    """
    check_post(vault, post)
    secret = new_receipt()
    hashed = receipt_hash(secret)
    number = post_key(hashed)
    options = json.dumps(dict(post.options), sort_keys=True).encode() if post.options else b"{}"
    return Candidate(
        post,
        number,
        secret,
        hashed,
        vault.keys.actor(post.actor),
        vault.keys.pseudonym(post.actor, post.target),
        draw_pair(policy, post.target, post.track, entropy),
        vault.seal.shut(number, "content", post.content),
        vault.seal.shut(number, "options", options),
    )


def accept(
    transaction: Transaction, vault: Vault, policy: Policy, candidates: Sequence[Candidate]
) -> list[Receipt]:
    """Stamp and store, inside an admitting transaction.

    >>> from tarry.core.entropy import Secure
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> vault = memory_vault(policy)
    >>> post = Post(actor="ann", target="paper 3", outlet="list", content=b"I agree.")
    >>> with vault.store.transaction("admitting") as transaction:
    ...     accept(transaction, vault, policy, [prepare(vault, policy, Secure(), post)])[0].status.state
    'waiting'
    """
    here = _here(transaction, vault, policy)
    now = advance(here.anchor, vault.clock.read(here.now)).time
    tick = max(now_tick(now, policy.tick), here.closed + 1)
    check_period(policy, tick)
    clerk = _Clerk(transaction, vault, policy, here, tick)
    if clerk.looks_back:
        transaction.lock_actors({each.actor for each in candidates})
    receipts = [clerk.accept(each) for each in candidates]
    clerk.write()
    return receipts


class _Clerk:
    """Writes the rows of the posts of one transaction."""

    def __init__(
        self, transaction: Transaction, vault: Vault, policy: Policy, here: Place, tick: int
    ) -> None:
        self._transaction, self._vault, self._policy = transaction, vault, policy
        self._here, self._tick, self._settings = here, tick, here.settings
        self._deadline = policy.deadline_tick
        self._period = "" if policy.starts_at is None else str(policy.starts_at)
        self._posts: list[dict[str, object]] = []
        self._arrivals: list[dict[str, object]] = []
        # Whether a label, tick or legacy depends on the actor's earlier posts: then these come in turn.
        leaned = here.latest is not None and here.latest > tick
        self.looks_back = leaned or here.heirlooms or not here.settings.waits_for_label

    def accept(self, each: Candidate) -> Receipt:
        parent = _parent(self._transaction, each)
        old = self._heirloom(each)
        ticks = self._arrive(each) if old is None else self._inherit(each, old)
        release = ticks.release
        if parent is not None:
            above = prospect(parent, self._settings).release
            release = release if release is None or above is None else max(release, above)
            ticks = behind_parents(self._transaction, self._settings, ticks, parent)
        self._posts.append(
            {
                "id": each.id,
                "target": each.post.target,
                "outlet": each.post.outlet,
                "options": each.options,
                "content": each.content,
                "release": release,
                "parent": parent and parent["id"],
                "receipt": each.receipt,
                "pseudonym": each.pseudonym,
            }
        )
        if not self._settings.waits_for_label:
            self.write()  # the next one's label may look at this one
        return Receipt(each.secret, each.id, ticks.status("waiting", self._policy.tick))

    def write(self) -> None:
        """Store what has been collected."""
        if len(self._posts) == len(self._arrivals) == 1:  # quicker one by one
            self._transaction.tell("insert_post", **self._posts[0])
            self._transaction.tell("insert_arrival", **self._arrivals[0])
        else:
            self._transaction.many("insert_post", self._posts)
            self._transaction.many("insert_arrival", self._arrivals)
        self._posts, self._arrivals = [], []

    def _heirloom(self, each: Candidate) -> Row | None:
        if not self._here.heirlooms:
            return None
        return self._transaction.one("heirloom", pseudonym=each.pseudonym, closed=self._here.closed)

    def _arrive(self, each: Candidate) -> Prospect:
        arrival = self._stamp(each)
        label = self._label(each, arrival)
        self._arrivals.append(
            {
                "id": each.id,
                "actor": each.actor,
                "pseudonym": each.pseudonym,
                "arrival": arrival,
                "declared": int(each.post.more_to_come),
                "unbatched": each.draws.unbatched,
                "batched": each.draws.batched,
                "deadline": self._deadline,
                "label": label,
                "period": self._period,
            }
        )
        return prospect_of(arrival, each.draws, label, self._settings, self._deadline)

    def _stamp(self, each: Candidate) -> int:
        """This tick; but not before the actor's last arrival, should the clock have leaned back since."""
        if not self.looks_back:
            return self._tick
        last = self._transaction.one("last_arrival", actor=each.actor)
        return max(self._tick, (last and last["arrival"]) or self._tick)

    def _label(self, each: Candidate, arrival: int) -> int | None:
        """The label, where it is known at admission."""
        settings, who = self._settings, {"actor": each.actor}
        if settings.waits_for_label:
            return None
        if settings.labels == "none":
            return 0
        since = arrival - settings.window_ticks
        if _yes(self._transaction.one("follows", **who, pseudonym=each.pseudonym, since=since)):
            return 1
        if settings.labels == "declared" and each.post.more_to_come:
            return 1
        if settings.labels == "declared":
            return int(_yes(self._transaction.one("declared_before", **who, since=since)))
        return 0

    def _inherit(self, each: Candidate, old: Row) -> Prospect:
        """A repost takes over tick and draws of the withdrawn post, so that nobody shops for short ones."""
        self._transaction.tell("bequeath_post", id=old["id"], closed=self._here.closed)
        self._transaction.tell("bequeath_arrival", id=old["id"], heir=each.id)
        return prospect(old, self._settings)


def _here(transaction: Transaction, vault: Vault, policy: Policy) -> Place:
    here = place(transaction)
    here.settings.check(policy)
    if here.settings.personal:
        if here.policy is not None and here.policy != write_policy(policy):
            raise BadInput("a policy", "is the one that its store has adopted", found="another")
        # Ticks missed by now must not move a post that arrives now.
        close_ticks(transaction, vault.keys, vault.clock)
        here = place(transaction)
    return here


def _parent(transaction: Transaction, each: Candidate) -> Row | None:
    """The waiting post that goes first; a visible one needs no waiting for."""
    first = each.post.depends_on
    if first is None:
        return None
    if isinstance(first, int):
        parent = transaction.one("by_id", id=first)
    else:
        parent = by_receipt(transaction, first)
    if parent is not None and parent["state"] == "released":
        return None
    if (
        parent is None
        or bytes(parent["pseudonym"] or b"") != each.pseudonym
        or parent["state"] != "waiting"
    ):
        raise BadInput(
            "depends_on",
            "is the receipt of a visible post, or of one's own waiting post on the same target",
            found="another",
        )
    return parent


def _yes(row: Row | None) -> bool:
    return bool(row and row["answer"])
