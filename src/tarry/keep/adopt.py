"""Another policy for one person's own store.

Posts drawn under one policy and posts drawn under another may be told apart while both are on their way,
so the old ones must have left, and nothing may have left for as long as the promise reaches.
"""

from datetime import UTC, datetime
from fractions import Fraction
from math import ceil

from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.keep.clock import Clock, advance, last_past_tick
from tarry.keep.closing import close_ticks, erased_at
from tarry.keep.keys import Keys
from tarry.keep.own_key import own_key
from tarry.keep.prospects import status_of
from tarry.keep.store import Place, Transaction, anchor_row, place

__all__ = ["adopt"]


def adopt(
    transaction: Transaction, keys: Keys, clock: Clock, policy: Policy, *, instead: str = "give that one"
) -> bool:
    """Make this the store's policy, inside a closing transaction; whether that changed anything.

    `instead` tells whoever is refused how to go on under the policy that holds.

    >>> from tarry.testing import ManualClock, memory_store
    >>> clock, old = ManualClock(), Policy(epsilon="1", gap="11m")
    >>> with memory_store(old, clock, personal=True).transaction("closing") as transaction:
    ...     adopt(transaction, Keys(bytes(32)), clock, Policy(epsilon="2", gap="11m"))
    True
    """
    own_key(transaction, keys)
    if place(transaction).policy == (text := write_policy(policy)):
        return False
    close_ticks(transaction, keys, clock)
    here = place(transaction)
    _check_nothing_is_on_its_way(transaction, here, policy, instead)
    if policy.tick != here.settings.tick:
        anchor = advance(here.anchor, clock.read(here.now))
        closed = last_past_tick(anchor.time, policy.tick)
        transaction.tell("forget_done")  # their release ticks are of another length
        transaction.tell("recount_parked", closed=closed)
        transaction.tell("drop_lockouts")  # nothing waits: the next try finds out
        transaction.tell("tick", **anchor_row(anchor), closed=closed)
    transaction.tell("forget_heirs")
    transaction.tell(
        "change_settings",
        tick=str(policy.tick),
        window_ticks=policy.window_ticks,
        labels=policy.labels,
        policy=text,
    )
    return True


def _check_nothing_is_on_its_way(
    transaction: Transaction, here: Place, policy: Policy, instead: str
) -> None:
    busy, tick = transaction.one("busy_until"), here.settings.tick
    if busy is None:
        return
    old = here.policy and read_policy(here.policy)
    reach = max(each.start_ticks(gap) * each.tick for each in (policy, old) if each for gap in each.gaps)
    counted = _counted_until(here)
    if busy["waiting"]:
        at = _told(max(_last_waiting(transaction, here) * tick + reach + tick, counted))
        raise _refusal(
            "posts that wait under another",
            f"{instead}, or withdraw them, or wait for them: it changes after {at}, and later if an outage "
            "moves them",
        )
    last = busy["last_release"]
    quiet = Fraction(0) if last is None else last * tick + reach + tick
    if busy["arrivals"] or here.closed * tick < quiet:
        gone = "acts under another that were taken back or parked and still count for labels"
        raise _refusal(
            "posts that have just left under another" if quiet >= counted else gone,
            f"{instead}, or try again after {_told(max(quiet, counted))}",
        )


def _counted_until(here: Place) -> Fraction:
    """When the last arrival is erased: until then labels look at it, whatever became of its post."""
    tick = 0 if here.latest is None else erased_at(here.settings, here.latest)
    return tick * here.settings.tick


def _last_waiting(transaction: Transaction, here: Place) -> int:
    """The last tick at which anything that waits may leave, as far as that is known."""
    rows = transaction.all("not_done")
    known = [status_of(transaction, here.settings, row).latest for row in rows if row["state"] == "waiting"]
    return max(here.closed, *(tick or 0 for tick in known))


def _told(at: Fraction) -> str:
    """In local time; of a moment between seconds, the second after it."""
    return f"{datetime.fromtimestamp(ceil(at), tz=UTC).astimezone():%Y-%m-%d %H:%M:%S}"


def _refusal(found: str, fix: str) -> BadInput:
    return BadInput(
        "the policy of a store", "changes only while nothing is on its way", found=found, fix=fix
    )
