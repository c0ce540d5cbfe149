"""Slices: every event is where it is needed, and no part is much larger than another."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tarry.study.parts.cuts import Rhythm, slice_numbers

moments = st.lists(st.integers(min_value=-50, max_value=50), max_size=12)
reach = st.integers(min_value=0, max_value=30)


@given(moments, st.sets(st.integers(min_value=-50, max_value=50), max_size=6), reach, reach)
def test_every_event_is_in_each_part_that_needs_it_once(times, cuts, before, after):
    """Against the definition: start - before <= time < end + after."""
    edges = [-(10**6), *sorted(cuts), 10**6]
    expected = [
        (place, number)
        for place, time in enumerate(times)
        for number, (start, end) in enumerate(pairwise(edges))
        if start - before <= time < end + after
    ]

    places, slices = slice_numbers(
        np.array(times, dtype=np.int64),
        np.array(times, dtype=np.int64),
        np.array(edges[1:-1], dtype=np.int64),
        before=before,
        after=after,
    )

    assert list(zip(places.tolist(), slices.tolist(), strict=True)) == expected


@given(
    st.lists(st.integers(min_value=1, max_value=40), min_size=1, max_size=30),
    reach,
    reach,
    st.integers(min_value=1, max_value=200),
)
def test_cuts_rise_and_lie_inside(counts, before, after, most):
    """Every slice has a stretch at least, and the last one ends with the history."""
    rhythm = Rhythm(start=np.arange(len(counts)) * 7 - 20, count=np.array(counts), end=7 * len(counts) - 20)
    cuts = rhythm.cuts(before=before, after=after, most=most)

    assert (np.diff(cuts) > 0).all()
    assert set(cuts.tolist()) <= set(rhythm.start[1:].tolist())


def sizes(rhythm, cuts, before, after):
    """The events of each part, where each stretch is one moment."""
    moments = np.repeat(rhythm.start, rhythm.count)
    _, slices = slice_numbers(moments, moments, cuts, before=before, after=after)
    return np.bincount(slices)


def test_a_busy_hour_makes_no_slice_slow():
    """Three tenths of all events in a hundredth of the time: no part has 1.5 times the median."""
    count = np.full(10_000, 70)
    count[4_000:4_100] = 3_000
    rhythm = Rhythm(start=np.arange(10_000), count=count, end=10_000)
    for before in (0, 1, 5):
        parts = sizes(rhythm, rhythm.cuts(before=before, after=before, most=20_000), before, before)

        assert len(parts) > 8
        assert parts.max() < 1.5 * np.median(parts)


def test_a_moment_is_never_parted():
    """All events of one moment are in one slice, however many they are."""
    rhythm = Rhythm(start=np.array([0, 5, 9]), count=np.array([1, 10**6, 1]), end=10)

    assert rhythm.cuts(before=0, after=0, most=10).tolist() == [5, 9]
