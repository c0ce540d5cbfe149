"""Who shares a store: one person's pseudonyms alone, or many people. What is right for one harms the other.

In one person's own store all that waits must keep its distances, or a moment would show all their
pseudonyms together: after an outage everything moves later by the same time. There the owner needs no
receipts. Where many people share a store, one must not wait for another: what fell due meanwhile leaves at
once, mixed, and nobody but the holder of a receipt can tell whose a post is.

`settings.sharing` is the one or the other; nobody else asks which it is.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.keep.keys import Keys, under_receipt

if TYPE_CHECKING:
    from tarry.keep.candidates import Candidate
    from tarry.keep.rows import PostRow
    from tarry.keep.store import Kind, Snapshot, Transaction

__all__ = ["PERSONAL", "SHARED", "Sharing"]

_PARKED_ABOVE = "the post it depends on is parked: repeat that one first, or withdraw this one"


class Sharing(ABC):
    """What depends on who shares a store.

    >>> SHARED.owner_may_act, PERSONAL.owner_may_act
    (False, True)
    """

    #: The kind of transaction in which posts are accepted.
    admission: ClassVar["Kind"]
    #: Whether everything in the store is its owner's, who needs no receipts.
    owner_may_act: ClassVar[bool]
    #: Whether every post goes by one clock: an outage of one account moves all of them.
    has_one_clock: ClassVar[bool]
    #: Whether each delivery has a thread of its own: if it waited for another, its moment would tell of it.
    delivers_alone: ClassVar[bool]
    #: What happens to releases whose ticks were missed, in words.
    after_outage: ClassVar[str]
    #: What moves when an account cannot get in, in words.
    moved_by_lockout: ClassVar[str]

    @abstractmethod
    def check_policy(self, adopted: str | None, policy: Policy) -> None:
        """Refuse a policy that posts of this store may not be admitted under."""

    @abstractmethod
    def seal_pseudonym(self, receipt: str, pseudonym: bytes) -> bytes:
        """A post's pseudonym as it is stored while the post waits."""

    @abstractmethod
    def open_pseudonym(self, stored: bytes | None, receipt: str | None) -> bytes | None:
        """The pseudonym again, as far as it can be told with this receipt, or without one."""

    @abstractmethod
    def is_of_author(self, parent: "PostRow", child: "Candidate") -> bool:
        """Whether a waiting post is of the author of another, on the same target."""

    @abstractmethod
    def clock_name(self, keys: Keys, account: str | None) -> bytes | None:
        """What the store knows the clock of an account by; None where nobody knows the account."""

    @abstractmethod
    def before_labels(self, transaction: "Transaction", before: "Snapshot", tick: int) -> None:
        """What closing up to a tick does before it fixes labels."""

    @abstractmethod
    def after_labels(self, transaction: "Transaction", before: "Snapshot", tick: int) -> None:
        """What closing up to a tick does after it has fixed labels."""

    @abstractmethod
    def count_arrivals(self, transaction: "Transaction", hour: int, erasable: int) -> None:
        """Count arrivals that are about to be erased, by hours of so many ticks."""

    @abstractmethod
    def end_hour(self, transaction: "Transaction", hour: int) -> None:
        """What is written down when an hour of so many ticks ends."""

    @abstractmethod
    def park_children(self, transaction: "Transaction") -> None:
        """Park what depends on parked posts, if it must not leave without them."""


