"""What an engine must do, and the shortest one: slices of a table in memory.

An engine does four things, and knows nothing of what is counted:

1. It brings a source into slices: numbers for actor and target (`table_of` says which), times in
   microseconds, and the columns `track` and `declared` where the question names them. Cuts are moments.
2. `run(task)` makes every slice a `SlicePart`: its events, those up to `task.before` microseconds earlier
   and those up to `task.after` later. It calls `task.look(part)` once for each slice, anywhere, in any
   order, again after a failure: equal parts give equal answers. A task is small and can be pickled.
3. `look` gives a `Looked`: a partial result, and rows of whole numbers by family. The first column of rows
   is a key. All rows of a family with one key must come together: an engine deals them into buckets
   (`bucket_of`), and calls `task.reduce(family, rows)` once for each bucket, or for several whole buckets
   at once. Rows come in any order. A bucket has all rows of its keys, and so few keys that it fits.
4. It merges what `look` and `reduce` gave (`merged`), in any order, and returns that.

5. `look` may also give columns: values for each event of the slice itself, in the order of the table.
   An engine may keep some, and give them back for all events of later parts (`part.kept`). They spare
   work, and nothing else: a task comes to the same without them.

An engine never looks into a task, and a task never knows how many slices there are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from tarry.core.lanes import BoolArray, IntArray
from tarry.study.parts.partial import Partial, merged
from tarry.study.source import SourceAccount
from tarry.study.table import EventTable

__all__ = ["Columns", "Engine", "InMemory", "Looked", "Reach", "SlicePart", "Task", "bucket_of", "part_of"]


_FIRST, _LAST = -(1 << 62), 1 << 62  # before and after every moment
#: Columns by name, of which each has a value for each event. They are kept together or not at all.
Columns = Mapping[str, np.ndarray[Any, np.dtype[Any]]]


def _nothing_kept(_: str) -> Columns | None:
    return None


@dataclass(frozen=True, kw_only=True, eq=False)
class SlicePart:
    """A slice and its halo.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1, 1, 1], target=[1, 2, 3], time=[0, 5, 9])
    >>> part = part_of(table, 5, 9, before=5, after=0)
    >>> part.table.time.tolist(), part.own.tolist()
    ([0, 5], [False, True])
    """

    table: EventTable  # the slice and its halo, in the order of every table
    start: int  # microseconds: the slice is start <= time < end
    end: int
    kept: Callable[[str], Columns | None] = _nothing_kept  # what earlier looks gave under a name

    @property
    def own(self) -> BoolArray:
        """Which events are of the slice itself."""
        return (self.table.time >= self.start) & (self.table.time < self.end)


@dataclass(frozen=True, kw_only=True, eq=False)
class Looked:
    """What a task found in one part.

    >>> Looked(partial=Partial(sums={"events": 2})).rows
    {}
    """

    partial: Partial
    rows: Mapping[str, IntArray] = field(default_factory=dict)
    columns: Mapping[str, Columns] = field(default_factory=dict)  # of the slice's own events, by name


class Reach(Protocol):
    """How far around a slice something looks.

    >>> from tarry.study.parts.survey import Survey
    >>> reach: Reach = Survey(window=5)
    >>> reach.before, reach.after
    (5, 5)
    """

    @property
    def before(self) -> int:
        """How much earlier than its slice a part begins, in microseconds."""
        ...

    @property
    def after(self) -> int:
        """How much later than its slice a part ends, in microseconds."""
        ...


class Task(Reach, Protocol):
    """What is counted in one pass.

    >>> from tarry.study.parts.asking import Asked
    >>> from tarry.study.parts.survey import Survey
    >>> from tarry.study.parts.view import Setting
    >>> task: Task = Asked(setting=Setting(practices=()), asks=[Survey(window=5)])
    >>> task.before, task.after
    (5, 5)
    """

    def look(self, part: SlicePart) -> Looked:
        """Count one part."""
        ...

    def reduce(self, family: str, rows: IntArray) -> Partial:
        """What all rows of some keys come to."""
        ...


class Engine(Protocol):
    """Brings a history in slices before a task.

    >>> from tarry.study.table import event_table
    >>> engine: Engine = InMemory(table=event_table(actor=[1], target=[2], time=[3]))
    >>> engine.reading.rows, list(engine.notes)
    (0, [])
    """

    @property
    def reading(self) -> SourceAccount:
        """How the source was read."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What was left out, in sentences: the notes of the table."""
        ...

    def run(self, task: Task) -> Partial:
        """Every part before the task once, and all that came of it."""
        ...


def part_of(table: EventTable, start: int, end: int, *, before: int, after: int) -> SlicePart:
    """The part of a table in memory.

    >>> from tarry.study.table import event_table
    >>> len(part_of(event_table(actor=[1], target=[1], time=[7]), 0, 5, before=0, after=3).table)
    1
    """
    return SlicePart(table=table.between(start - before, end + after), start=start, end=end)


def bucket_of(keys: IntArray, buckets: int) -> IntArray:
    """The bucket of each key: spread evenly, and the same everywhere.

    >>> bool((bucket_of(np.arange(9), 4) < 4).all())
    True
    """
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(buckets)).astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class InMemory:
    """Slices of a table in memory: what other engines are compared with.

    >>> from tarry.study.table import event_table
    >>> class Count:
    ...     before, after = 0, 0
    ...
    ...     def look(self, part):
    ...         return Looked(partial=Partial(sums={"events": len(part.table)}))
    >>> table = event_table(actor=[1, 1, 1], target=[1, 2, 3], time=[0, 5, 9])
    >>> InMemory(table=table, cuts=(5, 7)).run(Count()).sums
    {'events': 3}
    """

    table: EventTable
    cuts: Sequence[int] = ()  # microseconds: where a slice ends and the next begins, in any order
    buckets: int = 4
    reading: SourceAccount = field(default_factory=SourceAccount)

    @property
    def notes(self) -> Sequence[str]:
        """What was left out of the table."""
        return self.table.notes

    def run(self, task: Task) -> Partial:
        """One slice after the other."""
        edges = [_FIRST, *sorted(set(self.cuts)), _LAST]
        looks = [
            task.look(part_of(self.table, start, end, before=task.before, after=task.after))
            for start, end in pairwise(edges)
        ]
        return merged([*(each.partial for each in looks), *self._reduced(task, looks)])

    def _reduced(self, task: Task, looks: Sequence[Looked]) -> list[Partial]:
        partials: list[Partial] = []
        for family in dict.fromkeys(family for each in looks for family in each.rows):
            rows = np.concatenate([each.rows[family] for each in looks if family in each.rows])
            bucket = bucket_of(rows[:, 0], self.buckets)
            partials.extend(task.reduce(family, rows[bucket == one]) for one in range(self.buckets))
        return partials
