"""Two names for each person: how their targets are split, who is a candidate, and who is looked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.lanes import BoolArray, IntArray, SeededLanes, event_keys
from tarry.study.table import EventTable

__all__ = ["LEAST_ACTS", "MOST_QUERIES", "WEEK", "Pseudonyms", "Split", "SplitKind"]

WEEK = 7 * 86_400_000_000
#: A name with fewer acts is no candidate: nobody could say much about it.
LEAST_ACTS = 10
MOST_QUERIES = 1_000

SplitKind = Literal["random", "time"]


@dataclass(frozen=True)
class Split:
    """How the targets of each person are dealt out to two names.

    `random` throws a coin for each target: both names are active at all times, which is the worst for the
    person. `time` gives the targets that were touched first to one name, the others to the second.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a"] * 3, target=[1, 2, 1], time=[0, 5, 9])
    >>> Split("time").sides(table, seed=0).tolist()
    [0, 1, 0]
    """

    kind: SplitKind
    number: int = 0  # tells repeated splits apart

    def sides(self, table: EventTable, seed: int) -> IntArray:
        """0 or 1 for each row: one value for all acts of a person on one target."""
        if self.kind == "time":
            return _earlier_and_later(table)
        keys = event_keys(table.actor, table.target, np.full(len(table), -1, dtype=np.int64))
        return SeededLanes(Seeded(seed, self.number), keys).randbelow(2)


def _earlier_and_later(table: EventTable) -> IntArray:
    """Targets by their first act; the second name begins where half of the person's acts are done."""
    pairs = np.stack([table.actor_rank, table.target_rank], axis=1)
    _, first, of_row, acts = np.unique(
        pairs, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    actor = table.actor_rank[first]
    order = np.lexsort((first, actor))  # rows are sorted by actor and time: so are first rows
    done = np.cumsum(acts[order]) - acts[order]
    total = np.bincount(table.actor_rank)
    done -= (np.cumsum(total) - total)[actor[order]]  # by this person alone
    later = np.empty(len(order), dtype=np.int64)
    later[order] = 2 * done + acts[order] >= total[actor[order]]
    return later[of_row.reshape(-1)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Pseudonyms:
    """The names of a split, as numbers: a person's two differ in the last bit.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a"] * 4, target=[1, 2, 1, 2], time=[0, 5, 900, 905])
    >>> names = Pseudonyms(table=table, sides=table.target - 1, least=2)
    >>> names.candidates.tolist(), names.queries.tolist(), names.shared_sessions(5).tolist()
    ([0, 1], [0, 1], [2, 2])
    """

    table: EventTable
    sides: IntArray
    least: int = LEAST_ACTS
    most: int = MOST_QUERIES
    seed: int = 0  # of the choice of queries

    @cached_property
    def names(self) -> IntArray:
        """The name of each row."""
        return 2 * self.table.actor_rank + self.sides

    @cached_property
    def sizes(self) -> IntArray:
        """How many acts each name has."""
        return np.bincount(self.names, minlength=2 * self.table.actors)

    @cached_property
    def candidates(self) -> IntArray:
        """The names with enough acts."""
        return np.flatnonzero(self.sizes >= self.least)

    @cached_property
    def places(self) -> IntArray:
        """Where each name stands among the candidates, -1 if it is none."""
        places = np.full(2 * self.table.actors, -1, dtype=np.int64)
        places[self.candidates] = np.arange(len(self.candidates))
        return places

    @cached_property
    def queries(self) -> IntArray:
        """The names whose other name is looked for: candidates both.

        If there are too many, one is drawn from each of as many groups of like activity.
        """
        found: IntArray = self.candidates[self.places[self.candidates ^ 1] >= 0]
        if len(found) <= self.most:
            return found
        rng = np.random.default_rng([self.seed, 0x77617463])
        shuffled = rng.permutation(found)  # equals in activity in no order
        ordered = shuffled[np.argsort(self.sizes[shuffled], kind="stable")]
        edges = np.linspace(0, len(ordered), self.most + 1).astype(np.int64)
        return np.sort(ordered[rng.integers(edges[:-1], edges[1:])])

    def shared_sessions(self, window: int) -> IntArray:
        """For each query, in how many sessions both names act; a session has no pause above the window."""
        return self._shared(self._sessions(window))

    def company(self, window: int, reach: int) -> IntArray:
        """For each query, how many other people act within reach of every session that both names share.

        -1 where they share none.

        >>> from tarry.study.table import event_table
        >>> actors, targets = ["a"] * 4 + ["b"] * 2, [1, 2, 1, 2, 1, 1]
        >>> table = event_table(actor=actors, target=targets, time=[0, 5, 900, 905, 20, 930])
        >>> names = Pseudonyms(table=table, sides=table.target - 1, least=2)
        >>> names.company(5, 15).tolist(), names.company(5, 30).tolist()
        ([0, 0], [1, 1])
        """
        table, sessions = self.table, self._sessions(window)
        shared = np.flatnonzero(self._mixed(sessions))
        firsts = np.searchsorted(sessions, shared)
        owners = table.actor_rank[firsts]
        lasts = np.searchsorted(sessions, shared, side="right") - 1
        order = np.argsort(table.time, kind="stable")
        times, actors = table.time[order], table.actor_rank[order]
        begins = np.searchsorted(times, table.time[firsts] - reach)
        ends = np.searchsorted(times, table.time[lasts] + reach, side="right")
        found = np.full(table.actors, -1, dtype=np.int64)
        for person in np.unique(self.queries // 2).tolist():
            mine = slice(*np.searchsorted(owners, [person, person + 1]))
            near = sorted(zip(begins[mine], ends[mine], strict=True), key=lambda each: each[1] - each[0])
            if not near:
                continue
            others = np.unique(actors[slice(*near[0])])
            others = others[others != person]
            for each in near[1:]:
                if not len(others):
                    break
                others = others[np.isin(others, actors[slice(*each)])]
            found[person] = len(others)
        return found[self.queries // 2]

    def shared_weeks(self) -> IntArray:
        """For each query, in how many weeks both names act."""
        week = self.table.time // WEEK
        new = np.ones(len(week), dtype=np.bool_)
        new[1:] = (np.diff(self.table.actor) != 0) | (np.diff(week) != 0)
        return self._shared(np.cumsum(new) - 1)

    def _sessions(self, window: int) -> IntArray:
        """The session of each row."""
        new = np.ones(len(self.table), dtype=np.bool_)
        new[1:] = (np.diff(self.table.actor) != 0) | (np.diff(self.table.time) > window)
        return np.cumsum(new) - 1

    def _mixed(self, groups: IntArray) -> BoolArray:
        """Which groups of rows hold both names of a person."""
        second = np.bincount(groups, weights=self.sides)
        mixed: BoolArray = (second > 0) & (second < np.bincount(groups))
        return mixed

    def _shared(self, groups: IntArray) -> IntArray:
        """For each query, how many groups of its person's rows hold both names."""
        mixed = self._mixed(groups)
        person = np.zeros(len(mixed), dtype=np.int64)
        person[groups] = self.table.actor_rank
        return np.bincount(person[mixed], minlength=self.table.actors)[self.queries // 2]
