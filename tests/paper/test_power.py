"""The proposition on power and type-I error: where the printed bound fails, and the right one.

What the pair attack is worth: the numbers of the theory, and that nothing beats the likelihood ratio.
"""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.policy import Policy
from tarry.paper.finding import RunSettings
from tarry.paper.power import (
    EPSILONS,
    GAP,
    PERCENTILES,
    best_roc,
    differences,
    find,
    known_time,
    masses,
    null_law,
    policy,
    roc,
    simulate,
)
from tarry.study.attack.likelihood import GapLaw, PairLaws, pair_laws

TINY = RunSettings(tiny=True)
SETTINGS = [(epsilon, percentile) for epsilon in EPSILONS for percentile in PERCENTILES]
#: theory 6a, largest ratio of the test that sees differences: epsilon 0.5, 1, 2 by percentile 25, 50, 75.
LARGEST = (2.92, 1.85, 1.53, 5.67, 3.11, 2.28, 13.8, 6.92, 4.57)


@pytest.fixture(scope="module")
def found():
    return find(TINY)


@pytest.mark.parametrize(("setting", "largest"), list(zip(SETTINGS, LARGEST, strict=True)))
def test_differences_alone_tell_what_theory_says(setting, largest):
    """And stay below the printed bound, e^epsilon / Perc(g)."""
    epsilon, percentile = setting
    test = differences(epsilon, percentile)

    assert test.ratio.max() == pytest.approx(largest, rel=0.01)
    assert test.ratio.max() < exp(epsilon) / masses(percentile)[0]


@pytest.mark.parametrize(("epsilon", "percentile"), SETTINGS)
def test_with_the_first_arrival_known_the_corrected_bound_holds(epsilon, percentile):
    """Theory 9.7: P0 = P(0 <= S <= g), for every outcome."""
    assert known_time(epsilon, percentile).ratio.max() <= exp(epsilon) / masses(percentile)[1]


def test_the_printed_bound_fails_where_theory_says():
    """The most telling outcome is the longest delay, where only 0 <= S < L counts."""
    test = known_time(Fraction(1), 75)
    end = policy(Fraction(1)).mechanism().pair.batched.maximum + 1
    law = null_law(75)
    chance = law.within(end - 1) / 2 + law.within(0) / 2

    assert test.ratio.max() == pytest.approx(exp(1) / chance, rel=0.01)
    assert test.ratio.max() > exp(1) / 0.75


def test_simulated_pairs_follow_the_laws():
    """Delays of batched pairs begin at the gap; the second of strangers has the law that the test uses."""
    batched, strangers = simulate(Fraction(1), 50, pairs=50_000, seed=3)
    test = known_time(Fraction(1), 50)
    end = GAP + len(test.f0)
    seen = (strangers.first >= GAP) & (strangers.second >= GAP) & (strangers.second < end)

    assert batched.first.min() >= GAP
    assert batched.second.max() < end
    spread = np.sqrt(test.f0.sum() * (1 - test.f0.sum()) / 50_000)
    assert abs(seen.mean() - test.f0.sum()) < 5 * spread


def test_the_example_of_the_paper(found):
    """A rate of 0.25 at epsilon 0.8 gives the 75th percentile; 1.5 would need 1.49 of all gaps."""
    rows = {row[0]: row for row in found.tables["crossover"].rows}

    assert rows[0.8][6:] == (pytest.approx(0.7418, abs=1e-4), 75, "none is enough")
    assert rows[1.5][6:] == (pytest.approx(1.49, abs=0.005), "none is enough", "none is enough")


def test_no_crossover_rate_falls_below_the_corrected_bound(found):
    """The printed one is undercut at epsilon 1."""
    table = found.tables["crossover"]
    rates = {name: np.array(table.column(name), dtype=float) for name in table.header[1:6]}

    assert (rates["first arrival known"] >= rates["corrected bound"]).all()
    assert (rates["only differences seen"] >= rates["printed bound"]).all()
    assert rates["first arrival known"][2] < rates["printed bound"][2]
    assert np.abs(rates["the same, simulated"] - rates["only differences seen"]).max() < 0.01


def test_the_finding_says_what_its_tables_hold(found):
    """The count of broken settings, and the example's numbers."""
    bounds = found.tables["bounds"]

    assert f"broken in {bounds.column('printed bound is').count('broken')} of 9" in found.says[0]
    for row in bounds.rows:
        assert (row[7] == "broken") == (row[4] > row[2])
        assert row[4] <= row[5]


def test_the_same_settings_give_the_same_tables(found):
    """Simulated pairs follow from the seed."""
    assert found.as_json() == find(TINY).as_json()
    assert found.as_json() != find(RunSettings(tiny=True, seed=1)).as_json()


# --- what the pair attack is worth ---------------------------------------------------------------------

START = 400  # ticks of a gap: fine enough for three digits
WEIGHTS = st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=9)


def exponential_null(tick):
    """Gaps at rate 1, rounded to ticks of this length."""
    edges = np.concatenate(([0], np.arange(30 / tick) + 0.5)) * tick
    return GapLaw.of_masses(-np.diff(np.exp(-edges)))


def laws_of(epsilon, percentile, weight, *, labels="simultaneous", start=START, reach=0):
    """The pair under a gap at this percentile of the exponential null."""
    policy = Policy(epsilon=str(epsilon), gap=f"{start}s", window="0s", labels=labels, weight=str(weight))
    null = exponential_null(-log(1 - percentile) / start)
    return pair_laws(policy.mechanism(), null=null, lone=(float(labels == "follower"), 0.0), reach=reach)


