"""The likelihood-ratio attack on a history: pairs whose difference is likelier batched than not."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from tarry.core.errors import BadInput, NotPossible
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.mechanism import Mechanism
from tarry.core.plan_release import rows_by_gap
from tarry.study import kernels
from tarry.study.attack import Attack, AttackKind, Observed
from tarry.study.attack.likelihood import MOST_TICKS, GapLaw, PairLaws, law_ticks, pair_laws
from tarry.study.batching import in_batch_gaps, null_gaps
from tarry.study.practice import MICROSECONDS, Observer, Practice
from tarry.study.replay import label, numbered
from tarry.study.score import Score

__all__ = ["LIKELIHOOD", "difference_attack"]

_LEFT = 1e-12  # of an endless law
Kind = tuple[int, int]  # the gaps of a pair's first and second event, by number


@dataclass(frozen=True, kw_only=True, eq=False)
class _View:
    """What the attack knows and sees. Events of the same gap are of one class."""

    classes: IntArray  # of each row; 0 is the policy's own gap
    seen: IntArray  # ticks
    laws: dict[Kind, PairLaws]  # all of one reach


def difference_attack(
    observed: Observed, cutoffs: Sequence[int], *, neighbours: bool = False
) -> list[Score]:
    """Score the attack of somebody who knows the policy and the history's gaps inside batches.

    Pairs that are not batched are taken to be any distance apart, as those of a whole history are;
    with `neighbours` they are as far apart as the history's neighbouring rows of different people,
    as in the test of one given pair. For each cutoff the attack claims every difference at least as
    telling as that distance is between two events of the policy's own gap; where the ratio falls
    with the distance, and all gaps are one, that is the cutoff attack. The sets are unions of
    intervals of the difference, and the counts are exact. Each linked pair is looked at once.

    >>> from tarry.core.entropy import Seeded
    >>> from tarry.core.policy import Policy
    >>> from tarry.study.attack import Truth
    >>> from tarry.study.replay import replay
    >>> from tarry.study.table import event_table
    >>> minute = 60_000_000
    >>> table = event_table(actor=[1, 1, 2], target=[1, 2, 3], time=[0, minute, 9 * minute])
    >>> practice = replay(Policy(epsilon="1", gap="11m"))
    >>> seen = practice.show(table.history, Seeded(1)).release
    >>> observed = Observed(truth=Truth(table=table, window=minute), practice=practice, seen=seen)
    >>> difference_attack(observed, [60 * minute])[0].counts.true_positives
    1
    """
    view, tick = _view(observed, neighbours=neighbours)
    thresholds = [view.laws[0, 0].threshold_at(cutoff // tick) for cutoff in cutoffs]
    linked_pairs = _linked(observed, view, thresholds)
    flagged = [_telling(observed, view, threshold) for threshold in thresholds]
    return [
        Score(cutoff=cutoff, counts=observed.truth.counts(linked, claimed), persons=persons)
        for cutoff, linked, (claimed, persons) in zip(cutoffs, linked_pairs, flagged, strict=True)
    ]


def _view(observed: Observed, *, neighbours: bool) -> tuple[_View, int]:
    if observed.practice.policy is None:
        raise BadInput(
            f"the attack likelihood needs a policy to know, and {observed.practice.name} is none",
            "give a policy",
        )
    policy, table = numbered(observed.practice.policy), observed.truth.table
    tick = int(policy.tick * MICROSECONDS)
    in_batch = _gap_law(in_batch_gaps(table, observed.truth.window), tick, "gaps inside batches")
    classes = np.zeros(len(table), dtype=np.int64)
    mechanisms = []
    for number, (gap, rows) in enumerate(rows_by_gap(policy, table.history)):
        classes[rows] = number
        mechanisms.append(policy.mechanism(gap))
    if neighbours:
        null = _gap_law(null_gaps(table), tick, "gaps between different people")
    else:
        null = _any_gap(mechanisms, in_batch)

    given = observed.labels
    lone = _lone(observed, label(policy, table.history).batched if given is None else given)

    def laws(reach: int) -> dict[Kind, PairLaws]:
        return {
            (i, j): pair_laws(
                mechanisms[i],
                None if i == j else mechanisms[j],
                null=null,
                in_batch=in_batch,
                lone=lone,
                reach=reach,
            )
            for i, j in combinations_with_replacement(range(len(mechanisms)), 2)
        }

    farthest = max(law.reach for law in laws(0).values()) if len(mechanisms) > 1 else 0
    return _View(classes=classes, seen=observed.seen // tick, laws=laws(farthest)), tick


def _linked(observed: Observed, view: _View, thresholds: Sequence[float]) -> list[int]:
    """Linked pairs whose difference is telling enough, for each threshold."""
    levels = sorted(set(thresholds))
    reached = _levels_reached(view, levels)
    totals = np.zeros(len(levels) + 1, dtype=np.int64)
    near = observed.truth.near
    kernels.add_near_levels(near.target, view.seen, near.ends, view.classes, reached, totals)
    at_least = np.cumsum(totals[::-1])[::-1]  # pairs that reach at least so many thresholds
    return [int(at_least[levels.index(threshold) + 1]) for threshold in thresholds]


def _levels_reached(
    view: _View, levels: Sequence[float]
) -> "np.ndarray[tuple[int, ...], np.dtype[np.int16]]":
    """How many thresholds each difference reaches: [class of first, class of second, difference]."""
    count = max(j for _, j in view.laws) + 1
    table = np.zeros((count, count, 2 * view.laws[0, 0].reach + 1), dtype=np.int16)
    for (i, j), law in view.laws.items():
        for level in levels:
            table[i, j] += law.above(level)
        table[j, i] = table[i, j][::-1]
    return table


def _telling(observed: Observed, view: _View, threshold: float) -> tuple[int, int]:
    """Candidate pairs whose difference is telling enough, and how many of them are one person's."""
    table = observed.truth.table
    one = np.zeros(len(table), dtype=np.int64)
    every, on_one, own, twice = (
        _inside(view, groups, threshold)
        for groups in (one, table.target_rank, table.actor_rank, table.pseudonym_rank)
    )
    return every - on_one, own - twice


