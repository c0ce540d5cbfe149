"""Deciding about laws, exactly: every delay, every shift, laws without an end included.

`verify_pair` and `verify_label_free` decide about the laws of one policy; `straddle` compares the laws of
an old and a new policy by `worst_ratio` and `worst_excess`.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, lcm, prod
from typing import Any

from tarry.core.errors import BadInput, require
from tarry.core.exact import exceeds_exp, exp_bounds, log_of, power_bounds, settle
from tarry.core.law import Law, Mass
from tarry.core.mechanism import LawPair

__all__ = [
    "Excess",
    "Verdict",
    "Witness",
    "Worst",
    "common_period",
    "log_ratio_bound",
    "verify_label_free",
    "verify_pair",
    "worst_excess",
    "worst_ratio",
]

_EXACTLY = "every delay and every shift, exactly"
_LONGEST_PERIOD = 1000


@dataclass(frozen=True, kw_only=True)
class Witness:
    """Where a promise breaks: what arrived, what is seen, and how much likelier than allowed.

    >>> Witness(batched="b", other="o", seen="delay 3", ratio=float("inf"), allowed=2.0).as_json()["ratio"]
    """

    batched: object  # what arrived, in the batched story
    other: object  # what arrived in the story it should be confused with
    seen: object  # the observation that tells them apart
    ratio: float  # how much likelier under the batched story
    allowed: float  # and how much likelier it may be
    sentence: str = ""  # for witnesses that are not about a ratio

    def as_json(self) -> dict[str, Any]:
        """Plain values; an infinite ratio becomes null."""
        return {
            "batched": self.batched,
            "other": self.other,
            "seen": self.seen,
            "ratio": None if self.ratio == float("inf") else self.ratio,
            "allowed": self.allowed,
        }

    def __str__(self) -> str:
        if self.sentence:
            return self.sentence
        if self.ratio == float("inf"):
            return f"{self.seen} can happen when {self.batched}, and never when {self.other}"
        return (
            f"{self.seen} is {self.ratio:.6g} times as likely when {self.batched} as when {self.other}; "
            f"{self.allowed:.6g} times is allowed"
        )


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a promise holds.

    >>> Verdict(holds=True, scope="every delay, exactly", margin=0.01).word
    'holds'
    """

    holds: bool
    scope: str  # what was looked at
    margin: float | None = None  # nats (for delta: chance) left of what is allowed; below 0 when broken
    witness: Witness | None = None

    @property
    def word(self) -> str:
        """`holds` or `broken`."""
        return "holds" if self.holds else "broken"


def verify_pair(pair: LawPair, share: Fraction) -> Verdict:
    """Whether b(k) <= e^share * u(k - l) for every delay k and every shift l of 0..start ticks.

    >>> from tarry.core.laws.zero_inflated import zero_inflated_uniform
    >>> from tarry.core.mechanism import Ask
    >>> pair = zero_inflated_uniform(Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)))
    >>> verify_pair(pair, Fraction(1, 2)).word, verify_pair(pair, Fraction(49, 100)).word
    ('holds', 'broken')
    """
    worst = worst_ratio(pair, share)
    margin = float(share) - worst.log_ratio
    if not worst.broken:
        return Verdict(holds=True, scope=_EXACTLY, margin=max(0.0, margin))
    return Verdict(holds=False, scope=_EXACTLY, margin=min(margin, -0.0), witness=worst.witness(share))


def verify_label_free(law: Law, start: int, epsilon: Fraction, delta: Fraction) -> Verdict:
    """Whether one law for all events is (epsilon, delta)-private for shifts of 0..start ticks.

    The excess, the sum over k of max(0, u(k) - e^epsilon u(k - l)), must not be above delta.

    >>> from tarry.core.laws.label_free import label_free_law
    >>> law = label_free_law(Fraction(5, 2), start=20, delta=Fraction(1, 100))
    >>> verify_label_free(law, 20, Fraction(1), Fraction(1, 100)).word
    'holds'
    """
    worst = worst_excess(law, law, start, epsilon, delta)
    witness = worst.witness(delta) if worst.broken else None
    margin = float(delta - worst.amount)
    return Verdict(holds=not worst.broken, scope=_EXACTLY, margin=margin, witness=witness)


@dataclass(frozen=True, kw_only=True)
class Worst:
    """A batched delay and a shift at which the ratio of two laws is largest.

    >>> Worst(delay=3, shift=1, log_ratio=0.4, broken=False).endless
    False
    """

    delay: int  # ticks the batched event waits
    shift: int  # ticks later that the unbatched one arrives
    log_ratio: float  # ln(b(delay) / u(delay - shift)), for tables and messages only
    broken: bool  # whether the ratio is above what the share allows, decided exactly
    endless: bool = False  # whether later delays have ever larger ratios

    def witness(self, share: Fraction, *, old: str = "", new: str = "") -> Witness:
        """The two stories; each may say under which policy its act arrives."""
        return Witness(
            batched=f"an act arrives batched at tick 0{old}",
            other=f"it arrives unbatched at tick {self.shift}{new}",
            seen=f"a release at tick {self.delay}",
            ratio=exp(self.log_ratio) if self.log_ratio < 700 else inf,
            allowed=exp(share),
        )


