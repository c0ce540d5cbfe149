"""A stretch of a history as a history by itself, for whatever runs by parts."""

from collections.abc import Sequence
from dataclasses import dataclass

from tarry.core.lanes import IntArray
from tarry.study.parts.asking import Tallied, tallied
from tarry.study.parts.engine import Engine, Looked, SlicePart, Task
from tarry.study.parts.partial import Partial
from tarry.study.parts.view import View
from tarry.study.source import SourceAccount

__all__ = ["ArrivalMoments", "Cropped", "EventsBetween"]


@dataclass(frozen=True, kw_only=True)
class Cropped:
    """The events with start <= time < end of what an engine has in slices; no others are seen.

    >>> from tarry.study.parts.engine import InMemory
    >>> from tarry.study.table import event_table
    >>> whole = InMemory(table=event_table(actor=[1, 1, 1], target=[1, 2, 3], time=[0, 5, 9]), cuts=[7])
    >>> class Count:
    ...     before, after = 9, 9
    ...
    ...     def look(self, part):
    ...         return Looked(partial=Partial(sums={"events": len(part.table), "own": int(part.own.sum())}))
    >>> Cropped(engine=whole, start=5, end=9).run(Count()).sums
    {'events': 2, 'own': 1}
    """

    engine: Engine
    start: int  # microseconds
    end: int

    @property
    def reading(self) -> SourceAccount:
        """How the source was read."""
        return self.engine.reading

    @property
    def notes(self) -> Sequence[str]:
        """What was left out of the whole history."""
        return self.engine.notes

    def run(self, task: Task) -> Partial:
        """Every part of the stretch before the task once."""
        return self.engine.run(_CroppedTask(task=task, start=self.start, end=self.end))


@dataclass(frozen=True, kw_only=True)
class _CroppedTask:
    """A task that is given nothing outside a stretch. What an engine kept of whole parts is not for it."""

    task: Task
    start: int
    end: int

    @property
    def before(self) -> int:
        return self.task.before

    @property
    def after(self) -> int:
        return self.task.after

    def look(self, part: SlicePart) -> Looked:
        start, end = max(part.start, self.start), min(part.end, self.end)
        if start >= end:
            return Looked(partial=Partial())
        table = part.table.between(self.start, self.end)
        looked = self.task.look(SlicePart(table=table, start=start, end=end))
        return Looked(partial=looked.partial, rows=looked.rows)

    def reduce(self, family: str, rows: IntArray) -> Partial:
        return self.task.reduce(family, rows)


@dataclass(frozen=True, kw_only=True)
class ArrivalMoments(Tallied):
    """The moments of all events.

    >>> ArrivalMoments().before
    0
    """

    before: int = 0
    after: int = 0

    def look(self, view: View) -> Looked:
        """Count one part."""
        return Looked(partial=Partial(tallies=tallied("time", view.table.time[view.own], self.opened)))

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - it has no rows
        """Nothing: there are no rows."""
        return Partial()


@dataclass(frozen=True, kw_only=True)
class EventsBetween:
    """How many events there are with start <= time < end, for some stretches.

    >>> EventsBetween(stretches=((0, 5),)).after
    0
    """

    stretches: Sequence[tuple[int, int]]  # microseconds
    before: int = 0
    after: int = 0

    def look(self, view: View) -> Looked:
        """Count one part."""
        time = view.table.time[view.own]
        sums = {
            str(number): int(((time >= start) & (time < end)).sum())
            for number, (start, end) in enumerate(self.stretches)
        }
        return Looked(partial=Partial(sums=sums))

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - it has no rows
        """Nothing: there are no rows."""
        return Partial()
