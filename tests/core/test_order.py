"""Rows in order, with and without a sort."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.order import in_order, row_order

rows = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-2, 2)), max_size=8)


def columns(rows):
    return [np.array([row[i] for row in rows], dtype=np.int64) for i in range(3)]


@given(rows=rows)
def test_rows_are_ordered_by_the_first_column_then_the_second_and_ties_stay(rows):
    """The order is that of a stable sort of whole rows."""
    assert row_order(*columns(rows)).tolist() == sorted(range(len(rows)), key=lambda i: rows[i])


@given(rows=rows)
def test_rows_are_in_order_exactly_when_sorting_changes_nothing(rows):
    """What spares the sort is true of sorted rows and of no others."""
    assert in_order(*columns(rows)) == (rows == sorted(rows))
    assert in_order(*columns(sorted(rows)))
