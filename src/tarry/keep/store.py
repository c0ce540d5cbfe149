"""What a store is: transactions in which statements are asked for by name, one clock, one key.

Four kinds of transaction. *Admitting* ones may run beside each other, *closing* a tick happens alone,
*working* ones (claim, mark, change a post) need neither, and *reading* ones change nothing. Each is one
unit: all of it is written down, durably, when the block ends, or none of it.

The clock is the sole owner of "now". Three clocks go into it. The *wall* clock can be set, forwards or
back; the *steady* clock only runs, but begins anew with every boot; the *store's* clock is made of both,
kept in the store as an anchor, and never goes back. Between two readings of one boot it runs with the
steady clock, and leans by at most a sixteenth towards the wall clock: a wall clock that was set forwards by
an hour is caught up with over 16 hours, without releasing an hour's posts at once. Over a reboot, or on
another machine, only the wall clock is left: then it runs with that.

The key of a store is its own: with another one nobody is known again, and nothing can be opened. The store
keeps a mark that only its key gives, and from which nobody learns the key.
"""

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.keep.errors import Unavailable
from tarry.keep.keys import Keys, Open, Seal, Sealed

if TYPE_CHECKING:
    from tarry.keep.outlet import Outlet
    from tarry.keep.sharing import Snapshot, StoreSettings

__all__ = [
    "MICROS",
    "Anchor",
    "Answer",
    "Clock",
    "Kind",
    "Reading",
    "Row",
    "Store",
    "SystemClock",
    "Transaction",
    "Vault",
    "advance",
    "arrival_tick",
    "check_key",
    "check_period",
    "current_tick",
    "last_past_tick",
    "moment",
    "now_tick",
    "own_key",
    "snapshot",
    "time_at",
]

MICROS = 1_000_000
_LEAN = 16
_START = datetime(1970, 1, 1, tzinfo=UTC)
_CHANGED = "the key or the encryption of this store was changed: start this program again"
_ANOTHER = (
    "this key is not the one that this store was begun with: put that key file back, or name it; or run "
    "tarry store rekey again, if it was cut off"
)

Kind = Literal["admitting", "closing", "working", "reading"]
Row = Mapping[str, Any]
#: The rows of an answer, once they are wanted.
Answer = Callable[[], list[Row]]


class Transaction(Protocol):
    """Statements of `sql/`, asked for by name."""

    def one(self, name: str, /, **values: object) -> Row | None:
        """The first row of an answer, if there is one."""

    def all(self, name: str, /, **values: object) -> list[Row]:
        """Every row of an answer."""

    def ask(self, name: str, /, **values: object) -> Answer:
        """The same, where the rows can wait: to a server it goes along with what comes next."""

    def run(self, name: str, /, **values: object) -> int:
        """How many rows a change has touched."""

    def snapshot(self) -> "Snapshot | None":
        """The current tick and settings; None before the store is founded."""

    def remember(self, snapshot: "Snapshot") -> None:
        """Keep what the snapshot is after this transaction, until another connection writes."""

    def lock(self, names: Iterable[bytes]) -> None:
        """Wait for other transactions that hold one of these names, and keep them waiting until the end."""

    def tell(self, name: str, /, **values: object) -> None:
        """Change something, whatever it touches."""

    def many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """One change for each of many rows."""


class Store(Protocol):
    """Where posts wait. Threads and processes may share one."""

    def transaction(self, kind: Kind) -> AbstractContextManager[Transaction]:
        """One unit of work; raises `Unavailable` where the store cannot be reached."""

    def clock(self) -> "Clock":
        """The clock that everybody at this store shares."""

    def clear_traces(self, *, last: bool = False) -> bool:
        """Remove what erased rows have left in logs and gaps; False if that has to be tried again.

        `last` says that nobody may try again for a while.
        """

    def close(self) -> None:
        """Let go of connections."""


def snapshot(transaction: Transaction) -> "Snapshot":
    """The current tick and settings of a store that is in use.

    >>> from tarry.testing import memory_store
    >>> with memory_store(Policy(epsilon="1", gap="11m")).transaction("reading") as transaction:
    ...     snapshot(transaction).settings.labels
    'held'
    """
    if (now := transaction.snapshot()) is None:
        raise BadInput("this store is empty", "call begin_store() first")
    return now


# --- the clock --------------------------------------------------------------------------------------


class Reading(NamedTuple):
    """One look at the clocks, in microseconds.

    >>> Reading(wall=1_700_000_000_000_000, steady=5, boot="a").boot
    'a'
    """

    wall: int  # since 1970
    steady: int  # since some moment of its own
    boot: str  # which run of the steady clock this is; two runs cannot be compared


