"""What a practice promises, in words: delays of different worth are not to be compared as one."""

from fractions import Fraction
from math import exp

from tarry.core.durations import format_duration
from tarry.study.baselines.jitter import UniformJitter
from tarry.study.baselines.mixes import PoissonMix
from tarry.study.practice import MICROSECONDS, Practice
from tarry.study.replay import Replay

__all__ = ["failing_share", "promise_of"]


def promise_of(practice: Practice, gap: Fraction) -> str:
    """The promise of a practice, in a few words; `gap` in seconds is what others are measured by.

    A delay that knows no labels has no epsilon. One drawn for each event alike fails altogether with
    some chance (delta), and says nothing about the rest.

    >>> from tarry.study.baselines import baseline
    >>> promise_of(baseline("jitter:24h"), Fraction(2160)), promise_of(baseline("hotcrp"), Fraction(2160))
    ('delta 0.025', 'none')
    """
    if isinstance(practice, Replay):
        policy = practice.policy
        delta = f", delta {float(policy.delta):g}" if policy.delta else ""
        return f"epsilon {float(policy.epsilon):g}{delta}, gap {format_duration(policy.gap)}"
    share = failing_share(practice, gap)
    return "none" if share is None or share >= 1 else f"delta {share:.2g}"


def failing_share(practice: Practice, gap: Fraction) -> float | None:
    """The chance that a batched event appears sooner than one that came the gap later could.

    Then it has given itself away, whatever epsilon one asks for. None: not known.

    >>> from tarry.study.baselines import baseline
    >>> round(failing_share(baseline("poisson:60m"), Fraction(2160)), 3)
    0.451
    """
    if isinstance(practice, UniformJitter):
        spread = Fraction(practice.high - practice.low, MICROSECONDS)
        return float(min(Fraction(1), gap / spread)) if spread else 1.0
    if isinstance(practice, PoissonMix) and practice.hops == 1:
        return 1 - exp(-float(gap) * MICROSECONDS / practice.mean)
    return None
