"""The paper's closed forms in continuous time, misprints corrected. For charts and comparison only.

Delays are in the unit of `gap`; `share` is the epsilon passed to the laws (half the pair's budget).
No release is decided here: the exact laws on ticks are in `laws/`. Where the paper prints something
else, `docs/theory.md` names the erratum and its test.
"""

from dataclasses import dataclass
from math import exp, inf, sqrt

from tarry.core.errors import BadInput

__all__ = ["Means", "best_eta", "exponential", "staircase", "uniform", "zero_inflated_uniform"]


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
    if not a < eta <= 1:
        raise BadInput("eta", f"lies above e^-share = {a:.6g} and at most 1", found=eta)
    end = eta * gap / (eta - a)
    return Means((gap + end) / 2, eta * end / 2, end)


def best_eta(share: float, weight: float) -> float:
    """The eta with the least weighted mean delay (Algorithm 2); weight 1 gives 1.

    >>> best_eta(0.5, 0.0), round(best_eta(1.0, 0.25), 4)
    (1.0, 0.8758)
    """
    if not 0 <= weight <= 1:
        raise BadInput("weight", "lies between 0 and 1", found=weight)
    if weight == 1:
        return 1.0
    a = exp(-share)
    return min(1.0, a * (1 + sqrt(1 + weight / ((1 - weight) * a))))
