"""The conformance suite of laws: masses add up, draws stay inside, and `verify` finds the promise kept.

A law joins in three lines; it is asked for a few pairs of laws, small ones first:

    class TestMine(LawSuite):
        case = LawCase(family=mine, asks=[Ask(share=Fraction(1, 2), start=4, weight=Fraction(1))])

It needs pytest. Our own laws are held to their formulas as well, tick by tick.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pytest

from tarry.core.entropy import Seeded
from tarry.core.law import Law
from tarry.core.mechanism import Ask, Family, LawPair
from tarry.core.sampler import Sampler
from tarry.core.verify import verify_label_free, verify_pair

__all__ = ["LawCase", "LawSuite"]

_LOOKS = 200  # ticks that are compared one by one
_DRAWS = 60


@dataclass(frozen=True, kw_only=True)
class LawCase:
    """A law, as the function that makes its pair, and what it is asked for.

    >>> from tarry.core.laws.uniform import uniform
    >>> LawCase(family=uniform, asks=[Ask(share=Fraction(1), start=3, weight=Fraction(1))]).label_free
    False
    """

    family: Family
    asks: Sequence[Ask]
    label_free: bool = False  # one law for both labels
    coupled: bool = True  # else batched delays are no unbatched ones of at least `start` ticks


class LawSuite:
    """What the test class of a law inherits; `case` is all it adds.

    >>> from tarry.core.laws.uniform import uniform
    >>> class TestMine(LawSuite):
    ...     case = LawCase(family=uniform, asks=[Ask(share=Fraction(1), start=3, weight=Fraction(1))])
    >>> TestMine().test_verify_finds_the_promise_kept(TestMine.case.asks[0])
    """

    case: LawCase

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each ask."""
        if "ask" in metafunc.fixturenames:
            metafunc.parametrize("ask", self.case.asks, ids=str)

    def test_masses_add_up(self, ask: Ask) -> None:
        """Cumulative masses are sums of masses, none is negative, and all together are 1."""
        for law in self._laws(ask):
            total = Fraction(0)
            for tick in range(-1, _LOOKS):
                assert law.mass(tick) >= 0, tick
                total += law.mass(tick)
                assert law.cumulative(tick) == total, tick
            assert total <= 1
            assert law.maximum is None or law.cumulative(law.maximum) == 1

    def test_a_law_begins_and_ends_where_it_says(self, ask: Ask) -> None:
        """The shortest and the longest delay have mass, and nothing outside of them has."""
        for law in self._laws(ask):
            assert law.mass(law.minimum) > 0
            assert law.cumulative(law.minimum - 1) == 0
            if law.maximum is not None:
                assert law.mass(law.maximum) > 0
                assert law.mass(law.maximum + 1) == 0

    def test_the_two_laws_belong_together(self, ask: Ask) -> None:
        """Batched delays begin at `start`; from there on they are unbatched ones, if laws are coupled."""
        pair = self._pair(ask)
        assert pair.start == ask.start
        assert pair.label_free is self.case.label_free
        if not self.case.coupled:
            assert pair.batched.minimum >= ask.start
        elif not pair.label_free:
            above = 1 - pair.unbatched.cumulative(ask.start - 1)
            for tick in range(_LOOKS):
                expected = pair.unbatched.mass(tick) if tick >= ask.start else 0
                assert pair.batched.mass(tick) * above == expected, tick

    def test_draws_never_leave_the_law(self, ask: Ask) -> None:
        """Every draw is a delay that the law has."""
        for law in self._laws(ask):
            sampler = Sampler(law)
            for event in range(_DRAWS):
                assert law.mass(sampler.draw(Seeded(1).stream("actor", "target", event))) > 0

    def test_verify_finds_the_promise_kept(self, ask: Ask) -> None:
        """Exactly, for every move of up to `start` ticks."""
        pair = self._pair(ask)
        if self.case.label_free:
            verdict = verify_label_free(pair.unbatched, ask.start, ask.share, ask.delta)
        else:
            verdict = verify_pair(pair, ask.share)
        assert verdict.holds, verdict

    def _pair(self, ask: Ask) -> LawPair:
        return self.case.family(ask)

    def _laws(self, ask: Ask) -> tuple[Law, Law]:
        pair = self._pair(ask)
        return pair.batched, pair.unbatched
