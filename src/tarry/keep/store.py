"""What a store is: transactions in which statements are asked for by name.

Four kinds of transaction. *Admitting* ones may run beside each other, *closing* a tick happens alone,
*working* ones (claim, mark, change a post) need neither, and *reading* ones change nothing. Each is one
unit: all of it is written down, durably, when the block ends, or none of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, Protocol

from tarry.core.durations import format_duration
from tarry.core.errors import BadInput
from tarry.core.policy import LabelRule, Policy, hold_of
from tarry.keep.clock import Anchor, Clock, Reading, last_past_tick, now_tick, time_at
from tarry.keep.sharing import PERSONAL, SHARED, Sharing

__all__ = [
    "Kind",
    "Row",
    "Snapshot",
    "Store",
    "StoreSettings",
    "Transaction",
    "anchor_row",
    "arrival_tick",
    "begin_store",
    "snapshot",
]

Kind = Literal["admitting", "closing", "working", "reading"]
Row = Mapping[str, Any]


class Transaction(Protocol):
    """Statements of `sql/`, asked for by name."""

    def one(self, name: str, /, **values: object) -> Row | None:
        """The first row of an answer, if there is one."""
        ...

    def all(self, name: str, /, **values: object) -> list[Row]:
        """Every row of an answer."""
        ...

    def run(self, name: str, /, **values: object) -> int:
        """How many rows a change has touched."""
        ...

    def snapshot(self) -> "Snapshot | None":
        """The current tick and settings; None before the store is founded."""
        ...

    def remember(self, snapshot: "Snapshot") -> None:
        """Keep what the snapshot is after this transaction, until another connection writes."""
        ...

    def lock(self, names: Iterable[bytes]) -> None:
        """Wait for other transactions that hold one of these names, and keep them waiting until the end."""
        ...

    def await_workers(self) -> None:
        """Wait until no worker is at a post, and keep them all waiting until the end."""
        ...

    def shuffle(self) -> None:
        """Write posts anew, in random order, whose arrivals are erased: where they lie tells an order.

        Each is written once, and once more after somebody has changed it. Call `await_workers` first.
        """
        ...

    def wall(self) -> int | None:
        """The wall clock of a database that has one, in microseconds since 1970."""
        ...

    def tell(self, name: str, /, **values: object) -> None:
        """Change something, whatever it touches."""
        ...

    def many(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """One change for each of many rows."""
        ...


class Store(Protocol):
    """Where posts wait. Threads and processes may share one."""

    def transaction(self, kind: Kind) -> AbstractContextManager[Transaction]:
        """One unit of work; raises `Unavailable` where the store cannot be reached."""
        ...

    def clock(self) -> Clock:
        """The clock that everybody at this store shares."""
        ...

    def clear_traces(self, *, last: bool = False) -> bool:
        """Remove what erased rows have left in logs and gaps; False if that has to be tried again.

        `last` says that nobody may try again for a while.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


@dataclass(frozen=True, kw_only=True)
class StoreSettings:
    """What all posts of a store share.

    >>> StoreSettings.of(Policy(epsilon="1", gap="11m", window="5m")).window_ticks
    300
    """

    tick: Fraction  # seconds
    window_ticks: int
    labels: LabelRule
    personal: bool = False  # one person's own store
    sealed: int = 0  # odd: content is encrypted; another number each time the key or this changes
    paused: bool = False  # nothing comes in or leaves until a person says so

    @classmethod
    def of(cls, policy: Policy, *, personal: bool = False, sealed: bool = False) -> "StoreSettings":
        """The settings a policy asks for."""
        return cls(
            tick=policy.tick,
            window_ticks=policy.window_ticks,
            labels=policy.labels,
            personal=personal,
            sealed=int(sealed),
        )

    @cached_property
    def sharing(self) -> Sharing:
        """What depends on whether one person has this store, or many share it."""
        return PERSONAL if self.personal else SHARED

    @property
    def is_encrypted(self) -> bool:
        """Whether content is encrypted where it lies."""
        return self.sealed % 2 == 1

    @cached_property
    def waits_for_label(self) -> bool:
        """Whether a label is known only after later arrivals are."""
        return self.labels in ("held", "simultaneous")

    @cached_property
    def _ratio(self) -> tuple[int, int]:
        return self.tick.as_integer_ratio()

    @cached_property
    def hold_ticks(self) -> int:
        """Ticks a post waits until its label is known, where labels are held."""
        return hold_of(self.labels, self.window_ticks)

    def check(self, policy: Policy) -> None:
        """Labels compare posts with each other, so all posts of a store have one window and tick.

        >>> StoreSettings.of(Policy(epsilon="1", gap="11m")).check(Policy(epsilon="2", gap="1h"))
        """
        same = self.window_ticks == policy.window_ticks and self.labels == policy.labels
        if not same or self._ratio != policy.tick.as_integer_ratio():
            raise BadInput(
                f"this policy has {StoreSettings.of(policy).summary}, and its store {self.summary}",
                "all policies of a store must have the same tick, window and labels",
            )

    @property
    def summary(self) -> str:
        """Tick, window and labels in a few words.

        >>> StoreSettings.of(Policy(epsilon="1", gap="11m")).summary
        "tick 1s, window 5m, labels 'held'"
        """
        tick, window = format_duration(self.tick), format_duration(self.window_ticks * self.tick)
        return f"tick {tick}, window {window}, labels {self.labels!r}"


