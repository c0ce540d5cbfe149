"""Ticks: moments are rounded up, so a gap of at most g never becomes a tick longer."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tarry.core.ticks import ticks_up

MOMENTS = st.fractions(0, 10**6, max_denominator=10**6)
TICKS = st.fractions(Fraction(1, 1000), 3600, max_denominator=1000)


@given(MOMENTS, TICKS)
def test_ticks_up_is_the_first_tick_at_or_after_the_moment(moment, tick):
    """The tick of a moment does not end before it, and the tick before does."""
    k = ticks_up(moment, tick)

    assert (k - 1) * tick < moment <= k * tick


@given(st.integers(-(10**9), 10**9), TICKS)
def test_whole_ticks_stay_as_they_are(count, tick):
    """A moment on the border of a tick belongs to the tick that it ends."""
    assert ticks_up(count * tick, tick) == count


@given(MOMENTS, MOMENTS, TICKS)
def test_later_moments_have_no_earlier_ticks(a, b, tick):
    """Rounding keeps the order of moments."""
    assert ticks_up(min(a, b), tick) <= ticks_up(max(a, b), tick)


@given(MOMENTS, MOMENTS, MOMENTS, TICKS)
def test_a_gap_of_at_most_g_stays_within_the_ticks_of_g(moment, gap, more, tick):
    """Two moments at most g apart lie at most `ticks_up(g)` ticks apart, whatever their fractions."""
    apart = ticks_up(moment + gap, tick) - ticks_up(moment, tick)

    assert apart <= ticks_up(gap + more, tick)


@given(MOMENTS, st.integers(0, 10**9), TICKS)
def test_rounding_commutes_with_whole_ticks(moment, count, tick):
    """Adding whole ticks before or after rounding gives the same tick."""
    assert ticks_up(moment + count * tick, tick) == ticks_up(moment, tick) + count
