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

from tarry.core.policy_file import read_policy
from tarry.core.release import Draws, release_ticks
from tarry.core.ticks import ticks_up
from tarry.keep.clock import Anchor, Clock, advance, last_past_tick
from tarry.keep.keys import Keys
from tarry.keep.store import Place, Settings, Transaction, anchor_row, place

__all__ = [
    "RECEIPT_DAYS",
    "Closed",
    "close_ticks",
    "erased_at",
    "erased_up_to",
    "hour_ticks",
    "public_period",
    "shift_everything",
]

#: How long a receipt is answered after its post has left.
RECEIPT_DAYS = 7


@dataclass(frozen=True)
class Closed:
    """What closing did.

    >>> from tarry.keep.clock import Reading
    >>> from tarry.core.policy import Policy
    >>> settings = Settings.of(Policy(epsilon="1", gap="11m"))
    >>> Closed(tick=9, missed=0, anchor=Anchor(7, Reading(7, 0, "a")), settings=settings).tick
    9
    """

    tick: int  # the last closed one
    missed: int  # ticks that closed late
    anchor: Anchor  # the store's clock
    settings: Settings  # the store's, which may have changed


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
    here = place(transaction)
    if here.settings.paused:
        return Closed(here.closed, 0, here.anchor, here.settings)
    anchor = advance(here.anchor, clock.read(here.now))
    tick, settings = last_past_tick(anchor.time, here.settings.tick), here.settings
    if tick <= here.closed:
        if anchor.reading.boot != here.anchor.reading.boot:
            # Or else the clock would stand still until a wall clock that was set back has caught up.
            transaction.tell("tick", **anchor_row(anchor), closed=here.closed)
        return Closed(here.closed, 0, anchor, here.settings)
    tidies = tick // public_period(settings) != here.closed // public_period(settings)
    if tidies:
        # Before any row is changed: a worker who waited for one of these would find that it is gone.
        transaction.await_workers()
    missed = tick - here.closed - 1
    if settings.personal and (late := _ticks_late(transaction, tick, missed)):
        shift_everything(transaction, late, here.closed)
    if settings.waits_for_label and _is_by(here.oldest, tick - settings.window_ticks):
        _fix_labels(transaction, here, tick)
    if missed and not settings.personal:
        transaction.tell("publish_overdue", tick=tick, closed=here.closed)
    if tidies:
        _erase(transaction, keys, here, tick)
    _forget(transaction, here, tick)
    transaction.tell("tick", **anchor_row(anchor), closed=tick)
    return Closed(tick, missed, anchor, settings)


def shift_everything(transaction: Transaction, ticks: int, closed: int) -> None:
    """Every waiting release moves later by as much: the distances between them stay.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_store
    >>> with memory_store(Policy(epsilon="1", gap="11m")).transaction("closing") as transaction:
    ...     shift_everything(transaction, 5, closed=0)
    """
    transaction.tell("shift_releases", ticks=ticks, closed=closed)
    transaction.tell("shift_pending", ticks=ticks)
    transaction.tell("shift_lockouts", ticks=ticks, closed=closed)


def _ticks_late(transaction: Transaction, tick: int, missed: int) -> int:
    """The ticks missed; more, if something is due and has not left: the rest does not catch up with it."""
    row = transaction.one("first_due")
    first = row["release"] if row is not None else None
    return missed if first is None else max(missed, tick - first)


def _fix_labels(transaction: Transaction, here: Place, tick: int) -> None:
    """Label the arrivals whose window has passed, and fix the releases that waited for it."""
    settings, window = here.settings, here.settings.window_ticks
    fresh = {"labelled": here.closed - window, "ripe": tick - window}
    transaction.tell("label", window=window, **fresh)
    transaction.many(
        "fix_release",
        [
            {
                "id": row["id"],
                "release": row["shift"]
                + release_ticks(
                    row["arrival"],
                    Draws(row["unbatched"], row["batched"]),
                    batched=bool(row["label"]),
                    hold=settings.hold_ticks,
                    deadline=row["deadline"],
                ),
            }
            for row in transaction.all("newly_labelled", **fresh)
        ],
    )
    while transaction.run("raise_children"):
        pass


