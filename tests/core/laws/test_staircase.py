"""The staircase law against v_i and r of its formula, and its step against every other step."""

from fractions import Fraction

import pytest

from contracts.law_contract import Formula, LawCase, LawContract, grid, ratio_of
from tarry.core.laws.staircase import _best_step, staircase

PERIODS = 4


def mean_unbatched(R, G, h):
    """E[U] of the staircase with a first step of h ticks."""
    return G / (R - 1) + ((R - 1) * h * (h - 1) + G * (G - 1)) / (2 * ((R - 1) * h + G))


def best_step(ask):
    """The shortest of the steps that cost least, by trying all of them."""
    R, G = ratio_of(ask.share), ask.start
    return min(range(1, G + 1), key=lambda h: mean_unbatched(R, G, h))


def formulas(ask, pair):
    """Both laws by the formulas: the batched one is the other, G ticks later."""
    R, G, h = ratio_of(ask.share), ask.start, best_step(ask)
    a = (R - 1) / (R * h + G - h)
    mean = mean_unbatched(R, G, h)

    def mass(k):
        j, i = divmod(k, G)
        return 0 if k < 0 else (a if i < h else a / R) / R**j

    left = 1 / R**PERIODS
    return (
        Formula(
            mass=lambda k: mass(k - G),
            mean=G + mean,
            support=(G, None),
            looks=(PERIODS + 1) * G,
            left=left,
        ),
        Formula(mass=mass, mean=mean, support=(0, None), looks=PERIODS * G, left=left),
    )


class TestStaircase(LawContract):
    """The staircase law meets the contract of laws."""

    case = LawCase(
        family=staircase,
        formulas=formulas,
        asks=grid("0.5 1 2 4 8", "1 2 7 20"),
        small=grid("2", "1 3") + grid("4", "4"),
    )


def test_step_shrinks_with_epsilon():
    """The more may be told, the shorter the high step: near half the gap first, one tick at last."""
    steps = [staircase(ask).unbatched.period[0].length for ask in grid("0.001 1 4 20", "40")]

    assert steps == sorted(steps, reverse=True)
    assert steps[0] == 20
    assert steps[-1] == 1


@pytest.mark.parametrize("ratio", ["5/4", "3/2", "2", "3", "10"])
def test_best_step_costs_least(ratio):
    """The step is the shortest of those that cost least, also where two cost the same."""
    R = Fraction(ratio)
    for G in range(1, 40):
        assert _best_step(R, G) == min(range(1, G + 1), key=lambda h, G=G: mean_unbatched(R, G, h))


def test_steps_that_cost_the_same():
    """At a ratio of 3 and a gap of 4 ticks, steps of 1 and 2 cost the same: 1 is taken."""
    assert mean_unbatched(Fraction(3), 4, 1) == mean_unbatched(Fraction(3), 4, 2)
    assert _best_step(Fraction(3), 4) == 1
