"""Observers: the moments that each kind of observer sees of a history."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from tarry.core.errors import BadInput
from tarry.core.exact import format_duration, parse_duration
from tarry.core.lanes import IntArray
from tarry.study.practice import MICROSECONDS, Shown

__all__ = ["OBSERVERS", "Observer", "observer"]

#: Every observer, and what it sees.
OBSERVERS = {
    "notified": "is told of each event the moment it becomes visible",
    "poller": "looks every so often (poller:10m) and sees what is new since the last look",
    "archive": "reads, long after, the times that are printed on the events",
}


class Observer(Protocol):
    """Who watches, and what they see."""

    @property
    def name(self) -> str:
        """What tables and charts call it."""
        ...

    @property
    def sees_releases(self) -> bool:
        """Whether what it knows of a policy's events is the very moment of their release."""
        ...

    def see(self, shown: Shown) -> IntArray:
        """The moment known for each event, in microseconds."""
        ...


@dataclass(frozen=True)
class Notified:
    """Gets a push the moment something becomes visible.

    >>> Notified().name
    'notified'
    """

    name: str = "notified"
    sees_releases: ClassVar[bool] = True

    def see(self, shown: Shown) -> IntArray:
        """The release."""
        return shown.release


@dataclass(frozen=True)
class Archive:
    """Reads the printed times afterwards.

    >>> Archive().name
    'archive'
    """

    name: str = "archive"
    sees_releases: ClassVar[bool] = True  # a policy prints the release

    def see(self, shown: Shown) -> IntArray:
        """The printed time."""
        return shown.printed


@dataclass(frozen=True)
class Poller:
    """Looks at whole multiples of an interval.

    >>> import numpy as np
    >>> at = np.array([0, 1, 60_000_000])
    >>> Poller(Fraction(60)).see(Shown(release=at, printed=at)).tolist()
    [0, 60000000, 60000000]
    """

    interval: Fraction  # seconds
    sees_releases: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The text that makes it again."""
        return f"poller:{format_duration(self.interval)}"

    def see(self, shown: Shown) -> IntArray:
        """The first look at or after the release."""
        interval = int(self.interval * MICROSECONDS)
        looks: IntArray = -(-shown.release // interval) * interval
        return looks


def observer(text: str) -> Observer:
    """The observer that a text names.

    >>> observer("poller:10m").name
    'poller:10m'
    """
    name, _, interval_text = text.partition(":")
    if name == "poller" and interval_text:
        interval = parse_duration(interval_text, "the interval of a poller")
        if not interval:
            raise BadInput(
                f"the interval of a poller must be above 0s, not {interval_text}", "try poller:10m"
            )
        return Poller(interval)
    if name in ("notified", "archive") and not interval_text:
        return Notified() if name == "notified" else Archive()
    raise BadInput(f"unknown observer {text!r}", "use notified, archive or poller:10m")
