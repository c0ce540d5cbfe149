"""The first pass: how people batch, and whatever practices must know before they are replayed."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from tarry.core.errors import NotPossible
from tarry.core.history import row_order
from tarry.core.labels import partner_distance
from tarry.core.lanes import IntArray
from tarry.study.batching import FINE, PERCENTILES, Batching, Measures
from tarry.study.parts.asking import BothWays, Opened, Program, Tallied, select, tallied
from tarry.study.parts.engine import Looked
from tarry.study.parts.partial import Partial
from tarry.study.parts.view import Setting, View, firsts
from tarry.study.table import EventTable, check_named, is_named

__all__ = ["Survey", "Surveyed", "observed_rank", "survey"]


@dataclass(frozen=True, kw_only=True)
class Survey(Tallied, BothWays):
    """Counts of everything that does not depend on draws, over all events.

    >>> Survey(window=5).before
    5
    """

    window: int  # microseconds

    @property
    def sight(self) -> int:
        """Partners are looked for so far away."""
        return self.window

    def look(self, view: View) -> Looked:
        """Count one part; what reaches over its edges is left to the rows."""
        own = view.mine
        if not len(own):
            return Looked(partial=Partial())
        before, after = partner_distance(view.table.history, view.table.time)
        partners = (np.minimum(before, after) <= self.window) & view.own
        moved = (np.diff(own.actor) == 0) & (np.diff(own.target) != 0)
        gaps = np.diff(own.time)[moved]
        tallies = tallied("in_batch", gaps[gaps <= self.window], self.opened)
        by_time = row_order(own.time, own.actor, own.target)
        tallies |= tallied("null", _null_gaps(own, by_time), self.opened)
        sums = {"events": len(own), "partners": int(partners.sum()), **_remarkable(view.setting, own)}
        return Looked(
            partial=Partial(
                sums=sums,
                least={"time": int(own.time.min())},
                most={"time": int(own.time.max())},
                tallies=tallies,
            ),
            rows={
                "actor": _actor_rows(own, self.window),
                "target": np.sort(own.target)[firsts(np.sort(own.target))][:, None],
                "edge": _edge_rows(own, by_time),
            },
        )

    def reduce(self, family: str, rows: IntArray) -> Partial:
        """The moves of actors, how many targets there are, and the gaps between slices."""
        if family == "target":
            return Partial(sums={"targets": len(np.unique(rows[:, 0]))})
        if family == "edge":
            return Partial(tallies=tallied("null", _gaps_between(rows), self.opened))
        return _moves(rows, self.window, self.opened)


def _remarkable(setting: Setting, own: EventTable) -> dict[str, int]:
    counts = {}
    for number, practice in enumerate(setting.practices):
        for name, count in practice.remarkable(own).items():
            counts[f"practice/{number}/{name}"] = count
        counts[f"stranded/{number}"] = practice.stranded(own.history)
    for name, names, column in (
        ("actor", setting.suspects, own.actor),
        ("target", setting.among, own.target),
    ):
        if names is not None:
            counts[f"named/{name}"] = int(is_named(column, names).sum())
    return counts


def _null_gaps(own: EventTable, by_time: IntArray) -> IntArray:
    actor, target, time = own.actor[by_time], own.target[by_time], own.time[by_time]
    apart = (actor[1:] != actor[:-1]) & (target[1:] != target[:-1])
    gaps: IntArray = np.diff(time)[apart]
    return gaps


def _edge_rows(own: EventTable, by_time: IntArray) -> IntArray:
    """One row: the first and the last event, under one key for all slices."""
    ends = by_time[[0, -1]]
    columns = (own.time[ends], own.actor[ends], own.target[ends])
    return np.concatenate(([0], *([column[0] for column in columns], [column[1] for column in columns])))[
        None, :
    ].astype(np.int64)


def _gaps_between(rows: IntArray) -> IntArray:
    """From the last event of a slice to the first of the next, where actor and target differ."""
    rows = rows[np.argsort(rows[:, 1])]
    first, last = rows[1:, 1:4], rows[:-1, 4:7]
    apart = (first[:, 1] != last[:, 1]) & (first[:, 2] != last[:, 2])
    gaps: IntArray = (first[:, 0] - last[:, 0])[apart]
    return gaps


def _actor_rows(own: EventTable, window: int) -> IntArray:
    """Actor, first moment and target, last moment and target, moves in the slice, and close ones."""
    begin = firsts(own.actor)
    last = np.append(begin[1:], len(own)) - 1
    moved = np.zeros(len(own), dtype=np.int64)
    moved[1:] = (np.diff(own.actor) == 0) & (np.diff(own.target) != 0)
    close = moved.copy()
    close[1:] &= np.diff(own.time) <= window
    return np.stack(
        [
            *(own.actor[begin], own.time[begin], own.target[begin], own.time[last], own.target[last]),
            *(np.add.reduceat(moved, begin), np.add.reduceat(close, begin)),
        ],
        axis=1,
    )


def _moves(rows: IntArray, window: int, opened: Opened) -> Partial:
    """The moves of each actor over all slices, those from one slice to the next among them."""
    rows = rows[row_order(rows[:, 0], rows[:, 1])]
    begin = firsts(rows[:, 0])
    between = np.zeros((len(rows), 2), dtype=np.int64)
    same, gap = rows[1:, 0] == rows[:-1, 0], rows[1:, 1] - rows[:-1, 3]
    between[1:, 0] = same & (rows[1:, 2] != rows[:-1, 4])
    between[1:, 1] = between[1:, 0] & (gap <= window)
    moves, close = (np.add.reduceat(rows[:, 5:7] + between, begin) if len(rows) else rows[:, 5:7]).T.astype(
        np.int64
    )
    rates = (close[moves > 0] / moves[moves > 0]).view(np.int64)  # of numbers from 0 on in the same order
    tallies = tallied("rates", rates, opened)
    tallies |= tallied("in_batch", gap[between[1:, 1] > 0], opened)
    return Partial(
        sums={"actors": len(begin), "moves": int(moves.sum()), "moves_within": int(close.sum())},
        tallies=tallies,
    )


# --- what comes of it -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Surveyed:
    """The measures, and what was counted for the practices.

    >>> Surveyed(measures=None, sums={"stranded/0": 3}).stranded(0)
    3
    """

    measures: Measures
    sums: "dict[str, int]"

    def remarkable(self, practice: int) -> dict[str, int]:
        """What a practice counted, by its number."""
        prefix = f"practice/{practice}/"
        return {name.removeprefix(prefix): n for name, n in self.sums.items() if name.startswith(prefix)}

    def stranded(self, practice: int) -> int:
        """How many events a practice would keep for ever."""
        return self.sums[f"stranded/{practice}"]


def survey(setting: Setting) -> Program[Surveyed]:
    """Measure a history, as `measure` does, and check what can be checked before a replay.

    >>> [asked] = next(survey(Setting(practices=(), window=5)))
    >>> asked.window
    5
    """
    ask = Survey(window=setting.window)
    [partial] = yield [ask]
    sums = dict(partial.sums)
    if not sums.get("events"):
        raise NotPossible("a history without events cannot be measured: give one with events")
    for what, name, names in (
        ("an actor", "actor", setting.suspects),
        ("a target", "target", setting.among),
    ):
        if names is not None:
            check_named(sums[f"named/{name}"], names, what)
    percents = {"in_batch": FINE, "null": FINE, "rates": PERCENTILES}
    ranks = {
        name: sorted({observed_rank(partial.tallies[name].total, percent) for percent in each})
        for name, each in percents.items()
        if partial.tallies[name].total
    }
    values = yield from select(ask, partial, ranks)

    def percentiles(name: str, each: "tuple[int, ...]") -> dict[int, float]:
        if name not in values:
            return {}
        count = partial.tallies[name].total
        picked = np.array([values[name][observed_rank(count, percent)] for percent in each])
        plain = picked.view(np.float64) if name == "rates" else picked / 1e6
        return dict(zip(each, plain.tolist(), strict=True))

    measures = Measures(
        events=sums["events"],
        actors=sums["actors"],
        targets=sums["targets"],
        first=partial.least["time"],
        last=partial.most["time"],
        window=setting.window,
        batching=Batching(
            with_partner=sums["partners"],
            batched_share=sums["partners"] / sums["events"],
            moves=sums["moves"],
            moves_within=sums["moves_within"],
        ),
        in_batch_gaps_s=percentiles("in_batch", PERCENTILES),
        null_gaps_s=percentiles("null", PERCENTILES),
        in_batch_curve_s=percentiles("in_batch", FINE),
        null_curve_s=percentiles("null", FINE),
        actor_rates=percentiles("rates", PERCENTILES),
        different=None,
    )
    surveyed = Surveyed(measures=measures, sums=sums)
    for number, practice in enumerate(setting.practices):
        practice.check(surveyed.remarkable(number))
    return surveyed


def observed_rank(count: int, percent: int) -> int:
    """The rank of a percentile that is one of so many values, as numpy's inverted distribution has it.

    >>> observed_rank(4, 50), observed_rank(4, 51)
    (1, 2)
    """
    place = count * (percent / 100) - 1
    return min(max(ceil(place), 0), count - 1)
