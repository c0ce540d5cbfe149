"""What a server counts about who asks: levels of buckets, places that are taken, work that is unfinished.

A server of one process keeps all this in dictionaries, as here; the processes of one server share it
(`shared_memory.py`). The limits that rest on it are in `limits.py`.
"""

import secrets
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

__all__ = [
    "KEY_BYTES",
    "MOST_OWNERS",
    "Counters",
    "Levels",
    "Places",
    "RotatingKey",
    "Sum",
    "own_counters",
]

#: Owners whose levels are remembered: some memory, and more clients than most gateways have in an hour.
MOST_OWNERS = 100_000
#: Of a key that names clients.
KEY_BYTES = 32


# --- what can be counted --------------------------------------------------------------------------


class Levels(Protocol):
    """How full the bucket of each owner is, and when that was; whoever was seen longest ago is forgotten.

    >>> levels: Levels = own_counters().rates
    >>> with levels.turn:
    ...     levels.set("ab", 3.0, 17.0)
    ...     levels.get("ab")
    (3.0, 17.0)
    """

    @property
    def turn(self) -> AbstractContextManager[object]:
        """Within it nobody else reads or writes."""
        ...

    def get(self, owner: str) -> tuple[float, float] | None:
        """The level of an owner and its moment, if they are remembered."""
        ...

    def set(self, owner: str, level: float, then: float) -> None:
        """Remember a level."""
        ...


class Places(Protocol):
    """Places that clients take, of which there is a number in all, and a share for each.

    >>> places: Places = own_counters().streams
    >>> places.take("ann", 1, 10), places.take("ann", 1, 10), places.take("bob", 1, 1)
    (True, False, False)
    >>> places.give("ann")
    >>> places.total()
    0
    """

    def take(self, client: str, share: int, most: int) -> bool:
        """Take a place, if neither the share of this client nor all places are taken."""
        ...

    def give(self, client: str) -> None:
        """Give a place back."""
        ...

    def of(self, client: str) -> int:
        """The places that a client has."""
        ...

    def total(self) -> int:
        """The places that are taken."""
        ...


class Sum(Protocol):
    """A number that each process adds to.

    >>> unfinished: Sum = own_counters().unfinished
    >>> unfinished.add(3)
    >>> unfinished.total()
    3
    """

    def add(self, number: int) -> None:
        """Add a number; a negative one takes away what was added before."""
        ...

    def total(self) -> int:
        """The sum over all processes."""
        ...


class RotatingKey(Protocol):
    """A random key that changes when it is old.

    >>> key: RotatingKey = own_counters().client_key
    >>> key.get(10.0, 60.0) == key.get(69.0, 60.0), key.get(10.0, 60.0) == key.get(70.0, 60.0)
    (True, False)
    """

    def get(self, now: float, longest_s: float) -> bytes:
        """The key of this moment."""
        ...


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Everything that one process counts about who asks.

    >>> own_counters().connections.total()
    0
    """

    rates: Levels  # by token
    guests: Levels  # on boards, by client
    unknown: Levels  # tokens that nobody knows, by client
    streams: Places
    connections: Places
    unfinished: Sum  # posts that wait for the disk
    client_key: RotatingKey


# --- one process ----------------------------------------------------------------------------------


def own_counters() -> Counters:
    """The counters of a server that is one process.

    >>> own_counters().streams.take("ann", share=1, most=1)
    True
    """
    return Counters(
        rates=_OwnLevels(),
        guests=_OwnLevels(),
        unknown=_OwnLevels(),
        streams=_OwnPlaces(),
        connections=_OwnPlaces(),
        unfinished=_OwnSum(),
        client_key=_OwnKey(),
    )


class _OwnLevels:
    def __init__(self) -> None:
        self.turn = nullcontext()
        self._levels: dict[str, tuple[float, float]] = {}

    def get(self, owner: str) -> tuple[float, float] | None:
        return self._levels.pop(owner, None)  # `set` puts it back, as the latest

    def set(self, owner: str, level: float, then: float) -> None:
        self._levels[owner] = (level, then)
        if len(self._levels) > MOST_OWNERS:
            # The one that was used longest ago. Its owner is refused less, and nobody is refused more.
            del self._levels[next(iter(self._levels))]


class _OwnPlaces:
    def __init__(self) -> None:
        self._counts = Counter[str]()

    def take(self, client: str, share: int, most: int) -> bool:
        if self._counts[client] >= share or self._counts.total() >= most:
            return False
        self._counts[client] += 1
        return True

    def give(self, client: str) -> None:
        self._counts[client] -= 1
        if not self._counts[client]:
            del self._counts[client]

    def of(self, client: str) -> int:
        return self._counts[client]

    def total(self) -> int:
        return self._counts.total()


class _OwnSum:
    def __init__(self) -> None:
        self._sum = 0

    def add(self, number: int) -> None:
        self._sum += number

    def total(self) -> int:
        return self._sum


class _OwnKey:
    def __init__(self) -> None:
        self._key, self._since = b"", 0.0

    def get(self, now: float, longest_s: float) -> bytes:
        if not self._key or not 0 <= now - self._since < longest_s:
            self._key, self._since = secrets.token_bytes(KEY_BYTES), now
        return self._key
