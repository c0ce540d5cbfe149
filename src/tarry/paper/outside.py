"""Algorithm 2, and the family of pairs that may spend epsilon unevenly between who stays and who moves.

Delays are in gaps. The promise for a pair needs only r0 rg <= e^epsilon, where r0 bounds batched over
unbatched chances of the event that stays, and rg those of the event that moves. Algorithm 2 is best for
r0 = rg; the family here takes any r0.
"""

from dataclasses import dataclass
from math import exp

import numpy as np

from tarry.core.continuous import Means, best_eta, zero_inflated_uniform

__all__ = ["Outside", "best_inside", "best_outside", "gains_from"]

FINE = 20_001  # steps of the search


def best_inside(epsilon: float, weight: float) -> Means:
    """Algorithm 2: the least weighted delay among pairs that spend half of epsilon on each event.

    >>> round(best_inside(2.0, 1.0).batched, 4)
    1.291
    """
    return zero_inflated_uniform(epsilon / 2, best_eta(epsilon / 2, weight))


@dataclass(frozen=True, kw_only=True)
class Outside:
    """A pair of laws that may spend epsilon unevenly.

    Batched: flat from the gap to 1 + 1/x gaps. Unbatched: the mass y there, the mass x z flat before
    the gap, the rest at 0.

    >>> round(best_outside(2.0, 1.0).means.batched, 4)  # 1 + 2 e^-2
    1.2707
    """

    y: float  # 1 / r0; in the class it is e^(-epsilon/2)
    z: float  # 1 / rg = e^-epsilon / y
    x: float  # height of the batched law
    means: Means


def best_outside(epsilon: float, weight: float) -> Outside:
    """The pair of this family with the least weighted delay; Algorithm 2 is one of them.

    >>> means = best_outside(1.0, 1.0).means, best_inside(1.0, 1.0)  # epsilon below 2 ln 2
    >>> [round(one.batched, 6) for one in means]
    [1.770747, 1.770747]
    """
    y = np.linspace(exp(-epsilon / 2), 1, FINE)[:-1]
    z = exp(-epsilon) / y
    room = (1 - y) / z  # x z + y <= 1
    x = room if weight == 1 else np.minimum(np.sqrt((weight / (1 - weight) + y) / z), room)
    batched = 1 + 1 / (2 * x)
    unbatched = x * z / 2 + y * batched
    best = int(np.argmin(weight * batched + (1 - weight) * unbatched))
    means = Means(float(batched[best]), float(unbatched[best]), 1 + 1 / float(x[best]))
    return Outside(y=float(y[best]), z=float(z[best]), x=float(x[best]), means=means)


def gains_from(epsilon: float) -> float | None:
    """The least weight from which on spending unevenly pays; None where it never does.

    >>> gains_from(1.0) is None, round(gains_from(3.0), 2)
    (True, 0.52)
    """

    def gains(weight: float) -> bool:
        inside = best_inside(epsilon, weight).weighted(weight)
        return best_outside(epsilon, weight).means.weighted(weight) < inside - 1e-9

    if not gains(1.0):
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if gains(middle) else (middle, high)
    return high
