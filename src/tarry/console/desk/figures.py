"""What the desk shows, as plain values. None of it changes at an arrival, nor a fixed time after one.

What waits and what the ledger holds were counted when the hour began; admissions are shown by the hour,
after the hour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Literal, NamedTuple

from tarry.console.pages import texts
from tarry.core.exact import format_duration
from tarry.gateway.catalog import Space
from tarry.gateway.monitoring import AdmissionHour, last_hour, read_status
from tarry.gateway.upkeep import ParkedPost, parked_posts
from tarry.keep.closing import hour_ticks
from tarry.keep.store import MICROS, Clock, Row, Transaction, advance, last_past_tick, moment, snapshot

__all__ = [
    "FEW",
    "Card",
    "HealthLine",
    "LedgerCount",
    "PolicyPeriod",
    "Standing",
    "Waiting",
    "card",
    "health",
    "look",
    "overall",
]

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
    hour: AdmissionHour  # the last whole one
    counted_at: Fraction  # the beginning of the hour in which `ahead` and the ledger were counted
    hour_s: Fraction  # how long an hour is here: whole ticks
    ahead: Sequence[Row]  # posts by space and hour of release
    parked: Sequence[ParkedPost]


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
        parked=parked_posts(transaction),
    )


class LedgerCount:
    """How many accounts were beyond what is promised when the hour began, never which; counted hourly.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     LedgerCount().count(transaction, gateway.clock)
    0
    """

    def __init__(self) -> None:
        self._lock, self._hour, self._spent = Lock(), -1, 0

    def count(self, transaction: Transaction, clock: Clock) -> int:
        """How many there were. It goes through all accounts, so it is remembered until the hour is over."""
        with self._lock:
            here = snapshot(transaction)
            if (hour := here.closed // hour_ticks(here.settings)) != self._hour:
                self._hour, self._spent = hour, read_status(transaction, clock).spent
            return self._spent


class HealthLine(NamedTuple):
    """One fact about the gateway's health.

    >>> HealthLine("Store", "good", "reached").at
    ''
    """

    label: str
    state: Literal["good", "note", "problem"]
    words: str
    at: str = ""  # a moment that ends the sentence


def overall(lines: Sequence[HealthLine]) -> HealthLine:
    """The line that matters most, or that all is well.

    >>> overall(health(None, 0)).state
    'problem'
    """
    for state in ("problem", "note"):
        for line in lines:
            if line.state == state:
                return line
    return HealthLine(texts()["desk"]["overall"], "good", texts()["desk"]["overall_good"])


def health(standing: Standing | None, spent: int | None, parked: int = 0) -> list[HealthLine]:
    """How the gateway is. No standing: its store is away; no ledger: for a token of some spaces alone.

    >>> [line.state for line in health(None, 0)]
    ['problem']
    """
    t = texts()["desk"]
    if standing is None:
        return [HealthLine(t["store"], "problem", t["store_away"])]
    paused = HealthLine(t["paused"], "problem", t["paused_words"])
    lines = [
        HealthLine(t["store"], "good", t["store_good"]),
        paused if standing.paused else _punctual(standing, "closing", "problem", standing.lag),
        HealthLine(
            t["parked"],
            "problem" if parked else "good",
            _counted("parked", parked) if parked else t["parked_good"],
        ),
    ]
    if spent is None:  # what follows is summed over all spaces
        return lines
    if not standing.paused:
        lines.append(_punctual(standing, "overdue", "note", standing.late))
    admitted, counted = _admitted(standing.hour.admissions), moment(standing.counted_at)
    ledger = _counted("ledger", spent) if spent else t["ledger_good"]
    return [
        *lines,
        HealthLine(t["admitted"], "good", admitted, moment(standing.hour.at)),
        HealthLine(t["ledger"], "note" if spent else "good", ledger, counted),
    ]


def _punctual(
    standing: Standing, name: str, state: Literal["note", "problem"], behind: Fraction
) -> HealthLine:
    """Whether something is in time, or by how much it is late."""
    t, length = texts()["desk"], format_duration(Fraction(round(behind)))
    if behind <= max(Fraction(_SLACK_S), 2 * standing.tick):
        return HealthLine(t[name], "good", t[f"{name}_good"])
    return HealthLine(t[name], state, t[f"{name}_late"].format(lag=length, late=length))


def _admitted(count: int) -> str:
    """Where an hour had few posts, it says that alone: one with a single post would tell when that came."""
    sentence: str = texts()["desk"]["admitted_none" if not count else "admitted_many"]
    return sentence.replace("{count}", _few_words(count))


def _counted(name: str, count: int) -> str:
    """The sentence for one, or for another number."""
    sentence: str = texts()["desk"][f"{name}_one" if count == 1 else f"{name}_many"]
    return sentence.replace("{count}", f"{count:,}")


PolicyState = Literal["holds", "comes", "held", "never"]


class Waiting(NamedTuple):
    """What is to leave in one hour.

    >>> Waiting(at=None, posts="17", share=100).posts
    '17'
    """

    at: str | None  # when the hour begins; None: not known yet
    posts: str  # their number, or that they are few
    share: int  # of the busiest hour, in percent


class PolicyPeriod(NamedTuple):
    """One policy of a space, when it came into force, and whether it still is.

    >>> PolicyPeriod(1, None, "holds").number
    1
    """

    number: int
    held_from: str | None  # None: from the start
    state: PolicyState


class Card(NamedTuple):
    """A space, as its operator sees it.

    >>> from tarry.gateway.testing import small_gateway
    >>> (space,) = small_gateway().catalog.spaces.values()
    >>> card(None, space).policies
    [PolicyPeriod(number=1, held_from=None, state='holds')]
    """

    space: Space
    until: str | None  # a new policy takes effect then, and admission pauses until then
    deadline: str | None
    is_over: bool  # the deadline has passed
    policies: list[PolicyPeriod]  # latest first
    waiting: list[Waiting]
    total: str  # of what waits, in words


def card(standing: Standing | None, space: Space) -> Card:
    """The card of a space.

    >>> from tarry.gateway.testing import small_gateway
    >>> (space,) = small_gateway().catalog.spaces.values()
    >>> card(None, space).is_over
    False
    """
    deadline, tick = space.version.policy.deadline_at, space.version.policy.tick
    now_tick = None if standing is None else standing.last_tick + 1
    policies = _policies(space, now_tick)
    return Card(
        space=space,
        until=policies[0].held_from if policies[0].state == "comes" else None,
        deadline=None if deadline is None else moment(deadline),
        is_over=deadline is not None and now_tick is not None and now_tick * tick > deadline,
        policies=policies,
        waiting=[] if standing is None else _waiting(standing, space.name),
        total="" if standing is None else _total(standing, space.name),
    )


def _policies(space: Space, now_tick: int | None) -> list[PolicyPeriod]:
    """Latest first. One whose successor took effect no later than itself never held."""
    policies: list[PolicyPeriod] = []
    first: float = float("inf")  # tick of those after it
    state: PolicyState
    for version in reversed(space.versions):
        if version.first_tick >= first:
            state = "never"
        elif now_tick is not None and version.first_tick > now_tick:
            state = "comes"
        else:
            state = "held" if any(each.state != "never" for each in policies) else "holds"
        first = min(first, version.first_tick)
        held_from = moment(version.first_tick * version.policy.tick) if version.first_tick else None
        policies.append(PolicyPeriod(version.number, held_from, state))
    return policies


def _waiting(standing: Standing, space: str) -> list[Waiting]:
    rows = [row for row in standing.ahead if row["outlet"] == space]
    most = max((row["posts"] for row in rows), default=0)
    # What is not known yet has hour 0, and comes after what is.
    rows.sort(key=lambda row: (not row["hour"], row["hour"]))
    return [
        Waiting(
            moment(row["hour"] * standing.hour_s) if row["hour"] else None,
            _few_words(row["posts"]),
            100 * max(row["posts"], FEW) // max(most, FEW),  # a bar tells no more than the number does
        )
        for row in rows
    ]


# --- few posts could be one person's ------------------------------------------------------------------

#: Fewer posts of an hour than this are not counted out, nor in any sum.
FEW = 5


def _few_words(count: int) -> str:
    """A number of posts, or that there are few of them."""
    if 0 < count < FEW:
        return str(texts()["desk"]["under"]).format(few=FEW)
    return f"{count:,}"


def _total(standing: Standing, space: str) -> str:
    """How many posts wait in all; where an hour has few, only those of the other hours are counted."""
    t = texts()["desk"]
    counts = [row["posts"] for row in standing.ahead if row["outlet"] == space]
    counted = sum(count for count in counts if count >= FEW)
    if not counts:
        return ""
    if any(count < FEW for count in counts):
        return str(t["waits_total_more"] if counted else t["waits_total_few"]).format(count=f"{counted:,}")
    return str(t["waits_total_many"]).format(count=f"{counted:,}")
