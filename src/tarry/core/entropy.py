"""Where randomness comes from: one small integer source, `randbelow(n)`, and its vector form.

Two kinds, never mixed up and never a stand-in for each other:

- `Secure` draws from the operating system. Production uses it and nothing else.
- `Seeded` gives a study the same delays again: each event has its own stream, keyed by a stable
  hash of (actor, target, time, occurrence), so neither the order of rows nor the way the work is
  split changes anything. It is no secret: never release a real act with it.

The vector forms live in `lanes`, so that a shell command need not load numpy.
"""

import os
from collections.abc import Callable
from hashlib import blake2b
from operator import index
from typing import Protocol
from weakref import WeakSet

from tarry.core.errors import BadInput

__all__ = ["DIGIT", "Entropy", "Secure", "Seeded", "Stream", "stable_code"]

#: Seeded streams are read in digits of this base.
DIGIT = 1 << 32
WORD = 1 << 64
# The odd constants of the SplitMix64 generator (Steele, Lea, Flood 2014).
GOLDEN = 0x9E3779B97F4A7C15
MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
# Odd numbers without a pattern, one for each part of an event's hash.
PARTS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)
_POOL_WORDS = 1024
# Words below _TOP have at least _SMALL words above them.
_SMALL = 1 << 16
_TOP = DIGIT - _SMALL


class Entropy(Protocol):
    """All that a draw needs."""

    def randbelow(self, n: int, /) -> int:
        """A uniform integer in 0..n-1, exactly."""


class Secure:
    """The operating system's secure source, read in pools of 4 KiB.

    A pool never survives a fork (the child would repeat its parent's draws), and a used word is
    taken out of it at once, so threads share it safely. There is no fallback: if the system cannot
    give bytes, the draw fails.

    >>> Secure().randbelow(6) in range(6)
    True
    """

    def __init__(self, read: Callable[[int], bytes] = os.urandom) -> None:
        self.read = read
        self._pool: list[int] = []
        _POOLS.add(self)

    def randbelow(self, n: int, /) -> int:
        """A uniform integer in 0..n-1: a remainder, of words in whole blocks of n alone."""
        try:
            word = self._pool.pop()
        except IndexError:
            word = self._refill()
        # Far enough from the top the block of n words that this one lies in is whole, whatever n.
        if word < _TOP and 0 < n <= _SMALL:
            return word % n
        if n == DIGIT:
            return word
        return self._careful(word, n)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy, also one sent to another process, begins with an empty pool."""
        return Secure, (self.read,)

    def forget(self) -> None:
        """Throw away what was read and not yet used; every child of a fork does."""
        self._pool.clear()

    def _careful(self, word: int, n: int) -> int:
        if n < 1:
            raise BadInput(f"the range of a random number must be at least 1, not {n}")
        if n > DIGIT:
            return self._wide(n)
        while word - word % n > DIGIT - n:  # the block is cut off by the end of the range: again
            word = self.randbelow(DIGIT)
        return word % n

    def _wide(self, n: int) -> int:
        bits = (n - 1).bit_length()
        size = -(-bits // 8)
        while (number := int.from_bytes(self.read(size)) >> (8 * size - bits)) >= n:
            pass
        return number

    def _refill(self) -> int:
        fresh = list(memoryview(self.read(4 * _POOL_WORDS)).cast("I"))
        word: int = fresh.pop()
        self._pool.extend(fresh)
        return word


_POOLS: WeakSet[Secure] = WeakSet()


_FORKS = [0]


def forks() -> int:
    """How many forks lie between this process and the one that first loaded tarry.

    >>> forks() >= 0
    True
    """
    return _FORKS[0]


def _forget_pools() -> None:
    _FORKS[0] += 1
    for source in list(_POOLS):
        source.forget()


if hasattr(os, "register_at_fork"):  # where there is no fork there is nothing to forget
    os.register_at_fork(after_in_child=_forget_pools)


class Seeded:
    """The source of a study: the same seed and event give the same numbers, anywhere.

    `draw` tells repeated simulations apart without touching the seed.

    >>> a = Seeded(7).stream("ann", "page 1", time=1000)
    >>> b = Seeded(7).stream("ann", "page 1", time=1000)
    >>> [a.randbelow(100) for _ in range(3)] == [b.randbelow(100) for _ in range(3)]
    True
    """

    def __init__(self, seed: int, draw: int = 0) -> None:
        self.seed, self.draw = index(seed), index(draw)
        self.offset = _digest(f"{seed}/{draw}".encode())

    def stream(self, actor: int | str, target: int | str, time: int, occurrence: int = 0) -> "Stream":
        """The numbers that belong to one event."""
        return Stream(event_key(actor, target, time, occurrence) + self.offset)


class Stream:
    """One event's numbers: word i is mix(key + (i + 1) * golden), read in 32-bit digits.

    >>> Stream(1).randbelow(1)
    0
    """

    def __init__(self, key: int, position: int = 0) -> None:
        self.key, self.position = key, position

    def randbelow(self, n: int, /) -> int:
        """A uniform integer in 0..n-1; `SeededLanes` gives the very same ones."""
        if n < 1:
            raise BadInput(f"the range of a random number must be at least 1, not {n}")
        if n <= DIGIT:
            while True:
                product = self._digit() * n
                if product % DIGIT >= DIGIT % n:
                    return product >> 32
        bits = (n - 1).bit_length()
        digits = -(-bits // 32)
        while True:
            number = 0
            for _ in range(digits):
                number = number << 32 | self._digit()
            if (number := number >> (32 * digits - bits)) < n:
                return number

    def _digit(self) -> int:
        index, low = divmod(self.position, 2)
        self.position += 1
        word = mix(self.key + (index + 1) * GOLDEN)
        return word & 0xFFFF_FFFF if low else word >> 32


def event_key(actor: int | str, target: int | str, time: int, occurrence: int) -> int:
    """The stable hash of an event: equal on every machine, for every seed.

    >>> event_key("ann", "page 1", 1000, 0) == event_key("ann", "page 1", 1000, 0)
    True
    """
    who = mix(stable_code(actor) * PARTS[0] + stable_code(target) * PARTS[1])
    return mix(who + index(time) * PARTS[2] + index(occurrence) * PARTS[3])


def stable_code(name: int | str) -> int:
    """A 64-bit number for an actor or target: an integer itself, a text by its hash.

    >>> stable_code(12), stable_code("twelve") == stable_code("twelve")
    (12, True)
    """
    return _digest(name.encode()) if isinstance(name, str) else index(name) % WORD


def mix(z: int) -> int:
    """The finaliser of SplitMix64: every bit of the input reaches every bit of the output.

    >>> mix(0), mix(1) != mix(2)
    (0, True)
    """
    z %= WORD
    z = (z ^ z >> 30) * MIX[0] % WORD
    z = (z ^ z >> 27) * MIX[1] % WORD
    return z ^ z >> 31


def _digest(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8, person=b"tarry").digest())
