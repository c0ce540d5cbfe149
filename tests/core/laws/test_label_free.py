"""The label-free law against its blocks delta E^j, filled from the left until the total is 1."""

from fractions import Fraction
from math import floor

import pytest

from contracts.law_contract import Formula, LawCase, LawContract, grid, ratio_of
from tarry.core.errors import BadInput, NotPossible
from tarry.core.laws.label_free import label_free
from tarry.core.mechanism import Ask


def formulas(ask, pair):
    """One law, twice."""
    E, G, delta = ratio_of(ask.share), ask.start, ask.delta

    def below(j):
        return delta * (E**j - 1) / (E - 1)

    J = 0
    while below(J + 1) <= 1:
        J += 1
    rho = 1 - below(J)
    m = floor(rho * G / (delta * E**J))
    last = rho - m * delta * E**J / G

    def mass(k):
        if 0 <= k < J * G + m:
            return delta * E ** (k // G) / G
        return last if k == J * G + m else Fraction(0)

    end = J * G + m + (1 if last else 0)
    mean = sum((k * mass(k) for k in range(end)), Fraction(0))
    law = Formula(mass=mass, mean=mean, support=(0, end - 1), looks=end + 3)
    return law, law


class TestLabelFree(LawContract):
    """The label-free law meets the contract of laws."""

    case = LawCase(
        family=label_free,
        formulas=formulas,
        asks=grid("0.5 1 2 4", "1 2 7 20", deltas="0.5 0.01 0.001", split=1),
        small=grid("1", "1 3", deltas="0.1", split=1) + grid("2", "2", deltas="0.3", split=1),
        label_free=True,
    )


def test_blocks_that_fill_exactly():
    """Where the blocks sum to 1 by themselves, no remainder is left over."""
    pair = label_free(Ask(share=Fraction(1), start=4, weight=Fraction(1), delta=Fraction(1)))

    assert pair.unbatched.maximum == 3
    assert pair.unbatched.mass(3) == Fraction(1, 4)


def test_too_many_steps():
    """A law of very many steps is refused before it is built, with what to change."""
    with pytest.raises(NotPossible, match="choose a larger epsilon or delta"):
        label_free(Ask(share=Fraction(1, 10**6), start=4, weight=Fraction(1), delta=Fraction(1, 10**9)))


def test_delta_is_needed():
    """Without a chance to fail there is no such law, and the error says what to give."""
    with pytest.raises(BadInput, match=r"delta must be above 0 .* such as 0\.001"):
        label_free(Ask(share=Fraction(1), start=4, weight=Fraction(1)))
