"""Two-sided privacy: where the printed bound holds, where it fails, and the corrected one."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.calibrate import two_sided_bound
from tarry.core.errors import NotPossible
from tarry.core.verify import verify_label_free
from tarry.paper import impossibility
from tarry.paper.finding import RunSettings
from tarry.paper.impossibility import TICKS, WHOLE, at_least, printed_bound, soonest, truncated_geometric

ONE, PERCENT = Fraction(1), Fraction(1, 100)


@pytest.fixture(scope="module")
def found():
    return impossibility.find(RunSettings())


def test_panel_a_nothing_is_released_without_delta(found):
    """With delta 0 the chance of a release within any number of gaps is 0."""
    assert set(found.tables["A"].column("released within, at most")) == {0.0}


def test_panel_b_at_epsilon_0_the_printed_line_holds(found):
    """Uniform over g / delta: P(delay >= 10 g) = .90, and .78 is printed."""
    rows = {one["what"]: one["value"] for one in found.tables["B"].records()}

    assert rows["delay at least 10 gaps"] == pytest.approx(0.90)
    assert rows["as printed, at least"] == pytest.approx(0.78)
    assert rows["corrected, at least"] == pytest.approx(0.80)
    assert rows["corrected where a step moves a whole gap"] == pytest.approx(0.90)
    assert rows["private, says the checker"] == "holds"


@pytest.mark.parametrize(
    ("delta", "mean", "end", "printed"), [(0.01, 4.5, 9.05, 0.80), (1e-6, 13.7, 27.45, 0.9999)]
)
def test_panel_c_a_truncated_geometric_law_breaks_the_bound(found, delta, mean, end, printed):
    """Private, and never later than a delay that by the printed bound almost all would have."""
    one = next(one for one in found.tables["C"].records() if one["delta"] == delta)

    assert one["private"] == "holds"
    assert (one["mean"], one["first delay that never happens"]) == pytest.approx((mean, end))
    assert one["beyond its end, as printed at least"] == pytest.approx(printed, abs=0.0015)
    assert one["beyond its end"] == 0


def test_caps_have_the_values_of_the_corrected_theorem(found):
    """Epsilon 1, delta .01, j = 1..5: the program's optimum, the printed cap and the corrected ones."""
    rows = found.tables["caps"].records()
    reached = [round(one["reached, linear program"], 4) for one in rows]

    assert reached == [0.0100, 0.0372, 0.1111, 0.3119, 0.7506]
    assert [round(one["printed cap"], 2) for one in rows] == [0.04, 0.06, 0.08, 0.10, 0.12]
    assert [round(one[WHOLE], 4) for one in rows] == [0.0100, 0.0372, 0.1111, 0.3119, 0.8579]
    directed = [min(1.0, 0.01 * (exp(2 * j) - 1) / (exp(1) - 1)) for j in range(1, 6)]
    assert [one["corrected cap, directed"] for one in rows] == pytest.approx(directed, rel=1e-6)
    for one in rows:
        assert one["truncated geometric"] <= one["reached, linear program"] + 1e-9
        assert one["reached, linear program"] <= one[WHOLE] + 1e-9 <= one["corrected cap, directed"] + 2e-9


def test_the_printed_cap_is_broken_from_three_gaps_on(found):
    """Not before: the first two are below it."""
    rows = found.tables["caps"].records()

    assert [one["gaps"] for one in rows if one["reached, linear program"] > one["printed cap"]] == [3, 4, 5]
    assert found.says[3].startswith("One law for all events can release 0.1111 within 3 gaps")
    assert "(e^(2j epsilon) - 1)/(e^epsilon - 1) with the paper's neighbours" in found.says[3]
    assert found.says[3].endswith("for j = 1 to 4.")


