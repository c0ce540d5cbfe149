"""What attacks learn from a first pass, and those whose claims are about one actor at a time."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tarry.core.errors import NotPossible
from tarry.core.history import row_order
from tarry.core.lanes import BoolArray, IntArray
from tarry.study.attack import Attack, Learned, Lessons, Observed, Occurring, Truth
from tarry.study.parts.asking import BothWays, Opened, Program, Tallied, select, tallied
from tarry.study.parts.attempt import Attempt
from tarry.study.parts.engine import Looked
from tarry.study.parts.ledger import slice_counts
from tarry.study.parts.partial import Partial
from tarry.study.parts.tally import EXACT, ValueTally
from tarry.study.parts.view import Setting, View
from tarry.study.table import EventTable

__all__ = ["ByPerson", "OfPeople", "PairLessons", "PeopleLessons", "taught"]


@dataclass(frozen=True, kw_only=True)
class PairLessons(Tallied):
    """What an attack on pairs learns: from events, and from pairs at most the window apart.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> PairLessons(case=case, window=60).before
    65
    """

    case: Attempt
    window: int  # microseconds

    @property
    def before(self) -> int:
        """The window, and what releases depend on."""
        return self.window + self.case.looks

    @property
    def after(self) -> int:
        """What releases depend on."""
        return self.case.looks

    def look(self, view: View) -> Looked:
        """Count one part; a value belongs to the later event."""

        def pairs(table: EventTable, rows: BoolArray) -> Mapping[str, int]:
            return self.case.method.pair_lessons(self.case.observed(view, table, rows))

        events = view.about(self.window)
        observed, rows = self.case.observed(view, *events), events.rows
        lessons = self.case.method.lessons(observed, view.own[rows])
        return Looked(
            partial=Partial(
                sums=slice_counts(view, self.window, pairs), tallies=_tallies(lessons, self.opened)
            )
        )

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - it has no rows
        """Nothing: there are no rows."""
        return Partial()


@dataclass(frozen=True, kw_only=True)
class OfPeople:
    """All acts of one actor together, with what the observer saw of each.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> OfPeople(case=case, setting=Setting(practices=())).case.looks
    5
    """

    case: Attempt
    setting: Setting

    def rows(self, view: View) -> Looked:
        """One for each act: actor, moment, target, and when it was seen."""
        rows = view.own & view.looked_at
        table = view.table.keep(rows)
        seen = self.case.observed(view, table, rows).seen
        return Looked(
            partial=Partial(),
            rows={"acts": np.stack([table.actor, table.time, table.target, seen], axis=1)},
        )

    def observed(self, rows: IntArray) -> Observed:
        """These acts again, as the attack is given them."""
        actor, time, target, seen = rows[row_order(rows[:, 0], rows[:, 1], rows[:, 2])].T.copy()
        table = EventTable(actor=actor, target=target, time=time, row=np.arange(len(time)))
        return Observed(
            truth=Truth(table=table, window=self.setting.window),
            practice=self.setting.practices[self.case.practice],
            seen=seen,
        )


class ByPerson(BothWays):
    """An inquiry about all acts of one actor together: its rows are theirs.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> learning = PeopleLessons(of=OfPeople(case=case, setting=Setting(practices=())))
    >>> isinstance(learning, ByPerson), learning.sight
    (True, 5)
    """

    of: OfPeople

    @property
    def sight(self) -> int:
        """What releases depend on."""
        return self.of.case.looks

    def look(self, view: View) -> Looked:
        """All acts."""
        return self.of.rows(view)


@dataclass(frozen=True, kw_only=True)
class PeopleLessons(Tallied, ByPerson):
    """What an attack learns from all acts of each actor.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> PeopleLessons(of=OfPeople(case=case, setting=Setting(practices=()))).after
    5
    """

    of: OfPeople

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - there is one
        """What is learned from some actors."""
        lessons = self.of.case.method.lessons(self.of.observed(rows), np.ones(len(rows), dtype=np.bool_))
        return Partial(tallies=_tallies(lessons, self.opened))


def _tallies(lessons: Lessons, opened: Opened) -> dict[str, ValueTally]:
    tallies: dict[str, ValueTally] = {}
    for kind, columns in (("values", lessons.values), ("middles", lessons.middles)):
        for name, column in columns.items():
            tallies |= tallied(f"{kind}/{name}", column, opened)
    return tallies


# --- programs -------------------------------------------------------------------------------------


def taught(case: Attempt, setting: Setting) -> Program[Attack]:
    """The attack once it has learned what it must.

    >>> from tarry.study.attack import attack
    >>> case = Attempt(practice=0, draw=0, observer=0, method=attack("informed"), looks=0, spread=0)
    >>> [asked] = next(taught(case, Setting(practices=())))
    >>> asked.opened is None
    True
    """
    ask: PairLessons | PeopleLessons
    if case.method.by_parts == "people":
        ask = PeopleLessons(of=OfPeople(case=case, setting=setting))
    else:
        ask = PairLessons(case=case, window=setting.window)
    [partial] = yield [ask]
    tallies = {
        kind: {
            name.removeprefix(kind): one for name, one in partial.tallies.items() if name.startswith(kind)
        }
        for kind in ("values/", "middles/")
    }
    values = {name: _every(case.method, name, tally) for name, tally in tallies["values/"].items()}
    ranks = {f"middles/{name}": _middle(tally.total) for name, tally in tallies["middles/"].items()}
    middle_ranks = yield from select(ask, partial, ranks)
    middles = {
        name: None if not tally.total else _both(middle_ranks[f"middles/{name}"])
        for name, tally in tallies["middles/"].items()
    }
    learned = Learned(values=values, middles=middles, pairs=partial.sums)
    return case.method.taught(setting.practices[case.practice], learned)


def _every(method: Attack, name: str, tally: ValueTally) -> Occurring:
    if tally.bits < EXACT:
        raise NotPossible(
            f"the attack {method.name} must learn too many different values ({name.replace('_', ' ')}) for "
            "an audit by parts: choose a longer tick, or use the engine memory"
        )
    return Occurring(tally.low, tally.count.astype(np.int64))


def _middle(count: int) -> list[int]:
    return sorted({(count - 1) // 2, count // 2}) if count else []


def _both(counts: Mapping[int, int]) -> tuple[int, int]:
    return counts[min(counts)], counts[max(counts)]
