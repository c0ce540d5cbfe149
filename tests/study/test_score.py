"""Scores: shares as they were measured, none where there is none, curves by their definitions."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.study.score import Counts, Score, average_precision, crossover, precision_at, recall_at

LINKED, OTHERS = 8, 40
#: Claims (right, wrong) that only grow, as those of ever longer cutoffs do.
CURVES = st.lists(st.tuples(st.integers(0, LINKED), st.integers(0, OTHERS)), min_size=1, max_size=8).map(
    lambda steps: list(zip(*(sorted(column) for column in zip(*steps, strict=True)), strict=True))
)


def counts(right, wrong, linked=LINKED, others=OTHERS):
    """What becomes of all candidates when so many claims are right and so many wrong."""
    return Counts(
        true_positives=right,
        false_positives=wrong,
        false_negatives=linked - right,
        true_negatives=others - wrong,
    )


def curve(steps):
    """The counts of a curve."""
    return [counts(right, wrong) for right, wrong in steps]


def area_by_rectangles(steps):
    """Average precision over the rationals: every newly found pair counts the precision it came with."""
    area, reached = Fraction(0), 0
    for right, wrong in sorted(steps, key=sum):
        if right + wrong:
            area += Fraction(right - reached, LINKED) * Fraction(right, right + wrong)
            reached = right
    return area


def crossing(steps):
    """The crossover over the rationals, by halving: false alarms only rise along the curve, misses fall."""
    line = [(Fraction(0), Fraction(1))]
    line += [(Fraction(wrong, OTHERS), 1 - Fraction(right, LINKED)) for right, wrong in steps]
    line += [(Fraction(1), Fraction(0))]
    low, high = Fraction(0), Fraction(len(line) - 1)

    def at(place):
        whole = min(int(place), len(line) - 2)
        part = place - whole
        return tuple(a + part * (b - a) for a, b in zip(line[whole], line[whole + 1], strict=True))

    for _ in range(80):
        middle = (low + high) / 2
        alarm, miss = at(middle)
        low, high = (low, middle) if alarm >= miss else (middle, high)
    return float(at(high)[0])


@given(right=st.integers(0, 9), wrong=st.integers(0, 9), missed=st.integers(0, 9), left=st.integers(0, 9))
def test_shares_are_never_smoothed(right, wrong, missed, left):
    """They are the quotients of the counts, and None where there is nothing to divide by."""
    found = Counts(true_positives=right, false_positives=wrong, false_negatives=missed, true_negatives=left)

    assert found.precision == (right / (right + wrong) if right + wrong else None)
    assert found.recall == (right / (right + missed) if right + missed else None)
    assert found.false_positive_rate == (wrong / (wrong + left) if wrong + left else None)


def test_a_precision_that_falls_and_rises_again_stays_so():
    """No curve is sorted or made monotone on the way."""
    zigzag = curve([(1, 0), (1, 5), (8, 5)])

    assert [found.precision for found in zigzag] == [1.0, 1 / 6, 8 / 13]
    assert average_precision(zigzag) == pytest.approx(1 / 8 + 7 / 8 * 8 / 13)


def test_a_cutoff_is_told_in_seconds():
    assert Score(cutoff=1_500_000, counts=counts(0, 0)).cutoff_s == 1.5


@given(steps=CURVES)
def test_average_precision_is_the_area_under_the_measured_steps(steps):
    """Whatever the order of the cutoffs."""
    found = average_precision(curve(steps))

    assert found == pytest.approx(float(area_by_rectangles(steps)))
    assert average_precision(curve(steps)[::-1]) == found


def test_average_precision_needs_linked_pairs():
    """Without any, or without cutoffs, there is no recall to be precise at."""
    assert average_precision([counts(0, 3, linked=0)]) is None
    assert average_precision([]) is None
    assert average_precision([counts(0, 0)]) == 0.0


@pytest.mark.parametrize(
    ("steps", "rate"),
    [
        ([(4, 20)], 0.5),  # a coin
        ([(8, 0)], 0.0),  # everything, and nothing wrong
        ([(0, 40)], 1.0),  # everything the wrong way round
        ([(6, 10)], 0.25),  # met at a cutoff
        ([(4, 0), (8, 20)], 0.25),  # met between two: 0.5 t alarms, 0.5 (1 - t) misses
        ([(8, 20), (4, 0)], 0.25),  # in any order
        ([(2, 4), (2, 4), (8, 20)], 0.1 + 0.4 * 0.65 / 1.15),  # a cutoff twice
    ],
)
def test_the_crossover_is_where_misses_and_false_alarms_are_equal(steps, rate):
    assert crossover(curve(steps)) == pytest.approx(rate)


@given(steps=CURVES)
def test_the_crossover_lies_on_the_curve(steps):
    """Found by halving over the rationals; beyond the last cutoff nobody has looked."""
    right, wrong = steps[-1]
    if Fraction(wrong, OTHERS) < 1 - Fraction(right, LINKED):
        assert crossover(curve(steps)) is None
    else:
        assert crossover(curve(steps)) == pytest.approx(crossing(steps))


@given(steps=CURVES, place=st.integers(0, 7), more=st.integers(1, LINKED))
def test_finding_more_never_raises_the_crossover(steps, place, more):
    """An attack that is right more often at one cutoff and everywhere after it is no worse."""
    better = [
        (min(LINKED, right + more) if i >= place else right, wrong)
        for i, (right, wrong) in enumerate(steps)
    ]

    before = crossover(curve(steps))
    assert before is None or crossover(curve(better)) <= before + 1e-12


def test_the_crossover_needs_both_kinds_of_pairs():
    assert crossover([counts(0, 3, linked=0)]) is None
    assert crossover([counts(3, 0, others=0)]) is None
    assert crossover([]) is None


@given(steps=CURVES, share=st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))
def test_recall_at_a_precision_is_the_most_any_cutoff_reaches(steps, share):
    good = [right / LINKED for right, wrong in steps if right + wrong and right / (right + wrong) >= share]

    assert recall_at(curve(steps), share) == max(good, default=0.0)


@given(steps=CURVES, share=st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))
def test_precision_at_a_recall_is_the_highest_of_those_that_find_enough(steps, share):
    far = [
        right / (right + wrong) if right + wrong else 0.0
        for right, wrong in steps
        if right / LINKED >= share
    ]

    assert precision_at(curve(steps), share) == max(far, default=None)


def test_without_linked_pairs_no_recall_is_told():
    assert recall_at([counts(0, 3, linked=0)], 0.5) is None
    assert precision_at([counts(0, 3, linked=0)], 0.1) is None
