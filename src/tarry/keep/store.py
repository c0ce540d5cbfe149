"""What a store is: transactions in which the keeper asks its questions by name.

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
from tarry.keep.keys import post_key, receipt_hash

__all__ = [
    "Kind",
    "Place",
    "Row",
    "Settings",
    "Store",
    "Transaction",
    "arrival_tick",
    "by_receipt",
    "found",
    "place",
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

    def place(self) -> "Place | None":
        """Where the store stands; None before it is founded."""
        ...

    def remember(self, place: "Place") -> None:
        """Where the store stands now, says who has asked before and has changed it since."""
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
class Settings:
    """What all posts of a store share.

    >>> Settings.of(Policy(epsilon="1", gap="11m", window="5m")).window_ticks
    300
    """

    tick: Fraction  # seconds
    window_ticks: int
    labels: LabelRule
    personal: bool = False  # one person's own store
    sealed: int = 0  # odd: content is encrypted; another number each time the key or this changes
    paused: bool = False  # nothing comes in or leaves until a person says so

    @classmethod
    def of(cls, policy: Policy, *, personal: bool = False, sealed: bool = False) -> "Settings":
        """The settings a policy asks for."""
        return cls(
            tick=policy.tick,
            window_ticks=policy.window_ticks,
            labels=policy.labels,
            personal=personal,
            sealed=int(sealed),
        )

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

        >>> Settings.of(Policy(epsilon="1", gap="11m")).check(Policy(epsilon="2", gap="1h"))
        """
        same = self.window_ticks == policy.window_ticks and self.labels == policy.labels
        if not same or self._ratio != policy.tick.as_integer_ratio():
            raise BadInput(
                "a policy",
                "has the tick, window and labels of its store",
                found=_told(Settings.of(policy)),
                fix=f"this store has {_told(self)}",
            )


class Place(NamedTuple):
    """Where the store stands: its clock, the last closed tick, its settings, and perhaps its policy.

    >>> from tarry.testing import memory_store
    >>> with memory_store(Policy(epsilon="1", gap="11m")).transaction("reading") as transaction:
    ...     place(transaction).heirlooms
    False
    """

    anchor: Anchor
    closed: int
    settings: Settings
    policy: str | None
    latest: int | None  # arrival tick of any actor
    heirlooms: bool  # whether any withdrawn post may still have an heir
    oldest: int | None  # the first arrival tick that is not erased
    lockout: int | None  # the first tick at which a lockout moves nothing any more
    now: int | None  # wall clock of a database that has one

    @classmethod
    def of(cls, row: Sequence[Any]) -> "Place":
        """What the statement `place` answers, in the order of its columns.

        >>> stored = ("1", 300, "held", 0, 0, 0)
        >>> Place.of((7, 7, 1, "a", 6, *stored, None, None, 0, None, None, None)).closed
        6
        """
        time, wall, steady, boot, closed, *settings, policy, latest, heirlooms, oldest, lockout, now = row
        anchor, shared = Anchor(time, Reading(wall, steady, boot)), _settings(tuple(settings))
        return cls(anchor, closed, shared, policy, latest, bool(heirlooms), oldest, lockout, now)

    def with_arrival(self, tick: int) -> "Place":
        """The same after an arrival at a tick that is not before any other.

        >>> stored = ("1", 300, "held", 0, 0, 0)
        >>> Place.of((7, 7, 1, "a", 6, *stored, None, None, 0, None, None, None)).with_arrival(7).oldest
        7
        """
        if self.latest == tick:
            return self
        return self._replace(latest=tick, oldest=tick if self.oldest is None else self.oldest)


def found(transaction: Transaction, settings: Settings, clock: Clock, policy: str | None = None) -> None:
    """Give a new store its clock and settings; an old one keeps its own.

    >>> from tarry.testing import ManualClock, memory_store
    >>> store = memory_store()
    >>> with store.transaction("closing") as transaction:
    ...     found(transaction, Settings.of(Policy(epsilon="1", gap="11m")), ManualClock())
    ...     place(transaction).settings.window_ticks
    300
    """
    if transaction.place() is not None:
        return
    anchor = Anchor.at(clock.read(transaction.wall()))
    transaction.tell("found", **anchor_row(anchor), closed=last_past_tick(anchor.time, settings.tick))
    transaction.tell(
        "settle_in",
        tick=str(settings.tick),
        window_ticks=settings.window_ticks,
        labels=settings.labels,
        personal=int(settings.personal),
        sealed=settings.sealed,
        policy=policy,
    )


def place(transaction: Transaction) -> Place:
    """Where the store stands.

    >>> from tarry.testing import memory_store
    >>> with memory_store(Policy(epsilon="1", gap="11m")).transaction("reading") as transaction:
    ...     place(transaction).settings.labels
    'held'
    """
    if (here := transaction.place()) is None:
        raise BadInput("a store", "has been founded", found="an empty one", fix="call found() first")
    return here


def arrival_tick(here: Place, clock: Clock) -> int:
    """The tick of a post that arrives now: open, and not before any arrival that is stored.

    >>> from tarry.testing import ManualClock, memory_store
    >>> clock = ManualClock()
    >>> with memory_store(Policy(epsilon="1", gap="11m"), clock).transaction("reading") as transaction:
    ...     here = place(transaction)
    >>> arrival_tick(here.with_arrival(here.closed + 5), clock) - here.closed
    5
    """
    now = time_at(here.anchor, clock.read(here.now))
    return max(now_tick(now, here.settings.tick), here.closed + 1, here.latest or 0)


def by_receipt(transaction: Transaction, receipt: str) -> Row | None:
    """The post that a receipt names, with what is still known of its arrival.

    >>> from tarry.testing import memory_store
    >>> with memory_store(Policy(epsilon="1", gap="11m")).transaction("reading") as transaction:
    ...     by_receipt(transaction, "no such receipt")
    """
    hashed = receipt_hash(receipt)
    return transaction.one("by_receipt", id=post_key(hashed), receipt=hashed)


def anchor_row(anchor: Anchor) -> dict[str, object]:
    """The columns of an anchor."""
    reading = anchor.reading
    return {"time": anchor.time, "wall": reading.wall, "steady": reading.steady, "boot": reading.boot}


def _told(settings: Settings) -> str:
    tick, window = settings.tick, settings.window_ticks * settings.tick
    return f"tick {format_duration(tick)}, window {format_duration(window)}, labels {settings.labels!r}"


@lru_cache
def _settings(stored: tuple[Any, ...]) -> Settings:
    """Read at every admission, and hardly ever new."""
    tick, window_ticks, labels, personal, sealed, paused = stored
    return Settings(
        tick=Fraction(tick),
        window_ticks=window_ticks,
        labels=labels,
        personal=bool(personal),
        sealed=sealed,
        paused=bool(paused),
    )
