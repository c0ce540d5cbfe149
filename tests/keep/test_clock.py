"""The one clock: it never goes back, leans gently, and rounds moments up to ticks."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tarry.core.exact import ticks_up
from tarry.keep.store import MICROS, Anchor, Reading, SystemClock, advance, last_past_tick, now_tick

WALLS = st.integers(0, 10**16)
STEPS = st.lists(st.tuples(st.integers(0, 10**11), st.integers(-(10**13), 10**13)), max_size=20)


@given(WALLS, STEPS)
def test_it_never_goes_back_and_leans_by_a_sixteenth(wall, steps):
    """Within one boot it runs with the steady clock, give or take a sixteenth, whatever the wall does."""
    anchor = Anchor.at(Reading(wall, 0, "a"))
    steady = 0
    for passed, jump in steps:
        steady, wall = steady + passed, wall + passed + jump
        before, anchor = anchor.time, advance(anchor, Reading(wall, steady, "a"))

        assert passed - passed // 16 <= anchor.time - before <= passed + passed // 16


@given(WALLS, st.integers(-(10**13), 10**13))
def test_it_leans_towards_the_wall_clock_and_not_beyond(start, off):
    """However wrong the wall clock was set, the distance to it shrinks and never changes its sign."""
    anchor, wall, steady = Anchor.at(Reading(start, 0, "a")), start + off, 0
    for _ in range(5):
        wall, steady = wall + MICROS, steady + MICROS
        distance, anchor = wall - MICROS - anchor.time, advance(anchor, Reading(wall, steady, "a"))

        assert abs(wall - anchor.time) == max(0, abs(distance) - MICROS // 16)
        assert (wall - anchor.time) * off >= 0


@given(WALLS, WALLS, st.integers(0, 10**13), st.integers(0, 10**13))
def test_over_a_reboot_it_takes_the_wall_clock_but_not_before_itself(wall, later, steady, again):
    """After a reboot the steady clock says nothing: the wall clock is believed, unless it is behind."""
    anchor = Anchor.at(Reading(wall, steady, "a"))

    assert advance(anchor, Reading(later, again, "b")).time == max(wall, later)


@given(WALLS, st.integers(0, 10**9))
def test_a_steady_clock_that_steps_back_moves_nothing(wall, steady):
    """Even a steady clock that lies does not turn the clock back."""
    anchor = Anchor.at(Reading(wall, steady + 5, "a"))

    assert advance(anchor, Reading(wall, steady, "a")).time == wall


@given(WALLS, st.fractions(Fraction(1, 1000), 3600, max_denominator=1000))
def test_moments_are_rounded_up_to_ticks(micros, tick):
    """A moment belongs to the tick that ends at it or after it, and the tick before is past."""
    number = now_tick(micros, tick)

    assert number == ticks_up(Fraction(micros, MICROS), tick)
    assert (number - 1) * tick < Fraction(micros, MICROS) <= number * tick
    assert last_past_tick(micros, tick) == number - 1


def test_the_machines_clocks_run():
    """Two readings of one machine belong to one boot, and the steady clock does not go back."""
    first, second = SystemClock().read(), SystemClock().read()

    assert first.boot == second.boot
    assert first.steady <= second.steady
    assert SystemClock().read(7).wall == 7  # a database's clock goes first


def test_without_a_name_from_the_system_a_boot_is_a_process(monkeypatch):
    """Where the system does not name its boots, no two clocks are taken for one."""

    def no_file(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr("tarry.keep.store.Path.read_text", no_file)

    assert SystemClock().read().boot != SystemClock().read().boot


def test_a_steady_clock_that_went_back_is_another_one():
    """A machine put back to an earlier state goes on by its wall clock."""
    anchor = Anchor.at(Reading(wall=1_000, steady=900, boot="a"))

    assert advance(anchor, Reading(wall=5_000, steady=100, boot="a")).time == 5_000
