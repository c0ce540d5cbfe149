"""Counters of the processes of one server, in memory that they share: a limit is the same for all of them.

The memory has no name and no file. It holds numbers and digests, no name of anybody, and what is counted
for a client means nothing once the key of the clients' names has changed. A table is guarded by a lock of
the operating system, which is given back by whoever dies while holding it. What is held for a while, places
and unfinished posts, each process counts in a column of its own: when one dies, its column is cleared.
"""

import fcntl
import mmap
import os
import secrets
import struct
import threading
from hashlib import blake2b
from itertools import accumulate
from types import TracebackType
from typing import NamedTuple

from tarry.gateway.counters import KEY_BYTES, MOST_OWNERS, Counters

__all__ = ["SharedMemory"]

_DIGEST = 16  # bytes
_LEVEL = struct.Struct(f"{_DIGEST}sdd")
_KEY = struct.Struct(f"d{KEY_BYTES}s")
#: A digest may stand in any slot of its set, and there are so many slots for each that a table is to hold.
#: A set of levels that is full forgets its oldest. A full set of places lets nobody in: that happens once
#: in 10^10, even if each place is another client's.
_WAYS, _SLOTS_OF_LEVEL, _SLOTS_OF_PLACE = 16, 2, 8
_ALIGNED = 64


