"""Pairs of events under a policy: how they are released, and the best tests for batching.

Batches come in one instant and eta is 1, as in the paper's proposition on power; the gaps between
strangers are exponential, either one first.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.lanes import IntArray
from tarry.core.plan_release import plan_release
from tarry.core.policy import Policy
from tarry.study.attack.likelihood import pair_laws
from tarry.study.attack.likelihood_roc import Roc, roc
from tarry.study.attack.likelihood_spread import FloatArray, GapLaw, spread
from tarry.study.practice import MICROSECONDS

__all__ = ["GAP", "Best", "Pairs", "differences", "known_time", "masses", "null_law", "policy", "simulate"]

GAP = 120  # ticks of one second
_START = 1_000_000  # the arrival of every first event, in ticks


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Two releases of many pairs, in ticks after the arrival of the first event.

    >>> one = np.array([3])
    >>> Pairs(first=one, second=one).difference.tolist()
    [0]
    """

    first: IntArray
    second: IntArray

    @property
    def difference(self) -> IntArray:
        """How far apart the two releases are."""
        apart: IntArray = np.abs(self.second - self.first)
        return apart


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best test of one observer, straight from the laws.

    >>> Best(f1=np.array([0.5, 0.5]), f0=np.array([0.25, 0.75])).largest
    2.0
    """

    f1: FloatArray  # what is seen of a batched pair
    f0: FloatArray  # and of one that is not

    @property
    def largest(self) -> float:
        """The largest ratio of power to type-I error."""
        return float((self.f1[self.f1 > 0] / self.f0[self.f1 > 0]).max())

    @property
    def curve(self) -> Roc:
        """Power over type-I error."""
        return roc(self.f1, self.f0, np.where(self.f1 > 0, self.f1 / self.f0, 0.0))


def policy(epsilon: Fraction) -> Policy:
    """What pairs are released by: batches in one instant, eta = 1, as in the paper's proposition.

    >>> policy(Fraction(1)).mechanism().pair.start
    120
    """
    return Policy(epsilon=epsilon, gap=f"{GAP}s", labels="simultaneous", law="uniform")


def null_law(percentile: int) -> GapLaw:
    """Exponential gaps between strangers, so that this percentage of them is at most the gap.

    >>> round(null_law(75).within(GAP), 9)
    0.75
    """
    stay = (1 - percentile / 100) ** (1 / (GAP + 1))
    return GapLaw.of_masses((1 - stay) * stay ** np.arange(40 * GAP))


def known_time(epsilon: Fraction, percentile: int) -> Best:
    """The best test of somebody who knows when the first of the two events arrived.

    Below the gap no delay is a batched one. From there on, and with eta = 1, the first release says
    e^(epsilon/2) whatever it is; so all that is left to look at is the second.

    >>> known_time(Fraction(1), 75).largest > np.e / 0.75
    True
    """
    pair = policy(epsilon).mechanism().pair
    end = (pair.batched.maximum or 0) + 1
    stranger = spread(null_law(percentile).either(2 * end), pair.unbatched, cut=1e-12)
    place = np.arange(pair.start, end)
    f1 = np.array([float(pair.batched.mass(k)) for k in place.tolist()])
    long_enough = 1 - float(pair.unbatched.cumulative(pair.start - 1))
    return Best(f1=f1, f0=long_enough * stranger.values[place - stranger.low])


def differences(epsilon: Fraction, percentile: int) -> Best:
    """The best test of somebody who sees only how far apart the two releases are.

    >>> differences(Fraction(1), 75).largest < np.e / 0.75
    True
    """
    laws = pair_laws(policy(epsilon).mechanism(), null=null_law(percentile))
    return Best(f1=laws.f1, f0=laws.f0)


def masses(percentile: int) -> tuple[float, float]:
    """P(|S| <= g), as printed, and P(0 <= S <= g), for an observer who knows the first arrival.

    >>> both, later = masses(75)
    >>> 0.5 < later / both < 0.52
    True
    """
    both = null_law(percentile).within(GAP)
    return both, both / 2 + null_law(percentile).within(0) / 2


# --- simulated -----------------------------------------------------------------------------------


def simulate(epsilon: Fraction, percentile: int, pairs: int, seed: int) -> tuple[Pairs, Pairs]:
    """Batched pairs, and pairs of strangers, released by the policy.

    >>> batched, strangers = simulate(Fraction(1), 75, pairs=10, seed=1)
    >>> bool((batched.first >= GAP).all()), len(strangers.second)
    (True, 10)
    """
    rng = np.random.default_rng([seed, percentile])
    law = null_law(percentile)
    gap = rng.choice(law.distances, size=pairs, p=law.masses / law.masses.sum())
    sign = rng.choice([-1, 1], size=pairs)
    number = np.arange(pairs)
    together, apart = np.full(pairs, _START), _START + sign * gap
    batched = _released(epsilon, number, number, together, seed)
    strangers = _released(epsilon, 2 * number, 2 * number + 1, apart, seed + 1)
    return batched, strangers


def _released(epsilon: Fraction, one: IntArray, other: IntArray, second: IntArray, seed: int) -> Pairs:
    start = np.full(len(one), _START)
    history = History(
        actor=np.concatenate((one, other)),
        target=np.arange(2 * len(one)),
        time=np.concatenate((start, second)) * MICROSECONDS,
    )
    release = plan_release(policy(epsilon), history, Seeded(seed)).release
    return Pairs(first=release[: len(one)] - start, second=release[len(one) :] - start)
