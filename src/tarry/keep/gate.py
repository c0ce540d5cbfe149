"""The gate: admit, status, replace, withdraw, repeat. Decisions, without a door of any kind.

A post is accepted in one transaction that stores its draws with it; from then on its label alone decides
when it leaves. Whatever the gate answers looks at the asker's own posts only.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tarry.core.entropy import Entropy, Secure
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.keep.admission import accept, prepare
from tarry.keep.checks import check_content
from tarry.keep.errors import NoSuchPost, TooLate, Unavailable
from tarry.keep.posts import Post, Receipt, Status
from tarry.keep.prospects import behind_parents, prospect
from tarry.keep.store import Kind, Row, Transaction, by_receipt
from tarry.keep.vault import Vault

__all__ = ["Gate"]

_SHOWN = ("id", "state", "target", "outlet", "parent")


class Gate:
    """The decisions of one store under one policy.

    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m", window="5m")
    >>> gate = Gate(memory_vault(policy), policy)
    >>> receipt = gate.admit(Post(actor="ann", target="paper 3", outlet="list", content=b"I agree."))
    >>> gate.withdraw(receipt.secret).state
    'withdrawn'
    """

    def __init__(self, vault: Vault, policy: Policy, entropy: Entropy | None = None) -> None:
        vault.settings.check(policy)
        self.vault, self.policy = vault, policy
        self._entropy = entropy or Secure()
        # In one person's own store an admission closes ticks too, which happens alone.
        self._admitting: Kind = "closing" if vault.settings.personal else "admitting"

    def admit(self, post: Post) -> Receipt:
        """Accept a post: when this returns, it is stored and will leave at its tick."""
        return self.admit_many([post])[0]

    def admit_many(self, posts: Sequence[Post]) -> list[Receipt]:
        """Accept several posts at once, all or none of them."""
        candidates = [prepare(self.vault, self.policy, self._entropy, post) for post in posts]
        receipts: list[Receipt] = []
        try:
            with self.vault.store.transaction(self._admitting) as transaction:
                receipts = accept(transaction, self.vault, self.policy, candidates)
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

    def status(self, receipt: str) -> Status:
        """When a post leaves, as far as that is known, or what became of it."""
        with self.vault.store.transaction("reading") as transaction:
            return self._status(transaction, _find(transaction, receipt))

    def replace(self, receipt: str, content: bytes, options: Mapping[str, Any] | None = None) -> Status:
        """Change what will be said; when it will be said stays as it is."""
        with self.vault.store.transaction("working") as transaction:
            row = _find(transaction, receipt)
            check_content(content)
            kept = self._options(transaction, row) if options is None else options
            self.vault.outlets[row["outlet"]].check(kept)
            seal, number = self.vault.seal, row["id"]
            if not transaction.run(
                "replace",
                id=number,
                content=seal.shut(number, "content", content),
                options=seal.shut(number, "options", json.dumps(dict(kept), sort_keys=True).encode()),
            ):
                raise TooLate(_last_state(row))
            return self._status(transaction, row)

    def withdraw(self, receipt: str) -> Status:
        """Take a post back. It still counts for labels."""
        with self.vault.store.transaction("working") as transaction:
            row = _find(transaction, receipt)
            _withdraw(transaction, row)
            return self._status(transaction, {**row, "state": "withdrawn", "problem": None})

    def withdraw_post(self, post: int) -> None:
        """Take a post back by its key, as the owner of the store may."""
        with self.vault.store.transaction("working") as transaction:
            _withdraw(transaction, _by_id(transaction, post))

    def repeat_post(
        self, post: int, actor: str, *, track: str | None = None, more_to_come: bool = False
    ) -> Receipt:
        """Admit a parked post anew, by its key, as an act of this moment.

        It waits again like any other: leaving at once would show when its owner was at the keyboard. Its
        track, and whether more will come, are not stored, and are asked for again.
        """
        with self.vault.store.transaction("reading") as transaction:
            row = _by_id(transaction, post)
            if row["state"] != "parked":
                raise TooLate(_last_state(row))
            content = self.vault.seal.open(post, "content", _payload(transaction, row)["content"])
            options = self._options(transaction, row)
        again = Post(
            actor=actor,
            target=row["target"],
            outlet=row["outlet"],
            content=content,
            options=options,
            track=track,
            more_to_come=more_to_come,
            depends_on=row["parent"],
        )
        candidate = prepare(self.vault, self.policy, self._entropy, again)
        with self.vault.store.transaction(self._admitting) as transaction:
            # Gone, not withdrawn: its own release is past, and the new act draws for itself.
            if not transaction.run("drop_parked", id=post):
                raise TooLate("not parked any more")
            receipt = accept(transaction, self.vault, self.policy, [candidate])[0]
            transaction.tell("adopt_children", id=post, heir=receipt.post)
            return receipt

    def unpark_post(self, post: int) -> None:
        """Put a parked post back, as an operator may once its outlet works again: it leaves at once."""
        if self.vault.settings.personal:
            raise BadInput("a parked post", "is repeated in one person's own store", found="it put back")
        with self.vault.store.transaction("working") as transaction:
            if not transaction.run("unpark", id=post):
                raise TooLate(_last_state(_by_id(transaction, post)))

    def key_of(self, receipt: str) -> int | None:
        """The key of the post that a receipt names, if there is one."""
        with self.vault.store.transaction("reading") as transaction:
            row = by_receipt(transaction, receipt)
        return None if row is None else int(row["id"])

    def options_of(self, post: int) -> Mapping[str, Any]:
        """What the outlet of a waiting post was told, for the owner of the store."""
        with self.vault.store.transaction("reading") as transaction:
            return self._options(transaction, _by_id(transaction, post))

    def posts(self) -> list[tuple[Row, Status]]:
        """Every post that waits or is parked, with its status: the view of the store's owner.

        Of a post: its id, state, target, outlet and parent. What is known of its arrival stays inside.
        """
        with self.vault.store.transaction("reading") as transaction:
            return [
                ({name: row[name] for name in _SHOWN}, self._status(transaction, row))
                for row in transaction.all("not_done")
            ]

    def batched_acts(self, actor: str) -> int:
        """How many batched acts the ledger has counted for an actor in this policy's period."""
        keys = self.vault.keys
        period = "" if self.policy.starts_at is None else str(self.policy.starts_at)
        with self.vault.store.transaction("reading") as transaction:
            row = transaction.one("account", account=keys.account(keys.actor(actor)), period=period)
        return 0 if row is None else int(row["batched"])

    def _status(self, transaction: Transaction, row: Row) -> Status:
        ticks = prospect(row, self.vault.settings)
        if row["state"] == "waiting" and row["parent"] is not None:
            above = transaction.one("by_id", id=row["parent"])
            ticks = behind_parents(transaction, self.vault.settings, ticks, above)
        return ticks.status(row["state"], self.vault.settings.tick, row["problem"])

    def _options(self, transaction: Transaction, row: Row) -> Mapping[str, Any]:
        stored = _payload(transaction, row)["options"]
        options: Mapping[str, Any] = json.loads(self.vault.seal.open(row["id"], "options", stored))
        return options


def _find(transaction: Transaction, receipt: str) -> Row:
    if (row := by_receipt(transaction, receipt)) is None:
        raise NoSuchPost
    return row


def _by_id(transaction: Transaction, post: int) -> Row:
    if (row := transaction.one("by_id", id=post)) is None:
        raise NoSuchPost
    return row


def _payload(transaction: Transaction, row: Row) -> Row:
    payload = transaction.one("payload", id=row["id"])
    if payload is None or payload["content"] is None:
        raise TooLate(_last_state(row))
    return payload


def _withdraw(transaction: Transaction, row: Row) -> None:
    if not transaction.run("withdraw", id=row["id"]):
        raise TooLate(_last_state(row))


def _last_state(row: Row) -> str:
    return "leaving at this moment" if row["state"] == "waiting" else str(row["state"])