class Snapshot(NamedTuple):
    """The store's clock, the last closed tick, its settings, and what an admission or a close need besides.

    >>> from tarry.testing import memory_store
    >>> with memory_store(Policy(epsilon="1", gap="11m")).transaction("reading") as transaction:
    ...     snapshot(transaction).heirlooms
    False
    """

    anchor: Anchor
    closed: int  # the last closed tick
    settings: StoreSettings
    policy: str | None = None  # of one person's own store
    latest: int | None = None  # the last arrival tick, of any actor
    heirlooms: bool = False  # whether any withdrawn post may still have an heir
    oldest: int | None = None  # the first arrival tick that is not erased
    lockout: int | None = None  # the first tick at which a lockout moves nothing any more
    now: int | None = None  # wall clock of a database that has one

    @classmethod
    def of(cls, row: Row) -> "Snapshot":
        """What the statement `snapshot` answers."""
        return cls(
            anchor=Anchor(row["time"], Reading(row["wall"], row["steady"], row["boot"])),
            closed=row["closed"],
            settings=_settings(
                row["tick"],
                row["window_ticks"],
                row["labels"],
                personal=row["personal"],
                sealed=row["sealed"],
                paused=row["paused"],
            ),
            policy=row["policy"],
            latest=row["latest"],
            heirlooms=bool(row["heirlooms"]),
            oldest=row["oldest"],
            lockout=row["lockout"],
            now=row["now"],
        )

    def with_arrival(self, tick: int) -> "Snapshot":
        """The same after an arrival at a tick that is not before any other.

        >>> settings = StoreSettings.of(Policy(epsilon="1", gap="11m"))
        >>> Snapshot(Anchor(7, Reading(7, 1, "a")), 6, settings).with_arrival(7).oldest
        7
        """
        if self.latest == tick:
            return self
        return self._replace(latest=tick, oldest=tick if self.oldest is None else self.oldest)


def begin_store(
    transaction: Transaction, settings: StoreSettings, clock: Clock, policy: str | None = None
) -> None:
    """Give a new store its clock and settings; an old one keeps its own.

    >>> from tarry.testing import ManualClock, memory_store
    >>> store = memory_store()
    >>> with store.transaction("closing") as transaction:
    ...     begin_store(transaction, StoreSettings.of(Policy(epsilon="1", gap="11m")), ManualClock())
    ...     snapshot(transaction).settings.window_ticks
    300
    """
    if transaction.snapshot() is not None:
        return
    anchor = Anchor.at(clock.read(transaction.wall()))
    transaction.tell("begin_clock", **anchor_row(anchor), closed=last_past_tick(anchor.time, settings.tick))
    transaction.tell(
        "begin_settings",
        tick=str(settings.tick),
        window_ticks=settings.window_ticks,
        labels=settings.labels,
        personal=int(settings.personal),
        sealed=settings.sealed,
        policy=policy,
    )


def snapshot(transaction: Transaction) -> Snapshot:
    """The current tick and settings of a store that is in use.

    >>> from tarry.testing import memory_store
    >>> with memory_store(Policy(epsilon="1", gap="11m")).transaction("reading") as transaction:
    ...     snapshot(transaction).settings.labels
    'held'
    """
    if (now := transaction.snapshot()) is None:
        raise BadInput("this store is empty", "call begin_store() first")
    return now


def arrival_tick(now: Snapshot, clock: Clock) -> int:
    """The tick of a post that arrives now: open, and not before any arrival that is stored.

    >>> from tarry.testing import ManualClock, memory_store
    >>> clock = ManualClock()
    >>> with memory_store(Policy(epsilon="1", gap="11m"), clock).transaction("reading") as transaction:
    ...     now = snapshot(transaction)
    >>> arrival_tick(now.with_arrival(now.closed + 5), clock) - now.closed
    5
    """
    time = time_at(now.anchor, clock.read(now.now))
    return max(now_tick(time, now.settings.tick), now.closed + 1, now.latest or 0)


def anchor_row(anchor: Anchor) -> dict[str, object]:
    """The columns of an anchor.

    >>> anchor_row(Anchor(7, Reading(7, 1, "a")))["steady"]
    1
    """
    reading = anchor.reading
    return {"time": anchor.time, "wall": reading.wall, "steady": reading.steady, "boot": reading.boot}


@lru_cache
def _settings(
    tick: str, window_ticks: int, labels: LabelRule, *, personal: int, sealed: int, paused: int
) -> StoreSettings:
    """Read at every admission, and hardly ever new."""
    return StoreSettings(
        tick=Fraction(tick),
        window_ticks=window_ticks,
        labels=labels,
        personal=bool(personal),
        sealed=sealed,
        paused=bool(paused),
    )
