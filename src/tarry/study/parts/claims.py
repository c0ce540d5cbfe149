"""What attacks claim by parts: counts of pairs and events at cutoffs."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tarry.core.lanes import BoolArray, IntArray
from tarry.study.attack import Claiming, PairTally, Totals, best_of
from tarry.study.best_cutoff import Seeking, seek_best, seek_longest
from tarry.study.parts.asking import Inquiry, Program
from tarry.study.parts.attempt import Attempt, OfCase
from tarry.study.parts.engine import Looked
from tarry.study.parts.ledger import LedgerSums, slice_counts
from tarry.study.parts.lessons import ByPerson, OfPeople, taught
from tarry.study.parts.partial import Partial
from tarry.study.parts.people import people_called
from tarry.study.parts.view import Setting, View
from tarry.study.person import CONFIDENCES, People
from tarry.study.score import Score
from tarry.study.table import EventTable

__all__ = ["EventCounts", "PairCounts", "PeopleCounts", "attacked"]


@dataclass(frozen=True, kw_only=True)
class PairCounts(OfCase):
    """The pairs that a method counts, at some cutoffs.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> PairCounts(case=case, farthest=60, cutoffs=(10, 60)).before
    74
    """

    cutoffs: Sequence[int]  # microseconds

    def look(self, view: View) -> Looked:
        """Count one part."""

        def count(table: EventTable, rows: BoolArray) -> Mapping[str, int]:
            return _named(self.case.method.tally(self.case.observed(view, table, rows), self.cutoffs))

        return Looked(partial=Partial(sums=slice_counts(view, self.case.reach(self.farthest), count)))

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - it has no rows
        """Nothing: there are no rows."""
        return Partial()


@dataclass(frozen=True, kw_only=True)
class EventCounts(OfCase):
    """The events that a method counts, at some cutoffs, with others around them on both sides.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> EventCounts(case=case, farthest=60, cutoffs=(10, 60), least=300).after
    305
    """

    cutoffs: Sequence[int]  # microseconds
    least: int  # microseconds: it looks so far, however short the cutoffs are

    @property
    def around(self) -> int:
        """How far from an event those lie that it looks at."""
        return max(self.case.reach(self.farthest), self.least)

    @property
    def before(self) -> int:
        """All that is around the first events, and what their releases depend on."""
        return self.around + self.case.looks

    @property
    def after(self) -> int:
        """Likewise after the last events."""
        return self.around + self.case.looks

    def look(self, view: View) -> Looked:
        """Count one part."""
        time = view.table.time
        near = (time >= view.start - self.around) & (time < view.end + self.around)
        rows = near & view.looked_at
        observed = self.case.observed(view, view.table.keep(rows), rows)
        tally = self.case.method.tally_events(observed, view.own[rows], self.cutoffs)
        return Looked(partial=Partial(sums=_named(tally)))

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - it has no rows
        """Nothing: there are no rows."""
        return Partial()


@dataclass(frozen=True, kw_only=True)
class PeopleCounts(ByPerson):
    """What a method counts of the acts of one actor at a time, at some cutoffs.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> PeopleCounts(of=OfPeople(case=case, setting=Setting(practices=())), cutoffs=(10,)).before
    5
    """

    of: OfPeople
    cutoffs: Sequence[int]  # microseconds

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - there is one
        """Count the acts of some actors."""
        tally = self.of.case.method.tally(self.of.observed(rows), self.cutoffs)
        return Partial(sums=_named(tally))


def _named(tally: PairTally) -> dict[str, int]:
    """Each count under a name of its own: its own, and its place."""
    return {
        f"{name}@{place}": number for name, numbers in tally.items() for place, number in enumerate(numbers)
    }


def _tally(partial: Partial) -> PairTally:
    """The counts by name again."""
    names: dict[str, int] = {}
    for name in partial.sums:
        names[name.partition("@")[0]] = 1 + names.get(name.partition("@")[0], 0)
    return {
        name: [partial.sums[f"{name}@{place}"] for place in range(size)] for name, size in names.items()
    }


# --- programs -------------------------------------------------------------------------------------


def attacked(
    case: Attempt,
    setting: Setting,
    cutoffs: Sequence[int],
    sums: LedgerSums,
    *,
    unit: int,
    farthest: int | None,
) -> Program[tuple[list[Score], People]]:
    """The scores of an attack, and its people if it looks for them, as far as `farthest`.

    >>> from tarry.study.attack import attack
    >>> case = Attempt(practice=0, draw=0, observer=0, method=attack("cutoff"), looks=0, spread=0)
    >>> sums = LedgerSums(sums={"linked": 1, "events": 3})
    >>> [counts] = next(attacked(case, Setting(practices=()), [60], sums, unit=1, farthest=None))
    >>> counts.cutoffs
    [60]
    """
    if case.method.learns:
        case = replace(case, method=(yield from taught(case, setting)))
    if farthest is None:
        scores = yield from _scored(case, setting, sums.totals, cutoffs)
        return scores, best_of(scores)
    searches: list[Seeking] = [seek_best(unit, farthest)]
    if case.draw == 0:
        searches.extend(seek_longest(unit, farthest, right) for right in CONFIDENCES)
    scores, *answers = yield from _together(case, setting, sums.totals, [_given(cutoffs), *searches])
    people = yield from people_called(case, sums, answers[0], answers[1:])
    return scores, people


def _given(cutoffs: Sequence[int]) -> Generator[Sequence[int], Sequence[Score], Sequence[Score]]:
    scores = yield cutoffs
    return scores


def _together(
    case: Attempt,
    setting: Setting,
    totals: Totals,
    searches: Sequence[Generator[Sequence[int], Sequence[Score], Any]],
) -> Program[list[Any]]:
    """Searches side by side: all cutoffs that they want at one time are counted at once."""
    answers: list[Any] = [None] * len(searches)
    cutoffs_of = {number: next(search) for number, search in enumerate(searches)}
    while cutoffs_of:
        cutoffs = tuple(sorted({cutoff for each in cutoffs_of.values() for cutoff in each}))
        scored = yield from _scored(case, setting, totals, cutoffs)
        scores = dict(zip(cutoffs, scored, strict=True))
        for number, mine in list(cutoffs_of.items()):
            try:
                cutoffs_of[number] = searches[number].send([scores[cutoff] for cutoff in mine])
            except StopIteration as end:
                answers[number] = end.value
                del cutoffs_of[number]
    return answers


def _scored(
    case: Attempt, setting: Setting, totals: Totals, cutoffs: Sequence[int]
) -> Program[list[Score]]:
    [partial] = yield [_counts(case, setting, cutoffs)]
    practice = setting.practices[case.practice]
    return case.method.scores_of(Claiming(practice, totals, cutoffs, _tally(partial)))


def _counts(case: Attempt, setting: Setting, cutoffs: Sequence[int]) -> Inquiry:
    if case.method.by_parts == "people":
        return PeopleCounts(of=OfPeople(case=case, setting=setting), cutoffs=cutoffs)
    farthest = case.method.reach(cutoffs)
    if case.method.by_parts == "pairs":
        return PairCounts(case=case, farthest=farthest, cutoffs=cutoffs)
    least = max(setting.window, case.method.looks(setting.practices[case.practice]))
    return EventCounts(case=case, farthest=farthest, cutoffs=cutoffs, least=least)
