"""The protocol of an outlet."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from tarry.keep.posts import Release

__all__ = ["Delivery", "Outlet"]

#: What an outlet promises when a crash cuts a delivery off.
#: "at most once": it is never tried again, but parked for a person.
#: "at least once": it is tried again with the same id, by which the receiver can tell.
#: "exactly once": it is tried again, and a second try changes nothing.
Delivery = Literal["at most once", "at least once", "exactly once"]


class Outlet(Protocol):
    """Delivers releases. It sends nothing that is not in the release, and no time but `release.at`.

    An outlet whose deliveries are quick and cannot hang may say how many a worker takes at once, in an
    attribute `batch`. Without it a worker takes one, and a slow receiver holds up nothing else.

    An outlet that publishes in the store itself has a method `record(transaction, releases)`: it is called
    in the transaction that marks them as released, and only for those that this worker still holds.

    An outlet that cannot deliver just any bytes has a method `check_content(options, content)`, which
    refuses with `BadInput` as `check` does, at the same moments.

    An outlet that logs in on people's behalf has a method `account(options)`, which names the account that
    a post needs, with the place it is at; None if these options name none. When that account cannot get in
    now, `deliver` raises `LockedOut`, and everything that waits for the account, at whichever outlet, moves
    later by the same time: it is one person's outage.
    """

    @property
    def delivery(self) -> Delivery:
        """What it promises."""
        ...

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse, with `BadInput`, what could never be delivered: at admission, while somebody reads it."""
        ...

    def deliver(self, release: Release) -> None:
        """Deliver, or raise `Refused` (never) or `Unreachable` (not now)."""
        ...
