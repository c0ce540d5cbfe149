"""The delay tables: each printed entry, each corrected one, and the errata behind them."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.paper import delay_tables
from tarry.paper.finding import RunSettings
from tarry.paper.laws import best_eta, staircase, zero_inflated_uniform

EPSILONS = (0.1, 0.5, 1.0, 2.0)
#: Tables "Mean and maximum delay" (a) and (b), and the appendix's: mean, then maximum, minutes.
PRINTED = {
    11: ((118, 31, 20, 15), (229, 54, 33, 22)),
    36: ((343, 83, 50, 35), (672, 152, 88, 56)),
    79: ((820, 192, 115, 77), (1615, 360, 205, 129)),
}
#: With the window held and in the gap: the erratum.
HELD = {
    11: ((170.1, 42.9, 27.2, 19.6), (331.2, 76.9, 45.4, 30.2)),
    36: ((394.5, 94.5, 57.4, 39.4), (774.6, 174.7, 100.4, 64.4)),
    79: ((871.9, 204.3, 121.6, 81.5), (1717.9, 382.7, 217.3, 137.2)),
}
#: What the second row would be with the gap that is printed beside it.
WITH_36 = ((379, 91, 55, 38), (743, 168, 96, 62))


@pytest.fixture(scope="module")
def found():
    return delay_tables.find(RunSettings())


def entry(found, gap, epsilon, delay):
    return next(
        one
        for one in found.tables["entries"].records()
        if (one["printed gap"], one["epsilon"], one["delay"]) == (gap, epsilon, delay)
    )


@pytest.mark.parametrize("gap", PRINTED)
@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize(("kind", "delay"), [(0, "mean"), (1, "maximum")])
def test_all_24_entries_three_ways(found, gap, place, kind, delay):
    """Printed, reproduced to the minute as coded, and corrected to a tenth of a minute."""
    one = entry(found, gap, EPSILONS[place], delay)

    assert one["printed"] == PRINTED[gap][kind][place]
    assert round(one["as coded"]) == PRINTED[gap][kind][place]
    assert one["corrected, held"] == pytest.approx(HELD[gap][kind][place], abs=0.051)
    assert one["corrected, declared"] == pytest.approx(HELD[gap][kind][place] - 5, abs=0.051)


def test_the_policy_itself_gives_the_corrected_entries(found):
    """What tarry plans for such a policy, exactly on ticks of a second, is the corrected table."""
    for one in found.tables["entries"].records():
        assert one["held, on ticks"] == pytest.approx(one["corrected, held"], rel=0.001, abs=0.02)


@pytest.mark.parametrize(("kind", "delay"), [(0, "mean"), (1, "maximum")])
def test_the_second_row_was_not_made_with_36_minutes(found, kind, delay):
    """With the printed gap every entry of the row would be another one."""
    for place, epsilon in enumerate(EPSILONS):
        one = entry(found, 36, epsilon, delay)
        assert round(one["with the printed gap"]) == WITH_36[kind][place] != one["printed"]


def test_the_attack_ran_one_percentile_lower(found):
    """The curve of the 25th percentile had the gap of the 10th, 193 s, and a window of 5 s."""
    one = found.tables["experiment"].records()[1]

    assert (one["percentile named"], one["epsilon"], one["mean, table"]) == (25, 0.5, 31)
    gap = (193 + 5) / 60
    a = exp(-0.25)
    assert one["mean, run"] == pytest.approx(gap / 2 * (0.25 + 1 / (1 - a)))
    assert one["maximum, run"] == pytest.approx(gap / (1 - a))


def test_the_text_took_the_wrong_row(found):
    """ "1 hour 20 minutes" and "2.5 hours" for g = 11 are nearest to the row of g = 36."""
    text, _, *rows = found.tables["text"].records()
    nearest = min(
        rows, key=lambda one: abs(one["mean"] - text["mean"]) + abs(one["maximum"] - text["maximum"])
    )

    assert (text["mean"], text["maximum"]) == (80, 150)
    assert nearest == {"where": "the table, g = 36", "mean": 83, "maximum": 152}


def test_the_appendix_took_its_own_row(found):
    """ "3 hours" and "6 hours" for g = 79 are its 192 and 360 minutes, to the hour."""
    _, text, *_, own = found.tables["text"].records()

    assert (text["where"], text["mean"], text["maximum"]) == ("the text, for g = 79", 3 * 60, 6 * 60)
    assert (own["where"], own["mean"], own["maximum"]) == ("the table, g = 79", 192, 360)
    assert [round(own[kind] / 60) * 60 for kind in ("mean", "maximum")] == [180, 360]


@given(st.floats(0.3, 6), st.floats(0, 0.99))
def test_the_second_derivative_is_that_of_the_cost(share, weight):
    """Against differences of the closed form, doubled as the paper's objective; the printed one is not."""
    a = exp(-share)
    eta = (1 + a) / 2
    step = (eta - a) / 100
    below, here, above = (
        2 * zero_inflated_uniform(share, one).weighted(weight) for one in (eta - step, eta, eta + step)
    )

    right = delay_tables.second_derivative(share, eta, weight)
    assert right == pytest.approx((below - 2 * here + above) / step**2, rel=0.001, abs=1e-4)
    assert right > 0


