"""Replay: a policy as a practice, through the very function the keeper's releases are checked by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import format_duration
from tarry.core.history import History
from tarry.core.lanes import stable_codes
from tarry.core.plan_release import Labelled, label_history, plan_release
from tarry.core.policy import Policy
from tarry.core.promise import promise
from tarry.readers.columns import Columns
from tarry.study.exact_sums import total
from tarry.study.practice import MICROSECONDS, Practice, Shown, Spent
from tarry.study.table import EventTable, table_of

__all__ = ["Replay", "Simulated", "check_added", "label", "numbered", "replay", "simulate"]

# Labels do not depend on epsilon or on the draw: several policies and many draws share them.
_LABELS: WeakKeyDictionary[History, dict[tuple[str, Fraction, int], Labelled]] = WeakKeyDictionary()
_ADDED = ("release", "batched")


@dataclass(frozen=True, kw_only=True)
class Replay(Practice):
    """A policy, replayed over a history.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> shown = replay(Policy(epsilon="1", gap="11m")).show(table.history, Seeded(1))
    >>> shown.batched.tolist(), bool((shown.release >= 960_000_000).all())
    ([True, True], True)
    """

    title: str  # its name
    replayed: Policy

    @property
    def name(self) -> str:
        """What tables and charts call it."""
        return self.title

    @property
    def policy(self) -> Policy:
        """The policy itself."""
        return self.replayed

    def show(self, history: History, draw: Seeded) -> Shown:
        """Every event at its release; the printed time is the release too."""
        tick = int(self.policy.tick * MICROSECONDS)  # a duration is a whole number of microseconds
        labelled = label(self.policy, history)
        self.check({"events": len(history), "late": self._late(history)})
        if self.policy.track_gaps and history.tracks is None:
            raise NotPossible(
                "a policy with gaps of tracks needs a history with tracks: say which column (--track)"
            )
        plan = plan_release(numbered(self.policy), history, draw, labelled, shuffled=False)
        release = plan.release * tick
        return Shown(release=release, printed=release, batched=plan.batched)

    def looks(self) -> int:
        """As far as labels do: the window, and the tick that a time is rounded up to."""
        return int((self.policy.window_ticks + 1) * self.policy.tick * MICROSECONDS)

    def check(self, counts: Mapping[str, int]) -> None:
        """Refuse events that come after the deadline.

        >>> replay(Policy(epsilon="1", gap="11m")).check({"events": 2, "late": 1})
        Traceback (most recent call last):
        tarry.core.errors.NotPossible: 1 of 2 events come after the deadline of the policy: end the ...
        """
        if counts["late"]:
            raise NotPossible(
                f"{counts['late']:,} of {counts['events']:,} events come after the deadline of the policy: "
                "end the history there, or leave the deadline out"
            )

    def _late(self, history: History) -> int:
        deadline = self.policy.deadline_tick
        return 0 if deadline is None else int((label(self.policy, history).arrival > deadline).sum())

    def promise(self, gap: Fraction) -> str:  # noqa: ARG002 - a policy has a gap of its own
        """Epsilon and gap of the policy, and delta where there is one; of a season, what all acts cost.

        >>> replay(Policy(epsilon="0.5", gap="1h")).promise(Fraction(660))
        'epsilon 0.5, gap 1h'
        >>> from tarry.core.season import Season
        >>> season = Season(acts=24, epsilon=Fraction(4), delta=Fraction("0.01"))
        >>> replay(Policy(gap="1h", season=season)).promise(Fraction(660))
        'a season of 24 acts: epsilon 4 in all, but for a chance of 0.01; gap 1h'
        """
        policy, season, reach = self.policy, self.policy.season, format_duration(self.policy.gap)
        if season is not None:  # not called delta here: of other practices that is another chance
            return (
                f"a season of {season.acts} acts: epsilon {float(season.epsilon):g} in all, "
                f"but for a chance of {float(season.delta):g}; gap {reach}"
            )
        delta = f", delta {float(policy.delta):g}" if policy.delta else ""
        return f"epsilon {float(policy.epsilon):g}{delta}, gap {reach}"

    def spent(self, table: EventTable, shown: Shown) -> Spent | None:
        """What the promise says of so many batched events, and how many people are beyond it.

        >>> from tarry.study.table import event_table
        >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
        >>> practice = replay(Policy(epsilon="4", gap="11m"))
        >>> practice.spent(table, practice.show(table.history, Seeded(1)))
        Spent(most_nats=4.0, actors=1, batching=1, season=None)
        """
        if shown.batched is None:
            return None
        batched = np.bincount(table.actor_rank[shown.batched], minlength=1)
        beyond, batching = int((batched > self.covers).sum()), int((batched > 0).sum())
        return self.spent_by(int(batched.max()), beyond, batching)

    @property
    def covers(self) -> int:
        """How many batched events of an actor are inside what is promised.

        >>> replay(Policy(epsilon="4", gap="11m")).covers
        1
        """
        return promise(self.policy).covers

    def spent_by(self, most: int, beyond: int, batching: int) -> Spent | None:
        """As `spent`, from the batched events of one actor at most, and actors beyond that or with any.

        >>> replay(Policy(epsilon="4", gap="11m")).spent_by(2, 0, 1).most_nats
        4.0
        """
        if self.policy.labels == "none":
            return None  # without labels every act that moves costs: there is no count of batched ones
        claim = promise(self.policy)
        return Spent(
            most_nats=float(claim.loss(most)), actors=beyond, batching=batching, season=claim.season
        )

    def notes(self, table: EventTable) -> list[str]:
        """Events outside the policy's period, and gaps of targets that are not in this history.

        >>> from tarry.study.table import event_table
        >>> table = event_table(actor=[1], target=[1], time=[0])
        >>> replay(Policy(epsilon="1", gap="11m", starts_at=5), "mine").notes(table)
        ['mine: 1 of 1 events lie outside the period of the policy; they are replayed all the same']
        """
        return super().notes(table)

    def remarkable(self, table: EventTable) -> dict[str, int]:
        """How many events lie outside its period, and how many are on targets with gaps of their own."""
        outside = np.zeros(len(table), dtype=np.bool_)
        if self.policy.starts_at is not None:
            outside |= table.time < int(self.policy.starts_at * MICROSECONDS)
        if self.policy.ends_at is not None:
            outside |= table.time >= int(self.policy.ends_at * MICROSECONDS)
        gaps = [int(name) for name in numbered(self.policy).target_gaps if name.lstrip("-").isdigit()]
        return {
            "events": len(table),
            "late": self._late(table.history),
            "outside": int(outside.sum()),
            "with_gaps": int(np.isin(table.target, gaps).sum()) if gaps else 0,
        }

    def notes_of(self, counts: Mapping[str, int]) -> list[str]:
        """The notes that such counts make.

        >>> counts = {"events": 2, "outside": 1, "with_gaps": 0}
        >>> replay(Policy(epsilon="1", gap="11m", starts_at=5), "mine").notes_of(counts)
        ['mine: 1 of 2 events lie outside the period of the policy; they are replayed all the same']
        """
        notes = []
        if counts["outside"]:
            notes.append(
                f"{self.name}: {counts['outside']:,} of {counts['events']:,} events lie outside the period "
                "of the policy; they are replayed all the same"
            )
        if counts["events"] and self.policy.target_gaps and not counts["with_gaps"]:
            notes.append(f"{self.name}: none of the targets with gaps of their own is in this history")
        return notes


def replay(policy: Policy, name: str | None = None) -> Replay:
    """A policy as a practice, under a name or under its own main choices.

    >>> replay(Policy(epsilon="0.5", gap="11m")).name
    'epsilon 0.5, gap 660s'
    """
    if policy.tick * MICROSECONDS > 1 << 40:
        raise BadInput(
            f"the tick of a replayed policy must be at most 12 days, not {format_duration(policy.tick)}"
        )
    choices = f"epsilon {float(policy.epsilon):g}, gap {float(policy.gap):g}s"
    return Replay(title=choices if name is None else name, replayed=policy)


def label(policy: Policy, history: History) -> Labelled:
    """Arrival ticks and labels, worked out once for a history.

    >>> history = History(actor=[1, 1], target=[1, 2], time=[0, 60_000_000])
    >>> label(Policy(epsilon="1", gap="11m"), history).batched.tolist()
    [True, True]
    """
    known = _LABELS.setdefault(history, {})
    key = (policy.labels, policy.tick, policy.window_ticks)
    if key not in known:
        known[key] = label_history(policy, history)
    return known[key]


def numbered(policy: Policy) -> Policy:
    """The policy with gaps of their own also under the numbers that tables have for names.

    >>> len(numbered(Policy(epsilon="1", gap="11m", target_gaps={"p1": "1h"})).target_gaps)
    2
    """
    if not policy.target_gaps and not policy.track_gaps:
        return policy
    targets, tracks = _numbered(policy.target_gaps), _numbered(policy.track_gaps)
    return replace(policy, target_gaps=targets, track_gaps=tracks)


def _numbered(gaps: Mapping[str, Fraction]) -> dict[str, Fraction]:
    if not gaps:
        return {}
    numbers = stable_codes(np.array(list(gaps))).tolist()
    return {**{str(number): gap for number, gap in zip(numbers, gaps.values(), strict=True)}, **gaps}


def check_added(columns: Sequence[str]) -> None:
    """Refuse a history that has a column of the names that a replay adds.

    >>> check_added(["user", "release"])
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the history already has a column 'release': rename it
    """
    if taken := [name for name in _ADDED if name in columns]:
        raise BadInput(f"the history already has a column {taken[0]!r}", "rename it")


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulated:
    """A frame with two more columns, and what the delays came to.

    >>> Simulated(frame=pl.DataFrame(), batched_share=0.5, mean_s=1.0, longest_s=2.0).mean_s
    1.0
    """

    frame: pl.DataFrame  # every column as read, and `release` (microseconds) and `batched`
    batched_share: float
    mean_s: float  # delay
    longest_s: float
    table: EventTable | None = None  # the events that were released
    notes: tuple[str, ...] = ()  # what was left out


def simulate(
    columns: Columns,
    policy: Policy,
    *,
    seed: int = 0,
    draw: int = 0,
    track: str | None = None,
    declared: str | None = None,
    without_bots: bool | None = None,
) -> Simulated:
    """Release every event that could be read; rows keep their order. Bots that a column marks are left out.

    `without_bots` leaves them out by their names too, or, if False, keeps them.

    >>> from tarry.readers.frames import read_frame
    >>> frame = pl.DataFrame({"user": ["a", "a"], "page": ["p", "q"], "time": [1.6e9, 1.6e9 + 1]})
    >>> simulate(read_frame(frame), Policy(epsilon="1", gap="11m")).frame.columns
    ['user', 'page', 'time', 'release', 'batched']
    """
    check_added(columns.frame.columns)
    bots = None if without_bots is None else not without_bots
    table = table_of(columns, bots=bots, track=track, declared=declared)
    shown = replay(policy).show(table.history, Seeded(seed, draw))
    back = np.argsort(table.row)  # from the table's order to that of the rows
    batched = np.zeros(len(table), dtype=np.bool_) if shown.batched is None else shown.batched
    waits = shown.release - table.time
    return Simulated(
        frame=columns.frame[table.row[back]].with_columns(
            pl.Series("release", shown.release[back]), pl.Series("batched", batched[back])
        ),
        batched_share=float(batched.mean()),
        mean_s=total(waits) / (len(waits) * MICROSECONDS),
        longest_s=int(waits.max()) / MICROSECONDS,
        table=table,
        notes=table.notes,
    )
