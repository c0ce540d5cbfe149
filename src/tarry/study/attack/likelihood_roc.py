"""How much an attack on pairs is worth, straight from the laws: sums of masses, no simulation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tarry.core.errors import BadInput
from tarry.study.attack.likelihood import PairLaws
from tarry.study.attack.likelihood_spread import FloatArray

__all__ = ["Roc", "mixture_roc", "roc"]


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
        raise BadInput("the shares of the kinds of pairs", "lie above 0 and sum to 1", found=shares)
    reaches = sorted({laws.reach for _, laws in classes})
    if attack == "cutoff" and len(reaches) > 1:
        raise BadInput(
            "the reach of all kinds of pairs",
            "is the same for the cutoff attack",
            found=" and ".join(map(str, reaches)),
            fix=f"ask for reach={reaches[-1]} in each",
        )
    order = [laws.ratio if attack == "likelihood" else -np.abs(laws.differences) for _, laws in classes]
    return roc(
        np.concatenate([share * laws.f1 for share, laws in classes]),
        np.concatenate([share * laws.f0 for share, laws in classes]),
        np.concatenate(order),
    )
