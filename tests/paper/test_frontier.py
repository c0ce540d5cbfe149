"""The frontier, its optimum by linear programming, and the pairs that beat it."""

from dataclasses import replace
from math import exp, log

import pytest

from tarry.paper import frontier
from tarry.paper.finding import RunSettings
from tarry.paper.frontier import best_inside, best_outside, gains_from
from tarry.paper.laws import best_eta, best_on_cells, best_split

NOISE = 1e-9  # of the solver


@pytest.fixture(scope="module")
def found():
    return frontier.find(RunSettings())


@pytest.fixture(scope="module")
def points(found):
    return found.tables["frontier"].records()


def test_no_pair_on_cells_beats_algorithm_2(points):
    """The program is never below the closed form, and less than a thousandth of a gap above it."""
    for one in points:
        assert -NOISE <= one["cost, program"] - one["cost"] < 0.001


def test_up_to_2_ln_2_the_frontier_is_one_point(points):
    """Section "Pareto-optimal Algorithm": below the figure, a single point; above, several."""
    for epsilon in frontier.EPSILONS:
        etas = {one["eta"] for one in points if one["epsilon"] == epsilon}
        assert (len(etas) == 1) is (epsilon <= 2 * log(2))


def test_weights_trade_one_delay_for_the_other(points):
    """The more batched delay counts, the shorter it is, and the longer the unbatched one."""
    for epsilon in frontier.EPSILONS:
        rows = [one for one in points if one["epsilon"] == epsilon]
        assert [one["batched"] for one in rows] == sorted((one["batched"] for one in rows), reverse=True)
        assert [one["unbatched"] for one in rows] == sorted(one["unbatched"] for one in rows)


def test_exact_laws_lie_on_the_frontier(points):
    """On 300 ticks to the gap the means are within 0.02 gaps, and the cost is within half a tick."""
    for one in points:
        assert one["batched, on ticks"] == pytest.approx(one["batched"], abs=0.02)
        weight = one["weight"]
        ticks = weight * one["batched, on ticks"] + (1 - weight) * one["unbatched, on ticks"]
        assert abs(ticks - one["cost"]) * frontier.TICKS <= 0.51


@pytest.mark.parametrize(
    ("epsilon", "inside", "outside"), [(2, 1.2910, 1.2707), (3, 1.1436, 1.0996), (4, 1.0783, 1.0366)]
)
def test_at_weight_1_the_family_reaches_1_plus_2_e_to_minus_epsilon(epsilon, inside, outside):
    """The mean batched delays of the erratum, inside the class and outside it."""
    assert round(best_inside(epsilon, 1.0).batched, 4) == inside
    assert round(best_outside(epsilon, 1.0).means.batched, 4) == outside
    assert best_outside(epsilon, 1.0).means.batched == pytest.approx(1 + 2 * exp(-epsilon), abs=1e-8)


def test_at_epsilon_6_and_weight_nine_tenths_both_means_fall(found):
    """(1.0371, 0.3873) is strictly dominated by (1.0196, 0.3593)."""
    inside, outside = best_inside(6.0, 0.9), best_outside(6.0, 0.9).means

    assert (round(inside.batched, 4), round(inside.unbatched, 4)) == (1.0371, 0.3873)
    assert (round(outside.batched, 4), round(outside.unbatched, 4)) == (1.0196, 0.3593)
    row = next(
        one for one in found.tables["outside"].records() if (one["epsilon"], one["weight"]) == (6.0, 0.9)
    )
    assert row["both shorter"] == "yes"


@pytest.mark.parametrize(("epsilon", "weight"), [(1.5, 0.90), (2, 0.67), (3, 0.52), (4, 0.40), (6, 0.194)])
def test_gains_begin_at_the_known_weights(epsilon, weight):
    """Below such a weight Algorithm 2 is best in the family too."""
    assert gains_from(epsilon) == pytest.approx(weight, abs=0.006)


@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0, 1.3, 2 * log(2)])
def test_there_is_no_gain_up_to_2_ln_2(epsilon):
    """Neither in the family nor, by the program, with any of eight splits of epsilon."""
    assert gains_from(epsilon) is None
    inside = best_inside(epsilon, 1.0)
    split = best_split(epsilon, 1.0, cells=10, end=inside.end + 1.2, splits=8)
    assert split.cost >= inside.batched - NOISE


