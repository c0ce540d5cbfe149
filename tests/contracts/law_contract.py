"""The contract of a pair of laws: it is what its formulas say, tick by tick, and nothing near it is.

A law joins in three lines, with formulas that share nothing with the code they check:

    class TestUniform(LawContract):
        case = LawCase(family=uniform, formulas=formulas, asks=grid(...), small=grid(...))
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, product

import pytest

from contracts.brute_force import breaks_label_free, breaks_pair, witness_point
from contracts.law_mutants import mutants
from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.law import Law
from tarry.core.mechanism import Ask, Family, LawPair
from tarry.core.sampler import Sampler
from tarry.core.verify import verify_label_free, verify_pair

SHARES = [Fraction(text) for text in ("0.001", "0.1", "0.25", "0.5", "0.75", "0.9", "0.99")]
DRAWS = 60


@dataclass(frozen=True, kw_only=True)
class Formula:
    """One law, told by formulas."""

    mass: Callable[[int], Fraction]
    mean: Fraction
    support: tuple[int, int | None]  # the shortest and the longest delay
    looks: int  # ticks 0..looks-1 are compared one by one
    left: Fraction = Fraction(0)  # the mass of looks and beyond


@dataclass(frozen=True, kw_only=True)
class LawCase:
    """A family, what it ought to answer, and what to ask it."""

    family: Family
    formulas: Callable[[Ask, LawPair], tuple[Formula, Formula]]  # of the batched and the unbatched law
    asks: Sequence[Ask]
    small: Sequence[Ask]  # few ticks: every mutant of these is tried
    label_free: bool = False
    coupled: bool = True  # one draw serves both labels


def grid(epsilons: str, starts: str, weights: str = "1", deltas: str = "0", split: int = 2) -> list[Ask]:
    """Every combination; epsilon is split between this many events."""
    combined = product(*(text.split() for text in (epsilons, starts, weights, deltas)))
    return [
        Ask(
            share=Fraction(epsilon) / split,
            start=int(start),
            weight=Fraction(weight),
            delta=Fraction(delta),
        )
        for epsilon, start, weight, delta in combined
    ]


def ratio_of(share: Fraction) -> Fraction:
    """R: e^share cut off after 32 binary digits, and as many more as a share below 1 begins with."""
    bits = 32
    while Fraction(1, 1 << (bits - 32)) > share:
        bits += 1
    with localcontext() as context:
        context.prec = 120
        power = (Decimal(share.numerator) / Decimal(share.denominator)).exp() * (1 << bits)
        return Fraction(int(power.to_integral_value(ROUND_FLOOR)), 1 << bits)


def check_masses(law: Law, formula: Formula) -> None:
    """Every tick has its mass, and ticks before 0 have none."""
    for tick in range(formula.looks):
        assert law.mass(tick) == formula.mass(tick), tick
    assert law.mass(-1) == 0


def check_cumulative(law: Law, formula: Formula) -> None:
    """Cumulative masses are sums of masses, and all of them together are 1."""
    total = Fraction(0)
    assert law.cumulative(-1) == 0
    for tick in range(formula.looks):
        total += formula.mass(tick)
        assert law.cumulative(tick) == total, tick
    assert total + formula.left == 1


def check_mean(law: Law, formula: Formula) -> None:
    """The mean is the formula's, and the formula's is that of its masses."""
    assert law.mean == formula.mean
    so_far = sum((tick * formula.mass(tick) for tick in range(formula.looks)), Fraction(0))
    assert so_far + formula.looks * formula.left <= formula.mean
    assert formula.left or so_far == formula.mean


def check_ends(law: Law, formula: Formula) -> None:
    """The shortest and the longest delay are where the masses begin and end."""
    assert (law.minimum, law.maximum) == formula.support


def check_quantiles(law: Law, formula: Formula) -> None:
    """A quantile is the first tick whose cumulative mass reaches the share, ties included."""
    sums = list(accumulate(formula.mass(tick) for tick in range(formula.looks)))
    ties = sorted(set(sums[:: max(1, formula.looks // 4)]))
    shares = [*SHARES, *ties, *(tie + Fraction(1, 1 << 90) for tie in ties)]
    tried = [share for share in shares if 0 < share < 1 and share <= sums[-1]]
    assert len(tried) >= 4
    for share in tried:
        assert law.quantile(share) == next(tick for tick, total in enumerate(sums) if total >= share), share


def check_coupling(pair: LawPair, ask: Ask) -> None:
    """The batched law is the unbatched one given at least `start` ticks: b_k P(U >= G) = u_k."""
    above = 1 - sum((pair.unbatched.mass(tick) for tick in range(ask.start)), Fraction(0))
    for tick in range(ask.start):
        assert pair.batched.mass(tick) == 0, tick
    for tick in range(ask.start, 4 * ask.start + 8):
        assert pair.batched.mass(tick) * above == pair.unbatched.mass(tick), tick
    assert pair.coupled


def check_draws(law: Law, formula: Formula) -> None:
    """A draw never leaves the support."""
    sampler = Sampler(law)
    for event in range(DRAWS):
        tick = sampler.draw(Seeded(1).stream("actor", "target", event))
        assert formula.support[0] <= tick
        assert formula.support[1] is None or tick <= formula.support[1]
        assert formula.mass(tick) > 0


CHECKS = (check_masses, check_cumulative, check_mean, check_ends, check_quantiles)


def check_pair(case: LawCase, ask: Ask, pair: LawPair) -> None:
    """The whole contract for one pair."""
    assert pair.start == ask.start
    formulas = case.formulas(ask, pair)
    for law, formula in zip((pair.batched, pair.unbatched), formulas, strict=True):
        for check in CHECKS:
            check(law, formula)
    check_together(case, ask, pair)


def check_together(case: LawCase, ask: Ask, pair: LawPair) -> None:
    """The two laws belong together: one given the other, or both the same."""
    assert pair.label_free is case.label_free
    if case.coupled and not case.label_free:
        check_coupling(pair, ask)
    elif not case.coupled:
        assert not pair.coupled
        assert pair.batched.minimum >= ask.start


class LawContract:
    """What every law's test class inherits; `case` is all it adds."""

    case: LawCase

    def pytest_generate_tests(self, metafunc):
        """One test for each ask."""
        for name, asks in (("ask", self.case.asks), ("small", self.case.small)):
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, asks, ids=_name)

    def test_masses(self, ask):
        """Every tick has the mass that its formula says."""
        self._check(check_masses, ask)

    def test_cumulative(self, ask):
        """Cumulative masses are sums of masses, and all of them together are 1."""
        self._check(check_cumulative, ask)

    def test_mean(self, ask):
        """The mean is the formula's, exactly."""
        self._check(check_mean, ask)

    def test_ends(self, ask):
        """The shortest and the longest delay are where the masses begin and end."""
        self._check(check_ends, ask)

    def test_quantiles(self, ask):
        """A quantile is the first tick whose cumulative mass reaches the share."""
        self._check(check_quantiles, ask)

    def test_draws(self, ask):
        """A draw never leaves the support."""
        self._check(check_draws, ask)

    def test_together(self, ask):
        """The batched law is the unbatched one from `start` on, or one law serves both labels."""
        check_together(self.case, ask, self.case.family(ask))

    def test_mutants_are_rejected(self, small):
        """A law that differs by one tick or one unit of mass is refused or fails the contract."""
        tried = 0
        for name, build in self._mutants(small):
            tried += 1
            try:
                mutant = build()
                check_pair(self.case, small, mutant)
            except (AssertionError, BadInput):
                continue
            pytest.fail(f"the contract accepts the mutant {name}")
        assert tried > 10

    def test_verify_agrees_with_brute_force(self, small):
        """On the law and on every mutant, the checker and plain enumeration decide alike."""
        pairs = [("none", lambda: self.case.family(small)), *self._mutants(small)]
        verdicts = {True: 0, False: 0}
        for name, build in pairs:
            try:
                pair = build()
            except BadInput:
                continue
            verdicts[self._agreed(pair, small, name)] += 1
        assert min(verdicts.values()) >= 1
        assert sum(verdicts.values()) > 10

    def _check(self, check: Callable[[Law, Formula], None], ask: Ask) -> None:
        pair = self.case.family(ask)
        for law, formula in zip((pair.batched, pair.unbatched), self.case.formulas(ask, pair), strict=True):
            check(law, formula)

    def _agreed(self, pair: LawPair, ask: Ask, name: str) -> bool:
        """Whether the pair holds, which both ways to decide must agree on."""
        if self.case.label_free:
            verdict = verify_label_free(pair.unbatched, ask.start, ask.share, ask.delta)
            assert verdict.holds is not breaks_label_free(
                pair.unbatched, ask.start, ask.share, ask.delta
            ), name
            return verdict.holds
        verdict = verify_pair(pair, ask.share)
        assert verdict.holds is not breaks_pair(pair, ask.share), name
        if not verdict.holds:
            assert breaks_pair(pair, ask.share, at=witness_point(verdict)), name
        return verdict.holds

    def _mutants(self, ask: Ask) -> Iterator[tuple[str, Callable[[], LawPair]]]:
        pair = self.case.family(ask)
        if self.case.label_free:
            for name, build in mutants(pair.unbatched):
                yield name, lambda build=build: _one_law(build(), pair.start)
            return
        for name, build in mutants(pair.batched):
            yield (
                f"batched: {name}",
                lambda build=build: LawPair(batched=build(), unbatched=pair.unbatched, start=pair.start),
            )
        for name, build in mutants(pair.unbatched):
            yield (
                f"unbatched: {name}",
                lambda build=build: LawPair(batched=pair.batched, unbatched=build(), start=pair.start),
            )


def _one_law(law: Law, start: int) -> LawPair:
    return LawPair(batched=law, unbatched=law, start=start)


def _name(ask: Ask) -> str:
    delta = f"-d{float(ask.delta):g}" if ask.delta else ""
    blocks = f"-n{ask.blocks}-a{ask.order}" if ask.blocks else ""
    return f"s{float(ask.share):g}-G{ask.start}-w{float(ask.weight):g}{delta}{blocks}"
