"""The audit: one history, some practices, some observers, some attacks; everything measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.lanes import IntArray
from tarry.core.promise import MEANINGLESS
from tarry.study.attack.attacks import attack
from tarry.study.attack.cutoff import Truth
from tarry.study.attack.scene import Attack, Scene
from tarry.study.batching import (
    Batching,
    actor_rates,
    close_actor_share,
    in_batch_gaps,
    measure_batching,
    null_gaps,
    reordered_share,
)
from tarry.study.observer import Observer, observer
from tarry.study.practice import MICROSECONDS, Practice, Shown
from tarry.study.replay import Replay, practice_notes
from tarry.study.score import Score
from tarry.study.table import EventTable

__all__ = ["CUTOFFS", "Audit", "Cost", "Measures", "Question", "Run", "audit", "measure"]

#: Cutoffs in seconds where none are asked for.
CUTOFFS = (10, 60, 300, 600, 1800, 3600, 7200)
PERCENTILES = (5, 10, 25, 50, 75, 90, 95)
# Of the whole curves: without the least and the most, which are one person's.
FINE = tuple(range(1, 100))
# The rate of different people takes the longest: unasked it is measured where it takes a second or two.
MOST_LOOKS = 200_000_000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What an audit looks at.

    >>> Question(practices=()).window
    300000000
    """

    practices: Sequence[Practice]
    observers: Sequence[Observer] = field(default_factory=lambda: (observer("notified"),))
    attacks: Sequence[Attack] = field(default_factory=lambda: (attack("cutoff"),))
    window: int = 300 * MICROSECONDS  # what counts as truly batched, microseconds
    cutoffs: Sequence[int] = tuple(second * MICROSECONDS for second in CUTOFFS)
    seed: int = 0
    draws: int = 1  # how often practices that draw are replayed
    stretch: bool = False  # add cutoffs until they reach as far as a practice moves linked pairs apart

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise BadInput("the number of draws", "is at least 1", found=self.draws)
        for method in self.attacks:
            scenes = [(practice, watcher) for practice in self.practices for watcher in self.observers]
            if scenes and not any(method.applies_to(*scene) for scene in scenes):
                raise BadInput(
                    f"the attack {method.name}",
                    "knows a policy and sees its releases",
                    found="no policy, or pollers alone",
                    fix="give a policy, and an observer that is notified or reads the archive",
                )
        for what, named in (
            ("a practice", self.practices),
            ("an observer", self.observers),
            ("an attack", self.attacks),
        ):
            names = [one.name for one in named]
            if twice := [name for name in names if names.count(name) > 1]:
                raise BadInput(what, "is asked for once", found=f"{twice[0]!r} twice")
        if not self.cutoffs:
            raise BadInput("the cutoffs", "are at least one", found="none")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One attack on one draw of one practice, through one observer's eyes.

    >>> Run(attack="cutoff", observer="notified", policy="nothing", draw=0, scores=()).draw
    0
    """

    attack: str
    observer: str
    policy: str  # the name of the practice
    draw: int
    scores: Sequence[Score]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one draw of a practice costs, in seconds from arrival to release.

    >>> at = np.array([0, 10_000_000])
    >>> _cost("mix", 0, at, Shown(release=at + 5_000_000, printed=at), None).mean_s
    5.0
    """

    policy: str
    draw: int
    mean_s: float
    median_s: float
    high_s: float  # 95 of 100 events wait at most this long
    longest_s: float
    reordered: float | None  # share of neighbours on one target that change places
    most_nats: float | None = None  # what the promise has cost the actor it cost most
    spent_actors: int | None = None  # those whom it says nothing any more, against a long watch


@dataclass(frozen=True, kw_only=True)
class Measures:
    """A history before anybody attacks it. Gaps and rates are percentiles: percent -> value.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5, 99])
    >>> measure(table, window=10).batching.rate
    1.0
    """

    events: int
    actors: int
    targets: int
    first: int  # microseconds
    last: int
    window: int  # microseconds
    batching: Batching
    in_batch_gaps_s: dict[int, float]
    null_gaps_s: dict[int, float]
    in_batch_curve_s: dict[int, float]  # the same, every percent: for charts
    null_curve_s: dict[int, float]
    actor_rates: dict[int, float]  # over the actors who moved between targets
    different: (
        Fraction | None
    )  # share of pairs of different actors who act close together; None: not measured


@dataclass(frozen=True, kw_only=True)
class Audit:
    """All that was measured.

    >>> Audit(measures=None, linked_pairs=1, candidate_pairs=2, runs=(), costs=()).linked_pairs
    1
    """

    measures: Measures
    linked_pairs: int
    candidate_pairs: int
    runs: Sequence[Run]
    costs: Sequence[Cost]
    notes: Sequence[str] = ()  # what could not be done, and what one should know

    def runs_of(self, policy: str, attack: str, observer: str) -> list[Run]:
        """The runs of one practice under one attack, draw after draw."""
        wanted = (policy, attack, observer)
        return [run for run in self.runs if (run.policy, run.attack, run.observer) == wanted]


