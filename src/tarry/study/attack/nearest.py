"""The paper's hypothesis test: is this event batched with one on the targets I watch?

The observer takes an event on a target of their own and looks for the nearest one, in observed time,
on the targets they watch; at most a cutoff away, they say "batched". Power is the share of the truly
batched events they flag, type-I error the share of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeGuard

import numpy as np

from tarry.core.calibrate import power_bound
from tarry.core.errors import BadInput
from tarry.core.exact import Number, parse_number
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.policy import Policy
from tarry.study.attack import Attack, AttackKind, Claiming, Observed, PairTally
from tarry.study.practice import MICROSECONDS, Practice
from tarry.study.replay import label
from tarry.study.score import Counts, Score

__all__ = ["NEAREST", "nearest_bound", "nearest_mass", "nearest_test"]

_FAR = np.iinfo(np.int64).max
_HALF = Fraction(1, 2)
_COUNTS = ("true_positives", "false_positives", "false_negatives", "true_negatives")


def nearest_bound(counts: Counts, epsilon: Number, mass: Fraction, *, flips: int = 1) -> float:
    """The most power a policy allows at this type-I error; 1, which says nothing, when P0 is 0.

    `mass` is P0 (`nearest_mass`). The theorem is about one pair of events in a given stream, and
    any test of what is seen. A history is many streams: its batched events may have other
    neighbours than the rest, bursts flip more than one further label (`flips`), and both shares
    are counted on a sample. So this is a yardstick beside the counts, not a limit on them.

    >>> counts = Counts(true_positives=1, false_negatives=3, false_positives=5, true_negatives=95)
    >>> counts.recall, counts.false_positive_rate, round(nearest_bound(counts, 1, Fraction(1, 2)), 3)
    (0.25, 0.05, 0.272)
    """
    others = counts.false_positives + counts.true_negatives
    if not (mass and others):
        return 1.0
    return float(power_bound(epsilon, mass, Fraction(counts.false_positives, others), flips=flips))


def nearest_test(
    observed: IntArray,
    arrival: IntArray,
    actor: IntArray,
    target: IntArray,
    *,
    own: BoolArray,
    watched: BoolArray,
    window_us: int,
    cutoffs_us: Sequence[int],
) -> list[Score]:
    """Test every event on an own target against the watched ones, at each cutoff.

    Sought are the own events that have a same-actor event on a watched target, arrivals within the window;
    flagged are those with any event on a watched target at most the cutoff away. Then power is the
    recall of the counts, and type-I error their false positive rate.

    `own` and `watched` mark rows; no target may be both.

    >>> at, actor, target = np.array([0, 2, 50]), np.array([1, 1, 2]), np.array([7, 8, 7])
    >>> own = target == 7
    >>> [s] = nearest_test(at, at, actor, target, own=own, watched=~own, window_us=5, cutoffs_us=[10])
    >>> s.counts.recall, s.counts.false_positive_rate
    (1.0, 0.0)
    """
    _check((observed, arrival, actor), target, own, watched)
    _check_lengths(window_us, *cutoffs_us)
    batched = _batched(arrival, actor, own, watched, window_us)
    distance = _distances(observed[own], np.sort(observed[watched]))
    persons = distance == _own_distances(observed, actor, own, watched)  # the nearest is the same person's
    flagged = [
        np.searchsorted(np.sort(distance[rows]), cutoffs_us, side="right")
        for rows in (batched, ~batched, persons)
    ]
    return [
        Score(
            cutoff=cutoff,
            counts=Counts(
                true_positives=int(hits),
                false_positives=int(false_hits),
                false_negatives=int(batched.sum() - hits),
                true_negatives=int((~batched).sum() - false_hits),
            ),
            persons=int(same),
        )
        for cutoff, hits, false_hits, same in zip(cutoffs_us, *flagged, strict=True)
    ]


def nearest_mass(
    arrival: IntArray,
    actor: IntArray,
    target: IntArray,
    labels: BoolArray,
    *,
    own: BoolArray,
    watched: BoolArray,
    window_us: int,
    gap_us: int,
) -> Fraction:
    """P0 of the bound for an observer who sees differences: P(|S| <= gap, the later one unbatched).

    Counted over the own events that are not batched with a watched one: S is the difference between
    the arrival and that of the nearest watched event, `labels` are the labels the policy gave
    (`plan_release`). Of several watched events equally near, or of two at the same moment, either may
    be the one that moved, so one that is unbatched is enough.

    >>> at, actor, target = np.array([0, 7, 50, 99]), np.array([1, 2, 3, 3]), np.array([7, 8, 7, 8])
    >>> own, nobody = target == 7, np.zeros(4, dtype=bool)
    >>> nearest_mass(at, actor, target, nobody, own=own, watched=~own, window_us=5, gap_us=9)
    Fraction(1, 2)
    """
    _check((arrival, actor, labels), target, own, watched)
    _check_lengths(window_us, gap_us)
    close, rest = _mass((arrival, actor), labels, own, watched, (window_us, gap_us))
    return Fraction(close, rest) if rest else Fraction(0)


def _mass(
    columns: tuple[IntArray, IntArray],
    labels: BoolArray,
    own: BoolArray,
    watched: BoolArray,
    lengths: tuple[int, int],
) -> tuple[int, int]:
    """Own events that are not batched with a watched one: those that count for P0, and all."""
    (arrival, actor), (window_us, gap_us) = columns, lengths
    rest = np.flatnonzero(own)[~_batched(arrival, actor, own, watched, window_us)]
    at = arrival[rest]
    nearest = _distances(at, np.sort(arrival[watched]))
    close = nearest <= gap_us
    step = np.where(close, nearest, 0)
    watched_later = np.isin(at + step, arrival[watched & ~labels])
    own_later = ~labels[rest] & np.isin(at - step, arrival[watched])
    return int((close & (watched_later | own_later)).sum()), len(rest)


def _batched(
    arrival: IntArray, actor: IntArray, own: BoolArray, watched: BoolArray, window: int
) -> BoolArray:
    """For each own row: whether its actor has a watched event at most the window away."""
    return _own_distances(arrival, actor, own, watched) <= window


def _own_distances(seen: IntArray, actor: IntArray, own: BoolArray, watched: BoolArray) -> IntArray:
    """For each own row: how far its actor's nearest watched event is; as far as can be without one.

    One number that sorts by actor, then by time, finds the two candidates of each row.
    """
    times, when = np.unique(seen, return_inverse=True)
    key = np.unique(actor, return_inverse=True)[1] * (len(times) + 1) + when
    rows = np.flatnonzero(watched)[np.argsort(key[watched], kind="stable")]
    place = np.searchsorted(key[rows], key[own])
    nearest = np.full(len(place), _FAR)
    for side in (place - 1, place):
        known = np.flatnonzero((side >= 0) & (side < len(rows)))
        here, there = np.flatnonzero(own)[known], rows[side[known]]
        same = actor[here] == actor[there]
        apart = np.abs(seen[here] - seen[there])[same]
        nearest[known[same]] = np.minimum(nearest[known[same]], apart)
    return nearest


def _distances(times: IntArray, pool: IntArray) -> IntArray:
    """How far the nearest of a sorted pool is from each time; as far as can be where there is none."""
    place = np.searchsorted(pool, times)
    nearest = np.full(len(times), _FAR)
    for side in (place - 1, place):
        known = (side >= 0) & (side < len(pool))
        nearest[known] = np.minimum(nearest[known], np.abs(times[known] - pool[side[known]]))
    return nearest


def _check(
    columns: Sequence[IntArray | BoolArray], target: IntArray, own: BoolArray, watched: BoolArray
) -> None:
    sizes = {len(column) for column in (*columns, target, own, watched)}
    if len(sizes) > 1:
        raise BadInput(f"the columns must have the same number of rows, not {sorted(sizes)}")
    if both := len(np.intersect1d(target[own], target[watched])):
        raise BadInput(f"{both} targets are both the observer's own and watched", "mark each as one")


def _check_lengths(*lengths: int) -> None:
    if min(lengths) < 0:
        raise BadInput(f"a window, gap or cutoff must be at least 0, not {min(lengths)} microseconds")


@dataclass(frozen=True)
class _Nearest(Attack):
    name: str
    share: Fraction  # of the targets, which are watched
    seeks = "batched events"

    by_parts = "events"

    def score(self, observed: Observed, cutoffs: Sequence[int]) -> list[Score]:
        own = np.ones(len(observed.seen), dtype=np.bool_)
        return self._scores(observed.practice.policy, cutoffs, self.tally_events(observed, own, cutoffs))

    def tally_events(self, observed: Observed, own: BoolArray, cutoffs: Sequence[int]) -> PairTally:
        table, policy = observed.truth.table, observed.practice.policy
        watched = _lots(table.target) < float(self.share)
        mine, window = own & ~watched, observed.truth.window
        columns = (table.time, table.actor, table.target)
        scores = nearest_test(
            observed.seen, *columns, own=mine, watched=watched, window_us=window, cutoffs_us=cutoffs
        )
        close, rest = 0, 0
        if _is_bounded(policy):
            labels = label(policy, table.history).batched if observed.labels is None else observed.labels
            lengths = (window, self.looks(observed.practice))
            close, rest = _mass((table.time, table.actor), labels, mine, watched, lengths)
        counts = {name: [vars(score.counts)[name] for score in scores] for name in _COUNTS}
        counts["persons"] = [score.persons or 0 for score in scores]
        return {**counts, "close": [close] * len(scores), "rest": [rest] * len(scores)}

    def scores_of(self, claimed: Claiming) -> list[Score]:
        return self._scores(claimed.practice.policy, claimed.cutoffs, claimed.counts)

    def looks(self, practice: Practice) -> int:
        """As far as its bound does: the gap of the policy."""
        policy = practice.policy
        if not _is_bounded(policy):
            return 0
        return int(policy.start_ticks(policy.gap) * policy.tick * MICROSECONDS)

    @staticmethod
    def _scores(policy: Policy | None, cutoffs: Sequence[int], counts: PairTally) -> list[Score]:
        scores = [
            Score(
                cutoff=cutoff,
                counts=Counts(**{name: counts[name][place] for name in _COUNTS}),
                persons=counts["persons"][place],
            )
            for place, cutoff in enumerate(cutoffs)
        ]
        if not _is_bounded(policy):
            return scores
        close, rest = counts["close"][0], counts["rest"][0]
        mass = Fraction(close, rest) if rest else Fraction(0)
        bounds = [nearest_bound(score.counts, policy.epsilon, mass) for score in scores]
        return [replace(score, power_bound=bound) for score, bound in zip(scores, bounds, strict=True)]


def _is_bounded(policy: Policy | None) -> TypeGuard[Policy]:
    """The bound is about one gap, and no chance of failing."""
    return policy is not None and not policy.delta and len(policy.gaps) == 1


def _lots(
    targets: "np.ndarray[tuple[int], np.dtype[np.int64]]",
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """A number in 0..1 for each target, fixed by its name: which are watched depends on nothing else."""
    mixed = (targets.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xD1342543DE82EF95)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    lots: np.ndarray[tuple[int], np.dtype[np.float64]] = (mixed >> np.uint64(11)) / float(1 << 53)
    return lots


def _make(parameter: str) -> Attack:
    share = parse_number(parameter, "the share of watched targets") if parameter else _HALF
    if not 0 < share < 1:
        raise BadInput(f"the share of watched targets must lie between 0 and 1, not {parameter}")
    return _Nearest(f"nearest:{parameter}" if parameter else "nearest", share)


NEAREST = AttackKind(
    name="nearest",
    what="tests whether an event is batched with the nearest one on watched targets",
    make=_make,
    examples=("nearest", "nearest:0.1"),
)