class Anchor(NamedTuple):
    """The store's clock at its last reading.

    >>> Anchor.at(Reading(wall=7, steady=1, boot="a")).time
    7
    """

    time: int  # microseconds since 1970, never back
    reading: Reading

    @classmethod
    def at(cls, reading: Reading) -> "Anchor":
        """A new store takes the wall clock's word."""
        return cls(reading.wall, reading)

    @property
    def columns(self) -> dict[str, object]:
        """As it is stored."""
        return {"time": self.time, **self.reading._asdict()}


class Clock(Protocol):
    """Where readings come from. A store on several machines reads its database's wall clock."""

    def read(self, database: int | None = None) -> Reading:
        """Look at the clocks; `database` is the wall clock of a database that has one."""

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait for so many seconds of this clock, or until the event; whether it has come."""


def advance(anchor: Anchor, reading: Reading) -> Anchor:
    """The store's clock at a reading.

    A wall clock set forwards by an hour moves it by a sixteenth of the time gone by:

    >>> before = Anchor.at(Reading(wall=0, steady=0, boot="a"))
    >>> advance(before, Reading(wall=3_600_000_016, steady=16, boot="a")).time
    17
    """
    return Anchor(time_at(anchor, reading), reading)


def time_at(anchor: Anchor, reading: Reading) -> int:
    """What the store's clock shows at a reading, in microseconds since 1970.

    >>> time_at(Anchor.at(Reading(wall=0, steady=0, boot="a")), Reading(wall=32, steady=16, boot="a"))
    17
    """
    begun, (last_wall, last_steady, last_boot) = anchor
    wall, steady, boot = reading
    # A steady clock that has gone back is another one: a machine was put back to an earlier state.
    same = boot == last_boot and steady >= last_steady
    elapsed = steady - last_steady if same else max(0, wall - last_wall)
    time, lean = begun + elapsed, elapsed // _LEAN
    return min(wall, time + lean) if wall >= time else max(wall, time - lean)


def now_tick(micros: int, tick: Fraction) -> int:
    """The tick that a moment belongs to: rounded up.

    >>> now_tick(1_000_000, Fraction(1)), now_tick(1_000_001, Fraction(1))
    (1, 2)
    """
    numerator, denominator = tick.as_integer_ratio()
    return -(-micros * denominator // (numerator * MICROS))


def last_past_tick(micros: int, tick: Fraction) -> int:
    """The last tick that lies wholly in the past: nothing can arrive in it any more.

    >>> last_past_tick(1_000_000, Fraction(1)), last_past_tick(1_000_001, Fraction(1))
    (0, 1)
    """
    return now_tick(micros, tick) - 1


def moment(at: Fraction | float) -> str:
    """A moment as everything that leaves writes it: ISO 8601 in UTC, rounded down to a microsecond.

    >>> moment(Fraction(60)), moment(Fraction(1, 2))
    ('1970-01-01T00:01:00Z', '1970-01-01T00:00:00.500000Z')
    """
    above, below = at.as_integer_ratio()
    moment = _START + timedelta(microseconds=above * 1_000_000 // below)
    return moment.isoformat().replace("+00:00", "Z")


def check_period(policy: Policy, tick: int) -> None:
    """Refuse what comes when the policy does not hold: outside its period it protects nobody.

    >>> check_period(Policy(epsilon="1", gap="11m", starts_at=60), tick=9)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the policy holds from 1970-01-01T00:01:00Z on: wait until then
    """
    if policy.starts_at is policy.ends_at is policy.deadline_at is None:
        return
    at = tick * policy.tick
    if policy.starts_at is not None and at < policy.starts_at:
        raise BadInput(f"the policy holds from {moment(policy.starts_at)} on", "wait until then")
    for name, end in (("until", policy.ends_at), ("deadline", policy.deadline_at)):
        if end is not None and at > end:
            raise BadInput(f"the {name} of the policy, {moment(end)}, has passed", "renew the policy")


def current_tick(now: "Snapshot", clock: Clock) -> int:
    """The tick that the clock of a store stands in.

    >>> from tarry.testing import ManualClock, memory_store
    >>> clock = ManualClock()
    >>> with memory_store(Policy(epsilon="1", gap="11m"), clock).transaction("reading") as transaction:
    ...     current_tick(snapshot(transaction), clock) - snapshot(transaction).closed
    1
    """
    return now_tick(time_at(now.anchor, clock.read(now.now)), now.settings.tick)


def arrival_tick(now: "Snapshot", clock: Clock) -> int:
    """The tick of a post that arrives now: open, and not before any arrival that is stored.

    >>> from tarry.testing import ManualClock, memory_store
    >>> clock = ManualClock()
    >>> with memory_store(Policy(epsilon="1", gap="11m"), clock).transaction("reading") as transaction:
    ...     now = snapshot(transaction)
    >>> arrival_tick(now.with_arrival(now.closed + 5), clock) - now.closed
    5
    """
    return max(current_tick(now, clock), now.closed + 1, now.latest or 0)


class SystemClock:
    """This machine's clocks. On Linux the steady one counts sleep, and all processes share it.

    >>> clock = SystemClock()
    >>> clock.read().steady <= clock.read().steady
    True
    """

    def __init__(self) -> None:
        self._steady = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        self._boot = _boot()

    def read(self, database: int | None = None) -> Reading:
        """Look at the clocks. A database's wall clock, which machines share, goes before one's own."""
        steady = time.clock_gettime_ns(self._steady)
        wall = time.time_ns() // 1000 if database is None else database
        return Reading(wall, steady // 1000, self._boot)

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait for so many seconds, or until the event; whether it has come."""
        return event.wait(seconds)