def audit(
    table: EventTable,
    question: Question,
    *,
    different: bool | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Measure a history and score every attack on every draw of every practice.

    `different` asks for the rate at which different people act close together, which takes longest;
    unasked it is measured on small tables. `progress` is told (done, all) after each run.

    >>> from tarry.study.baselines import baseline
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> found = audit(table, Question(practices=[baseline("nothing")]))
    >>> found.linked_pairs, found.runs[0].scores[1].counts.precision
    (1, 0.5)
    """
    measures = measure(table, question.window, different=different)
    truth = Truth(table=table, window=question.window)
    runs: list[Run] = []
    costs: list[Cost] = []
    notes = list(table.notes)
    notes += [note for practice in question.practices for note in practice_notes(practice, table)]
    reached: dict[tuple[str, str], Sequence[int]] = {}
    jobs = [(practice, draw) for practice in question.practices for draw in _draws(practice, question)]
    for done, (practice, draw) in enumerate(jobs, start=1):
        shown = practice.show(table.history, Seeded(question.seed, draw))
        cost = _cost(practice.name, draw, table.time, shown, reordered_share(table, shown.release))
        costs.append(_with_ledger(cost, table, practice, shown))
        for watcher in question.observers:
            scene = Scene(truth=truth, practice=practice, seen=watcher.see(shown))
            place = (practice.name, watcher.name)
            if place not in reached:  # once: every draw is judged by the same cutoffs
                reached[place] = _cutoffs(question, scene)
            for method in question.attacks:
                if not method.applies_to(practice, watcher):
                    continue
                try:
                    scores = tuple(method.score(scene, reached[place]))
                except NotPossible as error:  # the other runs stand without it
                    notes.append(f"{practice.name}, seen by {watcher.name}: {error}")
                    continue
                told = {"attack": method.name, "observer": watcher.name, "policy": practice.name}
                runs.append(Run(**told, draw=draw, scores=scores))
        if progress is not None:
            progress(done, len(jobs))
    return Audit(
        measures=measures,
        linked_pairs=truth.linked_pairs,
        candidate_pairs=truth.candidate_pairs,
        runs=tuple(runs),
        costs=tuple(costs),
        notes=tuple(dict.fromkeys(notes)),
    )


def measure(table: EventTable, window: int, *, different: bool | None = None) -> Measures:
    """How the people of a history batch; the window is in microseconds.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5, 99])
    >>> measure(table, window=10).null_gaps_s[50]
    9.4e-05
    """
    if not len(table):
        raise NotPossible("a history without events has nothing to measure")
    wanted = _looks(table, window) <= MOST_LOOKS if different is None else different
    inside, between = in_batch_gaps(table, window) / MICROSECONDS, null_gaps(table) / MICROSECONDS
    return Measures(
        events=len(table),
        actors=table.actors,
        targets=table.targets,
        first=int(table.time.min()),
        last=int(table.time.max()),
        window=window,
        batching=measure_batching(table, window),
        in_batch_gaps_s=_percentiles(inside),
        null_gaps_s=_percentiles(between),
        in_batch_curve_s=_percentiles(inside, FINE),
        null_curve_s=_percentiles(between, FINE),
        actor_rates=_percentiles(actor_rates(table, window)),
        different=close_actor_share(table, window) if wanted else None,
    )


def _looks(table: EventTable, window: int) -> int:
    """How many events all windows cover together: what the rate of different people costs."""
    ordered = np.sort(table.time)
    ends = np.searchsorted(ordered, ordered + window, side="right")
    return int(2 * (ends - np.arange(len(ordered))).sum())


def _cutoffs(question: Question, scene: Scene) -> Sequence[int]:
    """Those asked for; if they may be stretched, also doublings until all linked pairs lie within.

    A practice must not look private only because nobody looked far enough.
    """
    if not question.stretch or not len(scene.seen):
        return question.cutoffs
    moved = scene.seen - scene.truth.table.time
    # Another draw may move some pair a little further than this one does.
    needed = question.window + 2 * int(moved.max() - moved.min())
    cutoffs = list(question.cutoffs)
    while max(cutoffs) < needed:
        cutoffs.append(max(cutoffs) * 2 or MICROSECONDS)
    return cutoffs


def _draws(practice: Practice, question: Question) -> range:
    return range(question.draws if practice.draws else 1)


def _cost(name: str, draw: int, arrival: IntArray, shown: Shown, reordered: float | None) -> Cost:
    delay = (shown.release - arrival) / MICROSECONDS
    median, high = np.quantile(delay, [0.5, 0.95])
    return Cost(
        policy=name,
        draw=draw,
        mean_s=float(delay.mean()),
        median_s=float(median),
        high_s=float(high),
        longest_s=float(delay.max()),
        reordered=reordered,
    )


def _with_ledger(cost: Cost, table: EventTable, practice: Practice, shown: Shown) -> Cost:
    """What the promise has cost, too: epsilon adds up over an actor's batched events."""
    if not isinstance(practice, Replay) or shown.batched is None or practice.policy.labels == "none":
        return cost  # without labels every act that moves costs: there is no count of batched ones
    batched = np.bincount(table.actor_rank[shown.batched], minlength=1)
    share = practice.policy.share
    # Whole events, so that no rounding decides: more than this many are beyond the limit.
    bearable = MEANINGLESS // share
    most, beyond = float(share * int(batched.max())), int((batched > bearable).sum())
    return replace(cost, most_nats=most, spent_actors=beyond)


def _percentiles(
    values: "np.ndarray[tuple[int], np.dtype[np.float64]]", percents: Sequence[int] = PERCENTILES
) -> dict[int, float]:
    """Observed values, none in between: at least so many percent are at most this."""
    if not len(values):
        return {}
    found = np.quantile(values, [percent / 100 for percent in percents], method="inverted_cdf")
    return dict(zip(percents, (float(value) for value in found), strict=True))
