"""A recommendation: policies learned on the first quarter of a history, measured on the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean
from typing import Any

import numpy as np

from tarry.core.calibrate import LearnedGap, learned_gap
from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import Duration, Number, format_duration, parse_duration, parse_number
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.study.batching import measure_batching, null_gaps
from tarry.study.figures import percent, seconds
from tarry.study.person import yardsticks
from tarry.study.practice import MICROSECONDS, Observer
from tarry.study.question import EPSILONS, Question
from tarry.study.replay import Replay, replay
from tarry.study.runs import Progress, Runs, run_attacks
from tarry.study.score import average_precision, precision_at
from tarry.study.table import EventTable

__all__ = ["PERCENTILES", "Advice", "TriedPolicy", "advise", "candidates", "split"]

PERCENTILES = (25, 50, 75)
#: A policy is good enough when claims that find enough are right at most this part as often as before.
PART = 0.25
FEW_PAIRS = 100
HARDLY = 0.01
_LEAST_GAPS = 20
_DOUBLINGS = 17  # of the cutoffs, at least: up to 54 h


@dataclass(frozen=True, kw_only=True)
class TriedPolicy:
    """One policy, and what it did on the part of the history it was not learned on.

    >>> policy = Policy(epsilon="1", gap="11m")
    >>> TriedPolicy(
    ...     policy=policy,
    ...     percentile=50,
    ...     precision=0.2,
    ...     right_person=0.3,
    ...     reference=0.1,
    ...     average_precision=0.1,
    ...     mean_s=9.0,
    ...     longest_s=9.0,
    ... ).note
    ''
    """

    policy: Policy
    percentile: int  # of the gaps between different people
    precision: float  # how often claims that find a tenth of the linked pairs can be about a batch
    right_person: float  # how often such claims can be right about the person
    reference: float | None  # how often acts a little further apart than a batch are one person's anyway
    average_precision: float
    mean_s: float  # delay
    longest_s: float
    spent_actors: int = 0  # people of the measured part to whom no meaningful promise is left
    note: str = ""  # where the learned gap had to be raised


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What was tried, what it did, and which one to take.

    >>> advice = Advice(learned_on=1, measured_on=3, before=0.0, right_before=0.0, choices=(), best=None)
    >>> advice.sentence
    'Nothing to recommend: nobody in the measured part has acts that could be linked.'
    """

    learned_on: int  # events
    measured_on: int  # events
    before: float  # the precision, with nothing done
    right_before: float  # how often claims can be right about the person, with nothing done
    choices: Sequence[TriedPolicy]
    best: TriedPolicy | None  # None: nothing to protect, or nothing that helps
    linked_pairs: int = 0  # in the measured part
    actors: int = 0  # in the measured part

    def enough(self, choice: TriedPolicy) -> bool:
        """Whether claims are right at most a quarter as often as with nothing done."""
        return choice.precision <= PART * self.before

    def on_frontier(self, choice: TriedPolicy) -> bool:
        """Whether nothing, doing nothing included, hides as much and waits less, or hides more."""
        others = [(self.before, 0.0), *((other.precision, other.mean_s) for other in self.choices)]
        mine = (choice.precision, choice.mean_s)
        return not any(other != mine and other[0] <= mine[0] and other[1] <= mine[1] for other in others)

    @property
    def cautions(self) -> list[str]:
        """What one should know before one follows the recommendation."""
        cautions = []
        if 0 < self.linked_pairs < FEW_PAIRS:
            cautions.append(
                f"Only {self.linked_pairs} linked pairs are in the measured part: figures of so few say "
                "little, and another seed may recommend another policy."
            )
        if 0 < self.before < HARDLY:
            cautions.append(
                "Over the whole history hardly any claim is right as it is: so much else happens. The "
                "recommendation is for those whom somebody looks for among few."
            )
        if self.best is not None and self.best.spent_actors:
            cautions.append(
                f"Epsilon adds up: {self.best.spent_actors:,} of {self.actors:,} people in the measured "
                "part batch so often that no meaningful promise is left to them against somebody who "
                "watches throughout."
            )
        if self.best is not None and not self.enough(self.best):
            cautions.append("None of the policies tried makes claims right at most a quarter as often.")
        return cautions

    @property
    def sentence(self) -> str:
        """The recommendation in words."""
        if self.best is None:
            if not self.before:
                return "Nothing to recommend: nobody in the measured part has acts that could be linked."
            return (
                "Nothing to recommend: none of the policies that were tried makes claims right less often "
                f"than {percent(self.before)} of the time, which they are now."
            )
        best, policy = self.best, self.best.policy
        anyway = (
            "" if best.reference is None else f"; {_apart(policy)} give {percent(best.reference)} anyway"
        )
        least = "" if self.enough(best) else ", the least of those tried"
        return (
            f"Take epsilon {float(policy.epsilon):g} with a gap of {format_duration(policy.gap)}. Claims "
            f"that two acts are one person's are right up to {percent(self.right_before)} of the time now, "
            f"and {percent(best.right_person)} with it{anyway}. Claims about batches fall from "
            f"{percent(self.before)} to {percent(best.precision)}{least}. The mean delay is "
            f"{seconds(best.mean_s)}, the longest {seconds(best.longest_s)}."
        )

    def as_dict(self) -> dict[str, Any]:
        """The recommendation and what else was tried, as plain values.

        >>> Advice(
        ...     learned_on=1, measured_on=3, before=0.0, right_before=0.0, choices=(), best=None
        ... ).as_dict()["choices"]
        []
        """
        return {
            "learned_on": self.learned_on,
            "measured_on": self.measured_on,
            "precision_before": self.before,
            "right_person_before": self.right_before,
            "choices": [
                {
                    "epsilon": float(choice.policy.epsilon),
                    "gap_s": float(choice.policy.gap),
                    "percentile": choice.percentile,
                    "precision": choice.precision,
                    "right_person": choice.right_person,
                    "reference": choice.reference,
                    "average_precision": choice.average_precision,
                    "mean_s": choice.mean_s,
                    "longest_s": choice.longest_s,
                    "spent_actors": choice.spent_actors,
                    "note": choice.note,
                    "on_frontier": self.on_frontier(choice),
                    "recommended": choice is self.best,
                }
                for choice in self.choices
            ],
            "sentence": self.sentence,
            "cautions": self.cautions,
            "linked_pairs": self.linked_pairs,
        }


