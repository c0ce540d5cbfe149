"""The linear programs against optima that are known."""

from math import exp

import pytest

from tarry.core.errors import NotPossible
from tarry.paper.closed_forms import best_eta, zero_inflated_uniform
from tarry.paper.linear_programs import best_on_cells, best_split, soonest


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


def test_a_law_that_ends_too_soon_is_told():
    """Two gaps are not enough for delta 0.01 at epsilon 1."""
    with pytest.raises(NotPossible, match="no optimum"):
        soonest(1.0, 0.01, 1, ticks=2, last=2)


def test_more_gaps_are_never_less():
    """What is released within two gaps is released within three."""
    found = [soonest(0.5, 0.05, gaps, ticks=2) for gaps in range(1, 5)]

    assert found == sorted(found)
    assert found[0] == pytest.approx(0.05)
