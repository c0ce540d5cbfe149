"""For tests of what is built on tarry: a clock moved by hand, a store in memory, an outlet that remembers.

With `Seeded(...).stream(...)` as the entropy of a gate the delays come out the same each time. The suites,
which somebody else's outlet, reader, place, law, attack or practice joins in three lines, are in the files
beside this one and need pytest.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING, Any

from tarry.core.errors import NotPossible
from tarry.core.policy import Policy
from tarry.keep.keys import Keys
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Release
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import MICROS, Clock, Reading, Vault

if TYPE_CHECKING:
    from tarry.testing.attacks import AttackCase, AttackSuite
    from tarry.testing.laws import LawCase, LawSuite
    from tarry.testing.outlets import OutletCase, OutletSuite
    from tarry.testing.places import PlaceSuite
    from tarry.testing.practices import PracticeCase, PracticeSuite
    from tarry.testing.readers import ReaderCase, ReaderSuite

__all__ = [
    "AttackCase",
    "AttackSuite",
    "LawCase",
    "LawSuite",
    "ListOutlet",
    "ManualClock",
    "OutletCase",
    "OutletSuite",
    "PlaceSuite",
    "PracticeCase",
    "PracticeSuite",
    "ReaderCase",
    "ReaderSuite",
    "memory_store",
    "memory_vault",
]

_SUITES = {
    "AttackCase": "attacks",
    "AttackSuite": "attacks",
    "LawCase": "laws",
    "LawSuite": "laws",
    "OutletCase": "outlets",
    "OutletSuite": "outlets",
    "PlaceSuite": "places",
    "PracticeCase": "practices",
    "PracticeSuite": "practices",
    "ReaderCase": "readers",
    "ReaderSuite": "readers",
}

_A_MOMENT = 1_767_225_600 * MICROS  # 2026-01-01T00:00:00Z


@dataclass
class ManualClock:
    """A clock that stands still until it is moved.

    >>> clock = ManualClock()
    >>> clock.sleep(1.5)
    >>> clock.read().steady
    1500000
    """

    wall: int = _A_MOMENT  # microseconds since 1970
    steady: int = 0
    boot: str = "first"

    def read(self, database: int | None = None) -> Reading:  # noqa: ARG002 - this clock alone decides
        """Look at the clocks."""
        return Reading(self.wall, self.steady, self.boot)

    def wait(self, event: Event, seconds: float) -> bool:
        """A moment of real time: somebody may move the clock meanwhile."""
        return event.wait(min(seconds, 0.01))

    def sleep(self, seconds: float) -> None:
        """Time goes by."""
        self.wall += round(seconds * MICROS)
        self.steady += round(seconds * MICROS)

    def set_wall(self, seconds: float) -> None:
        """Somebody sets the wall clock forwards, or back."""
        self.wall += round(seconds * MICROS)

    def reboot(self, name: str) -> None:
        """The machine starts anew."""
        self.steady, self.boot = 0, name


def memory_store(
    policy: Policy | None = None, clock: Clock | None = None, *, personal: bool = False
) -> SqliteStore:
    """A store that is gone when it is let go of: SQLite's own, in memory, so it behaves like a file.

    >>> memory_store(Policy(epsilon="1", gap="11m")).path
    ':memory:'
    """
    store = SqliteStore(":memory:")
    if policy is not None:
        with store.transaction("closing") as transaction:
            begin_store(transaction, StoreSettings.of(policy, personal=personal), clock or ManualClock())
    return store


def memory_vault(
    policy: Policy, clock: Clock | None = None, *, personal: bool = False, **outlets: Outlet
) -> Vault:
    """A vault in memory, with an outlet named "list" unless others are given.

    >>> list(memory_vault(Policy(epsilon="1", gap="11m")).outlets)
    ['list']
    """
    clock = clock or ManualClock()
    store = memory_store(policy, clock, personal=personal)
    return Vault(store, Keys(bytes(32)), outlets or {"list": ListOutlet()}, clock)


@dataclass
class ListOutlet(Outlet):
    """Remembers what was delivered; fails as long as `broken` says why.

    >>> outlet = ListOutlet()
    >>> outlet.check({})
    >>> outlet.delivered
    []
    """

    delivery: Delivery = "at least once"
    batch: int = 500
    broken: Exception | None = None
    delivered: list[Release] = field(default_factory=list)

    def check(self, options: Mapping[str, Any]) -> None:
        """Anything goes."""

    def deliver(self, release: Release) -> None:
        """Remember it."""
        if self.broken is not None:
            raise self.broken
        self.delivered.append(release)


def __getattr__(name: str) -> Any:
    """Load a suite when it is asked for: the rest of this module needs no pytest."""
    if name not in _SUITES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        pytest = import_module("pytest")
    except ModuleNotFoundError:
        raise NotPossible(f"{name} needs pytest: pip install pytest") from None
    module = f"{__name__}.{_SUITES[name]}"
    if module not in sys.modules:
        pytest.register_assert_rewrite(module)
    return getattr(import_module(module), name)
