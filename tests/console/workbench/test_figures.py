"""What the workbench computes: the library's own numbers, for every choice, without taking long."""

import time
from fractions import Fraction
from itertools import product
from math import exp, isclose, log

import pytest

from tarry.console.workbench.figures import (
    FIELDS,
    LAWS,
    MULTIPLES,
    START,
    figures,
    innocent_mass,
    read_choices,
)
from tarry.console.workbench.page import _figures_json
from tarry.console.workbench.seasons import risen
from tarry.core.errors import BadInput
from tarry.core.plan import frontier, plan
from tarry.core.promise import promise
from tarry.core.season import Accountant

SOME = [
    {},
    {"epsilon": "0.05", "gap": "7d", "window": "1d", "weight": "0"},
    {"epsilon": "10", "gap": "1s", "window": "0s", "weight": "1"},
    {"epsilon": "3", "gap": "45m", "window": "0s", "weight": "0.3"},
    {"epsilon": "8", "gap": "2d", "window": "1h", "suspects": "100"},
]
SEASONS = [
    {"law": "season"},
    {"law": "season", "pairs": "1", "total": "1", "gap": "1s", "window": "0s"},
    {"law": "season", "pairs": "1000", "total": "1.5", "delta": "0.1", "gap": "1h", "window": "10m"},
]
FEWEST = {200: 58, 1: 3, 1000: 119}  # by `plan_season`, which takes its time


@pytest.fixture(params=SOME, ids=lambda given: "-".join(given.values()) or "start")
def found(request):
    return figures(read_choices(request.param))


def test_delays_frontier_and_promise_are_those_of_the_library(found):
    policy = found.choices.policy

    assert found.delays == plan(policy)
    assert found.promise == promise(policy)
    assert list(found.frontier) == frontier(policy)
    chosen = (found.delays.batched.mean, found.delays.unbatched.mean)
    on_it = [point for point in found.frontier if (point.batched, point.unbatched) == chosen]
    assert len(on_it) == 1 or policy.weight.denominator not in {1, 2, 4, 5, 10, 20}


def test_the_stretches_hold_all_of_both_laws_and_are_even_inside(found):
    """A chart of even steps shows the laws as they are; only those who leave at once are spread out."""
    pair, hold = found.choices.policy.mechanism().pair, found.choices.policy.hold_ticks

    assert isclose(sum(one.batched for one in found.bins), 1)
    assert isclose(sum(one.unbatched for one in found.bins), 1)
    assert found.bins[0].start_s == 0
    for one in found.bins:
        long = one.end_s - one.start_s
        for law, share in ((pair.batched, one.batched), (pair.unbatched, one.unbatched)):
            first, last = law.mass(one.start_s - hold), law.mass(one.end_s - 1 - hold)
            assert isclose(float(first + (long - 1) * last), share, abs_tol=1e-12)
            assert first == last or one.start_s == hold


@pytest.fixture(params=SEASONS, ids=lambda given: given.get("pairs", "start"))
def season(request):
    return figures(read_choices(request.param))


def test_a_season_is_kept_by_the_policy_that_is_shown(season):
    """And by as many blocks as a long search finds: floats propose them, the accountant decides."""
    policy, choices = season.choices.policy, season.choices
    wanted = (2 * choices.pairs, Fraction(choices.total), Fraction(choices.delta))

    assert (policy.season.acts, policy.season.epsilon, policy.season.delta) == wanted
    assert season.delays == plan(policy)
    assert season.promise == promise(policy)
    assert (policy.law, policy.blocks) == ("cosine", FEWEST[choices.pairs])


def test_the_stretches_hold_all_of_the_law_of_a_season(season):
    assert isclose(sum(one.batched for one in season.bins), 1)
    assert isclose(sum(one.unbatched for one in season.bins), 1)
    assert len(season.bins) <= 32
    assert season.bins[-1].end_s == season.delays.batched.maximum + 1


def test_the_odds_are_those_of_the_accountant(season):
    policy = season.choices.policy
    accountant = Accountant(policy.mechanism().pair, policy.share)
    least = log(policy.blocks / (policy.blocks - 1))
    for one in season.odds:
        exact = float(accountant.epsilon(2 * one.pairs, policy.season.delta, rough=True))
        assert isclose(one.season, exact, abs_tol=2e-3 * (1 + exact))
        assert isclose(one.older, max(0, 2 * one.pairs * least + log(1 - float(policy.season.delta))))
    chosen = next(one for one in season.odds if one.pairs == season.choices.pairs)
    assert chosen.season <= float(policy.season.epsilon)


