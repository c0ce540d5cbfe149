"""The two versions of the Wikipedia experiment: as the authors coded it, and corrected.

*As coded*: a tenth of the users, drawn anew for the gaps and for every attack; each curve run with the
percentile below the one it is named after; 5 seconds added to the gap where 5 minutes were meant; nothing
held; precision replaced by its running maximum, from the longest cutoff down. Their labels join chains of
acts, ours look at pairs (`core/labels.py`); everything else here is theirs as far as it is known, so that
what each slip does can be measured.

*Corrected*: everybody, the percentile that is named, gap plus window, and a hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import fmean
from typing import NamedTuple

import numpy as np

from tarry.core.calibrate import LearnedGap, gap_at_percentile, learned_gap
from tarry.core.entropy import Seeded
from tarry.core.errors import require_possible
from tarry.core.labels import partner_distance
from tarry.core.lanes import IntArray
from tarry.core.plan_release import label_history, plan_release
from tarry.core.policy import LabelRule, Policy
from tarry.paper.wikipedia_months import Weeks
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.audit import Report, audit
from tarry.study.batching import null_gaps, reordered_share
from tarry.study.practice import MICROSECONDS
from tarry.study.question import Question
from tarry.study.replay import replay
from tarry.study.score import average_precision, precision_at
from tarry.study.table import EventTable

__all__ = [
    "CUTOFFS",
    "EPSILONS",
    "LOWER",
    "NOTHING",
    "PERCENTILES",
    "SAMPLE",
    "SLIP_S",
    "WINDOW_S",
    "Curve",
    "CurvePoint",
    "Delay",
    "Result",
    "attack_samples",
    "declaring",
    "distinct_gaps",
    "learn_gaps",
    "practice_name",
    "replay_everybody",
    "result_of",
    "sampled_gaps",
    "some_actors",
]


PERCENTILES = (25, 50, 75)
#: The percentile that the authors' curve of each percentile ran with: the index slip.
LOWER = {25: 10, 50: 25, 75: 50}
WINDOW_S = 300  # beta: "batchParam = 5 minutes"
SLIP_S = 5  # what the code adds in its place
SAMPLE = 0.1  # of the users
#: Cutoffs in seconds; recall at 280 is compared with the text's figure.
CUTOFFS = (
    *(5, 10, 20, 30, 45, 60, 75, 90, 105, 120, 135, 150, 175, 200, 240, 280, 300),
    *(450, 600, 900, 1200, 1800, 3600, 7200, 14400, 28800),
)


class Delay(NamedTuple):
    """The mechanism: where batched delays begin, everything counted, and epsilon.

    >>> Delay("0.5", 193.0 + SLIP_S).start_s
    198.0
    """

    epsilon: str
    start_s: float


class CurvePoint(NamedTuple):
    """One cutoff of a curve, averaged over the draws.

    >>> CurvePoint(60, 0.5, 0.25).recall
    0.25
    """

    cutoff_s: int
    precision: float
    recall: float


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Precision and recall at every cutoff, and what the delays cost.

    >>> curve = Curve(
    ...     points=[CurvePoint(30, 0.8, 0.1), CurvePoint(60, 0.5, 0.4)], mean_s=0.0, reordered=0.0
    ... )
    >>> curve.at(60).recall, curve.precision_at(0.1), curve.precision_at(0.9)
    (0.4, 0.8, 0.0)
    """

    points: Sequence[CurvePoint]
    mean_s: float  # delay
    reordered: float  # share of neighbours on one target that change places

    def at(self, cutoff_s: int) -> CurvePoint:
        """The point of a cutoff."""
        return next(point for point in self.points if point.cutoff_s == cutoff_s)

    def precision_at(self, recall: float) -> float:
        """The most precision of a cutoff with at least this recall; 0 where none has it."""
        return max((point.precision for point in self.points if point.recall >= recall), default=0.0)


def some_actors(table: EventTable, share: float, rng: np.random.Generator) -> EventTable:
    """The events of a random share of the actors, of two at least.

    >>> from tarry.paper.wikipedia_months import wikipedia_month
    >>> month = wikipedia_month(seed=1)
    >>> some_actors(month, 0.1, np.random.default_rng(0)).actors == round(0.1 * month.actors)
    True
    """
    many = min(max(2, round(share * table.actors)), table.actors)
    which = np.zeros(table.actors, dtype=np.bool_)
    which[rng.permutation(table.actors)[:many]] = True
    return table.keep(which[table.actor_rank])


