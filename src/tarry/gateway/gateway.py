"""A gateway: one store, its spaces, and the decisions that need both.

Everything here may block; nothing here knows HTTP.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from threading import Lock
from typing import Any, TypeVar

from tarry.core.entropy import Entropy, Secure
from tarry.core.errors import NotPossible, TarryError
from tarry.core.policy import Policy
from tarry.gateway import space_changes
from tarry.gateway.catalog import (
    NO_SPACE,
    Catalog,
    Scope,
    Space,
    add_token,
    generation_of,
    read_catalog,
    revoke_token,
)
from tarry.gateway.outlets import SpaceOutlets
from tarry.gateway.policy_changes import change_policy
from tarry.gateway.upkeep import ParkedPost, parked_posts
from tarry.keep.admission import CLOSED, Adoption, Candidate, accepting, prepare
from tarry.keep.errors import NoSuchPost, Paused, TooLate
from tarry.keep.gate import Gate
from tarry.keep.keys import Keys
from tarry.keep.outlet import Outlet
from tarry.keep.posts import Post, Receipt, Status
from tarry.keep.rows import post_by_key
from tarry.keep.store import Clock, Store, Transaction, Vault, current_tick, snapshot

__all__ = ["NOT_PARKED", "Gateway", "Outcome", "Submission"]

#: The message for an id that no parked post of a space has.
NOT_PARKED = "this space has no parked post with this id: look at the list again"
T = TypeVar("T")

#: The receipts of a submission, or why it was refused.
Outcome = list[Receipt] | TarryError


@dataclass(frozen=True, kw_only=True)
class Submission:
    """Posts that are submitted together: all of them are accepted, or none.

    >>> Submission(space="talk", posts=()).key is None
    True
    """

    space: str
    posts: Sequence[Post]  # their actor, target, content and options; the space decides on the outlet
    key: str | None = None  # the sender's idempotency key: the same submission with it is accepted once
    sender: bytes = b""  # the token whose keys these are; it is stored nowhere
    body: bytes = b""  # the whole request, to recognise it when it is repeated


class Gateway:
    """A store with the gateway's tables and at least one space. `outlets` replace those of their spaces.

    >>> from tarry.core.policy import Policy
    >>> from tarry.gateway.database import open_store
    >>> from tarry.testing import ManualClock
    >>> store, keys, clock = open_store(":memory:"), Keys(bytes(32)), ManualClock()
    >>> policy = Policy(epsilon="1", gap="11m", window="5m")
    >>> with store.transaction("closing") as transaction:
    ...     space = space_changes.add_space(transaction, keys, clock, "talk", policy)
    >>> gateway = Gateway(store, keys, clock)
    >>> post = Post(actor="ann", target="paper 3", outlet="", content=b"I agree.")
    >>> gateway.admit([Submission(space="talk", posts=[post])])[0][0].status.state
    'waiting'
    """

    def __init__(
        self,
        store: Store,
        keys: Keys,
        clock: Clock | None = None,
        *,
        outlets: Mapping[str, Outlet] | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.store, self.keys = store, keys
        self._entropy, self._receipt_key = entropy or Secure(), keys.secret("receipts")
        self._refreshing = Lock()
        with store.transaction("reading") as transaction:
            self.catalog = read_catalog(transaction)
        if not self.catalog.spaces:
            raise NotPossible(NO_SPACE)
        # Outlets are looked up inside transactions: from the last reading, never from the store.
        self.vault = Vault(store, keys, SpaceOutlets(lambda: self.catalog, keys, outlets), clock)
        self.clock: Clock = self.vault.clock
        self.receipts = Gate(self.vault)

    def refresh(self) -> Catalog:
        """Read the catalog again if it has changed; the newest reading."""
        with self._refreshing:
            with self.store.transaction("reading") as transaction:
                if generation_of(transaction) != self.catalog.generation:
                    self.catalog = read_catalog(transaction)
                    # All policies have the same tick, window and labels: no table is read for them.
                    now = next(iter(self.catalog.spaces.values())).version.policy
                    self.vault.settings = replace(
                        self.vault.settings, tick=now.tick, window_ticks=now.window_ticks, labels=now.labels
                    )
            return self.catalog

    # --- submitting -------------------------------------------------------------------------------

    def admit(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Accept submissions in one transaction, each whole or not at all; the outcome of each."""
        for _ in range(5):
            catalog = self.catalog
            prepared = [self._prepare(catalog, submission) for submission in submissions]
            ready = [each for each in prepared if not isinstance(each, TarryError)]
            if not ready:
                return [each for each in prepared if isinstance(each, TarryError)]
            with self.store.transaction("admitting") as transaction:
                accept_now = accepting(transaction, self.vault, ready)
                is_fresh = generation_of(transaction) == catalog.generation
                accepted = iter(accept_now() if is_fresh else [])
            if is_fresh:
                outcomes = (each if isinstance(each, TarryError) else next(accepted) for each in prepared)
                return [_or_ended(catalog, *pair) for pair in zip(submissions, outcomes, strict=True)]
            self.refresh()
        raise Paused("this gateway's spaces are being changed: try again")

    def _prepare(self, catalog: Catalog, submission: Submission) -> list[Candidate] | TarryError:
        try:
            space = catalog.space(submission.space)
            return [self._candidate(space, submission, n, post) for n, post in enumerate(submission.posts)]
        except TarryError as refusal:
            return refusal

    def _candidate(self, space: Space, submission: Submission, number: int, post: Post) -> Candidate:
        placed = replace(
            post,
            actor=f"{space.circle}/{post.actor}" if post.actor else "",
            outlet=space.name,
            depends_on=self._parent(space, post.depends_on),
            space=space.name,
        )
        secret = body = None
        if submission.key is not None:
            secret = self._secret(submission, number)
            # Keyed with what is not stored: even with the store's key nobody can test a guess.
            body = blake2b(submission.body, key=bytes.fromhex(secret), digest_size=16).digest()
        return prepare(self.vault, space.terms, self._entropy, placed, secret=secret, body=body)

    def _parent(self, space: Space, parent: str | int | None) -> str | int | None:
        """The post that another one waits for; None where it is visible already."""
        if isinstance(parent, str) and len(parent) == 32:  # the length of a public id
            with self.store.transaction("reading") as transaction:
                if transaction.one("is_released", space=space.name, id=parent):
                    return None
        return parent

    def _secret(self, submission: Submission, number: int) -> str:
        """The receipt of a submission that may be repeated: always the same, and nobody can guess it."""
        parts = (
            submission.sender,
            submission.space.encode(),
            (submission.key or "").encode(),
            str(number).encode(),
        )
        message = b"".join(len(part).to_bytes(8) + part for part in parts)
        return blake2b(message, key=self._receipt_key, digest_size=32).hexdigest()

    # --- with a receipt ---------------------------------------------------------------------------

    def replace(
        self, receipt: str, content: bytes, options: Mapping[str, Any] | None, kind: Mapping[str, Any]
    ) -> Status:
        """Replace the content of a post; without new options it keeps the old ones, except its `kind`.

        A post that an operator has withdrawn has none left, and a paused space accepts nothing for it.
        """
        if self.receipts.status(receipt).state == "withdrawn":
            space, _ = self.receipts.reading(receipt)
            if not self.refresh().space(space).is_open:
                raise Paused(CLOSED)
            options = options or {}
        elif options is None:
            if (post := self.receipts.key_of(receipt)) is None:
                raise NoSuchPost
            old = self.receipts.options_of(post)
            options = {name: value for name, value in old.items() if name != "content_type"}
        change = partial(self.receipts.replace, receipt, content, {**options, **kind})
        try:
            return change()
        except KeyError:  # a space that another server has just made
            self.refresh()
            return change()

    # --- what operators and accounts may change: nothing leaves early -----------------------------

    def parked(self, space: str) -> list[ParkedPost]:
        """The posts of a space that a person has to look at."""
        with self.store.transaction("reading") as transaction:
            return parked_posts(transaction, space=space)

    def retry(self, space: str, post: int) -> None:
        """Put a parked post back: its release is past, so it leaves at the next chance."""
        self._check_parked(space, post)
        self.receipts.unpark_post(post)

    def withdraw_parked(self, space: str, post: int) -> None:
        """Withdraw a parked post."""
        self._check_parked(space, post)
        self.receipts.withdraw_post(post)

    def withdraw_on(self, space: str, target: str) -> int:
        """Withdraw what waits on a target; how many posts.

        Not the posts of one actor: whoever could ask for that could try names on a stolen copy.
        """
        self.refresh().space(space)
        with self.store.transaction("working") as transaction:
            rows = transaction.all("waiting_on", space=space, target=target)
            return sum(self.receipts.withdraw_within(transaction, row["id"]) for row in rows)

    def adopt_delays(self, space: str, *, actor: str, delayed: bool) -> int:
        """Let an account opt in or out of delays, ahead of time; the first tick of its choice."""
        return self._change(
            lambda transaction: space_changes.adopt_delays(
                transaction, self.keys, self.clock, space, actor=actor, delayed=delayed
            )
        )

    def open_space(self, space: str, *, is_open: bool) -> None:
        """Open a space for posts, or pause it."""
        self._change(lambda transaction: space_changes.open_space(transaction, space, is_open=is_open))

    def add_space(
        self, name: str, policy: Policy, *, title: str = "", adoption: Adoption = "everyone"
    ) -> None:
        """Make a space that releases to its feed."""
        choices: space_changes.SpaceChoices = {"title": title, "adoption": adoption}
        self._change(
            lambda transaction: space_changes.add_space(
                transaction, self.keys, self.clock, name, policy, **choices
            )
        )

    def change_space(self, name: str, *, title: str, policy: Policy) -> None:
        """Give a space another title, and another policy after a pause, where they are others."""

        def change(transaction: Transaction) -> None:
            space = read_catalog(transaction).space(name)
            if title != space.title:
                space_changes.change_space(transaction, name, title=title)
            if policy != space.version.policy:
                change_policy(transaction, self.clock, name, policy)

        self._change(change)

    def add_token(self, name: str, scopes: Iterable[Scope], within: Iterable[str] = ()) -> tuple[str, str]:
        """Make a token: its id and its secret."""
        return self._change(
            lambda transaction: add_token(transaction, read_catalog(transaction), name, scopes, within)
        )

    def revoke_token(self, token_id: str) -> None:
        """Revoke a token."""
        self._change(lambda transaction: revoke_token(transaction, token_id))

    def resumes_at(self, space: Space) -> Fraction | None:
        """When the pause before a new policy is over, in seconds since 1970; None: there is no pause."""
        with self.store.transaction("reading") as transaction:
            return space.resumes_at(current_tick(snapshot(transaction), self.clock))

    def _change(self, change: Callable[[Transaction], T]) -> T:
        with self.store.transaction("closing") as transaction:
            changed = change(transaction)
        self.refresh()
        return changed

    def _check_parked(self, space: str, post: int) -> None:
        """Refuse a post that is not parked. One of another space counts as none."""
        with self.store.transaction("reading") as transaction:
            row = post_by_key(transaction, post)
        if row is None or row.outlet != space:
            raise NoSuchPost(NOT_PARKED)
        if row.state.public != "parked":
            raise TooLate(row.state.public)


def _or_ended(catalog: Catalog, submission: Submission, outcome: Outcome) -> Outcome:
    """A space that has ended accepts nothing later either; what it has accepted it still recognises."""
    if isinstance(outcome, Paused) and catalog.space(submission.space).has_ended:
        return Paused(f"space {submission.space!r} has ended and takes no more posts: use another space")
    return outcome
