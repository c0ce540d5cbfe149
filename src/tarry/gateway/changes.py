"""What operators, accounts and authors may change: each in one transaction, and nothing leaves early."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from tarry.gateway import spaces
from tarry.gateway.book import Book, Scope, read_book
from tarry.gateway.tokens import add_token, revoke_token
from tarry.keep.admission import CLOSED
from tarry.keep.clock import Clock
from tarry.keep.errors import NoSuchPost, Paused, TooLate
from tarry.keep.gate import Gate
from tarry.keep.keys import Keys
from tarry.keep.posts import Status
from tarry.keep.rows import post_by_key
from tarry.keep.store import Row, Store, Transaction

__all__ = ["NOT_PARKED", "Changes"]

#: What is said of an id that no post of a space has.
NOT_PARKED = "this space has no parked post with this id"
T = TypeVar("T")


class Changes:
    """The changes that a gateway knows, beside admitting posts.

    >>> from tarry.gateway.testing import small_gateway
    >>> small_gateway().parked("talk")
    []
    """

    store: Store
    keys: Keys
    clock: Clock
    receipts: Gate
    refresh: Callable[[], Book]

    def replace(
        self, receipt: str, content: bytes, options: Mapping[str, Any] | None, kind: Mapping[str, Any]
    ) -> Status:
        """Say something else; without options of its own the post keeps the old ones, but for its kind.

        A post that an operator has taken back has none left, and a paused space takes nothing in for it.
        """
        if self.receipts.status(receipt).state == "withdrawn":
            self._check_open(receipt)
            options = options or {}
        elif options is None:
            if (post := self.receipts.key_of(receipt)) is None:
                raise NoSuchPost
            options = self.receipts.options_of(post)
            options = {name: value for name, value in options.items() if name != "content_type"}
        try:
            return self.receipts.replace(receipt, content, {**options, **kind})
        except KeyError:  # a space that another server has just made
            self.refresh()
            return self.receipts.replace(receipt, content, {**options, **kind})

    def parked(self, space: str) -> list[Row]:
        """What a person has to look at."""
        with self.store.transaction("reading") as transaction:
            return [row for row in transaction.all("parked") if row["outlet"] == space]

    def retry(self, space: str, post: int) -> None:
        """Put a parked post back: its release is past, so it leaves at the next chance."""
        self._check_parked(space, post)
        self.receipts.unpark_post(post)

    def withdraw_parked(self, space: str, post: int) -> None:
        """Take a parked post back."""
        self._check_parked(space, post)
        self.receipts.withdraw_post(post)

    def withdraw_on(self, space: str, target: str) -> int:
        """Take back what waits on a target; how many posts.

        Not what one actor has there: whoever could ask that could try names on a stolen copy.
        """
        self.refresh().space(space)
        with self.store.transaction("working") as transaction:
            rows = transaction.all("waiting_on", space=space, target=target)
            return sum(self.receipts.withdraw_within(transaction, row["id"]) for row in rows)

    def adopt_delays(self, space: str, *, actor: str, delayed: bool) -> int:
        """Let an account opt in or out, ahead of time; the first tick at which it holds."""
        return self._change(
            lambda transaction: spaces.adopt_delays(
                transaction, self.keys, self.clock, space, actor=actor, delayed=delayed
            )
        )

    def open_space(self, space: str, *, is_open: bool) -> None:
        """Let posts come in, or none until further notice."""
        self._change(lambda transaction: spaces.open_space(transaction, space, is_open=is_open))

    def add_token(self, name: str, scopes: Iterable[Scope], within: Iterable[str] = ()) -> tuple[str, str]:
        """Make a token: its id and its secret."""
        return self._change(
            lambda transaction: add_token(transaction, read_book(transaction), name, scopes, within)
        )

    def revoke_token(self, number: str) -> None:
        """Take a token's rights away."""
        self._change(lambda transaction: revoke_token(transaction, number))

    def _change(self, change: Callable[[Transaction], T]) -> T:
        with self.store.transaction("closing") as transaction:
            changed = change(transaction)
        self.refresh()
        return changed

    def _check_open(self, receipt: str) -> None:
        space, _ = self.receipts.reading(receipt)
        if not self.refresh().space(space).is_open:
            raise Paused(CLOSED)

    def _check_parked(self, space: str, post: int) -> None:
        """A post of another space is as good as none."""
        with self.store.transaction("reading") as transaction:
            row = post_by_key(transaction, post)
        if row is None or row.outlet != space:
            raise NoSuchPost(NOT_PARKED)
        if row.state.public != "parked":
            raise TooLate(row.state.public)