def _inside(view: _View, groups: IntArray, threshold: float) -> int:
    """All pairs inside groups whose difference is telling enough."""
    away = view.seen - (view.seen.min() if len(view.seen) else 0)
    # The same moments with groups too far from each other for any difference.
    stride = int(away.max(initial=0)) + view.laws[0, 0].reach + 1
    if stride * (int(groups.max(initial=0)) + 1) >= 1 << 62:
        raise NotPossible(
            "the likelihood attack cannot keep so many targets apart over so many ticks: use a longer tick"
        )
    apart = away + groups * stride
    total = 0
    for (i, j), law in view.laws.items():
        first, second = np.sort(apart[view.classes == i]), np.sort(apart[view.classes == j])
        pairs = sum(
            int(kernels.cross_pairs(first, second, *interval))
            for interval in law.intervals_above(threshold)
        )
        total += pairs // 2 if i == j else pairs  # in one class every pair is met from both its ends
    return total


def _lone(observed: Observed, batched: BoolArray) -> tuple[float, float]:
    """How often the earlier, and the later, of a linked pair is labelled unbatched all the same.

    The policy's labels may look at another window than the truth, or back only.
    """
    near = observed.truth.near
    pairs, earlier, later = kernels.count_lone(near.target, near.ends, batched)
    return (earlier / pairs, later / pairs) if pairs else (0.0, 0.0)


def _any_gap(mechanisms: Sequence[Mechanism], in_batch: GapLaw) -> GapLaw:
    """All gaps alike, as far as two delays and a batch can reach."""
    longest = max(law_ticks(m.pair.unbatched, _LEFT) for m in mechanisms)
    if 4 * longest > MOST_TICKS:
        raise NotPossible(
            f"the likelihood attack looks at differences up to {MOST_TICKS // 4} ticks, and delays reach "
            f"{longest}: choose a longer tick"
        )
    masses = np.ones(4 * longest + in_batch.farthest + 1)
    masses[0] = 0.5  # there is one gap of 0, and two of every other size: before and after
    return GapLaw.of_masses(masses / masses.sum())


def _gap_law(gaps: IntArray, tick: int, what: str) -> GapLaw:
    if not len(gaps):
        raise NotPossible(
            f"the likelihood attack needs {what} to learn from, and this history has none: leave it out"
        )
    return GapLaw.of_sample(-(-gaps // tick))


@dataclass(frozen=True)
class _Likelihood(Attack):
    """The likelihood of a difference is that of two releases, not of a poller's looks at them."""

    name: str
    neighbours: bool
    needs = "a policy, and an observer who is notified or reads the archive"

    def applies_to(self, practice: Practice, watcher: Observer) -> bool:
        return practice.policy is not None and watcher.sees_releases

    def score(self, observed: Observed, cutoffs: Sequence[int]) -> list[Score]:
        return difference_attack(observed, cutoffs, neighbours=self.neighbours)


def _make(parameter: str) -> Attack:
    if parameter not in ("", "neighbours"):
        raise BadInput(
            f"the attack likelihood knows no {parameter!r}", "write likelihood or likelihood:neighbours"
        )
    return _Likelihood("likelihood:neighbours" if parameter else "likelihood", bool(parameter))


LIKELIHOOD = AttackKind(
    name="likelihood",
    what="knows the policy: claims pairs whose difference is likelier if batched",
    make=_make,
    examples=("likelihood", "likelihood:neighbours"),
)
