"""Closing ticks: the one place where labels are fixed, releases follow from them, and arrivals are erased.

A tick closes in one transaction, once it lies wholly in the past and every arrival stamped with it is
stored. Ticks that were missed close together: labels look at arrival ticks alone, so they come out as
if each tick had closed on time. What would have left meanwhile leaves now, under the tick of recovery:
in a gateway as it falls due, in random order; in one person's own store, where that would show all their
pseudonyms at one moment, every waiting release moves later by the ticks missed.

Arrivals are erased at public moments, one in each window, all together: the moment of an erasure, and what
it leaves in the files of a database, tell the window of an arrival and nothing finer.
"""

from dataclasses import dataclass

from tarry.core.exact import ticks_up
from tarry.core.policy_file import read_policy
from tarry.keep.keys import Keys
from tarry.keep.rows import BatchedActs, read_all
from tarry.keep.sharing import Snapshot, StoreSettings
from tarry.keep.store import Anchor, Clock, Transaction, advance, last_past_tick, snapshot

__all__ = [
    "RECEIPT_DAYS",
    "Closed",
    "close_ticks",
    "erased_at",
    "erased_up_to",
    "hour_ticks",
    "public_period",
]

#: How long a receipt is answered after its post has left.
RECEIPT_DAYS = 7


@dataclass(frozen=True)
class Closed:
    """What closing did.

    >>> from tarry.keep.store import Reading
    >>> from tarry.core.policy import Policy
    >>> settings = StoreSettings.of(Policy(epsilon="1", gap="11m"))
    >>> Closed(tick=9, missed=0, anchor=Anchor(7, Reading(7, 0, "a")), settings=settings).tick
    9
    """

    tick: int  # the last closed one
    missed: int  # ticks that closed late
    anchor: Anchor  # the store's clock
    settings: StoreSettings  # the store's, which may have changed


def close_ticks(transaction: Transaction, keys: Keys, clock: Clock) -> Closed:
    """Close every tick that lies in the past by now, inside a closing transaction.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import ManualClock, memory_store
    >>> clock = ManualClock()
    >>> store = memory_store(Policy(epsilon="1", gap="11m"), clock)
    >>> clock.sleep(2)
    >>> with store.transaction("closing") as transaction:
    ...     close_ticks(transaction, Keys(bytes(32)), clock).missed
    1
    """
    before = snapshot(transaction)
    settings = before.settings
    if settings.paused:
        return Closed(before.closed, 0, before.anchor, settings)
    anchor = advance(before.anchor, clock.read(before.now))
    tick = last_past_tick(anchor.time, settings.tick)
    if tick <= before.closed:
        if anchor.reading.boot != before.anchor.reading.boot:
            # Or else the clock would stand still until a wall clock that was set back has caught up.
            transaction.tell("tick", **anchor.columns, closed=before.closed)
        return Closed(before.closed, 0, anchor, settings)
    tidies = tick // public_period(settings) != before.closed // public_period(settings)
    if tidies:
        # Before any row is changed: a worker who waited for one of these would find that it is gone.
        transaction.tell("await_workers")
    settings.sharing.before_labels(transaction, before, tick)
    if settings.waits_for_label and _is_by(before.oldest, tick - settings.window_ticks):
        _fix_labels(transaction, before, tick)
    settings.sharing.after_labels(transaction, before, tick)
    if tidies:
        _erase(transaction, keys, before, tick)
    _forget(transaction, before, tick)
    transaction.tell("tick", **anchor.columns, closed=tick)
    return Closed(tick, tick - before.closed - 1, anchor, settings)


def _fix_labels(transaction: Transaction, before: Snapshot, tick: int) -> None:
    """Label the arrivals whose window has passed, and fix the releases that waited for it."""
    settings = before.settings
    labelled, ripe = before.closed - settings.window_ticks, tick - settings.window_ticks
    transaction.tell("label", window=settings.window_ticks, labelled=labelled, ripe=ripe)
    transaction.tell("fix_releases", labelled=labelled, ripe=ripe, hold=settings.hold_ticks)
    while transaction.run("raise_children"):
        pass


