"""The plan: delays from arrival to release, hold included; the frontier: what can be traded."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from tarry.core.plan import WEIGHTS, frontier, plan
from tarry.core.policy import Policy


@pytest.mark.parametrize(
    ("epsilon", "weight", "end"),
    [("1", "1", 763), ("0.5", "1", 1357), ("2", "0.25", 517), ("0.5", "0", 1357)],
)
def test_the_support_ends_where_the_theory_says(epsilon, weight, end):
    """A gap of 300 ticks without a window has the ends that were computed by hand."""
    costs = plan(Policy(epsilon=epsilon, gap="300s", window="0s", weight=weight))

    assert costs.support_end_ticks == end
    assert (costs.batched.minimum, costs.batched.maximum) == (300, end - 1)
    assert (costs.unbatched.minimum, costs.unbatched.maximum) == (0, end - 1)


def test_delays_are_those_of_the_laws_and_the_hold():
    """Every figure is the law's own, moved by the hold and told in seconds."""
    policy = Policy(epsilon="2", gap="11m", window="5m", tick="10s", weight="0.25")
    costs, pair = plan(policy), policy.mechanism().pair
    for delays, law in ((costs.batched, pair.batched), (costs.unbatched, pair.unbatched)):
        assert delays.minimum == 300 + 10 * law.minimum
        assert delays.mean == 300 + 10 * law.mean
        assert delays.median == 300 + 10 * law.quantile(Fraction(1, 2))
        assert delays.maximum == 300 + 10 * law.maximum
    assert (costs.start_ticks, costs.hold_ticks, costs.eta) == (66 + 30, 30, pair.eta)


def test_the_middle_of_the_batched_law():
    """A uniform law on 300..762 has its mean and its median in the middle."""
    costs = plan(Policy(epsilon="1", gap="300s", window="0s", weight="1"))

    assert costs.batched.mean == costs.batched.median == 531


@pytest.mark.parametrize("labels", ["declared", "follower", "simultaneous"])
def test_only_held_labels_hold(labels):
    """Where the label is known at once an unbatched event may leave at once."""
    costs = plan(Policy(epsilon="2", gap="11m", labels=labels))

    assert (costs.hold_ticks, costs.unbatched.minimum) == (0, 0)


@pytest.mark.parametrize("law", ["exponential", "staircase"])
def test_a_law_without_an_end_has_no_maximum(law):
    """Endless laws have no longest delay and no end of support, but a mean and a median."""
    costs = plan(Policy(epsilon="1", gap="300s", window="0s", law=law))

    assert costs.support_end_ticks is costs.batched.maximum is costs.unbatched.maximum is None
    assert costs.batched.mean == 300 + costs.unbatched.mean
    assert costs.batched.median >= 300


def test_a_label_free_law_delays_everybody_alike():
    """Without labels both kinds of event have one plan."""
    costs = plan(Policy(epsilon="1", gap="20s", labels="none", law="label-free", delta="0.01"))

    assert costs.batched == costs.unbatched
    assert costs.eta is None


@pytest.mark.parametrize("weight", [Fraction(0), Fraction(1, 4), Fraction(1)])
def test_the_weighted_mean_weighs_batched_delay(weight):
    """Weight 1 counts batched events alone, weight 0 unbatched ones alone."""
    costs = plan(Policy(epsilon="2", gap="300s", window="0s"))
    batched, unbatched = costs.batched.mean, costs.unbatched.mean

    assert costs.mean(weight) == unbatched + weight * (batched - unbatched)


def test_another_gap_has_another_plan():
    """The plan of a gap of its own is the plan of a policy with that gap for all."""
    policy = Policy(epsilon="1", gap="11m", track_gaps={"slow": "1h"})

    assert plan(policy, Fraction(3600)) == plan(Policy(epsilon="1", gap="1h"))
    assert plan(policy) == plan(Policy(epsilon="1", gap="11m"))


CONSISTENT = {
    "654.5s": [("0.1", 170.1, 331.2), ("0.5", 42.9, 76.9), ("1", 27.2, 45.4), ("2", 19.6, 30.2)],
    "1951.9s": [("0.1", 394.5, 774.6), ("0.5", 94.5, 174.7), ("1", 57.4, 100.4), ("2", 39.4, 64.4)],
    "4712.4s": [("0.1", 871.9, 1717.9), ("0.5", 204.3, 382.7), ("1", 121.6, 217.3), ("2", 81.5, 137.2)],
}


@pytest.mark.parametrize(
    ("gap", "epsilon", "mean", "longest"), [(gap, *row) for gap, rows in CONSISTENT.items() for row in rows]
)
def test_the_paper_table_made_consistent(gap, epsilon, mean, longest):
    """With the window held and in the support, the paper's table reads as the errata say, in minutes."""
    costs = plan(Policy(epsilon=epsilon, gap=gap, window="5m", law="uniform", weight="0.25", tick="100ms"))

    assert float(costs.mean(Fraction(1, 4)) / 60) == pytest.approx(mean, abs=0.06)
    assert float(costs.batched.maximum / 60) == pytest.approx(longest, abs=0.06)
    declared = plan(
        Policy(epsilon=epsilon, gap=gap, window="5m", law="uniform", labels="declared", tick="100ms")
    )
    assert declared.batched.maximum == costs.batched.maximum - 300


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
