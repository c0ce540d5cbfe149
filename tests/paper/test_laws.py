"""The closed forms: the paper's tables out of them, and numeric work that does not know them.

And the linear programs against optima that are known.
"""

from fractions import Fraction
from itertools import product
from math import exp, inf, log, sqrt

import numpy as np
import pytest
from scipy.integrate import quad

from tarry.core.errors import BadInput, NotPossible
from tarry.core.mechanism import Ask
from tarry.core.plugins import load
from tarry.paper.laws import (
    best_eta,
    best_on_cells,
    best_split,
    exponential,
    staircase,
    uniform,
    zero_inflated_uniform,
)

EPSILONS = (0.1, 0.5, 1.0, 2.0)
BATCHED = 0.25  # share of edits that are batched
HOLD = 5.0  # minutes
GAPS = (654.5 / 60, 1951.9 / 60, 4712.4 / 60)  # minutes; printed as 11, 36 and 79
PRINTED = {  # mean at each epsilon, then maximum, in minutes
    GAPS[0]: ([118, 31, 20, 15], [229, 54, 33, 22]),
    GAPS[1]: ([343, 83, 50, 35], [672, 152, 88, 56]),
    GAPS[2]: ([820, 192, 115, 77], [1615, 360, 205, 129]),
}
CONSISTENT = {
    GAPS[0]: ([170.1, 42.9, 27.2, 19.6], [331.2, 76.9, 45.4, 30.2]),
    GAPS[1]: ([394.5, 94.5, 57.4, 39.4], [774.6, 174.7, 100.4, 64.4]),
    GAPS[2]: ([871.9, 204.3, 121.6, 81.5], [1717.9, 382.7, 217.3, 137.2]),
}
SHARES = (0.05, 0.25, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0)
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
GRID = list(product(SHARES, WEIGHTS))


def cost(share, eta, weight):
    """The weighted mean from E[B] = (1 + L) / 2 and E[U] = eta L / 2, with L = eta / (eta - e^-share)."""
    L = eta / (eta - exp(-share))
    return weight * (1 + L) / 2 + (1 - weight) * eta * L / 2


def table(entries):
    """The entries of a table one by one."""
    return [
        pytest.param(gap, epsilon, mean, most, id=f"g{gap:.1f}-e{epsilon}")
        for gap, (means, mosts) in entries.items()
        for epsilon, mean, most in zip(EPSILONS, means, mosts, strict=True)
    ]


@pytest.mark.parametrize(("gap", "epsilon", "mean", "most"), table(PRINTED))
def test_printed_tables(gap, epsilon, mean, most):
    """All 24 entries come out at eta 1 with five minutes added to everything and none to the gap."""
    means = uniform(epsilon / 2, gap)

    assert round(HOLD + means.weighted(BATCHED)) == mean
    assert round(HOLD + means.end) == most


@pytest.mark.parametrize(("gap", "epsilon", "mean", "most"), table(CONSISTENT))
def test_consistent_tables(gap, epsilon, mean, most):
    """A hold that is there for the window has the window in its gap too, which costs more."""
    means = uniform(epsilon / 2, gap + HOLD)

    assert HOLD + means.weighted(BATCHED) == pytest.approx(mean, abs=0.051)
    assert HOLD + means.end == pytest.approx(most, abs=0.051)


def test_printed_gap_is_not_the_one_used():
    """The second row was not computed with the gap of 36 minutes that is printed beside it."""
    means = [uniform(epsilon / 2, 36.0) for epsilon in EPSILONS]

    assert [round(HOLD + m.weighted(BATCHED)) for m in means] == [379, 91, 55, 38]
    assert [round(HOLD + m.end) for m in means] == [743, 168, 96, 62]


@pytest.mark.parametrize(("share", "weight"), GRID)
def test_best_eta_is_the_minimiser(share, weight):
    """No eta on a fine grid has a smaller weighted mean than the one of Algorithm 2."""
    a = exp(-share)
    etas = np.linspace(a, 1, 4001)[1:]

    found = zero_inflated_uniform(share, best_eta(share, weight)).weighted(weight)

    assert found <= min(cost(share, eta, weight) for eta in etas) + 1e-12
    assert found == pytest.approx(cost(share, best_eta(share, weight), weight))