def test_the_law_for_one_pair_is_compared_at_its_own_longest_delay(found):
    """With the season law of as many whole blocks; below three there is none."""
    policy = found.choices.policy
    pair = policy.mechanism().pair
    accountant = Accountant(pair, policy.share)
    for one in found.odds:
        assert isclose(one.older, float(accountant.epsilon(2 * one.pairs, Fraction("0.01"))), abs_tol=1e-6)
        assert (one.season is None) is (pair.batched.maximum + 1 < 3 * pair.start)


def test_a_suspicion_rises_with_the_odds():
    assert [risen(log(factor)) for factor in (1, 11, 99)] == pytest.approx([0.01, 0.1, 0.5])
    assert risen(1e6) == 1


def test_the_power_bound_is_straight_between_the_points_that_are_drawn(found):
    policy = found.choices.policy
    slopes = [exp(float(policy.epsilon)) / float(innocent_mass(policy, times)) for times in MULTIPLES]
    for one in found.power:
        for slope, bound in zip(slopes, one.bounds, strict=True):
            assert isclose(bound, min(1, slope * one.error), rel_tol=1e-9)
    errors = [one.error for one in found.power]
    assert errors == sorted(errors)
    for slope in slopes:
        assert slope * errors[-1] <= 1 or any(isclose(error, 1 / slope, rel_tol=1e-9) for error in errors)


def test_an_observer_is_no_surer_with_the_policy_than_the_promise_allows(found):
    """By Bayes: the odds of one pair rise by e^epsilon / P0 at most."""
    ratio = exp(float(found.choices.policy.epsilon)) / float(found.mass)
    for one in found.suspicions:
        assert isclose(one.delayed, ratio / (ratio + one.suspects - 1), rel_tol=1e-9)
        assert one.before < one.delayed <= 1
        assert one.apart < one.together
    assert found.chosen.suspects == found.choices.suspects
    assert found.chosen in found.suspicions


def test_the_observer_has_less_company_to_look_through_where_the_gap_is_longer():
    """P0 is one half at sixteen minutes of gap and window, and grows with the gap."""
    masses = [figures(read_choices({"gap": gap})).mass for gap in ("6m", "11m", "1h", "1d")]

    assert masses == sorted(set(masses))
    assert masses[1] == Fraction(1, 2)
    assert isclose(masses[2], 1 - 2 ** (-65 / 16), abs_tol=1e-6)


def test_no_choice_takes_long_or_says_much():
    """Every corner of what may be chosen: bounded work, a bounded answer."""
    corners = []
    for law in LAWS:
        mine = [field for field in FIELDS.values() if field.law in {"", law}]
        names = ["law", *(field.name for field in mine)]
        ends = product([law], *((field.low, field.high) for field in mine))
        corners += [dict(zip(names, values, strict=True)) for values in ends]
    _figures_json(START, {})  # what is loaded and built once
    kept = 0
    for corner in corners:
        try:
            choices = read_choices(corner)
        except BadInput:
            continue  # a gap below the window, or a season that needs too much
        before = time.thread_time()
        told = _figures_json(choices, {})
        assert time.thread_time() - before < 1  # a third of it, on a machine with nothing else to do
        assert len(told) < 130_000
        kept += 1
    assert kept >= 20


def test_equal_choices_are_one_choice_however_they_are_written():
    one = read_choices({"gap": "90m", "epsilon": "1.50", "weight": "0.5"})
    other = read_choices({"gap": " 1h30m", "epsilon": "1.5", "elsewhere": "x"})

    assert one == other
    assert figures(one) is figures(other)
    assert read_choices(one.fields) == one


def test_a_slider_stops_at_values_that_can_be_chosen_and_at_the_start():
    for field in FIELDS.values():
        values = [field.read(step) for step in field.steps.split()]
        assert values == sorted(set(values))
        assert field.start in field.steps.split()
    assert Fraction(START.epsilon) == 1
