"""Policies that were tried, what each did in every trial, and which of them to take.

A trial is one split of the history: learned on a part, measured on what came after, several draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2
from typing import Any, NamedTuple

from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.study.figures import seconds
from tarry.study.runs import Spread, spread, spread_percent

__all__ = ["NEAR", "PRICE", "Chosen", "Trial", "TriedPolicy", "choose", "price"]

#: What each doubling of the mean delay counts for: so large a part of the right claims.
PRICE = 0.1
#: A policy is nearly in a tie if its value is at most this far from it: half a doubling.
NEAR = PRICE / 2
_FROM_S = 60  # doublings count from a minute on


def price(mean_s: float) -> float:
    """What a mean delay counts for, against the share of right claims that it removes.

    >>> price(0), round(price(3600) - price(1770), 3)
    (0.0, 0.1)
    """
    return PRICE * log2(1 + mean_s / _FROM_S)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What a policy did on one part of the history: how often claims are right, draw after draw.

    >>> Trial(before=0.8, rights=(0.4, 0.2), mean_s=0).values
    (0.5, 0.75)
    """

    before: float  # with nothing done
    rights: tuple[float, ...]  # with the policy, in each draw
    mean_s: float  # delay

    @property
    def removed(self) -> tuple[float, ...]:
        """The share of right claims that it removes."""
        return tuple(1 - right / self.before for right in self.rights)

    @property
    def values(self) -> tuple[float, ...]:
        """What it removes, less the price of the delay."""
        return tuple(removed - price(self.mean_s) for removed in self.removed)


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
    ...     trials=(Trial(before=0.8, rights=(0.4, 0.2), mean_s=9.0),),
    ... ).removed
    Spread(mean=0.625, low=0.5, high=0.75)
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
    reordered: float | None = None  # share of neighbours on one target that change places
    reply_s: float | None = None  # half of the replies appear within this
    late: int | None = None  # acts before the deadline that would appear after it
    note: str = ""  # where the learned gap had to be raised
    trials: Sequence[Trial] = ()  # the first is the one of the figures above

    @property
    def name(self) -> str:
        """What sentences call it."""
        return f"epsilon {self.epsilon:g}, gap {seconds(float(self.policy.gap))}"

    @property
    def epsilon(self) -> float:
        """What it promises."""
        return float(self.policy.epsilon)

    @property
    def possible_s(self) -> float:
        """The longest delay that can be drawn; of a law without an end, the longest that was."""
        longest = plan(self.policy).batched.maximum
        return self.longest_s if longest is None else float(longest + self.policy.tick)

    @property
    def rights(self) -> Spread:
        """How often claims are right about the person, over all trials and draws."""
        return _over([trial.rights for trial in self.trials]) or _just(self.right_person)

    @property
    def right_words(self) -> str:
        """How often claims are right in the first trial, and the range over all."""
        rights = self.rights
        return spread_percent(Spread(mean=self.right_person, low=rights.low, high=rights.high))

    @property
    def excess(self) -> float | None:
        """What batching itself still gives away: how often claims are right, less the reference."""
        return None if self.reference is None else round(self.right_person - self.reference, 12)

    @property
    def removed(self) -> Spread | None:
        """The share of right claims that it removes, over all trials and draws."""
        return _over([trial.removed for trial in self.trials])

    @property
    def value(self) -> Spread | None:
        """What it removes, less the price of its delay, over all trials and draws."""
        return _over([trial.values for trial in self.trials])

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        plain = {
            name: value for name, value in vars(self).items() if name not in ("policy", "trials", "late")
        }
        ranges = {"right_range": self.rights, "removed": self.removed, "value": self.value}
        return {
            "epsilon": self.epsilon,
            "gap_s": float(self.policy.gap),
            **plain,
            "excess": self.excess,
            **({} if self.late is None else {"late": self.late}),
            **{name: None if range_ is None else vars(range_) for name, range_ in ranges.items()},
            "trials": len(self.trials),
        }


def _just(value: float) -> Spread:
    return Spread(mean=value, low=value, high=value)


def _over(trials: Sequence[Sequence[float]]) -> Spread | None:
    return spread([value for trial in trials for value in trial])


class Chosen(NamedTuple):
    """The policy to take, those that tie with it, and those that nearly do.

    >>> Chosen(None, [], []).near
    []
    """

    taken: TriedPolicy
    tied: list[TriedPolicy]
    near: list[TriedPolicy]


def choose(tried: Sequence[TriedPolicy]) -> Chosen:
    """The policy to take, and those that the measurements do not, or hardly, tell apart from it.

    A policy ties with the one of the highest value if in some trial its values over the draws reach
    those of the other. Of a tie the strongest promise is taken: the smallest epsilon, then the
    largest gap. So what is promised decides wherever what is measured does not. Other draws may find a
    stronger promise just inside the tie, and take it: so those just outside are told too.

    >>> figures = {"percentile": 50, "precision": 0.1, "right_person": 0.1, "reference": None}
    >>> figures |= {"average_precision": 0.1, "mean_s": 60.0, "longest_s": 99.0}
    >>> weak, strong = (
    ...     TriedPolicy(
    ...         policy=Policy(epsilon=epsilon, gap="11m"),
    ...         **figures,
    ...         trials=[Trial(before=0.8, rights=rights, mean_s=60.0)],
    ...     )
    ...     for epsilon, rights in (("2", (0.1, 0.2)), ("1", (0.2, 0.3)))
    ... )
    >>> choose([weak, strong]).taken.policy.epsilon, [one.name for one in choose([weak, strong]).tied]
    (Fraction(1, 1), ['epsilon 2, gap 11m'])
    """
    best = max(tried, key=lambda one: 0.0 if one.value is None else one.value.mean)
    group = [one for one in tried if one is best or _reaches(one, best)]
    taken = min(group, key=_strength)
    stronger = [one for one in tried if _strength(one) < _strength(taken)]
    near = [one for one in stronger if _reaches(one, best, NEAR)]
    return Chosen(taken, [one for one in group if one is not taken], near)


def _strength(one: TriedPolicy) -> tuple[Fraction, Fraction]:
    """Less is a stronger promise."""
    return one.policy.epsilon, -one.policy.gap


def _reaches(one: TriedPolicy, best: TriedPolicy, almost: float = 0.0) -> bool:
    return any(
        max(mine.values) + almost >= min(theirs.values)
        for mine, theirs in zip(one.trials, best.trials, strict=True)
    )
