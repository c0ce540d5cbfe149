"""Sums of whole numbers in any order, divided once: so any two ways of adding up print the same."""

import numpy as np
import numpy.typing as npt

from tarry.core.lanes import IntArray

__all__ = ["ONE", "mean_share", "shares_in_parts", "total"]

#: A share is kept as a whole number of so many parts.
ONE = 1 << 52
_HALF_WORD = 32


def total(values: IntArray) -> int:
    """The exact sum, also where it passes 2^63.

    >>> total(np.array([1 << 62] * 4)) == 1 << 64
    True
    """
    high, low = values >> _HALF_WORD, values & ((1 << _HALF_WORD) - 1)
    return (int(high.sum()) << _HALF_WORD) + int(low.sum())


def shares_in_parts(part: IntArray, whole: IntArray) -> IntArray:
    """part / whole in whole parts of `ONE`, for shares from 0 to 1.

    >>> shares_in_parts(np.array([1]), np.array([2])).tolist() == [ONE // 2]
    True
    """
    parts: npt.NDArray[np.int64] = np.rint(part / whole * ONE).astype(np.int64)
    return parts


def mean_share(part: IntArray, whole: IntArray) -> float:
    """The mean of part / whole.

    >>> mean_share(np.array([1, 1]), np.array([2, 4]))
    0.375
    """
    return total(shares_in_parts(part, whole)) / (len(part) * ONE)