def test_the_chart_has_both_corrected_caps(found):
    """A line for each column of the table but the gaps."""
    drawn = {row["line"] for row in found.charts["released-within"].layer[0].data.values}

    assert drawn == set(found.tables["caps"].header[1:])
    assert {WHOLE, "corrected cap, directed"} < drawn


def test_sentences_look_at_the_verdict(found):
    """Something released without delta, or a printed line above the law's, and they say so."""
    assert found.says[0].startswith("With delta 0 the theorem stands: nothing is released")
    assert found.says[1].startswith("At epsilon 0 the printed line is right")
    a, b = found.tables["A"], found.tables["B"]
    some = replace(a, rows=[[gaps, 0.5, printed] for gaps, _, printed in a.rows])
    worse = {"as printed, at least": 0.95, "private, says the checker": "broken"}
    above = replace(b, rows=[[what, worse.get(what, value)] for what, value in b.rows])

    says = impossibility._says({**found.tables, "A": some, "B": above})
    assert says[0].startswith("With delta 0 the theorem does not stand: something is released")
    assert says[1].startswith("At epsilon 0 the printed line is not right")
    assert "is not shown to be private" in says[1]


def test_panel_d_unbatched_events_may_leave_before_the_gap(found):
    """With 1 - e^(-epsilon/2), where a batched one never does."""
    for one in found.tables["D"].records():
        assert one["unbatched before the gap"] == pytest.approx(1 - exp(-one["epsilon"] / 2), abs=1e-6)
        assert one["batched before the gap"] == 0


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), ONE, Fraction(3)])
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 200)])
def test_the_truncated_law_is_private_both_ways(epsilon, delta):
    """The checker says so for moves to later; the law is its own mirror image; a smaller delta breaks."""
    law = truncated_geometric(epsilon, delta)
    masses = [law.mass(tick) for tick in range(law.maximum + 1)]

    assert verify_label_free(law, TICKS, epsilon, delta).holds
    assert masses == masses[::-1]
    assert not verify_label_free(law, TICKS, epsilon, delta * Fraction(4, 5)).holds


@pytest.mark.parametrize("gaps", [1, 3, 5])
def test_finer_ticks_do_not_change_the_program(gaps):
    """One tick to the gap, or three: the same optimum."""
    assert soonest(1.0, 0.01, gaps, ticks=1) == pytest.approx(soonest(1.0, 0.01, gaps, ticks=3), abs=1e-7)


@given(st.fractions(0, Fraction(1, 10), max_denominator=1000), st.integers(0, 30))
def test_the_printed_bound_never_exceeds_the_corrected_one_at_epsilon_0(delta, gaps):
    """There it is right, and gives away one gap."""
    assert printed_bound(delta, gaps) <= 1 - two_sided_bound(0, delta, gaps)


def test_at_least_counts_from_the_delay_itself():
    """A law of 9 gaps: everything from 0 on, its last tick at 9 gaps, nothing beyond."""
    law = truncated_geometric(ONE, PERCENT)

    assert at_least(law, 0) == 1
    assert at_least(law, 9) == law.mass(9 * TICKS)
    assert at_least(law, Fraction(181, 20)) == 0


def test_same_settings_give_the_same_tables():
    """A tiny run twice, with different seeds; it leaves the small delta out."""
    first, second = (impossibility.find(RunSettings(tiny=True, seed=seed)) for seed in (0, 4))

    assert first.as_json() == second.as_json()
    assert first.tables["C"].column("delta") == [0.01]


def test_a_law_that_ends_too_soon_is_told():
    """Two gaps are not enough for delta 0.01 at epsilon 1."""
    with pytest.raises(NotPossible, match="no optimum"):
        soonest(1.0, 0.01, 1, ticks=2, last=2)


def test_more_gaps_are_never_less():
    """What is released within two gaps is released within three."""
    found = [soonest(0.5, 0.05, gaps, ticks=2) for gaps in range(1, 5)]

    assert found == sorted(found)
    assert found[0] == pytest.approx(0.05)
