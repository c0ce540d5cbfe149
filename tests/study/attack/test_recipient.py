"""The same-recipient attacks equal loops over every pair, the informed one with each recipient's gap."""

from fractions import Fraction
from itertools import pairwise
from statistics import median_high

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.pair_loop import CUTOFFS, EVENTS, loop_counts, one_recipient, seen_of, table_of_rows, within
from tarry.core.errors import BadInput
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import informed_attack, recipient_attack, recipient_gaps

UNITS = st.sampled_from([1, 1_000, 1_000_000, 60_000_000])
WINDOWS = st.sampled_from([0, 1, 3, 12, 1 << 30])
MULTIPLES = st.lists(st.fractions(0, 9, max_denominator=10**9), min_size=1, max_size=4)


def gaps_of(table, window, default):
    """The median of each recipient's gaps above the window, by actor; the higher of two."""
    found = {}
    for actor in set(table.actor.tolist()):
        times = sorted(table.time[table.actor == actor].tolist())
        gaps = [b - a for a, b in pairwise(times) if b - a > window]
        found[actor] = median_high(gaps) if gaps else default
    return found


@settings(max_examples=80)
@given(rows=EVENTS, unit=UNITS, window=WINDOWS, cutoffs=CUTOFFS, seed=st.integers(0, 99))
def test_the_basic_attack_is_that_of_a_loop(rows, unit, window, cutoffs, seed):
    """Candidates have one recipient and different spenders; linked if they arrived close together."""
    table = table_of_rows(rows)
    seen, wanted = seen_of(table, seed, unit), [cutoff * unit for cutoff in cutoffs]
    scores = recipient_attack(Truth(table=table, window=window * unit), seen, wanted)

    assert [score.cutoff for score in scores] == wanted
    assert [score.counts for score in scores] == [
        loop_counts(table, seen, window * unit, within(cutoff), one_recipient) for cutoff in wanted
    ]


@settings(max_examples=80)
@given(rows=EVENTS, unit=UNITS, window=WINDOWS, multiples=MULTIPLES, seed=st.integers(0, 99))
def test_the_informed_attack_is_that_of_a_loop(rows, unit, window, multiples, seed):
    """Each recipient by a multiple of its own gap, exactly: also where the product leaves 64 bits."""
    table = table_of_rows(rows)
    seen = seen_of(table, seed, unit)
    gaps = recipient_gaps(table, window * unit, default=5 * unit)
    own = dict(zip(table.actor.tolist(), gaps.tolist(), strict=True))
    scores = informed_attack(Truth(table=table, window=window * unit), seen, multiples, gaps)

    assert [score.multiple for score in scores] == [float(multiple) for multiple in multiples]
    assert [score.counts for score in scores] == [
        loop_counts(
            table,
            seen,
            window * unit,
            lambda a, b, multiple=multiple: abs(a[3] - b[3]) <= own[a[0]] * multiple,
            one_recipient,
        )
        for multiple in multiples
    ]


@settings(max_examples=60)
@given(rows=EVENTS, window=st.sampled_from([0, 1, 1_000_000, 1 << 55]))
def test_a_recipient_has_the_median_of_its_gaps_above_the_window(rows, window):
    """And the usual gap where it has none."""
    table = table_of_rows(rows)
    own = gaps_of(table, window, default=77)

    assert recipient_gaps(table, window, default=77).tolist() == [
        own[actor] for actor in table.actor.tolist()
    ]


def test_a_cutoff_that_no_number_holds_reaches_everything():
    """A century of gaps times a billion is more than any two times are apart."""
    table = table_of_rows([(1, 1, 0), (1, 2, 1 << 59)])
    [score] = informed_attack(
        Truth(table=table, window=1), table.time, [Fraction(10**9)], np.full(2, 3 * 10**15)
    )

    assert score.counts.false_positives == 1


def test_a_multiple_is_not_negative():
    table = table_of_rows([(1, 1, 0), (1, 2, 5)])
    with pytest.raises(BadInput, match=r"a multiple of the gap must be at least 0, not -0\.5"):
        informed_attack(Truth(table=table, window=1), table.time, [Fraction(-1, 2)], np.full(2, 3))


@pytest.mark.parametrize("rows", [[], [(1, 1, 5)]], ids=["none", "one"])
def test_tables_without_pairs_have_no_counts(rows):
    table = table_of_rows(rows)
    truth = Truth(table=table, window=10)
    scores = recipient_attack(truth, table.time, [10])
    scores += informed_attack(truth, table.time, [Fraction(1)], recipient_gaps(table, 10, 5))

    assert [set(vars(score.counts).values()) for score in scores] == [{0}, {0}]
