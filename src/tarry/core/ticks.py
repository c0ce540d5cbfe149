"""The clock's unit. All law is integer in it.

A moment is rounded *up* to its tick: rounding up is monotone and commutes with whole ticks, so a
gap of at most g becomes a gap of at most `ticks_up(g)` ticks and never one more.
"""

from fractions import Fraction

__all__ = ["ticks_up"]


def ticks_up(seconds: Fraction | int, tick: Fraction) -> int:
    """The number of ticks that covers a duration, or the tick a moment belongs to.

    >>> ticks_up(Fraction(5, 2), Fraction(1)), ticks_up(3, Fraction(1)), ticks_up(0, Fraction(1))
    (3, 3, 0)
    """
    quotient = Fraction(seconds) / tick
    return -(-quotient.numerator // quotient.denominator)
