"""Deciding about laws, exactly: every delay, every shift, laws without an end included."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, lcm, prod

from tarry.core.errors import BadInput
from tarry.core.exact import exceeds_exp, exp_bounds, log_of, power_bounds
from tarry.core.law import Law, Mass
from tarry.core.mechanism import LawPair
from tarry.core.verify.verdict import Verdict, Witness

__all__ = ["verify_label_free", "verify_pair"]

_LONGEST_PERIOD = 1000
_EXACTLY = "every delay and every shift, exactly"


@dataclass(frozen=True)
class _Worst:
    """A batched delay and a shift, and the logarithm of their ratio."""

    delay: int
    shift: int
    log_ratio: float
    broken: bool


def verify_pair(pair: LawPair, share: Fraction) -> Verdict:
    """Whether b(k) <= e^share * u(k - l) for every delay k and every shift l of 0..start ticks.

    >>> from tarry.core.laws import zero_inflated_uniform
    >>> from tarry.core.mechanism import Ask
    >>> pair = zero_inflated_uniform(Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)))
    >>> verify_pair(pair, Fraction(1, 2)).word, verify_pair(pair, Fraction(49, 100)).word
    ('holds', 'broken')
    """
    batched, unbatched = _same_period(pair.batched, pair.unbatched)
    if batched.period and unbatched.period and batched.ratio < unbatched.ratio:
        worst = _far_out(batched, unbatched, share)
    else:
        worst = _worst(batched, unbatched, pair.start, share)
    margin = float(share) - worst.log_ratio
    if not worst.broken:
        return Verdict(holds=True, scope=_EXACTLY, margin=max(0.0, margin))
    return Verdict(
        holds=False,
        scope=_EXACTLY,
        margin=min(margin, -0.0),
        witness=Witness(
            batched="an act arrives batched at tick 0",
            other=f"it arrives unbatched at tick {worst.shift}",
            seen=f"a release at tick {worst.delay}",
            ratio=exp(worst.log_ratio) if worst.log_ratio < 700 else inf,
            allowed=exp(share),
        ),
    )


def verify_label_free(law: Law, start: int, epsilon: Fraction, delta: Fraction) -> Verdict:
    """Whether one law for all events is (epsilon, delta)-private for shifts of 0..start ticks.

    The excess, the sum over k of max(0, u(k) - e^epsilon u(k - l)), must not be above delta. Between
    shifts at which ends of runs meet it is linear in l, so only those shifts need a look.

    >>> from tarry.core.laws.label_free import label_free_law
    >>> law = label_free_law(Fraction(5, 2), start=20, delta=Fraction(1, 100))
    >>> verify_label_free(law, 20, Fraction(1), Fraction(1, 100)).word
    'holds'
    """
    if law.period:
        raise BadInput("a label-free law", "has an end", found="a law without one")
    shifts = {0, start}
    ends = law.head_starts
    shifts |= {b - a for a in ends for b in ends if 0 <= b - a <= start}
    bits = 64
    while True:
        low, high = (Fraction(bound, 1 << bits) for bound in exp_bounds(epsilon, bits))
        # A smaller factor leaves a larger excess: what holds with it, holds.
        excess, shift = max((_excess(law, shift, low), shift) for shift in shifts)
        if excess <= delta:
            return Verdict(holds=True, scope=_EXACTLY, margin=float(delta - excess))
        if (surely := max(_excess(law, shift, high) for shift in shifts)) > delta:
            break
        bits *= 2
    return Verdict(
        holds=False,
        scope=_EXACTLY,
        margin=float(delta - surely),
        witness=Witness(
            batched="an act arrives at tick 0",
            other=f"it arrives at tick {shift}",
            seen="the releases that speak for it",
            ratio=float(excess),
            allowed=float(delta),
            sentence=(
                f"when an act arrives at tick 0 and not at tick {shift}, some releases are seen more often "
                f"than e^epsilon allows, by a chance of {float(excess):.6g}; {float(delta):.6g} is allowed"
            ),
        ),
    )


def _worst(batched: Law, unbatched: Law, start: int, share: Fraction) -> _Worst:
    """The largest ratio. Beyond `end` both laws only repeat, the batched one no more slowly."""
    end = max(batched.tail_start, unbatched.tail_start + start) + batched.period_length
    worst = _Worst(0, 0, -inf, broken=False)
    for first, last, mass in batched.steps(end):
        if not mass.coefficient:
            continue
        for tick, low in unbatched.lows(first - start, last):
            delay = max(first, tick)
            log_ratio = _log(mass) - _log(low)
            broken = _exceeds(mass, low, share)
            if (broken, log_ratio) > (worst.broken, worst.log_ratio):
                worst = _Worst(delay, delay - tick, log_ratio, broken)
    return worst


def _far_out(batched: Law, unbatched: Law, share: Fraction) -> _Worst:
    """The batched tail falls more slowly, so the ratio grows without bound: go out far enough."""
    start = max(batched.tail_start, unbatched.tail_start)
    first = next(k for k in range(start, start + batched.period_length) if batched.term(k).coefficient)
    apart = _log(batched.term(first)) - _log(unbatched.term(first))
    growth = log_of(unbatched.ratio / batched.ratio)
    periods = int(max(0.0, (float(share) - apart) / growth))
    while not _exceeds(
        batched.term(delay := first + periods * batched.period_length), unbatched.term(delay), share
    ):
        periods += 1 + periods // 8
    return _Worst(delay, 0, apart + periods * growth, broken=True)


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
    bits = 128
    while True:
        top_low, top_high = _enclose(top, bits)
        bottom_low, bottom_high = _enclose(bottom, bits)
        if exceeds_exp(scale * Fraction(top_low, bottom_high), share):
            return True
        if bottom_low and not exceeds_exp(scale * Fraction(top_high, bottom_low), share):
            return False
        bits *= 2


def _enclose(powers: Iterable[tuple[Fraction, int]], bits: int) -> tuple[int, int]:
    """Integers around a product of powers, at a scale that depends on their number and the bits."""
    bounds = [power_bounds(base, exponent, bits) for base, exponent in powers]
    return prod(low for low, _ in bounds), prod(high for _, high in bounds)


def _log(mass: Mass) -> float:
    if not mass.coefficient:
        return -inf
    return log_of(mass.coefficient) - (mass.periods * log_of(mass.ratio) if mass.periods else 0.0)


def _same_period(a: Law, b: Law) -> tuple[Law, Law]:
    """The same laws, written with periods of equal length."""
    if not (a.period and b.period) or a.period_length == b.period_length:
        return a, b
    length = lcm(a.period_length, b.period_length)
    if length > _LONGEST_PERIOD * min(a.period_length, b.period_length):
        raise BadInput(
            "two laws without an end",
            f"have periods that meet within {_LONGEST_PERIOD} repeats",
            found=f"{a.period_length} and {b.period_length} ticks",
        )
    return _repeat(a, length // a.period_length), _repeat(b, length // b.period_length)


def _repeat(law: Law, times: int) -> Law:
    runs = tuple(type(run)(run.length, run.mass / law.ratio**i) for i in range(times) for run in law.period)
    return Law(law.head, runs, law.ratio**times)


def _excess(law: Law, shift: int, factor: Fraction) -> Fraction:
    cuts = sorted({*law.head_starts, *(start + shift for start in law.head_starts)})
    return sum(
        (
            (end - cut) * max(Fraction(0), law.mass(cut) - factor * law.mass(cut - shift))
            for cut, end in itertools.pairwise(cuts)
        ),
        Fraction(0),
    )