@dataclass(frozen=True, kw_only=True)
class Excess:
    """A shift at which one law exceeds e^epsilon times another by most.

    >>> Excess(shift=3, amount=Fraction(1, 100), broken=False).shift
    3
    """

    shift: int  # ticks later that the second arrives
    amount: Fraction  # the sum over k of max(0, first(k) - e^epsilon second(k - shift))
    broken: bool  # whether that is above what delta allows, decided exactly

    def witness(self, delta: Fraction, *, old: str = "", new: str = "") -> Witness:
        """The two stories; each may say under which policy its act arrives."""
        batched, other = f"an act arrives at tick 0{old}", f"at tick {self.shift}{new}"
        return Witness(
            batched=batched,
            other=f"it arrives {other}",
            seen="the releases that speak for it",
            ratio=float(self.amount),
            allowed=float(delta),
            sentence=(
                f"when {batched} and not {other}, some releases are seen more often than e^epsilon allows, "
                f"by a chance of {float(self.amount):.6g}; {float(delta):.6g} is allowed"
            ),
        )


def worst_ratio(pair: LawPair, share: Fraction) -> Worst:
    """Where b(k) / u(k - l) is largest, over every delay k and every shift l of 0..start ticks.

    The two laws may come from anywhere: `straddle` gives the batched one of an old policy and the
    unbatched one of a new.

    >>> from tarry.core.laws.exponential import geometric_pair
    >>> worst_ratio(geometric_pair(Fraction(1, 2), start=3), Fraction(2)).broken  # ln 8 = 2.08
    True
    """
    batched, unbatched = pair.batched, pair.unbatched
    if not batched.period:
        return _nearby(batched, unbatched, pair.start, share, 0)
    if not unbatched.period:
        return Worst(delay=_first_after(batched, unbatched), shift=0, log_ratio=inf, broken=True)
    if (meet := common_period(batched, unbatched)) is None:
        raise BadInput(
            f"the periods of two laws without an end must meet within {_LONGEST_PERIOD} repeats, "
            f"not {batched.period_length} and {unbatched.period_length} ticks"
        )
    growth = unbatched.fall(meet) / batched.fall(meet)
    if growth > 1:
        return _far_out(batched, unbatched, share, meet, log_of(growth))
    return _nearby(batched, unbatched, pair.start, share, meet)


def common_period(a: Law, b: Law) -> int | None:
    """Ticks after which the tails of two laws repeat together: 0 if one has none, None if too many.

    >>> from tarry.core.law import Run
    >>> law = Law((), (Run(6, Fraction(1, 12)),), Fraction(2))
    >>> common_period(law, Law((), (Run(4, Fraction(1, 8)),), Fraction(2)))
    12
    """
    meet = lcm(a.period_length, b.period_length)
    return meet if meet <= _LONGEST_PERIOD * min(a.period_length, b.period_length) else None


def log_ratio_bound(pair: LawPair) -> float:
    """At least ln(b(k) / u(k - l)) for every k and l, where the periods meet too seldom to look at all.

    Each tail is replaced by an exponential that touches it, the batched one from above and the unbatched
    one from below. It is a float and decides nothing; infinite unless the batched tail clearly falls
    faster.

    >>> from tarry.core.laws.exponential import geometric_pair
    >>> fast, slow = geometric_pair(Fraction(1, 4), start=1), geometric_pair(Fraction(1, 2), start=1)
    >>> round(log_ratio_bound(LawPair(batched=fast.batched, unbatched=slow.unbatched, start=1)), 3)
    1.099
    """
    batched, unbatched = pair.batched, pair.unbatched
    fall, other = (log_of(law.ratio) / law.period_length for law in (batched, unbatched))
    if fall <= other * (1 + 1e-12):
        return inf
    first = max(batched.tail_start, unbatched.tail_start + pair.start)
    over = max(_touch(batched, fall, last=True))
    under = min(_touch(unbatched, other, last=False))
    tails = over - under - (fall - other) * first
    return max(tails, _nearby(batched, unbatched, pair.start, Fraction(0), 0).log_ratio)


def worst_excess(law: Law, later: Law, start: int, epsilon: Fraction, delta: Fraction) -> Excess:
    """Where the sum over k of max(0, law(k) - e^epsilon later(k - l)) is largest, for l of 0..start.

    Between shifts at which ends of runs meet it is linear in l, so only those shifts need a look.

    >>> law = Law.of_masses([Fraction(1, 2), Fraction(1, 2)])
    >>> worst_excess(law, law, 1, Fraction(1), Fraction(1, 10))
    Excess(shift=1, amount=Fraction(1, 2), broken=True)
    """
    require(
        not law.period and not later.period,
        "this label-free law has no end",
        "use a law with a longest delay",
    )
    shifts = {0, start}
    shifts |= {b - a for a in later.head_starts for b in law.head_starts if 0 <= b - a <= start}
    bits = 64
    while True:
        low, high = (Fraction(bound, 1 << bits) for bound in exp_bounds(epsilon, bits))
        # A smaller factor leaves a larger excess: what holds with it, holds.
        amount, shift = max((_excess(law, later, shift, low), shift) for shift in shifts)
        if amount <= delta:
            return Excess(shift=shift, amount=amount, broken=False)
        if (surely := _excess(law, later, shift, high)) > delta:
            return Excess(shift=shift, amount=surely, broken=True)
        bits *= 2


