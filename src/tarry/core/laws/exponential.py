"""Exponential: on ticks a geometric law, whose ratio is rounded against ourselves.

Proof: `core/proofs/exponential.md`.
"""

from fractions import Fraction

from tarry.core.exact import exp_floor
from tarry.core.law import Law, Run
from tarry.core.mechanism import Ask, LawPair, shifted_pair

__all__ = ["exponential", "geometric_pair"]


def exponential(ask: Ask) -> LawPair:
    """The geometric pair: each further tick is less likely by the same factor.

    >>> pair = exponential(Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)))
    >>> round(float(pair.unbatched.mean)), pair.batched.minimum
    (600, 300)
    """
    return geometric_pair(_decay(ask.share, ask.start), ask.start)


def geometric_pair(decay: Fraction, start: int) -> LawPair:
    """Unbatched k with mass (1 - decay) decay^k; batched the same, `start` ticks later.

    >>> geometric_pair(Fraction(1, 2), start=3).unbatched.mass(2)
    Fraction(1, 8)
    """
    return shifted_pair(Law((), (Run(1, 1 - decay),), 1 / decay), start)


def _decay(share: Fraction, start: int) -> Fraction:
    """A rational not below e^(-share / start): then decay^start >= e^-share, whatever the start.

    It is q / floor(q e^x), since rounding e^x down rounds its inverse up; the bits grow until the
    inverse is really below 1, and 32 more keep the loss out of sight.
    """
    x = share / start
    bits = 32 + (-(-x.denominator // x.numerator)).bit_length()
    return Fraction(1 << bits, exp_floor(x, bits))
