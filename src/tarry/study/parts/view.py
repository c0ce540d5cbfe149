"""What an ask sees of a part: its events, which of them count, and what a practice shows of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.lanes import BoolArray
from tarry.study.parts.engine import Columns, SlicePart
from tarry.study.parts.tally import firsts
from tarry.study.practice import Observer, Practice, Shown
from tarry.study.table import EventTable, is_named

__all__ = ["Setting", "View", "firsts", "pair_sum"]


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


class View:
    """One part, for all asks of one pass.

    >>> from tarry.study.parts.engine import part_of
    >>> from tarry.study.table import event_table
    >>> part = part_of(event_table(actor=[1, 1], target=[1, 2], time=[0, 5]), 5, 9, before=5, after=0)
    >>> View(part, Setting(practices=())).halo.tolist()
    [True, False]
    """

    def __init__(self, part: SlicePart, setting: Setting) -> None:
        self.setting, self.start, self.end = setting, part.start, part.end
        self.table: EventTable = part.table
        self._kept = part.kept
        self._shown: tuple[tuple[int, int], Shown] | None = None

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

    def since(self, before: int) -> BoolArray:
        """Which events lie in the slice or up to so many microseconds before it."""
        return (self.table.time >= self.start - before) & (self.table.time < self.end)

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
