"""Entropy for many events at once: each *lane* is one event, `randbelow` answers for all of them.

`SecureLanes` draws from the operating system. With `SeededLanes` every lane gets the digits that
`entropy.Stream` would give it alone, so a history simulated at once, in parts, or event by event
has the same delays.
"""

import os
import sys
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tarry.core.entropy import (
    DIGIT,
    GOLDEN,
    MIX,
    PARTS,
    WORD,
    Entropy,
    Secure,
    Seeded,
    Stream,
    stable_code,
)
from tarry.core.errors import BadInput

__all__ = [
    "BoolArray",
    "IntArray",
    "Lanes",
    "SecureLanes",
    "SeededLanes",
    "WordArray",
    "event_keys",
    "stable_codes",
]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
WordArray = npt.NDArray[np.uint64]

_U = np.uint64
_LOW = _U(0xFFFF_FFFF)
_LOW_HALF = 0 if sys.byteorder == "little" else 1
_FEW = 1 << 12  # rejects at most one in sixteen


class Lanes(Protocol):
    """All that a vectorised draw needs."""

    def __len__(self) -> int:
        """How many lanes there are."""

    def randbelow(self, n: int, lanes: IntArray | None = None) -> IntArray:
        """A uniform integer in 0..n-1 for each of the given lanes (all of them by default)."""

    def above(self, digit: int, lanes: IntArray | None = None) -> tuple[BoolArray, IntArray]:
        """Whether each lane's next digit is above this one, and the places of those with an equal one."""

    def lane(self, index: int) -> Entropy:
        """One lane by itself, for the rare draw that needs more than a digit."""


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
        if 1 <= n <= _FEW:
            return self._few(n, self._count(lanes))
        return _below(n, lanes, self._digits, self._words)

    def above(self, digit: int, lanes: IntArray | None = None) -> tuple[BoolArray, IntArray]:
        """Whether each lane's next digit is above this one, and which have an equal one.

        Half a digit nearly always tells, and the system's bytes are what bulk drawing waits for.
        """
        high, low = divmod(digit, 1 << 16)
        halves = self._halves(self._count(lanes))
        above = halves > np.uint16(high)
        open_ = np.flatnonzero(halves == np.uint16(high))
        rest = self._halves(len(open_))
        above[open_] = rest > np.uint16(low)
        return above, open_[rest == np.uint16(low)]

    def lane(self, index: int) -> Entropy:  # noqa: ARG002 - every lane is the same source
        """A scalar source over the same bytes."""
        return Secure(self._read)

    def _count(self, lanes: IntArray | None) -> int:
        return self._size if lanes is None else len(lanes)

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

    def _digits(self, lanes: IntArray | None) -> WordArray:
        return np.frombuffer(self._read(4 * self._count(lanes)), dtype=np.uint32).astype(np.uint64)

    def _words(self, lanes: IntArray | None) -> WordArray:
        return np.frombuffer(self._read(8 * self._count(lanes)), dtype=np.uint64)