def test_misprint_costs_more():
    """The root of the printed derivative is never better, and up to a tenth worse."""
    losses = []
    for share, weight in GRID:
        a = exp(-share)
        misprint = min(1.0, a + sqrt(a * a + weight * a * (1 - a)))
        losses.append(cost(share, misprint, weight) / cost(share, best_eta(share, weight), weight) - 1)

    assert min(losses) >= -1e-12
    assert max(losses) == pytest.approx(0.096, abs=5e-4)


def test_eta_at_the_ends():
    """Weight 1 gives eta 1, weight 0 gives 2 e^-share at most 1, and up to ln 2 no weight matters."""
    assert [best_eta(share, 1.0) for share in SHARES] == [1.0] * len(SHARES)
    assert [best_eta(share, 0.0) for share in SHARES] == pytest.approx(
        [min(1, 2 * exp(-share)) for share in SHARES]
    )
    assert {best_eta(share, w) for share in (0.01, 0.3, log(2)) for w in WEIGHTS} == {1.0}
    assert best_eta(log(2) + 0.01, 0.0) < 1


def test_eta_rises_with_weight():
    """The more batched delay counts, the less mass stays at zero."""
    etas = [best_eta(2.0, weight) for weight in WEIGHTS]

    assert etas == sorted(etas)
    assert etas[0] < etas[-1]


@pytest.mark.parametrize("share", SHARES)
def test_exponential_by_integration(share):
    """The exponential means are the integrals of their survival functions."""
    means = exponential(share, gap=3.0)
    rate = share / 3.0

    assert means.unbatched == pytest.approx(quad(lambda t: exp(-rate * t), 0, inf)[0])
    assert means.batched == pytest.approx(3.0 + means.unbatched)
    assert means.end == inf


@pytest.mark.parametrize("share", SHARES)
def test_uniform_by_integration(share):
    """The uniform means are the integrals of x times the density, and the end makes them private."""
    gap = 3.0
    means = uniform(share, gap)
    end = means.end

    assert means.batched == pytest.approx(quad(lambda x: x / (end - gap), gap, end)[0])
    assert means.unbatched == pytest.approx(quad(lambda x: x / end, 0, end)[0])
    assert (1 / (end - gap)) / (1 / end) == pytest.approx(exp(share))


@pytest.mark.parametrize("eta", [0.65, 0.8, 1.0])
def test_zero_inflated_by_integration(eta):
    """With chance 1 - eta nothing is waited; the uniform part is as private as it must be."""
    share, gap = 0.5, 3.0
    means = zero_inflated_uniform(share, eta, gap)
    end = means.end

    assert means.batched == pytest.approx(quad(lambda x: x / (end - gap), gap, end)[0])
    assert means.unbatched == pytest.approx(quad(lambda x: eta * x / end, 0, end)[0])
    assert (1 / (end - gap)) / (eta / end) == pytest.approx(exp(share))


def staircase_series(share, step):
    """E|Staircase| with this step, by summing steps until they vanish; the gap is 1."""
    decay = exp(-share)
    high = (1 - decay) / (step + (1 - step) * decay)
    total = mass = 0.0
    for j in range(int(60 / share) + 2):
        for left, right, density in ((j, j + step, high), (j + step, j + 1, high * decay)):
            total += density * decay**j * (right * right - left * left) / 2
            mass += density * decay**j * (right - left)
    assert mass == pytest.approx(1)
    return total


@pytest.mark.parametrize("share", SHARES)
def test_staircase_by_series(share):
    """The staircase mean is the sum over its steps, with the step that costs least."""
    step = 1 / (1 + exp(share / 2))

    assert staircase(share).unbatched == pytest.approx(staircase_series(share, step), rel=1e-12)
    assert staircase(share).batched == pytest.approx(1 + staircase_series(share, step), rel=1e-12)
    for other in (0.5 * step, 0.99 * step, 1.01 * step, 0.5 * (1 + step)):
        assert staircase_series(share, other) > staircase(share).unbatched


@pytest.mark.parametrize("share", SHARES)
def test_zero_inflation_beats_the_staircase(share):
    """At eta e^(-share / 2) both means are below those of the staircase with the same share."""
    means = zero_inflated_uniform(share, exp(-share / 2))

    assert means.batched < staircase(share).batched
    assert means.unbatched < staircase(share).unbatched


@pytest.mark.parametrize("law", [exponential, staircase, uniform])
def test_delays_scale_with_the_gap(law):
    """A gap five times as long makes every delay five times as long."""
    one, five = law(0.7), law(0.7, 5.0)

    assert (five.batched, five.unbatched, five.end) == pytest.approx(
        (5 * one.batched, 5 * one.unbatched, 5 * one.end)
    )


