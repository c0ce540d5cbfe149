"""Clues: whatever a transaction says of when it was made is told, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from contracts.node_server import make_transaction
from tarry.places.bitcoin.clues import clues_of
from tarry.places.bitcoin.transaction import read_transaction

FINAL, NOT_REPLACEABLE, REPLACEABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def clues(*coins, **what):
    return {
        clue.name: clue for clue in clues_of(read_transaction(make_transaction(*coins, **what).encode()))
    }


@pytest.mark.parametrize("sequence", [FINAL, NOT_REPLACEABLE])
def test_one_without_a_lock_or_a_replacement_tells_nothing(sequence):
    """Many wallets can make such a one."""
    assert clues(1, 2, sequences=[sequence]) == {}


def test_a_block_as_a_lock_time_tells_when():
    """Wallets put the newest block there."""
    (clue,) = clues(locktime=850_000, sequences=[NOT_REPLACEABLE]).values()

    assert (clue.name, clue.fix) == ("lock time", "make it with locktime 0")
    assert clue.sentence.startswith("its lock time is block 850000: ")


def test_from_half_a_thousand_million_on_a_lock_time_is_a_moment():
    """Told as one."""
    assert "block 499999999" in clues(locktime=499_999_999)["lock time"].sentence
    assert "1985-11-05 00:53 UTC" in clues(locktime=500_000_000)["lock time"].sentence
    assert "2106-02-07 06:28 UTC" in clues(locktime=2**32 - 1)["lock time"].sentence


def test_a_replacement_that_is_allowed_is_told():
    """By any one of the inputs."""
    assert set(clues(sequences=[REPLACEABLE])) == {"replaceable"}
    assert set(clues(1, 2, sequences=[FINAL, REPLACEABLE])) == {"replaceable", "sequences"}


@pytest.mark.parametrize(("sequence", "told"), [(144, "144 blocks"), (1 << 22 | 10, "5120 s")])
def test_a_relative_lock_is_told(sequence, told):
    """In blocks or in seconds; before version 2 the number means none."""
    assert told in clues(sequences=[sequence])["relative lock"].sentence
    assert "relative lock" not in clues(sequences=[sequence], version=1)
    assert "relative lock" not in clues(sequences=[sequence | 1 << 31])


def test_a_relative_lock_of_nothing_is_none():
    """It waits for nothing."""
    assert set(clues(sequences=[0])) == {"replaceable"}


def test_different_sequence_numbers_are_a_mark():
    """Even where none of them means anything."""
    assert set(clues(1, 2, sequences=[FINAL, NOT_REPLACEABLE])) == {"sequences"}


@given(
    sequences=some.lists(some.integers(0, 2**32 - 1), min_size=1, max_size=3),
    locktime=some.integers(0, 2**32 - 1),
)
def test_nothing_is_told_only_of_those_that_tell_nothing(sequences, locktime):
    """No clue: no lock time, one sequence number, and that one without a meaning."""
    told = clues(*range(1, len(sequences) + 1), sequences=sequences, locktime=locktime)

    assert (told == {}) == (locktime == 0 and set(sequences) in ({FINAL}, {NOT_REPLACEABLE}))
    assert all(clue.sentence and clue.fix for clue in told.values())
