"""Bounds: what a promise is worth to an observer, and what nobody can promise."""

from fractions import Fraction
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.calibrate import posterior_batched, posterior_unbatched, power_bound, two_sided_bound
from tarry.core.errors import BadInput
from tarry.core.exact import exceeds_exp

SAME, DIFFERENT = Fraction("0.301"), Fraction("0.0066")
RATES = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100)
EPSILONS = st.fractions(0, 8, max_denominator=100)


def test_the_posterior_of_the_paper_is_83_5_percent():
    """With ten suspects, two comments close together are one person's with 83.5 percent."""
    assert round(100 * posterior_batched(SAME, DIFFERENT, 10), 1) == Fraction("83.5")


@given(RATES, RATES, st.integers(2, 50))
def test_posteriors_are_bayes_with_equal_priors(same, different, suspects):
    """Both posteriors are the share of one suspect among all, weighed by what was seen."""
    prior = Fraction(1, suspects)
    together = [prior * rate for rate in (same, *[different] * (suspects - 1))]
    apart = [prior * (1 - rate) for rate in (same, *[different] * (suspects - 1))]

    assert posterior_batched(same, different, suspects) == together[0] / sum(together)
    assert posterior_unbatched(same, different, suspects) == apart[1] / sum(apart)


def test_a_single_suspect_is_certain():
    """Who is the only candidate is named with certainty."""
    assert posterior_batched(SAME, DIFFERENT, 1) == 1


@pytest.mark.parametrize(
    ("same", "different", "suspects", "shown"),
    [
        (Fraction(0), DIFFERENT, 10, "at most 1, not 0"),
        (Fraction(-1), DIFFERENT, 10, "at most 1, not -1"),
        (Fraction(3, 2), DIFFERENT, 10, "at most 1, not 1.5"),
        (SAME, Fraction(1), 10, "below 1, not 1"),
        (SAME, Fraction(-1), 10, "below 1, not -1"),
        (SAME, DIFFERENT, 0, "the number of suspects must be at least [12], not 0"),
    ],
)
@pytest.mark.parametrize("posterior", [posterior_batched, posterior_unbatched])
def test_impossible_rates_are_refused(posterior, same, different, suspects, shown):
    """A rate outside 0..1 or a crowd of nobody gets one sentence."""
    with pytest.raises(BadInput, match=f"{shown}$"):
        posterior(same, different, suspects)


def test_another_suspect_needs_at_least_two():
    """With one suspect there is no likeliest other one."""
    with pytest.raises(BadInput, match="the number of suspects must be at least 2, not 1"):
        posterior_unbatched(SAME, DIFFERENT, 1)


@given(EPSILONS, RATES, RATES, st.integers(0, 4))
def test_the_power_bound_is_its_formula_rounded_up(epsilon, mass, type_one, flips):
    """Power is at most e^((epsilon/2)(1 + flips)) * type-I / P0, never told too low, and at most 1."""
    bound = power_bound(epsilon, mass, type_one, flips=flips)
    exponent = epsilon * (1 + flips) / 2
    if bound == 1:
        assert not exceeds_exp(mass / type_one * Fraction(10**9 - 1, 10**9), exponent)
    else:
        assert exponent == 0 or exceeds_exp(bound * mass / type_one, exponent)
        assert not exceeds_exp(bound * mass / type_one * Fraction(10**9 - 1, 10**9), exponent)


def test_the_power_bound_of_a_pair():
    """At epsilon 1 and half the mass, one percent of false alarms buys at most 5.44 percent of power."""
    bound = power_bound(Fraction(1), Fraction(1, 2), Fraction(1, 100))

    assert float(bound) == pytest.approx(exp(1) / 0.5 * 0.01, rel=1e-12)


@pytest.mark.parametrize(
    ("mass", "type_one", "what"),
    [
        (Fraction(0), Fraction(1, 2), "P0 must be above 0 and at most 1, not 0"),
        (Fraction(3, 2), Fraction(1, 2), "P0 must be above 0 and at most 1, not 1.5"),
        (Fraction(1), Fraction(-1, 2), "a type-I error must be at least 0 and at most 1, not -0.5"),
        (Fraction(1), Fraction(2), "a type-I error must be at least 0 and at most 1, not 2"),
    ],
)
def test_impossible_tests_are_refused(mass, type_one, what):
    """Chances outside 0..1 get one sentence."""
    with pytest.raises(BadInput) as caught:
        power_bound(Fraction(1), mass, type_one)

    assert str(caught.value) == what


@pytest.mark.parametrize(
    ("gaps", "value"), list(enumerate(["0.0100", "0.0372", "0.1111", "0.3119", "0.858"], start=1))
)
def test_the_corrected_cap_at_epsilon_1_and_delta_1_percent(gaps, value):
    """The undirected cap on a release within j gaps has the values of the corrected theorem."""
    bound = two_sided_bound(Fraction(1), Fraction(1, 100), gaps, directed=False)

    assert f"{float(bound):.{len(value) - 2}f}" == value


@given(st.fractions(0, 1, max_denominator=1000), st.integers(0, 100))
def test_at_epsilon_0_the_bound_is_the_printed_line(delta, gaps):
    """Only without epsilon is the bound 2 j delta, as the paper prints it for all."""
    assert two_sided_bound(Fraction(0), delta, gaps) == min(Fraction(1), 2 * gaps * delta)


@given(EPSILONS, st.integers(0, 50))
def test_with_delta_0_nothing_is_ever_released(epsilon, gaps):
    """Pure two-sided privacy is impossible: no release within any number of gaps."""
    assert two_sided_bound(epsilon, Fraction(0), gaps) == 0


@given(EPSILONS.filter(bool), st.fractions(Fraction(1, 10**6), 1, max_denominator=10**6), st.integers(1, 8))
def test_the_bound_is_a_geometric_sum(epsilon, delta, gaps):
    """Each step along the chain of neighbours multiplies what went before, two steps a gap."""
    step = exp(epsilon)
    closed = float(delta) * (step ** (2 * gaps) - 1) / (step - 1)

    assert float(two_sided_bound(epsilon, delta, gaps)) == pytest.approx(min(1.0, closed), rel=1e-9)
    assert two_sided_bound(epsilon, delta, 2 * gaps, directed=False) == two_sided_bound(
        epsilon, delta, gaps
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "gaps", "sentence"),
    [
        (Fraction(-1), Fraction(1, 2), 1, "epsilon must be at least 0, not -1"),
        (Fraction(1), Fraction(2), 1, "delta must be at least 0 and at most 1, not 2"),
        (Fraction(1), Fraction(-1), 1, "delta must be at least 0 and at most 1, not -1"),
        (Fraction(1), Fraction(1, 2), -1, "the number of gaps must be at least 0, not -1"),
    ],
)
def test_impossible_privacy_is_refused(epsilon, delta, gaps, sentence):
    """Negative numbers, and a delta above 1, get one sentence."""
    with pytest.raises(BadInput, match=sentence):
        two_sided_bound(epsilon, delta, gaps)
