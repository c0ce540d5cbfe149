"""Bounds from counted hits hold at the level that they state, and what samples can see is what they see."""

from bisect import bisect_left
from fractions import Fraction
from math import exp, inf, isclose

import pytest
from scipy.stats import beta, binom

from tarry.core.errors import BadInput
from tarry.study.attest import sight
from tarry.study.attest.bounds import bounds_of, detectable, lower_bound, upper_bound

COUNTS = [(hits, n) for n in (1, 10, 1000, 1_000_000) for hits in sorted({0, 1, n // 3, n - 1, n})]
#: Excess over a pair's epsilon, 90 % power at 95 % confidence, by 10^4, 10^5 and 10^6 fresh samples.
SIGHT = {0.5: (0.027, 0.008, 0.003), 1: (0.044, 0.014, 0.004), 2: (0.085, 0.026, 0.008)}


@pytest.mark.parametrize(("hits", "samples"), COUNTS)
@pytest.mark.parametrize("level", [0.2, 0.025, 1e-4])
def test_bounds_are_those_of_clopper_and_pearson_and_never_inside_them(hits, samples, level):
    low = beta.ppf(level, hits, samples - hits + 1) if hits else 0.0
    high = beta.ppf(1 - level, hits + 1, samples - hits) if hits < samples else 1.0

    assert lower_bound(hits, samples, level) <= low
    assert isclose(lower_bound(hits, samples, level), low, rel_tol=1e-6, abs_tol=1e-12)
    assert high <= upper_bound(hits, samples, level)
    assert isclose(upper_bound(hits, samples, level), high, rel_tol=1e-6, abs_tol=1e-12)


@pytest.mark.parametrize("chance", [0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("level", [0.3, 0.05])
def test_a_bound_is_wrong_no_more_often_than_its_level(chance, level):
    """Every number of hits counts with its exact chance."""
    wrong = sum(binom.pmf(k, 50, chance) for k in range(51) if lower_bound(k, 50, level) > chance)

    assert wrong <= level
    assert any(lower_bound(k, 50, level) > chance for k in range(51))


def test_both_chances_are_bounded_at_once():
    found = bounds_of(hits=(900, 300), samples=1000, level=0.05)

    assert found.least == lower_bound(900, 1000, 0.025)
    assert found.most == upper_bound(300, 1000, 0.025)
    assert isclose(exp(found.epsilon(Fraction(0))), found.least / found.most)


def test_a_promise_is_broken_where_its_epsilon_and_delta_are_too_small():
    found = bounds_of(hits=(900, 300), samples=1000, level=0.05)

    assert found.exceeds(Fraction(9, 10), Fraction(0))
    assert not found.exceeds(Fraction(11, 10), Fraction(0))
    assert not found.exceeds(Fraction(9, 10), found.delta(Fraction(9, 10)) + Fraction(1, 100))
    assert found.delta(Fraction(2)) == 0


def test_what_is_never_seen_says_nothing():
    found = bounds_of(hits=(0, 5), samples=10, level=0.05)

    assert found.epsilon(Fraction(0)) == -inf
    assert not found.exceeds(Fraction(0), Fraction(0))


@pytest.mark.parametrize("epsilon", SIGHT)
def test_what_can_be_seen_is_what_the_table_says(epsilon):
    assert tuple(round(excess, 3) for excess in sight(epsilon).values()) == SIGHT[epsilon]


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_such_an_excess_is_found_nine_times_in_ten(epsilon):
    """The chance of so few hits in the other story that the promise is broken, exactly."""
    samples, level = 2000, 0.05
    chance = exp(-epsilon - detectable(epsilon, samples, level))

    def holds(hits):
        found = bounds_of(hits=(samples, hits), samples=samples, level=level)
        return not found.exceeds(Fraction(epsilon), Fraction(0))

    first = bisect_left(range(samples), x=True, key=holds)
    assert binom.cdf(first - 1, samples, chance) == pytest.approx(0.9, abs=1e-6)


def test_a_few_samples_see_nothing():
    assert detectable(2, 10) == inf


def test_hits_beyond_the_samples_are_refused():
    with pytest.raises(BadInput, match="at most 10 hits, not 11"):
        lower_bound(11, 10, 0.05)
