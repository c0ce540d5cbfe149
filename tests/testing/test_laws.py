"""Our laws join the suite of laws; laws that break their promise, or do not add up, fail it."""

from decimal import Decimal
from fractions import Fraction

import pytest

from tarry.core.errors import BadInput
from tarry.core.law import Law
from tarry.core.laws import LAWS
from tarry.core.mechanism import Ask, LawPair
from tarry.core.plugins import load
from tarry.testing.laws import LawCase, LawSuite

ASKS = [
    Ask(share=Fraction(share), start=start, weight=Fraction(weight), blocks=12, order=Decimal(6))
    for share, start, weight in (("1/2", 1, "1"), ("1", 4, "1/2"), ("2", 7, "1"))
]
FREE = [Ask(share=Fraction(1), start=start, weight=Fraction(1), delta=Fraction(1, 10)) for start in (1, 5)]


@pytest.mark.parametrize("law", [name for name in LAWS if name != "label-free"])
class TestOurs(LawSuite):
    """Every law that has two labels."""

    case = LawCase(family=lambda ask: None, asks=ASKS)

    @pytest.fixture(autouse=True)
    def _take(self, law):
        self.case = LawCase(family=load("law", law), asks=ASKS, coupled=law != "cosine")


class TestLabelFree(LawSuite):
    """One law for both labels, with a chance of failing."""

    case = LawCase(family=load("law", "label-free"), asks=FREE, label_free=True)


def _at_once_or_late(ask):
    """Unbatched acts leave at once, batched ones later: everybody sees which is which."""
    late = Law.of_masses([0] * ask.start + [1])
    return LawPair(batched=late, unbatched=Law.of_masses([1]), start=ask.start)


def _begins_early(ask):
    """The batched law begins before its start."""
    law = Law.of_masses([1, 1])
    return LawPair(batched=law, unbatched=law, start=ask.start)


@pytest.mark.parametrize("family", [_at_once_or_late, _begins_early])
def test_a_law_that_keeps_no_promise_is_rejected(family):
    """By one test of the suite at least, or already when it is made."""
    suite, failed = LawSuite(), []
    suite.case = LawCase(family=family, asks=ASKS)
    for name in (name for name in dir(LawSuite) if name.startswith("test_")):
        try:
            getattr(suite, name)(ASKS[1])
        except (AssertionError, BadInput):
            failed.append(name)

    assert failed
