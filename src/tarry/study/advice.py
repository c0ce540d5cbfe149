"""A recommendation in figures and words: what to take and why, or why nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tarry.core.exact import format_duration
from tarry.core.policy import Policy
from tarry.study.figures import number, percent, points, seconds
from tarry.study.headline import replies
from tarry.study.limits import AdviceLimits
from tarry.study.runs import spread_percent
from tarry.study.tried import PRICE, TriedPolicy

__all__ = ["HELPS", "Advice", "Mix"]

#: Delays help if they remove at least this part of the right claims.
HELPS = 0.1
FEW_PAIRS = 100
HARDLY = 0.01
#: So few people around an act are too few to be hidden among.
FEW_PEOPLE = 20
#: Many people are beyond the promise if they are this part of all.
MANY = 0.05
_NAMED = 3
_HOURS = {"longest_s": 4 * 3600, "mean_s": 3600}  # delays of a season's law


@dataclass(frozen=True, kw_only=True)
class Mix:
    """A mix that delays as much as the recommended policy, and what it did.

    >>> Mix(name="threshold:9", right_person=0.3, mean_s=600.0, as_well=True).as_dict()["name"]
    'threshold:9'
    """

    name: str
    right_person: float
    mean_s: float
    as_well: bool  # claims are right no more often than in some draw of the policy

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return vars(self)


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
    tied: Sequence[TriedPolicy] = ()  # those that the measurements do not tell apart from the best
    near: Sequence[
        TriedPolicy
    ] = ()  # those that are nearly in that tie and promise more: other draws may take one
    answer: str = ""  # take, do_nothing, no_help, limits or nothing_linked; else what follows from the rest
    interval: tuple[float, float] | None = None  # of right_before, over samples of people
    around: int | None = None  # people active around a typical act, within the longest delay
    mix: Mix | None = None  # beside the best
    limits: AdviceLimits = field(default_factory=AdviceLimits)
    reply_before_s: float | None = None  # half of the replies appear within this, with nothing done
    linked_pairs: int = 0  # in the measured part
    actors: int = 0  # in the measured part
    further: Sequence[str] = ()  # sentences of whoever has more to say

    @property
    def kind(self) -> str:
        """Which answer it is: take, do_nothing, no_help, limits or nothing_linked."""
        if self.answer:
            return self.answer
        return "take" if self.best is not None else "no_help" if self.before else "nothing_linked"

    @property
    def right_words(self) -> str:
        """How often claims are right with nothing done, with an interval over people where it is known."""
        if self.interval is None:
            return percent(self.right_before)
        low, high = (percent(end)[:-2] for end in self.interval)
        return f"{percent(self.right_before)} ({low} to {high})"

    @property
    def trials(self) -> int:
        """On how many splits of the history policies were learned and measured."""
        return max((len(choice.trials) for choice in self.choices), default=0)

    @property
    def nearest(self) -> TriedPolicy | None:
        """The policy that removes most; None where none was tried."""
        kept = [choice for choice in self.choices if self.limits.keeps(choice)]
        return min(kept or self.choices, key=lambda choice: choice.rights.mean, default=None)

    def on_frontier(self, choice: TriedPolicy) -> bool:
        """Whether nothing, doing nothing included, hides as much and waits less, or hides more."""
        others = [(self.right_before, 0.0), *((other.right_person, other.mean_s) for other in self.choices)]
        mine = (choice.right_person, choice.mean_s)
        return not any(other != mine and other[0] <= mine[0] and other[1] <= mine[1] for other in others)

    @property
    def sentence(self) -> str:
        """The recommendation in words."""
        if self.best is not None:
            return _take(self, self.best)
        if self.kind == "nothing_linked":
            return "Nothing to recommend: nobody in the measured part has acts that could be linked."
        if self.kind == "limits":
            return self.limits.why_none(self.choices)
        if self.kind == "do_nothing":
            return _do_nothing(self)
        return _no_help(self)

    @property
    def reasons(self) -> list[str]:
        """Why this one: ties, what costs less, and what else measures as well."""
        best = self.best
        if best is None:
            return _blur(self.nearest) if self.kind == "do_nothing" else []
        reasons = [_tie(self.tied) if self.tied else _alone(self.trials)]
        if self.near:
            more = "It is nearly a tie with {}, of a stronger promise: other draws may decide otherwise."
            reasons.append(more.format(_whom(self.near)))
        cheaper = [
            choice
            for choice in self.choices
            if choice.mean_s < best.mean_s and self.on_frontier(choice) and self.limits.keeps(choice)
        ]
        if cheaper:
            next_best = max(cheaper, key=lambda choice: 0.0 if choice.value is None else choice.value.mean)
            reasons.append(
                f"For less delay there is {next_best.name}: claims are right {next_best.right_words} of "
                f"the time, for {seconds(next_best.mean_s)} on average."
            )
        if self.mix is not None and self.mix.as_well:
            reasons.append(
                f"A mix measures as well but promises nothing: with {self.mix.name} claims are right "
                f"{percent(self.mix.right_person)} of the time, for {seconds(self.mix.mean_s)} on average. "
                "What it hides depends on who else acts."
            )
        return [*reasons, *_late(best, self.measured_on)]

    @property
    def words(self) -> list[str]:
        """The recommendation, its reasons, and what to know before one follows it."""
        return [self.sentence, *self.reasons, *self.cautions]

    @property
    def cautions(self) -> list[str]:
        """What one should know before one follows the recommendation."""
        cautions, best = [], self.best
        if 0 < self.linked_pairs < FEW_PAIRS:
            cautions.append(
                f"Only {self.linked_pairs} linked pairs are in the measured part: figures of so few say "
                "little."
            )
        if 0 < self.right_before < HARDLY:
            cautions.append(
                "Over the whole history hardly any claim is right as it is: so much else happens. The "
                "recommendation is for those whom somebody looks for among few."
            )
        if best is not None and best.removed is not None and best.removed.low < HELPS:
            cautions.append(
                f"It may hardly help: of claims that are right it removes {spread_percent(best.removed)}."
            )
        if best is not None and self.trials == 1:
            cautions.append(
                "The history is too short to learn on other parts of it: all is measured on one split."
            )
        if best is not None and best.spent_actors:
            cautions.append(
                f"Epsilon adds up: {best.spent_actors:,} of {self.actors:,} people in the measured "
                "part batch so often that no meaningful promise is left to them against somebody who "
                "watches throughout."
            )
            if best.spent_actors >= MANY * self.actors and self.limits.allows(**_HOURS):
                cautions.append(
                    "A season law promises for all acts of a season at once, for delays of hours: see "
                    "tarry plan --season."
                )
        return [*cautions, *self.further]

    def as_dict(self) -> dict[str, Any]:
        """The recommendation and what else was tried, as plain values.

        >>> Advice(
        ...     learned_on=1, measured_on=3, before=0.0, right_before=0.0, choices=(), best=None
        ... ).as_dict()["choices"]
        []
        """
        tied, near = ([id(choice) for choice in group] for group in (self.tied, self.near))
        return {
            "answer": self.kind,
            "learned_on": self.learned_on,
            "measured_on": self.measured_on,
            "trials": self.trials,
            "precision_before": self.before,
            "right_person_before": self.right_before,
            "right_person_before_interval": self.interval,
            "reply_before_s": self.reply_before_s,
            "choices": [
                {
                    **choice.as_dict(),
                    "on_frontier": self.on_frontier(choice),
                    "keeps_limits": self.limits.keeps(choice),
                    "recommended": choice is self.best,
                    "tied": id(choice) in tied,
                    "nearly_tied": id(choice) in near,
                }
                for choice in self.choices
            ],
            "mix": None if self.mix is None else self.mix.as_dict(),
            "people_around": self.around,
            "sentence": self.sentence,
            "reasons": self.reasons,
            "cautions": self.cautions,
            "linked_pairs": self.linked_pairs,
        }


def _take(advice: Advice, best: TriedPolicy) -> str:
    policy = best.policy
    anyway = ""
    if best.reference is not None and best.excess is not None:
        before = points(advice.right_before - best.reference)
        anyway = (
            f"; {_apart(policy)} give {percent(best.reference)} anyway (an excess of {before} points now, "
            f"{points(best.excess)} with it)"
        )
    order = (
        ""
        if best.reordered is None
        else f" Of neighbours on one target {percent(best.reordered)} change places"
        + replies(advice.reply_before_s, best.reply_s)
        + "."
    )
    return (
        f"Take epsilon {float(policy.epsilon):g} with a gap of {format_duration(policy.gap)}. Claims "
        f"that two acts are one person's are right up to {advice.right_words} of the time now, "
        f"and {best.right_words} with it{anyway}. The mean delay is {seconds(best.mean_s)}, the longest "
        f"{seconds(best.longest_s)}.{order}"
    )


def _do_nothing(advice: Advice) -> str:
    first = advice.choices[0]
    return (
        f"Do nothing: claims that two acts are one person's are right {advice.right_words} of the time, "
        f"and {_apart(first.policy)} are one person's {percent(first.reference)} of the time anyway. "
        "Batching gives hardly anything away here."
    )


def _blur(nearest: TriedPolicy | None) -> list[str]:
    if nearest is None or nearest.removed is None or nearest.removed.low < HELPS:
        return []
    sentence = (
        f"Delays would still blur who acts on the same evening: with {nearest.name} {nearest.right_words} "
        f"of claims are right, for {seconds(nearest.mean_s)} on average."
    )
    return [sentence]


def _no_help(advice: Advice) -> str:
    best = advice.nearest
    if best is None:
        return "Nothing to recommend: no policy was tried."
    where, why = "Within these limits delays" if advice.limits.rules else "Delays", ""
    if advice.around is not None:
        few = "Too few people are active at a time: within" if advice.around <= FEW_PEOPLE else "Within"
        why = (
            f" {few} {seconds(best.longest_s)}, its longest delay, {number(advice.around)} "
            f"{'person is' if advice.around == 1 else 'people are'} active around a typical act, "
            "the one who acts included."
        )
    return (
        f"{where} do not help here: of the policies tried {best.name} removes most, and with it claims are "
        f"right {best.right_words} of the time instead of {advice.right_words}, for a mean delay "
        f"of {seconds(best.mean_s)}.{why}"
    )


def _whom(choices: Sequence[TriedPolicy]) -> str:
    names = [choice.name for choice in choices]
    return " and ".join(names) if len(names) <= _NAMED else f"{len(names)} others, such as {names[0]}"


def _tie(tied: Sequence[TriedPolicy]) -> str:
    return (
        f"It is a tie with {_whom(tied)}: the measurements do not tell them apart. So the strongest "
        "promise is taken."
    )


def _alone(trials: int) -> str:
    return (
        f"It does best in {'each of' if trials > 1 else 'the'} {trials} trial{'s' if trials > 1 else ''}, "
        f"if each doubling of the mean delay must remove another {percent(PRICE)} of the right claims."
    )


def _late(best: TriedPolicy, events: int) -> list[str]:
    if best.late is None:
        return []
    return [
        f"Of {events:,} acts measured {best.late:,} came before the deadline and would appear after it."
    ]


def _apart(policy: Policy) -> str:
    return f"acts {format_duration(policy.window)} to {format_duration(policy.window + policy.gap)} apart"
