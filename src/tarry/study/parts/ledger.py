"""How many pairs there are: what claims are counted against, and what they are measured by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarry.core.history import row_order
from tarry.core.lanes import BoolArray, IntArray
from tarry.study.attack import Totals, Truth
from tarry.study.exact_sums import total
from tarry.study.parts.asking import Program
from tarry.study.parts.engine import Looked
from tarry.study.parts.partial import Partial
from tarry.study.parts.view import View, firsts, pair_sum
from tarry.study.person import PairShare, Yardsticks, candidates_within, pairs_of_day, persons_within
from tarry.study.table import EventTable

__all__ = ["Ledger", "LedgerSums", "ledger", "slice_counts"]

_DAY = 86_400_000_000
Counting = Callable[[EventTable, BoolArray], Mapping[str, int]]


def slice_counts(view: View, before: int, count: Counting) -> dict[str, int]:
    """F(slice + halo) - F(halo): pairs whose later event is of the slice, of those that claims are about.

    `count` is given events, and which events of the part they are.

    >>> from tarry.study.parts.engine import part_of
    >>> from tarry.study.parts.view import Setting
    >>> from tarry.study.table import event_table
    >>> part = part_of(
    ...     event_table(actor=[1, 1, 1], target=[1, 2, 3], time=[0, 5, 9]), 5, 10, before=9, after=0
    ... )
    >>> view = View(part, Setting(practices=()))
    >>> slice_counts(view, 9, lambda table, rows: {"pairs": pair_sum([len(table)])})
    {'pairs': 3}
    """
    both, halo = count(*view.about(before)), view.about(before, halo=True)
    if not len(halo.table):
        return dict(both)
    earlier = count(*halo)
    return {name: both[name] - earlier[name] for name in both}


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Counts of pairs by arrival, and of the events of each actor, target and pseudonym.

    >>> Ledger(window=5, reaches=(9,)).after
    0
    """

    window: int  # microseconds
    reaches: Sequence[int]  # microseconds: of yardsticks
    after: int = 0

    @property
    def before(self) -> int:
        """A day, the window and every reach lie inside."""
        return max(_DAY, self.window, *self.reaches)

    def look(self, view: View) -> Looked:
        """Count one part."""
        own = view.table.keep(view.own & view.looked_at)
        return Looked(
            partial=Partial(
                # One halo for all: what is known of a table, such as whose its events are, is found once.
                sums={"events": len(own), **slice_counts(view, self.before, self._pairs)}
            ),
            rows={
                "actor": _counted(own.actor),
                "target": _counted(np.sort(own.target)),
                "pseudonym": _counted(*_by_pseudonym(own)),
            },
        )

    def reduce(self, family: str, rows: IntArray) -> Partial:
        """The pairs inside the groups of a family, and how many groups there are."""
        keys = rows[row_order(*rows[:, :-1].T)]
        begin = firsts(*keys[:, :-1].T)
        sizes = np.add.reduceat(keys[:, -1], begin) if len(keys) else keys[:, -1]
        return Partial(sums={family: len(begin), f"{family}_pairs": total(sizes * (sizes - 1) // 2)})

    def _pairs(self, table: EventTable, _: BoolArray) -> dict[str, int]:
        limits = [self.window, *self.reaches]
        pairs = candidates_within(table, table.time, limits)
        persons = persons_within(table, table.time, limits)
        of_day = pairs_of_day(table)
        return {
            "linked": Truth(table=table, window=self.window).linked_pairs,
            "day_persons": of_day.persons,
            "day_pairs": of_day.pairs,
            **{f"pairs@{limit}": count for limit, count in zip(limits, pairs, strict=True)},
            **{f"persons@{limit}": count for limit, count in zip(limits, persons, strict=True)},
        }


def _counted(*columns: IntArray) -> IntArray:
    """Each run of equal rows, and how long it is."""
    begin = firsts(*columns)
    sizes = np.diff(np.append(begin, len(columns[0])))
    return np.stack([*(column[begin] for column in columns), sizes], axis=1).astype(np.int64)


def _by_pseudonym(own: EventTable) -> tuple[IntArray, IntArray]:
    order = row_order(own.actor, own.target)
    return own.actor[order], own.target[order]


@dataclass(frozen=True, kw_only=True)
class LedgerSums:
    """How many events, people and pairs there are that claims may be about.

    >>> LedgerSums(sums={"linked": 1, "events": 3, "target_pairs": 0}).linked
    1
    """

    sums: Mapping[str, int]

    @property
    def linked(self) -> int:
        """Linked pairs."""
        return self.sums["linked"]

    @property
    def events(self) -> int:
        """How many events there are."""
        return self.sums["events"]

    @property
    def people(self) -> int:
        """How many actors there are."""
        return self.sums.get("actor", 0)

    @property
    def totals(self) -> Totals:
        """What claims are counted against."""
        counts = self.sums
        return Totals(
            linked=counts["linked"],
            candidates=pair_sum([counts["events"]]) - counts.get("target_pairs", 0),
            persons=counts.get("actor_pairs", 0) - counts.get("pseudonym_pairs", 0),
        )

    def yardsticks(self, window: int, reach: int) -> Yardsticks:
        """What claims are measured by."""
        counts, totals = self.sums, self.totals
        return Yardsticks(
            window=window,
            reach=reach,
            reference=PairShare(
                persons=counts[f"persons@{reach}"] - counts[f"persons@{window}"],
                pairs=counts[f"pairs@{reach}"] - counts[f"pairs@{window}"],
            ),
            same_day=PairShare(persons=counts["day_persons"], pairs=counts["day_pairs"]),
            base=PairShare(persons=totals.persons, pairs=totals.candidates),
        )


def ledger(window: int, reaches: Sequence[int]) -> Program[Any]:
    """Count all pairs.

    >>> [asked] = next(ledger(5, [60]))
    >>> asked.reaches
    (5, 60)
    """
    [partial] = yield [Ledger(window=window, reaches=tuple(sorted({window, *reaches})))]
    return LedgerSums(sums=partial.sums)
