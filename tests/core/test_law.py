"""A law as such: what is asked of it against sums over its masses."""

from dataclasses import FrozenInstanceError
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.core.law import Law, Mass, Run
from tarry.core.laws.exponential import exponential
from tarry.core.mechanism import Ask

LOOKS = 40
runs = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 5)), min_size=1, max_size=5).filter(
    lambda pairs: any(weight for _, weight in pairs)
)
ratios = st.sampled_from([Fraction(11, 10), Fraction(3, 2), Fraction(2), Fraction(7, 3), Fraction(50)])


def built(head, period, ratio):
    """A law from runs of (length, weight)."""
    repeats = ratio / (ratio - 1) if period else 0
    total = sum(n * w for n, w in head) + repeats * sum(n * w for n, w in period)
    parts = [tuple(Run(n, Fraction(w) / total) for n, w in part) for part in (head, period)]
    return Law(parts[0], parts[1], ratio)


ending = st.builds(lambda head: built(head, [], Fraction(1)), runs)
endless = st.builds(built, st.just([]) | runs, runs, ratios)
laws = ending | endless


def listed(law, count=LOOKS):
    """The masses of the first ticks, by walking through the runs."""
    masses = [run.mass for run in law.head for _ in range(run.length)]
    shrink = Fraction(1)
    while law.period and len(masses) < count:
        masses += [run.mass / shrink for run in law.period for _ in range(run.length)]
        shrink *= law.ratio
    return (masses + [Fraction(0)] * count)[:count]


@given(law=laws)
def test_mass(law):
    """The mass of a tick is that of its run, smaller by the ratio with every period."""
    assert [law.mass(tick) for tick in range(LOOKS)] == listed(law)
    assert law.mass(-1) == law.mass(-7) == 0


@given(law=laws)
def test_cumulative(law):
    """Cumulative mass is the sum of the masses, from 0 before the first tick."""
    assert [law.cumulative(tick) for tick in range(-2, LOOKS)] == [0, 0, *accumulate(listed(law))]


@given(law=laws)
def test_totals(law):
    """Head and tail together are 1, and the tail is what the head leaves."""
    assert law.head_total + law.tail_total == 1
    assert law.tail_total == 1 - law.cumulative(law.tail_start - 1)


@given(law=laws)
def test_mean(law):
    """The mean is the sum over ticks, exactly where the law ends and in the limit where it does not."""
    if not law.period:
        assert law.mean == sum(tick * mass for tick, mass in enumerate(listed(law)))
        return
    # E[X] = sum over k of P(X > k): whole periods of it form a geometric series
    head = sum(1 - law.cumulative(tick) for tick in range(law.tail_start))
    period = sum(1 - law.cumulative(law.tail_start + tick) for tick in range(law.period_length))
    assert law.mean == head + period * law.ratio / (law.ratio - 1)


@given(law=laws)
def test_ends(law):
    """The shortest and the longest delay are the first and the last tick with mass."""
    masses = listed(law, law.tail_start + law.period_length)
    held = [tick for tick, mass in enumerate(masses) if mass]

    assert law.minimum == held[0]
    assert law.maximum == (None if law.period else held[-1])


@given(law=laws, share=st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50))
def test_quantile(law, share):
    """A quantile is the first tick whose cumulative mass reaches the share."""
    tick = law.quantile(share)

    assert law.cumulative(tick) >= share
    assert law.cumulative(tick - 1) < share


@given(law=laws, tick=st.integers(0, 20))
def test_quantile_at_a_tie(law, tick):
    """A share that a tick reaches exactly is reached there, and a hair more is not."""
    share = law.cumulative(tick)
    if 0 < share < 1:
        first = law.quantile(share)

        assert law.cumulative(first) == share
        assert law.cumulative(first - 1) < share
        above = share + (1 - share) / 2**200
        assert law.quantile(above) > tick


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1), Fraction(3, 2), Fraction(-1, 2)])
def test_quantile_out_of_range(share):
    """A share that no delay or every delay stays within has no quantile."""
    with pytest.raises(BadInput, match="must be above 0 and below 1"):
        Law.of_masses([1]).quantile(share)


