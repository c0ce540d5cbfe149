"""What an ask sees of a part: its events, which of them count, and what a practice shows of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.history import row_order
from tarry.core.lanes import BoolArray, IntArray
from tarry.study.parts.engine import Columns, SlicePart
from tarry.study.parts.tally import firsts
from tarry.study.practice import Observer, Practice, Shown
from tarry.study.table import EventTable, is_named

__all__ = ["PartEvents", "Setting", "View", "firsts", "pair_sum"]

_LITTLE = 8  # one part in so many


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all asks of an audit have in common.

    >>> Setting(practices=()).seed
    0
    """

    practices: Sequence[Practice]
    observers: Sequence[Observer] = ()
    seed: int = 0
    window: int = 0  # microseconds
    suspects: Sequence[str] | None = None
    among: Sequence[str] | None = None


class PartEvents(NamedTuple):
    """Some events of a part, and which of the part's they are.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1], target=[2], time=[3])
    >>> PartEvents(table, np.array([True])).rows.tolist()
    [True]
    """

    table: EventTable
    rows: BoolArray


class View:
    """One part, for all asks of one pass.

    >>> from tarry.study.parts.engine import part_of
    >>> from tarry.study.table import event_table
    >>> part = part_of(event_table(actor=[1, 1], target=[1, 2], time=[0, 5]), 5, 9, before=5, after=0)
    >>> View(part, Setting(practices=())).halo.tolist()
    [True, False]
    """

    def __init__(self, part: SlicePart, setting: Setting, sure: int = 0) -> None:
        self.setting, self.start, self.end = setting, part.start, part.end
        self.table: EventTable = part.table
        self._sure = sure  # microseconds before the slice, for which all is there that releases depend on
        self._kept = part.kept
        self._shown: tuple[tuple[int, int], Shown] | None = None
        self._far: dict[int, int] = {}
        self._about: dict[tuple[int, bool], PartEvents] = {}

    @cached_property
    def own(self) -> BoolArray:
        """Which events are of the slice itself."""
        return (self.table.time >= self.start) & (self.table.time < self.end)

    @cached_property
    def halo(self) -> BoolArray:
        """Which events are earlier than the slice."""
        return self.table.time < self.start

    @cached_property
    def looked_at(self) -> BoolArray:
        """Which events claims are about."""
        which = np.ones(len(self.table), dtype=np.bool_)
        for names, column in (
            (self.setting.suspects, self.table.actor),
            (self.setting.among, self.table.target),
        ):
            if names is not None:
                which &= is_named(column, names)
        return which

    @cached_property
    def mine(self) -> EventTable:
        """The events of the slice itself."""
        return self.table.keep(self.own)

    @cached_property
    def by_target(self) -> IntArray:
        """The order of those by target, then by moment."""
        return row_order(self.mine.target, self.mine.time, self.mine.actor)

    def since(self, before: int) -> BoolArray:
        """Which events lie in the slice, or up to so many microseconds before it; maybe also earlier."""
        return (self.table.time >= self.start - self._as_far(before)) & (self.table.time < self.end)

    def about(self, before: int, *, halo: bool = False) -> "PartEvents":
        """Those of them that claims are about; only the earlier ones with `halo`.

        All who ask are given one table as far as that can be: what is known of it is found once.
        """
        key = self._as_far(before), halo
        if key not in self._about:
            rows = self.since(before) & self.looked_at
            rows = rows & self.halo if halo else rows
            self._about[key] = PartEvents(self.table.keep(rows), rows)
        return self._about[key]

    def _as_far(self, before: int) -> int:
        """How far back all who ask may look together, if that makes little more work for this one."""
        if before < self._sure and before not in self._far:
            time = self.table.time
            near, far = (int((time >= self.start - reach).sum()) for reach in (before, self._sure))
            self._far[before] = self._sure if far <= near + near // _LITTLE else before
        return self._far.get(before, before)

    def shown(self, practice: int, draw: int) -> Shown:
        """What a practice shows, by its number; the last one is kept for asks about the same."""
        if self._shown is None or self._shown[0] != (practice, draw):
            replayed = self._kept_shown(practice, draw) or self.setting.practices[practice].show(
                self.table.history, Seeded(self.setting.seed, draw)
            )
            self._shown = (practice, draw), replayed
        return self._shown[1]

    def columns(self, practice: int, draw: int) -> dict[str, Columns]:
        """What is shown of the slice's own events, for later passes; nothing where that is no work."""
        if not self.setting.practices[practice].draws:
            return {}
        shown = self.shown(practice, draw)
        columns: dict[str, Any] = {"release": shown.release[self.own]}
        if shown.printed is not shown.release:
            columns["printed"] = shown.printed[self.own]
        if shown.batched is not None:
            columns["batched"] = shown.batched[self.own]
        return {f"{practice}/{draw}": columns}

    def _kept_shown(self, practice: int, draw: int) -> Shown | None:
        """The same from an earlier pass, if the engine has kept it."""
        kept = self._kept(f"{practice}/{draw}")
        return None if kept is None else Shown(**{"printed": kept["release"], **kept})


def pair_sum(sizes: Sequence[int]) -> int:
    """The unordered pairs inside groups of these sizes.

    >>> pair_sum([3, 1])
    3
    """
    return sum(size * (size - 1) // 2 for size in sizes)
