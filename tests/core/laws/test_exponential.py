"""The exponential law against geometric formulas, and its decay against e^(-share / G)."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from contracts.law_contract import Formula, LawCase, LawContract, grid
from tarry.core.laws.exponential import exponential, geometric_pair


def rate(decay):
    """-ln(decay) to 80 digits."""
    with localcontext() as context:
        context.prec = 120
        return Fraction(-(Decimal(decay.numerator) / Decimal(decay.denominator)).ln())


def decay_of(ask, pair):
    """The law's own decay, which must err on the private side and hardly at all."""
    first, second = (pair.unbatched.mass(tick) for tick in (0, 1))
    assert 0 < second < first
    decay = second / first
    x = ask.share / ask.start
    assert x * (1 - Fraction(1, 1 << 28)) <= rate(decay) <= x
    return decay


def formulas(ask, pair):
    """Both laws by the formulas: the batched one is the other, G ticks later."""
    G, decay = ask.start, decay_of(ask, pair)
    mean, looks = decay / (1 - decay), 3 * G + 8

    def mass(k):
        return (1 - decay) * decay**k if k >= 0 else Fraction(0)

    return (
        Formula(
            mass=lambda k: mass(k - G),
            mean=G + mean,
            support=(G, None),
            looks=looks + G,
            left=decay**looks,
        ),
        Formula(mass=mass, mean=mean, support=(0, None), looks=looks, left=decay**looks),
    )


class TestExponential(LawContract):
    """The exponential law meets the contract of laws."""

    case = LawCase(
        family=exponential,
        formulas=formulas,
        asks=grid("0.5 1 2 4 8", "1 2 7 20"),
        small=grid("2", "1 3") + grid("4", "4"),
    )


@pytest.mark.parametrize("ask", grid("0.000001 0.05 1 100", "1 300 86400 1099511627776"), ids=str)
def test_decay_at_every_scale(ask):
    """The decay errs on the private side and by less than 2^-28, from one tick to 2^40."""
    decay_of(ask, exponential(ask))


def test_means_of_a_coin():
    """With a decay of one half the unbatched mean is one tick, the batched one the start more."""
    pair = geometric_pair(Fraction(1, 2), start=3)

    assert (pair.unbatched.mean, pair.batched.mean) == (1, 4)