@pytest.mark.parametrize("start", [86_400, 86_400_000_000, 1 << 40])
@pytest.mark.parametrize("share", ["0.000001", "0.5"])
@pytest.mark.parametrize("wanted", ["0.001", "0.5", "0.999"])
def test_quantile_at_any_scale(start, share, wanted):
    """The quantile of a law over 2^40 ticks is exact, and found at once."""
    law = exponential(Ask(share=Fraction(share), start=start, weight=Fraction(1))).unbatched

    tick = law.quantile(Fraction(wanted))

    with localcontext() as context:
        context.prec = 80
        rate = (Decimal(law.ratio.numerator) / Decimal(law.ratio.denominator)).ln()
        left = (1 - Decimal(wanted)).ln()
        assert -rate * (tick + 1) <= left < -rate * tick  # P(X > tick) = ratio^-(tick + 1)


@given(law=laws, first=st.integers(-3, 25), length=st.integers(0, 20))
def test_lows(law, first, length):
    """Among the few ticks named, all within the range, is one with the smallest mass of the range."""
    last = first + length

    lows = list(law.lows(first, last))

    assert all(first <= tick <= last and law.mass(tick) == low.exact for tick, low in lows)
    assert min(low.exact for _, low in lows) == min(law.mass(tick) for tick in range(first, last + 1))


@given(law=laws, end=st.integers(1, LOOKS))
def test_steps(law, end):
    """The runs below an end tell the mass of every tick once, up to the end or the law's own."""
    told = [(tick, mass.exact) for first, last, mass in law.steps(end) for tick in range(first, last + 1)]

    count = end if law.period else min(end, law.tail_start)
    assert told == list(enumerate(listed(law)[:count]))


@given(law=laws, start=st.integers(0, 15))
def test_from_tick(law, start):
    """Given at least so many ticks, each later mass grows by the same factor and none is before."""
    left = 1 - law.cumulative(start - 1)
    if not left:
        with pytest.raises(BadInput, match="the law has no delay of"):
            law.from_tick(start)
        return

    later = law.from_tick(start)

    assert listed(later) == [mass / left if tick >= start else 0 for tick, mass in enumerate(listed(law))]
    assert later.cumulative(LOOKS) == 1 - (1 - law.cumulative(LOOKS)) / left


def test_from_tick_far_out():
    """A tail cut between periods stays short, however far out."""
    law = exponential(Ask(share=Fraction(1, 2), start=10**12, weight=Fraction(1))).unbatched

    later = law.from_tick(10**12)

    assert later.mass(10**12) == law.mass(0)
    assert later.minimum == 10**12


@given(law=laws)
def test_same_as_another_spelling(law):
    """A law cut into other runs is the same law."""
    split = Law(
        tuple(Run(1, run.mass) for run in law.head for _ in range(run.length)),
        tuple(Run(1, run.mass) for run in law.period for _ in range(run.length)),
        law.ratio,
    )

    assert law.same_as(split)
    assert split.same_as(law)
    assert law.same_as(law.from_tick(0))


@given(law=endless)
def test_same_as_with_a_longer_head(law):
    """A period written out as part of the head changes nothing."""
    unrolled = Law(
        (*law.head, *law.period),
        tuple(Run(run.length, run.mass / law.ratio) for run in law.period),
        law.ratio,
    )

    assert law.same_as(unrolled)
    assert unrolled.same_as(law)


@given(law=endless, times=st.integers(2, 4))
def test_same_as_with_longer_periods(law, times):
    """Several periods written as one change nothing, and a changed one among them is seen."""
    runs = [Run(run.length, run.mass / law.ratio**i) for i in range(times) for run in law.period]
    long = Law(law.head, tuple(runs), law.ratio**times)
    total = law.period_total * (1 - 1 / law.ratio**times) / (1 - 1 / law.ratio)
    other = Law((*law.head, Run(1, Fraction(0))), (Run(1, total),), law.ratio**times)

    assert law.same_as(long)
    assert long.same_as(law)
    assert not law.same_as(other)


