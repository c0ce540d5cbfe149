"""Deciding about laws, exactly: every delay, every shift, laws without an end included."""

from fractions import Fraction
from math import exp, inf

from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.verify.verdict import Verdict, Witness
from tarry.core.verify.worst import worst_excess, worst_ratio

__all__ = ["verify_label_free", "verify_pair"]

_EXACTLY = "every delay and every shift, exactly"


def verify_pair(pair: LawPair, share: Fraction) -> Verdict:
    """Whether b(k) <= e^share * u(k - l) for every delay k and every shift l of 0..start ticks.

    >>> from tarry.core.laws import zero_inflated_uniform
    >>> from tarry.core.mechanism import Ask
    >>> pair = zero_inflated_uniform(Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)))
    >>> verify_pair(pair, Fraction(1, 2)).word, verify_pair(pair, Fraction(49, 100)).word
    ('holds', 'broken')
    """
    worst = worst_ratio(pair, share)
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

    The excess, the sum over k of max(0, u(k) - e^epsilon u(k - l)), must not be above delta.

    >>> from tarry.core.laws.label_free import label_free_law
    >>> law = label_free_law(Fraction(5, 2), start=20, delta=Fraction(1, 100))
    >>> verify_label_free(law, 20, Fraction(1), Fraction(1, 100)).word
    'holds'
    """
    worst = worst_excess(law, law, start, epsilon, delta)
    margin = float(delta - worst.amount)
    if not worst.broken:
        return Verdict(holds=True, scope=_EXACTLY, margin=margin)
    return Verdict(
        holds=False,
        scope=_EXACTLY,
        margin=margin,
        witness=Witness(
            batched="an act arrives at tick 0",
            other=f"it arrives at tick {worst.shift}",
            seen="the releases that speak for it",
            ratio=float(worst.amount),
            allowed=float(delta),
            sentence=(
                f"when an act arrives at tick 0 and not at tick {worst.shift}, some releases are seen more "
                f"often than e^epsilon allows, by a chance of {float(worst.amount):.6g}; "
                f"{float(delta):.6g} is allowed"
            ),
        ),
    )
