"""The worst ratio and the worst excess of two laws that nobody matched; matched ones: `test_laws`."""

from fractions import Fraction
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.brute_force import around_exp
from tarry.core.errors import BadInput
from tarry.core.law import Law, Run
from tarry.core.laws.exponential import exponential
from tarry.core.laws.staircase import staircase
from tarry.core.mechanism import Ask, LawPair
from tarry.core.verify.laws import common_period, log_ratio_bound, worst_excess, worst_ratio

SHARE = Fraction(1, 2)
RATIOS = [Fraction(3, 2), Fraction(2), Fraction(3)]
weights = st.lists(st.integers(0, 6), min_size=1, max_size=7).filter(any)


runs = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 6)), min_size=1, max_size=3)


@st.composite
def endless(draw):
    head, period, ratio = draw(st.just([]) | runs), draw(runs), draw(st.sampled_from(RATIOS))
    head_total, period_total = (sum(length * mass for length, mass in part) for part in (head, period))
    total = head_total + period_total * ratio / (ratio - 1)
    return Law(*(tuple(Run(n, mass / total) for n, mass in part) for part in (head, period)), ratio)


@given(batched=endless(), unbatched=endless(), start=st.integers(0, 4))
def test_the_worst_is_where_it_is_said_to_be(batched, unbatched, start):
    """Its delay and shift have a ratio that is above e^share exactly where it is called broken."""
    worst = worst_ratio(LawPair(batched=batched, unbatched=unbatched, start=start), SHARE)
    mine, theirs = batched.mass(worst.delay), unbatched.mass(worst.delay - worst.shift)

    assert 0 <= worst.shift <= start
    assert worst.broken is (mine > around_exp(SHARE)[0] * theirs)
    slower = batched.ratio**unbatched.period_length < unbatched.ratio**batched.period_length
    assert worst.endless is slower


def test_tails_that_fall_apart_by_a_rounding():
    """An exponential and a staircase of one share differ in the tenth digit: decided, very far out."""
    ask = Ask(share=SHARE, start=960, weight=Fraction(1))
    slow, fast = exponential(ask), staircase(ask)
    pair = LawPair(batched=slow.batched, unbatched=fast.unbatched, start=960)

    worst = worst_ratio(pair, SHARE)
    back = worst_ratio(LawPair(batched=fast.batched, unbatched=slow.unbatched, start=960), SHARE)

    assert worst.endless
    assert worst.delay > 10**9
    assert worst.log_ratio > SHARE
    assert log_ratio_bound(pair) == inf
    assert not back.endless
    assert back.delay < 3 * 960


def test_an_end_is_told_at_once():
    """A batched law without an end goes past one with an end, where nothing else is to be looked at."""
    ask = Ask(share=SHARE, start=10**9, weight=Fraction(1))
    end = 4 * 10**9
    pair = LawPair(
        batched=exponential(ask).batched, unbatched=Law((Run(end, Fraction(1, end)),)), start=10**9
    )

    worst = worst_ratio(pair, SHARE)

    assert (worst.delay, worst.shift, worst.log_ratio, worst.broken) == (end, 0, inf, True)


def test_when_periods_meet():
    """The least common multiple, nothing where a law has an end, None where it takes too long."""
    two, three, long, longer = (
        Law((), (Run(n, Fraction(1, 2 * n)),), Fraction(2)) for n in (2, 3, 1009, 1013)
    )

    assert common_period(two, three) == 6
    assert common_period(two, Law.of_masses([1])) == 0
    assert common_period(long, longer) is None


@given(batched=endless(), unbatched=endless(), start=st.integers(0, 4))
def test_the_bound_is_one(batched, unbatched, start):
    """The bound by exponentials that touch the tails is never below the worst, and infinite with it."""
    pair = LawPair(batched=batched, unbatched=unbatched, start=start)
    worst = worst_ratio(pair, SHARE)

    bound = log_ratio_bound(pair)

    assert bound == inf if worst.endless else bound >= worst.log_ratio - 1e-9


def test_the_bound_touches_a_run_at_its_last_tick():
    """A batched law that is flat where the other falls is worst at the end of its first run."""
    flat = Law((), (Run(3, Fraction(2, 9)),), Fraction(3))
    falling = Law((), (Run(1, Fraction(1, 6)),), Fraction(6, 5))
    pair = LawPair(batched=flat, unbatched=falling, start=0)

    worst = worst_ratio(pair, SHARE)

    assert worst.delay == 2
    assert log_ratio_bound(pair) >= worst.log_ratio


def excess(law, later, shift, factor):
    terms = (law.mass(k) - factor * later.mass(k - shift) for k in range(law.tail_start))
    return sum((max(Fraction(0), term) for term in terms), Fraction(0))


@given(first=weights, second=weights, start=st.integers(0, 5), delta=st.fractions(0, 1, max_denominator=30))
def test_the_excess_of_two_laws_like_brute_force(first, second, start, delta):
    """Looking only at shifts where ends of runs of the two laws meet finds what all shifts show."""
    law, later = (Law.of_masses([Fraction(w, sum(each)) for w in each]) for each in (first, second))
    factor, _ = around_exp(Fraction(1))

    worst = worst_excess(law, later, start, Fraction(1), delta)

    amounts = [excess(law, later, shift, factor) for shift in range(start + 1)]
    assert worst.broken is (max(amounts) > delta + Fraction(1, 10**50))
    assert float(worst.amount) == pytest.approx(float(max(amounts)), abs=1e-12)
    assert float(amounts[worst.shift]) == pytest.approx(float(worst.amount), abs=1e-12)


def test_the_worst_shift_may_meet_a_hole_of_the_later_law():
    """A shift that puts the one delay of a law over a hole of the other lies at no end of its own runs."""
    law = Law.of_masses([0, 0, 0, 1])
    later = Law.of_masses([Fraction(1, 3), 0, Fraction(1, 3), Fraction(1, 3)])

    assert worst_excess(law, later, 3, Fraction(1), Fraction(1, 2)).shift == 2


def test_an_endless_law_without_labels_is_refused():
    """As in `verify`: its excess is not a finite sum of runs."""
    law = Law((), (Run(1, Fraction(1, 2)),), Fraction(2))

    with pytest.raises(BadInput, match="this label-free law has no end"):
        worst_excess(Law.of_masses([1]), law, 1, Fraction(1), Fraction(1, 2))