class SharedMemory:
    """Memory for the counters of several processes. Who gets the `handle` joins in.

    >>> memory = SharedMemory(processes=2, streams=10, connections=100)
    >>> one, other = memory.counters(0), memory.counters(1)
    >>> one.streams.take("ann", share=1, most=10), other.streams.take("ann", share=1, most=10)
    (True, False)
    >>> memory.clear(0)
    >>> other.streams.take("ann", share=1, most=10)
    True
    >>> memory.close()
    """

    def __init__(
        self, *, processes: int, streams: int, connections: int, handle: int | None = None
    ) -> None:
        self._processes = processes
        sizes = (
            *(3 * [_SharedLevels.size()]),
            _SharedPlaces.size(processes, streams),
            _SharedPlaces.size(processes, connections),
            8 * processes,
            _KEY.size,
        )
        *starts, end = accumulate((-(-size // _ALIGNED) * _ALIGNED for size in sizes), initial=0)
        self._most = (streams, connections)
        self.handle = os.memfd_create("counters") if handle is None else handle
        if handle is None:
            os.ftruncate(self.handle, end)
        memory = mmap.mmap(self.handle, end)
        self._areas = [_Area(memory, self.handle, start) for start in starts]

    def counters(self, number: int) -> Counters:
        """The counters of one process, by its number."""
        streams, connections = self._places(number)
        rates, guests, unknown = map(_SharedLevels, self._areas[:3])
        return Counters(
            rates=rates,
            guests=guests,
            unknown=unknown,
            streams=streams,
            connections=connections,
            unfinished=self._unfinished(number),
            client_key=_SharedKey(self._areas[6]),
        )

    def clear(self, number: int) -> None:
        """Free what a process has held that is dead."""
        self._unfinished(number).clear()
        for places in self._places(number):
            places.clear()

    def close(self) -> None:
        """Leave it; it is gone when everybody has."""
        os.close(self.handle)

    def _places(self, number: int) -> "list[_SharedPlaces]":
        areas = zip(self._areas[3:5], self._most, strict=True)
        return [_SharedPlaces(area, number, self._processes, most) for area, most in areas]

    def _unfinished(self, number: int) -> "_SharedSum":
        return _SharedSum(self._areas[5], number, self._processes)


class _Area(NamedTuple):
    """Where a table lies."""

    memory: mmap.mmap
    handle: int
    start: int


class _Turn:
    """One process, and one thread of it, at a time."""

    def __init__(self, area: _Area) -> None:
        self._handle, self._byte, self._threads = area.handle, area.start, threading.Lock()

    def __enter__(self) -> None:
        self._threads.acquire()  # the operating system's lock is that of a whole process
        fcntl.lockf(self._handle, fcntl.LOCK_EX, 1, self._byte)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, self._byte)
        self._threads.release()


def _digest(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=_DIGEST).digest()


def _set_of(digest: bytes, sets: int) -> int:
    return int.from_bytes(digest[:8], "little") % sets


class _SharedLevels:
    """Slots of a digest, a level and its moment."""

    _SETS = _SLOTS_OF_LEVEL * MOST_OWNERS // _WAYS

    @classmethod
    def size(cls) -> int:
        return cls._SETS * _WAYS * _LEVEL.size

    def __init__(self, area: _Area) -> None:
        self.turn = _Turn(area)
        self._memory, self._start = area.memory, area.start

    def get(self, owner: str) -> tuple[float, float] | None:
        digest = _digest(owner)
        first, slots = self._slots(digest)
        if (place := _place_of(digest, slots, _LEVEL.size)) is None:
            return None
        _, level, then = _LEVEL.unpack_from(self._memory, first + place)
        return level, then

    def set(self, owner: str, level: float, then: float) -> None:
        digest = _digest(owner)
        first, slots = self._slots(digest)
        if (place := _place_of(digest, slots, _LEVEL.size)) is None:
            # The one that was used longest ago. Its owner is refused less, and nobody is refused more.
            moments = [moment for _, _, moment in _LEVEL.iter_unpack(slots)]
            place = moments.index(min(moments)) * _LEVEL.size
        _LEVEL.pack_into(self._memory, first + place, digest, level, then)

    def _slots(self, digest: bytes) -> tuple[int, bytes]:
        size = _WAYS * _LEVEL.size
        first = self._start + _set_of(digest, self._SETS) * size
        return first, self._memory[first : first + size]


def _place_of(digest: bytes, slots: bytes, size: int) -> int | None:
    """Where a digest stands in a row of slots of one size."""
    place = slots.find(digest)
    while place >= 0 and place % size:  # what looks like it across two slots
        place = slots.find(digest, place + 1)
    return None if place < 0 else place


class _SharedPlaces:
    """The sum of each process, digests, and for each process a count beside each digest."""

    @classmethod
    def size(cls, processes: int, most: int) -> int:
        return 8 * processes + cls._sets(most) * _WAYS * (_DIGEST + 4 * processes)

    @staticmethod
    def _sets(most: int) -> int:
        return max(1, most * _SLOTS_OF_PLACE // _WAYS)

    def __init__(self, area: _Area, number: int, processes: int, most: int) -> None:
        self._turn, self._memory = _Turn(area), area.memory
        self._sets_here, self._slots = self._sets(most), self._sets(most) * _WAYS
        self._sum = _SharedSum(area, number, processes)
        self._digests = area.start + 8 * processes
        counts = self._digests + self._slots * _DIGEST
        view = memoryview(area.memory)[counts : counts + 4 * processes * self._slots].cast("I")
        self._columns = [view[n * self._slots : (n + 1) * self._slots] for n in range(processes)]
        self._own = self._columns[number]

    def take(self, client: str, share: int, most: int) -> bool:
        digest = _digest(client)
        with self._turn:
            slot = self._find(digest)
            if slot is None:
                slot = self._free(digest)
            if slot is None or self._count(slot) >= share or self._sum.total() >= most:
                return False
            start = self._digests + slot * _DIGEST
            self._memory[start : start + _DIGEST] = digest
            self._own[slot] += 1
            self._sum.add(1)
        return True

    def give(self, client: str) -> None:
        with self._turn:
            slot = self._find(_digest(client))
            if slot is not None and self._own[slot]:
                self._own[slot] -= 1
                self._sum.add(-1)

    def of(self, client: str) -> int:
        with self._turn:
            slot = self._find(_digest(client))
            return 0 if slot is None else self._count(slot)

    def total(self) -> int:
        return self._sum.total()

    def clear(self) -> None:
        with self._turn:
            self._own[:] = memoryview(bytes(4 * self._slots)).cast("I")
            self._sum.clear()

    def _count(self, slot: int) -> int:
        return sum(column[slot] for column in self._columns)

    def _find(self, digest: bytes) -> int | None:
        first = _set_of(digest, self._sets_here) * _WAYS
        start = self._digests + first * _DIGEST
        place = _place_of(digest, self._memory[start : start + _WAYS * _DIGEST], _DIGEST)
        return None if place is None else first + place // _DIGEST

    def _free(self, digest: bytes) -> int | None:
        """A slot of its set that nobody has a place under."""
        first = _set_of(digest, self._sets_here) * _WAYS
        return next((slot for slot in range(first, first + _WAYS) if not self._count(slot)), None)


class _SharedSum:
    """One number for each process; nobody else writes it, so it needs no turn."""

    def __init__(self, area: _Area, number: int, processes: int) -> None:
        self._numbers = memoryview(area.memory)[area.start : area.start + 8 * processes].cast("q")
        self._own = number

    def add(self, number: int) -> None:
        self._numbers[self._own] += number

    def total(self) -> int:
        return sum(self._numbers)

    def clear(self) -> None:
        self._numbers[self._own] = 0


class _SharedKey:
    """The moment of its making, and the key."""

    def __init__(self, area: _Area) -> None:
        self._turn, self._memory, self._start = _Turn(area), area.memory, area.start

    def get(self, now: float, longest_s: float) -> bytes:
        if (key := self._key(now, longest_s)) is not None:
            return key
        with self._turn:
            if (key := self._key(now, longest_s)) is None:  # nobody has made one in between
                key = secrets.token_bytes(KEY_BYTES)
                _KEY.pack_into(self._memory, self._start, now, key)
            return key

    def _key(self, now: float, longest_s: float) -> bytes | None:
        since, key = _KEY.unpack_from(self._memory, self._start)
        return key if any(key) and 0 <= now - since < longest_s else None
