"""How a gateway is doing, for its operator: its status, metrics for Prometheus, and the log.

Nothing here changes at an arrival. Admissions are counted by the hour, and an hour is shown when it is
over; what waits is shown as it was at the end of the last hour; the ledger is shown as a number of
accounts, never which. Nothing is shown of the process itself, whose processor time moves with every
request: that is why no client library writes the metrics.

`EVENTS` lists everything that may be logged. None of them is caused by a post, a request or a reader: they
come from starting and stopping, from the keeper's clock and deliveries, and once an hour from a count of
errors. No line holds an address, a path, a header or anybody's name.
"""

import json
import logging
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Literal, TextIO, get_args

from tarry.core.errors import NotPossible
from tarry.core.ledger import LedgerLine, total_line
from tarry.core.promise import Promise, promise
from tarry.gateway.catalog import NO_SPACE, Catalog, read_catalog
from tarry.gateway.feed import Feed
from tarry.gateway.gateway import Gateway
from tarry.keep.closing import erased_up_to, hour_ticks
from tarry.keep.sharing import Snapshot
from tarry.keep.store import MICROS, Clock, Transaction, advance, last_past_tick, snapshot

__all__ = [
    "EVENTS",
    "AdmissionHour",
    "ErrorCounter",
    "Event",
    "GatewayStatus",
    "Log",
    "UpcomingReleases",
    "code_location",
    "complete_hours",
    "last_hour",
    "lateness",
    "metrics",
    "read_status",
]

_HOURS = 24  # of admissions that are shown


@dataclass(frozen=True, kw_only=True)
class AdmissionHour:
    """Admissions in one hour that is over.

    >>> AdmissionHour(at=Fraction(3600), admissions=7).admissions
    7
    """

    at: Fraction  # when it began, in seconds since 1970
    admissions: int


@dataclass(frozen=True, kw_only=True)
class UpcomingReleases:
    """What waited in one space when the last hour ended, by the hour of release.

    >>> UpcomingReleases(space="talk", at=None, posts=3).posts
    3
    """

    space: str
    at: Fraction | None  # when that hour begins; None: not known yet
    posts: int


@dataclass(frozen=True, kw_only=True)
class GatewayStatus:
    """How a gateway is doing.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     read_status(transaction, gateway.clock).paused
    False
    """

    now: Fraction  # the store's clock, in seconds since 1970
    closed_at: Fraction  # the end of the last closed tick
    counted_at: Fraction  # the end of the hour as of which `ahead` and accounts are counted
    lag: Fraction  # seconds of ticks that are over and not closed
    late: Fraction  # seconds since the first release that is due and has not happened
    paused: bool  # brought back from a backup, and not resumed yet
    encrypted: bool  # whether content lies encrypted in the database
    parked: Mapping[str, int]  # posts that wait for a person, by space
    hours: tuple[AdmissionHour, ...]  # the last ones, latest first
    ahead: tuple[UpcomingReleases, ...]
    accounts: int  # that the ledger knows
    spent: int  # of these, beyond what is promised: 3 nats, or a season, over all policy versions


def read_status(transaction: Transaction, clock: Clock) -> GatewayStatus:
    """Read the status of a gateway.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     read_status(transaction, gateway.clock).parked
    {}
    """
    if transaction.snapshot() is None:
        raise NotPossible(NO_SPACE)
    here = snapshot(transaction)
    tick, hour = here.settings.tick, hour_ticks(here.settings)
    now = advance(here.anchor, clock.read(here.now)).time
    lines = _account_lines(transaction, read_catalog(transaction))
    return GatewayStatus(
        now=Fraction(now, MICROS),
        closed_at=here.closed * tick,
        counted_at=here.closed // hour * hour * tick,
        lag=max(0, last_past_tick(now, tick) - here.closed) * tick,
        late=lateness(transaction, here, now),
        paused=here.settings.paused,
        encrypted=here.settings.is_encrypted,
        parked=_parked_counts(transaction),
        hours=complete_hours(transaction, here, _HOURS),
        ahead=_upcoming(transaction, here),
        accounts=len(lines),
        spent=sum(line.beyond for line in lines),
    )


