"""Calibration: every answer lies on the safe side, and the next cheaper one does not."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.core.calibrate import (
    EPSILON_STEP,
    gap_at_percentile,
    gap_for_crossover,
    learned_gap,
    least_epsilon,
    needed_mass,
)
from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import exceeds_exp, ticks_up
from tarry.core.plan import plan
from tarry.core.policy import Policy

GAPS = st.lists(st.integers(0, 50), min_size=1, max_size=30)
SECONDS = st.integers(0, 10**4).map(Fraction)


def policy_of(**more):
    """A policy without a window, whose epsilon is to be found."""
    return Policy(**{"epsilon": "1", "gap": "300s", "window": "0s", **more})


@given(SECONDS, SECONDS, st.integers(1, 10**7).map(lambda us: Fraction(us, 10**6)))
def test_a_learned_gap_can_be_used(measured, window, tick):
    """Above the window in whole ticks it is left alone, else raised by a tick: a policy takes either."""
    learned = learned_gap(measured, window, tick)
    usable = ticks_up(measured, tick) > ticks_up(window, tick)

    assert learned.gap == (measured if usable else window + tick)
    assert learned.measured == measured
    assert (learned.message == "") == usable
    assert Policy(epsilon="1", gap=learned.gap, window=window, tick=tick)


def test_a_raised_gap_says_both_numbers():
    """Raising a gap is never silent."""
    assert learned_gap(Fraction(300), Fraction(300), Fraction(1, 2)).message == (
        "the learned gap 5m is not above the window 5m: raised to 5m500ms"
    )
    assert learned_gap(Fraction(330), Fraction(300), Fraction(240)).message == (
        "the learned gap 5m30s is not above the window 5m in whole ticks of 4m: raised to 9m"
    )


@given(GAPS, st.fractions(0, 100, max_denominator=1000).filter(bool))
def test_a_percentile_is_the_shortest_gap_that_covers_it(gaps, percentile):
    """At least the asked share of gaps stays within the answer, and within no shorter observed gap."""
    gap = gap_at_percentile(gaps, percentile)
    covered = {g: Fraction(100 * sum(other <= g for other in gaps), len(gaps)) for g in gaps}

    assert gap == min(g for g, share in covered.items() if share >= percentile)


@pytest.mark.parametrize(
    ("gaps", "percentile", "sentence"),
    [
        ([1], 0, "percentile must be above 0 and at most 100, not 0"),
        ([1], -5, "percentile must be above 0 and at most 100, not -5"),
        ([1], 101, "percentile must be above 0 and at most 100, not 101"),
        ([1], float("nan"), "percentile must be above 0 and at most 100, not nan"),
        ([], 50, "there are no gaps to learn from: give at least one"),
    ],
)
def test_an_impossible_percentile_is_refused(gaps, percentile, sentence):
    """Percentiles outside 0..100, and nothing to learn from, get one sentence."""
    with pytest.raises(BadInput) as caught:
        gap_at_percentile(gaps, percentile)

    assert str(caught.value) == sentence


@given(st.integers(1, 1000), st.integers(1, 499))
def test_the_needed_mass_errs_upwards(thousandths, rate):
    """P0 is never below e^epsilon * rate / (1 - rate), and hardly above; beyond 1 it is refused."""
    epsilon, rate = Fraction(thousandths, 1000), Fraction(rate, 1000)
    odds = rate / (1 - rate)
    if exceeds_exp(1 / odds, epsilon):
        mass = needed_mass(epsilon, rate)

        assert exceeds_exp(mass / odds, epsilon)
        assert float(mass) == pytest.approx(exp(epsilon) * float(odds), rel=1e-12)
    else:
        with pytest.raises(NotPossible):
            needed_mass(epsilon, rate)


def test_the_paper_example_needs_more_than_all_gaps():
    """At epsilon 1.5 and a rate of 0.25 the mass would be 1.49: refused, with that number."""
    with pytest.raises(
        NotPossible, match=r"rate of 0.25 at epsilon 1.5 \(.*1\.49 times all gaps\): choose"
    ):
        needed_mass(Fraction(3, 2), Fraction(1, 4))


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 2), Fraction(-1, 4), Fraction(2)])
def test_an_impossible_rate_is_refused(rate):
    """An error crossover rate lies between 0 and a half, ends excluded."""
    with pytest.raises(BadInput, match=r"an error crossover rate must be above 0 and below 0\.5, not"):
        needed_mass(Fraction(1), rate)


@given(GAPS, st.integers(1, 500), st.integers(1, 499), st.integers(1, 10), st.booleans())
def test_a_crossover_gap_covers_the_needed_mass(gaps, thousandths, rate, tenths, knows_first):
    """The gap is the shortest that covers P0 by gaps that count; if none does, that is said."""
    epsilon, rate, unbatched = Fraction(thousandths, 1000), Fraction(rate, 1000), Fraction(tenths, 10)
    usable = unbatched / 2 if knows_first else unbatched
    covered = {g: usable * Fraction(sum(other <= g for other in gaps), len(gaps)) for g in gaps}
    enough = [g for g, mass in covered.items() if exceeds_exp(mass * (1 - rate) / rate, epsilon)]

    def find():
        return gap_for_crossover(gaps, epsilon, rate, unbatched=unbatched, knows_first=knows_first)

    if enough:
        assert find() == min(enough)
    else:
        with pytest.raises(NotPossible):
            find()


def test_a_refused_crossover_says_how_many_gaps_count():
    """When only part of the gaps count, the sentence names that part."""
    with pytest.raises(NotPossible, match=r"when only 0\.5 of the gaps count"):
        gap_for_crossover([1, 2], Fraction(8, 10), Fraction(1, 4), knows_first=True)


BUDGETED = [
    {},
    {"weight": "1"},
    {"weight": "0"},
    {"law": "uniform", "weight": "0.25"},
    {"window": "45s", "tick": "7s"},
    {"labels": "follower", "window": "60s"},
    {"cover": "bridge", "law": "staircase"},
    {"labels": "none", "law": "label-free", "delta": "0.01"},
]


def cost(policy, epsilon):
    """The weighted mean and the longest delay at an epsilon, rounding to the tick included."""
    costs = plan(replace(policy, epsilon=epsilon))
    longest = costs.batched.maximum
    return costs.mean(policy.weight) + policy.tick, None if longest is None else longest + policy.tick


@pytest.mark.parametrize("choices", BUDGETED)
@settings(max_examples=8)
@given(seconds=st.integers(650, 20_000).map(Fraction))
def test_the_mean_stays_within_its_budget(choices, seconds):
    """The found epsilon keeps the mean delay within any budget, and one step less does not."""
    policy = policy_of(**choices)
    epsilon = least_epsilon(policy, mean=seconds)

    assert cost(policy, epsilon)[0] <= seconds
    assert epsilon == EPSILON_STEP or cost(policy, epsilon - EPSILON_STEP)[0] > seconds


@pytest.mark.parametrize("choices", [c for c in BUDGETED if c.get("law") != "staircase"])
@settings(max_examples=8)
@given(seconds=st.integers(650, 20_000).map(Fraction))
def test_the_maximum_stays_within_its_budget(choices, seconds):
    """The found epsilon keeps the longest delay within any budget, and one step less does not."""
    policy = policy_of(**choices)
    epsilon = least_epsilon(policy, maximum=seconds)

    assert cost(policy, epsilon)[1] <= seconds
    assert epsilon == EPSILON_STEP or cost(policy, epsilon - EPSILON_STEP)[1] > seconds


@settings(max_examples=10)
@given(st.integers(430, 3000).map(Fraction), st.integers(430, 3000).map(Fraction))
def test_two_budgets_are_both_kept(mean, maximum):
    """With a mean and a maximum the stricter one decides."""
    policy = policy_of(weight="1")
    both = least_epsilon(policy, mean=mean, maximum=maximum)

    assert both == max(least_epsilon(policy, mean=mean), least_epsilon(policy, maximum=maximum))


@pytest.mark.parametrize("budget", [{"mean": Fraction(400)}, {"maximum": Fraction(762)}])
def test_no_smaller_epsilon_fits(budget):
    """Every epsilon below the answer, tried one by one, exceeds the budget."""
    policy = policy_of()
    found = int(least_epsilon(policy, **budget) / EPSILON_STEP)
    limits = (budget.get("mean", Fraction(10**9)), budget.get("maximum", Fraction(10**9)))

    for steps in range(1, found, 7):
        mean, longest = cost(policy, steps * EPSILON_STEP)

        assert mean > limits[0] or longest > limits[1]


def test_a_maximum_of_763_seconds_needs_an_epsilon_just_below_1():
    """The answer fits the example of the plan: 762 ticks at epsilon 1, and one to round the arrival."""
    found = least_epsilon(policy_of(weight="1"), maximum=Fraction(763))

    assert Fraction(99, 100) < found <= 1


def test_the_policys_own_epsilon_does_not_matter():
    """The answer is the same whatever epsilon the policy came with."""
    answers = {least_epsilon(policy_of(epsilon=e), maximum=Fraction(900)) for e in ("0.01", "1", "50")}

    assert len(answers) == 1


@pytest.mark.parametrize(
    ("choices", "budget", "sentence"),
    [
        ({}, {"maximum": Fraction(299)}, "no epsilon up to 100 keeps the maximum delay within 4m59s"),
        (
            {"weight": "1"},
            {"mean": Fraction(299)},
            "no epsilon up to 100 keeps the mean delay within 4m59s",
        ),
        ({"law": "exponential"}, {"maximum": Fraction(10**6)}, "the exponential law has no longest delay"),
        ({"law": "staircase"}, {"maximum": Fraction(10**6)}, "the staircase law has no longest delay"),
        (
            {"weight": "1"},
            {"mean": Fraction(10), "maximum": Fraction(20)},
            "no epsilon up to 100 keeps the mean delay within 10s and the maximum delay within 20s",
        ),
    ],
)
def test_a_budget_nobody_can_keep_is_refused(choices, budget, sentence):
    """Below the start, or with a maximum for a law without an end, there is no answer, and that is said."""
    with pytest.raises(NotPossible) as caught:
        least_epsilon(policy_of(**choices), **budget)

    assert str(caught.value).startswith(sentence)


def test_a_law_without_an_end_can_keep_a_mean():
    """Endless laws have means, and these can be budgeted."""
    policy = policy_of(law="exponential", weight="1")
    epsilon = least_epsilon(policy, mean=Fraction(900))

    assert cost(policy, epsilon)[0] <= 900 < cost(policy, epsilon - EPSILON_STEP)[0]


def test_every_gap_of_a_policy_stays_within_the_budget():
    """A track with a longer gap of its own needs a larger epsilon, and gets it."""
    policy = policy_of(track_gaps={"slow": "900s"})
    epsilon = least_epsilon(policy, maximum="1h")

    assert epsilon == least_epsilon(policy_of(gap="900s"), maximum=Fraction(3600))
    assert epsilon > least_epsilon(policy_of(), maximum="1h")


@pytest.mark.parametrize("budget", [{"mean": 400}, {"maximum": "-5m"}, {"mean": "soon"}])
def test_a_budget_is_a_duration(budget):
    """A number without a unit, a negative one or a word is refused by the name of the budget."""
    with pytest.raises(BadInput, match=f"the {next(iter(budget))}.* delay must"):
        least_epsilon(policy_of(), **budget)


@pytest.mark.parametrize("unbatched", [0, "-0.5", "1.5"])
def test_an_impossible_share_is_refused(unbatched):
    """The share of gaps that count lies above 0 and at most 1."""
    with pytest.raises(BadInput, match="the unbatched share must be above 0 and at most 1, not"):
        gap_for_crossover([1], "0.5", "0.1", unbatched=unbatched)


def test_no_budget_is_refused():
    """Without a mean or a maximum there is nothing to find."""
    with pytest.raises(BadInput, match="no delay budget given: give a mean, a maximum or both"):
        least_epsilon(policy_of())