class SeededLanes:
    """Seeded numbers for many events, one key each.

    >>> keys = event_keys(np.array([1, 2]), np.array([5, 5]), np.array([0, 60]))
    >>> both = SeededLanes(Seeded(7), keys).randbelow(1000)
    >>> alone = Seeded(7).stream(2, 5, 60).randbelow(1000)
    >>> int(both[1]) == alone
    True
    """

    def __init__(self, source: Seeded, keys: WordArray) -> None:
        self._keys = keys + _U(source.offset)
        self._scratch = np.empty_like(self._keys)
        # Digits used so far: one number while all lanes keep step, an array once they do not.
        self._position: int | IntArray = 0
        self._low: WordArray = self._scratch

    def __len__(self) -> int:
        return len(self._keys)

    def randbelow(self, n: int, lanes: IntArray | None = None) -> IntArray:
        """A uniform integer in 0..n-1 for each lane."""
        return _below(n, lanes, self._digits, self._words)

    def above(self, digit: int, lanes: IntArray | None = None) -> tuple[BoolArray, IntArray]:
        """Whether each lane's next digit is above this one, and which have an equal one."""
        digits = self._digits(lanes)
        return digits > _U(digit), np.flatnonzero(digits == _U(digit))

    def lane(self, index: int) -> Entropy:
        """The lane's own stream, whose progress the lanes remember."""
        return _Lane(int(self._keys[index]), self._positions(), index)

    def _words(self, lanes: IntArray | None) -> WordArray:
        words = self._digits(lanes) << _U(32)
        words |= self._digits(lanes)
        return words

    def _digits(self, lanes: IntArray | None) -> WordArray:
        """The next digit of each lane, as a fresh array."""
        if lanes is None and isinstance(self._position, int):
            return self._digits_in_step(self._position)
        position = self._positions()
        where = slice(None) if lanes is None else lanes
        now = position[where].copy()  # a slice alone would be a view, and move on with the positions
        position[where] += 1
        words = self._keys[where] + (now.view(np.uint64) // _U(2) + _U(1)) * _U(GOLDEN)
        _mix_in_place(words, np.empty_like(words))
        return np.where(now & 1, words & _LOW, words >> _U(32))

    def _digits_in_step(self, position: int) -> WordArray:
        index, low = divmod(position, 2)
        self._position = position + 1
        if low:  # the other half of the words before
            return self._low
        words = self._keys + _U((index + 1) * GOLDEN % WORD)
        _mix_in_place(words, self._scratch)
        self._low = words & _LOW
        words >>= _U(32)
        return words

    def _positions(self) -> IntArray:
        if isinstance(self._position, int):
            self._position = np.full(len(self._keys), self._position, dtype=np.int64)
        return self._position


class _Lane:
    """One lane of `SeededLanes`, kept in step with them."""

    def __init__(self, key: int, positions: IntArray, index: int) -> None:
        self._key, self._positions, self._index = key, positions, index

    def randbelow(self, n: int, /) -> int:
        stream = Stream(self._key, int(self._positions[self._index]))
        number = stream.randbelow(n)
        self._positions[self._index] = stream.position
        return number


def event_keys(
    actor: npt.NDArray[np.generic],
    target: npt.NDArray[np.generic],
    time: IntArray,
    occurrence: IntArray | None = None,
) -> WordArray:
    """The stable hash of each event; `entropy.event_key` gives the same for one.

    >>> from tarry.core.entropy import event_key
    >>> keys = event_keys(np.array(["ann"]), np.array([5]), np.array([60]))
    >>> int(keys[0]) == event_key("ann", 5, 60, 0)
    True
    """
    parts = [_U(part) for part in PARTS]
    keys = stable_codes(actor).view(np.uint64) * parts[0]
    scratch = stable_codes(target).view(np.uint64) * parts[1]
    keys += scratch
    _mix_in_place(keys, scratch)
    keys += np.multiply(time.astype(np.int64, copy=False).view(np.uint64), parts[2], out=scratch)
    if occurrence is not None:
        keys += np.multiply(occurrence.view(np.uint64), parts[3], out=scratch)
    _mix_in_place(keys, scratch)
    return keys


def stable_codes(names: npt.NDArray[np.generic]) -> IntArray:
    """`entropy.stable_code` for a whole column, hashing each distinct text once.

    >>> stable_codes(np.array([3, 4])).tolist()
    [3, 4]
    """
    if np.issubdtype(names.dtype, np.integer):
        return names.astype(np.int64, copy=False)
    distinct, places = np.unique(names.astype(str), return_inverse=True)
    codes = np.array([stable_code(str(name)) for name in distinct], dtype=np.uint64)
    return codes.view(np.int64)[places]


def _below(
    n: int,
    lanes: IntArray | None,
    digits: Callable[[IntArray | None], WordArray],
    words: Callable[[IntArray | None], WordArray],
) -> IntArray:
    """A uniform integer in 0..n-1 for each lane: of a digit, or for a large range of the bits of a word.

    Lanes whose digit or word would make some of the n results likelier draw again.
    """
    if not 1 <= n <= 1 << 62:
        raise BadInput(f"the range of a vector draw must be between 1 and 2^62, not {n}")
    if n == DIGIT:
        return digits(lanes).view(np.int64)
    if n < DIGIT:
        product = digits(lanes)
        product *= _U(n)
        again = _rejected(product, n)
        product >>= _U(32)
    else:
        product = words(lanes) >> _U(64 - (n - 1).bit_length())
        again = np.flatnonzero(product >= _U(n))
    number = product.view(np.int64)
    if again.size:
        number[again] = _below(n, again if lanes is None else lanes[again], digits, words)
    return number


def _rejected(product: WordArray, n: int) -> IntArray:
    """The lanes whose digit fell in the part that would make some of the n results likelier.

    >>> _rejected(np.array([5, 2**32 + 1], dtype=np.uint64), 3).tolist()  # 2^32 leaves 1 when divided by 3
    []
    """
    if not (bound := DIGIT % n):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(product.view(np.uint32)[_LOW_HALF::2] < np.uint32(bound))


def _mix_in_place(z: WordArray, scratch: WordArray) -> None:
    for shift, factor in ((30, MIX[0]), (27, MIX[1])):
        np.right_shift(z, _U(shift), out=scratch)
        np.bitwise_xor(z, scratch, out=z)
        np.multiply(z, _U(factor), out=z)
    np.right_shift(z, _U(31), out=scratch)
    np.bitwise_xor(z, scratch, out=z)
