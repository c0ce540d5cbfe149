"""What attacks claim by parts: counts of pairs at cutoffs, and the people whom claims are about."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarry.core.lanes import BoolArray, IntArray
from tarry.study.attack import Attack, Observed, PairTally, Totals, Truth, best_of
from tarry.study.best_cutoff import Seeking, seek_best, seek_longest
from tarry.study.exact_sums import ONE, shares_in_parts, total
from tarry.study.parts.asking import Inquiry, Program
from tarry.study.parts.engine import Looked
from tarry.study.parts.ledger import LedgerSums, slice_counts
from tarry.study.parts.partial import TOP, Partial
from tarry.study.parts.view import Setting, View, firsts
from tarry.study.person import (
    CONFIDENCES,
    SIZES,
    Calls,
    People,
    SizeOfActivity,
    claims_about,
    own_pairs,
)
from tarry.study.score import Score
from tarry.study.table import EventTable

__all__ = ["Attempt", "Called", "EventCounts", "PairCounts", "attacked"]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attack on one draw of one practice, through one observer's eyes.

    >>> Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9).reach(100)
    109
    """

    practice: int  # by its number
    draw: int
    observer: int  # by its number
    method: Attack
    looks: int  # microseconds: how far around an event its release depends on others
    spread: int  # microseconds: how much further apart than seen two events may have arrived

    def reach(self, cutoff: int) -> int:
        """Arrivals of events seen at most a cutoff apart are at most so far apart."""
        return max(cutoff, 0) + self.spread

    def observed(self, view: View, table: EventTable, rows: BoolArray) -> Observed:
        """These events of a part, as the observer saw them."""
        setting, shown = view.setting, view.shown(self.practice, self.draw)
        return Observed(
            truth=Truth(table=table, window=setting.window),
            practice=setting.practices[self.practice],
            seen=setting.observers[self.observer].see(shown)[rows],
            labels=None if shown.batched is None else shown.batched[rows],
        )


@dataclass(frozen=True, kw_only=True)
class _OfCase:
    """What looks as far as the pairs of a case at a cutoff."""

    case: Attempt
    farthest: int  # microseconds: the longest cutoff

    @property
    def before(self) -> int:
        """Both events of every pair, and what their releases depend on."""
        return self.case.reach(self.farthest) + self.case.looks

    @property
    def after(self) -> int:
        """What releases depend on."""
        return self.case.looks


@dataclass(frozen=True, kw_only=True)
class PairCounts(_OfCase):
    """The pairs that a method counts, at some cutoffs.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> PairCounts(case=case, farthest=60, cutoffs=(10, 60)).before
    74
    """

    cutoffs: Sequence[int]  # microseconds

    def look(self, view: View) -> Looked:
        """Count one part."""

        def count(table: EventTable, rows: BoolArray) -> Mapping[str, int]:
            return _named(
                self.case.method.tally(self.case.observed(view, table, rows), self.cutoffs), self.cutoffs
            )

        return Looked(partial=Partial(sums=slice_counts(view, self.case.reach(self.farthest), count)))

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - it has no rows
        """Nothing: there are no rows."""
        return Partial()


@dataclass(frozen=True, kw_only=True)
class EventCounts(_OfCase):
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
        return Looked(partial=Partial(sums=_named(tally, self.cutoffs)))

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - it has no rows
        """Nothing: there are no rows."""
        return Partial()


def _named(tally: PairTally, cutoffs: Sequence[int]) -> dict[str, int]:
    """Each count of each cutoff under a name of its own."""
    return {
        f"{name}@{cutoff}": number
        for name, numbers in tally.items()
        for cutoff, number in zip(cutoffs, numbers, strict=True)
    }


def _tally(partial: Partial, cutoffs: Sequence[int]) -> PairTally:
    """The counts by name again."""
    names = dict.fromkeys(name.partition("@")[0] for name in partial.sums)
    return {name: [partial.sums[f"{name}@{cutoff}"] for cutoff in cutoffs] for name in names}


