"""The Wikipedia experiment corrected: everybody, the percentile that is named, gap plus window, a hold."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import fmean

from tarry.core.calibrate import LearnedGap, gap_at_percentile, learned_gap
from tarry.core.errors import NotPossible
from tarry.core.labels import partner_distance
from tarry.core.policy import LabelRule, Policy
from tarry.paper.wikipedia_coded import CUTOFFS, PERCENTILES, WINDOW_S
from tarry.paper.wikipedia_weeks import Weeks
from tarry.study.audit import Report, audit
from tarry.study.batching import null_gaps
from tarry.study.practice import MICROSECONDS
from tarry.study.question import Question
from tarry.study.replay import replay
from tarry.study.runs import AttackRun, Cost
from tarry.study.score import Counts, average_precision, precision_at
from tarry.study.table import EventTable

__all__ = [
    "EPSILONS",
    "NOTHING",
    "Result",
    "declaring",
    "distinct_gaps",
    "learn_gaps",
    "practice_name",
    "replay_everybody",
    "result_of",
]

EPSILONS = ("0.1", "0.5", "1", "2")
NOTHING = "nothing"  # the practice of showing everything at once


@dataclass(frozen=True, kw_only=True)
class Result:
    """One practice, averaged over its draws.

    >>> from tarry.paper.months import wikipedia_month
    >>> from tarry.paper.wikipedia_weeks import split_weeks
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

    >>> from tarry.paper.months import wikipedia_month
    >>> learn_gaps(wikipedia_month(seed=1))[25].gap
    Fraction(301, 1)
    """
    gaps = [Fraction(gap, MICROSECONDS) for gap in null_gaps(table).tolist()]
    if not gaps:
        raise NotPossible("no two events follow each other with other actor and target: no gap is learned")
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
    found: dict[Fraction, list[int]] = {}
    for percent, one in learned.items():
        found.setdefault(one.gap, []).append(percent)
    return found


def declaring(table: EventTable) -> EventTable:
    """The same events, where every member of a batch truthfully says that it is one.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5, 9])
    >>> declaring(table).declared.tolist().count(True)
    2
    """
    before, after = partner_distance(table.history, table.time)
    limit = WINDOW_S * MICROSECONDS
    return replace(table, declared=(before <= limit) | (after <= limit))


def replay_everybody(weeks: Weeks, labels: LabelRule, draws: int, seed: int) -> Report:
    """Replay under every gap and epsilon, and attack with every cutoff.

    >>> from tarry.paper.months import wikipedia_month
    >>> from tarry.paper.wikipedia_weeks import split_weeks
    >>> found = replay_everybody(split_weeks(wikipedia_month(seed=1)), "declared", draws=1, seed=0)
    >>> found.runs[0].policy, found.runs[1].policy
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


def result_of(found: Report, practice: str) -> Result:
    """What a practice came to.

    >>> from tarry.paper.months import wikipedia_month
    >>> from tarry.paper.wikipedia_weeks import split_weeks
    >>> weeks = split_weeks(wikipedia_month(seed=1, events=2_000))
    >>> result_of(replay_everybody(weeks, "held", draws=1, seed=0), NOTHING).mean_s
    0.0
    """
    runs = [_scores(run) for run in found.runs if run.policy == practice]
    costs: list[Cost] = [cost for cost in found.costs if cost.policy == practice]
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


def _scores(run: AttackRun) -> dict[int, Counts]:
    """The counts of a run by cutoff in seconds."""
    return {round(score.cutoff_s): score.counts for score in run.scores}
