"""Accepting posts: one transaction that stamps them, stores their draws, and promises a release."""

from collections.abc import Sequence
from math import ceil

from tarry.core.errors import BadInput, TarryError
from tarry.core.release import after_parents
from tarry.keep.candidates import Candidate, Terms, check_period
from tarry.keep.closing import close_ticks
from tarry.keep.errors import AlreadyUsed, Paused
from tarry.keep.lockouts import Standstill, clock_of, standstill
from tarry.keep.posts import Post, Prospect, Receipt, behind_parents, prospect, prospect_of, status_of
from tarry.keep.rows import (
    PostRow,
    Timing,
    find_heirloom,
    has_answer,
    post_by_key,
    post_by_receipt,
    posts_by_key,
)
from tarry.keep.sharing import Sharing
from tarry.keep.states import State
from tarry.keep.store import Snapshot, Transaction, arrival_tick, snapshot
from tarry.keep.vault import Vault

__all__ = ["CLOSED", "accept"]

#: What is said while an operator lets nothing in.
CLOSED = "this space is paused by its operator: try again later"
_CHANGING = "this space takes no posts while its policy changes: try again in {wait} s"
_RESTORED = "this store was restored from a backup and is paused: wait until an operator resumes it"


def accept(
    transaction: Transaction, vault: Vault, requests: Sequence[Sequence[Candidate]]
) -> list[list[Receipt] | TarryError]:
    """Stamp and store, inside an admitting transaction: each request whole or not at all.

    >>> from tarry.core.entropy import Secure
    >>> from tarry.core.policy import Policy
    >>> from tarry.keep.candidates import prepare
    >>> from tarry.keep.posts import Post
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> vault = memory_vault(policy)
    >>> post = Post(actor="ann", target="paper 3", outlet="list", content=b"I agree.")
    >>> with vault.store.transaction("admitting") as transaction:
    ...     accept(transaction, vault, [[prepare(vault, Terms(policy), Secure(), post)]])[0][0].status.state
    'waiting'
    """
    now = snapshot(transaction)
    vault.follow(now.settings)
    if now.settings.paused:
        raise Paused(_RESTORED)
    if now.settings.sharing.admission == "closing":
        # Ticks missed by now must not move a post that arrives now.
        close_ticks(transaction, vault.keys, vault.clock)
        now = snapshot(transaction)
    clerk = _Clerk(transaction, vault, now)
    clerk.take_turns(requests)
    answers = list(map(clerk.answer, requests))
    clerk.end()
    return answers


class _Clerk:
    """Writes the rows of the posts of one transaction."""

    __slots__ = (
        "_agreed",
        "_arrivals",
        "_known",
        "_lockouts",
        "_looks_back",
        "_now",
        "_posts",
        "_settings",
        "_tick",
        "_transaction",
        "_vault",
    )

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
        """Keep others waiting who ask for the same, and look up which requests have come before."""
        names: set[bytes] = set()
        again: list[Candidate] = []
        for request in requests:
            if request and request[0].body is not None:
                # The first of a request stands for all of them: the same key has the same first receipt.
                names.add(request[0].receipt)
                again += request
            if self._looks_back:
                names |= {each.actor for each in request}
        if names:
            self._transaction.lock(names)
        if self._looks_back:
            # Another post of the actor, which we have waited for, may have got a later tick.
            self._now = snapshot(self._transaction)
            self._tick = arrival_tick(self._now, self._vault.clock)
        if again:
            self._recall(again)

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

    def _recall(self, candidates: Sequence[Candidate]) -> None:
        posts = posts_by_key(self._transaction, [each.id for each in candidates])
        for each in candidates:
            if post := posts.get(each.id):
                status = status_of(self._transaction, self._settings, post)
                self._known[each.id] = post.body or b"", Receipt(each.secret, each.id, status)

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
            ticks = prospect_of(arrival, each.draws, label, self._settings, deadline)
        else:
            ticks = Prospect(arrival, arrival)
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
            }
        )
        return ticks.later(shift) if shift else ticks

    def _lockout(self, post: Post) -> Standstill | None:
        """The lockout of the account that a post needs."""
        clock = clock_of(self._vault, post.outlet, post.options)
        if clock is not None and clock not in self._lockouts:
            self._lockouts[clock] = standstill(self._transaction, clock)
        return None if clock is None else self._lockouts[clock]

    def _delayed(self, each: Candidate, arrival: int) -> bool:
        """Whether the account has adopted delays; decided ahead of time, never for one post."""
        account = self._vault.keys.account(each.actor)
        row = self._transaction.one("adopted", account=account, tick=arrival)
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
        ticks = prospect(old, self._settings)
        lockout = None if self._now.lockout is None else self._lockout(each.post)
        shift = 0 if lockout is None or ticks.earliest is None else lockout.behind(ticks.earliest)
        self._transaction.tell("bequeath_post", id=old.id, closed=self._now.closed)
        kept = {"id": old.id, "ticks": shift if ticks.release is None else 0}
        self._transaction.tell("bequeath_arrival", **kept, heir=each.id)
        return ticks.later(shift)


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
