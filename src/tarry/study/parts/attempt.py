"""One attack on one draw of one practice, and how far around an event it looks."""

from dataclasses import dataclass

from tarry.core.lanes import BoolArray
from tarry.study.attack import Attack, Observed, Truth
from tarry.study.parts.view import View
from tarry.study.table import EventTable

__all__ = ["Attempt", "OfCase"]


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
class OfCase:
    """What looks as far as the pairs of a case at a cutoff.

    >>> case = Attempt(practice=0, draw=0, observer=0, method=None, looks=5, spread=9)
    >>> OfCase(case=case, farthest=60).before
    74
    """

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
