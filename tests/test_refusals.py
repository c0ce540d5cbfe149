"""Every refusal of the suites is read (`conftest.py`); this shows that a bad one is found."""

import pytest

from contracts.refusals import Refusals, faults
from tarry.core.errors import BadInput
from tarry.core.exact import parse_duration
from tarry.places.accounts import Account

GOOD = [
    ("BadInput", "space 'talk' already exists: choose another name"),
    ("BadInput", "epsilon must be above 0, not -1"),
    ("NotPossible", "git is not installed: install it to read a repository"),
    ("Unreachable", "the mail server hung up"),
]
BAD = [
    ("BadInput", "", "is empty"),
    ("BadInput", "space 'talk' already exists", "does not say what to do"),
    ("BadInput", "a new space has a name of its own, found another", "does not say what to do"),
    ("NotPossible", "the policy is wrong: epsilon", "does not say what to do"),
    ("BadInput", "epsilon must be above 0\nnot -1", "has several lines"),
    ("BadInput", "words " * 200 + "must end", "is too long to be read"),
    ("Unreachable", "the server took " + "a1" * 32, "shows a secret"),
    ("Refused", "the login owls-eat-mice failed", "shows a secret"),
]


@pytest.mark.parametrize(("kind", "sentence"), GOOD)
def test_a_good_refusal_is_left_alone(kind, sentence):
    assert faults(kind, sentence) == []


@pytest.mark.parametrize(("kind", "sentence", "fault"), BAD)
def test_a_bad_refusal_is_found(kind, sentence, fault):
    assert fault in faults(kind, sentence, secrets={"owls-eat-mice"})


@pytest.fixture
def refusals():
    """A collector of this test's own."""
    collector = Refusals()
    collector.start()
    yield collector
    collector.stop()


def test_what_the_source_refuses_is_collected(refusals):
    """With the file that made it."""
    with pytest.raises(BadInput):
        parse_duration("owls", "the gap")
    (made,) = refusals._made.items()

    assert made[0][0] == "BadInput"
    assert made[1] == "core/exact.py"


def test_what_a_test_makes_itself_is_not(refusals):
    BadInput("space 'talk' already exists")

    assert refusals.faults() == []


def test_a_password_of_the_test_is_known_as_a_secret(refusals):
    Account(login="nym", password="owls-eat-mice", at="https://wiki.example")  # noqa: S106 - it is the point

    assert refusals._secrets == {"owls-eat-mice"}