def _apart(policy: Policy) -> str:
    return f"acts {format_duration(policy.window)} to {format_duration(policy.window + policy.gap)} apart"


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
            f"({_LEAST_GAPS} are needed): give a longer history, or choose a gap yourself"
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
    draws: int = 1,
    progress: Progress | None = None,
) -> Advice:
    """Learn policies on the first part of a history, measure them on the rest, and recommend one.

    The one with the least mean delay among those under which claims that find at least a tenth of the
    linked pairs are right at most a quarter as often as with nothing done; if none gets there, the
    one under which they are right least often. How often they are right depends on how much else
    happens: somebody who knows where to look is right more often, before and after.

    >>> from tarry.study.synth import synthesize
    >>> from tarry.study.synth_recipes import RECIPES
    >>> from tarry.study.table import event_table
    >>> made = synthesize(RECIPES["forum"], seed=1)
    >>> table = event_table(actor=made.actor, target=made.target, time=made.time)
    >>> advise(table, epsilons=["1"]).best.policy.epsilon
    Fraction(1, 1)
    """
    early, late = split(table, share)
    learned = candidates(early, window=window, tick=tick, epsilons=epsilons, percentiles=percentiles)
    names: dict[str, tuple[Policy, int, LearnedGap]] = {}
    for policy, rank, gap in learned:  # gaps that were raised may be one: the lowest percentile names it
        names.setdefault(replay(policy).name, (policy, rank, gap))
    practices = [replay(policy, name) for name, (policy, _, _) in names.items()]
    question = Question(
        practices=["nothing", *practices],
        observers=[watcher],
        window=int(parse_duration(window, "the window") * MICROSECONDS),
        cutoffs=_cutoffs([policy for policy, _, _ in learned]),
        seed=seed,
        draws=draws,
    )
    measured = run_attacks(late, question, progress, search=False)
    before, right_before, _ = _effect(measured, "nothing")
    choices = [_choice(measured, late, practice, *names[practice.name][1:]) for practice in practices]
    enough = [choice for choice in choices if choice.precision <= PART * before < before]
    useful = enough or [choice for choice in choices if choice.precision < before]
    best = min(useful, key=lambda c: (c.mean_s,) if enough else (c.precision, c.mean_s), default=None)
    return Advice(
        learned_on=len(early),
        measured_on=len(late),
        before=before,
        right_before=right_before,
        choices=tuple(choices),
        best=best,
        linked_pairs=measured.truth.linked_pairs,
        actors=late.actors,
    )


def _cutoffs(policies: Sequence[Policy]) -> list[int]:
    """2, 3, 4, 6, 8, ... seconds, in microseconds: fine enough that the best one is hardly missed.

    They go beyond the window and the longest delay, so that the last finds every linked pair: a
    policy never looks good only because nobody looked far enough.
    """
    reach = max(policy.window + (plan(policy).batched.maximum or 0) for policy in policies)
    doublings = max(_DOUBLINGS, int(reach).bit_length())
    return [(second << i) * MICROSECONDS for i in range(doublings) for second in (2, 3)]


def _choice(measured: Runs, late: EventTable, practice: Replay, rank: int, gap: LearnedGap) -> TriedPolicy:
    precision, right, average = _effect(measured, practice.name)
    window = measured.truth.window
    costs = [cost for cost in measured.costs if cost.policy == practice.name]
    return TriedPolicy(
        policy=practice.policy,
        percentile=rank,
        precision=precision,
        right_person=right,
        reference=yardsticks(
            late, window, window + int(practice.policy.gap * MICROSECONDS)
        ).reference.share,
        average_precision=average,
        mean_s=fmean(cost.mean_s for cost in costs),
        longest_s=max(cost.longest_s for cost in costs),
        spent_actors=0 if costs[0].spent is None else costs[0].spent.actors,
        note=gap.message,
    )


def _effect(measured: Runs, name: str) -> tuple[float, float, float]:
    """Of claims that find enough: how many are about a batch, and about one person; average precision.

    Means over the draws.
    """
    runs = [run for run in measured.runs if run.policy == name]
    counts = [[score.counts for score in run.scores] for run in runs]
    return (
        fmean(precision_at(one) or 0.0 for one in counts),
        fmean(run.people.right or 0.0 for run in runs),
        fmean(average_precision(one) or 0.0 for one in counts),
    )
