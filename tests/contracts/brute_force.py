"""Promises of laws decided by enumeration: slow, small, and written from the definition alone."""

import re
from decimal import Decimal, localcontext
from fractions import Fraction

from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.verify import Verdict

__all__ = ["around_exp", "breaks_label_free", "breaks_pair", "excess", "witness_point"]

#: Ticks of an endless law that are looked at; the small laws of these tests show all they do before.
HORIZON = 120


def around_exp(x: Fraction, digits: int = 60) -> tuple[Fraction, Fraction]:
    """Rationals on either side of e^x, by the decimal module."""
    with localcontext() as context:
        context.prec = digits + 5
        power = (Decimal(x.numerator) / Decimal(x.denominator)).exp()
        unit = Decimal(10) ** (power.adjusted() - digits)
        return Fraction(power - unit), Fraction(power + unit)


def breaks_pair(
    pair: LawPair, share: Fraction, *, at: tuple[int, int] | None = None, horizon: int = HORIZON
) -> bool:
    """Whether b(k) > e^share * u(k - l) for some delay k and some shift l of 0..start (or for `at`)."""
    low, high = around_exp(share)
    end = horizon if pair.batched.period else pair.batched.tail_start
    points = [at] if at else [(k, l) for k in range(end) for l in range(pair.start + 1)]
    batched = {k: pair.batched.mass(k) for k in {k for k, _ in points}}
    unbatched = {k: pair.unbatched.mass(k) for k in {k - l for k, l in points}}
    found = False
    for k, l in points:
        assert 0 <= l <= pair.start
        if batched[k] > high * unbatched[k - l]:
            found = True
            break
        assert batched[k] <= low * unbatched[k - l], "60 digits do not decide"
    return found


def breaks_label_free(law: Law, start: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the excess is above delta for some shift of 0..start."""
    low, high = around_exp(epsilon)
    for shift in range(start + 1):
        if excess(law, shift, high) > delta:
            return True
        assert excess(law, shift, low) <= delta, "60 digits do not decide"
    return False


def excess(law: Law, shift: int, factor: Fraction) -> Fraction:
    """The sum over k of max(0, u(k) - factor * u(k - shift)), for a law with an end."""
    return sum(
        (max(Fraction(0), law.mass(k) - factor * law.mass(k - shift)) for k in range(law.tail_start)),
        Fraction(0),
    )


def witness_point(verdict: Verdict) -> tuple[int, int]:
    """The delay and the shift that a witness about laws names."""
    seen, other = (
        re.findall(r"tick (\d+)", str(text)) for text in (verdict.witness.seen, verdict.witness.other)
    )
    return int(seen[0]), int(other[0])