def _erase(transaction: Transaction, keys: Keys, before: Snapshot, tick: int) -> None:
    """Erase the arrivals that no label needs, and mix the posts that nothing belongs to any more."""
    settings, erasable = before.settings, erased_up_to(before.settings, tick)
    if _is_by(before.oldest, erasable):
        settings.sharing.count_arrivals(transaction, hour_ticks(settings), erasable)
        _charge(transaction, keys, erasable)
        transaction.tell("erase", erasable=erasable)
    # Where they lie would tell an order: each is written anew once, and once more after a change.
    transaction.tell("shuffle")
    transaction.tell("shuffle_legacies")


def _forget(transaction: Transaction, before: Snapshot, tick: int) -> None:
    """Forget what else nothing needs any more; none of it tells an arrival."""
    hour = hour_ticks(before.settings)
    if before.heirlooms:
        transaction.tell("forget_withdrawn", closed=tick)
    if _is_by(before.lockout, tick):
        transaction.tell("forget_lockouts", closed=tick)
    if tick // hour != before.closed // hour:
        before.settings.sharing.end_hour(transaction, hour)
        transaction.tell("purge", old=tick - max(RECEIPT_DAYS * 24 * hour, _reach(before)))


def public_period(settings: StoreSettings) -> int:
    """Ticks from one public moment to the next: a window, or a minute where labels have none.

    >>> from tarry.core.policy import Policy
    >>> public_period(StoreSettings.of(Policy(epsilon="1", gap="11m", window="5m", tick="10s")))
    30
    """
    return settings.window_ticks or ticks_up(60, settings.tick)


def erased_up_to(settings: StoreSettings, closed: int) -> int:
    """The last arrival tick of which nothing is left once a tick has closed.

    >>> from tarry.core.policy import Policy
    >>> settings = StoreSettings.of(Policy(epsilon="1", gap="11m", window="5m", tick="10s"))
    >>> [erased_up_to(settings, closed) for closed in (119, 120, 149, 150)]
    [30, 60, 60, 90]
    """
    period = public_period(settings)
    return closed // period * period - _needed_for(settings)


def erased_at(settings: StoreSettings, arrival: int) -> int:
    """The tick at whose close an arrival is erased.

    >>> from tarry.core.policy import Policy
    >>> settings = StoreSettings.of(Policy(epsilon="1", gap="11m", window="5m", tick="10s"))
    >>> [erased_at(settings, arrival) for arrival in (60, 61, 90, 91)]
    [120, 150, 150, 180]
    """
    period = public_period(settings)
    return -(-(arrival + _needed_for(settings)) // period) * period


def _needed_for(settings: StoreSettings) -> int:
    """For how many ticks some label may look at an arrival."""
    return settings.window_ticks * (2 if settings.waits_for_label else 1)


def hour_ticks(settings: StoreSettings) -> int:
    """Ticks in an hour, or one where a tick is longer.

    >>> from tarry.core.policy import Policy
    >>> hour_ticks(StoreSettings.of(Policy(epsilon="1", gap="11m", window="5m", tick="7m")))
    9
    """
    return ticks_up(3600, settings.tick)


def _reach(now: Snapshot) -> int:
    """How long a personal store must remember its last release: another policy has to wait for it."""
    if now.policy is None:
        return 0
    policy = read_policy(now.policy)
    return max(map(policy.start_ticks, policy.gaps)) + 1


def _charge(transaction: Transaction, keys: Keys, erasable: int) -> None:
    """Of arrivals that are about to be erased the ledger keeps a count."""
    accounts = {
        (keys.account(bytes(spent.actor)), spent.period): spent.batched
        for spent in read_all(transaction, BatchedActs, "spent", erasable=erasable)
    }
    transaction.many(
        "charge",
        [
            {"account": account, "period": period, "batched": batched}
            for (account, period), batched in sorted(accounts.items())
        ],
    )


def _is_by(first: int | None, tick: int) -> bool:
    """Whether anything has come by a tick."""
    return first is not None and first <= tick