def test_the_printed_second_derivative_is_another_one(found):
    """Appendix "Optimal choice of parameter": nearly the objective itself; at share 1, weight 0, eta 2a."""
    rows = found.tables["second_derivative"].records()
    one = next(one for one in rows if (one["epsilon"], one["weight"]) == (2.0, 0.0))

    assert one["printed"] == pytest.approx(4 * exp(-1))
    assert one["right"] == pytest.approx(2 * exp(1))
    assert all(row["printed"] > 0 and row["right"] > 0 for row in rows)
    assert f"{one['printed']:.2f} for {one['right']:.2f}" in found.says[4]


@pytest.mark.parametrize(
    ("place", "says", "elsewhere"),
    [
        ("introduction", "over 50 % of edits are batched", "49.07 %"),
        ("contributions", "an accuracy of 85 %", "recall 85 % at precision 80 %"),
    ],
)
def test_claims_that_differ_from_what_is_said_elsewhere(found, place, says, elsewhere):
    """Two sentences about Wikipedia against the authors' notebook and their own section."""
    one = next(one for one in found.tables["claims"].records() if one["place"] == place)

    assert (one["says"], one["elsewhere"].startswith(elsewhere)) == (says, True)


@given(st.floats(0.05, 6), st.floats(0, 0.99))
def test_the_printed_mean_is_too_low_exactly_where_eta_is_below_1(share, weight):
    """It has eta where 1 belongs: half of 1 - eta is missing."""
    eta = best_eta(share, weight)
    right = zero_inflated_uniform(share, eta).batched

    assert right - delay_tables.misprinted_mean(share, eta) == pytest.approx((1 - eta) / 2, abs=1e-9)


@given(st.floats(0.05, 6), st.floats(0, 0.99))
def test_the_root_of_the_printed_derivative_is_never_better(share, weight):
    """It is a root of w (a^2 - a) + eta (eta - 2 a), and costs no less than Algorithm 2's."""
    a, eta = exp(-share), delay_tables.misprinted_eta(share, weight)
    derivative = weight * (a * a - a) + eta * (eta - 2 * a)

    assert derivative == pytest.approx(0, abs=1e-9) if eta < 1 else derivative <= 1e-9
    printed, best = (
        zero_inflated_uniform(share, one).weighted(weight) for one in (eta, best_eta(share, weight))
    )
    assert printed >= best - 1e-12


def test_the_misprint_costs_up_to_9_6_percent(found):
    """At epsilon 4 and weight 0.99, on the grid."""
    worst = max(found.tables["misprinted_eta"].records(), key=lambda one: one["extra"])

    assert round(100 * worst["extra"], 1) == 9.6
    assert (worst["epsilon"], worst["weight"]) == (4.0, 0.99)
    assert "costs up to 9.6 % more" in found.says[4]


def test_algorithm_2_at_the_ends_of_the_weight(found):
    """Weight 1 gives 1, weight 0 gives 2 e^(-epsilon/2), at most 1."""
    for one in found.tables["ends"].records():
        assert one["eta at weight 1"] == 1
        assert one["eta at weight 0"] == pytest.approx(one["min(1, 2 e^(-epsilon/2))"])


def test_the_step_of_the_proof_is_not_the_best(found):
    """1 / (1 + e^(epsilon/4)) gives the closed form of the theorem; the proof's step always more."""
    for one in found.tables["staircase"].records():
        # A law on ticks is half a tick earlier on the mean.
        assert one["E[U]"] == pytest.approx(
            staircase(one["epsilon"] / 2).unbatched, abs=1 / delay_tables.TICKS
        )
        assert one["E[U] in the proof"] > one["E[U]"]


def test_sentences_are_true_of_the_tables(found):
    """24 of 24, and the range by which corrected delays are longer."""
    rows = found.tables["entries"].records()
    more = [100 * (one["corrected, held"] / one["printed"] - 1) for one in rows]

    assert len(found.says) <= 6
    assert found.says[0].startswith("24 of 24 printed entries")
    assert f"are {min(more):.0f} to {max(more):.0f} % longer" in found.says[1]
    assert "8 of its 8 entries" in found.says[3]


def test_same_settings_give_the_same_tables(found):
    """Nothing is drawn; a tiny run has a coarser staircase alone."""
    assert delay_tables.find(RunSettings(seed=9)).as_json() == found.as_json()
    tiny = delay_tables.find(RunSettings(tiny=True))
    assert tiny.tables["entries"] == found.tables["entries"]
