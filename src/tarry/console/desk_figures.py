"""What the desk shows, as plain values. None of it changes at an arrival, nor a fixed time after one.

What waits and what the ledger holds were counted when the hour began; admissions are told by the hour,
after the hour.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Literal, NamedTuple

from tarry.console.texts import texts
from tarry.core.durations import format_duration
from tarry.core.promise import MEANINGLESS
from tarry.gateway.metrics import last_hour
from tarry.gateway.report import report
from tarry.keep.clock import MICROS, Clock, advance, last_past_tick, moment
from tarry.keep.closing import hour_ticks
from tarry.keep.store import Row, Transaction, snapshot

__all__ = ["Ledger", "Line", "Parked", "Standing", "health", "look", "parked"]

State = Literal["good", "note", "problem"]
_SLACK_S = 30  # by which ticks and deliveries may be behind, without a word


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One look at the store.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     look(transaction, gateway.clock).paused
    False
    """

    tick: Fraction  # seconds
    last_tick: int  # that is over, whether it is closed or not
    lag: Fraction  # seconds of ticks that are over and not closed
    late: Fraction  # seconds since the first release that is due and has not happened
    paused: bool  # brought back from a backup, and not resumed yet
    hour: tuple[float, int]  # the last one that is told: its beginning, and its admissions
    counted_at: Fraction  # the beginning of the hour in which `ahead` and the ledger were counted
    hour_s: Fraction  # how long an hour is here: whole ticks
    ahead: Sequence[Row]  # posts by space and hour of release
    parked: Sequence[Row]


def look(transaction: Transaction, clock: Clock) -> Standing:
    """Look at the store.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     look(transaction, gateway.clock).parked
    []
    """
    here = snapshot(transaction)
    tick, hour = here.settings.tick, hour_ticks(here.settings)
    now = advance(here.anchor, clock.read(here.now)).time
    last, overdue = last_past_tick(now, tick), transaction.one("overdue")
    due = None if overdue is None else overdue["release"]
    return Standing(
        tick=tick,
        last_tick=last,
        lag=max(0, last - here.closed) * tick,
        late=Fraction(0) if due is None else max(Fraction(0), Fraction(now, MICROS) - due * tick),
        paused=here.settings.paused,
        hour=last_hour(transaction),
        counted_at=here.closed // hour * hour * tick,
        hour_s=hour * tick,
        ahead=transaction.all("outlook"),
        parked=transaction.all("parked"),
    )


class Ledger:
    """How many accounts were above 3 nats when the hour began, never which; counted once an hour.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     Ledger().count(transaction, gateway.clock)
    0
    """

    def __init__(self) -> None:
        self._lock, self._hour, self._spent = Lock(), -1, 0

    def count(self, transaction: Transaction, clock: Clock) -> int:
        """How many there were. It goes through all accounts, so it is remembered until the hour is over."""
        with self._lock:
            here = snapshot(transaction)
            if (hour := here.closed // hour_ticks(here.settings)) != self._hour:
                self._hour, self._spent = hour, report(transaction, clock).spent
            return self._spent


class Line(NamedTuple):
    """One fact about the gateway's health.

    >>> Line("Store", "good", "reached").at
    ''
    """

    label: str
    state: State
    words: str
    at: str = ""  # a moment that ends the sentence


def health(standing: Standing | None, spent: int | None) -> list[Line]:
    """How the gateway is. No standing: its store is away; no ledger: for a token of some spaces alone.

    >>> [line.state for line in health(None, 0)]
    ['problem']
    """
    t = texts()["desk"]
    if standing is None:
        return [Line(t["store"], "problem", t["store_away"])]
    lines = [Line(t["store"], "good", t["store_good"])]
    slack = max(Fraction(_SLACK_S), 2 * standing.tick)
    if standing.paused:
        lines.append(Line(t["paused"], "problem", t["paused_words"]))
    elif standing.lag > slack:
        lines.append(Line(t["closing"], "problem", t["closing_late"].format(lag=_words(standing.lag))))
    else:
        lines.append(Line(t["closing"], "good", t["closing_good"]))
    if spent is None:  # what follows is summed over all spaces
        return lines
    if not standing.paused and standing.late > slack:
        lines.append(Line(t["overdue"], "note", t["overdue_late"].format(late=_words(standing.late))))
    elif not standing.paused:
        lines.append(Line(t["overdue"], "good", t["overdue_good"]))
    start, admissions = standing.hour
    lines.append(Line(t["admitted"], "good", _many("admitted", admissions), moment(start)))
    told = _many("ledger", spent) if spent else t["ledger_good"]
    state: State = "note" if spent else "good"
    counted = moment(standing.counted_at)
    lines.append(Line(t["ledger"], state, told.format(most=MEANINGLESS), counted))
    return lines


class Parked(NamedTuple):
    """A post that waits for a person.

    >>> Parked("talk", 7, "paper 3", "2026-01-01T00:00:00Z", 1, "the forum says no").space
    'talk'
    """

    space: str
    post: int  # its random key
    target: str
    due: str
    attempts: int
    problem: str


def parked(standing: Standing | None, spaces: Collection[str]) -> list[Parked]:
    """What is parked in these spaces, in the order of release.

    >>> parked(None, ["talk"])
    []
    """
    if standing is None:
        return []
    return [
        Parked(
            row["outlet"],
            row["id"],
            row["target"],
            moment(row["release"] * standing.tick),
            row["attempts"],
            row["problem"] or "",
        )
        for row in standing.parked
        if row["outlet"] in spaces
    ]


def _many(name: str, count: int) -> str:
    """The sentence for one, or for another number."""
    told: str = texts()["desk"][f"{name}_one" if count == 1 else f"{name}_many"]
    return told.replace("{count}", f"{count:,}")


def _words(seconds: Fraction) -> str:
    return format_duration(Fraction(round(seconds)))
