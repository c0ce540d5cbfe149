"""The cutoff attack equals a loop over every pair, and its four counts are all the candidates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.pair_loop import CUTOFFS, EVENTS, loop_counts, seen_of, table_of_rows, within
from tarry.core.errors import BadInput
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import cutoff_attack

UNITS = st.sampled_from([1, 1_000, 1_000_000, 60_000_000])
WINDOWS = st.sampled_from([0, 1, 3, 12, 1 << 30])


@settings(max_examples=100)
@given(rows=EVENTS, unit=UNITS, window=WINDOWS, cutoffs=CUTOFFS, seed=st.integers(0, 99))
def test_counts_are_those_of_a_loop(rows, unit, window, cutoffs, seed):
    """At every cutoff, in the order and as often as asked."""
    table = table_of_rows(rows)
    seen, wanted = seen_of(table, seed, unit), [cutoff * unit for cutoff in cutoffs]
    truth = Truth(table=table, window=window * unit)
    scores = cutoff_attack(truth, seen, wanted)

    assert [score.cutoff for score in scores] == wanted
    assert [score.counts for score in scores] == [
        loop_counts(table, seen, window * unit, within(c)) for c in wanted
    ]
    for score in scores:
        counts = score.counts
        assert sum(vars(counts).values()) == truth.candidate_pairs
        assert counts.true_positives + counts.false_negatives == truth.linked_pairs


def test_cutoffs_of_a_month_of_seconds_are_counted_by_every_way():
    """A table large enough that the ways of counting are chosen as they will be, against whole matrices."""
    rng = np.random.default_rng(2)
    rows = np.column_stack(
        [rng.integers(0, 40, 2000), rng.integers(0, 60, 2000), rng.integers(0, 3000, 2000)]
    )
    rows[:, 2] *= 1_000_000
    table = table_of_rows(rows)
    seen = table.time + rng.integers(0, 900, 2000) * 1_000_000
    candidate = np.triu(table.target[:, None] != table.target)
    near = np.abs(table.time[:, None] - table.time) <= 300_000_000
    linked = candidate & (table.actor[:, None] == table.actor) & near
    for score in cutoff_attack(Truth(table=table, window=300_000_000), seen, [0, 10_000_000, 1 << 40]):
        flagged = candidate & (np.abs(seen[:, None] - seen) <= score.cutoff)
        assert score.counts.true_positives == (flagged & linked).sum()
        assert score.counts.false_positives == (flagged & ~linked).sum()
        assert score.counts.false_negatives == (linked & ~flagged).sum()


@pytest.mark.parametrize(
    "rows", [[], [(1, 1, 5)], [(1, 1, 5), (2, 1, 5)]], ids=["none", "one", "one target"]
)
def test_tables_without_candidates_have_no_counts(rows):
    """And no precision, recall or false positives either."""
    table = table_of_rows(rows)
    [score] = cutoff_attack(Truth(table=table, window=10), table.time, [10])

    assert set(vars(score.counts).values()) == {0}
    assert (score.counts.precision, score.counts.recall, score.counts.false_positive_rate) == (
        None,
        None,
        None,
    )


def test_no_cutoffs_are_no_scores():
    table = table_of_rows([(1, 1, 5), (1, 2, 6)])

    assert cutoff_attack(Truth(table=table, window=10), table.time, []) == []


def test_a_distance_is_never_negative():
    """Neither a window nor a cutoff."""
    table = table_of_rows([(1, 1, 5), (1, 2, 6)])
    with pytest.raises(BadInput, match="the window must be at least 0, not -1"):
        Truth(table=table, window=-1)
    with pytest.raises(BadInput, match="a cutoff must be at least 0, not -1"):
        cutoff_attack(Truth(table=table, window=1), table.time, [-1])
