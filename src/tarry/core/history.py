"""A history of events as columns: who acted on what, and when. What a replay is given."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tarry.core.errors import BadInput, require
from tarry.core.exact import parse_number
from tarry.core.lanes import BoolArray, IntArray, WordArray, event_keys, stable_codes

__all__ = ["History", "in_order", "in_rows", "row_order"]

Names = npt.NDArray[np.generic]
Column = TypeVar("Column", IntArray, BoolArray)
MICROSECOND = Fraction(1, 1_000_000)
_FAR = 1 << 61
_WORD = 64  # bits


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """Events in any order. Names are integers or texts; times are whole numbers of `unit` seconds.

    >>> h = History(actor=["ann", "ann"], target=["p1", "p2"], time=[0, 60_000_000])
    >>> h.ticks(Fraction(1)).tolist()
    [0, 60]
    """

    actor: Names | Sequence[int] | Sequence[str]  # the hidden doer
    target: Names | Sequence[int] | Sequence[str]  # the visible thing acted on
    time: IntArray | Sequence[int]  # arrival
    unit: Fraction = MICROSECOND  # seconds in one unit of `time`
    track: Names | Sequence[int] | Sequence[str] | None = None  # a public column that may set the gap
    declared: npt.NDArray[np.bool_] | Sequence[bool] | None = None  # "more to come" was said
    sequence: IntArray | Sequence[int] | None = None  # order of admission; by time, then a hash, without it
    parent: IntArray | Sequence[int] | None = None  # row this event waits for, -1 for none

    def __post_init__(self) -> None:
        for name in ("actor", "target", "time", "track", "declared", "sequence", "parent"):
            if (column := getattr(self, name)) is not None:
                array = _names(name, column) if name in ("actor", "target", "track") else np.asarray(column)
                if array.ndim != 1 or len(array) != len(self.actor):
                    rule = f"column {name} must have {len(self.actor)} rows as actor has"
                    raise BadInput(f"{rule}, not shape {array.shape}")
                object.__setattr__(self, name, array)
        require(
            not len(self.actors) or _whole(self.times),
            f"column time must hold whole numbers of at most 63 bits, not {self.times.dtype}",
            "convert moments to integers of one unit, such as microseconds",
        )
        require(
            parse_number(self.unit, "the unit of time") > 0,
            f"the unit of time must be above 0 seconds, not {self.unit}",
        )
        if self.parent is not None:
            self._check_parents()
        if self.sequence is not None:
            self._check_sequence()

    def __len__(self) -> int:
        return len(self.actors)

    @property
    def actors(self) -> Names:
        """The column of actors, as an array."""
        return np.asarray(self.actor)

    @property
    def targets(self) -> Names:
        """The column of targets, as an array."""
        return np.asarray(self.target)

    @property
    def times(self) -> IntArray:
        """The column of times, as an array."""
        return np.asarray(self.time)

    @property
    def tracks(self) -> Names | None:
        """The column of tracks, as an array, if there is one."""
        return None if self.track is None else np.asarray(self.track)

    @property
    def declarations(self) -> npt.NDArray[np.bool_]:
        """Whether each event said that more would come."""
        if self.declared is None:
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray(self.declared, dtype=np.bool_)

    @property
    def parents(self) -> IntArray | None:
        """The row each event waits for, -1 for none; None when no event does."""
        return None if self.parent is None else np.asarray(self.parent)

    @cached_property
    def actor_ids(self) -> IntArray:
        """A number for each actor, equal exactly where the actors are: what labels compare."""
        return _ids(self.actors)

    @cached_property
    def target_ids(self) -> IntArray:
        """A number for each target, equal exactly where the targets are."""
        return _ids(self.targets)

    @cached_property
    def keys(self) -> WordArray:
        """The stable hash of each event, by which a seeded study draws."""
        codes = (stable_codes(self.actors), stable_codes(self.targets))
        return event_keys(*codes, self.times.astype(np.int64, copy=False), self.occurrences)

    @cached_property
    def occurrences(self) -> IntArray:
        """0, 1, 2, ... for events that share actor, target and time.

        Where such events differ in what else is known of them, that orders them, and not the row.
        """
        known = [self.declarations] + ([] if self.tracks is None else [_ids(self.tracks)])
        order = row_order(self.actor_ids, self.times, self.target_ids, *known)
        same = np.ones(max(len(self) - 1, 0), dtype=np.bool_)
        for column in (self.times, self.target_ids, self.actor_ids):
            ordered = column[order]
            same &= ordered[1:] == ordered[:-1]
        again = np.flatnonzero(same) + 1  # few, as a rule: only these have a number above 0
        begins = np.diff(again, prepend=-1) != 1
        numbers = np.zeros(len(self), dtype=np.int64)
        numbers[order[again]] = again - again[begins][np.cumsum(begins) - 1] + 1
        return numbers

    @cached_property
    def sequences(self) -> IntArray:
        """The order of admission.

        Without one given: by time, and by hash among equals, so that the order of rows does not
        matter.
        """
        if self.sequence is not None:
            return np.asarray(self.sequence)
        return in_rows(row_order(self.times, self.keys), np.arange(len(self)))

    def ticks(self, tick: Fraction) -> IntArray:
        """The arrival tick of each event: its time, rounded up.

        >>> History(actor=[1], target=[1], time=[1]).ticks(Fraction(1)).tolist()
        [1]
        """
        step = tick / self.unit
        times = self.times.astype(np.int64, copy=False)
        if step.denominator == 1 and step.numerator < _FAR:
            ticks = -(-times // np.int64(step.numerator))
        else:
            exact = [-(-int(t) * step.denominator // step.numerator) for t in times]
            ticks = np.array([max(-_FAR, min(at, _FAR)) for at in exact], dtype=np.int64)
        if len(ticks) and max(-int(ticks.min()), int(ticks.max())) >= _FAR:
            row = int(np.flatnonzero((ticks <= -_FAR) | (ticks >= _FAR))[0])
            raise BadInput(f"row {row} arrives 2^61 ticks or more from tick 0", "choose a longer tick")
        return ticks

    def _check_sequence(self) -> None:
        order = np.argsort(np.asarray(self.sequence))
        early = np.flatnonzero(np.diff(self.times[order]) < 0)
        if early.size:
            raise BadInput(
                f"row {order[early[0] + 1]} comes after a later event in column sequence",
                "let column sequence follow column time",
            )

    def _check_parents(self) -> None:
        parents = np.asarray(self.parent)
        require(
            not len(self) or np.issubdtype(parents.dtype, np.integer),
            f"column parent must hold row numbers, not {parents.dtype}",
        )
        parents = parents.astype(np.int64)
        object.__setattr__(self, "parent", parents)
        if (outside := parents[(parents < -1) | (parents >= len(self))]).size:
            raise BadInput(f"column parent must name rows 0..{len(self) - 1} or -1, not {outside[0]}")
        if (early := np.flatnonzero((parents >= 0) & (self.times[parents] > self.times))).size:
            raise BadInput(f"row {early[0]} arrives before its parent", "let a parent arrive no later")
        if (circular := _circular(parents)).size:
            raise BadInput(f"the parents of row {circular[0]} form a circle", "let every chain end in -1")


def row_order(*columns: Names) -> IntArray:
    """The rows by the first column, equal ones by the second, and so on; ties keep their places.

    >>> row_order(np.array([2, 1, 1]), np.array([0, 9, 8])).tolist()
    [2, 1, 0]
    """
    if in_order(*columns):  # a look is far cheaper than a sort
        return np.arange(len(columns[0]))
    if any(column.dtype.kind not in "biu" for column in columns):
        return np.lexsort(columns[::-1])
    return _packed_order(columns)


def _packed_order(columns: Sequence[Names]) -> IntArray:
    """As lexsort, several times as fast: it sorts plain words, of some bits of the columns and the place.

    The bits are taken from the last column on. A word holds as many as the places leave free.
    """
    rows = len(columns[0])
    places = np.arange(rows, dtype=np.uint64)
    kept = rows.bit_length()  # bits of a place
    order, word, used = None, np.zeros(rows, dtype=np.uint64), kept
    for column in columns[::-1]:
        plain = column.astype(np.int64, copy=False).view(np.uint64)
        plain = plain - np.uint64(int(column.min()) % (1 << 64))  # from 0 on, in the same order
        width, taken = int(plain.max()).bit_length(), 0
        while taken < width:
            if used == _WORD:  # it is full: order by what it has, and begin the next
                order, word, used = _by_word(word, places, kept, order), np.zeros_like(word), kept
            bits = min(width - taken, _WORD - used)
            some = (plain >> np.uint64(taken)) & np.uint64((1 << bits) - 1)
            word |= (some if order is None else some[order]) << np.uint64(used)
            used, taken = used + bits, taken + bits
    return _by_word(word, places, kept, order)


def _by_word(word: WordArray, places: WordArray, kept: int, order: IntArray | None) -> IntArray:
    """The order by these words, of rows that are in some order already."""
    word |= places
    word.sort()
    place = (word & np.uint64((1 << kept) - 1)).view(np.int64)
    return place if order is None else order[place]


def in_rows(order: IntArray, values: Column) -> Column:
    """Values that were worked out in this order of rows, each back in its own row.

    >>> in_rows(np.array([2, 0, 1]), np.array([30, 10, 20])).tolist()
    [10, 20, 30]
    """
    back = np.empty_like(values)
    back[order] = values
    return back


def in_order(*columns: Names) -> bool:
    """Whether rows are in that order already.

    >>> in_order(np.array([1, 1, 2]), np.array([3, 3, 0])), in_order(np.array([2, 1]))
    (True, False)
    """
    last = columns[-1]
    sound: BoolArray = last[1:] >= last[:-1]  # type: ignore[operator]  # numbers, all of them
    for column in columns[-2::-1]:
        sound &= column[1:] == column[:-1]
        sound |= column[1:] > column[:-1]  # type: ignore[operator]
    return bool(sound.all())


def _names(what: str, column: Any) -> npt.NDArray[Any]:
    """A column of names: all whole numbers, or all texts. Anything else could make two names one."""
    array = np.asarray(column)
    if array.dtype.kind == "U" and not isinstance(column, np.ndarray):
        require(
            all(isinstance(name, str) for name in column),
            f"column {what} must hold numbers or texts, not both",
        )
        if ends := [row for row, name in enumerate(column) if name.endswith("\0")]:
            raise BadInput(
                f"the text in row {ends[0]} of column {what} ends in NUL", "remove that character"
            )
    if array.dtype.kind == "O" and all(isinstance(name, str) for name in array):
        array = array.astype(str)
    require(
        not len(array) or array.dtype.kind in "iuU",
        f"column {what} must hold whole numbers of at most 64 bits, or texts, not {array.dtype}",
    )
    return array


def _ids(names: Names) -> IntArray:
    if names.dtype.kind in "iu":
        return names.astype(np.int64, copy=False)
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _whole(times: npt.NDArray[Any]) -> bool:
    return times.dtype.kind == "i" or (times.dtype.kind == "u" and int(times.max()) < 1 << 63)


def _circular(parents: IntArray) -> IntArray:
    """The rows whose chain of parents never ends: jump twice as far each time, and see who still jumps."""
    jump = parents
    for _ in range(len(parents).bit_length()):
        jump = np.where(jump >= 0, jump[jump], -1)
    return np.flatnonzero(jump >= 0)
