"""The likelihood-ratio attack on a history: pairs whose difference is likelier batched than not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from tarry.core.errors import BadInput, NotPossible
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.mechanism import Mechanism
from tarry.core.plan_release import rows_by_gap
from tarry.core.policy import Policy
from tarry.study import kernels
from tarry.study.attack import (
    Attack,
    AttackKind,
    Claiming,
    Learned,
    Lessons,
    Observed,
    Occurring,
    PairTally,
)
from tarry.study.attack.likelihood import MOST_TICKS, GapLaw, PairLaws, law_ticks, pair_laws
from tarry.study.batching import batch_gaps, null_gaps
from tarry.study.practice import MICROSECONDS, Observer, Practice
from tarry.study.replay import label, numbered
from tarry.study.score import Score

__all__ = ["LIKELIHOOD", "difference_attack"]

_LEFT = 1e-12  # of an endless law
Kind = tuple[int, int]  # the gaps of a pair's first and second event, by number


@dataclass(frozen=True, kw_only=True, eq=False)
class _Known:
    """What the attack knows of a policy and a history. Events of the same gap are of one class."""

    policy: Policy  # with its gaps by number
    laws: dict[Kind, PairLaws]  # all of one reach; 0 is the policy's own gap

    @property
    def tick(self) -> int:
        """Microseconds."""
        return int(self.policy.tick * MICROSECONDS)


@dataclass(frozen=True, kw_only=True, eq=False)
class _View:
    """What the attack knows and sees."""

    classes: IntArray  # of each row
    seen: IntArray  # ticks
    laws: dict[Kind, PairLaws]


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
    name = "likelihood:neighbours" if neighbours else "likelihood"
    return _Likelihood(name, neighbours).score(observed, cutoffs)


def _taught(policy: Policy, learned: Learned) -> _Known:
    policy = numbered(policy)
    in_batch = _gap_law(learned.values["in_batch"], "gaps inside batches")
    mechanisms = [policy.mechanism(gap) for gap in policy.gaps]
    if "null" in learned.values:
        null = _gap_law(learned.values["null"], "gaps between different people")
    else:
        null = _any_gap(mechanisms, in_batch)
    pairs, earlier, later = (learned.pairs[name] for name in ("pairs", "earlier", "later"))
    lone = (earlier / pairs, later / pairs) if pairs else (0.0, 0.0)

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
    return _Known(policy=policy, laws=laws(farthest))


def _view(observed: Observed, known: _Known) -> _View:
    classes = np.zeros(len(observed.seen), dtype=np.int64)
    for number, (_, rows) in enumerate(rows_by_gap(known.policy, observed.truth.table.history)):
        classes[rows] = number
    return _View(classes=classes, seen=observed.seen // known.tick, laws=known.laws)


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


def _gap_law(gaps: Occurring, what: str) -> GapLaw:
    if not len(gaps.values):
        raise NotPossible(
            f"the likelihood attack needs {what} to learn from, and this history has none: leave it out"
        )
    return GapLaw(distances=gaps.values, masses=gaps.counts / gaps.counts.sum())


@dataclass(frozen=True)
class _Likelihood(Attack):
    """The likelihood of a difference is that of two releases, not of a poller's looks at them.

    It learns first: how far apart acts of a batch arrive, and how often labels miss one of them.
    """

    name: str
    neighbours: bool
    by_parts: str = ""
    known: _Known | None = None
    learns = True
    needs = "a policy, and an observer who is notified or reads the archive"

    def applies_to(self, practice: Practice, watcher: Observer) -> bool:
        return practice.policy is not None and watcher.sees_releases

    def score(self, observed: Observed, cutoffs: Sequence[int]) -> list[Score]:
        policy, table = _policy(observed.practice), observed.truth.table
        lessons = self.lessons(observed, np.ones(len(table), dtype=np.bool_))
        if self.neighbours:
            null = _ticks(null_gaps(table), policy)
            lessons = replace(lessons, values={**lessons.values, "null": null})
        informed = self.taught(observed.practice, lessons.learned(self.pair_lessons(observed)))
        counts = informed.tally(observed, cutoffs)
        return self.scores_of(Claiming(observed.practice, observed.truth.totals, cutoffs, counts))

    def lessons(self, observed: Observed, new: BoolArray) -> Lessons:
        """The gaps inside batches, in ticks; each belongs to its later act."""
        gaps = batch_gaps(observed.truth.table, observed.truth.window, new)
        return Lessons(values={"in_batch": _ticks(gaps, _policy(observed.practice))})

    def pair_lessons(self, observed: Observed) -> Mapping[str, int]:
        """Linked pairs, and how often the earlier, and the later, is labelled unbatched all the same.

        The policy's labels may look at another window than the truth, or back only.
        """
        near, labels = observed.truth.near, observed.labels
        if labels is None:
            labels = label(numbered(_policy(observed.practice)), observed.truth.table.history).batched
        counted = kernels.count_lone(near.target, near.ends, labels)
        return dict(zip(("pairs", "earlier", "later"), map(int, counted), strict=True))

    def taught(self, practice: Practice, learned: Learned) -> "_Likelihood":
        return replace(self, known=_taught(_policy(practice), learned))

    def reach(self, cutoffs: Sequence[int]) -> int:
        """As far as batched acts can be apart, whatever the cutoffs are; and a tick that is cut off."""
        known = self.known
        return max(cutoffs, default=0) if known is None else (known.laws[0, 0].reach + 1) * known.tick

    def tally(self, observed: Observed, cutoffs: Sequence[int]) -> PairTally:
        if self.known is None:
            raise RuntimeError("the attack likelihood counts once it has learned")
        view = _view(observed, self.known)
        thresholds = [view.laws[0, 0].threshold_at(cutoff // self.known.tick) for cutoff in cutoffs]
        flagged = [_telling(observed, view, threshold) for threshold in thresholds]
        return {
            "linked": _linked(observed, view, thresholds),
            "claimed": [claimed for claimed, _ in flagged],
            "persons": [persons for _, persons in flagged],
        }

    def scores_of(self, claimed: Claiming) -> list[Score]:
        columns = (claimed.counts[name] for name in ("linked", "claimed", "persons"))
        return [
            Score(cutoff=cutoff, counts=claimed.totals.counts(linked, flagged), persons=persons)
            for cutoff, linked, flagged, persons in zip(claimed.cutoffs, *columns, strict=True)
        ]


def _policy(practice: Practice) -> Policy:
    if practice.policy is None:
        raise BadInput(
            f"the attack likelihood needs a policy to know, and {practice.name} is none", "give a policy"
        )
    return practice.policy


def _ticks(gaps: IntArray, policy: Policy) -> IntArray:
    """Rounded up."""
    ticks: IntArray = -(-gaps // int(policy.tick * MICROSECONDS))
    return ticks


def _make(parameter: str) -> Attack:
    if parameter not in ("", "neighbours"):
        raise BadInput(
            f"the attack likelihood knows no {parameter!r}", "write likelihood or likelihood:neighbours"
        )
    if parameter:
        return _Likelihood("likelihood:neighbours", neighbours=True)
    return _Likelihood("likelihood", neighbours=False, by_parts="pairs")


LIKELIHOOD = AttackKind(
    name="likelihood",
    what="knows the policy: claims pairs whose difference is likelier if batched",
    make=_make,
    examples=("likelihood", "likelihood:neighbours"),
)
