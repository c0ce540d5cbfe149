"""Entropy for many events at once: each *lane* is one event, `randbelow` answers for all of them."""

import sys
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tarry.core.entropy import DIGIT, Entropy

__all__ = ["BoolArray", "IntArray", "Lanes", "WordArray", "rejected"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
WordArray = npt.NDArray[np.uint64]

_LOW_HALF = 0 if sys.byteorder == "little" else 1


class Lanes(Protocol):
    """All that a vectorised draw needs."""

    def __len__(self) -> int:
        """How many lanes there are."""
        ...

    def randbelow(self, n: int, lanes: IntArray | None = None) -> IntArray:
        """A uniform integer in 0..n-1 for each of the given lanes (all of them by default)."""
        ...

    def above(self, digit: int, lanes: IntArray | None = None) -> tuple[BoolArray, IntArray]:
        """Whether each lane's next digit is above this one, and the places of those with an equal one."""
        ...

    def lane(self, index: int) -> Entropy:
        """One lane by itself, for the rare draw that needs more than a digit."""
        ...


def rejected(product: WordArray, n: int) -> IntArray:
    """The lanes whose digit fell in the part that would make some of the n results likelier.

    >>> rejected(np.array([5, 2**32 + 1], dtype=np.uint64), 3).tolist()  # 2^32 leaves 1 when divided by 3
    []
    """
    if not (bound := DIGIT % n):
        return np.empty(0, dtype=np.int64)
    remainder = product.view(np.uint32)[_LOW_HALF::2]
    return np.flatnonzero(remainder < np.uint32(bound))
