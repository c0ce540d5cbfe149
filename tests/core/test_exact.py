"""Enclosures against the decimal module and against plain fractions."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.exact import (
    _series,
    exceeds_exp,
    exp_bounds,
    exp_floor,
    exp_upper,
    log_of,
    power_bounds,
    ratio_below,
    settle,
)

exponents = st.fractions(min_value=0, max_value=60, max_denominator=10**12)
positive = st.fractions(min_value=Fraction(1, 10**9), max_value=50, max_denominator=10**9)
bases = st.fractions(min_value=0, max_value=1, max_denominator=10**9)


def around(x, digits=80):
    """Fractions below and above e^x, at least `digits` digits long and 10^-digits apart at e^0."""
    with localcontext() as context:
        context.prec = digits + 40
        power = Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())
    return power * (1 - Fraction(1, 10**digits)), power * (1 + Fraction(1, 10**digits))


@given(x=exponents, bits=st.integers(0, 200))
def test_exp_bounds_enclose(x, bits):
    """e^x lies between the bounds, and they are next to each other."""
    low, high = exp_bounds(x, bits)

    below, above = around(x)
    assert low <= above * 2**bits
    assert high >= below * 2**bits
    assert 0 <= high - low <= 2


@given(x=st.fractions(0, Fraction(1, 2), max_denominator=64), bits=st.integers(0, 40))
def test_series_encloses(x, bits):
    """Without any bits to spare the series still lies around e^x."""
    low, high = _series(x, bits)

    below, above = around(x)
    assert low <= above * 2**bits
    assert high >= below * 2**bits


@given(x=exponents.filter(bool), bits=st.integers(0, 200))
def test_exp_floor_is_the_floor(x, bits):
    """The integer part of e^x 2^bits is exact."""
    below, above = around(x, digits=120)

    assert exp_floor(x, bits) in {floor(below * 2**bits), floor(above * 2**bits)}
    assert floor(below * 2**bits) == floor(above * 2**bits)


def test_exp_of_zero():
    """e^0 is exactly 1, in every form."""
    assert exp_floor(Fraction(0), 40) == 1 << 40
    assert exp_upper(Fraction(0)) == 1
    low, high = exp_bounds(Fraction(0), 40)
    assert low <= 1 << 40 <= high


@given(share=positive)
def test_ratio_is_never_above(share):
    """R errs on the private side, and by at most 2^-32 of what it is above 1."""
    R = ratio_below(share)

    below, _ = around(share)
    assert 1 < R < below
    assert (below - R) / (below - 1) < Fraction(1, 1 << 32)


@pytest.mark.parametrize(
    ("share", "bits"),
    [("1", 32), ("7", 32), ("0.9", 33), ("0.5", 33), ("0.49", 34), ("0.25", 34), ("0.001", 42)],
)
def test_ratio_has_as_many_bits_as_needed(share, bits):
    """The denominator of R is 2^32, doubled for every halving of the share below 1."""
    assert (1 << bits) % ratio_below(Fraction(share)).denominator == 0
    assert ratio_below(Fraction(share)) == Fraction(exp_floor(Fraction(share), bits), 1 << bits)


@given(x=exponents, bits=st.integers(1, 128))
def test_exp_upper_is_never_below(x, bits):
    """What must err upward does, by at most one unit."""
    below, above = around(x)

    assert exp_upper(x, bits) >= below
    assert exp_upper(x, bits) <= above + Fraction(1, 1 << bits)


@given(x=exponents.filter(bool), bits=st.integers(1, 150), step=st.integers(-1, 1))
def test_exceeds_exp_decides(x, bits, step):
    """Numbers a hair from e^x, on either side, are told apart."""
    below, above = around(x, digits=120)
    value = Fraction(floor(below * 2**bits) + step, 1 << bits)

    assert exceeds_exp(value, x) is (value > above)


def test_exceeds_exp_at_zero():
    """Nothing but a number above 1 exceeds e^0."""
    assert not exceeds_exp(Fraction(1), Fraction(0))
    assert exceeds_exp(Fraction(10**30 + 1, 10**30), Fraction(0))


@given(base=bases, exponent=st.integers(0, 300), bits=st.integers(0, 150))
def test_power_bounds_enclose(base, exponent, bits):
    """The exact power lies between the bounds, and they are next to each other."""
    low, high = power_bounds(base, exponent, bits)

    assert low <= base**exponent * 2**bits <= high
    assert high - low <= 2


@given(places=st.integers(1, 40), exponent=st.integers(0, 60))
def test_power_bounds_meet_on_numbers_that_end(places, exponent):
    """A power with no more binary digits than were asked for is enclosed exactly."""
    base = Fraction((1 << places) - 1, 1 << places)

    low, high = power_bounds(base, exponent, places * exponent)

    assert low == high == base**exponent * 2 ** (places * exponent)


def test_long_powers_do_not_take_long_numbers():
    """A power with an exponent of 2^60 is enclosed by numbers as short as the bits asked for."""
    base = 1 - Fraction(1, 1 << 60)

    low, high = power_bounds(base, 1 << 60, 80)

    below, above = around(Fraction(1))
    assert 1 / above * (1 - Fraction(1, 1 << 59)) * 2**80 <= high
    assert low <= 1 / below * 2**80
    assert high - low <= 2


def test_settle_asks_for_more_bits():
    """Extra bits double until both sides agree."""
    asked = []

    def attempt(extra):
        asked.append(extra)
        return (5, 5) if extra > 100 else (5, 6)

    assert settle(attempt) == 5
    assert asked == [32, 64, 128]


@given(value=st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**6))
def test_log_of(value):
    """The logarithm is right to a float's precision, near 1 and far from it."""
    with localcontext() as context:
        context.prec = 60
        expected = float((Decimal(value.numerator) / Decimal(value.denominator)).ln())

    assert log_of(value) == pytest.approx(expected, rel=1e-13, abs=0)


@pytest.mark.parametrize("places", [1, 10, 40, 60, 200])
def test_log_of_nearly_one(places):
    """The logarithm of a number next to 1 is not lost between two large ones."""
    tiny = Fraction(1, 1 << places)

    assert log_of(1 + tiny) == pytest.approx(float(tiny), rel=float(tiny))
    assert log_of(1 - tiny) == pytest.approx(-float(tiny), rel=2 * float(tiny))


def test_log_of_huge():
    """Numbers beyond a float's range have logarithms all the same."""
    assert log_of(Fraction(3**5000, 7)) == pytest.approx(5000 * log(3) - log(7))