def complete_hours(transaction: Transaction, here: Snapshot, most: int) -> tuple[AdmissionHour, ...]:
    """Admissions by the hour, of hours that are over and wholly counted: none of them changes any more.

    >>> from tarry.gateway.testing import small_gateway
    >>> with small_gateway().store.transaction("reading") as transaction:
    ...     complete_hours(transaction, snapshot(transaction), 24)
    ()
    """
    settings, hour = here.settings, hour_ticks(here.settings)
    counted = here.closed - settings.window_ticks * (2 if settings.waits_for_label else 1)
    rows = transaction.all("hours", before=(counted + 1) // hour, most=most)
    return tuple(
        AdmissionHour(at=row["hour"] * hour * settings.tick, admissions=row["arrivals"]) for row in rows
    )


def last_hour(transaction: Transaction) -> AdmissionHour:
    """The last hour whose arrivals are all erased.

    >>> from tarry.gateway.testing import small_gateway
    >>> with small_gateway().store.transaction("reading") as transaction:
    ...     last_hour(transaction).admissions
    0
    """
    here = snapshot(transaction)
    ticks, settings = hour_ticks(here.settings), here.settings
    hour = (erased_up_to(settings, here.closed) + 1) // ticks - 1
    rows = transaction.all("hours", before=hour + 1, most=1)
    arrivals = rows[0]["arrivals"] if rows and rows[0]["hour"] == hour else 0
    return AdmissionHour(at=hour * ticks * settings.tick, admissions=int(arrivals))


def _upcoming(transaction: Transaction, here: Snapshot) -> tuple[UpcomingReleases, ...]:
    length = hour_ticks(here.settings) * here.settings.tick
    return tuple(
        UpcomingReleases(
            space=row["outlet"], at=row["hour"] * length if row["hour"] else None, posts=row["posts"]
        )
        for row in transaction.all("outlook")
    )


def _parked_counts(transaction: Transaction) -> dict[str, int]:
    """Parked posts, by space."""
    return {row["outlet"]: row["posts"] for row in transaction.all("parked_counts")}


def lateness(transaction: Transaction, here: Snapshot, now: int) -> Fraction:
    """Seconds since the first release that is due and has not happened.

    >>> from tarry.gateway.testing import small_gateway
    >>> with small_gateway().store.transaction("reading") as transaction:
    ...     lateness(transaction, snapshot(transaction), 0)
    Fraction(0, 1)
    """
    row = transaction.one("overdue")
    if row is None or row["release"] is None:
        return Fraction(0)
    return max(Fraction(0), Fraction(now, MICROS) - int(row["release"]) * here.settings.tick)


def _account_lines(transaction: Transaction, catalog: Catalog) -> list[LedgerLine]:
    """What the batched acts of each account may have cost, over all spaces and policy versions."""
    promises = {
        space.period(version): promise(version.policy)
        for space in catalog.spaces.values()
        for version in space.versions
    }
    accounts: defaultdict[bytes, Counter[Promise]] = defaultdict(Counter)
    for row in transaction.all("accounts"):
        counts = accounts[bytes(row["account"])]
        if (claim := promises.get(row["period"])) is not None:
            counts[claim] += row["batched"]
    lines = {counts: total_line(dict(counts)) for counts in map(_frozen, accounts.values())}
    return [lines[_frozen(counts)] for counts in accounts.values()]


def _frozen(counts: Mapping[Promise, int]) -> frozenset[tuple[Promise, int]]:
    """Many accounts have the same counts: what they cost is worked out once."""
    return frozenset(counts.items())


# --- metrics --------------------------------------------------------------------------------------


def metrics(gateway: Gateway) -> str:
    """All metrics of a gateway. They are read from the store: every server gives the same.

    >>> from tarry.gateway.testing import small_gateway
    >>> print(metrics(small_gateway()).splitlines()[0])
    # HELP tarry_releases_total Posts that have been published in the feed.
    """
    spaces = gateway.refresh().spaces
    labels = {name: f'{{space="{name}"}}' for name in spaces}
    released = {labels[name]: Feed(gateway.store, name).last_position() for name in spaces}
    with gateway.store.transaction("reading") as transaction:
        here, hour, now = snapshot(transaction), last_hour(transaction), gateway.vault.now(transaction)
        parked, late = _parked_counts(transaction), lateness(transaction, here, now)
    waiting = {labels[name]: parked.get(name, 0) for name in spaces}
    lag = now / MICROS - here.closed * float(here.settings.tick)
    # Name, meaning, and a number for each label.
    families: list[tuple[str, str, Mapping[str, float]]] = [
        ("releases_total", "Posts that have been published in the feed.", released),
        ("parked", "Posts that a person has to look at.", waiting),
        ("closing_lag_seconds", "Time since the last closed tick.", {"": lag}),
        ("overdue_seconds", "How late the first post is that is due and has not left.", {"": float(late)}),
        ("paused", "1: nothing comes in or leaves.", {"": float(here.settings.paused)}),
        ("admissions_of_an_hour", "Admissions of the last hour that is shown.", {"": hour.admissions}),
        ("admissions_hour_start_seconds", "When that hour began.", {"": float(hour.at)}),
    ]
    lines = []
    for name, meaning, numbers in families:
        kind = "counter" if name.endswith("_total") else "gauge"
        lines += [f"# HELP tarry_{name} {meaning}", f"# TYPE tarry_{name} {kind}"]
        lines += [f"tarry_{name}{label} {number!r}" for label, number in numbers.items()]
    return "\n".join(lines) + "\n"


# --- the log: one JSON object a line, and nothing at an arrival -----------------------------------

#: Everything that may be logged:
#: started    it listens, with its address; or a worker has begun
#: keeper     from the keeper: outages of the store, ticks that were missed, deliveries that failed
#: store      the store is away, or back: the catalog is read once a second
#: mishap     an error: which kind, where in the code, how often in the hour that is over
#: stopping   it was told to stop, or a part of it broke
#: stopped    everything that was begun is done
Event = Literal["started", "keeper", "store", "mishap", "alert", "stopping", "stopped"]
EVENTS: tuple[Event, ...] = get_args(Event)
_HOUR_S = 3600


def _now() -> str:
    return datetime.now(tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Log:
    """Writes lines of JSON, each with the keys time, event and detail; of all events, or of some.

    >>> Log(sys.stdout, now=lambda: "2026-01-01T00:00:00.000Z")("stopped", "in good order")
    {"time": "2026-01-01T00:00:00.000Z", "event": "stopped", "detail": "in good order"}
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        now: Callable[[], str] = _now,
        *,
        only: Collection[Event] = EVENTS,
    ) -> None:
        self._stream, self._now, self._turn = stream or sys.stderr, now, threading.Lock()
        self._only = only

    def __call__(self, event: Event, detail: str = "") -> None:
        """Write one line."""
        if event not in EVENTS:
            raise ValueError(f"unknown event {event!r}: use one of {', '.join(EVENTS)}")
        if event not in self._only:
            return
        line = json.dumps({"time": self._now(), "event": event, "detail": detail})
        with self._turn, suppress(OSError, ValueError):  # nobody reads: no reason to stop releasing
            print(line, file=self._stream, flush=True)


class ErrorCounter(logging.Handler):
    """Counts the warnings and errors of libraries, and logs the counts after the hour.

    A request that breaks something is not logged at once: the line would show when it came. What is counted
    is the kind of the error and the place in the code; texts may hold what somebody has sent.

    >>> errors = ErrorCounter(Log(sys.stdout, now=lambda: "12:00"), hour=lambda: 7)
    >>> errors.handle(logging.makeLogRecord({"name": "uvicorn.error", "levelno": logging.ERROR}))
    True
    >>> errors.log(last=True)
    {"time": "12:00", "event": "mishap", "detail": "1 x ERROR of uvicorn.error"}
    """

    def __init__(self, log: Log, hour: Callable[[], int] = lambda: int(time.time()) // _HOUR_S) -> None:
        super().__init__(logging.WARNING)
        self._log, self._hour_now = log, hour
        self._hour, self._counts = hour(), Counter[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record of `logging`."""
        kind, _, trace = record.exc_info or (None, None, None)
        error = "" if kind is None else f": {kind.__name__}{code_location(trace)}"
        self._counts[f"{logging.getLevelName(record.levelno)} of {record.name}{error}"] += 1

    def count(self, what: str) -> None:
        """Count an error that is described by us, without what was sent."""
        self.acquire()
        self._counts[what] += 1
        self.release()

    def log(self, *, last: bool = False) -> None:
        """Log the errors of an hour that is over, or those so far if this is the last chance."""
        if not last and self._hour_now() == self._hour:
            return
        self.acquire()
        counts, self._counts, self._hour = self._counts, Counter(), self._hour_now()
        self.release()
        for what, count in sorted(counts.items()):
            self._log("mishap", f"{count} x {what}")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the records of every logger, in place of the handlers that are there."""
        root = logging.getLogger()
        handlers, level = root.handlers[:], root.level
        root.handlers[:] = [self]
        root.setLevel(logging.WARNING)
        try:
            yield
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)


def code_location(trace: TracebackType | None) -> str:
    """Where in the code an error was raised: never what it says.

    >>> code_location(None)
    ''
    """
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
