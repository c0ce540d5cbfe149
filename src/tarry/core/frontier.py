"""The trade between the delay of batched and of unbatched events: the Pareto frontier of a policy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tarry.core.plan import plan
from tarry.core.policy import Policy

__all__ = ["WEIGHTS", "Point", "frontier"]

#: Weights from "only unbatched delay counts" to "only batched delay counts".
WEIGHTS = tuple(Fraction(i, 20) for i in range(21))


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
    points: list[Point] = []
    for weight in sorted(weights):
        costs = plan(replace(policy, weight=weight))
        point = Point(
            weights=(weight, weight),
            eta=costs.eta,
            support_end_ticks=costs.support_end_ticks,
            batched=costs.batched.mean,
            unbatched=costs.unbatched.mean,
        )
        if points and (points[-1].batched, points[-1].unbatched) == (
            point.batched,
            point.unbatched,
        ):
            points[-1] = replace(points[-1], weights=(points[-1].weights[0], weight))
        else:
            points.append(point)
    return points
