"""The frontier: no point of it is worse than another in both delays, and every weight has its point."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from tarry.core.frontier import WEIGHTS, frontier
from tarry.core.plan import plan
from tarry.core.policy import Policy


def policy_of(**more):
    """A policy without a window."""
    return Policy(**{"epsilon": "3", "gap": "300s", "window": "0s", **more})


@pytest.mark.parametrize("epsilon", ["1.5", "2", "3", "5", "8"])
@pytest.mark.parametrize("labels", ["held", "follower"])
def test_batched_delay_falls_as_unbatched_delay_rises(epsilon, labels):
    """Along the frontier one delay is traded for the other, strictly: no point is dominated."""
    points = frontier(policy_of(epsilon=epsilon, labels=labels))

    assert len(points) > 1
    for one, other in pairwise(points):
        assert one.batched > other.batched
        assert one.unbatched < other.unbatched
        assert one.support_end_ticks > other.support_end_ticks


def test_the_points_share_out_all_weights():
    """Every weight tried belongs to exactly one point, in order."""
    points = frontier(policy_of())
    tried = [w for p in points for w in WEIGHTS if p.weights[0] <= w <= p.weights[1]]

    assert tried == list(WEIGHTS)
    assert (points[0].weights[0], points[-1].weights[1]) == (0, 1)


def test_a_point_is_the_plan_of_its_weights():
    """At either end of a point's weights the plan has exactly the point's delays."""
    policy = policy_of()
    for point in frontier(policy):
        for weight in point.weights:
            costs = plan(replace(policy, weight=weight))

            assert (costs.batched.mean, costs.unbatched.mean) == (point.batched, point.unbatched)
            assert (costs.eta, costs.support_end_ticks) == (point.eta, point.support_end_ticks)


def test_each_point_costs_least_at_its_own_weight():
    """At the weight that leads to it, no other point of the frontier has a smaller weighted mean."""
    points = frontier(policy_of(epsilon="4"))
    for point in points:
        weight = point.weights[0]
        costs = [weight * p.batched + (1 - weight) * p.unbatched for p in points]

        assert min(costs) == weight * point.batched + (1 - weight) * point.unbatched


@pytest.mark.parametrize("epsilon", ["0.1", "1", "1.386"])
def test_up_to_2_ln_2_there_is_nothing_to_trade(epsilon):
    """Small epsilons have a single point, that of eta 1 but for rounding to ticks."""
    (point,) = frontier(policy_of(epsilon=epsilon))

    assert point.weights == (0, 1)
    assert Fraction(99, 100) < point.eta <= 1


@pytest.mark.parametrize("law", ["uniform", "exponential", "staircase"])
def test_laws_without_an_atom_have_one_point(law):
    """Only the zero-inflated law can trade; the others have one point at any epsilon."""
    (point,) = frontier(policy_of(law=law, epsilon="5"))

    assert (point.support_end_ticks is None) == (law != "uniform")


def test_weights_may_be_chosen_in_any_order():
    """Own weights are tried from small to large, and the policy's own weight does not matter."""
    weights = [Fraction(1), Fraction(0), Fraction(1, 2)]
    points = frontier(policy_of(weight="0.9"), weights)

    assert [point.weights[0] for point in points] == sorted(weights)
    assert points == frontier(policy_of(weight="0.1"), sorted(weights))
