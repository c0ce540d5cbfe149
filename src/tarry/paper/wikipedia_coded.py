"""The Wikipedia experiment as the authors coded it, so that what each slip does can be measured.

A tenth of the users, drawn anew for the gaps and for every attack; each curve run with the percentile
below the one it is named after; 5 seconds added to the gap where 5 minutes were meant; nothing held;
precision replaced by its running maximum, from the longest cutoff down. Their labels join chains of
acts, ours look at pairs (`core/labels.py`); everything else here is theirs as far as it is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import NotPossible
from tarry.core.lanes import IntArray
from tarry.core.plan_release import label_history, plan_release
from tarry.core.policy import Policy
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.batching import null_gaps, reordered_share
from tarry.study.practice import MICROSECONDS
from tarry.study.score import Score
from tarry.study.table import EventTable

__all__ = [
    "CUTOFFS",
    "LOWER",
    "PERCENTILES",
    "SAMPLE",
    "SLIP_S",
    "WINDOW_S",
    "Curve",
    "Delay",
    "Point",
    "attack_samples",
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


class Point(NamedTuple):
    """One cutoff of a curve, averaged over the draws.

    >>> Point(60, 0.5, 0.25).recall
    0.25
    """

    cutoff_s: int
    precision: float
    recall: float


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Precision and recall at every cutoff, and what the delays cost.

    >>> curve = Curve(points=[Point(30, 0.8, 0.1), Point(60, 0.5, 0.4)], mean_s=0.0, reordered=0.0)
    >>> curve.at(60).recall, curve.precision_at(0.1), curve.precision_at(0.9)
    (0.4, 0.8, 0.0)
    """

    points: Sequence[Point]
    mean_s: float  # delay
    reordered: float  # share of neighbours on one target that change places

    def at(self, cutoff_s: int) -> Point:
        """The point of a cutoff."""
        return next(point for point in self.points if point.cutoff_s == cutoff_s)

    def precision_at(self, recall: float) -> float:
        """The most precision of a cutoff with at least this recall; 0 where none has it."""
        return max((point.precision for point in self.points if point.recall >= recall), default=0.0)


def some_actors(table: EventTable, share: float, rng: np.random.Generator) -> EventTable:
    """The events of a random share of the actors, of two at least.

    >>> from tarry.paper.months import wikipedia_month
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

    >>> from tarry.paper.months import wikipedia_month
    >>> list(sampled_gaps(wikipedia_month(seed=1), draws=2, seed=0))
    [10, 25, 50, 75]
    """
    rng = np.random.default_rng([seed, 1])
    percents = (10, *PERCENTILES)
    samples = [null_gaps(some_actors(table, SAMPLE, rng)) for _ in range(draws)]
    found = [np.percentile(gaps / MICROSECONDS, percents) for gaps in samples if len(gaps)]
    if not found:
        raise NotPossible("samples of a tenth of the users leave no gaps to learn from")
    return dict(zip(percents, np.mean(found, axis=0).tolist(), strict=True))


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

    >>> from tarry.paper.months import wikipedia_month
    >>> attack_samples(wikipedia_month(seed=1), None, draws=2, seed=0).at(300).recall
    1.0
    """
    rng = np.random.default_rng([seed, 2])  # the same samples whatever the delay
    shares, waits, moved = [], [], []
    for draw in range(draws):
        some = some_actors(table, share, rng)
        release = _release(some, delay, Seeded(seed, draw))
        truth = Truth(table=some, window=WINDOW_S * MICROSECONDS)
        shares.append(_shares(cutoff_attack(truth, release, [c * MICROSECONDS for c in CUTOFFS])))
        waits.append(float((release - some.time).mean()) / MICROSECONDS)
        moved.append(reordered_share(some, release) or 0.0)
    # Where nothing is claimed there is no precision: the mean is over the other draws.
    means = np.ma.masked_invalid(np.array(shares, dtype=np.float64)).mean(axis=0).filled(0.0)
    if smooth:
        means[:, 0] = np.maximum.accumulate(means[::-1, 0])[::-1]
    points = [Point(cutoff, *pair) for cutoff, pair in zip(CUTOFFS, means.tolist(), strict=True)]
    return Curve(points=points, mean_s=float(np.mean(waits)), reordered=float(np.mean(moved)))


def _release(table: EventTable, delay: Delay | None, draw: Seeded) -> IntArray:
    """Labels of the real window, delays from the start that is asked for, and no hold."""
    if delay is None:
        return table.time
    labels = label_history(Policy(epsilon="1", gap="1h", window=f"{WINDOW_S}s"), table.history)
    # A policy for simultaneous acts adds nothing to its gap and holds nothing.
    policy = Policy(epsilon=delay.epsilon, gap=f"{delay.start_s:.3f}s", labels="simultaneous", weight="1")
    return plan_release(policy, table.history, draw, labels).release * MICROSECONDS


def _shares(scores: Sequence[Score]) -> list[tuple[float | None, float | None]]:
    return [(score.counts.precision, score.counts.recall) for score in scores]