def _nearby(batched: Law, unbatched: Law, start: int, share: Fraction, meet: int) -> Worst:
    """The largest ratio. Beyond `end` both laws only repeat, the batched one no more slowly."""
    end = max(batched.tail_start, unbatched.tail_start + start) + meet
    worst = Worst(delay=0, shift=0, log_ratio=-inf, broken=False)
    for first, last, mass in batched.steps(end):
        if not mass.coefficient:
            continue
        for tick, low in unbatched.lows(first - start, last):
            delay = max(first, tick)
            log_ratio = _log(mass) - _log(low)
            if worst.broken and log_ratio <= worst.log_ratio:
                continue  # whether a smaller ratio is broken too is not worth the work
            broken = _exceeds(mass, low, share)
            if (broken, log_ratio) > (worst.broken, worst.log_ratio):
                worst = Worst(delay=delay, shift=delay - tick, log_ratio=log_ratio, broken=broken)
    return worst


def _far_out(batched: Law, unbatched: Law, share: Fraction, meet: int, growth: float) -> Worst:
    """The batched tail falls more slowly, so the ratio grows without bound: go out far enough."""
    first = _first_after(batched, unbatched)
    apart = _log(batched.term(first)) - _log(unbatched.term(first))
    periods = int(max(0.0, (float(share) - apart) / growth))
    while not _exceeds(
        _term(batched, delay := first + periods * meet, meet), _term(unbatched, delay, meet), share
    ):
        periods += 1 + periods // 8
    return Worst(delay=delay, shift=0, log_ratio=apart + periods * growth, broken=True, endless=True)


def _first_after(endless: Law, other: Law) -> int:
    """The first tick with mass at which an endless law and another are both past their heads."""
    start = max(endless.tail_start, other.tail_start)
    return next(k for k in range(start, start + endless.period_length) if endless.term(k).coefficient)


def _term(law: Law, tick: int, meet: int) -> Mass:
    """The mass of a tick of an endless tail, counted in common periods: so powers far out cancel."""
    periods, offset = divmod(tick - law.tail_start, meet)
    return Mass(law.mass(law.tail_start + offset), law.fall(meet), periods)


def _touch(law: Law, fall: float, *, last: bool) -> Iterator[float]:
    """ln(mass) + fall * tick at one end of each run of the first period: all others lie between."""
    for run, start in zip(law.period, law.period_starts, strict=False):
        tick = law.tail_start + start + (run.length - 1 if last else 0)
        yield _log(Mass(run.mass, Fraction(1), 0)) + fall * tick


def _exceeds(mass: Mass, low: Mass, share: Fraction) -> bool:
    """Whether mass / low > e^share, by numbers where they are short and by enclosures where not."""
    if not low.coefficient:
        return True
    if mass.periods + low.periods <= 8:
        return exceeds_exp(mass.exact / low.exact, share)
    scale = mass.coefficient / low.coefficient
    # Powers that both have cancel first: far out both masses vanish, but not their quotient.
    shared = min(mass.periods, low.periods)
    top = ((1 / mass.ratio, mass.periods - shared), (min(Fraction(1), low.ratio / mass.ratio), shared))
    bottom = ((1 / low.ratio, low.periods - shared), (min(Fraction(1), mass.ratio / low.ratio), shared))

    def attempt(bits: int) -> tuple[bool, bool]:
        top_low, top_high = _enclose(top, bits)
        bottom_low, bottom_high = _enclose(bottom, bits)
        surely = exceeds_exp(scale * Fraction(top_low, bottom_high), share)
        perhaps = not bottom_low or exceeds_exp(scale * Fraction(top_high, bottom_low), share)
        return surely, perhaps

    return settle(attempt, 128)


def _enclose(powers: Iterable[tuple[Fraction, int]], bits: int) -> tuple[int, int]:
    """Integers around a product of powers, at a scale that depends on their number and the bits."""
    bounds = [power_bounds(base, exponent, bits) for base, exponent in powers]
    return prod(low for low, _ in bounds), prod(high for _, high in bounds)


def _log(mass: Mass) -> float:
    if not mass.coefficient:
        return -inf
    return log_of(mass.coefficient) - (mass.periods * log_of(mass.ratio) if mass.periods else 0.0)


def _excess(law: Law, later: Law, shift: int, factor: Fraction) -> Fraction:
    cuts = sorted({*law.head_starts, *(start + shift for start in later.head_starts)})
    return sum(
        (
            (end - cut) * max(Fraction(0), law.mass(cut) - factor * later.mass(cut - shift))
            for cut, end in itertools.pairwise(cuts)
        ),
        Fraction(0),
    )
