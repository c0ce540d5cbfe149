"""Every attack on every draw of every practice, through every observer's eyes, and what waiting costs.

Then the practices side by side: what each costs and what it buys.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import NotPossible
from tarry.study.attack import Attack, Observed, Truth
from tarry.study.batching import reordered_share, reply_time
from tarry.study.busy import check_crowds
from tarry.study.exact_sums import total
from tarry.study.figures import percent
from tarry.study.person import NOBODY, People, Yardsticks
from tarry.study.practice import MICROSECONDS, Observer, Practice, Shown, Spent
from tarry.study.question import Question
from tarry.study.score import Counts, Score, average_precision, crossover, precision_at, recall_at
from tarry.study.table import EventTable

__all__ = [
    "AttackRun",
    "Cost",
    "Line",
    "Progress",
    "Runs",
    "Spread",
    "compare",
    "reaching",
    "run_attacks",
    "spread",
    "spread_percent",
]

_SEARCHED = 60  # cutoffs that are looked at for the best one
#: Is told (done, all) after each replay.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class AttackRun:
    """One attack on one draw of one practice, through one observer's eyes.

    >>> AttackRun(attack="cutoff", observer="notified", policy="nothing", draw=0, scores=()).draw
    0
    """

    attack: str
    observer: str
    policy: str  # the name of the practice
    draw: int
    scores: Sequence[Score]
    people: People = field(default=NOBODY)  # the best claims, and whom they are about
    seeks: str = "linked pairs"  # what the counts are of

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        counts = [score.counts for score in self.scores]
        people = self.people
        return {
            "attack": self.attack,
            "observer": self.observer,
            "policy": self.policy,
            "draw": self.draw,
            "average_precision": average_precision(counts),
            "error_crossover_rate": crossover(counts),
            "recall_at_half_precision": recall_at(counts, 0.5),
            "best": None if people.best is None else people.best.as_dict(),
            "best_interval": people.interval,
            "calls": {f"{at:g}": asdict(calls) for at, calls in people.calls.items()},
            "scores": [score.as_dict() for score in self.scores],
        }


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one draw of a practice costs, in seconds from arrival to release.

    >>> Cost(
    ...     policy="mix", draw=0, mean_s=5.0, median_s=5.0, high_s=9.0, longest_s=9.0, reordered=None
    ... ).spent is None
    True
    """

    policy: str
    draw: int
    mean_s: float
    median_s: float
    high_s: float  # 95 of 100 events wait at most this long
    longest_s: float
    reordered: float | None  # share of neighbours on one target that change places
    reply_s: float | None = None  # half of the acts that follow another person's on one target do so within
    spent: Spent | None = None  # how much of its promise is used up; None where nothing adds up

    def as_dict(self) -> dict[str, Any]:
        """As plain values.

        >>> spent = Spent(most_nats=4.0, actors=1, batching=2)
        >>> delays = {"mean_s": 5.0, "median_s": 5.0, "high_s": 9.0, "longest_s": 9.0}
        >>> Cost(policy="mine", draw=0, **delays, reordered=None, spent=spent).as_dict()["spent_actors"]
        1
        """
        plain = {name: value for name, value in vars(self).items() if name != "spent"}
        used = self.spent
        return {
            **plain,
            "most_nats": None if used is None else used.most_nats,
            "spent_actors": None if used is None else used.actors,
            "batching_actors": None if used is None else used.batching,
            "season_acts": None if used is None or used.season is None else used.season.acts,
        }


class Runs(NamedTuple):
    """What came of it.

    >>> Runs(Truth(table=None, window=1), [], [], []).notes
    []
    """

    truth: Truth
    runs: list[AttackRun]
    costs: list[Cost]
    notes: list[str]  # what could not be done, and what one should know


