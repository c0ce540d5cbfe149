"""What a receipt lets its holder do: ask, replace, withdraw. And what an operator may do with a post.

Whatever is answered looks at the asker's own posts only. No policy is needed: when a post leaves was
decided when it was admitted.
"""

import json
from collections.abc import Mapping
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.account_clock import account_of
from tarry.keep.checks import check_delivery
from tarry.keep.errors import NoSuchPost, TooLate
from tarry.keep.keys import under_receipt
from tarry.keep.posts import Status, is_doubt
from tarry.keep.prospects import status_of
from tarry.keep.store import Row, Transaction, by_receipt, place
from tarry.keep.tries import is_in_doubt
from tarry.keep.vault import Vault

__all__ = ["Receipts"]

_SHOWN = ("id", "state", "target", "outlet", "parent")


class Receipts:
    """The posts of one store, by their receipts; for its operator, by their keys.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> Receipts(memory_vault(Policy(epsilon="1", gap="11m"))).posts()
    []
    """

    def __init__(self, vault: Vault) -> None:
        self.vault = vault

    def status(self, receipt: str) -> Status:
        """When a post leaves, as far as that is known, or what became of it."""
        with self.vault.store.transaction("reading") as transaction:
            return status_of(transaction, self.vault.settings, _find(transaction, receipt))

    def replace(self, receipt: str, content: bytes, options: Mapping[str, Any] | None = None) -> Status:
        """Change what will be said; when it will be said stays as it is.

        The place of a post that an operator has taken back can be used again until its release.
        """
        with self.vault.store.transaction("working") as transaction:
            row = _find(transaction, receipt)
            if row["state"] != "withdrawn":
                kept = self._options(transaction, row) if options is None else options
                if not transaction.run("replace", **self._payload(transaction, row, content, kept)):
                    raise TooLate(last_state(row))
                return status_of(transaction, self.vault.settings, row)
        return self._revive(receipt, content, options or {})

    def _revive(self, receipt: str, content: bytes, options: Mapping[str, Any]) -> Status:
        """Like an admission: none runs beside a move of all that waits for an account."""
        with self.vault.store.transaction("admitting") as transaction:
            row = _find(transaction, receipt)
            legacy = transaction.one("legacy", id=row["id"])
            if legacy is None or legacy["target"] is None:
                raise TooLate(last_state(row))
            payload = self._payload(transaction, row, content, options)
            if not transaction.run("take_legacy", id=row["id"]):  # a repost was quicker
                raise TooLate(last_state(row))
            transaction.tell("revive", target=legacy["target"], sealed=legacy["sealed"], **payload)
            return status_of(transaction, self.vault.settings, by_key(transaction, row["id"]))

    def _payload(
        self, transaction: Transaction, row: Row, content: bytes, options: Mapping[str, Any]
    ) -> dict[str, object]:
        self.vault.follow(place(transaction).settings)
        check_delivery(self.vault.outlets[row["outlet"]], options, content)
        seal, number = self.vault.seal, row["id"]
        stored = json.dumps(dict(options), sort_keys=True).encode()
        return {
            "id": number,
            "content": seal.shut(number, "content", content),
            "options": seal.shut(number, "options", stored),
        }

    def withdraw(self, receipt: str) -> Status:
        """Take a post back. It still counts for labels."""
        with self.vault.store.transaction("working") as transaction:
            row = _find(transaction, receipt)
            if not self._take_back(transaction, row, self._opened(row, receipt), by_author=True):
                raise TooLate(last_state(row))
            gone = {**row, "state": "withdrawn", "problem": None}
            return status_of(transaction, self.vault.settings, gone)

    def withdraw_post(self, post: int) -> None:
        """Take a post back by its key, as the owner or the operator of the store may."""
        with self.vault.store.transaction("working") as transaction:
            if not self.withdraw_within(transaction, row := by_key(transaction, post)):
                raise TooLate(last_state(row))

    def withdraw_within(self, transaction: Transaction, row: Row) -> bool:
        """The same as part of a transaction; whether there was time.

        Without a receipt nobody but the owner of a personal store knows whose it is, once its arrival is
        erased. So its author may put something else into its place, with the receipt.
        """
        return self._take_back(
            transaction, row, self._opened(row, None), by_author=self.vault.settings.personal
        )

    def unpark_post(self, post: int) -> None:
        """Put a parked post back, as an operator may once its outlet works again: it leaves at once."""
        if self.vault.settings.personal:
            raise BadInput("a parked post", "is repeated in one person's own store", found="it put back")
        with self.vault.store.transaction("working") as transaction:
            row = by_key(transaction, post)
            # What may have left still may, until the next try has shown.
            problem = None if is_doubt(row["problem"]) else row["problem"]
            outlet = self.vault.outlets.get(row["outlet"])
            anew = int(outlet is not None and outlet.logs_in)
            if not transaction.run("unpark", id=post, problem=problem, anew=anew):
                raise TooLate(last_state(row))
            while transaction.run("raise_children"):  # it is due now, and they were behind it
                pass

    def key_of(self, receipt: str) -> int | None:
        """The key of the post that a receipt names, if there is one."""
        with self.vault.store.transaction("reading") as transaction:
            row = by_receipt(transaction, receipt)
        return None if row is None else int(row["id"])

    def options_of(self, post: int) -> Mapping[str, Any]:
        """What the outlet of a waiting post was told, for the owner of the store."""
        with self.vault.store.transaction("reading") as transaction:
            return self._options(transaction, by_key(transaction, post))

    def content_of(self, post: int) -> bytes:
        """What a waiting or parked post will say, for the owner of the store."""
        with self.vault.store.transaction("reading") as transaction:
            stored = payload_of(transaction, by_key(transaction, post))["content"]
            self.vault.follow(place(transaction).settings)
            return self.vault.seal.open(post, "content", stored)

    def reading(self, receipt: str) -> tuple[str, bytes | None]:
        """The outlet of a post and what it will say, for its author; None once nothing can be changed."""
        with self.vault.store.transaction("reading") as transaction:
            row = _find(transaction, receipt)
            payload = transaction.one("payload", id=row["id"])
            self.vault.follow(place(transaction).settings)
        stored = None if payload is None else payload["content"]
        content = None if stored is None else self.vault.seal.open(row["id"], "content", stored)
        return str(row["outlet"]), content

    def can_be_filled(self, receipt: str) -> bool:
        """Whether an operator has taken the post back, and its author may still use its place."""
        with self.vault.store.transaction("reading") as transaction:
            legacy = transaction.one("legacy", id=_find(transaction, receipt)["id"])
        return legacy is not None and legacy["target"] is not None

    def posts(self) -> list[tuple[Row, Status]]:
        """Every post that waits or is parked, with its status: the view of the store's owner.

        Of a post: its id, state, target, outlet and parent. What is known of its arrival stays inside.
        """
        with self.vault.store.transaction("reading") as transaction:
            return [
                (
                    {name: row[name] for name in _SHOWN},
                    status_of(transaction, self.vault.settings, row),
                )
                for row in transaction.all("not_done")
            ]

    def under_way(self) -> set[int]:
        """The posts that are being delivered at this moment, for the owner of the store."""
        with self.vault.store.transaction("reading") as transaction:
            now = self.vault.now(transaction)
            return {row["id"] for row in transaction.all("under_way", now=now)}

    def _opened(self, row: Row, receipt: str | None) -> bytes | None:
        """The pseudonym of a post that waits or is parked, as far as it can be told."""
        stored = None if row["pseudonym"] is None else bytes(row["pseudonym"])
        if stored is None or self.vault.settings.personal:
            return stored
        return None if receipt is None else under_receipt(receipt, stored)

    def _take_back(
        self, transaction: Transaction, row: Row, pseudonym: bytes | None, *, by_author: bool
    ) -> bool:
        """Withdraw a post, and write down what may be inherited from it."""
        account = self._account(transaction, row)
        if not transaction.run("withdraw", id=row["id"]):
            return False
        arrived = transaction.one("arrived_as", id=row["id"]) if pseudonym is None else None
        legacy = {
            "pseudonym": pseudonym if arrived is None else arrived["pseudonym"],
            "sealed": None if by_author else row["pseudonym"],
            "target": None if by_author else row["target"],
        }
        if any(value is not None for value in legacy.values()):
            transaction.tell("leave_legacy", id=row["id"], account=account, **legacy)
        return True

    def _account(self, transaction: Transaction, row: Row) -> bytes | None:
        """A hash of the account that a post needs: its place moves when the account cannot get in."""
        outlet = self.vault.outlets.get(row["outlet"])
        if outlet is None or self.vault.settings.personal or not outlet.logs_in:
            return None
        try:
            account = account_of(outlet, self._options(transaction, row))
        except Exception:  # noqa: BLE001 - options that cannot be opened do not keep a post from being withdrawn
            return None
        return None if account is None else self.vault.keys.legacy_login(row["id"], account)

    def _options(self, transaction: Transaction, row: Row) -> Mapping[str, Any]:
        stored = payload_of(transaction, row)["options"]
        self.vault.follow(place(transaction).settings)
        options: Mapping[str, Any] = json.loads(self.vault.seal.open(row["id"], "options", stored))
        return options


def by_key(transaction: Transaction, post: int) -> Row:
    """The post with this key."""
    if (row := transaction.one("by_id", id=post)) is None:
        raise NoSuchPost
    return row


def payload_of(transaction: Transaction, row: Row) -> Row:
    """What a post still holds of its content."""
    payload = transaction.one("payload", id=row["id"])
    if payload is None or payload["content"] is None:
        raise TooLate(last_state(row))
    return payload


def last_state(row: Row) -> str:
    """Why a post cannot be changed."""
    if is_in_doubt(row):
        return "under way, and how its delivery ended is not known yet: a later try shows"
    return "leaving at this moment" if row["state"] == "waiting" else str(row["state"])


def _find(transaction: Transaction, receipt: str) -> Row:
    if (row := by_receipt(transaction, receipt)) is None:
        raise NoSuchPost
    return row
