"""The uniform law against L = max(G + 1, ceil(R G / (R - 1))), b = 1 / (L - G), u = 1 / L."""

from fractions import Fraction
from math import ceil

import pytest

from contracts.law_contract import Formula, LawCase, LawContract, grid, ratio_of
from tarry.core.laws.uniform import uniform
from tarry.core.mechanism import Ask


def support_end(ask):
    """The least L at which 1 / (L - G) <= R / L."""
    R = ratio_of(ask.share)
    return max(ask.start + 1, ceil(R * ask.start / (R - 1)))


def formulas(ask, pair):
    """Both laws by the formulas."""
    G, L = ask.start, support_end(ask)
    return (
        Formula(
            mass=lambda k: Fraction(1, L - G) if G <= k < L else Fraction(0),
            mean=Fraction(G + L - 1, 2),
            support=(G, L - 1),
            looks=L + 3,
        ),
        Formula(
            mass=lambda k: Fraction(1, L) if 0 <= k < L else Fraction(0),
            mean=Fraction(L - 1, 2),
            support=(0, L - 1),
            looks=L + 3,
        ),
    )


class TestUniform(LawContract):
    """The uniform law meets the contract of laws."""

    case = LawCase(
        family=uniform,
        formulas=formulas,
        asks=grid("0.1 0.5 1 2 4 8", "1 2 7 40"),
        small=grid("2", "1 3") + grid("4", "2 4"),
    )


@pytest.mark.parametrize("ask", grid("0.5 1 2 8", "2 7 40"), ids=str)
def test_end_is_least(ask):
    """One tick less of support would make a batched delay more likely than e^share allows."""
    G, L = ask.start, support_end(ask)

    pair = uniform(ask)

    assert pair.batched.maximum == L - 1
    assert L - 1 == G or Fraction(L - 1, L - 1 - G) > ratio_of(ask.share)


def test_weight_does_not_matter():
    """There is nothing to trade: every weight gives the same pair."""
    asks = [Ask(share=Fraction(1), start=9, weight=Fraction(w, 4)) for w in range(5)]

    assert len({uniform(ask) for ask in asks}) == 1
