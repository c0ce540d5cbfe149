"""Practices side by side: what each costs and what it buys."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from tarry.study.figures import percent
from tarry.study.runs import AttackRun, Cost
from tarry.study.score import Counts, average_precision, crossover, precision_at, recall_at

__all__ = ["Line", "Spread", "compare", "spread", "spread_percent"]

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
    ...     average_precision=one,
    ...     crossover=one,
    ...     recall=one,
    ... ).precision.mean
    0.5
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
    precision: Spread | None  # of claims that find a tenth of the linked pairs
    average_precision: Spread | None
    crossover: Spread | None  # where misses and false alarms are equally frequent: higher is more private
    recall: Spread | None  # of claims that are right at least half the time


def compare(runs: Sequence[AttackRun], costs: Sequence[Cost]) -> list[Line]:
    """A line for each practice, observer and attack, in the order of the runs.

    >>> from tarry.study.audit import audit
    >>> from tarry.study.question import Question
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report = audit(table, Question(practices=["nothing"]))
    >>> [line.policy for line in compare(report.runs, report.costs)]
    ['nothing']
    """
    kinds = dict.fromkeys((run.policy, run.observer, run.attack) for run in runs)
    return [
        _line(
            [run for run in runs if (run.policy, run.observer, run.attack) == kind],
            [cost for cost in costs if cost.policy == kind[0]],
        )
        for kind in kinds
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


def _line(runs: Sequence[AttackRun], costs: Sequence[Cost]) -> Line:
    counts: list[list[Counts]] = [[score.counts for score in run.scores] for run in runs]
    orders = [cost.reordered for cost in costs if cost.reordered is not None]
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
        average_precision=spread([average_precision(one) for one in counts]),
        crossover=spread([crossover(one) for one in counts]),
        recall=spread([recall_at(one, PRECISION) for one in counts]),
    )
