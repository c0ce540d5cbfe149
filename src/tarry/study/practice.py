"""What can be done about timing: the protocol of policies and of other systems' habits alike."""

from dataclasses import dataclass
from typing import Protocol

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.lanes import BoolArray, IntArray

__all__ = ["MICROSECONDS", "Practice", "Shown"]

MICROSECONDS = 1_000_000  # the study's one unit of time is the microsecond


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """What the world gets to see of each event, in the history's own row order.

    >>> import numpy as np
    >>> at_once = np.array([5, 7])
    >>> Shown(release=at_once, printed=at_once).batched is None
    True
    """

    release: IntArray  # microseconds: the moment the event became visible
    printed: IntArray  # microseconds: the time that is written on it
    batched: BoolArray | None = None  # the labels, where a practice has labels


class Practice(Protocol):
    """A way of showing events. Times in the history are microseconds."""

    @property
    def name(self) -> str:
        """What tables and charts call it."""
        ...

    @property
    def draws(self) -> bool:
        """Whether it draws at all: one that does not is the same every time."""
        ...

    def show(self, history: History, draw: Seeded) -> Shown:
        """Replay a history. The same draw gives the same result in any order of rows."""
        ...