def run_attacks(
    table: EventTable, question: Question, progress: Progress | None = None, *, search: bool = True
) -> Runs:
    """Replay every practice and score every attack on it.

    With `search` the best cutoff is looked for among all of them, not only among those asked for.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> run_attacks(table, Question()).runs[0].scores[1].counts.precision
    0.5
    """
    # Everybody is delayed; claims are about those who are looked for.
    looked_at = table.named(actors=question.suspects, targets=question.among)
    result = Runs(Truth(table=table.keep(looked_at), window=question.window), [], [], [])
    for practice in question.practices:
        result.notes.extend(practice.notes(table))
    reached: dict[tuple[str, str], Sequence[int]] = {}  # every draw is judged by the same cutoffs
    replays = [
        (practice, draw)
        for practice in question.practices
        for draw in range(question.draws if practice.draws else 1)
    ]
    looks = (len(question.cutoffs) + _SEARCHED * search) * len(question.observers) * len(question.attacks)
    delayed = sum(practice.name != "nothing" for practice, _ in replays)
    check_crowds(result.truth.near, delayed * looks, result.truth.table.actor_rank)
    for done, (practice, draw) in enumerate(replays, start=1):
        shown = practice.show(table.history, Seeded(question.seed, draw))
        result.costs.append(_cost(table, practice, draw, shown))
        for watcher in question.observers:
            observed = Observed(
                truth=result.truth,
                practice=practice,
                seen=watcher.see(shown)[looked_at],
                labels=None if shown.batched is None else shown.batched[looked_at],
            )
            if (practice.name, watcher.name) not in reached:
                reached[practice.name, watcher.name] = _cutoffs(question, observed)
            cutoffs = reached[practice.name, watcher.name]
            result.runs.extend(
                AttackRun(
                    attack=method.name,
                    observer=watcher.name,
                    policy=practice.name,
                    draw=draw,
                    scores=scores,
                    people=method.people(observed, scores, thorough=draw == 0)
                    if search
                    else Attack.people(method, observed, scores, thorough=False),
                    seeks=method.seeks,
                )
                for method, scores in _attacked(question, observed, watcher, cutoffs, result.notes)
            )
        if progress is not None:
            progress(done, len(replays))
    return result


def _attacked(
    question: Question, observed: Observed, watcher: Observer, cutoffs: Sequence[int], notes: list[str]
) -> Iterator[tuple[Attack, Sequence[Score]]]:
    """The scores of every attack that applies; a note of each that is not possible."""
    for method in question.attacks:
        if method.applies_to(observed.practice, watcher):
            try:
                yield method, tuple(method.score(observed, cutoffs))
            except NotPossible as error:  # the other runs stand without it
                notes.append(f"{observed.practice.name}, seen by {watcher.name}: {error}")


def _cutoffs(question: Question, observed: Observed) -> Sequence[int]:
    """Those asked for, and what the practice makes of them."""
    moved = observed.seen - observed.truth.table.time
    return reaching(question, int(np.ptp(moved))) if len(moved) else question.cutoffs


def reaching(question: Question, spread: int) -> Sequence[int]:
    """The cutoffs for a practice that moves some events so much further than others.

    If they may be stretched, they double until all linked pairs lie within: no practice must look private
    only because nobody looked far enough.

    >>> list(reaching(Question(cutoffs=["1m"], stretch=True, window="1m"), 60_000_000))
    [60000000, 120000000, 240000000]
    """
    if not question.stretch:
        return question.cutoffs
    # Another draw may move some pair a little further than this one does.
    needed = question.window + 2 * spread
    cutoffs = list(question.cutoffs)
    while max(cutoffs) < needed:
        cutoffs.append(max(cutoffs) * 2 or MICROSECONDS)
    return cutoffs


def _cost(table: EventTable, practice: Practice, draw: int, shown: Shown) -> Cost:
    waits = shown.release - table.time
    delay = waits / MICROSECONDS
    median, high = np.quantile(delay, [0.5, 0.95])
    return Cost(
        policy=practice.name,
        draw=draw,
        mean_s=total(waits) / (len(waits) * MICROSECONDS),
        median_s=float(median),
        high_s=float(high),
        longest_s=float(delay.max()),
        reordered=reordered_share(table, shown.release),
        reply_s=reply_time(table, shown.release),
        spent=practice.spent(table, shown),
    )


