"""The recommendation: policies learned on a part of a history and measured on the rest, several times."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from statistics import fmean
from typing import Protocol

import numpy as np

from tarry.core.calibrate import LearnedGap
from tarry.core.entropy import Seeded
from tarry.core.errors import NotPossible
from tarry.core.exact import Duration, Number, parse_duration
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.study.advice import HELPS, Advice, Mix
from tarry.study.baselines.mixes import ThresholdMix
from tarry.study.batching import people_around
from tarry.study.busy import check_crowds
from tarry.study.learning import PERCENTILES, candidates, splits
from tarry.study.limits import AdviceLimits
from tarry.study.pairs import near
from tarry.study.person import right_interval, yardsticks
from tarry.study.practice import MICROSECONDS, Observer, Practice, Shown
from tarry.study.question import EPSILONS, Question
from tarry.study.replay import Replay, replay
from tarry.study.runs import AttackRun, Cost, Progress, run_attacks
from tarry.study.score import average_precision, precision_at
from tarry.study.table import EventTable
from tarry.study.tried import Trial, TriedPolicy, choose

__all__ = ["Learned", "SplitMeasures", "Trying", "advise", "asked_of", "learned_of", "recommended"]

_DOUBLINGS = 17  # of the cutoffs, at least: up to 54 h
Key = tuple[Fraction, int]  # epsilon, percentile
#: A policy of one split is the same as one of another if both have the same epsilon and percentile.
Learned = Mapping[Key, tuple[Replay, LearnedGap]]


class Trying(Protocol):
    """One split of a history: how the policies that were learned on its first part did on its second.

    A whole table is one (`advise`); so are parts of a history that no process holds.

    >>> hasattr(Trying, "measured")
    True
    """

    @property
    def learned(self) -> "Learned":
        """The policies, by epsilon and percentile."""
        ...

    @property
    def learned_on(self) -> int:
        """Events of the first part."""
        ...

    def measured(self, question: Question, progress: Progress | None) -> "SplitMeasures":
        """What the question's practices did on the second part."""
        ...

    def late(self, practice: Replay, seed: int, deadline: int) -> int:
        """Acts before the deadline that appear after it, in the first draw."""
        ...

    def interval(self, watcher: Observer, cutoff: int) -> tuple[float, float] | None:
        """Of the share of right claims with nothing done, over samples of people."""
        ...

    def around(self, span: int) -> int:
        """People active around a typical act, in a stretch of so many microseconds."""
        ...

    def mix(self, question: Question, best: TriedPolicy) -> Mix | None:
        """A mix that delays as much as a policy, and what it does; None where none can be tried."""
        ...


@dataclass(frozen=True, kw_only=True)
class SplitMeasures:
    """What came of practices on one part.

    >>> SplitMeasures(events=2, actors=1, linked_pairs=0, runs=(), costs=(), references={}).events
    2
    """

    events: int
    actors: int
    linked_pairs: int
    runs: Sequence[AttackRun]
    costs: Sequence[Cost]
    references: Mapping[str, float | None]  # by practice: acts a little further apart than a batch


def learned_of(policies: Sequence[tuple[Policy, int, LearnedGap]]) -> Learned:
    """Learned policies by epsilon and percentile, as practices.

    >>> learned_of([])
    {}
    """
    return {(policy.epsilon, rank): (replay(policy), gap) for policy, rank, gap in policies}


@dataclass(frozen=True, kw_only=True)
class _TableSplit:
    """A split of a table."""

    early: EventTable
    late_part: EventTable
    learned: Learned

    @property
    def learned_on(self) -> int:
        return len(self.early)

    def measured(self, question: Question, progress: Progress | None) -> SplitMeasures:
        table, practices = self.late_part, question.practices
        found = run_attacks(table, question, progress, search=False)
        return SplitMeasures(
            events=len(table),
            actors=table.actors,
            linked_pairs=found.truth.linked_pairs,
            runs=found.runs,
            costs=found.costs,
            references={practice.name: _reference(table, question, practice) for practice in practices},
        )

    def late(self, practice: Replay, seed: int, deadline: int) -> int:
        table = self.late_part
        shown = practice.show(table.history, Seeded(seed, 0))
        return int(((table.time <= deadline) & (shown.release > deadline)).sum())

    def interval(self, watcher: Observer, cutoff: int) -> tuple[float, float] | None:
        table = self.late_part
        return right_interval(table, watcher.see(Shown(release=table.time, printed=table.time)), cutoff)

    def around(self, span: int) -> int:
        return people_around(self.late_part, span)

    def mix(self, question: Question, best: TriedPolicy) -> Mix:
        mix = _as_slow(self.late_part, best.mean_s)
        asked = replace(question, practices=[mix], draws=1)
        measured = run_attacks(self.late_part, asked, search=False)
        right = measured.runs[0].people.right or 0.0
        return Mix(
            name=mix.name,
            right_person=right,
            mean_s=measured.costs[0].mean_s,
            as_well=right <= max(best.trials[0].rights),
        )


