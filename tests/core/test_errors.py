"""Errors: a text with every part a reader needs, and a small tree."""

import copy
import pickle

import pytest

from tarry.core.errors import BadInput, NotPossible, TarryError


def test_bad_input_says_what_is_wrong_and_what_to_do():
    """A text reads as one sentence: what is wrong with which value, and what to do."""
    assert str(BadInput("weight must be 0 to 1, not 2", "0.5 is usual")) == (
        "weight must be 0 to 1, not 2: 0.5 is usual"
    )


def test_bad_input_without_a_fix_has_no_dangling_colon():
    """A rule is its own advice."""
    assert (
        str(BadInput("a slot must have at least one tick, not 0"))
        == "a slot must have at least one tick, not 0"
    )


def test_bad_input_keeps_its_parts_and_says_where_it_was_met():
    """A program reads the parts of an error without taking its text apart."""
    error = BadInput("a is wrong", "do b").within("policy.toml")

    assert (error.problem, error.fix) == ("policy.toml: a is wrong", "do b")


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301 - our own bytes
def test_bad_input_survives_a_trip_between_processes(again):
    """A copied or pickled error has the same text and parts."""
    error = BadInput("a is wrong", "do b")
    copied = again(error)

    assert (type(copied), str(copied), copied.fix) == (BadInput, str(error), "do b")


def test_one_except_clause_catches_every_error_of_ours():
    """Both kinds of error are a TarryError; only bad input is a ValueError as well."""
    kinds = {
        kind: (issubclass(kind, TarryError), issubclass(kind, ValueError))
        for kind in (BadInput, NotPossible)
    }

    assert kinds == {BadInput: (True, True), NotPossible: (True, False)}
