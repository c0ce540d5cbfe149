"""How a gateway is doing, for its operator: its status, and metrics in the text format of Prometheus.

Nothing here changes at an arrival. Admissions are counted by the hour, and an hour is shown when it is
over; what waits is shown as it was at the end of the last hour; the ledger is shown as a number of
accounts, never which. Nothing is shown of the process itself, whose processor time moves with every
request: that is why no client library writes the metrics.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from tarry.core.errors import NotPossible
from tarry.core.promise import MEANINGLESS
from tarry.gateway.catalog import NO_SPACE, Catalog, read_catalog
from tarry.gateway.feed import Feed
from tarry.gateway.gateway import Gateway
from tarry.keep.closing import erased_up_to, hour_ticks
from tarry.keep.sharing import Snapshot
from tarry.keep.store import MICROS, Clock, Transaction, advance, last_past_tick, snapshot

__all__ = [
    "AdmissionHour",
    "GatewayStatus",
    "UpcomingReleases",
    "complete_hours",
    "last_hour",
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
    lag: Fraction  # seconds of ticks that are over and not closed
    late: Fraction  # seconds since the first release that is due and has not happened
    paused: bool  # brought back from a backup, and not resumed yet
    encrypted: bool  # whether content lies encrypted in the database
    parked: Mapping[str, int]  # posts that wait for a person, by space
    hours: tuple[AdmissionHour, ...]  # the last ones, latest first
    ahead: tuple[UpcomingReleases, ...]
    accounts: int  # that the ledger knows
    spent: int  # of these, with more than 3 nats over all policy versions


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
    tick = here.settings.tick
    now = advance(here.anchor, clock.read(here.now)).time
    accounts = _nats(transaction, read_catalog(transaction))
    return GatewayStatus(
        now=Fraction(now, MICROS),
        closed_at=here.closed * tick,
        lag=max(0, last_past_tick(now, tick) - here.closed) * tick,
        late=_lateness(transaction, here, now),
        paused=here.settings.paused,
        encrypted=here.settings.is_encrypted,
        parked=_parked_counts(transaction),
        hours=complete_hours(transaction, here, _HOURS),
        ahead=_upcoming(transaction, here),
        accounts=len(accounts),
        spent=sum(nats > MEANINGLESS for nats in accounts.values()),
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


def _lateness(transaction: Transaction, here: Snapshot, now: int) -> Fraction:
    """Seconds since the first release that is due and has not happened."""
    row = transaction.one("overdue")
    if row is None or row["release"] is None:
        return Fraction(0)
    return max(Fraction(0), Fraction(now, MICROS) - int(row["release"]) * here.settings.tick)


def _nats(transaction: Transaction, catalog: Catalog) -> dict[bytes, Fraction]:
    """What the batched acts of each account may have cost, over all spaces and policy versions."""
    shares = {
        space.period(version): version.policy.share
        for space in catalog.spaces.values()
        for version in space.versions
    }
    nats: defaultdict[bytes, Fraction] = defaultdict(Fraction)
    for row in transaction.all("accounts"):
        nats[bytes(row["account"])] += shares.get(row["period"], Fraction(0)) * row["batched"]
    return nats


# --- metrics --------------------------------------------------------------------------------------


class _Family(NamedTuple):
    name: str
    kind: str
    meaning: str
    samples: Sequence[tuple[str, float]]  # labels, and a number


def metrics(gateway: Gateway) -> str:
    """All metrics of a gateway. They are read from the store: every server gives the same.

    >>> from tarry.gateway.testing import small_gateway
    >>> print(metrics(small_gateway()).splitlines()[0])
    # HELP tarry_releases_total Posts that have been published in the feed.
    """
    spaces = gateway.refresh().spaces
    released = [(_label(name), Feed(gateway.store, name).last_position()) for name in spaces]
    with gateway.store.transaction("reading") as transaction:
        here, hour, now = snapshot(transaction), last_hour(transaction), gateway.vault.now(transaction)
        parked, late = _parked_counts(transaction), _lateness(transaction, here, now)
    lag = now / MICROS - here.closed * float(here.settings.tick)
    families = [
        _Family("releases_total", "counter", "Posts that have been published in the feed.", released),
        _Family("parked", "gauge", "Posts that a person has to look at.", _by_space(spaces, parked)),
        _single("closing_lag_seconds", "Time since the last closed tick.", lag),
        _single("overdue_seconds", "How late the first post is that is due and has not left.", float(late)),
        _single("paused", "1: nothing comes in or leaves.", float(here.settings.paused)),
        _single("admissions_of_an_hour", "Admissions of the last hour that is shown.", hour.admissions),
        _single("admissions_hour_start_seconds", "When that hour began.", float(hour.at)),
    ]
    return "".join(_text(family) for family in families)


def _single(name: str, meaning: str, number: float) -> _Family:
    return _Family(name, "gauge", meaning, [("", number)])


def _by_space(spaces: Iterable[str], counts: Mapping[str, int]) -> list[tuple[str, float]]:
    return [(_label(name), counts.get(name, 0)) for name in spaces]


def _label(space: str) -> str:
    return f'{{space="{space}"}}'


def _text(family: _Family) -> str:
    name = f"tarry_{family.name}"
    lines = [f"# HELP {name} {family.meaning}", f"# TYPE {name} {family.kind}"]
    lines += [f"{name}{labels} {number!r}" for labels, number in family.samples]
    return "\n".join(lines) + "\n"
