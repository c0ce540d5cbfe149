"""What a habit is worth: its one-sided (epsilon, delta) for each observer, its delays, and what is cheaper.

A habit knows no labels. Where an act that might have come a gap later can be seen too soon, that settles
it, with a chance of delta. For most habits there is a formula for that (`Practice.least_delta`). For all
`attest` bounds it from below: it is at least so large, for people who act while nobody else does.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.exact import format_duration, ticks_up
from tarry.core.history import History
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.core.verify.streams import Act
from tarry.study.attest import attest
from tarry.study.attest.boxes import PracticeBox
from tarry.study.attest.interfaces import Story, StoryPair
from tarry.study.attest.neighbours import Given
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS, Practice, observer

__all__ = ["Waits", "Worth", "WorthTo", "habit_of", "waits_of", "worth_of"]

_POLLER = "poller:10m"
_UNITS = {"day": "1d", "hour": "1h", "minute": "1m"}
#: What people say, and what it is called here.
_PHRASES = (
    (r"round(?:ed|ing)? to (?:a |the )?(\S+)", "rounding:{}"),
    (r"jitter (\S+)", "jitter:{}"),
    (r"exponential (\S+) x (\d+)", "poisson:{}*{}"),
    (r"exponential (\S+)", "poisson:{}"),
    (r"timed mix (\S+)", "mix:{}"),
)
_DAY_S = 86_400
_ACTS = 2_000  # whose delays are measured, in made-up traffic
_SPACING_S = 173  # seconds between two of these, on average: a prime, so that it meets every phase
_SAMPLES = {True: 40_000, False: 4_000}  # of what shows each act by itself, and of what does not
_DELTAS = (1e-6, 0.1)  # for which a policy without labels is tried: one that fails more often is none


@dataclass(frozen=True, kw_only=True)
class WorthTo:
    """What one observer can tell of it.

    >>> print(WorthTo(observer="archive", epsilon=1.0, delta=0.5, exact=True))
    archive: epsilon 1 holds with delta 0.5, and with no smaller one
    """

    observer: str
    epsilon: float
    delta: float  # the least with which that epsilon holds; at least, where it is not exact
    exact: bool

    def __str__(self) -> str:
        if self.delta >= 1:
            return f"{self.observer}: nothing is promised: some acts are told apart every time"
        if not self.exact:
            return (
                f"{self.observer}: epsilon {self.epsilon:g} needs a delta of at least {self.delta:.3g} "
                "(seen from releases)"
            )
        return (
            f"{self.observer}: epsilon {self.epsilon:g} holds with delta {self.delta:.3g}, and with no "
            "smaller one"
        )


@dataclass(frozen=True, kw_only=True)
class Waits:
    """Delays in seconds.

    >>> Waits(mean_s=1.0, longest_s=None).longest_s is None
    True
    """

    mean_s: float
    longest_s: float | None  # None: no end


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What a habit is worth, and which policy of ours is at least as good and waits less.

    >>> nothing = Worth(name="nothing", to=(), waits=Waits(mean_s=0.0, longest_s=0.0), instead=None)
    >>> nothing.verdict
    'none: it is cheaper than any promise'
    """

    name: str
    to: tuple[WorthTo, ...]
    waits: Waits
    instead: Policy | None  # at least as good for each observer, with a shorter mean delay

    @property
    def verdict(self) -> str:
        """The cheapest policy that is at least as good, in words."""
        if self.instead is None:
            return "none: it is cheaper than any promise"
        costs, chosen = waits_of(self.instead), self.instead
        delta = f", delta {float(chosen.delta):.3g}" if chosen.delta else ""
        return (
            f"law {chosen.law_name}, epsilon {float(chosen.epsilon):g}{delta}: "
            f"{_length(costs.mean_s)} on average, {_length(costs.longest_s)} at the longest"
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "habit": self.name,
            "observers": [vars(each) for each in self.to],
            "mean_s": self.waits.mean_s,
            "longest_s": self.waits.longest_s,
            "instead": None
            if self.instead is None
            else {
                "law": self.instead.law_name,
                "epsilon": float(self.instead.epsilon),
                "delta": float(self.instead.delta),
                **vars(waits_of(self.instead)),
            },
            "verdict": self.verdict,
        }


def habit_of(text: str) -> str:
    """The name of a baseline that a phrase means; what is no phrase stays as it is.

    >>> habit_of("round to day"), habit_of("exponential 1h x 3"), habit_of("jitter:24h")
    ('rounding:1d', 'poisson:1h*3', 'jitter:24h')
    """
    for pattern, name in _PHRASES:
        if (match := re.fullmatch(pattern, text.strip())) is not None:
            return name.format(*(_UNITS.get(word, word) for word in match.groups()))
    return text.strip()


