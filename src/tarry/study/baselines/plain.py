"""The two ends of every comparison: no delay at all, and all the delay there is."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.study.baselines import Habit, arrivals
from tarry.study.practice import MICROSECONDS, Practice, Shown

__all__ = ["END", "NOTHING", "AllAtEnd", "Nothing"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = -62_135_596_800 * MICROSECONDS  # the year 1 begins: dates know nothing earlier
_LAST = 253_402_300_800 * MICROSECONDS - 1  # the year 9999 ends


@dataclass(frozen=True, kw_only=True)
class Nothing(Practice):
    """Every event is visible at once, with its true time.

    >>> Nothing().show(History(actor=[1], target=[2], time=[5]), Seeded(0)).printed.tolist()
    [5]
    """

    draws: ClassVar[bool] = False  # the same every time

    @classmethod
    def read(cls, text: str) -> "Nothing":
        """The practice itself: there is nothing to choose."""
        if text:
            raise BadInput(f"the habit nothing takes no parameter, and 'nothing:{text}' has one")
        return cls()

    @property
    def name(self) -> str:
        """The text that makes it."""
        return "nothing"

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        at_once = arrivals(history)
        return Shown(release=at_once, printed=at_once)


@dataclass(frozen=True, kw_only=True)
class AllAtEnd(Practice):
    """All events become visible at one moment: the last arrival, or one given.

    What arrives after a given moment is visible at once.

    >>> AllAtEnd().show(History(actor=[1, 1], target=[2, 3], time=[5, 9]), Seeded(0)).release.tolist()
    [9, 9]
    """

    draws: ClassVar[bool] = False  # the same every time
    moment: int | None = None  # microseconds; the last arrival where none is given

    def __post_init__(self) -> None:
        if self.moment is not None and not _FIRST <= self.moment <= _LAST:
            raise BadInput(f"the end must lie in the years 1 to 9999, not {self.moment} us after 1970")

    @classmethod
    def read(cls, text: str) -> "AllAtEnd":
        """The practice of a moment in ISO 8601; UTC where it names no zone, the last arrival for ""."""
        if not text:
            return cls()
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise BadInput(f"the end must be a date or a moment in ISO 8601, not {text!r}") from None
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return cls(moment=(aware - _EPOCH) // _MICROSECOND)

    @property
    def name(self) -> str:
        """The text that makes it."""
        if self.moment is None:
            return "end"
        return f"end:{(_EPOCH + self.moment * _MICROSECOND).isoformat().removesuffix('+00:00')}Z"

    def show(self, history: History, draw: Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        times = arrivals(history)
        end = times.max(initial=np.iinfo(np.int64).min) if self.moment is None else self.moment
        release = np.maximum(times, end)
        return Shown(release=release, printed=release)


NOTHING = Habit(
    name="nothing",
    what="visible at once, with the true time",
    make=Nothing.read,
    examples=("nothing",),
)
END = Habit(
    name="end",
    what="all at one moment: the last arrival, or one given",
    make=AllAtEnd.read,
    examples=("end", "end:2026-03-01", "end:2026-03-01T12:00:00+01:00"),
)
