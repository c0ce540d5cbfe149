"""An account's clock stands still while it is locked out.

What waits moves by as long as it stands still. What arrives meanwhile counts from the tick at which the
clock goes on: its delay begins there. So an earlier arrival never counts from a later tick, and no two
count from ticks further apart than they were themselves, which is all that the promise asks.

In one person's own store there is one clock for everything.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tarry.keep.keys import Keys
from tarry.keep.outlet import Outlet
from tarry.keep.store import Settings, Transaction
from tarry.keep.vault import Vault

__all__ = ["Standstill", "account_of", "clock_name", "clock_of", "standstill"]


class Standstill(NamedTuple):
    """A lockout, in ticks.

    >>> lockout = Standstill(since=100, until=400, resumes=402)
    >>> lockout.ahead(150), lockout.ahead(500)
    (252, 0)
    >>> lockout.behind(150), lockout.behind(430)
    (300, 0)
    """

    since: int  # the first release that could not happen
    until: int  # nobody knocks before it
    resumes: int  # what arrives before it counts from it

    def ahead(self, arrival: int) -> int:
        """By how much a post moves that arrives now."""
        return max(0, self.resumes - arrival)

    def behind(self, release: int) -> int:
        """By how much a post moves that has not moved with the others: all that moved are due later."""
        return 0 if release >= self.until else max(self.until - self.since, self.until - release)

    def again(self, now: int, first: int, until: int) -> "Standstill":
        """The clock stands still once more, and what was to leave first, at tick `first`, waits until then.

        `now` is the tick in which posts arrive.

        >>> Standstill(100, 400, 402).again(now=401, first=400, until=700)
        Standstill(since=400, until=700, resumes=702)
        """
        since = min(first, until)
        # A try may fail some ticks after it was due. What arrived meanwhile has moved with the others, and
        # what arrives next must not overtake it.
        return Standstill(since, until, max(until, max(now, self.resumes) + until - since))


def account_of(outlet: Outlet, options: Mapping[str, Any]) -> str | None:
    """The account that a post with these options needs, if its outlet logs in and knows it.

    >>> from tarry.testing import ListOutlet
    >>> account_of(ListOutlet(), {"account": "nym"}) is None
    True
    """
    try:
        return outlet.account(options)
    except Exception:  # noqa: BLE001 - of whatever waits: one odd row must not keep the others from moving
        return None


def clock_name(keys: Keys, settings: Settings, account: str | None) -> bytes | None:
    """What the store knows an account's clock by; None where nobody knows the account.

    >>> from tarry.core.policy import Policy
    >>> clock_name(Keys(bytes(32)), Settings.of(Policy(epsilon="1", gap="11m")), None) is None
    True
    """
    if settings.personal:
        return keys.login("")
    return None if account is None else keys.login(account)


def clock_of(vault: Vault, outlet: str, options: Mapping[str, Any]) -> bytes | None:
    """What the clock that a post goes by is known by.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> clock_of(memory_vault(Policy(epsilon="1", gap="11m")), "list", {}) is None
    True
    """
    if vault.settings.personal:
        return clock_name(vault.keys, vault.settings, None)
    delivers = vault.outlets[outlet]
    if not delivers.logs_in:
        return None
    return clock_name(vault.keys, vault.settings, account_of(delivers, options))


def standstill(transaction: Transaction, name: bytes | None) -> Standstill | None:
    """The lockout of a clock, if it has one whose traces are not gone yet.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("working") as transaction:
    ...     standstill(transaction, b"somebody") is None
    True
    """
    row = None if name is None else transaction.one("lockout", account=name)
    return None if row is None else Standstill(row["since"], row["until"], row["resumes"])
