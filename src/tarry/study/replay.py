"""Replay: a policy as a practice, through the very function the keeper's releases are checked by."""

from dataclasses import dataclass
from fractions import Fraction
from weakref import WeakKeyDictionary

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.plan_release import Labelled, label_history, plan_release
from tarry.core.policy import Policy
from tarry.study.practice import MICROSECONDS, Shown

__all__ = ["Replay", "replay"]

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
        plan = plan_release(self.policy, history, draw, self.labelled(history))
        release = plan.release * tick
        return Shown(release=release, printed=release, batched=plan.batched)

    def labelled(self, history: History) -> Labelled:
        """Arrival ticks and labels, worked out once for a history."""
        known = _LABELS.setdefault(history, {})
        key = (self.policy.labels, self.policy.tick, self.policy.window_ticks)
        if key not in known:
            known[key] = label_history(self.policy, history)
        return known[key]


def replay(policy: Policy, name: str | None = None) -> Replay:
    """A policy as a practice, under a name or under its own main choices.

    >>> replay(Policy(epsilon="0.5", gap="11m")).name
    'epsilon 0.5, gap 660s'
    """
    if policy.tick * MICROSECONDS > 1 << 40:
        raise BadInput("the tick of a replayed policy", "is at most some days", found=str(policy.tick))
    own = f"epsilon {float(policy.epsilon):g}, gap {float(policy.gap):g}s"
    return Replay(name=own if name is None else name, policy=policy)
