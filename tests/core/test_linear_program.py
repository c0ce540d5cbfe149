"""Optimality by linear programming: what no formula of ours has a say in.

Delays are cut into cells; the masses of both laws in each cell are the unknowns. Cells are valid
densities, so the optimum over cells is never below the continuous optimum.
"""

from fractions import Fraction
from itertools import product
from math import ceil, exp, log

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

from tarry.core.law import Law
from tarry.core.laws.exponential import exponential
from tarry.core.laws.staircase import staircase
from tarry.core.laws.uniform import uniform
from tarry.core.laws.zero_inflated import zero_inflated_uniform
from tarry.core.mechanism import Ask, LawPair
from tarry.core.verify import verify_pair
from tarry.paper import laws as closed_forms

CELLS = 20  # to the gap
CONFIGURATIONS = list(product([0.5, 1.0, 2.0, 4.0], [0.0, 0.25, 0.5, 1.0]))
NOISE = 1e-9  # of the solver


def optimum(costs, reach, stay, move, weight):
    """The least weighted mean over all pairs with b_k <= stay * u_k and b_k <= move * u_(k-l), l <= reach.

    Unknowns are u then b, one of each for every cell. Below the reach b must be 0.
    """
    cells = len(costs)
    rows, columns, values = [], [], []
    for row, (k, l) in enumerate((k, l) for k in range(reach, cells) for l in range(reach + 1)):
        rows += [row, row]
        columns += [cells + k, k - l]
        values += [1.0, -(stay if l == 0 else move)]
    bounds = coo_array((values, (rows, columns)), shape=(rows[-1] + 1, 2 * cells))
    sums = np.kron(np.eye(2), np.ones(cells))
    upper = [1.0] * cells + [0.0] * reach + [1.0] * (cells - reach)
    result = linprog(
        np.concatenate([(1 - weight) * costs, weight * costs]),
        A_ub=bounds.tocsr(),
        b_ub=np.zeros(rows[-1] + 1),
        A_eq=sums,
        b_eq=[1.0, 1.0],
        bounds=[(0.0, most) for most in upper],
        method="highs",
    )
    assert result.success, result.message
    return result.fun


@pytest.mark.parametrize(("epsilon", "weight"), CONFIGURATIONS)
def test_closed_form_is_optimal(epsilon, weight):
    """No pair on cells beats Algorithm 2, and the best one comes as near as cells allow."""
    share = epsilon / 2
    eta = closed_forms.best_eta(share, weight)
    means = closed_forms.zero_inflated_uniform(share, eta)
    cells = ceil((means.end + 1.2) * CELLS)
    middles = (np.arange(cells) + 0.5) / CELLS

    found = optimum(middles, CELLS, exp(share), exp(share), weight)

    assert found - means.weighted(weight) >= -NOISE
    assert found - means.weighted(weight) <= (1 - eta) / (2 * CELLS) + 0.002


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_program_has_teeth(epsilon):
    """The bound on the program's optimum is one that the other laws of the paper do not meet."""
    share, weight = epsilon / 2, 0.25
    eta = closed_forms.best_eta(share, weight)
    best = closed_forms.zero_inflated_uniform(share, eta).weighted(weight)
    allowed = best + (1 - eta) / (2 * CELLS) + 0.002

    assert closed_forms.exponential(share).weighted(weight) > allowed
    assert closed_forms.staircase(share).weighted(weight) > allowed


@pytest.mark.parametrize("start", [2, 5, 12])
@pytest.mark.parametrize(("epsilon", "weight"), [("0.5", "1"), ("1", "0.25"), ("2", "0"), ("4", "0.5")])
def test_ticks_lose_less_than_half_a_tick(epsilon, weight, start):
    """On ticks the law costs at most half a tick more than the best pair there is, and never less."""
    ask = Ask(share=Fraction(epsilon) / 2, start=start, weight=Fraction(weight))
    pair = zero_inflated_uniform(ask)
    w = float(ask.weight)
    cost = w * float(pair.batched.mean) + (1 - w) * float(pair.unbatched.mean)
    ticks = np.arange(float(pair.batched.maximum + 1 + 2 * start))

    found = optimum(ticks, start, exp(ask.share), exp(ask.share), w)

    assert -NOISE <= cost - found < 0.5


@pytest.mark.parametrize("family", [uniform, exponential, staircase])
def test_no_law_beats_the_program(family):
    """None of the other laws has a smaller weighted mean on ticks than the program's optimum."""
    ask = Ask(share=Fraction(1, 2), start=6, weight=Fraction(1, 2))
    pair = family(ask)

    found = optimum(np.arange(60.0), 6, exp(0.5), exp(0.5), 0.5)

    assert float(pair.batched.mean + pair.unbatched.mean) / 2 >= found - NOISE


class TestOutsideTheClass:
    """Where stayer and mover may spend differently (r0 * rg <= e^epsilon), symmetry is not best."""

    pair = LawPair(
        batched=Law.of_masses([0, 0, 0, 0, 1]),
        unbatched=Law.of_masses([Fraction(mass, 8) for mass in (1, 1, 1, 1, 4)]),
        start=4,
    )

    def test_budget(self):
        """The counterexample spends e^epsilon = 16 exactly: 2 for the one who stays, 8 for the mover."""
        batched, unbatched = self.pair.batched, self.pair.unbatched
        stay = batched.mass(4) / unbatched.mass(4)
        move = max(batched.mass(4) / unbatched.mass(4 - l) for l in range(1, 5))

        assert (stay, move) == (2, 8)

    def test_beats_symmetry(self):
        """It releases batched posts after 4 ticks, where the best symmetric pair needs 4.25."""
        symmetric = optimum(np.arange(20.0), 4, 4.0, 4.0, 1.0)
        split = optimum(np.arange(20.0), 4, 2.0, 8.0, 1.0)

        assert self.pair.batched.mean == 4
        assert symmetric == pytest.approx(4.25)
        assert split == pytest.approx(4.0)

    def test_is_outside(self):
        """The checker does not let it pass as a pair with half of epsilon for each."""
        half = Fraction(1387, 1000)  # just above ln 4
        assert half > log(4)

        assert not verify_pair(self.pair, half).holds
        assert verify_pair(self.pair, Fraction(208, 100)).holds  # just above ln 8

    @pytest.mark.parametrize(("epsilon", "known"), [(2.0, 1.2707), (3.0, 1.0996), (4.0, 1.0366)])
    def test_gain_of_asymmetry(self, epsilon, known):
        """At weight 1 a split of 2 against e^epsilon / 2 beats Algorithm 2, and gets 1 + 2 e^-epsilon."""
        asymmetric = 1 + 2 * exp(-epsilon)
        middles = (np.arange(3 * CELLS) + 0.5) / CELLS

        found = optimum(middles, CELLS, 2.0, exp(epsilon) / 2, 1.0)

        assert asymmetric == pytest.approx(known, abs=5e-5)
        assert found == pytest.approx(asymmetric, abs=1 / (2 * CELLS))
        assert found < closed_forms.zero_inflated_uniform(epsilon / 2, 1.0).batched

    @pytest.mark.parametrize("stay", [1.1, 1.3, 2.0])
    def test_no_gain_below(self, stay):
        """At epsilon 1, below 2 ln 2, no uneven split of the budget beats Algorithm 2."""
        middles = (np.arange(40) + 0.5) / 10

        found = optimum(middles, 10, stay, exp(1.0) / stay, 1.0)

        assert found > closed_forms.zero_inflated_uniform(0.5, 1.0).batched - NOISE
