"""Secure entropy for many events at once."""

import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tarry.core.entropy import DIGIT, Entropy, Secure
from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray, rejected

__all__ = ["SecureLanes"]

_U = np.uint64
_FEW = 1 << 12  # rejects at most one in sixteen


class SecureLanes:
    """Numbers of the operating system's secure source for many events.

    `read` gives the bytes: `os.urandom`, or what a caller passes, such as `keep.counter_mode.ctr_reader()`.

    >>> bool((SecureLanes(1000).randbelow(6) < 6).all())
    True
    """

    def __init__(self, size: int, read: Callable[[int], bytes] = os.urandom) -> None:
        self._size, self._read = size, read

    def __len__(self) -> int:
        return self._size

    def randbelow(self, n: int, lanes: IntArray | None = None) -> IntArray:
        """A uniform integer in 0..n-1 for each lane."""
        size = self._size if lanes is None else len(lanes)
        if not 1 <= n <= 1 << 62:
            raise BadInput("the range of a vector draw", "lies in 1..2^62", found=n)
        return self._narrow(n, size) if n <= DIGIT else self._broad(n, size)

    def above(self, digit: int, lanes: IntArray | None = None) -> tuple[BoolArray, IntArray]:
        """Whether each lane's next digit is above this one, and which have an equal one.

        Half a digit nearly always tells, and the system's bytes are what bulk drawing waits for.
        """
        high, low = divmod(digit, 1 << 16)
        halves = self._halves(self._size if lanes is None else len(lanes))
        above = halves > np.uint16(high)
        open_ = np.flatnonzero(halves == np.uint16(high))
        rest = self._halves(len(open_))
        above[open_] = rest > np.uint16(low)
        return above, open_[rest == np.uint16(low)]

    def lane(self, index: int) -> Entropy:  # noqa: ARG002 - every lane is the same source
        """A scalar source over the same bytes."""
        return Secure(self._read)

    def _narrow(self, n: int, size: int) -> IntArray:
        if n <= _FEW:
            return self._few(n, size)
        product = np.frombuffer(self._read(4 * size), dtype=np.uint32).astype(np.uint64)
        if n == DIGIT:
            return product.view(np.int64)
        product *= _U(n)
        if (again := rejected(product, n)).size:
            product[again] = self._narrow(n, len(again)).view(np.uint64) << _U(32)
        product >>= _U(32)
        return product.view(np.int64)

    def _few(self, n: int, size: int) -> IntArray:
        """A small range takes half a digit."""
        product = self._halves(size).astype(np.int64)
        product *= n
        if (again := np.flatnonzero((product & 0xFFFF) < (1 << 16) % n)).size:
            product[again] = self._few(n, len(again)) << 16
        product >>= 16
        return product

    def _halves(self, size: int) -> npt.NDArray[np.uint16]:
        return np.frombuffer(self._read(2 * size), dtype=np.uint16)

    def _broad(self, n: int, size: int) -> IntArray:
        bits = (n - 1).bit_length()
        number = np.frombuffer(self._read(8 * size), dtype=np.uint64) >> _U(64 - bits)
        if (again := np.flatnonzero(number >= _U(n))).size:
            number[again] = self._broad(n, len(again)).view(np.uint64)
        return number.view(np.int64)