def sampled_gaps(table: EventTable, draws: int, seed: int) -> dict[int, float]:
    """Percentiles of gaps in seconds, averaged over samples of a tenth of the users.

    >>> from tarry.paper.wikipedia_months import wikipedia_month
    >>> list(sampled_gaps(wikipedia_month(seed=1), draws=2, seed=0))
    [10, 25, 50, 75]
    """
    rng = np.random.default_rng([seed, 1])
    percents = (10, *PERCENTILES)
    samples = (null_gaps(some_actors(table, SAMPLE, rng)) for _ in range(draws))
    by_sample = [np.percentile(gaps / MICROSECONDS, percents) for gaps in samples if len(gaps)]
    require_possible(
        by_sample, "samples of a tenth of the users leave no gaps to learn from: give a longer history"
    )
    return dict(zip(percents, np.mean(by_sample, axis=0).tolist(), strict=True))


def attack_samples(
    table: EventTable,
    delay: Delay | None,
    draws: int,
    seed: int,
    *,
    share: float = SAMPLE,
    smooth: bool = True,
) -> Curve:
    """Attack a sample of the users at each draw, without any delay or with one; average over the draws.

    >>> from tarry.paper.wikipedia_months import wikipedia_month
    >>> attack_samples(wikipedia_month(seed=1), None, draws=2, seed=0).at(300).recall
    1.0
    """
    rng = np.random.default_rng([seed, 2])  # the same samples whatever the delay
    shares, waits, moved = [], [], []
    for draw in range(draws):
        some = some_actors(table, share, rng)
        release = _release(some, delay, Seeded(seed, draw))
        truth = Truth(table=some, window=WINDOW_S * MICROSECONDS)
        scores = cutoff_attack(truth, release, [cutoff * MICROSECONDS for cutoff in CUTOFFS])
        shares.append([(score.counts.precision, score.counts.recall) for score in scores])
        waits.append(float((release - some.time).mean()) / MICROSECONDS)
        moved.append(reordered_share(some, release) or 0.0)
    # Where nothing is claimed there is no precision: the mean is over the other draws.
    means = np.ma.masked_invalid(np.array(shares, dtype=np.float64)).mean(axis=0).filled(0.0)
    if smooth:
        means[:, 0] = np.maximum.accumulate(means[::-1, 0])[::-1]
    points = [CurvePoint(cutoff, *pair) for cutoff, pair in zip(CUTOFFS, means.tolist(), strict=True)]
    return Curve(points=points, mean_s=float(np.mean(waits)), reordered=float(np.mean(moved)))


def _release(table: EventTable, delay: Delay | None, draw: Seeded) -> IntArray:
    """Labels of the real window, delays from the given start, and no hold."""
    if delay is None:
        return table.time
    labels = label_history(Policy(epsilon="1", gap="1h", window=f"{WINDOW_S}s"), table.history)
    # A policy for simultaneous acts adds nothing to its gap and holds nothing.
    policy = Policy(epsilon=delay.epsilon, gap=f"{delay.start_s:.3f}s", labels="simultaneous", weight="1")
    return plan_release(policy, table.history, draw, labels).release * MICROSECONDS


# --- corrected ------------------------------------------------------------------------------------

EPSILONS = ("0.1", "0.5", "1", "2")
NOTHING = "nothing"  # the practice of showing everything at once


@dataclass(frozen=True, kw_only=True)
class Result:
    """One practice, averaged over its draws.

    >>> from tarry.paper.wikipedia_months import split_weeks, wikipedia_month
    >>> weeks = split_weeks(wikipedia_month(seed=1, events=2_000))
    >>> result_of(replay_everybody(weeks, "held", draws=1, seed=0), NOTHING).longest_s
    0.0
    """

    precision: float  # at the cutoff of 30 s
    recall: float  # at the cutoff of 280 s
    precision_far: float | None  # the most that a cutoff with 65 % recall has; None where none has that
    average_precision: float
    mean_s: float  # delay
    longest_s: float
    reordered: float  # share of neighbours on one target that change places