def worth_of(
    habit: str | Policy,
    *,
    policy: Policy,
    observers: Sequence[str] = ("notified", _POLLER, "archive"),
    seed: int = 1,
    allow_code: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Worth:
    """What a habit or a policy is worth at the epsilon of `policy`, for moves of up to its gap.

    `policy` also says what is tried instead: its window and weight, under every law.

    >>> usual = Policy(epsilon="1", gap="11m", window="5m")
    >>> worth = worth_of("jitter:24h", policy=usual)
    >>> print(worth.to[0])
    notified: epsilon 1 holds with delta 0.00764, and with no smaller one
    >>> worth.instead.law_name
    'zero-inflated-uniform'
    """
    if isinstance(habit, Policy):
        to = tuple(_promised(habit, name) for name in observers)
        return Worth(
            name=f"{habit.law_name}, epsilon {float(habit.epsilon):g}",
            to=to,
            waits=waits_of(habit),
            instead=_cheapest(
                replace(policy, epsilon=habit.epsilon, gap=habit.gap, window=habit.window),
                to,
                waits_of(habit),
            ),
        )
    practice = baseline(habit_of(habit), allow_code=allow_code)
    seen = []
    for done, name in enumerate(observers):
        if progress is not None:
            progress(done, len(observers))
        seen.append(_seen_by(practice, name, policy, seed))
    waits = waits_of(practice, seed)
    return Worth(name=practice.name, to=tuple(seen), waits=waits, instead=_cheapest(policy, seen, waits))


def waits_of(practice: Practice | Policy, seed: int = 1) -> Waits:
    """The delays of a policy, by its plan; those of a habit in made-up traffic, an act every few minutes.

    >>> waits_of(baseline("mix:1h")).longest_s <= 3600
    True
    """
    if isinstance(practice, Policy):
        costs = plan(practice)
        longest = costs.batched.maximum
        return Waits(
            mean_s=float(costs.mean(practice.weight)), longest_s=None if longest is None else float(longest)
        )
    places = np.arange(_ACTS)
    times = places * _SPACING_S * MICROSECONDS + (places * 7919 % 97) * MICROSECONDS
    history = History(actor=places, target=places % 50, time=np.sort(times))
    delays = practice.show(history, Seeded(seed)).release - history.times
    return Waits(mean_s=float(delays.mean()) / MICROSECONDS, longest_s=float(delays.max()) / MICROSECONDS)


def _promised(policy: Policy, name: str) -> WorthTo:
    """What a policy promises, it promises to whoever watches."""
    observer(name)
    return WorthTo(observer=name, epsilon=float(policy.epsilon), delta=float(policy.delta), exact=True)


def _seen_by(practice: Practice, name: str, policy: Policy, seed: int) -> WorthTo:
    epsilon, sees = float(policy.epsilon), observer(name)
    if (exact := practice.least_delta(sees, policy.gap, epsilon)) is not None:
        return WorthTo(observer=name, epsilon=epsilon, delta=exact, exact=True)
    found = attest(
        PracticeBox(practice=practice, observer=sees, unit=policy.tick),
        Given(stories=_moves(policy)),
        samples=_SAMPLES[practice.alone],
        seed=seed,
    )
    return WorthTo(
        observer=name, epsilon=epsilon, delta=max(test.delta for test in found.tests), exact=False
    )


def _moves(policy: Policy) -> tuple[StoryPair, ...]:
    """Two acts together, and one of them a gap later and somebody else's: at noon, and as a day ends."""
    reach, day = ticks_up(policy.gap, policy.tick), int(_DAY_S / policy.tick)
    pairs = []
    for start in (day // 2, day - 1):
        true = (Act(start, 0, 0), Act(start, 0, 1))
        for moved in (0, 1):
            other = tuple(
                Act(act.at + reach, 1, act.target) if place == moved else act
                for place, act in enumerate(true)
            )
            pairs.append(
                StoryPair(
                    kind="a pair", true=Story(acts=true), other=Story(acts=other), nats=policy.epsilon
                )
            )
    return tuple(pairs)


def _cheapest(policy: Policy, to: Sequence[WorthTo], waits: Waits) -> Policy | None:
    """The policy with the shortest mean delay that promises each observer as much, if it waits less.

    Where a delta is bounded from below only, the bound is what is promised: so nothing is called as good
    that may be worse.
    """
    least = min((each.delta for each in to), default=1.0)
    tried = [replace(policy, law="zero-inflated-uniform", labels=labels) for labels in ("held", "declared")]
    if _DELTAS[0] <= least <= _DELTAS[1]:
        # Never a larger delta than the habit's.
        delta = Fraction(int(least * 10**6), 10**6)
        tried.append(
            replace(policy, law="label-free", labels="none", delta=delta, window=Fraction(0), cover="pair")
        )
    best = min(tried, key=lambda one: waits_of(one).mean_s)
    return best if waits_of(best).mean_s < waits.mean_s else None


def _length(seconds: float | None) -> str:
    return "no end" if seconds is None else format_duration(Fraction(round(seconds)))
