"""The gate: admit posts, and all that a receipt or an operator may do with one. Decisions, without a door.

A post is accepted in one transaction that stores its draws with it; from then on its label alone decides
when it leaves. Whatever is answered looks at the asker's own posts only.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tarry.core.entropy import Entropy, Secure
from tarry.core.errors import BadInput, NotPossible, TarryError
from tarry.core.policy import Policy
from tarry.keep.admission import Terms, accept, prepare
from tarry.keep.errors import NoSuchPost, TooLate, Unavailable
from tarry.keep.lockouts import account_of
from tarry.keep.outlet import check_delivery
from tarry.keep.posts import Post, PostRow, Receipt, State, Status
from tarry.keep.rows import (
    Legacy,
    Payload,
    post_by_key,
    post_by_receipt,
    read_one,
    status_of,
    unfinished_posts,
)
from tarry.keep.store import Row, Transaction, Vault, snapshot

__all__ = ["Gate"]


class Gate:
    """The decisions of one store, and admissions under one policy where it has one.

    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m", window="5m")
    >>> gate = Gate(memory_vault(policy), policy)
    >>> receipt = gate.admit(Post(actor="ann", target="paper 3", outlet="list", content=b"I agree."))
    >>> gate.withdraw(receipt.secret).state
    'withdrawn'
    """

    def __init__(self, vault: Vault, policy: Policy | None = None, entropy: Entropy | None = None) -> None:
        self.vault = vault
        self._entropy = entropy or Secure()
        self._terms: Terms | None = None
        if policy is not None:
            vault.settings.check(policy)
            self._terms = Terms(policy, "" if policy.starts_at is None else str(policy.starts_at))

    @property
    def policy(self) -> Policy:
        """What posts are admitted under."""
        return self.terms.policy

    @property
    def terms(self) -> Terms:
        """The policy, and the period that the ledger counts under."""
        if self._terms is None:
            raise NotPossible("this gate has no policy: give it one to admit posts")
        return self._terms

    # --- admission --------------------------------------------------------------------------------

    def admit(self, post: Post) -> Receipt:
        """Accept a post: when this returns, it is stored and will leave at its tick."""
        return self.admit_many([post])[0]

    def admit_many(self, posts: Sequence[Post]) -> list[Receipt]:
        """Accept several posts at once, all or none of them."""
        terms = self.terms
        candidates = [prepare(self.vault, terms, self._entropy, post) for post in posts]
        receipts: list[Receipt] = []
        try:
            with self.vault.store.transaction(self.vault.settings.sharing.admission) as transaction:
                receipts = _or_raise(accept(transaction, self.vault, [candidates])[0])
        except Unavailable as trouble:
            if receipts and self._is_there(receipts[0], trouble):
                return receipts
            raise
        return receipts

    def _is_there(self, receipt: Receipt, trouble: Unavailable) -> bool:
        """Whether a post was accepted although the store could not say so any more."""
        try:
            return self.key_of(receipt.secret) is not None
        except Unavailable:
            raise Unavailable(f"{trouble}; the post may or may not have been accepted") from trouble

    def repeat_post(
        self, post: int, actor: str, *, track: str | None = None, more_to_come: bool = False
    ) -> Receipt:
        """Admit a parked post anew, by its key, as an act of this moment.

        It waits again like any other: leaving at once would show when its owner was at the keyboard. Its
        track, and whether more will come, are not stored, and are asked for again.
        """
        with self.vault.store.transaction("reading") as transaction:
            old = _by_key(transaction, post)
            if old.state.public != "parked":
                raise TooLate(_why_unchangeable(old))
            content, options = self._opened(transaction, old, "content"), self._options(transaction, old)
        candidate = prepare(
            self.vault,
            self.terms,
            self._entropy,
            Post(
                actor=actor,
                target=old.target,
                outlet=old.outlet,
                content=content,
                options=options,
                track=track,
                more_to_come=more_to_come,
                depends_on=old.parent,
            ),
        )
        with self.vault.store.transaction(self.vault.settings.sharing.admission) as transaction:
            # Gone, not withdrawn: its own release is past, and the new act draws for itself.
            if not transaction.run("drop_parked", id=post):
                raise TooLate("not parked any more")
            receipt = _or_raise(accept(transaction, self.vault, [[candidate]])[0])[0]
            transaction.tell("adopt_children", id=post, heir=receipt.post)
            return receipt

    def batched_acts(self, actor: str) -> int:
        """How many batched acts the ledger has counted for an actor in this policy's period."""
        keys, period = self.vault.keys, self.terms.period
        with self.vault.store.transaction("reading") as transaction:
            row = transaction.one("account", account=keys.account(keys.actor(actor)), period=period)
        return 0 if row is None else int(row["batched"])

    # --- authors, with a receipt ------------------------------------------------------------------

    def status(self, receipt: str) -> Status:
        """When a post leaves, as far as that is known, or what became of it."""
        with self.vault.store.transaction("reading") as transaction:
            return status_of(transaction, self.vault.settings, _by_receipt(transaction, receipt))

    def replace(self, receipt: str, content: bytes, options: Mapping[str, Any] | None = None) -> Status:
        """Change what will be said; when it will be said stays as it is.

        The place of a post that an operator has taken back can be used again until its release.
        """
        with self.vault.store.transaction("working") as transaction:
            post = _by_receipt(transaction, receipt)
            if post.state is not State.WITHDRAWN:
                kept = self._options(transaction, post) if options is None else options
                if not transaction.run("replace", **self._payload(transaction, post, content, kept)):
                    raise TooLate(_why_unchangeable(post))
                return status_of(transaction, self.vault.settings, post)
        return self._revive(receipt, content, options or {})

    def _revive(self, receipt: str, content: bytes, options: Mapping[str, Any]) -> Status:
        """Like an admission: none runs beside a move of all that waits for an account."""
        with self.vault.store.transaction("admitting") as transaction:
            post = _by_receipt(transaction, receipt)
            legacy = read_one(transaction, Legacy, "legacy", id=post.id)
            if legacy is None:
                raise TooLate(_why_unchangeable(post))
            payload = self._payload(transaction, post, content, options)
            if not transaction.run("take_legacy", id=post.id):  # a repost was quicker
                raise TooLate(_why_unchangeable(post))
            transaction.tell("revive", target=legacy.target, sealed=legacy.sealed, **payload)
            return status_of(transaction, self.vault.settings, _by_key(transaction, post.id))

    def withdraw(self, receipt: str) -> Status:
        """Take a post back. It still counts for labels."""
        with self.vault.store.transaction("working") as transaction:
            post = _by_receipt(transaction, receipt)
            pseudonym = self.vault.settings.sharing.open_pseudonym(post.pseudonym, receipt)
            if not self._take_back(transaction, post, pseudonym, by_author=True):
                raise TooLate(_why_unchangeable(post))
            gone = post._replace(state=State.WITHDRAWN, problem=None)
            return status_of(transaction, self.vault.settings, gone)

    def key_of(self, receipt: str) -> int | None:
        """The key of the post that a receipt names, if there is one."""
        with self.vault.store.transaction("reading") as transaction:
            post = post_by_receipt(transaction, receipt)
        return None if post is None else post.id

    def reading(self, receipt: str) -> tuple[str, bytes | None]:
        """The outlet of a post and what it will say, for its author; None once nothing can be changed."""
        with self.vault.store.transaction("reading") as transaction:
            post = _by_receipt(transaction, receipt)
            payload = read_one(transaction, Payload, "payload", id=post.id)
            self.vault.follow(snapshot(transaction).settings)
        content = None if payload is None else self.vault.seal.open(post.id, "content", payload.content)
        return post.outlet, content

    def can_be_filled(self, receipt: str) -> bool:
        """Whether an operator has taken the post back, and its author may still use its place."""
        with self.vault.store.transaction("reading") as transaction:
            post = _by_receipt(transaction, receipt)
            return transaction.one("legacy", id=post.id) is not None

    # --- the owner or the operator of the store, by the key of a post -----------------------------

    def withdraw_post(self, post: int) -> None:
        """Take a post back by its key, as the owner or the operator of the store may."""
        with self.vault.store.transaction("working") as transaction:
            if not self.withdraw_within(transaction, post):
                raise TooLate(_why_unchangeable(_by_key(transaction, post)))

    def withdraw_within(self, transaction: Transaction, post: int) -> bool:
        """The same as part of a transaction; whether there was time.

        Without a receipt nobody but the owner of a personal store knows whose it is, once its arrival is
        erased. So its author may put something else into its place, with the receipt.
        """
        row, sharing = _by_key(transaction, post), self.vault.settings.sharing
        pseudonym = sharing.open_pseudonym(row.pseudonym, None)
        return self._take_back(transaction, row, pseudonym, by_author=sharing.owner_may_act)

    def unpark_post(self, post: int) -> None:
        """Put a parked post back, as an operator may once its outlet works again: it leaves at once."""
        if self.vault.settings.sharing.owner_may_act:
            raise BadInput("a parked post of one's own cannot be put back", "repeat it: tarry repeat")
        with self.vault.store.transaction("working") as transaction:
            row = _by_key(transaction, post)
            outlet = self.vault.outlets.get(row.outlet)
            anew = int(outlet is not None and outlet.logs_in)
            if not transaction.run("unpark", id=post, anew=anew):
                raise TooLate(_why_unchangeable(row))
            while transaction.run("raise_children"):  # it is due now, and they were behind it
                pass

    def replace_post(self, post: int, content: bytes) -> None:
        """Change what a waiting post of one's own will say, by its key; when it leaves stays as it is."""
        if not self.vault.settings.sharing.owner_may_act:
            raise NotPossible("only its author may change a post: use its receipt")
        with self.vault.store.transaction("working") as transaction:
            row = _by_key(transaction, post)
            options = self._options(transaction, row)
            if not transaction.run("replace", **self._payload(transaction, row, content, options)):
                raise TooLate(_why_unchangeable(row))

    def options_of(self, post: int) -> Mapping[str, Any]:
        """The options of a waiting or parked post, for the owner of the store."""
        with self.vault.store.transaction("reading") as transaction:
            return self._options(transaction, _by_key(transaction, post))

    def content_of(self, post: int) -> bytes:
        """What a waiting or parked post will say, for the owner of the store."""
        with self.vault.store.transaction("reading") as transaction:
            return self._opened(transaction, _by_key(transaction, post), "content")

    def posts(self) -> list[tuple[Row, Status]]:
        """Every post that waits or is parked, with its status: the view of the store's owner.

        Of a post: its id, state, target, outlet and parent. What is known of its arrival stays inside.
        """
        with self.vault.store.transaction("reading") as transaction:
            return [
                (
                    {
                        "id": post.id,
                        "state": post.state.public,
                        "target": post.target,
                        "outlet": post.outlet,
                        "parent": post.parent,
                    },
                    status_of(transaction, self.vault.settings, post),
                )
                for post in unfinished_posts(transaction)
            ]

    def under_way(self) -> set[int]:
        """The posts that are being delivered at this moment, for the owner of the store."""
        with self.vault.store.transaction("reading") as transaction:
            return {row["id"] for row in transaction.all("under_way", now=self.vault.now(transaction))}

    # --- inside -----------------------------------------------------------------------------------

    def _take_back(
        self, transaction: Transaction, post: PostRow, pseudonym: bytes | None, *, by_author: bool
    ) -> bool:
        """Withdraw a post, and write down what may be inherited from it."""
        account = self._account(transaction, post)
        if not transaction.run("withdraw", id=post.id):
            return False
        arrived = transaction.one("arrived_as", id=post.id) if pseudonym is None else None
        legacy = {
            "pseudonym": pseudonym if arrived is None else arrived["pseudonym"],
            "sealed": None if by_author else post.pseudonym,
            "target": None if by_author else post.target,
        }
        if any(value is not None for value in legacy.values()):
            transaction.tell("leave_legacy", id=post.id, account=account, **legacy)
        return True

    def _account(self, transaction: Transaction, post: PostRow) -> bytes | None:
        """A hash of the account that a post needs: its place moves when the account cannot get in."""
        outlet = self.vault.outlets.get(post.outlet)
        if outlet is None or not outlet.logs_in or self.vault.settings.sharing.has_one_clock:
            return None
        try:
            account = account_of(outlet, self._options(transaction, post))
        except Exception:  # noqa: BLE001 - options that cannot be opened do not keep a post from being withdrawn
            return None
        return None if account is None else self.vault.keys.legacy_login(post.id, account)

    def _payload(
        self, transaction: Transaction, post: PostRow, content: bytes, options: Mapping[str, Any]
    ) -> dict[str, object]:
        self.vault.follow(snapshot(transaction).settings)
        check_delivery(self.vault.outlets[post.outlet], options, content)
        seal, number = self.vault.seal, post.id
        return {
            "id": number,
            "content": seal.shut(number, "content", content),
            "options": seal.shut(number, "options", json.dumps(dict(options), sort_keys=True).encode()),
        }

    def _opened(
        self, transaction: Transaction, post: PostRow, field: Literal["content", "options"]
    ) -> bytes:
        """What a post still holds of its content or options."""
        payload = read_one(transaction, Payload, "payload", id=post.id)
        if payload is None:
            raise TooLate(_why_unchangeable(post))
        self.vault.follow(snapshot(transaction).settings)
        stored = payload.content if field == "content" else payload.options
        return self.vault.seal.open(post.id, field, stored)

    def _options(self, transaction: Transaction, post: PostRow) -> dict[str, Any]:
        return dict(json.loads(self._opened(transaction, post, "options")))


def _by_key(transaction: Transaction, post: int) -> PostRow:
    if (row := post_by_key(transaction, post)) is None:
        raise NoSuchPost
    return row


def _by_receipt(transaction: Transaction, receipt: str) -> PostRow:
    if (row := post_by_receipt(transaction, receipt)) is None:
        raise NoSuchPost
    return row


def _why_unchangeable(post: PostRow) -> str:
    """The state that keeps a post from being changed, in words."""
    if not post.state.is_on_its_way:
        return post.state.public
    if post.state.in_doubt:
        return "under way, and how its delivery ended is not known yet: a later try shows"
    return "leaving at this moment"


def _or_raise(answer: list[Receipt] | TarryError) -> list[Receipt]:
    if isinstance(answer, TarryError):
        raise answer
    return answer