PRECISION = 0.5


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A figure over several draws: its mean, the least and the most.

    >>> spread([1.0, 3.0])
    Spread(mean=2.0, low=1.0, high=3.0)
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Line:
    """One practice, one observer, one attack.

    >>> one = spread([0.5])
    >>> Line(
    ...     policy="nothing",
    ...     observer="archive",
    ...     attack="cutoff",
    ...     draws=1,
    ...     mean_s=0.0,
    ...     high_s=0.0,
    ...     longest_s=0.0,
    ...     reordered=None,
    ...     precision=one,
    ...     right_person=one,
    ...     interval=None,
    ...     reference=0.4,
    ...     same_day=0.3,
    ...     base=0.1,
    ...     called={0.5: 3},
    ...     average_precision=one,
    ...     crossover=one,
    ...     recall=one,
    ... ).excess
    0.1
    """

    policy: str
    observer: str
    attack: str
    draws: int
    mean_s: float  # delay
    high_s: float  # 95 of 100 events wait at most this long
    longest_s: float
    reordered: float | None  # share of neighbours on one target that change places
    # None: not known, because nothing is linked or no cutoff reaches so far
    precision: Spread | None  # of claims that find a tenth of the linked pairs: the share that were batched
    right_person: Spread | None  # the share of the best such claims that are right about the person
    interval: tuple[float, float] | None  # of that, over samples of people, in the first draw
    reference: (
        float | None
    )  # pairs that arrived further apart than a batch, up to gap + window: one person's
    same_day: float | None  # pairs of one day that are one person's
    base: float | None  # pairs of the whole history that are one person's
    called: Mapping[float, int]  # people with a pair claimed with this confidence, in the first draw
    average_precision: Spread | None
    crossover: Spread | None  # where misses and false alarms are equally frequent: higher is more private
    recall: Spread | None  # of claims that are right at least half the time
    reply_s: float | None = None  # half of the acts that follow another person's on one target do so within

    @property
    def lift(self) -> float | None:
        """How many times as often as by chance claims are right about the person; for orientation only."""
        if self.right_person is None or not self.base:
            return None
        return self.right_person.mean / self.base

    @property
    def excess(self) -> float | None:
        """What batching itself gives away: how much more often claims are right than the reference."""
        if self.right_person is None or self.reference is None:
            return None
        return round(self.right_person.mean - self.reference, 12)

    @property
    def right_words(self) -> str:
        """How often claims are right about the person, with an interval over people, or over draws."""
        if self.interval is None or self.right_person is None:
            return spread_percent(self.right_person)
        low, high = (percent(end)[:-2] for end in self.interval)
        return f"{percent(self.right_person.mean)} ({low} to {high})"

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        called = {f"{confidence:g}": people for confidence, people in self.called.items()}
        return {**asdict(self), "called": called, "lift": self.lift, "excess": self.excess}


def compare(
    runs: Sequence[AttackRun], costs: Sequence[Cost], measured_by: Mapping[str, Yardsticks]
) -> list[Line]:
    """A line for each practice, observer and attack, in the order of the runs.

    >>> from tarry.study.audit import audit
    >>> from tarry.study.question import Question
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report = audit(table, Question(practices=["nothing"]))
    >>> [line.policy for line in compare(report.runs, report.costs, report.yardsticks)]
    ['nothing']
    """
    return [
        _line(
            [run for run in runs if (run.policy, run.observer, run.attack) == kind],
            [cost for cost in costs if cost.policy == kind[0]],
            measured_by[kind[0]],
        )
        for kind in dict.fromkeys((run.policy, run.observer, run.attack) for run in runs)
    ]


def spread(values: Sequence[float | None]) -> Spread | None:
    """The spread of the values that are known; None where none is.

    >>> spread([None, 2.0]).mean
    2.0
    """
    known = [value for value in values if value is not None]
    return Spread(mean=fmean(known), low=min(known), high=max(known)) if known else None


def spread_percent(share: Spread | None) -> str:
    """The mean of a share over the draws, and its range where they differ.

    >>> spread_percent(Spread(mean=0.2, low=0.1, high=0.3))
    '20.0 % (10.0 to 30.0)'
    """
    if share is None:
        return "-"
    low, high = percent(share.low), percent(share.high)
    return percent(share.mean) + ("" if low == high else f" ({low[:-2]} to {high[:-2]})")


def _line(runs: Sequence[AttackRun], costs: Sequence[Cost], measured_by: Yardsticks) -> Line:
    counts: list[list[Counts]] = [[score.counts for score in run.scores] for run in runs]
    orders = [cost.reordered for cost in costs if cost.reordered is not None]
    replies = [cost.reply_s for cost in costs if cost.reply_s is not None]
    return Line(
        policy=runs[0].policy,
        observer=runs[0].observer,
        attack=runs[0].attack,
        draws=len(runs),
        mean_s=fmean(cost.mean_s for cost in costs),
        high_s=fmean(cost.high_s for cost in costs),
        longest_s=max(cost.longest_s for cost in costs),
        reordered=fmean(orders) if orders else None,
        precision=spread([precision_at(one) for one in counts]),
        right_person=spread([run.people.right for run in runs]),
        interval=runs[0].people.interval,
        reference=measured_by.reference.share,
        same_day=measured_by.same_day.share,
        base=measured_by.base.share,
        called={at: calls.called for at, calls in runs[0].people.calls.items()},
        average_precision=spread([average_precision(one) for one in counts]),
        crossover=spread([crossover(one) for one in counts]),
        recall=spread([recall_at(one, PRECISION) for one in counts]),
        reply_s=fmean(replies) if replies else None,
    )
