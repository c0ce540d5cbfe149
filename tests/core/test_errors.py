"""Errors: a text with every part a reader needs, and a small tree."""

import copy
import pickle

import pytest

from tarry.core.errors import BadInput, NotPossible, TarryError


def test_bad_input_says_what_rule_found_and_fix():
    """A text reads as one sentence: what, which rule, what was found, what to do."""
    error = BadInput("weight", "lies between 0 and 1", found="2", fix="0.5 is usual")

    assert str(error) == "weight lies between 0 and 1, found 2: 0.5 is usual"


def test_bad_input_without_a_fix_ends_after_what_was_found():
    """A sentence without advice has no dangling colon."""
    assert (
        str(BadInput("a slot", "has at least one tick", found=0)) == "a slot has at least one tick, found 0"
    )


def test_bad_input_keeps_its_parts():
    """A program reads the parts of an error without taking its text apart."""
    error = BadInput("a", "b", found=3, fix="d")

    assert (error.what, error.rule, error.found, error.fix) == ("a", "b", 3, "d")


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301 - our own bytes
def test_bad_input_survives_a_trip_between_processes(again):
    """A copied or pickled error has the same text and parts."""
    error = BadInput("a", "b", found="c", fix="d")
    copied = again(error)

    assert (type(copied), str(copied), copied.found) == (BadInput, str(error), "c")


def test_one_except_clause_catches_every_error_of_ours():
    """Both kinds of error are a TarryError; only bad input is a ValueError as well."""
    kinds = {
        kind: (issubclass(kind, TarryError), issubclass(kind, ValueError))
        for kind in (BadInput, NotPossible)
    }

    assert kinds == {BadInput: (True, True), NotPossible: (True, False)}
