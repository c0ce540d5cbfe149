"""Bounds on a chance from counted hits (Clopper and Pearson), and what so many samples can see at all.

Floats, but rounded against the claim: each tail is held to a level that is a little smaller than asked for,
and each bound is moved outwards by far more than the arithmetic is off.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, lgamma, log, log1p

from tarry.core.errors import require
from tarry.core.exact import exceeds_exp

__all__ = ["Bounds", "bounds_of", "detectable", "lower_bound", "upper_bound"]

_AGAINST = 1e-9  # by what part a bound is moved outwards
_STEPS = 60  # of a bisection
_TINY = 1e-300
_POWER = 0.9


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What counted hits say of two chances, both at once, at a level.

    >>> found = bounds_of(hits=(1000, 368), samples=1000, level=0.05)
    >>> 0.9 < found.epsilon(Fraction(0)) < 1, found.exceeds(Fraction(1, 2), Fraction(0))
    (True, True)
    """

    least: float  # the chance in the true story is at least that
    most: float  # the chance in the other story is at most that

    def epsilon(self, delta: Fraction) -> float:
        """At least so many nats tell the stories apart, with this delta to spare; -inf says nothing."""
        return log((self.least - float(delta)) / self.most) if self.least > delta else -inf

    def delta(self, nats: Fraction) -> float:
        """At least this delta is needed for a promise of so many nats."""
        return max(0.0, self.least - exp(nats) * self.most * (1 + _AGAINST))

    def exceeds(self, nats: Fraction, delta: Fraction) -> bool:
        """Whether a promise of so many nats, with this delta, is broken."""
        least = Fraction(self.least) - delta
        return least > 0 and exceeds_exp(least / Fraction(self.most), nats)


def bounds_of(*, hits: tuple[int, int], samples: int, level: float) -> Bounds:
    """Both bounds at once, wrong with a chance of at most `level`: half of it for each.

    >>> round(bounds_of(hits=(10, 0), samples=10, level=0.05).most, 3)  # 1 - 0.025^(1/10)
    0.308
    """
    return Bounds(
        least=lower_bound(hits[0], samples, level / 2), most=upper_bound(hits[1], samples, level / 2)
    )


def lower_bound(hits: int, samples: int, level: float) -> float:
    """The chance below which so many hits or more have a chance of at most `level`.

    >>> round(lower_bound(7, 10, 0.025), 4)
    0.3475
    """
    _check(hits, samples, level)
    if not hits:
        return 0.0
    below, _ = _around(lambda x: _beta(hits, samples - hits + 1, x) > level * (1 - _AGAINST))
    return below * (1 - _AGAINST)


def upper_bound(hits: int, samples: int, level: float) -> float:
    """The chance above which so many hits or fewer have a chance of at most `level`.

    >>> round(upper_bound(3, 10, 0.025), 4)
    0.6525
    """
    _check(hits, samples, level)
    if hits == samples:
        return 1.0
    _, above = _around(lambda x: _beta(samples - hits, hits + 1, 1 - x) < level * (1 - _AGAINST))
    return min(1.0, above * (1 + _AGAINST))


def detectable(epsilon: float, samples: int, level: float = 0.05) -> float:
    """The excess over a promised epsilon that so many fresh samples of each story find nine times in ten.

    For a region that is certain in the true story, as the delays of a batched pair are. inf: none is found.

    >>> round(detectable(1, 10_000), 3)
    0.044
    """
    certain = lower_bound(samples, samples, level / 2)
    goal = certain * exp(-epsilon)
    few, many = -1, samples  # the most hits in the other story that still speak against the promise
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if upper_bound(middle, samples, level / 2) < goal else (few, middle)
    return inf if few < 0 else -log(upper_bound(few, samples, _POWER)) - epsilon


def _check(hits: int, samples: int, level: float) -> None:
    require(0 <= hits <= samples, f"there must be at most {samples} hits, not {hits}")
    require(0 < level < 1, f"a level must lie between 0 and 1, not {level:g}")


def _around(is_above: Callable[[float], bool]) -> tuple[float, float]:
    """Two chances next to each other: at the first this is false, at the second and above it is true."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return low, high


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function: P(at least a hits of a + b - 1) for whole a and b."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1 - _beta(b, a, 1 - x)
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)
    return exp(front) / (a * _fraction(a, b, x)) if front > -700 else 0.0


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the function above, from the top (Lentz)."""
    value, d = 1.0, 0.0
    c = 1.0
    for j in range(1, 100_000):
        m = j // 2
        if j % 2:
            step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _nonzero(1 + step * d)
        c = _nonzero(1 + step / c)
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _nonzero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