@given(one=laws, two=laws)
def test_same_as_is_no_mistake(one, two):
    """Laws called the same have the same masses."""
    if one.same_as(two):
        assert listed(one) == listed(two)
    if listed(one) != listed(two):
        assert not one.same_as(two)


def test_same_as_sees_the_tail():
    """Laws that agree in their heads and differ far out are not the same."""
    half = Fraction(1, 2)
    head = (Run(1, half),)
    slow = Law(head, (Run(1, Fraction(1, 4)),), Fraction(2))
    fast = Law(head, (Run(1, Fraction(1, 3)),), Fraction(3))

    assert not slow.same_as(fast)
    assert not slow.same_as(Law.of_masses([half, half]))


def test_same_as_sees_inside_the_period():
    """Laws whose periods hold the same mass in another order are not the same."""
    up, down = (tuple(Run(1, Fraction(m, 12)) for m in masses) for masses in ((2, 3, 1), (2, 1, 3)))

    assert not Law((), up, Fraction(2)).same_as(Law((), down, Fraction(2)))


@given(weights=st.lists(st.integers(0, 5), min_size=1, max_size=12).filter(any))
def test_of_masses(weights):
    """A law from a list of masses has these masses, equal neighbours joined to one run."""
    masses = [Fraction(weight, sum(weights)) for weight in weights]

    law = Law.of_masses(masses)

    assert listed(law, len(masses)) == masses
    assert all(a.mass != b.mass for a, b in zip(law.head, law.head[1:], strict=False))


def test_mass_is_not_multiplied_out():
    """The mass of a far tick is kept as a coefficient and a power."""
    law = Law((), (Run(2, Fraction(1, 4)),), Fraction(2))

    assert law.term(2 * 10**9 + 1) == Mass(Fraction(1, 4), Fraction(2), 10**9)
    assert law.term(4).exact == Fraction(1, 16)


@pytest.mark.parametrize(
    ("head", "period", "ratio", "text"),
    [
        ([Run(0, Fraction(1))], [], 1, "a run must have at least one tick, not 0"),
        ([Run(2, Fraction(1)), Run(1, Fraction(-1))], [], 1, "a mass must be 0 or more, not -1"),
        ([Run(1, Fraction(1, 2))], [], 1, "the masses of a law must sum to 1, not to 1/2"),
        ([Run(3, Fraction(1, 2))], [], 1, "the masses of a law must sum to 1, not to 3/2"),
        ([Run(1, Fraction(1))], [], 2, "a law without an end must have a period"),
        ([], [Run(1, Fraction(1))], 1, "a ratio above 1"),
        ([Run(1, Fraction(1))], [Run(1, Fraction(0))], 2, "a period with some mass"),
        ([], [Run(1, Fraction(1, 2))], 3, "the masses of a law must sum to 1, not to 3/4"),
        ([], [], 1, "the masses of a law must sum to 1, not to 0"),
    ],
)
def test_refused(head, period, ratio, text):
    """What is not a law is refused, with the number that makes it none."""
    with pytest.raises(BadInput, match=text):
        Law(tuple(head), tuple(period), Fraction(ratio))


@pytest.mark.parametrize(("length", "mass"), [(1, 0.5), (1.0, Fraction(1)), (1, "1/2")])
def test_runs_are_exact(length, mass):
    """A float or a text is no mass and no number of ticks."""
    with pytest.raises(BadInput, match="a whole number of ticks and an exact mass"):
        Run(length, mass)


def test_laws_do_not_change():
    """A law is frozen."""
    with pytest.raises(FrozenInstanceError):
        Law.of_masses([1]).ratio = Fraction(2)