def learn_gaps(table: EventTable) -> dict[int, LearnedGap]:
    """Everybody's gaps at each percentile, raised where they are not above the window.

    >>> from tarry.paper.wikipedia_months import wikipedia_month
    >>> learn_gaps(wikipedia_month(seed=1))[25].gap
    Fraction(301, 1)
    """
    gaps = [Fraction(gap, MICROSECONDS) for gap in null_gaps(table).tolist()]
    require_possible(
        gaps,
        "no two events in a row differ in actor and target, so no gap is learned: give a longer history",
    )
    return {
        percent: learned_gap(gap_at_percentile(gaps, percent), Fraction(WINDOW_S), Fraction(1))
        for percent in PERCENTILES
    }


def distinct_gaps(learned: Mapping[int, LearnedGap]) -> dict[Fraction, list[int]]:
    """The gaps that differ, each with the percentiles that lead to it.

    >>> same = learned_gap(Fraction(9), Fraction(300), Fraction(1))
    >>> distinct_gaps({25: same, 50: same})
    {Fraction(301, 1): [25, 50]}
    """
    percentiles: dict[Fraction, list[int]] = {}
    for percent, one in learned.items():
        percentiles.setdefault(one.gap, []).append(percent)
    return percentiles


def declaring(table: EventTable) -> EventTable:
    """The same events, where every member of a batch truthfully says that it is one.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5, 9])
    >>> declaring(table).declared.tolist().count(True)
    2
    """
    nearest = np.minimum(*partner_distance(table.history, table.time))
    return replace(table, declared=nearest <= WINDOW_S * MICROSECONDS)


def replay_everybody(weeks: Weeks, labels: LabelRule, draws: int, seed: int) -> Report:
    """Replay under every gap and epsilon, and attack with every cutoff.

    >>> from tarry.paper.wikipedia_months import split_weeks, wikipedia_month
    >>> measured = replay_everybody(split_weeks(wikipedia_month(seed=1)), "declared", draws=1, seed=0)
    >>> measured.runs[0].policy, measured.runs[1].policy
    ('nothing', 'gap 301s, epsilon 0.1')
    """
    practices = [
        replay(
            Policy(epsilon=epsilon, gap=gap, window=f"{WINDOW_S}s", weight="1", labels=labels),
            practice_name(gap, epsilon),
        )
        for gap in distinct_gaps(learn_gaps(weeks.learn))
        for epsilon in EPSILONS
    ]
    question = Question(
        practices=[NOTHING, *practices],
        window=WINDOW_S * MICROSECONDS,
        cutoffs=[cutoff * MICROSECONDS for cutoff in CUTOFFS],
        seed=seed,
        draws=draws,
        different=False,
    )
    return audit(declaring(weeks.replay), question)


def practice_name(gap: Fraction, epsilon: str) -> str:
    """What one of the replayed policies is called.

    >>> practice_name(Fraction(301), "0.5")
    'gap 301s, epsilon 0.5'
    """
    return f"gap {float(gap):g}s, epsilon {epsilon}"


def result_of(measured: Report, practice: str) -> Result:
    """What a practice came to.

    >>> from tarry.paper.wikipedia_months import split_weeks, wikipedia_month
    >>> weeks = split_weeks(wikipedia_month(seed=1, events=2_000))
    >>> result_of(replay_everybody(weeks, "held", draws=1, seed=0), NOTHING).mean_s
    0.0
    """
    runs = [
        {round(score.cutoff_s): score.counts for score in run.scores}
        for run in measured.runs
        if run.policy == practice
    ]
    costs = [cost for cost in measured.costs if cost.policy == practice]
    far = [precision_at(list(run.values()), 0.65) for run in runs]
    return Result(
        precision=fmean(run[30].precision or 0.0 for run in runs),
        recall=fmean(run[280].recall or 0.0 for run in runs),
        precision_far=None if None in far else fmean(one for one in far if one is not None),
        average_precision=fmean(average_precision(list(run.values())) or 0.0 for run in runs),
        mean_s=fmean(cost.mean_s for cost in costs),
        longest_s=max(cost.longest_s for cost in costs),
        reordered=fmean(cost.reordered or 0.0 for cost in costs),
    )
