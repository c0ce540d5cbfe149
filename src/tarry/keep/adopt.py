"""Another policy for one person's own store.

Posts drawn under one policy and posts drawn under another may be told apart while both are on their way,
so the old ones must have left, and nothing may have left for as long as the promise reaches.
"""

from datetime import UTC, datetime

from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.keep.clock import Clock, advance, last_past_tick
from tarry.keep.closing import close_ticks
from tarry.keep.keys import Keys
from tarry.keep.own_key import own_key
from tarry.keep.store import Place, Transaction, anchor_row, place

__all__ = ["adopt"]


def adopt(transaction: Transaction, keys: Keys, clock: Clock, policy: Policy) -> bool:
    """Make this the store's policy, inside a closing transaction; whether that changed anything.

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
    _check_nothing_is_on_its_way(transaction, here, policy)
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


def _check_nothing_is_on_its_way(transaction: Transaction, here: Place, policy: Policy) -> None:
    busy = transaction.one("busy_until")
    if busy is None or (not busy["waiting"] and not busy["arrivals"] and busy["last_release"] is None):
        return
    if busy["waiting"]:
        raise _refusal("posts that wait under another", "give that one, or wait for them, or withdraw them")
    old = here.policy and read_policy(here.policy)
    reach = max(each.start_ticks(gap) * each.tick for each in (policy, old) if each for gap in each.gaps)
    quiet = (busy["last_release"] or here.closed) * here.settings.tick + reach + here.settings.tick
    if busy["arrivals"] or here.closed * here.settings.tick < quiet:
        at = datetime.fromtimestamp(float(quiet), tz=UTC).astimezone()
        raise _refusal(
            "posts that have just left under another",
            f"give that one, or try again after {at:%Y-%m-%d %H:%M:%S}",
        )


def _refusal(found: str, fix: str) -> BadInput:
    return BadInput(
        "the policy of a store", "changes only while nothing is on its way", found=found, fix=fix
    )
