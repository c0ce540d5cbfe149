"""Accepting posts: prepared first, then stamped and stored with their draws in one transaction.

Checks, hashes, draws and encryption happen before the transaction, so that tick closing and others who hand
posts in wait as briefly as possible.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Literal, NamedTuple

from tarry.core.entropy import Entropy
from tarry.core.errors import BadInput, TarryError
from tarry.core.policy import Policy
from tarry.core.release import Draws, after_parents, draw_pair, told_span
from tarry.keep.closing import close_ticks
from tarry.keep.errors import AlreadyUsed, Paused
from tarry.keep.keys import new_receipt, post_key, receipt_hash
from tarry.keep.lockouts import Standstill, clock_of, standstill
from tarry.keep.outlet import check_delivery
from tarry.keep.posts import Post, PostRow, Prospect, Receipt, State, Timing, prospect, prospect_of
from tarry.keep.rows import (
    ask_posts,
    behind_parents,
    find_heirloom,
    has_answer,
    post_by_key,
    post_by_receipt,
    status_of,
)
from tarry.keep.sharing import Sharing, Snapshot
from tarry.keep.store import Transaction, Vault, arrival_tick, check_period, snapshot

__all__ = ["CLOSED", "Adoption", "Candidate", "Terms", "accept", "accepting", "check_post", "prepare"]

#: What is said while an operator lets nothing in.
CLOSED = "this space is paused by its operator: try again later"
_CHANGING = "this space takes no posts while its policy changes: try again in {wait} s"
_RESTORED = "this store was restored from a backup and is paused: wait until an operator resumes it"
_MOST_NAME = 4096
#: The columns of an arrival whose draws may be told.
_TOLD_BY_DRAWS: dict[str, int | None] = {"earliest": None, "latest": None}

#: Whose posts are delayed: everyone's, those of accounts that did not opt out, or of those that opted in.
Adoption = Literal["everyone", "opt-out", "opt-in"]


class Terms(NamedTuple):
    """What a post is admitted under, beside what its author says.

    >>> Terms(Policy(epsilon="1", gap="11m")).period
    ''
    """

    policy: Policy
    period: str = ""  # what the ledger counts this under
    first_tick: int = 0  # nothing is admitted under these terms before it
    adoption: Adoption = "everyone"  # whose posts are delayed; the others' still count for labels
    is_open: bool = True  # False: nothing new is admitted under these terms for now


class Candidate(NamedTuple):
    """A post on its way in: checked, hashed, drawn and sealed.

    >>> Candidate._fields[:2]
    ('post', 'terms')
    """

    post: Post
    terms: Terms
    id: int
    secret: str
    receipt: bytes
    actor: bytes
    pseudonym: bytes
    sealed: bytes  # the pseudonym as it is stored while the post waits
    draws: Draws[int]
    span: tuple[int, int] | None  # delays to tell instead of the draws while the label is open
    content: bytes
    options: bytes
    body: bytes | None  # hash of a request that may come again


def prepare(
    vault: Vault,
    terms: Terms,
    entropy: Entropy,
    post: Post,
    *,
    secret: str | None = None,
    body: bytes | None = None,
) -> Candidate:
    """Do all that can be done before the transaction.

    A request that may come again brings the `secret` of its receipt, always the same, and a hash of its
    `body`.

    >>> from tarry.core.entropy import Secure
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> post = Post(actor="ann", target="paper 3", outlet="list", content=b"I agree.")
    >>> prepare(memory_vault(policy), Terms(policy), Secure(), post).options
    b'{}'
    """
    check_post(vault, post)
    secret = secret or new_receipt()
    hashed = receipt_hash(secret)
    number = post_key(hashed)
    options = json.dumps(dict(post.options), sort_keys=True).encode() if post.options else b"{}"
    # No name of a target has a NUL in it: two places and targets never read alike.
    target = f"{post.space}\0{post.target}" if post.space else post.target
    pseudonym = vault.keys.pseudonym(post.actor, target)
    return Candidate(
        post,
        terms,
        number,
        secret,
        hashed,
        vault.keys.actor(post.actor),
        pseudonym,
        vault.settings.sharing.seal_pseudonym(secret, pseudonym),
        draw_pair(terms.policy, post.target, post.track, entropy),
        told_span(terms.policy, post.target, post.track),
        vault.seal.shut(number, "content", post.content),
        vault.seal.shut(number, "options", options),
        body,
    )


def check_post(vault: Vault, post: Post) -> None:
    """Refuse a post that could never be delivered, or told from another.

    >>> from tarry.testing import memory_vault
    >>> post = Post(actor="", target="paper 3", outlet="list", content=b"I agree.")
    >>> check_post(memory_vault(Policy(epsilon="1", gap="11m")), post)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: actor must have 1 to 4096 characters, not 0
    """
    if (outlet := vault.outlets.get(post.outlet)) is None:
        raise BadInput(f"unknown outlet {post.outlet!r}", f"use {', '.join(vault.outlets) or 'none'}")
    for what, name in (("actor", post.actor), ("target", post.target)):
        if not 0 < len(name) <= _MOST_NAME:
            raise BadInput(f"{what} must have 1 to {_MOST_NAME} characters, not {len(name)}")
        if "\0" in name:
            raise BadInput(f"{what} must not contain a NUL character", "leave it out")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise BadInput(f"{what} must be Unicode text", "leave out what is not") from None
    check_delivery(outlet, post.options, post.content)


def accept(
    transaction: Transaction, vault: Vault, requests: Sequence[Sequence[Candidate]]
) -> list[list[Receipt] | TarryError]:
    """Stamp and store, inside an admitting transaction: each request whole or not at all.

    Whoever has a question of their own first calls `accepting`, and then what that gives.

    >>> from tarry.core.entropy import Secure
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> vault = memory_vault(policy)
    >>> post = Post(actor="ann", target="paper 3", outlet="list", content=b"I agree.")
    >>> with vault.store.transaction("admitting") as transaction:
    ...     accept(transaction, vault, [[prepare(vault, Terms(policy), Secure(), post)]])[0][0].status.state
    'waiting'
    """
    return accepting(transaction, vault, requests)()


def accepting(
    transaction: Transaction, vault: Vault, requests: Sequence[Sequence[Candidate]]
) -> Callable[[], list[list[Receipt] | TarryError]]:
    """Keep others waiting who ask for the same, ask which requests have come before, and then accept.

    Between the two a server may be asked something else on the same way: nothing is written yet.

    >>> from tarry.testing import memory_vault
    >>> vault = memory_vault(Policy(epsilon="1", gap="11m"))
    >>> with vault.store.transaction("admitting") as transaction:
    ...     accepting(transaction, vault, [])()
    []
    """
    repeatable = [request for request in requests if request and request[0].body is not None]
    again = [each for request in repeatable for each in request]
    # The first of a request stands for all of them: the same key has the same first receipt.
    if again:
        transaction.lock({request[0].receipt for request in repeatable})
    asked = _ask_known(transaction, again)

    def accept_now() -> list[list[Receipt] | TarryError]:
        known, now = asked, snapshot(transaction)
        vault.follow(now.settings)
        if now.settings.paused:
            raise Paused(_RESTORED)
        if now.settings.sharing.admission == "closing":
            # Ticks missed by now must not move a post that arrives now.
            close_ticks(transaction, vault.keys, vault.clock)
            # That may have fixed the labels of those that have come before.
            known, now = _ask_known(transaction, again), snapshot(transaction)
        clerk = _Clerk(transaction, vault, now)
        clerk.take_turns(requests)
        clerk.recall(again, known())
        answers = list(map(clerk.answer, requests))
        clerk.end()
        return answers

    return accept_now


def _ask_known(
    transaction: Transaction, candidates: Sequence[Candidate]
) -> Callable[[], dict[int, PostRow]]:
    """Which of these have come before."""
    return ask_posts(transaction, [each.id for each in candidates]) if candidates else dict


class _Clerk:
    """Writes the rows of the posts of one transaction."""

    def __init__(self, transaction: Transaction, vault: Vault, now: Snapshot) -> None:
        self._transaction, self._vault = transaction, vault
        self._now, self._settings = now, now.settings
        self._tick = arrival_tick(now, vault.clock)
        self._agreed: Terms | None = None  # the last terms that were looked at and found to hold
        self._known: dict[int, tuple[bytes, Receipt]] = {}  # requests that have come before
        self._lockouts: dict[bytes, Standstill | None] = {}  # of the accounts that posts need
        self._posts: list[dict[str, object]] = []
        self._arrivals: list[dict[str, object]] = []
        # Whether a label or legacy depends on the actor's earlier posts: then these come in turn.
        self._looks_back = now.heirlooms or not now.settings.waits_for_label

    def take_turns(self, requests: Sequence[Sequence[Candidate]]) -> None:
        """Keep others waiting who post for the same actors, where posts of an actor come in turn."""
        if self._looks_back:
            self._transaction.lock({each.actor for request in requests for each in request})
            # Another post of the actor, which we have waited for, may have got a later tick.
            self._now = snapshot(self._transaction)
            self._tick = arrival_tick(self._now, self._vault.clock)

    def recall(self, candidates: Sequence[Candidate], posts: Mapping[int, PostRow]) -> None:
        """Note which of these have come before, and what became of them."""
        for each in candidates:
            if post := posts.get(each.id):
                status = status_of(self._transaction, self._settings, post)
                self._known[each.id] = post.body or b"", Receipt(each.secret, each.id, status)

    def answer(self, request: Sequence[Candidate]) -> list[Receipt] | TarryError:
        """All posts of one request, or why none of them; of one that has come before, its receipts."""
        try:
            if self._known and (receipts := self._seen(request)) is not None:
                return receipts
            # Looked up once: a parent that goes meanwhile must not break what was half accepted.
            parents: list[PostRow | None] = []
            for each in request:
                if each.terms is not self._agreed:
                    self._check_terms(each.terms)
                parents.append(_waiting_parent(self._transaction, self._settings.sharing, each))
        except TarryError as refusal:
            return refusal
        return [*map(self._accept, request, parents)]

    def _check_terms(self, terms: Terms) -> None:
        policy = terms.policy
        self._settings.check(policy)
        self._settings.sharing.check_policy(self._now.policy, policy)
        if not terms.is_open:
            raise Paused(CLOSED)
        if self._tick < terms.first_tick:
            wait = ceil((terms.first_tick - self._tick) * policy.tick)
            raise Paused(_CHANGING.format(wait=wait), wait_s=wait)
        check_period(policy, self._tick)
        self._agreed = terms

    def _seen(self, request: Sequence[Candidate]) -> list[Receipt] | None:
        """The receipts of a request that was accepted before."""
        known = [self._known.get(each.id) for each in request]
        if not any(known):
            return None
        same = [it and it[0] == each.body and it[1] for it, each in zip(known, request, strict=True)]
        if not all(same):
            raise AlreadyUsed
        return [receipt for receipt in same if receipt]

    def _accept(self, each: Candidate, parent: PostRow | None) -> Receipt:
        old = self._heirloom(each) if self._now.heirlooms else None
        ticks = self._arrive(each) if old is None else self._inherit(each, old)
        release = ticks.release
        if parent is not None:
            above = prospect(parent.timing, self._settings).release
            release = release if release is None or above is None else after_parents(release, above)
            ticks = behind_parents(self._transaction, self._settings, ticks, parent)
        self._posts.append(
            {
                "id": each.id,
                "target": each.post.target,
                "outlet": each.post.outlet,
                "options": each.options,
                "content": each.content,
                "release": release,
                "parent": parent and parent.id,
                "receipt": each.receipt,
                "pseudonym": each.sealed,
                "body": each.body,
            }
        )
        if not self._settings.waits_for_label:
            self._write()  # the next one's label may look at this one
        receipt = Receipt(each.secret, each.id, ticks.status(State.WAITING, self._settings.tick))
        if each.body is not None:
            self._known[each.id] = each.body, receipt  # the same request may come twice at once
        return receipt

    def end(self) -> None:
        """Store what is left, and remember the snapshot that follows from it.

        Nobody can who has looked back: heirs have changed more than arrivals.
        """
        remembers = bool(self._arrivals) and not self._looks_back
        self._write()
        if remembers:
            self._transaction.remember(self._now.with_arrival(self._tick))

    def _write(self) -> None:
        """Store what has been collected."""
        self._transaction.many("insert_post", self._posts)
        self._transaction.many("insert_arrival", self._arrivals)
        self._posts, self._arrivals = [], []

    def _heirloom(self, each: Candidate) -> Timing | None:
        while (old := find_heirloom(self._transaction, each.pseudonym, self._now.closed)) is not None:
            if self._transaction.run("take_legacy", id=old.id):
                return old
            # Its author has just put something else into its place.
        return None

    def _arrive(self, each: Candidate) -> Prospect:
        arrival, deadline, shift = self._tick, each.terms.policy.deadline_tick, 0
        if self._now.lockout is not None and (lockout := self._lockout(each.post)):
            shift = lockout.ahead(arrival)
        if shift and deadline is not None:
            deadline = max(deadline - shift, arrival)  # a public one stays where it is
        label = None if self._settings.waits_for_label else self._label(each, arrival)
        if each.terms.adoption == "everyone" or self._delayed(each, arrival):
            ticks = prospect_of(arrival, each.draws, label, self._settings, deadline, span=each.span)
        else:
            ticks = Prospect(arrival, arrival)
        if shift:
            ticks = ticks.later(shift)
        self._arrivals.append(
            {
                "id": each.id,
                "actor": each.actor,
                "pseudonym": each.pseudonym,
                "arrival": arrival,
                "declared": int(each.post.more_to_come),
                "unbatched": each.draws.unbatched,
                "batched": each.draws.batched,
                "deadline": deadline,
                "shift": shift if shift and ticks.release is None else 0,
                "label": label,
                "period": each.terms.period,
                **_instead_of_draws(ticks),
            }
        )
        return ticks

    def _lockout(self, post: Post) -> Standstill | None:
        """The lockout of the account that a post needs."""
        clock = clock_of(self._vault, post.outlet, post.options)
        if clock is not None and clock not in self._lockouts:
            self._lockouts[clock] = standstill(self._transaction, clock)
        return None if clock is None else self._lockouts[clock]

    def _delayed(self, each: Candidate, arrival: int) -> bool:
        """Whether the account has adopted delays; decided ahead of time, never for one post."""
        row = self._transaction.one("adopted", account=self._vault.keys.account(each.actor), tick=arrival)
        return each.terms.adoption == "opt-out" if row is None else bool(row["delayed"])

    def _label(self, each: Candidate, arrival: int) -> int:
        """The label, which is known at admission."""
        settings, who = self._settings, {"actor": each.actor}
        if settings.labels == "none":
            return 0
        since = arrival - settings.window_ticks
        if has_answer(self._transaction, "follows", **who, pseudonym=each.pseudonym, since=since):
            return 1
        if settings.labels == "declared" and each.post.more_to_come:
            return 1
        if settings.labels == "declared":
            return int(has_answer(self._transaction, "declared_before", **who, since=since))
        return 0

    def _inherit(self, each: Candidate, old: Timing) -> Prospect:
        """A repost takes over tick and draws of the withdrawn post, so that nobody shops for short ones."""
        ticks, shift = prospect(old, self._settings), 0
        drawn = prospect(old._replace(earliest=None, latest=None), self._settings)
        lockout = None if self._now.lockout is None else self._lockout(each.post)
        if lockout is not None and drawn.earliest is not None:
            shift = lockout.behind(drawn.earliest)
            # By how much it moves depends on the draws: where these are not told, that is not told either.
            ticks = lockout.around(ticks) if ticks.in_between else ticks.later(shift)
        self._transaction.tell("bequeath_post", id=old.id, closed=self._now.closed)
        self._transaction.tell(
            "bequeath_arrival",
            id=old.id,
            ticks=shift if ticks.release is None else 0,
            heir=each.id,
            **_instead_of_draws(ticks),
        )
        return ticks


def _instead_of_draws(ticks: Prospect) -> dict[str, int | None]:
    """The columns that are told of an arrival while its label is open, if its draws must not be."""
    return {"earliest": ticks.earliest, "latest": ticks.latest} if ticks.in_between else _TOLD_BY_DRAWS


def _waiting_parent(transaction: Transaction, sharing: Sharing, child: Candidate) -> PostRow | None:
    """The waiting post that goes first; a visible one needs no waiting for."""
    first = child.post.depends_on
    if first is None:
        return None
    parent = (
        post_by_key(transaction, first) if isinstance(first, int) else post_by_receipt(transaction, first)
    )
    if parent is not None and parent.state is State.RELEASED:
        return None
    if parent is None or not parent.state.is_on_its_way or not sharing.is_of_author(parent, child):
        raise BadInput(
            "depends_on names no post that can go first",
            "use the receipt of your own waiting post on the same target, or the id (or receipt) of a "
            "visible one",
        )
    return parent