@pytest.mark.parametrize(("epsilon", "weight"), [(2.0, 1.0), (4.0, 0.9), (6.0, 0.9)])
def test_a_pair_outside_keeps_epsilon_and_is_a_pair_of_laws(epsilon, weight):
    """1/y for who stays and 1/z for who moves multiply to e^epsilon; masses are not above 1; y >= z."""
    pair = best_outside(epsilon, weight)

    assert pair.y * pair.z == pytest.approx(exp(-epsilon))
    assert pair.x * pair.z + pair.y <= 1 + 1e-12
    assert pair.y >= pair.z


@pytest.mark.parametrize(("epsilon", "weight"), [(2.0, 1.0), (3.0, 0.9), (6.0, 0.9)])
def test_the_program_confirms_the_family(epsilon, weight):
    """With the family's split of epsilon, cells find a pair as good, up to their width, and none better."""
    pair = best_outside(epsilon, weight)
    found = best_on_cells(1 / pair.y, 1 / pair.z, weight, cells=20, end=pair.means.end + 1.2)

    assert -NOISE - 1e-6 <= found.cost - pair.means.weighted(weight) <= 1 / 40


def test_the_counterexample_is_exact(found):
    """e^epsilon = 16, four ticks to the gap: 4 ticks, where half of epsilon for each needs 4.25."""
    rows = {one["what"]: one["value"] for one in found.tables["counterexample"].records()}

    assert rows["e^epsilon"] == 16
    assert rows["for who stays, and for who moves"] == "2 and 8"
    assert rows["mean batched delay, ticks"] == 4
    assert rows["best mean with half of epsilon for each, ticks"] == pytest.approx(4.25)
    assert rows["half of epsilon for each, says the checker"] == "broken"


def test_sentences_are_true_of_the_tables(found, points):
    """The largest gain, the excess of the program, and no gain below 2 ln 2."""
    outside = found.tables["outside"].records()
    excess = max(one["cost, program"] - one["cost"] for one in points)

    least = min(one["cost, program"] - one["cost"] for one in points)

    assert "finds no better pair" in found.says[1]
    assert f"lies {least:+z.5f} to {excess:+.5f} gaps from" in found.says[1]
    assert found.says[4].endswith("(0.5, 1, 1.3) neither the family nor the program has any.")
    assert f"at most {100 * max(one['gain'] for one in outside):.1f} %" in found.says[4]
    for one in outside:
        if one["epsilon"] <= 2 * log(2):
            assert one["gain"] < 1e-9
            assert one["gain, program"] <= NOISE


def test_sentences_look_at_the_verdict(found):
    """A program below the closed form, or a gain below 2 ln 2, and they say so."""
    points, outside = found.tables["frontier"], found.tables["outside"]
    cost, gain = points.header.index("cost, program"), outside.header.index("gain, program")
    lower = replace(points, rows=[[*row[:cost], row[cost] - 0.5, *row[cost + 1 :]] for row in points.rows])
    higher = replace(outside, rows=[[*row[:gain], 0.01] for row in outside.rows])

    says = frontier._says({**found.tables, "frontier": lower, "outside": higher})
    assert "finds a better pair" in says[1]
    assert "its optimum lies -0.4" in says[1] or "its optimum lies -0.5" in says[1]
    assert says[4].endswith("there are some too.")


def test_axes_say_what_is_measured(found):
    """Both charts name the delay, its events and its unit."""
    for chart in found.charts.values():
        assert chart.to_dict()["layer"][0]["encoding"]["x"]["axis"]["title"].startswith(
            "mean delay of batched events, in gaps"
        )


def test_same_settings_give_the_same_tables():
    """A tiny run twice, with different seeds, and told how far it is."""
    told = []
    first = frontier.find(RunSettings(tiny=True, progress=lambda done, many: told.append((done, many))))
    second = frontier.find(RunSettings(tiny=True, seed=3))

    assert first.as_json() == second.as_json()
    assert told == [(1, 2), (2, 2)]
    assert {one["eta"] for one in first.tables["frontier"].records() if one["epsilon"] == 3} == {
        best_eta(1.5, weight) for weight in frontier.WEIGHTS[::3]
    }
