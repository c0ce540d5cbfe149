"""What the workbench computes: the library's own numbers, for every choice, without taking long."""

import time
from fractions import Fraction
from itertools import product
from math import exp, isclose

import altair as alt
import pytest

from tarry.console.workbench.charts import chart_specs
from tarry.console.workbench.figures import FIELDS, MASS, MASSES, START, figures, read_choices
from tarry.console.workbench.page import _figures_json
from tarry.core.errors import BadInput
from tarry.core.plan import frontier, plan
from tarry.core.promise import promise

SOME = [
    {},
    {"epsilon": "0.05", "gap": "7d", "window": "1d", "weight": "0"},
    {"epsilon": "10", "gap": "1s", "window": "0s", "weight": "1"},
    {"epsilon": "3", "gap": "45m", "window": "0s", "weight": "0.3"},
    {"epsilon": "8", "gap": "2d", "window": "1h", "suspects": "100"},
]


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


def test_the_power_bound_is_straight_between_the_points_that_are_drawn(found):
    slopes = [exp(float(found.choices.policy.epsilon)) / float(mass) for mass in MASSES]
    for one in found.power:
        for slope, bound in zip(slopes, one.bounds, strict=True):
            assert isclose(bound, min(1, slope * one.error), rel_tol=1e-9)
    errors = [one.error for one in found.power]
    assert errors == sorted(errors)
    for slope in slopes:
        assert slope * errors[-1] <= 1 or any(isclose(error, 1 / slope, rel_tol=1e-9) for error in errors)


def test_an_observer_is_no_surer_with_the_policy_than_the_promise_allows(found):
    """By Bayes: the odds of one pair rise by e^epsilon / P0 at most."""
    ratio = exp(float(found.choices.policy.epsilon)) / float(MASS)
    for one in found.suspicions:
        assert isclose(one.delayed, ratio / (ratio + one.suspects - 1), rel_tol=1e-9)
        assert one.before < one.delayed < 1
        assert one.apart < one.together
    assert found.chosen.suspects == found.choices.suspects
    assert found.chosen in found.suspicions


def test_every_chart_keeps_to_the_schema_of_charts():
    for spec in chart_specs(figures(read_choices(SOME[3]))).values():
        alt.LayerChart.from_dict(spec, validate=True)


def test_no_choice_takes_long_or_says_much():
    """Every corner of what may be chosen: bounded work, a bounded answer."""
    ends = [(field.low, field.high) for field in FIELDS.values()]
    corners = [dict(zip(FIELDS, values, strict=True)) for values in product(*ends)]
    _figures_json(START)  # what is loaded and built once
    kept = 0
    for corner in corners:
        try:
            choices = read_choices(corner)
        except BadInput:
            continue  # a gap below the window
        before = time.thread_time()
        told = _figures_json(choices)
        assert time.thread_time() - before < 1  # a third of it, on a machine with nothing else to do
        assert len(told) < 60_000
        kept += 1
    assert kept >= 8


def test_equal_choices_are_one_choice_however_they_are_written():
    one = read_choices({"gap": "90m", "epsilon": "1.50", "weight": "0.5"})
    other = read_choices({"gap": " 1h30m", "epsilon": "1.5", "elsewhere": "x"})

    assert one == other
    assert figures(one) is figures(other)
    assert read_choices(one.fields) == one


def test_a_slider_stops_at_values_that_can_be_chosen_and_at_the_start():
    for field in FIELDS.values():
        values = [field.read(step) for step in field.steps]
        assert values == sorted(set(values))
        assert field.start in field.steps
    assert Fraction(START.epsilon) == 1
