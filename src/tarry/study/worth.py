"""What a habit is worth: its one-sided (epsilon, delta) for each observer, its delays, and what is cheaper.

A habit knows no labels. Where an act that might have come a gap later can be seen too soon, that settles
it, with a chance of delta. For most habits there is a formula for that (`Practice.least_delta`). For all
`attest` bounds it from below: it is at least so large, for people who act while nobody else does.

What is cheaper must be at least as good for each observer: promise as much, and, where there is a history
to measure on, let no more of an observer's claims be right than the habit does, or than are right of pairs
that nobody batched: below that, batches give nothing away.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import format_duration, ticks_up
from tarry.core.history import History
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.core.season import Season
from tarry.core.verify.streams import Act
from tarry.study.attest import attest
from tarry.study.attest.boxes import PracticeBox
from tarry.study.attest.interfaces import Story, StoryPair
from tarry.study.attest.neighbours import Given
from tarry.study.attest.regions import RatioTester
from tarry.study.audit import audit
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS, Practice, Waits, observer
from tarry.study.question import Question
from tarry.study.replay import replay
from tarry.study.runs import Line
from tarry.study.source import Source, read_source
from tarry.study.table import EventTable

__all__ = ["Worth", "WorthTo", "habit_of", "waits_of", "worth_of"]

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
_NARROWER = (1, 2, 4)  # on a history also policies with these parts of epsilon are tried
_SEASON_ORDER = "6"
_MOST_BLOCKS = 200
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
            return f"{self.observer}: no promise: some acts can be told apart every time"
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
    lines: tuple[Line, ...] = ()  # on a history: doing nothing, the habit, and what was tried instead

    @property
    def verdict(self) -> str:
        """The cheapest policy that is at least as good, in words."""
        if self.instead is None and len({line.policy for line in self.lines}) > 2:
            return "none: those that promise as much and wait less let more claims be right there"
        if self.instead is None:
            return "none: it is cheaper than any promise"
        costs, chosen = waits_of(self.instead), self.instead
        delta = f", delta {float(chosen.delta):.3g}" if chosen.delta else ""
        believed = " (authors say that more will come)" if chosen.labels == "declared" else ""
        named = (
            f"law {chosen.law_name}, labels {chosen.labels}{believed}, epsilon {float(chosen.epsilon):g}"
        )
        return (
            f"{named}{delta}: {_length(costs.mean_s)} on average, {_length(costs.longest_s)} at the longest"
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "habit": self.name,
            "observers": [vars(each) for each in self.to],
            "mean_s": self.waits.mean_s,
            "longest_s": self.waits.longest_s,
            "delays_exact": self.waits.exact,
            "instead": None
            if self.instead is None
            else {
                "law": self.instead.law_name,
                "labels": self.instead.labels,
                "epsilon": float(self.instead.epsilon),
                "delta": float(self.instead.delta),
                "mean_s": (costs := waits_of(self.instead)).mean_s,
                "longest_s": costs.longest_s,
            },
            "verdict": self.verdict,
            "linkage": [line.as_dict() for line in self.lines],
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
    history: Source | None = None,
    seed: int = 1,
    allow_code: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Worth:
    """What a habit or a policy is worth at the epsilon of `policy`, for moves of up to its gap.

    `policy` also says what is tried instead: its window and weight, under every law. On a history the
    study measures, of the best claims that find a tenth of the batched pairs, how many are right about the
    person.

    >>> usual = Policy(epsilon="1", gap="11m", window="5m")
    >>> worth = worth_of("jitter:24h", policy=usual)
    >>> print(worth.to[0])
    notified: epsilon 1 holds with delta 0.00764, and with no smaller one
    >>> worth.instead.law_name
    'zero-inflated-uniform'
    """
    if isinstance(habit, Policy):
        practice: Practice = replay(habit)
        to = [_promised(habit, name) for name in observers]
        policy = replace(policy, epsilon=habit.epsilon, gap=habit.gap, window=habit.window)
        name, waits = f"{habit.law_name}, epsilon {float(habit.epsilon):g}", waits_of(habit)
    else:
        practice = baseline(habit_of(habit), allow_code=allow_code)
        to = []
        for done, watcher in enumerate(observers):
            if progress is not None:
                progress(done, len(observers))
            to.append(_seen_by(practice, watcher, policy, seed))
        name, waits = practice.name, waits_of(practice, seed)
    if history is None:
        cheaper = [one for one in _as_good(policy, to) if waits_of(one).mean_s < waits.mean_s]
        return Worth(name=name, to=tuple(to), waits=waits, instead=cheaper[0] if cheaper else None)
    table = read_source(history, Question(practices=[]))[1]
    tried = _as_good(policy, to, _delays(practice, table.history, seed))
    lines, instead = _measured(practice, tried, table, policy, observers)
    return Worth(name=name, to=tuple(to), waits=waits, instead=instead, lines=lines)


def waits_of(practice: Practice | Policy, seed: int = 1) -> Waits:
    """The delays of a policy, by its plan; those of a habit that are known, or else in made-up traffic.

    There somebody acts every three minutes.

    >>> waits_of(baseline("mix:1h")).mean_s, waits_of(baseline("pool")).exact
    (1800.0, False)
    """
    if isinstance(practice, Policy):
        costs = plan(practice)
        longest = costs.batched.maximum
        return Waits(
            mean_s=float(costs.mean(practice.weight)), longest_s=None if longest is None else float(longest)
        )
    if (known := practice.waits()) is not None:
        return known
    places = np.arange(_ACTS)
    times = places * _SPACING_S * MICROSECONDS + (places * 7919 % 97) * MICROSECONDS
    history = History(actor=places, target=places % 50, time=np.sort(times))
    return _delays(practice, history, seed)


def _delays(practice: Practice, history: History, seed: int) -> Waits:
    delays = practice.show(history, Seeded(seed)).release - history.times
    return Waits(
        mean_s=float(delays.mean()) / MICROSECONDS,
        longest_s=float(delays.max()) / MICROSECONDS,
        exact=False,
    )


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
        tester=RatioTester(for_delta=True),
        to_the_end=True,
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


def _as_good(policy: Policy, to: Sequence[WorthTo], waits: Waits | None = None) -> list[Policy]:
    """Policies that promise each observer as much, the shortest mean delay first.

    Where a delta is bounded from below only, the bound is what is promised: so nothing is called as good
    that may be worse. With the delays of a habit, for a history, there are more: a smaller epsilon and
    longer delays let fewer claims be right. Labels that authors declare come last, since the promise holds
    only for those who do, and are not tried there: nobody did.
    """
    least = min((each.delta for each in to), default=1.0)
    usual = replace(policy, law="zero-inflated-uniform", labels="held")
    tried = [usual, replace(usual, labels="declared")]
    if waits is not None:
        tried = [replace(usual, epsilon=policy.epsilon / part) for part in _NARROWER]
        tried += _of_blocks(policy, waits)
    if _DELTAS[0] <= least <= _DELTAS[1]:
        # Never a larger delta than the habit's.
        delta = Fraction(int(least * 10**6), 10**6)
        tried.append(
            replace(policy, law="label-free", labels="none", delta=delta, window=Fraction(0), cover="pair")
        )
    return sorted(tried, key=lambda one: (one.labels == "declared", waits_of(one).mean_s))


def _of_blocks(policy: Policy, waits: Waits) -> list[Policy]:
    """Cosine laws that take half of a habit's mean delay, and nearly all of it, if they promise as much."""
    found = []
    for part in (2, 1):
        blocks = min(_MOST_BLOCKS, int(2 * waits.mean_s / part / float(policy.gap + policy.window)) - 2)
        pair = Season(acts=2, epsilon=policy.epsilon, delta=Fraction(1, 10**6))
        try:
            one = Policy(
                law="cosine",
                blocks=blocks,
                order=_SEASON_ORDER,
                season=pair,
                gap=policy.gap,
                window=policy.window,
                tick=policy.tick,
            )
        except (BadInput, NotPossible):  # so few blocks promise too little
            continue
        if one.epsilon <= policy.epsilon:
            found.append(one)
    return found