@pytest.mark.parametrize(
    ("epsilon", "percentile", "weight", "worth", "most"),
    [
        (0.5, 0.25, 1, [0.783, 0.029, 0.271], 2.92),
        (0.5, 0.50, 1, [0.671, 0.018, 0.177], 1.85),
        (0.5, 0.75, 1, [0.616, 0.015, 0.147], 1.53),
        (1, 0.25, 1, [0.885, 0.056, 0.489], 5.67),
        (1, 0.50, 1, [0.794, 0.031, 0.288], 3.11),
        (1, 0.75, 1, [0.725, 0.023, 0.215], 2.28),
        (2, 0.25, 1, [0.952, 0.134, 0.908], 13.8),
        (2, 0.50, 1, [0.905, 0.068, 0.575], 6.92),
        (2, 0.75, 1, [0.857, 0.045, 0.406], 4.57),
        (2, 0.50, 0, [0.857, 0.045, 0.405], 4.52),
        (2, 0.50, 0.25, [0.889, 0.058, 0.504], 5.88),
    ],
)
def test_the_optimal_pair_attack_is_worth_what_the_theory_says(epsilon, percentile, weight, worth, most):
    """Area, power at 1 % and 10 % type-I error, largest ratio; the cutoff is as good in every row."""
    laws = laws_of(epsilon, percentile, weight)
    best, cutoff = best_roc(laws), by_cutoff([(1, laws)])

    found = [best.area, best.power_at(0.01), best.power_at(0.1)]
    assert found == pytest.approx(worth, abs=2e-3)
    assert laws.ratio.max() == pytest.approx(most, rel=3e-3)
    assert laws.ratio.max() < exp(epsilon) / percentile
    assert cutoff.area == pytest.approx(best.area, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "best", "cutoff"), [(4, 0.669, 0.626), (6, 0.628, 0.527)])
def test_the_ratio_beats_the_cutoff_where_few_events_draw_at_all(epsilon, best, cutoff):
    """A small eta with a gap far above the usual ones."""
    laws = laws_of(epsilon, 0.95, 0)

    assert best_roc(laws).area == pytest.approx(best, abs=1e-3)
    assert by_cutoff([(1, laws)]).area == pytest.approx(cutoff, abs=1e-3)


def mixed(kinds, order):
    """The curve over pairs of several kinds, each with its share."""
    f1, f0 = (np.concatenate([share * getattr(laws, f) for share, laws in kinds]) for f in ("f1", "f0"))
    return roc(f1, f0, np.concatenate(order))


def by_ratio(kinds):
    """Of an attack that sees a pair's kind."""
    return mixed(kinds, [laws.ratio for _, laws in kinds])


def by_cutoff(kinds):
    """Of one that ranks by the difference alone."""
    return mixed(kinds, [-np.abs(laws.differences) for _, laws in kinds])


@pytest.mark.parametrize(
    ("epsilon", "best", "cutoff"), [(0.5, 0.672, 0.606), (1, 0.796, 0.693), (2, 0.905, 0.802)]
)
def test_the_ratio_beats_the_cutoff_on_gaps_of_several_sizes(epsilon, best, cutoff):
    """Half the pairs at rate 1, half at rate 0.1, each with the median of its own gaps."""
    reach = laws_of(epsilon, 0.5, 1, start=10 * START).reach
    kinds = [(0.5, laws_of(epsilon, 0.5, 1, start=start, reach=reach)) for start in (START, 10 * START)]

    assert by_ratio(kinds).area == pytest.approx(best, abs=2e-3)
    assert by_cutoff(kinds).area == pytest.approx(cutoff, abs=2e-3)


@pytest.mark.parametrize(("epsilon", "area"), [(0.5, 0.692), (1, 0.712), (2, 0.824)])
def test_follower_labels_are_worth_what_the_theory_says(epsilon, area):
    """The first of a pair unbatched, the whole budget on the second."""
    assert best_roc(laws_of(epsilon, 0.5, 0.25, labels="follower")).area == pytest.approx(area, abs=1e-3)


def shares(weights):
    """Two laws and an order from small integers; a law may leave something beyond."""
    f1, f0, order = np.array(weights, dtype=float).T
    return f1 / max(f1.sum(), 1), f0 / (f0.sum() + 1), order


@given(WEIGHTS)
def test_the_area_is_the_chance_to_rank_a_batched_pair_first(weights):
    """Against every combination of two outcomes; ties count half, what lies beyond comes last."""
    f1, f0, order = shares(weights)
    ahead = (order[:, None] > order) + 0.5 * (order[:, None] == order)
    missing = (1 - f1.sum(), 1 - f0.sum())

    area = f1 @ ahead @ f0 + f1.sum() * missing[1] + missing[0] * missing[1] / 2
    assert roc(f1, f0, order).area == pytest.approx(area)


@given(WEIGHTS, st.floats(0, 1))
def test_no_order_has_more_power_than_the_likelihood_ratio(weights, type_one):
    """Neyman and Pearson, at any type-I error."""
    f1, f0, order = shares(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(f1 > 0, f1 / f0, 0)
    best, other = roc(f1, f0, ratio), roc(f1, f0, order)

    assert best.power_at(type_one) >= other.power_at(type_one) - 1e-12
    assert (np.diff(best.power) >= 0).all()
    assert (np.diff(best.type_one) >= 0).all()


def test_outcomes_that_only_a_batch_has_cost_nothing():
    """An infinite ratio comes first: power without any type-I error."""
    laws = PairLaws(f1=np.array([0.25, 0.5, 0.25]), f0=np.array([0.0, 0.5, 0.0]))

    assert best_roc(laws).power_at(0) == 0.5
