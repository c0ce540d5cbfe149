"""What a policy costs: the delays it brings, from arrival to release."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby

from tarry.core.errors import require
from tarry.core.law import Law
from tarry.core.policy import Policy

__all__ = ["WEIGHTS", "DelayPlan", "Delays", "Point", "frontier", "plan"]

#: Weights from "only unbatched delay counts" to "only batched delay counts".
WEIGHTS = tuple(Fraction(i, 20) for i in range(21))


@dataclass(frozen=True, kw_only=True)
class Delays:
    """The delays of one kind of event in seconds, hold included.

    >>> plan(Policy(epsilon="1", gap="11m", law="exponential")).batched.maximum is None
    True
    """

    minimum: Fraction
    mean: Fraction
    median: Fraction
    maximum: Fraction | None  # None where a law has no end


@dataclass(frozen=True, kw_only=True)
class DelayPlan:
    """What events wait under a policy; arrivals are rounded up to the tick first.

    >>> plan(Policy(epsilon="1", gap="11m", window="5m")).start_ticks
    960
    """

    batched: Delays
    unbatched: Delays
    start_ticks: int  # G
    hold_ticks: int  # H
    support_end_ticks: int | None  # L, exclusive
    eta: Fraction | None

    def mean(self, weight: Fraction) -> Fraction:
        """The weighted mean delay."""
        return weight * self.batched.mean + (1 - weight) * self.unbatched.mean


def plan(policy: Policy, gap: Fraction | None = None) -> DelayPlan:
    """The delays of a policy, for its default gap or another of its gaps.

    >>> costs = plan(Policy(epsilon="1", gap="300s", window="0s", weight="1"))
    >>> costs.support_end_ticks, float(costs.batched.mean), float(costs.unbatched.median)
    (763, 531.0, 381.0)
    """
    mechanism = policy.mechanism(gap)
    end = mechanism.pair.batched.maximum
    return DelayPlan(
        batched=_delays(mechanism.pair.batched, policy),
        unbatched=_delays(mechanism.pair.unbatched, policy),
        start_ticks=mechanism.pair.start,
        hold_ticks=mechanism.hold,
        support_end_ticks=None if end is None else end + 1,
        eta=mechanism.pair.eta,
    )


@dataclass(frozen=True, kw_only=True)
class Point:
    """One choice on the frontier: the weights that lead to it, and its mean delays in seconds.

    >>> point = frontier(Policy(epsilon="1", gap="300s", window="0s"))[0]
    >>> point.support_end_ticks, [int(weight) for weight in point.weights]
    (763, [0, 1])
    """

    weights: tuple[Fraction, Fraction]  # the smallest and the largest weight tried that gives it
    eta: Fraction | None
    support_end_ticks: int | None
    batched: Fraction
    unbatched: Fraction


def frontier(policy: Policy, weights: Sequence[Fraction] = WEIGHTS) -> list[Point]:
    """The distinct points that the policy's law reaches over these weights, batched delay falling.

    Up to epsilon 2 ln 2 there is a single one: the law then has nothing to trade. In continuous time the
    default law is optimal among pairs with the same share for both events (`docs/theory.md`).

    >>> policy = Policy(epsilon="1", gap="300s", window="0s")
    >>> len(frontier(policy)), len(frontier(replace(policy, epsilon=Fraction(3)))) > 5
    (1, True)
    """
    require(
        policy.season is None,
        "a policy with a season has no weights to choose from",
        "use tarry frontier --season",
    )
    tried = [(weight, plan(replace(policy, weight=weight))) for weight in sorted(weights)]
    alike = groupby(tried, key=lambda one: (one[1].batched.mean, one[1].unbatched.mean))
    return [_point(list(same)) for _, same in alike]


def _point(same: Sequence[tuple[Fraction, DelayPlan]]) -> Point:
    """What neighbouring weights with the same mean delays come to."""
    (first, costs), (last, _) = same[0], same[-1]
    return Point(
        weights=(first, last),
        eta=costs.eta,
        support_end_ticks=costs.support_end_ticks,
        batched=costs.batched.mean,
        unbatched=costs.unbatched.mean,
    )


def _delays(law: Law, policy: Policy) -> Delays:
    def seconds(ticks: Fraction | int) -> Fraction:
        return (policy.hold_ticks + ticks) * policy.tick

    return Delays(
        minimum=seconds(law.minimum),
        mean=seconds(law.mean),
        median=seconds(law.quantile(Fraction(1, 2))),
        maximum=None if law.maximum is None else seconds(law.maximum),
    )
