"""Uniform: both kinds of event wait a plain uniform time (the paper's third choice).

Proof: `core/proofs/uniform.md`.
"""

from fractions import Fraction

from tarry.core.law import Law, Run
from tarry.core.mechanism import Ask, LawPair

__all__ = ["uniform"]


def uniform(ask: Ask) -> LawPair:
    """Batched uniform on G..L-1, unbatched uniform on 0..L-1, with the least L that is private.

    >>> pair = uniform(Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)))
    >>> pair.batched.maximum, pair.unbatched.mass(0) == pair.unbatched.mass(762)
    (762, True)
    """
    # 1 / (L - G) <= R / L, that is L >= R G / (R - 1)
    end = max(ask.start + 1, -(-ask.ratio * ask.start // (ask.ratio - 1)))
    return LawPair(
        batched=Law((Run(ask.start, Fraction(0)), Run(end - ask.start, Fraction(1, end - ask.start)))),
        unbatched=Law((Run(end, Fraction(1, end)),)),
        start=ask.start,
        eta=Fraction(1),
    )
