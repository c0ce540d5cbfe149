"""What every outlet is: one class whose answers have defaults, so that nobody asks what it can do."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tarry.keep.posts import Release

if TYPE_CHECKING:
    from tarry.keep.store import Transaction

__all__ = ["Delivery", "Outlet"]

#: What an outlet promises when a crash cuts a delivery off.
#: "at most once": it is never tried again, but parked for a person.
#: "at least once": it is tried again with the same id, by which the receiver can tell.
#: "exactly once": it is tried again, and a second try changes nothing.
Delivery = Literal["at most once", "at least once", "exactly once"]


class Outlet(ABC):
    """Delivers releases. It sends nothing that is not in the release, and no time but `release.at`.

    >>> class Printer(Outlet):
    ...     delivery = "at least once"
    ...
    ...     def deliver(self, release: Release) -> None:
    ...         print(release.content.decode())
    >>> from fractions import Fraction
    >>> Printer().deliver(Release(id="ab", target="paper 3", content=b"I agree.", at=Fraction(60)))
    I agree.
    """

    #: What it promises when a crash cuts a delivery off.
    delivery: Delivery
    #: How many posts a worker takes at once. More than one is for what is quick and cannot hang.
    batch: int = 1
    #: Whether it publishes inside the store: it has a `record` of its own.
    in_store: ClassVar[bool] = False
    #: Whether it logs in on people's behalf: it has an `account` of its own.
    logs_in: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Note what it can do, so that no class can say one thing and do another."""
        super().__init_subclass__()
        cls.in_store = cls.record is not Outlet.record
        cls.logs_in = cls.account is not Outlet.account

    @abstractmethod
    def deliver(self, release: Release) -> None:
        """Deliver, or raise `Refused` (never), `Unreachable` (not now) or `LockedOut` (not this account).

        When an account cannot get in, everything that waits for it, at whichever outlet, moves later by the
        same time: it is one person's outage.
        """

    def check(self, options: Mapping[str, Any]) -> None:  # noqa: B027 - the default: anything goes
        """Refuse, with `BadInput`, what could never be delivered: at admission, while somebody reads it."""

    def check_content(  # noqa: B027 - likewise
        self, options: Mapping[str, Any], content: bytes
    ) -> None:
        """Refuse content that could never be delivered, at the same moments as `check`."""

    def account(self, options: Mapping[str, Any]) -> str | None:  # noqa: ARG002 - for those that log in
        """The account that a post with these options needs, with the place it is at; None if none."""
        return None

    def record(  # noqa: B027 - the default: nothing is published in the store
        self, transaction: "Transaction", releases: Sequence[Release]
    ) -> None:
        """Publish in the store, in the transaction that marks these posts as released.

        It is called only for the posts that this worker still holds.
        """
