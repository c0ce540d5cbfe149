"""What a keeper ought to do, in plain lists: no tables, nothing erased, labels by the offline labeller."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from tarry.core.history import History
from tarry.core.labels import label_events
from tarry.core.policy import Policy
from tarry.core.release import Draws, release_ticks, told_span
from tarry.keep.posts import State
from tarry.keep.releaser import LEASE_S, Outcome

__all__ = ["HOUR", "Entry", "Event", "KeeperModel"]

MICROS = 1_000_000
HOUR = 3600  # ticks


@dataclass(eq=False)
class Event:
    """An act at its arrival: what labels look at, for ever."""

    actor: str
    target: str
    arrival: int
    draws: Draws
    declared: bool
    shift: int = 0


@dataclass(eq=False)
class Entry:
    """A post as its author knows it."""

    id: int
    secret: str
    actor: str
    target: str
    outlet: str
    content: bytes
    event: Event | None  # None: inherited after erasure
    parent: "Entry | None" = None
    state: str = "waiting"
    release: int | None = None
    heritable: bool = True  # whether its pseudonym is still known
    claim: int | None = None
    until: int | None = None
    once: bool = False
    attempts: int = 0
    problem: bool = False  # whether a person can read why the last try failed
    doubt: bool = False  # whether it may have left
    deliveries: int = 0
    lapses: int = 0  # claims that were given away
    put_back: int = 0  # times a person has unparked it

    @property
    def stored(self) -> State:
        """Its state as the store has it."""
        state = "delivering" if self.state == "waiting" and self.claim is not None else self.state
        if self.doubt:
            return State.IN_DOUBT if state == "waiting" else State(f"{state}_in_doubt")
        return State(state)


class KeeperModel:
    """The keeper's rules over everything that ever happened."""

    def __init__(self, policy: Policy, *, personal: bool, closed: int) -> None:
        self.policy, self.personal, self.closed = policy, personal, closed
        self.window, self.hold = policy.window_ticks, policy.hold_ticks
        self.span = told_span(policy, "p1", None)  # delays, where draws may not be told; else None
        self.late_labels = policy.labels in ("held", "simultaneous")
        self.kept = 2 * self.window if self.late_labels else self.window
        self.period = self.window or 60  # arrivals are erased together, once in so many ticks
        self.entries: dict[int, Entry] = {}
        self.events: list[Event] = []
        self.outlook: Counter[tuple[str, int]] = Counter()  # what waited when the last hour ended
        self.missed = 0  # ticks by which everything was moved, in a personal store

    # --- labels and releases ------------------------------------------------------------------------

    def labels(self) -> dict[Event, bool]:
        """Every label, by the offline labeller over the whole history."""
        if not self.events:
            return {}
        ticks = [event.arrival for event in self.events]
        history = History(
            actor=[event.actor for event in self.events],
            target=[event.target for event in self.events],
            time=ticks,
            unit=Fraction(1),
            declared=[event.declared for event in self.events],
            sequence=range(len(ticks)),
        )
        found = label_events(self.policy.labels, history, history.ticks(Fraction(1)), self.window)
        return dict(zip(self.events, found.tolist(), strict=True))

    def known_label(self, event: Event, labels: dict[Event, bool]) -> bool | None:
        """The label, once it is fixed."""
        ripe = not self.late_labels or event.arrival <= self.closed - self.window
        return labels[event] if ripe else None

    def ticks(self, event: Event, label: bool) -> int:
        """The release tick under a label."""
        return event.shift + release_ticks(event.arrival, event.draws, batched=label, hold=self.hold)

    def prospect(self, entry: Entry) -> tuple[int, int]:
        """The two ticks of which the release will be one, or between which it lies."""
        if entry.release is not None:
            ends = (entry.release, entry.release)
        elif self.span is not None:
            event = entry.event
            ends = tuple(event.shift + event.arrival + self.hold + delay for delay in self.span)
        else:
            both = [self.ticks(entry.event, label) for label in (False, True)]
            ends = (min(both), max(both))
        if entry.parent is not None and entry.parent.state == "waiting":
            above = self.prospect(entry.parent)
            ends = (max(ends[0], above[0]), max(ends[1], above[1]))
        return ends

    def living_events(self) -> dict[int, Event]:
        """Arrivals that some label may need, or did since the last public moment, by their posts."""
        holders = {entry.event: entry.id for entry in self.entries.values() if entry.event is not None}
        erased = self.closed - self.closed % self.period - self.kept
        return {holders[e]: e for e in self.events if e.arrival > erased}

    # --- the gate -----------------------------------------------------------------------------------

    def admit(self, entry: Entry, now_tick: int) -> None:
        """A post comes in; `entry.event` says what the store has stamped and drawn."""
        self.entries[entry.id] = entry
        old = self._heirloom(entry)
        if old is None:
            self._arrive(entry, now_tick)
        else:
            assert entry.event is None
            entry.event, old.event = old.event, None
            entry.release, old.release, old.heritable = old.release, self.closed, False
        self._raise_children()

    def _arrive(self, entry: Entry, now_tick: int) -> None:
        event = entry.event
        last = max((e.arrival for e in self.events), default=0)
        assert event.arrival == max(now_tick, self.closed + 1, last)
        self.events.append(event)
        if not self.late_labels:
            entry.release = self.ticks(event, self.labels()[event])
        elif self.span is None and self.ticks(event, label=False) == self.ticks(event, label=True):
            entry.release = self.ticks(event, label=False)

    def _heirloom(self, entry: Entry) -> Entry | None:
        alive = [
            old
            for old in self.entries.values()
            if old.state == "withdrawn"
            and old.heritable
            and (old.actor, old.target) == (entry.actor, entry.target)
            and self.is_alive(old)
        ]
        return min(
            alive, key=lambda old: (old.release is not None, -(old.release or 0), old.id), default=None
        )

    def is_alive(self, entry: Entry) -> bool:
        """Whether its release is still to come."""
        return entry.release is None or entry.release > self.closed

    def inherits(self, actor: str, target: str) -> bool:
        """Whether such a post would inherit."""
        return self._heirloom(Entry(0, "", actor, target, "", b"", None)) is not None

    def changeable(self, entry: Entry) -> bool:
        """Whether its author may change it: no delivery is under way, and none may have happened."""
        idle = entry.state == "waiting" and entry.claim is None
        return idle and not entry.doubt

    def withdraw(self, entry: Entry) -> None:
        """Its author takes it back."""
        entry.state, entry.claim, entry.until, entry.problem = "withdrawn", None, None, False
        entry.doubt = False

    def unpark(self, entry: Entry) -> None:
        """A person puts it back."""
        entry.state, entry.claim, entry.until, entry.attempts = "waiting", None, None, 1
        entry.problem = not entry.doubt
        entry.put_back += 1
        self._raise_children()

    # --- closing ------------------------------------------------------------------------------------

    def close(self, tick: int) -> None:
        """Every tick up to this one closes."""
        if tick == self.closed:
            return
        missed, before = tick - self.closed - 1, self.closed
        if self.personal and (late := max([missed, *(tick - release for release in self._heads())])):
            self.shift(late)
        self.closed = tick
        labels = self.labels() if self.late_labels else {}
        for entry in self.entries.values():
            if entry.release is None and entry.event.arrival <= tick - self.window:
                entry.release = self.ticks(entry.event, labels[entry.event])
        self._raise_children()
        if missed and not self.personal:
            for entry in self.entries.values():
                if entry.state == "waiting" and entry.release is not None and before < entry.release < tick:
                    entry.release = tick
        for entry in self.entries.values():
            if entry.state == "withdrawn" and entry.release is not None and entry.release <= tick:
                entry.heritable = False
        self._look_ahead(before)

    def _look_ahead(self, before: int) -> None:
        if self.closed // HOUR == before // HOUR or self.personal:
            return
        waiting = [entry for entry in self.entries.values() if entry.state == "waiting"]
        self.outlook = Counter((entry.outlet, (entry.release or 0) // HOUR) for entry in waiting)

    def _heads(self) -> list[int]:
        return [
            entry.release
            for entry in self.entries.values()
            if entry.state == "waiting"
            and entry.release is not None
            and not (entry.claim is not None and entry.once)
            and (entry.parent is None or entry.parent.state not in {"waiting", "parked"})
        ]

    def shift(self, ticks: int) -> None:
        """One person's own store: all that waits moves."""
        self.missed += ticks
        for entry in self.entries.values():
            if entry.release is None:
                entry.event.shift += ticks
            elif entry.state == "waiting" or (entry.state == "withdrawn" and entry.release > self.closed):
                entry.release += ticks

    def _raise_children(self) -> None:
        for _ in self.entries:
            for entry in self.entries.values():
                above = entry.parent
                if above is None or entry.release is None or above.release is None:
                    continue
                if entry.state == above.state == "waiting":
                    entry.release = max(entry.release, above.release)

    # --- workers ------------------------------------------------------------------------------------

    def due(self, outlet: str) -> list[Entry]:
        """What a worker may claim, in its order."""
        found = [
            entry
            for entry in self.entries.values()
            if entry.state == "waiting"
            and entry.until is None
            and entry.release is not None
            and entry.release <= self.closed
            and entry.outlet == outlet
            and (entry.parent is None or entry.parent.state not in ("waiting", "parked"))
        ]
        found.sort(key=lambda entry: (entry.release, entry.id))
        return found[:1] if outlet == "once" else found

    def claim(self, entries: list[Entry], token: int, now: int) -> None:
        """A worker takes posts."""
        for entry in entries:
            entry.claim, entry.until = token, now + LEASE_S * MICROS
            entry.once, entry.attempts = entry.outlet == "once", entry.attempts + 1

    def sweep(self, now: int) -> None:
        """Leases lapse, retries fall due."""
        for entry in self.entries.values():
            if entry.until is None or entry.until > now or entry.state != "waiting":
                continue
            entry.until = None
            if entry.claim is None:
                continue
            entry.lapses += 1
            if not entry.once or entry.doubt:  # a late word would end no doubt
                entry.claim = None
            if entry.once:
                entry.state = "parked"
            entry.doubt, entry.problem = True, entry.once
        self._park_children()

    def _park_children(self) -> None:
        for _ in self.entries if self.personal else ():
            for entry in self.entries.values():
                above = entry.parent
                if entry.state == "waiting" and entry.claim is None and above and above.state == "parked":
                    entry.state, entry.problem = "parked", True

    def mark(self, token: int, outcomes: list[Outcome], now: int) -> None:
        """A worker tells how its deliveries ended; retries wait for the shortest time possible."""
        for outcome in (*(o for o in outcomes if not o.problem), *(o for o in outcomes if o.problem)):
            entry = self.entries[outcome.post]
            if entry.claim != token or entry.state not in ("waiting", "parked"):
                continue
            doubt = bool(outcome.problem) and (outcome.sent or (entry.doubt and entry.state == "waiting"))
            if not outcome.problem or outcome.parked:
                entry.doubt = doubt
                entry.state = "parked" if outcome.problem else "released"
                entry.claim, entry.until, entry.problem = None, None, bool(outcome.problem)
                if entry.state == "released":  # it may have been moved while it was under way
                    entry.release = min(entry.release, self.closed)
            elif entry.state == "waiting":
                delay = min(300, 2 ** (outcome.attempt - 1)) * MICROS // 2
                entry.claim, entry.problem, entry.doubt = None, not doubt, doubt
                entry.until = now + delay
        if any(outcome.parked for outcome in outcomes):
            self._park_children()
