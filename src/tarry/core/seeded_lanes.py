"""Seeded entropy for many events at once.

Every lane gets the digits that `entropy.Stream` would give it alone, so a history simulated at once,
in parts, or event by event has the same delays.
"""

import numpy as np
import numpy.typing as npt

from tarry.core.entropy import DIGIT, GOLDEN, MIX, PARTS, WORD, Entropy, Seeded, Stream, stable_code
from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray, WordArray, rejected

__all__ = ["SeededLanes", "event_keys", "stable_codes"]

_U = np.uint64
_LOW = _U(0xFFFF_FFFF)


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
        self._low: WordArray | None = None

    def __len__(self) -> int:
        return len(self._keys)

    def randbelow(self, n: int, lanes: IntArray | None = None) -> IntArray:
        """A uniform integer in 0..n-1 for each lane."""
        if not 1 <= n <= 1 << 62:
            raise BadInput("the range of a vector draw", "lies in 1..2^62", found=n)
        return self._narrow(n, lanes) if n <= DIGIT else self._broad(n, lanes)

    def above(self, digit: int, lanes: IntArray | None = None) -> tuple[BoolArray, IntArray]:
        """Whether each lane's next digit is above this one, and which have an equal one."""
        digits = self._digits(lanes)
        return digits > _U(digit), np.flatnonzero(digits == _U(digit))

    def lane(self, index: int) -> Entropy:
        """The lane's own stream, whose progress the lanes remember."""
        return _Lane(self, index)

    def _narrow(self, n: int, lanes: IntArray | None) -> IntArray:
        product = self._digits(lanes)
        if n == DIGIT:
            return product.view(np.int64)
        product *= _U(n)
        if (again := rejected(product, n)).size:
            where = again if lanes is None else lanes[again]
            product[again] = self._narrow(n, where).view(np.uint64) << _U(32)
        product >>= _U(32)
        return product.view(np.int64)

    def _broad(self, n: int, lanes: IntArray | None) -> IntArray:
        bits = (n - 1).bit_length()
        number = self._digits(lanes) << _U(32)
        number |= self._digits(lanes)
        number >>= _U(64 - bits)
        if (again := np.flatnonzero(number >= _U(n))).size:
            where = again if lanes is None else lanes[again]
            number[again] = self._broad(n, where).view(np.uint64)
        return number.view(np.int64)

    def _digits(self, lanes: IntArray | None) -> WordArray:
        """The next digit of each lane, as a fresh array."""
        if lanes is None and isinstance(self._position, int):
            return self._digits_in_step(self._position)
        position = self._positions()
        where = slice(None) if lanes is None else lanes
        now = position[where].copy()  # a slice alone would be a view, and move on with the positions
        position[where] += 1
        words = _mix(self._keys[where] + (now.view(np.uint64) // _U(2) + _U(1)) * _U(GOLDEN))
        return np.where(now & 1, words & _LOW, words >> _U(32))

    def _digits_in_step(self, position: int) -> WordArray:
        index, low = divmod(position, 2)
        self._position = position + 1
        if low and self._low is not None:
            digits, self._low = self._low, None
            return digits
        words = self._keys + _U((index + 1) * GOLDEN % WORD)
        _mix_in_place(words, self._scratch)
        if low:
            return words & _LOW
        self._low = words & _LOW
        words >>= _U(32)
        return words

    def _positions(self) -> IntArray:
        if isinstance(self._position, int):
            self._position = np.full(len(self._keys), self._position, dtype=np.int64)
            self._low = None
        return self._position

    def stream_at(self, index: int) -> Stream:
        """The scalar stream of a lane, from where the lane stands."""
        return Stream(int(self._keys[index]), int(self._positions()[index]))

    def move_to(self, index: int, position: int) -> None:
        """Remember how far a lane has been read by itself."""
        self._positions()[index] = position


class _Lane:
    """One lane of `SeededLanes`, kept in step with them."""

    def __init__(self, lanes: SeededLanes, index: int) -> None:
        self._lanes, self._index = lanes, index

    def randbelow(self, n: int, /) -> int:
        stream = self._lanes.stream_at(self._index)
        number = stream.randbelow(n)
        self._lanes.move_to(self._index, stream.position)
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


def _mix(words: WordArray) -> WordArray:
    words = words.copy()
    _mix_in_place(words, np.empty_like(words))
    return words


def _mix_in_place(z: WordArray, scratch: WordArray) -> None:
    for shift, factor in ((30, MIX[0]), (27, MIX[1])):
        np.right_shift(z, _U(shift), out=scratch)
        np.bitwise_xor(z, scratch, out=z)
        np.multiply(z, _U(factor), out=z)
    np.right_shift(z, _U(31), out=scratch)
    np.bitwise_xor(z, scratch, out=z)
