"""The laws of the paper: closed forms, the default pair on ticks, and the best by linear programming.

The closed forms in continuous time are the corrected ones, for charts and comparison only: no release is
decided here, the exact laws on ticks are in `core/laws/`. Delays are in the unit of `gap`; `share` is the
epsilon passed to the laws (half the pair's budget).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, inf, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog  # type: ignore[import-untyped]  # theirs has no types
from scipy.sparse import coo_array  # type: ignore[import-untyped]  # likewise

from tarry.core.errors import require, require_possible
from tarry.core.laws import zero_inflated
from tarry.core.mechanism import Ask, LawPair

__all__ = [
    "Means",
    "Optimum",
    "best_eta",
    "best_on_cells",
    "best_split",
    "default_laws",
    "exponential",
    "solve",
    "staircase",
    "turning_point",
    "uniform",
    "zero_inflated_uniform",
]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Means:
    """Expected delays, and the end of the support.

    >>> Means(4.0, 2.0).end
    inf
    """

    batched: float
    unbatched: float
    end: float = inf

    def weighted(self, weight: float) -> float:
        """The weighted mean.

        >>> Means(4.0, 2.0).weighted(0.25)
        2.5
        """
        return weight * self.batched + (1 - weight) * self.unbatched


def exponential(share: float, gap: float = 1.0) -> Means:
    """B = gap + Exponential(share / gap), U = Exponential(share / gap).

    >>> exponential(0.5)
    Means(batched=3.0, unbatched=2.0, end=inf)
    """
    return Means(gap * (1 + 1 / share), gap / share)


def staircase(share: float, gap: float = 1.0) -> Means:
    """B = gap + |Staircase|, U = |Staircase|, with the step 1 / (1 + e^(share / 2)).

    >>> round(staircase(1.0).unbatched, 4)
    0.9595
    """
    unbatched = gap * exp(share / 2) / (exp(share) - 1)
    return Means(gap + unbatched, unbatched)


def uniform(share: float, gap: float = 1.0) -> Means:
    """B = Uniform(gap, end), U = Uniform(0, end) with end = gap / (1 - e^-share).

    >>> round(uniform(0.5).batched, 4)
    1.7707
    """
    return zero_inflated_uniform(share, 1.0, gap)


def zero_inflated_uniform(share: float, eta: float, gap: float = 1.0) -> Means:
    """B = Uniform(gap, end); U = 0 with chance 1 - eta, else Uniform(0, end).

    E[B] = (gap / 2)(1 + eta / (eta - a)), where the paper prints eta in place of the 1.

    >>> means = zero_inflated_uniform(0.5, 1.0)
    >>> round(means.batched, 4), round(means.unbatched, 4), round(means.end, 4)
    (1.7707, 1.2707, 2.5415)
    """
    a = exp(-share)
    require(a < eta <= 1, f"eta must lie above e^-share = {a:.6g} and be at most 1, not {eta}")
    end = eta * gap / (eta - a)
    return Means((gap + end) / 2, eta * end / 2, end)


def best_eta(share: float, weight: float) -> float:
    """The eta with the least weighted mean delay (Algorithm 2); weight 1 gives 1.

    >>> best_eta(0.5, 0.0), round(best_eta(1.0, 0.25), 4)
    (1.0, 0.8758)
    """
    require(0 <= weight <= 1, f"weight must lie between 0 and 1, not {weight}")
    if weight == 1:
        return 1.0
    a = exp(-share)
    return min(1.0, a * (1 + sqrt(1 + weight / ((1 - weight) * a))))


def default_laws(start: int, share: Fraction = Fraction(1, 2)) -> LawPair:
    """The zero-inflated uniform laws on ticks, at weight 1: what small examples draw from.

    >>> default_laws(10).batched.minimum, default_laws(10).batched.maximum
    (10, 25)
    """
    return zero_inflated.zero_inflated_uniform(Ask(share=share, start=start, weight=Fraction(1)))


def turning_point(holds: Callable[[float], bool], low: float, high: float, *, within: float) -> float:
    """The least value from which on something holds, by bisection; it must hold at `high`.

    >>> turning_point(lambda value: value >= 1, 0.0, 3.0, within=0.5)
    1.125
    """
    while high - low > within:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


# --- linear programs: what no formula of ours has a say in ----------------------------------------
#
# Delays are cut into cells, so many to the gap; the masses of the laws in each cell are the unknowns, and
# so is the mass of the unbatched law at 0. Cells are valid densities, so that the optimum over cells is
# never better than the one in continuous time.


def solve(objective: FloatArray, **constraints: Any) -> Any:
    """The solution of a linear program with the least value, or a refusal.

    >>> solve(np.array([1.0]), bounds=[(2, 3)]).fun
    2.0
    """
    result = linprog(objective, method="highs", **constraints)
    require_possible(
        result.success, f"the linear program has no optimum ({result.message}): choose other constraints"
    )
    return result


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The optimum of a program, in the unit of the costs.

    >>> round(best_on_cells(2.0, 2.0, 1.0, cells=1, middles=[0.0, 1.0, 2.0, 3.0]).cost, 6)
    1.0
    """

    cost: float  # weighted mean
    batched: float  # its two parts
    unbatched: float


