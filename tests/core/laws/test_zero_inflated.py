"""The zero-inflated uniform law against its masses, and its end against a scan of all ends."""

from fractions import Fraction
from math import ceil

import pytest

from contracts.law_contract import Formula, LawCase, LawContract, grid, ratio_of
from tarry.core.laws.zero_inflated import zero_inflated_uniform


def mean_batched(G, L):
    """E[B] = (G + L - 1) / 2."""
    return Fraction(G + L - 1, 2)


def mean_unbatched(R, G, L):
    """E[U] = L (L - 1) / (2 R (L - G))."""
    return L * (L - 1) / (2 * R * (L - G))


def best_end(ask):
    """The first L from which one more tick does not pay; the cost is convex."""
    R, G, w = ratio_of(ask.share), ask.start, ask.weight

    def cost(L):
        return w * mean_batched(G, L) + (1 - w) * mean_unbatched(R, G, L)

    L = max(G + 1, ceil(R * G / (R - 1)))
    while cost(L + 1) < cost(L):
        L += 1
    return L


def formulas(ask, pair):
    """Both laws by the formulas."""
    R, G, L = ratio_of(ask.share), ask.start, best_end(ask)
    c = 1 / (R * (L - G))

    def unbatched(k):
        if k == 0:
            return 1 - (L - 1) * c
        return c if 1 <= k < L else Fraction(0)

    return (
        Formula(
            mass=lambda k: Fraction(1, L - G) if G <= k < L else Fraction(0),
            mean=mean_batched(G, L),
            support=(G, L - 1),
            looks=L + 3,
        ),
        Formula(mass=unbatched, mean=mean_unbatched(R, G, L), support=(0, L - 1), looks=L + 3),
    )


class TestZeroInflatedUniform(LawContract):
    """The zero-inflated uniform law meets the contract of laws."""

    case = LawCase(
        family=zero_inflated_uniform,
        formulas=formulas,
        asks=grid("0.1 1 2 8", "1 2 7 40", "0 0.25 1"),
        small=grid("2", "1 3", "0.25") + grid("4", "4", "0 1"),
    )


@pytest.mark.parametrize("ask", grid("0.5 1 2 4 8", "2 7 40", "0 0.25 0.9 1"), ids=str)
def test_no_other_end_costs_less(ask):
    """Of all ends that leave tick 0 the largest unbatched mass, none has a smaller weighted mean."""
    R, G, w = ratio_of(ask.share), ask.start, ask.weight
    pair = zero_inflated_uniform(ask)
    cost = w * pair.batched.mean + (1 - w) * pair.unbatched.mean

    least = max(G + 1, ceil(R * G / (R - 1)))
    for L in range(least, least + 4 * G):
        assert w * mean_batched(G, L) + (1 - w) * mean_unbatched(R, G, L) >= cost


@pytest.mark.parametrize("ask", grid("0.5 1 2 4 8", "1 2 7 40", "0 0.25 1"), ids=str)
def test_eta(ask):
    """Eta is L / (R (L - G)), at most 1: what the flat part would weigh with tick 0 in it."""
    L = best_end(ask)

    eta = zero_inflated_uniform(ask).eta

    assert eta == L / (ratio_of(ask.share) * (L - ask.start))
    assert eta <= 1


@pytest.mark.parametrize(
    ("epsilon", "weight", "end"), [("0.5", "1", 1357), ("1", "1", 763), ("2", "0.25", 517)]
)
def test_known_ends(epsilon, weight, end):
    """At a gap of 300 ticks the supports end where an independent computation ended them."""
    (ask,) = grid(epsilon, "300", weight)

    assert zero_inflated_uniform(ask).batched.maximum == end - 1