@dataclass(frozen=True, kw_only=True)
class Called(_OfCase):
    """The people whom claims at a cutoff are about.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> Called(case=case, farthest=-1).before
    14
    """

    def look(self, view: View) -> Looked:
        """One row for each person of a part: acts, own pairs, and other claims about their acts."""
        rows = view.since(self.case.reach(self.farthest)) & view.looked_at
        halo = rows & view.halo
        people = np.concatenate([self._people(view, rows, 1), self._people(view, halo, -1)])
        return Looked(partial=Partial(), rows={"people": people})

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - there is one
        """How many people are called, and how the right claims are spread over them."""
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        begin = firsts(rows[:, 0])
        if not len(begin):
            return Partial()
        acts, own, others = np.add.reduceat(rows[:, 1:], begin).T
        # Claims about an act are met from it, so one about two acts of a person is met twice.
        claims = others - own
        about = claims > 0
        sums = {
            "called": int((own > 0).sum()),
            "own": total(own),
            "about": int(about.sum()),
            "right": total(shares_in_parts(own[about], claims[about])),
        }
        for number, (least, most) in enumerate(SIZES):
            inside = (acts >= least) & (acts <= (most or acts.max()))
            sums[f"people{number}"] = int(inside.sum())
            sums[f"called{number}"] = int((inside & (own > 0)).sum())
        return Partial(sums=sums, tops={"own": tuple(np.sort(own)[::-1][:TOP].tolist())})

    def calls(self, people: int, partial: Partial) -> Calls:
        """As `calls_at` has them."""
        sums, top = partial.sums, partial.tops.get("own", ())
        right = sums.get("own", 0)
        return Calls(
            cutoff=self.farthest,
            people=people,
            called=sums.get("called", 0),
            top_share=top[0] / right if right else None,
            top_ten_share=sum(top) / right if right else None,
            mean_right=sums["right"] / (sums["about"] * ONE) if sums.get("about") else None,
            sizes=tuple(
                SizeOfActivity(
                    least=least,
                    most=most,
                    people=sums.get(f"people{number}", 0),
                    called=sums.get(f"called{number}", 0),
                )
                for number, (least, most) in enumerate(SIZES)
            ),
        )

    def _people(self, view: View, which: BoolArray, sign: int) -> IntArray:
        table = view.table.keep(which)
        seen = self.case.observed(view, table, which).seen
        begin = firsts(table.actor)
        if not len(begin):
            return np.zeros((0, 4), dtype=np.int64)
        acts = np.diff(np.append(begin, len(table)))
        counts = (acts, own_pairs(table, seen, self.farthest), claims_about(table, seen, self.farthest))
        return np.stack([table.actor[begin], *(sign * count for count in counts)], axis=1)


# --- programs -------------------------------------------------------------------------------------


def attacked(
    case: Attempt,
    setting: Setting,
    cutoffs: Sequence[int],
    found: LedgerSums,
    *,
    unit: int,
    farthest: int | None,
) -> Program[tuple[list[Score], People]]:
    """The scores of an attack, and its people if it looks for them, as far as `farthest`.

    >>> from tarry.study.attack import attack
    >>> case = Attempt(practice=0, draw=0, observer=0, method=attack("cutoff"), looks=0, spread=0)
    >>> found = LedgerSums(sums={"linked": 1, "events": 3})
    >>> [counts] = next(attacked(case, Setting(practices=()), [60], found, unit=1, farthest=None))
    >>> counts.cutoffs
    (60,)
    """
    searches: list[Seeking] = []
    if farthest is not None:
        searches.append(seek_best(unit, farthest))
        if case.draw == 0:
            searches.extend(seek_longest(unit, farthest, right) for right in CONFIDENCES)
    scores, *answers = yield from _together(case, setting, found.totals, [_given(cutoffs), *searches])
    if farthest is None:
        return scores, best_of(scores)
    calls = yield from _called(case, found.people, answers[1:])
    return scores, People(best=answers[0], calls=calls)


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
    wanted = {number: next(search) for number, search in enumerate(searches)}
    while wanted:
        cutoffs = tuple(sorted({cutoff for each in wanted.values() for cutoff in each}))
        [partial] = yield [_counts(case, setting, cutoffs)]
        tally = _tally(partial, cutoffs)
        practice = setting.practices[case.practice]
        scores = {score.cutoff: score for score in case.method.scores_of(practice, totals, cutoffs, tally)}
        for number, mine in list(wanted.items()):
            try:
                wanted[number] = searches[number].send([scores[cutoff] for cutoff in mine])
            except StopIteration as end:
                answers[number] = end.value
                del wanted[number]
    return answers


def _counts(case: Attempt, setting: Setting, cutoffs: Sequence[int]) -> Inquiry:
    farthest = max(cutoffs, default=0)
    if case.method.by_parts == "pairs":
        return PairCounts(case=case, farthest=farthest, cutoffs=cutoffs)
    least = max(setting.window, case.method.looks(setting.practices[case.practice]))
    return EventCounts(case=case, farthest=farthest, cutoffs=cutoffs, least=least)


def _called(case: Attempt, people: int, longest: Sequence[Score | None]) -> Program[dict[float, Calls]]:
    asks = [Called(case=case, farthest=-1 if one is None else one.cutoff) for one in longest]
    if not asks:
        return {}
    partials = yield asks
    return {
        confidence: ask.calls(people, partial)
        for confidence, ask, partial in zip(CONFIDENCES, asks, partials, strict=True)
    }
