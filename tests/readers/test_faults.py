"""Faults are counted, the first are kept, and a file without a row is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.readers.faults import PATIENCE, SHOWN, Faults, Unreadable, clip


@given(st.sets(st.integers(1, 99)), st.sets(st.integers(1, 99)))
def test_joined_faults_are_the_first_of_both(here, there):
    """By line, whoever found them."""
    ours, theirs = Faults("x"), Faults("x")
    for faults, lines in ((ours, here), (theirs, there)):
        for line in sorted(lines):
            faults.add(line, "broken")

    both = ours.joined(theirs)

    assert both.count == len(here) + len(there)
    assert [fault.line for fault in both.first] == sorted([*here, *there])[:SHOWN]


def test_patience_ends_only_where_nothing_was_good():
    """One good row keeps a file alive, however many faults it has."""
    faults = Faults("the history")
    for line in range(1, PATIENCE):
        faults.add(line, "broken")
    faults.give_up_if_hopeless(0)
    faults.add(PATIENCE, "broken")
    faults.give_up_if_hopeless(1)

    with pytest.raises(BadInput, match=f"none among its first {PATIENCE} lines.*line 1: broken"):
        faults.give_up_if_hopeless(0)


@given(st.text(), st.integers(2, 50))
def test_a_clipped_text_is_short_and_on_one_line(text, size):
    """Nothing of a file can break a sentence."""
    assert len(clip(text, size)) <= size
    assert clip(text, size).isprintable()


def test_a_fault_says_where_and_why():
    """As a person is shown it."""
    assert str(Unreadable(12, "actor is missing")) == "line 12: actor is missing"
