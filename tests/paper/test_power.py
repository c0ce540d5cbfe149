"""The proposition on power and type-I error: where the printed bound fails, and the right one."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from tarry.paper.finding import RunSettings
from tarry.paper.power import EPSILONS, PERCENTILES, find
from tarry.paper.power_pairs import GAP, differences, known_time, masses, null_law, policy, simulate

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

    assert test.largest == pytest.approx(largest, rel=0.01)
    assert test.largest < exp(epsilon) / masses(percentile)[0]


@pytest.mark.parametrize(("epsilon", "percentile"), SETTINGS)
def test_with_the_first_arrival_known_the_corrected_bound_holds(epsilon, percentile):
    """Theory 9.7: P0 = P(0 <= S <= g), for every outcome."""
    assert known_time(epsilon, percentile).largest <= exp(epsilon) / masses(percentile)[1]


def test_the_printed_bound_fails_where_theory_says():
    """The most telling outcome is the longest delay, where only 0 <= S < L counts."""
    test = known_time(Fraction(1), 75)
    end = policy(Fraction(1)).mechanism().pair.batched.maximum + 1
    law = null_law(75)
    chance = law.within(end - 1) / 2 + law.within(0) / 2

    assert test.largest == pytest.approx(exp(1) / chance, rel=0.01)
    assert test.largest > exp(1) / 0.75


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