def _measured(
    practice: Practice,
    tried: Sequence[Policy],
    table: EventTable,
    policy: Policy,
    observers: Sequence[str],
) -> tuple[tuple[Line, ...], Policy | None]:
    """How often claims are right on a history, and the cheapest policy with which no more of them are.

    What waits longer there is left out of both.
    """
    named = {f"{one.law_name}, epsilon {float(one.epsilon):g}": one for one in tried}
    question = Question(
        practices=[
            *([] if practice.name == "nothing" else ["nothing"]),
            practice,
            *(replay(one, name) for name, one in named.items()),
        ],
        observers=observers,
        window=int(policy.window * MICROSECONDS),
        different=False,
    )
    lines = audit(table, question).lines
    of = {name: [line for line in lines if line.policy == name] for name in (line.policy for line in lines)}
    theirs = of[practice.name]
    cheaper = sorted(
        (name for name in named if name in of and of[name][0].mean_s < theirs[0].mean_s),
        key=lambda name: of[name][0].mean_s,
    )
    best = next((name for name in cheaper if _no_worse(of[name], theirs)), None)
    shown = dict.fromkeys(["nothing", practice.name, *(cheaper if best is None else [best])])
    return tuple(line for name in shown for line in of[name]), None if best is None else named[best]


def _no_worse(ours: Sequence[Line], theirs: Sequence[Line]) -> bool:
    """Whether against each observer no more claims are right, or than are of pairs that nobody batched."""
    return all(
        one.right_person is None
        or one.right_person.mean <= (one.reference or 0.0)
        or (other.right_person is not None and one.right_person.mean <= other.right_person.mean)
        for one, other in zip(ours, theirs, strict=True)
    )


def _length(seconds: float | None) -> str:
    return "no end" if seconds is None else format_duration(Fraction(round(seconds)))
