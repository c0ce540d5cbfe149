"""Replay: a policy as a practice, through the very function the keeper's releases are checked by."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.history import History
from tarry.core.lanes import stable_codes
from tarry.core.plan_release import Labelled, label_history, plan_release
from tarry.core.policy import Policy
from tarry.study.practice import MICROSECONDS, Practice, Shown
from tarry.study.table import EventTable

__all__ = ["Replay", "practice_notes", "replay"]

# Labels do not depend on epsilon or on the draw: several policies and many draws share them.
_LABELS: WeakKeyDictionary[History, dict[tuple[str, Fraction, int], Labelled]] = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A policy, replayed over a history.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> shown = replay(Policy(epsilon="1", gap="11m")).show(table.history, Seeded(1))
    >>> shown.batched.tolist(), bool((shown.release >= 960_000_000).all())
    ([True, True], True)
    """

    name: str
    policy: Policy
    draws: bool = True

    def show(self, history: History, draw: Seeded) -> Shown:
        """Every event at its release; the printed time is the release too."""
        tick = int(self.policy.tick * MICROSECONDS)  # a duration is a whole number of microseconds
        late = self._late(history)
        if late:
            raise NotPossible(
                f"{late:,} of {len(history):,} events come after the deadline of the policy: "
                "end the history there, or leave the deadline out"
            )
        if self.policy.track_gaps and history.tracks is None:
            raise NotPossible(
                "a policy with gaps of tracks needs the tracks of the history: say which column (--track)"
            )
        plan = plan_release(self.numbered, history, draw, self.labelled(history))
        release = plan.release * tick
        return Shown(release=release, printed=release, batched=plan.batched)

    def labelled(self, history: History) -> Labelled:
        """Arrival ticks and labels, worked out once for a history."""
        known = _LABELS.setdefault(history, {})
        key = (self.policy.labels, self.policy.tick, self.policy.window_ticks)
        if key not in known:
            known[key] = label_history(self.policy, history)
        return known[key]

    def _late(self, history: History) -> int:
        deadline = self.policy.deadline_tick
        return 0 if deadline is None else int((self.labelled(history).arrival > deadline).sum())

    @cached_property
    def numbered(self) -> Policy:
        """The policy with gaps of their own also under the numbers that tables have for names."""
        if not self.policy.target_gaps and not self.policy.track_gaps:
            return self.policy
        targets, tracks = _numbered(self.policy.target_gaps), _numbered(self.policy.track_gaps)
        return replace(self.policy, target_gaps=targets, track_gaps=tracks)


def practice_notes(practice: Practice, table: EventTable) -> list[str]:
    """What one should know of a policy before one believes its replay.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1], target=[1], time=[0])
    >>> practice_notes(replay(Policy(epsilon="1", gap="11m", starts_at=5), "mine"), table)
    ['mine: 1 of 1 events lie outside the period of the policy; they are replayed all the same']
    """
    if not isinstance(practice, Replay) or not len(table):
        return []
    policy, notes = practice.policy, []
    start, end = (None if at is None else at * MICROSECONDS for at in (policy.starts_at, policy.ends_at))
    outside = np.zeros(len(table), dtype=np.bool_)
    if start is not None:
        outside |= table.time < int(start)
    if end is not None:
        outside |= table.time >= int(end)
    if outside.any():
        notes.append(
            f"{practice.name}: {int(outside.sum()):,} of {len(table):,} events lie outside the period "
            "of the policy; they are replayed all the same"
        )
    own = practice.numbered.target_gaps
    if own and not np.isin(table.target, [int(name) for name in own if name.lstrip("-").isdigit()]).any():
        notes.append(f"{practice.name}: none of the targets with gaps of their own is in this history")
    return notes


def _numbered(gaps: Mapping[str, Fraction]) -> dict[str, Fraction]:
    if not gaps:
        return {}
    numbers = stable_codes(np.array(list(gaps))).tolist()
    return {**{str(number): gap for number, gap in zip(numbers, gaps.values(), strict=True)}, **gaps}


def replay(policy: Policy, name: str | None = None) -> Replay:
    """A policy as a practice, under a name or under its own main choices.

    >>> replay(Policy(epsilon="0.5", gap="11m")).name
    'epsilon 0.5, gap 660s'
    """
    if policy.tick * MICROSECONDS > 1 << 40:
        raise BadInput("the tick of a replayed policy", "is at most some days", found=str(policy.tick))
    own = f"epsilon {float(policy.epsilon):g}, gap {float(policy.gap):g}s"
    return Replay(name=own if name is None else name, policy=policy)
