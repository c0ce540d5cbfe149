"""The one clock: sole owner of "now".

Three clocks go into it. The *wall* clock can be set, forwards or back; the *steady* clock only runs,
but begins anew with every boot; the *store's* clock is made of both, kept in the store as an anchor,
and never goes back. Between two readings of one boot it runs with the steady clock, and leans by at
most a sixteenth towards the wall clock: a wall clock that was set forwards by an hour is caught up
with over 16 hours, without releasing an hour's posts at once. Over a reboot, or on another machine,
only the wall clock is left: then it runs with that.
"""

import os
import secrets
import time
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from threading import Event
from typing import NamedTuple, Protocol

__all__ = [
    "MICROS",
    "Anchor",
    "Clock",
    "Reading",
    "SystemClock",
    "advance",
    "last_past_tick",
    "moment",
    "now_tick",
    "time_at",
]

MICROS = 1_000_000
_LEAN = 16
_START = datetime(1970, 1, 1, tzinfo=UTC)


class Reading(NamedTuple):
    """One look at the clocks, in microseconds.

    >>> Reading(wall=1_700_000_000_000_000, steady=5, boot="a").boot
    'a'
    """

    wall: int  # since 1970
    steady: int  # since some moment of its own
    boot: str  # which run of the steady clock this is; two runs cannot be compared


class Anchor(NamedTuple):
    """The store's clock at its last reading.

    >>> Anchor.at(Reading(wall=7, steady=1, boot="a")).time
    7
    """

    time: int  # microseconds since 1970, never back
    reading: Reading

    @classmethod
    def at(cls, reading: Reading) -> "Anchor":
        """A new store takes the wall clock's word."""
        return cls(reading.wall, reading)


class Clock(Protocol):
    """Where readings come from. A store on several machines reads its database's wall clock."""

    def read(self, database: int | None = None) -> Reading:
        """Look at the clocks; `database` is the wall clock of a database that has one."""
        ...

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait for so many seconds of this clock, or until the event; whether it has come."""
        ...


def advance(anchor: Anchor, reading: Reading) -> Anchor:
    """The store's clock at a reading.

    A wall clock set forwards by an hour moves it by a sixteenth of the time gone by:

    >>> before = Anchor.at(Reading(wall=0, steady=0, boot="a"))
    >>> advance(before, Reading(wall=3_600_000_016, steady=16, boot="a")).time
    17
    """
    return Anchor(time_at(anchor, reading), reading)


def time_at(anchor: Anchor, reading: Reading) -> int:
    """What the store's clock shows at a reading, in microseconds since 1970.

    >>> time_at(Anchor.at(Reading(wall=0, steady=0, boot="a")), Reading(wall=32, steady=16, boot="a"))
    17
    """
    begun, (last_wall, last_steady, last_boot) = anchor
    wall, steady, boot = reading
    # A steady clock that has gone back is another one: a machine was put back to an earlier state.
    same = boot == last_boot and steady >= last_steady
    elapsed = steady - last_steady if same else max(0, wall - last_wall)
    time, lean = begun + elapsed, elapsed // _LEAN
    return min(wall, time + lean) if wall >= time else max(wall, time - lean)


def now_tick(micros: int, tick: Fraction) -> int:
    """The tick that a moment belongs to: rounded up.

    >>> now_tick(1_000_000, Fraction(1)), now_tick(1_000_001, Fraction(1))
    (1, 2)
    """
    numerator, denominator = tick.as_integer_ratio()
    return -(-micros * denominator // (numerator * MICROS))


def last_past_tick(micros: int, tick: Fraction) -> int:
    """The last tick that lies wholly in the past: nothing can arrive in it any more.

    >>> last_past_tick(1_000_000, Fraction(1)), last_past_tick(1_000_001, Fraction(1))
    (0, 1)
    """
    return now_tick(micros, tick) - 1


def moment(at: Fraction | float) -> str:
    """A moment as everything that leaves writes it: ISO 8601 in UTC, rounded down to a microsecond.

    >>> moment(Fraction(60)), moment(Fraction(1, 2))
    ('1970-01-01T00:01:00Z', '1970-01-01T00:00:00.500000Z')
    """
    above, below = at.as_integer_ratio()
    moment = _START + timedelta(microseconds=above * 1_000_000 // below)
    return moment.isoformat().replace("+00:00", "Z")


class SystemClock:
    """This machine's clocks. On Linux the steady one counts sleep, and all processes share it.

    >>> clock = SystemClock()
    >>> clock.read().steady <= clock.read().steady
    True
    """

    def __init__(self) -> None:
        self._steady = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        self._boot = _boot()

    def read(self, database: int | None = None) -> Reading:
        """Look at the clocks. A database's wall clock, which machines share, goes before one's own."""
        steady = time.clock_gettime_ns(self._steady)
        wall = time.time_ns() // 1000 if database is None else database
        return Reading(wall, steady // 1000, self._boot)

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait for so many seconds, or until the event; whether it has come."""
        return event.wait(seconds)


def _boot() -> str:
    """A name for this run of the steady clock; without one from the system, for this process alone."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return f"{os.getpid()}-{secrets.token_hex(8)}"
