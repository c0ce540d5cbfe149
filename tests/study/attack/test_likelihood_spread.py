"""Sums of gaps and delays: right for every shape of law, cut where they say, exact in small masses."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.core.law import Law, Run
from tarry.study.attack.likelihood_spread import GapLaw, Masses, law_ticks, spread

RUNS = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), max_size=4)


@st.composite
def laws(draw):
    """Any head, with or without an endless tail, scaled so that all masses sum to 1."""
    head = [Run(length, Fraction(mass)) for length, mass in draw(RUNS)]
    period = [Run(length, Fraction(mass)) for length, mass in draw(RUNS)]
    ratio = Fraction(draw(st.integers(11, 40)), 10) if any(run.mass for run in period) else Fraction(1)
    period = period if ratio > 1 else []
    total = sum(run.total for run in head)
    total += sum(run.total for run in period) * ratio / (ratio - 1) if period else 0
    if not total:
        return Law.of_masses([0, 1])
    scale = [tuple(Run(run.length, run.mass / total) for run in runs) for runs in (head, period)]
    return Law(*scale, ratio)


@given(laws(), st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(-50, 50))
def test_a_delay_is_added_tick_by_tick(law, values, low):
    """Doubling gives what the plain convolution with the law's masses gives."""
    values = np.array(values, dtype=float)
    dense = [float(law.mass(tick)) for tick in range(law_ticks(law, 1e-6))]
    later = spread(Masses(low=low, values=values), law, 1e-6)

    assert later.low == low
    np.testing.assert_allclose(later.values, np.convolve(values, dense), rtol=1e-12, atol=1e-300)


@given(laws(), st.sampled_from([1e-3, 1e-9]))
def test_a_law_is_cut_at_the_first_period_that_leaves_little_enough(law, cut):
    """At most the cut is dropped, and one period less would have dropped more; a law that ends is whole."""
    ticks = law_ticks(law, cut)
    left = 1 - law.cumulative(ticks - 1)

    assert left <= cut * (1 + 1e-6)
    if law.period and ticks > law.tail_start + law.period_length:
        assert left * law.ratio > cut * (1 - 1e-6)
    if not law.period:
        assert left == 0


def test_small_masses_keep_their_digits_beside_large_ones():
    """A sum of 1e-30 a thousand ticks from a mass of 1 is exact, and nothing is left over elsewhere."""
    values = np.zeros(5000)
    values[0], values[4000] = 1.0, 1e-30
    run = Law((Run(1000, Fraction(1, 1000)),))

    later = spread(Masses(low=0, values=values), run, 1e-9).values

    assert later[4000:5000].tolist() == pytest.approx([1e-33] * 1000, rel=1e-12)
    assert not later[1000:4000].any()


@given(st.lists(st.integers(-20, 20), min_size=1), st.integers(0, 25))
def test_a_sample_of_gaps_loses_its_signs_and_nothing_else(sample, limit):
    """Either sign is as likely; gaps beyond the limit are left out."""
    law = GapLaw.of_sample(sample)
    either, forward = law.either(limit), law.forward(limit)

    for gap in range(-limit, limit + 1):
        share = sum(abs(each) == abs(gap) for each in sample) / len(sample)
        assert either.within(limit)[gap + limit] == pytest.approx(share / (2 if gap else 1))
        assert forward.within(limit)[gap + limit] == pytest.approx(share if gap >= 0 else 0)
    assert law.within(limit) == pytest.approx(float(forward.values.sum()))
    assert law.farthest == max(map(abs, sample))


def test_masses_outside_the_window_are_dropped():
    """A window shorter than the masses, apart from them, or wider."""
    masses = Masses(low=-1, values=np.array([0.0, 0.25, 0.75]))

    assert masses.within(0).tolist() == [0.25]
    assert masses.within(2).tolist() == [0, 0, 0.25, 0.75, 0]
    assert Masses(low=5, values=np.ones(1)).within(2).tolist() == [0] * 5
    assert masses.farthest == 1
    assert masses.mirrored().within(1).tolist() == [0.75, 0.25, 0]


@pytest.mark.parametrize("sample", [[], [0.5]])
def test_what_is_no_sample_of_gaps_is_refused(sample):
    """Empty, or not whole ticks."""
    with pytest.raises(BadInput, match="a sample of gaps must hold whole ticks"):
        GapLaw.of_sample(sample)


@pytest.mark.parametrize(
    ("distances", "masses", "what"),
    [
        ([], [], "must have a mass for each distance"),
        ([0], [0.5, 0.5], "must have a mass for each distance"),
        ([0, 1], [0.9, 0.2], "the masses of a law of gaps"),
        ([0, 1], [-0.1, 0.2], "the masses of a law of gaps"),
        ([0, 1], [0.0, 0.0], "the masses of a law of gaps"),
        ([0, 1], [0.5, float("nan")], "the masses of a law of gaps"),
        ([3, 1], [0.5, 0.5], "the distances of a law of gaps"),
        ([-1, 1], [0.5, 0.5], "the distances of a law of gaps"),
    ],
)
def test_what_is_no_law_of_gaps_is_refused(distances, masses, what):
    """Empty, negative, unsorted, nothing at all or more than everything."""
    with pytest.raises(BadInput, match=what):
        GapLaw(distances=np.array(distances), masses=np.array(masses))
