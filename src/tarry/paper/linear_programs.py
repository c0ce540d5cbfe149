"""The best laws by linear programming: what no formula of ours has a say in.

Delays are cut into cells, so many to the gap; the masses of the laws in each cell are the unknowns, and
so is the mass of the unbatched law at 0. Cells are valid densities, so that the optimum over cells is
never better than the one in continuous time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, expm1

import numpy as np
from scipy.optimize import linprog  # type: ignore[import-untyped]  # theirs has no types
from scipy.sparse import (  # type: ignore[import-untyped]  # likewise
    block_array,
    block_diag,
    coo_array,
    eye_array,
    vstack,
)

from tarry.core.errors import NotPossible

__all__ = ["Optimum", "best_on_cells", "best_split", "soonest"]

FloatArray = np.ndarray[tuple[int], np.dtype[np.float64]]


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
    result = linprog(
        np.concatenate([(1 - weight) * delays, weight * delays, [0.0]]),
        A_ub=coo_array((signs, places), shape=(len(k), 2 * many + 1)).tocsr(),
        b_ub=np.zeros(len(k)),
        A_eq=totals,
        b_eq=[1.0, 1.0],
        bounds=[(0.0, most) for most in upper],
        method="highs",
    )
    if not result.success:
        raise NotPossible(f"the linear program has no optimum: {result.message}")
    unbatched, batched = result.x[:many] @ delays, result.x[many:-1] @ delays
    return Optimum(cost=float(result.fun), batched=float(batched), unbatched=float(unbatched))


def best_split(epsilon: float, weight: float, *, cells: int, end: float, splits: int) -> Optimum:
    """The best over several ways to share epsilon between who stays and who moves, the even one first.

    A small share needs long laws: cells end at `end` gaps, or later where the share asks for it.

    >>> best_split(4.0, 1.0, cells=20, end=2.2, splits=4).cost < 1.0783  # Algorithm 2
    True
    """
    shares = [epsilon / 2 * step / splits for step in range(splits, 0, -1)]
    optima = []
    for share in shares:
        long = max(end, 1.2 - 1 / expm1(-share))  # the support of the uniform law with that share
        optima.append(best_on_cells(exp(share), exp(epsilon - share), weight, cells=cells, end=long))
    return min(optima, key=lambda one: one.cost)


def soonest(epsilon: float, delta: float, gaps: int, *, ticks: int, last: int = 16) -> float:
    """The largest chance of a release within so many gaps, over one law for all events.

    The law has `last` gaps of so many ticks and is (epsilon, delta)-private both ways for moves of up to
    a gap: for each shift, what is above e^epsilon times the other adds up to no more than delta.

    >>> round(soonest(1.0, 0.01, 2, ticks=1), 4)
    0.0372
    """
    many, moves = last * ticks, []
    for shift in range(1, ticks + 1):
        # Over the ticks that either law reaches: the law, and the law moved by the shift.
        here, there = (eye_array(many + shift, many, k=-moved) for moved in (0, shift))
        moves += [here - exp(epsilon) * there, there - exp(epsilon) * here]
    excess = sum(move.shape[0] for move in moves)  # one unknown for each, besides the law's masses
    sums = block_diag([np.ones((1, move.shape[0])) for move in moves])
    below = block_array([[vstack(moves), -eye_array(excess)], [None, sums]], format="csr")
    objective, total = np.zeros(many + excess), np.zeros((1, many + excess))
    objective[: gaps * ticks], total[0, :many] = -1, 1
    limits = np.concatenate([np.zeros(excess), np.full(len(moves), delta)])
    result = linprog(objective, A_ub=below, b_ub=limits, A_eq=total, b_eq=[1.0], method="highs")
    if not result.success:
        raise NotPossible(f"the linear program has no optimum: {result.message}")
    return float(-result.fun)
