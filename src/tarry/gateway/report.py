"""How a gateway stands, for its operator: clock, lateness, what is parked, what is to come.

Nothing here changes at an arrival. Admissions are told by the hour, after the hour; what waits is told as
it stood at the end of the last hour; the ledger is told as a number of accounts, never which.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tarry.core.errors import NotPossible
from tarry.core.promise import MEANINGLESS
from tarry.gateway.book import NO_SPACE, Book, read_book
from tarry.keep.clock import MICROS, Clock, advance, last_past_tick
from tarry.keep.closing import hour_ticks
from tarry.keep.store import Snapshot, Transaction, snapshot

__all__ = ["Ahead", "Hour", "Report", "complete_hours", "report"]

_HOURS = 24  # of admissions that are shown


@dataclass(frozen=True, kw_only=True)
class Hour:
    """Admissions in one hour that is over.

    >>> Hour(at=Fraction(3600), admissions=7).admissions
    7
    """

    at: Fraction  # when it began, in seconds since 1970
    admissions: int


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """What waited in one space when the last hour ended, by the hour of release.

    >>> Ahead(space="talk", at=None, posts=3).posts
    3
    """

    space: str
    at: Fraction | None  # when that hour begins; None: not known yet
    posts: int


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a gateway stands.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     report(transaction, gateway.clock).paused
    False
    """

    now: Fraction  # the store's clock, in seconds since 1970
    closed_at: Fraction  # the end of the last closed tick
    lag: Fraction  # seconds of ticks that are over and not closed
    late: Fraction  # seconds since the first release that is due and has not happened
    paused: bool  # brought back from a backup, and not resumed yet
    encrypted: bool  # whether content lies encrypted in the database
    parked: Mapping[str, int]  # posts that wait for a person, by space
    hours: tuple[Hour, ...]  # the last ones, latest first
    ahead: tuple[Ahead, ...]
    accounts: int  # that the ledger knows
    spent: int  # of these, with more than 3 nats over all policy versions


def report(transaction: Transaction, clock: Clock) -> Report:
    """Look at a gateway.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     report(transaction, gateway.clock).parked
    {}
    """
    if transaction.snapshot() is None:
        raise NotPossible(NO_SPACE)
    here = snapshot(transaction)
    tick, hour = here.settings.tick, hour_ticks(here.settings)
    now = advance(here.anchor, clock.read(here.now)).time
    seconds = Fraction(now, MICROS)
    overdue = transaction.one("overdue")
    first = None if overdue is None else overdue["release"]
    accounts = _nats(transaction, read_book(transaction))
    return Report(
        now=seconds,
        closed_at=here.closed * tick,
        lag=max(0, last_past_tick(now, tick) - here.closed) * tick,
        late=Fraction(0) if first is None else max(Fraction(0), seconds - first * tick),
        paused=here.settings.paused,
        encrypted=here.settings.is_encrypted,
        parked={row["outlet"]: row["posts"] for row in transaction.all("parked_counts")},
        hours=complete_hours(transaction, here, _HOURS),
        ahead=tuple(
            Ahead(
                space=row["outlet"],
                at=row["hour"] * hour * tick if row["hour"] else None,
                posts=row["posts"],
            )
            for row in transaction.all("outlook")
        ),
        accounts=len(accounts),
        spent=sum(nats > MEANINGLESS for nats in accounts.values()),
    )


def complete_hours(transaction: Transaction, here: Snapshot, most: int) -> tuple[Hour, ...]:
    """Admissions by the hour, of hours that are over and wholly counted: none of them changes any more.

    >>> from tarry.gateway.testing import small_gateway
    >>> with small_gateway().store.transaction("reading") as transaction:
    ...     complete_hours(transaction, snapshot(transaction), 24)
    ()
    """
    settings, hour = here.settings, hour_ticks(here.settings)
    counted = here.closed - settings.window_ticks * (2 if settings.waits_for_label else 1)
    rows = transaction.all("hours", before=(counted + 1) // hour, most=most)
    return tuple(Hour(at=row["hour"] * hour * settings.tick, admissions=row["arrivals"]) for row in rows)


def _nats(transaction: Transaction, book: Book) -> dict[bytes, Fraction]:
    """What the batched acts of each account may have cost, over all spaces and policy versions."""
    shares = {
        f"{space.name} {version.number}": version.policy.share
        for space in book.spaces.values()
        for version in space.versions
    }
    nats: defaultdict[bytes, Fraction] = defaultdict(Fraction)
    for row in transaction.all("accounts"):
        nats[bytes(row["account"])] += shares.get(row["period"], Fraction(0)) * row["batched"]
    return nats
