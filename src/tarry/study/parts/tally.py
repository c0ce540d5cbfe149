"""How often each value occurs: exact while there are few values, then by bins that a later pass opens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarry.core.history import row_order
from tarry.core.lanes import IntArray

__all__ = ["EXACT", "ValueBin", "ValueTally", "firsts", "tally_of"]

#: All bits of a value are kept: every bin is one value.
EXACT = 63
_MOST_BINS = 1 << 16
_POWERS = np.array([1 << bit for bit in range(63)], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class ValueBin:
    """Where a rank lies: among the values low..high, with so many values below them.

    >>> tally_of(np.array([3, 5, 5])).at(2)
    ValueBin(low=5, high=5, before=1)
    """

    low: int
    high: int
    before: int  # values below the bin

    @property
    def exact(self) -> bool:
        """Whether it is one value."""
        return self.low == self.high


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueTally:
    """Counts of values, in bins that keep the first bits of each value.

    With few distinct values a bin is one value. With many, bits are dropped until there are few bins. How
    many is decided by all values together, so the order of merging changes nothing.

    >>> tally_of(np.array([3, 5, 5])).plus(tally_of(np.array([3]))).as_dict()
    {'bits': 63, 'low': [3, 5], 'count': [2, 2]}
    """

    bits: int  # of each value, counted from its first
    low: IntArray  # the least value of each bin, rising
    count: "np.ndarray[Any, np.dtype[Any]]"  # how many, of Python's whole numbers if words do not hold all

    @property
    def total(self) -> int:
        """How many values there are."""
        return sum(self.count.tolist())

    def plus(self, other: "ValueTally") -> "ValueTally":
        """Both together."""
        return ValueTally.together([self, other])

    @classmethod
    def together(cls, tallies: Sequence["ValueTally"]) -> "ValueTally":
        """All of them, at least one.

        >>> ValueTally.together([tally_of(np.array([3])), tally_of(np.array([5, 3]))]).count.tolist()
        [2, 1]
        """
        bits = min(each.bits for each in tallies)
        low = np.concatenate([_low(each.low, bits) for each in tallies])
        # Machine words are quicker, as long as they hold the total.
        small = sum(each.total for each in tallies) < 1 << 62
        counts = [each.count.astype(np.int64 if small else object) for each in tallies]
        return _fitting(low, np.concatenate(counts), bits)

    def at(self, rank: int) -> ValueBin:
        """The bin of the value with so many values before it, in rising order.

        >>> tally_of(np.array([9, 2])).at(0).low
        2
        """
        before = 0
        for low, count in zip(self.low.tolist(), self.count.tolist(), strict=True):
            if rank < before + count:
                return ValueBin(low=low, high=low + _width(low, self.bits) - 1, before=before)
            before += count
        raise IndexError(rank)

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"bits": self.bits, "low": self.low.tolist(), "count": self.count.tolist()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "ValueTally":
        """What `as_dict` gave.

        >>> ValueTally.from_dict(tally_of(np.array([3, 5])).as_dict()).at(1).low
        5
        """
        return cls(
            bits=plain["bits"],
            low=np.array(plain["low"], dtype=np.int64),
            count=np.array(plain["count"], dtype=np.int64 if sum(plain["count"]) < 1 << 62 else object),
        )


def tally_of(values: IntArray) -> ValueTally:
    """The tally of some values.

    >>> tally_of(np.array([], dtype=np.int64)).total
    0
    """
    low, count = np.unique(values, return_counts=True)
    return _fitting(low, count, EXACT)


def firsts(*columns: IntArray) -> IntArray:
    """The first place of each run of rows that are equal in all columns.

    >>> firsts(np.array([1, 1, 2]), np.array([3, 4, 4])).tolist()
    [0, 1, 2]
    """
    new = np.zeros(len(columns[0]), dtype=np.bool_)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(new)


def _fitting(low: IntArray, count: "np.ndarray[Any, np.dtype[Any]]", bits: int) -> ValueTally:
    """With as many bits as leave few enough bins, of at most so many and at least one."""
    order = row_order(low)
    low, count = low[order], count[order]
    least, most = (bits, bits) if len(low) <= _MOST_BINS else (1, bits)
    while least < most:  # the most bits with few enough bins
        middle = (least + most + 1) // 2
        fits = len(firsts(_low(low, middle))) <= _MOST_BINS
        least, most = (middle, most) if fits else (least, middle - 1)
    bins = _low(low, least)
    first = firsts(bins)
    return ValueTally(
        bits=least, low=bins[first], count=np.add.reduceat(count, first) if len(first) else count
    )


def _low(values: IntArray, bits: int) -> IntArray:
    """The least value of the bin of each; below 0 bins are those of ~value, turned round."""
    if bits == EXACT:
        return values
    size = np.where(values < 0, ~values, values)
    drop = np.maximum(np.searchsorted(_POWERS, size, side="right") - bits, 0)
    first = size >> drop << drop
    return np.where(values < 0, ~(first + (np.int64(1) << drop) - 1), first)


def _width(low: int, bits: int) -> int:
    size = ~low if low < 0 else low
    return 1 << max(size.bit_length() - bits, 0)