@pytest.mark.parametrize("name", ["zero-inflated-uniform", "uniform", "exponential", "staircase"])
@pytest.mark.parametrize("share", ["0.25", "0.5", "1", "2"])
@pytest.mark.parametrize("weight", ["0", "0.25", "1"])
def test_ticks_approach_continuous(name, share, weight):
    """As ticks shrink, delays on ticks come as near to the closed forms as one tick is long."""
    closed = {
        "zero-inflated-uniform": lambda s: zero_inflated_uniform(s, best_eta(s, float(weight))),
        "uniform": uniform,
        "exponential": exponential,
        "staircase": staircase,
    }[name](float(share))
    for start in (10, 100, 1000, 10_000):
        pair = load("law", name)(Ask(share=Fraction(share), start=start, weight=Fraction(weight)))
        w = float(weight)
        on_ticks = w * pair.batched.mean + (1 - w) * pair.unbatched.mean

        assert abs(on_ticks / start - closed.weighted(w)) <= 1 / start
        if closed.end < inf:
            assert abs((pair.batched.maximum + 1) / start - closed.end) <= 1.5 / start


def test_loss_of_ticks():
    """Rounding to ticks makes the default law cheaper by less than half a tick, never dearer."""
    for share, weight, start in product((0.25, 0.5, 1.0, 2.0), (0.0, 0.25, 1.0), (5, 60, 300)):
        ask = Ask(share=Fraction(share), start=start, weight=Fraction(weight))
        pair = load("law", "zero-inflated-uniform")(ask)
        on_ticks = float(ask.weight * pair.batched.mean + (1 - ask.weight) * pair.unbatched.mean)
        closed = zero_inflated_uniform(share, best_eta(share, weight), start).weighted(weight)

        assert -0.5 < on_ticks - closed < 0


@pytest.mark.parametrize("eta", [0.0, exp(-0.5), 1.001])
def test_eta_out_of_range(eta):
    """An eta that cannot be private, or is no chance, is refused with its bounds."""
    with pytest.raises(BadInput, match=r"eta must lie above e\^-share = 0\.606531 and be at most 1, not"):
        zero_inflated_uniform(0.5, eta)


@pytest.mark.parametrize("weight", [-0.01, 1.01])
def test_weight_out_of_range(weight):
    """A weight outside 0..1 is refused."""
    with pytest.raises(BadInput, match="weight must lie between 0 and 1, not"):
        best_eta(0.5, weight)


# --- linear programs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_an_atom_at_0_costs_nothing(weight):
    """With a cell of its own for 0, the program is as near at large epsilon as at small."""
    means = zero_inflated_uniform(2.0, best_eta(2.0, weight))
    found = best_on_cells(exp(2), exp(2), weight, cells=20, end=means.end + 1.2)

    assert -1e-9 <= found.cost - means.weighted(weight) < 0.001
    assert found.cost == pytest.approx(weight * found.batched + (1 - weight) * found.unbatched)


def test_on_ticks_the_program_knows_the_counterexample():
    """Half of epsilon for each needs 4.25 ticks; 2 for who stays and 8 for who moves needs 4."""
    ticks = [float(tick) for tick in range(20)]

    assert best_on_cells(4.0, 4.0, 1.0, cells=4, middles=ticks).cost == pytest.approx(4.25)
    assert best_on_cells(2.0, 8.0, 1.0, cells=4, middles=ticks).cost == pytest.approx(4.0)


def test_the_even_split_is_among_those_tried():
    """So the best split is never worse than it."""
    even = best_on_cells(exp(1), exp(1), 0.5, cells=10, end=3.0)

    assert best_split(2.0, 0.5, cells=10, end=3.0, splits=3).cost <= even.cost + 1e-12


def test_small_shares_get_the_room_they_need():
    """At epsilon 0.5 an eighth of the even share needs some twenty gaps, far beyond the even one's end."""
    even = best_on_cells(exp(0.25), exp(0.25), 1.0, cells=10, end=5.7)

    assert best_split(0.5, 1.0, cells=10, end=5.7, splits=8).cost == pytest.approx(even.cost)


def test_without_room_there_is_no_pair():
    """A support that ends too soon for the promise is told, not answered with nonsense."""
    with pytest.raises(NotPossible, match="no optimum"):
        best_on_cells(exp(0.25), exp(0.25), 0.5, cells=10, end=1.5)
