"""Programs ask for counts, and all that programs ask at one time is one pass over the history."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from tarry.core.lanes import IntArray
from tarry.study.parts.engine import Engine, Looked, Reach, SlicePart
from tarry.study.parts.partial import Partial, merged
from tarry.study.parts.tally import ValueTally, tally_of
from tarry.study.parts.view import Setting, View

__all__ = [
    "Asked",
    "BothWays",
    "Inquiry",
    "Opened",
    "Program",
    "Tallied",
    "beside",
    "drive",
    "select",
    "tallied",
]

T = TypeVar("T")


class Inquiry(Reach, Protocol):
    """One thing to count.

    >>> from tarry.study.parts.survey import Survey
    >>> asked: Inquiry = Survey(window=5)
    >>> asked.before, asked.after
    (5, 5)
    """

    def look(self, view: View) -> Looked:
        """Count one part."""
        ...

    def reduce(self, family: str, rows: IntArray) -> Partial:
        """What all rows of some keys come to."""
        ...


#: Yields what it asks, is given what came of each, and returns an answer.
Program = Generator[Sequence[Any], Sequence[Partial], T]


class BothWays(ABC):
    """An inquiry that looks as far after its slice as before it.

    >>> from tarry.study.parts.survey import Survey
    >>> isinstance(Survey(window=5), BothWays), Survey(window=5).sight
    (True, 5)
    """

    @property
    @abstractmethod
    def sight(self) -> int:
        """How far it looks, in microseconds."""

    @property
    def before(self) -> int:
        """So far before."""
        return self.sight

    @property
    def after(self) -> int:
        """And so far after."""
        return self.sight


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What several programs ask at one time: one task.

    >>> Asked(setting=Setting(practices=()), asks=()).before
    0
    """

    setting: Setting
    asks: Sequence[Inquiry]

    @property
    def before(self) -> int:
        """As far as the one that looks farthest."""
        return max((ask.before for ask in self.asks), default=0)

    @property
    def after(self) -> int:
        """As far as the one that looks farthest."""
        return max((ask.after for ask in self.asks), default=0)

    def look(self, part: SlicePart) -> Looked:
        """Every answer, with the number of its question in front of its names."""
        looks = max((practice.looks() or 0 for practice in self.setting.practices), default=0)
        view = View(part, self.setting, sure=self.before - looks)
        answers = [(f"{number}/", ask.look(view)) for number, ask in enumerate(self.asks)]
        partial = merged(one.partial.under(prefix) for prefix, one in answers)
        rows = {prefix + family: rows for prefix, one in answers for family, rows in one.rows.items()}
        columns = {name: each for _, one in answers for name, each in one.columns.items()}
        return Looked(partial=partial, rows=rows, columns=columns)

    def reduce(self, family: str, rows: IntArray) -> Partial:
        """As the question does whose rows they are."""
        number, _, name = family.partition("/")
        return self.asks[int(number)].reduce(name, rows).under(f"{number}/")


def drive(
    engine: Engine,
    setting: Setting,
    programs: Sequence[Program[Any]],
    passed: Callable[[], None] = lambda: None,
) -> list[Any]:
    """Run programs side by side to their ends, and return their answers.

    What they ask at one time is one task; `passed` is called after each.

    >>> from tarry.study.parts.engine import InMemory
    >>> from tarry.study.table import event_table
    >>> def answer():
    ...     return 42
    ...     yield []
    >>> drive(
    ...     InMemory(table=event_table(actor=[1], target=[1], time=[0])), Setting(practices=()), [answer()]
    ... )
    [42]
    """
    answers: list[Any] = [None] * len(programs)
    waiting: dict[int, Sequence[Inquiry]] = {}
    for number, program in enumerate(programs):
        _advance(program, None, number, waiting, answers)
    while waiting:
        asks = [ask for each in waiting.values() for ask in each]
        partial = engine.run(Asked(setting=setting, asks=asks))
        passed()
        given = iter([partial.within(f"{number}/") for number in range(len(asks))])
        for number, mine in list(waiting.items()):
            _advance(programs[number], [next(given) for _ in mine], number, waiting, answers)
    return answers


def _advance(
    program: Program[Any],
    given: Sequence[Partial] | None,
    number: int,
    waiting: dict[int, Sequence[Inquiry]],
    answers: list[Any],
) -> None:
    try:
        waiting[number] = next(program) if given is None else program.send(given)
    except StopIteration as end:
        waiting.pop(number, None)
        answers[number] = end.value


def beside(program: Program[T], asked: Any) -> Program[tuple[T, Partial]]:
    """A program, with one thing more asked beside its first question: what comes of both.

    >>> def answer():
    ...     return 42
    ...     yield []
    >>> both = beside(answer(), "more")
    >>> next(both)
    ['more']
    """
    try:
        asks = next(program)
    except StopIteration as end:
        [more] = yield [asked]
        return end.value, more
    *first, more = yield [*asks, asked]
    given: Sequence[Partial] = first
    while True:
        try:
            given = yield program.send(given)
        except StopIteration as end:
            return end.value, more


# --- percentiles ------------------------------------------------------------------------------------

#: Bins of tallies to look into: name, least value, greatest value. None: whole tallies.
Opened = Sequence[tuple[str, int, int]] | None


def tallied(name: str, values: IntArray, opened: Opened) -> dict[str, ValueTally]:
    """The tally of values, or of those in the bins of this name that are looked into.

    >>> import numpy as np
    >>> tallied("gaps", np.array([1, 5, 6]), [("gaps", 4, 7)])["gaps@4"].total
    2
    """
    if opened is None:
        return {name: tally_of(values)}
    return {
        f"{name}@{low}": tally_of(values[(values >= low) & (values <= high)])
        for bin_name, low, high in opened
        if bin_name == name
    }


@dataclass(frozen=True, kw_only=True)
class Tallied:
    """An ask with tallies, which may be asked again for some bins alone.

    >>> Tallied().opened is None
    True
    """

    opened: Opened = None


A = TypeVar("A", bound=Tallied)


def select(
    ask: A, partial: Partial, wanted: Mapping[str, Sequence[int]]
) -> Program[dict[str, dict[int, int]]]:
    """The exact values at some ranks of the tallies of an ask, by name and rank.

    Bins of several values are asked for again, by themselves.

    >>> import numpy as np
    >>> partial = Partial(tallies={"gaps": tally_of(np.array([4, 9]))})
    >>> program = select(Tallied(), partial, {"gaps": [1]})
    >>> try:
    ...     next(program)
    ... except StopIteration as end:
    ...     print(end.value)
    {'gaps': {1: 9}}
    """
    values: dict[str, dict[int, int]] = {name: {} for name in wanted}
    places = [(name, rank, partial.tallies[name], rank) for name, ranks in wanted.items() for rank in ranks]
    while places:
        inside = []
        for name, rank, tally, place in places:
            bin_ = tally.at(place)
            if bin_.exact:
                values[name][rank] = bin_.low
            else:
                inside.append((name, rank, bin_, place - bin_.before))
        bins = tuple(sorted({(name, bin_.low, bin_.high) for name, _, bin_, _ in inside}))
        if not bins:
            break
        [again] = yield [replace(ask, opened=bins)]
        places = [
            (name, rank, again.tallies[f"{name}@{bin_.low}"], place) for name, rank, bin_, place in inside
        ]
    return values
