"""Pairs of events under a policy: how they are released, and the best tests for batching.

Batches come in one instant and eta is 1, as in the paper's proposition on power; the gaps between
strangers are exponential, either one first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.lanes import IntArray
from tarry.core.plan_release import plan_release
from tarry.core.policy import Policy
from tarry.study.attack.likelihood import FloatArray, GapLaw, PairLaws, pair_laws, spread
from tarry.study.practice import MICROSECONDS

__all__ = [
    "GAP",
    "Best",
    "Pairs",
    "Roc",
    "differences",
    "known_time",
    "masses",
    "mixture_roc",
    "null_law",
    "policy",
    "roc",
    "simulate",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class Roc:
    """Power against type-I error, from (0, 0) to (1, 1).

    >>> curve = roc([0.75, 0.25], [0.25, 0.75], [2, 1])
    >>> curve.area, curve.power_at(0.125)
    (0.75, 0.375)
    """

    type_one: FloatArray  # share of the pairs that are not batched and are flagged
    power: FloatArray  # share of the batched pairs that are flagged

    @property
    def area(self) -> float:
        """The chance that a batched pair is ranked before one that is not; ties count half."""
        return float((np.diff(self.type_one) * (self.power[1:] + self.power[:-1]) / 2).sum())

    def power_at(self, type_one: float) -> float:
        """The power at a type-I error; between two points a coin decides which test is used."""
        return float(np.interp(type_one, self.type_one, self.power))


def roc(
    f1: FloatArray | Sequence[float],
    f0: FloatArray | Sequence[float],
    order: FloatArray | Sequence[float],
) -> Roc:
    """The curve of the attack that flags outcomes from the highest `order` down, equal ones together.

    Mass that f1 or f0 lack to 1 belongs to outcomes that are flagged last.

    >>> roc([0.5, 0.5], [0.25, 0.25], [1, 1]).type_one.tolist()
    [0.0, 0.5, 1.0]
    """
    rank = np.asarray(order, dtype=np.float64)
    down = np.argsort(-rank, kind="stable")
    last = np.append(rank[down][1:] != rank[down][:-1], True) if len(down) else np.empty(0, np.bool_)
    curves = (np.cumsum(np.asarray(f, dtype=np.float64)[down])[last] for f in (f0, f1))
    type_one, power = (np.concatenate(([0.0], np.minimum(curve, 1.0), [1.0])) for curve in curves)
    return Roc(type_one=type_one, power=power)


def mixture_roc(
    classes: Sequence[tuple[float, PairLaws]], attack: Literal["likelihood", "cutoff"] = "likelihood"
) -> Roc:
    """The curve over pairs of several kinds, each with its share, such as targets with gaps of their own.

    The likelihood attack sees a pair's kind and ranks by its ratio; the cutoff ranks by |d| alone.

    >>> laws = PairLaws(f1=np.array([0.25, 0.5, 0.25]), f0=np.array([0.25, 0.25, 0.25]))
    >>> mixture_roc([(1.0, laws)]).area == mixture_roc([(1.0, laws)], "cutoff").area
    True
    """
    shares = [share for share, _ in classes]
    if not shares or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-9:
        raise BadInput(f"the shares of the kinds of pairs must be above 0 and sum to 1, not {shares}")
    reaches = sorted({laws.reach for _, laws in classes})
    if attack == "cutoff" and len(reaches) > 1:
        many = " and ".join(map(str, reaches))
        problem = f"the cutoff attack needs one reach for all kinds of pairs, not {many}"
        raise BadInput(problem, f"use reach={reaches[-1]} for each")
    order = [laws.ratio if attack == "likelihood" else -np.abs(laws.differences) for _, laws in classes]
    return roc(
        np.concatenate([share * laws.f1 for share, laws in classes]),
        np.concatenate([share * laws.f0 for share, laws in classes]),
        np.concatenate(order),
    )


# --- pairs under a policy -------------------------------------------------------------------------

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
