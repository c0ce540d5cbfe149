"""The recommendation: policies learned on a part of a history and measured on the rest, several times."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import fmean

import numpy as np

from tarry.core.calibrate import LearnedGap, learned_gap
from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import Duration, Number, parse_duration, parse_number
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.study.advice import HELPS, Advice, Mix
from tarry.study.baselines.mixes import ThresholdMix
from tarry.study.batching import measure_batching, null_gaps, people_around, reply_time
from tarry.study.busy import check_crowds
from tarry.study.limits import AdviceLimits
from tarry.study.pairs import near
from tarry.study.person import right_interval, yardsticks
from tarry.study.practice import MICROSECONDS, Observer, Shown
from tarry.study.question import EPSILONS, Question
from tarry.study.replay import Replay, replay
from tarry.study.runs import AttackRun, Progress, Runs, run_attacks
from tarry.study.score import average_precision, precision_at
from tarry.study.table import EventTable
from tarry.study.tried import Trial, TriedPolicy, choose

__all__ = ["PERCENTILES", "advise", "candidates", "split", "splits"]

PERCENTILES = (25, 50, 75)
#: How often a policy is learned and measured: one history alone could be lucky.
SPLITS = 3
_LEAST_GAPS = 20
_DOUBLINGS = 17  # of the cutoffs, at least: up to 54 h
#: A policy of one split is the same as one of another if both have the same.
Key = tuple[Fraction, int]  # epsilon, percentile


def split(table: EventTable, share: Fraction = Fraction(1, 4)) -> tuple[EventTable, EventTable]:
    """The first share of the events by time, and the rest. No moment falls on both sides.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1] * 8, target=range(8), time=range(8))
    >>> [len(part) for part in split(table)]
    [2, 6]
    """
    if not 0 < share < 1:
        raise BadInput(f"the share to learn on must lie between 0 and 1, not {float(share):g}")
    ordered = np.sort(table.time)
    cut = int(ordered[int(len(ordered) * share)])
    early, late = table.keep(table.time < cut), table.keep(table.time >= cut)
    if len(early) < 2 or len(late) < 2:
        raise NotPossible(
            f"{len(table)} events are too few to learn on a part and measure on the rest: "
            "give a longer history"
        )
    return early, late


def splits(table: EventTable, share: Fraction = Fraction(1, 4)) -> list[tuple[EventTable, EventTable]]:
    """The split, and others like it later: learned on as many events, measured on all that follow.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1] * 8, target=range(8), time=range(8))
    >>> [(early.time.tolist(), len(late)) for early, late in splits(table)]
    [([0, 1], 6), ([2, 3], 4), ([4, 5], 2)]
    """
    parts = [split(table, share)]
    ordered = np.sort(table.time)
    for place in range(1, SPLITS):
        cut = share + (1 - share) * place / SPLITS
        start, middle = (int(ordered[int(len(ordered) * where)]) for where in (cut - share, cut))
        early, late = table.between(start, middle), table.keep(table.time >= middle)
        if len(early) > 1 and len(late) > 1:
            parts.append((early, late))
    return parts


def candidates(
    table: EventTable,
    *,
    window: Duration = "5m",
    tick: Duration = "1s",
    epsilons: Sequence[Number] = EPSILONS,
    percentiles: Sequence[int] = PERCENTILES,
) -> list[tuple[Policy, int, LearnedGap]]:
    """Policies learned from this table.

    Gaps are percentiles of the gaps between different people; batched delay weighs as much as there
    are batched events.

    >>> from tarry.study.synth import synthesize
    >>> from tarry.study.synth_recipes import RECIPES
    >>> made = synthesize(RECIPES["forum"], seed=1)
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=made.actor, target=made.target, time=made.time)
    >>> len(candidates(table, epsilons=["1"]))
    3
    """
    gaps = null_gaps(table)
    if len(gaps) < _LEAST_GAPS:
        raise NotPossible(
            f"{len(gaps)} gaps between different people are too few to learn from "
            f"({_LEAST_GAPS} are needed): give a longer history, leave out busy actors (--busy-limit), or "
            "choose a gap yourself"
        )
    reach, unit = parse_duration(window, "the window"), parse_duration(tick, "the tick")
    batched = measure_batching(table, int(reach * MICROSECONDS)).batched_share
    weight = Fraction(round(batched * 100), 100)  # what both kinds of delay count for here
    learned = {}
    for rank in percentiles:
        measured = int(np.quantile(gaps, rank / 100, method="inverted_cdf"))
        ticks = -(-Fraction(measured, MICROSECONDS) // unit)  # no finer than the clock it is for
        learned[rank] = learned_gap(max(ticks, 1) * unit, reach, unit)
    return [
        (
            Policy(
                epsilon=parse_number(epsilon, "epsilon"),
                gap=gap.gap,
                window=reach,
                tick=unit,
                weight=weight,
            ),
            rank,
            gap,
        )
        for epsilon in epsilons
        for rank, gap in learned.items()
    ]


@dataclass(frozen=True, kw_only=True)
class _Part:
    """One split: what was learned on its first part, and how its second part is asked."""

    early: EventTable
    late: EventTable
    learned: dict[Key, tuple[Replay, LearnedGap]]
    question: Question

    @property
    def keys(self) -> list[Key]:
        """Of gaps that were raised to one and the same, the lowest percentile names the policy."""
        names: dict[str, Key] = {}
        for key, (practice, _) in self.learned.items():
            names.setdefault(practice.name, key)
        return list(names.values())

    def measured(self, progress: Progress | None = None) -> Runs:
        return run_attacks(self.late, self.question, progress, search=False)


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
    kept = AdviceLimits() if limits is None else limits
    options = {"window": window, "tick": tick, "epsilons": epsilons, "percentiles": percentiles}
    asked = Question(
        practices=[],
        observers=[watcher],
        window=int(parse_duration(window, "the window") * MICROSECONDS),
        stretch=False,
        seed=seed,
        draws=draws,
    )
    looks = 2 * _DOUBLINGS * len(epsilons) * len(percentiles) * draws
    check_crowds(near(table.actor, table.target, table.time, asked.window), looks, table.actor_rank)
    parts: list[_Part] = []
    for early, late in splits(table, share):
        try:
            parts.append(_part(early, late, candidates(early, **options), asked))  # type: ignore[arg-type]
        except NotPossible:
            if not parts:  # the first is the one that counts; the others only say how sure it is
                raise
    first = parts[0]
    measured = [part.measured(told) for part, told in zip(parts, _told(parts, progress), strict=True)]
    choices = [
        replace(
            _choice(measured[0], first.late, *first.learned[key]),
            percentile=key[1],
            late=_late(first, key, kept.deadline),
            trials=_trials(key, parts, measured),
        )
        for key in first.keys
    ]
    nothing = _runs(measured[0], "nothing")[0]
    advice = Advice(
        learned_on=len(first.early),
        measured_on=len(first.late),
        before=precision_at([score.counts for score in nothing.scores]) or 0.0,
        right_before=nothing.people.right or 0.0,
        choices=tuple(choices),
        best=None,
        limits=kept,
        reply_before_s=reply_time(first.late, first.late.time),
        linked_pairs=measured[0].truth.linked_pairs,
        actors=first.late.actors,
    )
    return _answered(advice, first, nothing)


def _part(
    early: EventTable,
    late: EventTable,
    learned: Sequence[tuple[Policy, int, LearnedGap]],
    asked: Question,
) -> _Part:
    by_key = {(policy.epsilon, rank): (replay(policy), gap) for policy, rank, gap in learned}
    practices = {practice.name: practice for practice, _ in by_key.values()}
    question = replace(
        asked,
        practices=["nothing", *practices.values()],  # type: ignore[list-item]  # read there
        cutoffs=_cutoffs([policy for policy, _, _ in learned]),
    )
    return _Part(early=early, late=late, learned=by_key, question=question)


def _told(parts: Sequence[_Part], progress: Progress | None) -> list[Progress | None]:
    """For each part, who is told how far all of them are."""
    if progress is None:
        return [None] * len(parts)
    counts = [1 + (len(part.question.practices) - 1) * part.question.draws for part in parts]
    return [_from(sum(counts[:place]), sum(counts), progress) for place in range(len(parts))]


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


def _runs(measured: Runs, name: str) -> list[AttackRun]:
    return [run for run in measured.runs if run.policy == name]


def _choice(measured: Runs, late: EventTable, practice: Replay, gap: LearnedGap) -> TriedPolicy:
    """What a policy did on one part: means over the draws."""
    runs = _runs(measured, practice.name)
    counts = [[score.counts for score in run.scores] for run in runs]
    costs = [cost for cost in measured.costs if cost.policy == practice.name]
    orders = [cost.reordered for cost in costs if cost.reordered is not None]
    replies = [cost.reply_s for cost in costs if cost.reply_s is not None]
    window = measured.truth.window
    reach = window + int(practice.policy.gap * MICROSECONDS)
    return TriedPolicy(
        policy=practice.policy,
        percentile=0,
        precision=fmean(precision_at(one) or 0.0 for one in counts),
        right_person=fmean(run.people.right or 0.0 for run in runs),
        reference=yardsticks(late, window, reach).reference.share,
        average_precision=fmean(average_precision(one) or 0.0 for one in counts),
        mean_s=fmean(cost.mean_s for cost in costs),
        longest_s=max(cost.longest_s for cost in costs),
        spent_actors=0 if costs[0].spent is None else costs[0].spent.actors,
        reordered=fmean(orders) if orders else None,
        reply_s=fmean(replies) if replies else None,
        note=gap.message,
    )


def _trials(key: Key, parts: Sequence[_Part], measured: Sequence[Runs]) -> tuple[Trial, ...]:
    """What the policy of this epsilon and percentile did on each split where claims can be right at all."""
    trials = []
    for part, runs in zip(parts, measured, strict=True):
        before = _runs(runs, "nothing")[0].people.right
        name = part.learned[key][0].name
        if before:
            rights = tuple(run.people.right or 0.0 for run in _runs(runs, name))
            means = [cost.mean_s for cost in runs.costs if cost.policy == name]
            trials.append(Trial(before=before, rights=rights, mean_s=fmean(means)))
    return tuple(trials)


def _late(part: _Part, key: Key, deadline: int | None) -> int | None:
    """Acts before the deadline that appear after it, in the first draw."""
    if deadline is None:
        return None
    shown = part.learned[key][0].show(part.late.history, Seeded(part.question.seed, 0))
    return int(((part.late.time <= deadline) & (shown.release > deadline)).sum())


def _answered(advice: Advice, part: _Part, nothing: AttackRun) -> Advice:
    """With the answer: which policy to take, or why none."""
    if not advice.right_before or nothing.people.best is None:
        return replace(advice, answer="nothing_linked", before=0.0)
    shown = Shown(release=part.late.time, printed=part.late.time)
    watcher = part.question.observers[0]
    interval = right_interval(part.late, watcher.see(shown), nothing.people.best.cutoff)
    advice = replace(advice, interval=interval)
    if _hardly_more(advice):
        return replace(advice, answer="do_nothing")
    kept = [choice for choice in advice.choices if advice.limits.keeps(choice)]
    if not kept:
        return replace(advice, answer="limits")
    helpful = [one for one in kept if one.removed is not None and one.removed.mean >= HELPS]
    if not helpful:
        longest = advice.nearest.longest_s if advice.nearest is not None else 0.0
        around = people_around(part.late, int(longest * MICROSECONDS))
        return replace(advice, answer="no_help", around=around)
    best, tied, near = choose(helpful)
    return replace(
        advice, answer="take", best=best, tied=tuple(tied), near=tuple(near), mix=_mix(part, best)
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


def _mix(part: _Part, best: TriedPolicy) -> Mix:
    """A threshold mix that delays as much as the policy, and what it does on the same part."""
    mix = _as_slow(part.late, best.mean_s)
    question = replace(part.question, practices=[mix], draws=1)
    measured = run_attacks(part.late, question, search=False)
    right = measured.runs[0].people.right or 0.0
    return Mix(
        name=mix.name,
        right_person=right,
        mean_s=measured.costs[0].mean_s,
        as_well=right <= max(best.trials[0].rights),
    )


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