def _erase(transaction: Transaction, keys: Keys, here: Place, tick: int) -> None:
    """Erase the arrivals that no label needs, and mix the posts that nothing belongs to any more."""
    settings, erasable = here.settings, erased_up_to(here.settings, tick)
    if _is_by(here.oldest, erasable):
        if not settings.personal:
            rows = transaction.all("arrivals_by_hour", ticks=hour_ticks(settings), erasable=erasable)
            transaction.many("count_hour", [dict(row) for row in rows])
        _charge(transaction, keys, erasable)
        transaction.tell("erase", erasable=erasable)
    transaction.shuffle()


def _forget(transaction: Transaction, here: Place, tick: int) -> None:
    """Forget what else nothing needs any more; none of it tells an arrival."""
    settings, hour = here.settings, hour_ticks(here.settings)
    if here.heirlooms:
        transaction.tell("forget_withdrawn", closed=tick)
    if _is_by(here.lockout, tick):
        transaction.tell("forget_lockouts", closed=tick)
    if tick // hour != here.closed // hour:
        if not settings.personal:
            transaction.tell("tell_ledger")
            transaction.tell("clear_outlook")
            transaction.tell("look_ahead", ticks=hour)
        transaction.tell("purge", old=tick - max(RECEIPT_DAYS * 24 * hour, _reach(here)))


def public_period(settings: Settings) -> int:
    """Ticks from one public moment to the next: a window, or a minute where labels have none.

    >>> from tarry.core.policy import Policy
    >>> public_period(Settings.of(Policy(epsilon="1", gap="11m", window="5m", tick="10s")))
    30
    """
    return settings.window_ticks or ticks_up(60, settings.tick)


def erased_up_to(settings: Settings, closed: int) -> int:
    """The last arrival tick of which nothing is left once a tick has closed.

    >>> from tarry.core.policy import Policy
    >>> settings = Settings.of(Policy(epsilon="1", gap="11m", window="5m", tick="10s"))
    >>> [erased_up_to(settings, closed) for closed in (119, 120, 149, 150)]
    [30, 60, 60, 90]
    """
    period = public_period(settings)
    return closed // period * period - _needed_for(settings)


def erased_at(settings: Settings, arrival: int) -> int:
    """The tick at whose close an arrival is erased.

    >>> from tarry.core.policy import Policy
    >>> settings = Settings.of(Policy(epsilon="1", gap="11m", window="5m", tick="10s"))
    >>> [erased_at(settings, arrival) for arrival in (60, 61, 90, 91)]
    [120, 150, 150, 180]
    """
    period = public_period(settings)
    return -(-(arrival + _needed_for(settings)) // period) * period


def _needed_for(settings: Settings) -> int:
    """For how many ticks some label may look at an arrival."""
    return settings.window_ticks * (2 if settings.waits_for_label else 1)


def hour_ticks(settings: Settings) -> int:
    """Ticks in an hour, or one where a tick is longer.

    >>> from tarry.core.policy import Policy
    >>> hour_ticks(Settings.of(Policy(epsilon="1", gap="11m", window="5m", tick="7m")))
    9
    """
    return ticks_up(3600, settings.tick)


def _reach(here: Place) -> int:
    """How long a personal store must remember its last release: another policy has to wait for it."""
    if here.policy is None:
        return 0
    policy = read_policy(here.policy)
    return max(map(policy.start_ticks, policy.gaps)) + 1


def _charge(transaction: Transaction, keys: Keys, erasable: int) -> None:
    """Of arrivals that are about to be erased the ledger keeps a count."""
    spent = transaction.all("spent", erasable=erasable)
    accounts: dict[tuple[bytes, str], int] = {}
    for row in spent:
        accounts[keys.account(bytes(row["actor"])), row["period"]] = row["batched"]
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