def _reference(table: EventTable, question: Question, practice: Practice) -> float | None:
    gap = question.gap if practice.policy is None else practice.policy.gap
    return yardsticks(table, question.window, question.window + int(gap * MICROSECONDS)).reference.share


def advise(
    table: EventTable,
    *,
    window: Duration = "5m",
    tick: Duration = "1s",
    epsilons: Sequence[Number] = EPSILONS,
    percentiles: Sequence[int] = PERCENTILES,
    share: Fraction = Fraction(1, 4),
    watcher: Observer | str = "notified",
    seed: int = 0,
    draws: int = 3,
    limits: AdviceLimits | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Learn policies on a part of a history, measure them on what came after, and recommend one.

    That is done on several splits, with several draws on each. The value of a policy is the share of
    right claims that it removes, less a price for each doubling of the mean delay. Policies whose values
    are not told apart are a tie, and of a tie the strongest promise is taken. How often claims are
    right depends on how much else happens: somebody who knows where to look is right more often,
    before and after.

    >>> from tarry.study.synth import synthesize
    >>> from tarry.study.synth_recipes import RECIPES
    >>> from tarry.study.table import event_table
    >>> made = synthesize(RECIPES["forum"], seed=1)
    >>> table = event_table(actor=made.actor, target=made.target, time=made.time)
    >>> advise(table, epsilons=["1"]).best.policy.epsilon
    Fraction(1, 1)
    """
    reach = int(parse_duration(window, "the window") * MICROSECONDS)
    looks = 2 * _DOUBLINGS * len(epsilons) * len(percentiles) * draws
    check_crowds(near(table.actor, table.target, table.time, reach), looks, table.actor_rank)

    def tried(early: EventTable, late: EventTable) -> Trying:
        learned = candidates(early, window=window, tick=tick, epsilons=epsilons, percentiles=percentiles)
        return _TableSplit(early=early, late_part=late, learned=learned_of(learned))

    return recommended(
        [partial(tried, early, late) for early, late in splits(table, share)],
        asked_of(window=window, watcher=watcher, seed=seed, draws=draws),
        AdviceLimits() if limits is None else limits,
        progress,
    )


def asked_of(*, window: Duration, watcher: Observer | str, seed: int, draws: int) -> Question:
    """The question that all practices are tried with.

    >>> asked_of(window="5m", watcher="archive", seed=1, draws=3).draws
    3
    """
    return Question(
        practices=[],
        observers=[watcher],
        window=int(parse_duration(window, "the window") * MICROSECONDS),
        stretch=False,
        seed=seed,
        draws=draws,
        different=False,
    )


def recommended(
    splits: Sequence[Callable[[], Trying]],
    asked: Question,
    limits: AdviceLimits,
    progress: Progress | None = None,
) -> Advice:
    """The recommendation, from what was tried on some splits of a history; the first is what counts.

    >>> from tarry.study.synth import synthesize
    >>> from tarry.study.synth_recipes import RECIPES
    >>> from tarry.study.table import event_table
    >>> made = synthesize(RECIPES["forum"], seed=1)
    >>> early, late = splits(event_table(actor=made.actor, target=made.target, time=made.time))[0]
    >>> one = _TableSplit(early=early, late_part=late, learned=learned_of(candidates(early, epsilons=[1])))
    >>> asked = asked_of(window="5m", watcher="notified", seed=0, draws=1)
    >>> recommended([lambda: one], asked, AdviceLimits()).trials
    1
    """
    parts: list[Trying] = []
    for split in splits:
        try:
            parts.append(split())
        except NotPossible:
            if not parts:  # the others only say how sure it is
                raise
    first, questions = parts[0], [_question(part, asked) for part in parts]
    measured = [
        part.measured(question, told)
        for part, question, told in zip(parts, questions, _told(questions, progress), strict=True)
    ]
    choices = [
        replace(
            _choice(measured[0], *first.learned[key]),
            percentile=key[1],
            late=None
            if limits.deadline is None
            else first.late(first.learned[key][0], asked.seed, limits.deadline),
            trials=_trials(key, parts, measured),
        )
        for key in _keys(first)
    ]
    nothing = _runs(measured[0], "nothing")[0]
    before = next(cost for cost in measured[0].costs if cost.policy == "nothing")
    advice = Advice(
        learned_on=first.learned_on,
        measured_on=measured[0].events,
        before=precision_at([score.counts for score in nothing.scores]) or 0.0,
        right_before=nothing.people.right or 0.0,
        choices=tuple(choices),
        best=None,
        limits=limits,
        reply_before_s=before.reply_s,
        linked_pairs=measured[0].linked_pairs,
        actors=measured[0].actors,
    )
    return _answered(advice, first, questions[0], nothing)


def _keys(part: Trying) -> list[Key]:
    """Of gaps that were raised to one and the same, the lowest percentile names the policy."""
    names: dict[str, Key] = {}
    for key, (practice, _) in part.learned.items():
        names.setdefault(practice.name, key)
    return list(names.values())


def _question(part: Trying, asked: Question) -> Question:
    practices = {practice.name: practice for practice, _ in part.learned.values()}
    return replace(
        asked,
        practices=["nothing", *practices.values()],  # type: ignore[list-item]  # read there
        cutoffs=_cutoffs([practice.replayed for practice in practices.values()]),
    )


def _told(questions: Sequence[Question], progress: Progress | None) -> list[Progress | None]:
    """For each part, who is told how far all of them are."""
    if progress is None:
        return [None] * len(questions)
    counts = [1 + (len(question.practices) - 1) * question.draws for question in questions]
    return [_from(sum(counts[:place]), sum(counts), progress) for place in range(len(questions))]


def _from(before: int, total: int, progress: Progress) -> Progress:
    return lambda done, _: progress(before + done, total)


def _cutoffs(policies: Sequence[Policy]) -> list[int]:
    """2, 3, 4, 6, 8, ... seconds, in microseconds: fine enough that the best one is hardly missed.

    They go beyond the window and the longest delay, so that the last finds every linked pair: a
    policy never looks good only because nobody looked far enough.
    """
    reach = max(policy.window + (plan(policy).batched.maximum or 0) for policy in policies)
    doublings = max(_DOUBLINGS, int(reach).bit_length())
    return [(second << i) * MICROSECONDS for i in range(doublings) for second in (2, 3)]


def _runs(measured: SplitMeasures, name: str) -> list[AttackRun]:
    return [run for run in measured.runs if run.policy == name]


def _choice(measured: SplitMeasures, practice: Replay, gap: LearnedGap) -> TriedPolicy:
    """What a policy did on one part: means over the draws."""
    runs = _runs(measured, practice.name)
    counts = [[score.counts for score in run.scores] for run in runs]
    costs = [cost for cost in measured.costs if cost.policy == practice.name]
    orders = [cost.reordered for cost in costs if cost.reordered is not None]
    replies = [cost.reply_s for cost in costs if cost.reply_s is not None]
    return TriedPolicy(
        policy=practice.policy,
        percentile=0,
        precision=fmean(precision_at(one) or 0.0 for one in counts),
        right_person=fmean(run.people.right or 0.0 for run in runs),
        reference=measured.references[practice.name],
        average_precision=fmean(average_precision(one) or 0.0 for one in counts),
        mean_s=fmean(cost.mean_s for cost in costs),
        longest_s=max(cost.longest_s for cost in costs),
        spent_actors=0 if costs[0].spent is None else costs[0].spent.actors,
        reordered=fmean(orders) if orders else None,
        reply_s=fmean(replies) if replies else None,
        note=gap.message,
    )


def _trials(key: Key, parts: Sequence[Trying], measured: Sequence[SplitMeasures]) -> tuple[Trial, ...]:
    """What the policy of this epsilon and percentile did on each split where claims can be right at all."""
    trials = []
    for part, found in zip(parts, measured, strict=True):
        before = _runs(found, "nothing")[0].people.right
        name = part.learned[key][0].name
        if before:
            rights = tuple(run.people.right or 0.0 for run in _runs(found, name))
            means = [cost.mean_s for cost in found.costs if cost.policy == name]
            trials.append(Trial(before=before, rights=rights, mean_s=fmean(means)))
    return tuple(trials)


def _answered(advice: Advice, part: Trying, question: Question, nothing: AttackRun) -> Advice:
    """With the answer: which policy to take, or why none."""
    if not advice.right_before or nothing.people.best is None:
        return replace(advice, answer="nothing_linked", before=0.0)
    interval = part.interval(question.observers[0], nothing.people.best.cutoff)
    advice = replace(advice, interval=interval)
    if _hardly_more(advice):
        return replace(advice, answer="do_nothing")
    kept = [choice for choice in advice.choices if advice.limits.keeps(choice)]
    if not kept:
        return replace(advice, answer="limits")
    helpful = [one for one in kept if one.removed is not None and one.removed.mean >= HELPS]
    if not helpful:
        longest = advice.nearest.longest_s if advice.nearest is not None else 0.0
        return replace(advice, answer="no_help", around=part.around(int(longest * MICROSECONDS)))
    best, tied, near = choose(helpful)
    return replace(
        advice,
        answer="take",
        best=best,
        tied=tuple(tied),
        near=tuple(near),
        mix=part.mix(question, best),
    )


def _hardly_more(advice: Advice) -> bool:
    """Whether claims are right hardly more often than of acts a little further apart than a batch.

    They may be as often for other people like these; and what delays could take away is too little to
    help, for a wide interval alone says only that little is known.
    """
    interval, reference = advice.interval, advice.choices[0].reference
    if interval is None or reference is None:
        return False
    return interval[0] <= reference and advice.right_before - reference < HELPS * advice.right_before


def _as_slow(table: EventTable, mean_s: float) -> ThresholdMix:
    """The smallest threshold with at least this mean delay, found by halving: the delay grows with it."""
    low, high = 2, max(len(table), 2)
    while low < high:
        middle = (low + high) // 2
        shown = ThresholdMix(threshold=middle).show(table.history, Seeded(0))
        if float(np.mean(shown.release - table.time)) >= mean_s * MICROSECONDS:
            high = middle
        else:
            low = middle + 1
    return ThresholdMix(threshold=low)
