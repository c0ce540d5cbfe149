"""Another policy for one person's own store.

Posts drawn under one policy and posts drawn under another may be told apart while both are on their way,
so the old ones must have left, and nothing may have left for as long as the promise reaches.
"""

from datetime import UTC, datetime
from fractions import Fraction
from math import ceil

from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import describes, read_policy, write_policy
from tarry.keep.closing import close_ticks, erased_at
from tarry.keep.keys import Keys
from tarry.keep.rows import Busy, read_one, status_of, unfinished_posts
from tarry.keep.sharing import Snapshot
from tarry.keep.store import Clock, Transaction, advance, last_past_tick, own_key, snapshot

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
    if describes(snapshot(transaction).policy, policy):
        return False
    close_ticks(transaction, keys, clock)
    now = snapshot(transaction)
    _check_nothing_is_on_its_way(transaction, now, policy, instead)
    if policy.tick != now.settings.tick:
        anchor = advance(now.anchor, clock.read(now.now))
        closed = last_past_tick(anchor.time, policy.tick)
        transaction.tell("forget_done")  # their release ticks are of another length
        transaction.tell("recount_parked", closed=closed)
        transaction.tell("drop_lockouts")  # nothing waits: the next try finds out
        transaction.tell("tick", **anchor.columns, closed=closed)
    transaction.tell("forget_heirs")
    transaction.tell(
        "change_settings",
        tick=str(policy.tick),
        window_ticks=policy.window_ticks,
        labels=policy.labels,
        policy=write_policy(policy),
    )
    return True


def _check_nothing_is_on_its_way(
    transaction: Transaction, now: Snapshot, policy: Policy, instead: str
) -> None:
    busy, tick = read_one(transaction, Busy, "busy_until") or Busy(), now.settings.tick
    old = now.policy and read_policy(now.policy)
    reach = max(each.start_ticks(gap) * each.tick for each in (policy, old) if each for gap in each.gaps)
    counted = _counted_until(now)
    if busy.waiting:
        at = _local_time(max(_last_waiting(transaction, now) * tick + reach + tick, counted))
        raise BadInput(
            "the policy cannot change while posts wait under another one",
            f"{instead}, or withdraw them, or wait for them: it changes after {at}, and later if an outage "
            "moves them",
        )
    last = busy.last_release
    quiet = Fraction(0) if last is None else last * tick + reach + tick
    if busy.arrivals or now.closed * tick < quiet:
        gone = "while acts that were taken back or parked under another one count for labels"
        left = "so soon after posts have left under another one"
        raise BadInput(
            f"the policy cannot change {left if quiet >= counted else gone}",
            f"{instead}, or try again after {_local_time(max(quiet, counted))}",
        )


def _counted_until(now: Snapshot) -> Fraction:
    """When the last arrival is erased: until then labels look at it, whatever became of its post."""
    tick = 0 if now.latest is None else erased_at(now.settings, now.latest)
    return tick * now.settings.tick


def _last_waiting(transaction: Transaction, now: Snapshot) -> int:
    """The last tick at which anything that waits may leave, as far as that is known."""
    waiting = [post for post in unfinished_posts(transaction) if post.state.is_on_its_way]
    known = [status_of(transaction, now.settings, post).latest for post in waiting]
    return max(now.closed, *(tick or 0 for tick in known))


def _local_time(at: Fraction) -> str:
    """In local time; of a moment between seconds, the second after it."""
    return f"{datetime.fromtimestamp(ceil(at), tz=UTC).astimezone():%Y-%m-%d %H:%M:%S}"
