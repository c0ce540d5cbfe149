"""A history of events as columns: who acted on what, and when. What a replay is given."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray, WordArray
from tarry.core.seeded_lanes import event_keys, stable_codes

__all__ = ["History"]

Names = npt.NDArray[np.generic]
MICROSECOND = Fraction(1, 1_000_000)


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """Events in any order. Names are integers or texts; times are whole numbers of `unit` seconds.

    >>> h = History(actor=["ann", "ann"], target=["p1", "p2"], time=[0, 60_000_000])
    >>> h.ticks(Fraction(1)).tolist()
    [0, 60]
    """

    actor: Names | Sequence[int] | Sequence[str]  # the hidden doer
    target: Names | Sequence[int] | Sequence[str]  # the visible thing acted on
    time: IntArray | Sequence[int]  # arrival
    unit: Fraction = MICROSECOND  # seconds in one unit of `time`
    track: Names | Sequence[int] | Sequence[str] | None = None  # a public column that may set the gap
    declared: npt.NDArray[np.bool_] | Sequence[bool] | None = None  # "more to come" was said
    sequence: IntArray | Sequence[int] | None = None  # order of admission; time, then a hash, if not given
    parent: IntArray | Sequence[int] | None = None  # row this event waits for, -1 for none

    def __post_init__(self) -> None:
        for name in ("actor", "target", "time", "track", "declared", "sequence", "parent"):
            if (column := getattr(self, name)) is not None:
                object.__setattr__(self, name, self._column(name, column))
        if len(self.actors) and not np.issubdtype(self.times.dtype, np.integer):
            raise BadInput(
                "the column time",
                "holds whole numbers",
                found=str(self.times.dtype),
                fix="convert moments to integers of one unit, such as microseconds",
            )
        if self.parent is not None:
            self._check_parents()
        if self.sequence is not None and (np.diff(self.times[np.argsort(self.sequence)]) < 0).any():
            raise BadInput(
                "the column sequence", "follows the times", found="an earlier event admitted later"
            )

    def __len__(self) -> int:
        return len(self.actors)

    @property
    def actors(self) -> Names:
        """The column of actors, as an array."""
        return np.asarray(self.actor)

    @property
    def targets(self) -> Names:
        """The column of targets, as an array."""
        return np.asarray(self.target)

    @property
    def times(self) -> IntArray:
        """The column of times, as an array."""
        return np.asarray(self.time)

    @property
    def tracks(self) -> Names | None:
        """The column of tracks, as an array, if there is one."""
        return None if self.track is None else np.asarray(self.track)

    @property
    def declarations(self) -> npt.NDArray[np.bool_]:
        """Whether each event said that more would come."""
        if self.declared is None:
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray(self.declared, dtype=np.bool_)

    @property
    def parents(self) -> IntArray | None:
        """The row each event waits for, -1 for none; None when no event does."""
        return None if self.parent is None else np.asarray(self.parent)

    @cached_property
    def actor_codes(self) -> IntArray:
        """A stable 64-bit number for each actor."""
        return stable_codes(self.actors)

    @cached_property
    def target_codes(self) -> IntArray:
        """A stable 64-bit number for each target."""
        return stable_codes(self.targets)

    @cached_property
    def keys(self) -> WordArray:
        """The stable hash of each event, by which a seeded study draws."""
        return event_keys(self.actor_codes, self.target_codes, self.times, self.occurrences)

    @cached_property
    def occurrences(self) -> IntArray:
        """0, 1, 2, ... for events that share actor, target and time."""
        order = np.lexsort((self.times, self.target_codes, self.actor_codes))
        new = np.ones(len(self), dtype=np.bool_)
        for column in (self.times, self.target_codes, self.actor_codes):
            differs = column[order][1:] != column[order][:-1]
            new[1:] = differs if column is self.times else new[1:] | differs
        first = np.maximum.accumulate(np.where(new, np.arange(len(self)), 0))
        occurrences = np.empty(len(self), dtype=np.int64)
        occurrences[order] = np.arange(len(self)) - first
        return occurrences

    @cached_property
    def sequences(self) -> IntArray:
        """The order of admission.

        Without one given: by time, and by hash among equals, so that the order of rows does not
        matter.
        """
        if self.sequence is not None:
            return np.asarray(self.sequence)
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[np.lexsort((self.keys, self.times))] = np.arange(len(self))
        return ranks

    def ticks(self, tick: Fraction) -> IntArray:
        """The arrival tick of each event: its time, rounded up.

        >>> History(actor=[1], target=[1], time=[1]).ticks(Fraction(1)).tolist()
        [1]
        """
        step = tick / self.unit
        times = self.times.astype(np.int64)
        if step.denominator == 1 and 0 < step.numerator < 1 << 62:
            return -(-times // np.int64(step.numerator))
        exact = [-(-int(t) * step.denominator // step.numerator) for t in times]
        return np.array(exact, dtype=np.int64)

    def _column(self, name: str, column: Any) -> npt.NDArray[Any]:
        array = np.asarray(column)
        if array.ndim != 1 or len(array) != len(self.actor):
            raise BadInput(
                f"the column {name}",
                f"has {len(self.actor)} rows as actor has",
                found=f"shape {array.shape}",
            )
        return array

    def _check_parents(self) -> None:
        parents = np.asarray(self.parent)
        if len(self) and not np.issubdtype(parents.dtype, np.integer):
            raise BadInput("the column parent", "holds row numbers", found=str(parents.dtype))
        parents = parents.astype(np.int64)
        object.__setattr__(self, "parent", parents)
        if ((parents < -1) | (parents >= len(self))).any():
            raise BadInput(
                "the column parent",
                f"names rows 0..{len(self) - 1} or -1",
                found=int(parents[(parents < -1) | (parents >= len(self))][0]),
            )
        known = parents >= 0
        late = known & (self.times[parents] > self.times)
        if late.any():
            raise BadInput(
                "a parent",
                "arrives no later than the event that refers to it",
                found=f"row {int(np.flatnonzero(late)[0])}",
            )