def best_on_cells(
    stay: float,
    move: float,
    weight: float,
    *,
    cells: int,
    end: float = 3.0,
    middles: Sequence[float] | FloatArray | None = None,
) -> Optimum:
    """The least weighted mean over all pairs with b_k <= stay u_k and b_k <= move u_(k-l), l <= cells.

    Cells end at `end` gaps; `middles` gives the delay of each cell instead, where they are ticks.

    >>> best = best_on_cells(exp(0.5), exp(0.5), 1.0, cells=20, end=3.8)
    >>> 0 <= best.cost - 1.7707 < 0.001  # Algorithm 2 at epsilon 1
    True
    """
    if middles is None:
        middles = (np.arange(ceil(end * cells)) + 0.5) / cells
    delays = np.asarray(middles, dtype=np.float64)
    many = len(delays)
    # Unknowns: u, then b, then the mass of u at 0. Each row says b_k - ratio * u_(k-l) <= 0.
    k, l = (grid.ravel() for grid in np.meshgrid(np.arange(cells, many), np.arange(cells + 1)))
    row = np.arange(len(k))
    signs = np.concatenate([np.ones(len(k)), np.where(l == 0, -stay, -move)])
    places = (np.concatenate([row, row]), np.concatenate([many + k, k - l]))
    totals = np.zeros((2, 2 * many + 1))
    totals[0, :many] = totals[0, -1] = totals[1, many:-1] = 1
    upper = [1.0] * many + [0.0] * cells + [1.0] * (many - cells + 1)  # no batched delay below the gap
    result = solve(
        np.concatenate([(1 - weight) * delays, weight * delays, [0.0]]),
        A_ub=coo_array((signs, places), shape=(len(k), 2 * many + 1)).tocsr(),
        b_ub=np.zeros(len(k)),
        A_eq=totals,
        b_eq=[1.0, 1.0],
        bounds=[(0.0, most) for most in upper],
    )
    unbatched, batched = result.x[:many] @ delays, result.x[many:-1] @ delays
    return Optimum(cost=float(result.fun), batched=float(batched), unbatched=float(unbatched))


def best_split(epsilon: float, weight: float, *, cells: int, end: float, splits: int) -> Optimum:
    """The best over several ways to share epsilon between who stays and who moves, the even one first.

    A small share needs long laws: cells end at `end` gaps, or later where the share asks for it.

    >>> best_split(4.0, 1.0, cells=20, end=2.2, splits=4).cost < 1.0783  # Algorithm 2
    True
    """
    shares = [epsilon / 2 * step / splits for step in range(splits, 0, -1)]
    ends = [max(end, 1.2 - 1 / expm1(-share)) for share in shares]  # of the uniform law with that share
    optima = (
        best_on_cells(exp(share), exp(epsilon - share), weight, cells=cells, end=long)
        for share, long in zip(shares, ends, strict=True)
    )
    return min(optima, key=lambda one: one.cost)