class _Personal(Sharing):
    """One person's own store."""

    admission = "closing"  # ticks missed by now must not move a post that arrives now
    owner_may_act = True
    has_one_clock = True
    delivers_alone = True
    after_outage = "every waiting release moves later by as much"
    moved_by_lockout = "everything of yours"

    def check_policy(self, adopted: str | None, policy: Policy) -> None:
        if adopted is not None and adopted != write_policy(policy):
            raise BadInput("this store has adopted another policy", "start this program again")

    def seal_pseudonym(self, receipt: str, pseudonym: bytes) -> bytes:  # noqa: ARG002 - one shape for both
        return pseudonym  # its owner withdraws without a receipt too

    def open_pseudonym(self, stored: bytes | None, receipt: str | None) -> bytes | None:  # noqa: ARG002 - likewise
        return stored

    def is_of_author(self, parent: "PostRow", child: "Candidate") -> bool:
        return (parent.pseudonym or b"") == child.pseudonym

    def clock_name(self, keys: Keys, account: str | None) -> bytes | None:  # noqa: ARG002 - likewise
        return keys.login("")

    def before_labels(self, transaction: "Transaction", before: "Snapshot", tick: int) -> None:
        """Move all by the ticks missed; by more, if something is due and has not left."""
        late = tick - before.closed - 1
        if (first := self.first_due(transaction)) is not None:
            late = max(late, tick - first)
        if late:
            self.move_everything(transaction, late, before.closed)

    def after_labels(self, transaction: "Transaction", before: "Snapshot", tick: int) -> None:
        """Nothing: what was missed has moved."""

    def count_arrivals(self, transaction: "Transaction", hour: int, erasable: int) -> None:
        """Nothing: one person's hours are theirs."""

    def end_hour(self, transaction: "Transaction", hour: int) -> None:
        """Nothing: there is nobody to report to."""

    def park_children(self, transaction: "Transaction") -> None:
        """Withdrawing or repeating the parked one must not let the others out at that moment."""
        while transaction.run("park_children", problem=_PARKED_ABOVE):
            pass

    def first_due(self, transaction: "Transaction") -> int | None:
        """The earliest release that has not happened, of posts that wait for no other."""
        row = transaction.one("first_due")
        release: int | None = None if row is None else row["release"]
        return release

    def move_everything(self, transaction: "Transaction", ticks: int, closed: int) -> None:
        """Every waiting release moves later by as much: the distances between them stay."""
        transaction.tell("shift_releases", ticks=ticks, closed=closed)
        transaction.tell("shift_pending", ticks=ticks)
        transaction.tell("shift_lockouts", ticks=ticks, closed=closed)


class _Shared(Sharing):
    """A store that many people share."""

    admission = "admitting"
    owner_may_act = False
    has_one_clock = False
    delivers_alone = False
    after_outage = "what fell due leaves now"
    moved_by_lockout = "all that waits for this account"

    def check_policy(self, adopted: str | None, policy: Policy) -> None:
        """Spaces have policies of their own."""

    def seal_pseudonym(self, receipt: str, pseudonym: bytes) -> bytes:
        return under_receipt(receipt, pseudonym)

    def open_pseudonym(self, stored: bytes | None, receipt: str | None) -> bytes | None:
        return None if stored is None or receipt is None else under_receipt(receipt, stored)

    def is_of_author(self, parent: "PostRow", child: "Candidate") -> bool:
        receipt = child.post.depends_on
        if not isinstance(receipt, str):  # without the receipt nobody can tell
            return False
        if parent.pseudonym is None:  # of an earlier version: who has its receipt is its author
            return (parent.target, parent.outlet) == (child.post.target, child.post.outlet)
        return under_receipt(receipt, parent.pseudonym) == child.pseudonym

    def clock_name(self, keys: Keys, account: str | None) -> bytes | None:
        return None if account is None else keys.login(account)

    def before_labels(self, transaction: "Transaction", before: "Snapshot", tick: int) -> None:
        """Nothing: nobody waits for somebody else's outage."""

    def after_labels(self, transaction: "Transaction", before: "Snapshot", tick: int) -> None:
        """What fell due while ticks were missed appears under the tick of recovery."""
        if tick - before.closed > 1:
            transaction.tell("publish_overdue", tick=tick, closed=before.closed)

    def count_arrivals(self, transaction: "Transaction", hour: int, erasable: int) -> None:
        rows = transaction.all("arrivals_by_hour", ticks=hour, erasable=erasable)
        transaction.many("count_hour", [dict(row) for row in rows])

    def end_hour(self, transaction: "Transaction", hour: int) -> None:
        """Operators see counts as they stood when an hour ended, so that nobody can watch them move."""
        transaction.tell("tell_ledger")
        transaction.tell("clear_outlook")
        transaction.tell("look_ahead", ticks=hour)

    def park_children(self, transaction: "Transaction") -> None:
        """Nothing: an operator's act lets them out, and that tells nothing of their author."""


#: One person's own store.
PERSONAL = _Personal()
#: A store that many people share.
SHARED = _Shared()
