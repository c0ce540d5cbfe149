"""What an attack is given, and the shape every attack has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tarry.core.lanes import IntArray
from tarry.study.attack.cutoff import Truth
from tarry.study.observer import Observer
from tarry.study.practice import Practice
from tarry.study.score import Score

__all__ = ["Attack", "Scene"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """One practice as one observer saw it, and what is true.

    >>> from tarry.study.table import event_table
    >>> from tarry.study.baselines import baseline
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60])
    >>> scene = Scene(truth=Truth(table=table, window=60), practice=baseline("nothing"), seen=table.time)
    >>> scene.truth.linked_pairs
    1
    """

    truth: Truth
    practice: Practice
    seen: IntArray  # microseconds, in the order of the table


class Attack(Protocol):
    """A method of claiming that two events are one person's."""

    @property
    def name(self) -> str:
        """What tables and charts call it."""
        ...

    def applies_to(self, practice: Practice, watcher: Observer) -> bool:
        """Whether the method can be used there: one that knows a policy needs it, and its releases."""
        ...

    def score(self, scene: Scene, cutoffs: Sequence[int]) -> list[Score]:
        """How right its claims are, at each cutoff in microseconds."""
        ...
