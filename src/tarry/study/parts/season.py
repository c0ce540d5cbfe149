"""The acts that a season should be for, from a history in slices."""

from dataclasses import dataclass

import numpy as np

from tarry.core.exact import Duration
from tarry.core.labels import partner_distance
from tarry.core.lanes import IntArray
from tarry.study.parts.asking import BothWays, Program, Tallied, drive, select, tallied
from tarry.study.parts.engine import Engine, Looked
from tarry.study.parts.partial import Partial
from tarry.study.parts.view import Setting, View, firsts
from tarry.study.season import PERCENTILE, LearnedSeason, Stretches, reach_of, stretches_of

__all__ = ["SeasonActs", "Span", "season_by_parts"]


@dataclass(frozen=True, kw_only=True)
class Span:
    """The first and the last moment.

    >>> Span().after
    0
    """

    before: int = 0
    after: int = 0

    def look(self, view: View) -> Looked:
        """Of one part."""
        time = view.table.time[view.own]
        if not len(time):
            return Looked(partial=Partial())
        return Looked(partial=Partial(least={"time": int(time.min())}, most={"time": int(time.max())}))

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - it has no rows
        """Nothing: there are no rows."""
        return Partial()


@dataclass(frozen=True, kw_only=True)
class SeasonActs(Tallied, BothWays):
    """Batched acts of each person in each stretch of time.

    >>> SeasonActs(window=5, first=0, stretch=60).before
    5
    """

    window: int  # microseconds
    first: int  # moment
    stretch: int  # microseconds

    @property
    def sight(self) -> int:
        """Partners are looked for so far away."""
        return self.window

    def look(self, view: View) -> Looked:
        """One row for each person and stretch of a part."""
        before, after = partner_distance(view.table.history, view.table.time)
        which = (np.minimum(before, after) <= self.window) & view.own
        actor = view.table.actor[which]
        stretch = (view.table.time[which] - self.first) // self.stretch
        begin = firsts(actor, stretch)
        acts = np.diff(np.append(begin, len(actor)))
        rows = np.stack([actor[begin], stretch[begin], acts], axis=1).astype(np.int64)
        return Looked(partial=Partial(), rows={"acts": rows})

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - there is one
        """How many acts each has in each stretch, and how many people there are."""
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        begin = firsts(rows[:, 0], rows[:, 1])
        acts = np.add.reduceat(rows[:, 2], begin) if len(rows) else rows[:, 2]
        return Partial(sums={"people": len(firsts(rows[:, 0]))}, tallies=tallied("acts", acts, self.opened))


def season_by_parts(
    engine: Engine,
    *,
    window: Duration = "5m",
    length: Duration | None = None,
    percentile: int = PERCENTILE,
) -> LearnedSeason:
    """As `learn_season`, from a history in slices.

    >>> from tarry.study.parts.engine import InMemory
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a"] * 4, target=[1, 2, 1, 2], time=[0, 1, 999_998, 999_999])
    >>> season_by_parts(InMemory(table=table, cuts=[1]), window="1s").acts
    4
    """
    asked = _season(reach_of(window, percentile), length, percentile)
    answers: list[LearnedSeason] = drive(engine, Setting(practices=()), [asked])
    return answers[0]


def _season(window: int, length: Duration | None, percentile: int) -> Program[LearnedSeason]:
    [ends] = yield [Span()]
    first, last = ends.least.get("time", 0), ends.most.get("time", 0)
    cut: Stretches = stretches_of(last - first + 1, length)
    ask = SeasonActs(window=window, first=first, stretch=cut.stretch)
    [counts] = yield [ask]
    count = counts.tallies["acts"].total if counts.tallies else 0
    rank = cut.rank(count, percentile)
    values = yield from select(ask, counts, {"acts": [rank]})
    return cut.learned(values["acts"][rank], percentile, counts.sums["people"])