def _boot() -> str:
    """A name for this run of the steady clock; without one from the system, for this process alone."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return f"{os.getpid()}-{secrets.token_hex(8)}"


# --- the store with its key and its outlets ---------------------------------------------------------


class Vault:
    """A founded store with its key and the outlets that posts may leave by.

    >>> from tarry.testing import ListOutlet, ManualClock, memory_store
    >>> store = memory_store(Policy(epsilon="1", gap="11m", window="5m"))
    >>> Vault(store, Keys(bytes(32)), {"list": ListOutlet()}, ManualClock()).settings.window_ticks
    300
    """

    def __init__(
        self, store: Store, keys: Keys, outlets: Mapping[str, "Outlet"], clock: Clock | None = None
    ) -> None:
        self.store, self.keys, self.outlets = store, keys, outlets
        self.clock: Clock = clock or store.clock()
        check_key(store, keys)
        with store.transaction("reading") as transaction:
            self.settings: StoreSettings = snapshot(transaction).settings
        self._sealed = self.settings.sealed
        self.seal: Seal = Sealed(keys.seal) if self.settings.is_encrypted else Open()

    def follow(self, settings: "StoreSettings") -> None:
        """Take over settings that another process may have changed; but not another key or encryption.

        What this process would seal nobody could open, and what it would open is no content.

        >>> from dataclasses import replace
            >>> from tarry.testing import memory_vault
        >>> vault = memory_vault(Policy(epsilon="1", gap="11m"))
        >>> vault.follow(replace(vault.settings, sealed=1))
        Traceback (most recent call last):
        tarry.keep.errors.Unavailable: the key or the encryption of this store was changed: start this \
program again
        """
        if settings.sealed != self._sealed:
            raise Unavailable(_CHANGED)
        self.settings = settings

    def now(self, transaction: Transaction) -> int:
        """The store's clock, in microseconds since 1970."""
        now = snapshot(transaction)
        self.follow(now.settings)
        return advance(now.anchor, self.clock.read(now.now)).time


def own_key(transaction: Transaction, keys: Keys) -> None:
    """Refuse a key that is not the store's; a store that has seen none yet takes this one as its own.

    >>> from tarry.testing import memory_store
    >>> store = memory_store(Policy(epsilon="1", gap="11m"))
    >>> with store.transaction("working") as transaction:
    ...     own_key(transaction, Keys(bytes(32)))
    ...     own_key(transaction, Keys(bytes(range(32))))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: this key is not the one that this store was begun with: put that key \
file back, or name it; or run tarry store rekey again, if it was cut off
    """
    if not _is_own(transaction, keys):
        transaction.tell("mark_key", fingerprint=keys.fingerprint)
        _is_own(transaction, keys)  # somebody with another one may have been quicker


def check_key(store: Store, keys: Keys) -> None:
    """The same in transactions of its own; nothing is written where the mark is there.

    >>> from tarry.testing import memory_store
    >>> check_key(memory_store(Policy(epsilon="1", gap="11m")), Keys(bytes(32)))
    """
    with store.transaction("reading") as transaction:
        if _is_own(transaction, keys):
            return
    with store.transaction("working") as transaction:
        own_key(transaction, keys)


def _is_own(transaction: Transaction, keys: Keys) -> bool:
    """Whether this is the key; False if the store has seen none yet."""
    row = transaction.one("fingerprint")
    if row is None or row["fingerprint"] is None:
        return False
    if bytes(row["fingerprint"]) != keys.fingerprint:
        raise NotPossible(_ANOTHER)
    return True
