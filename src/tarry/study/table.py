"""The event table: who acted on what and when, as numbers in one fixed order."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tarry.core.entropy import stable_code
from tarry.core.errors import BadInput, NotPossible
from tarry.core.history import History, in_rows, row_order
from tarry.core.lanes import BoolArray, IntArray, stable_codes
from tarry.readers.columns import Columns
from tarry.study.busy import busy_note

__all__ = [
    "LEAST_EVENTS",
    "EventTable",
    "bot_column",
    "check_named",
    "event_table",
    "is_bot_row",
    "is_named",
    "says_yes",
    "table_of",
]

#: Fewer have no pair.
LEAST_EVENTS = 2
FARTHEST = 1 << 60
_DENSE = 16  # numbers for each event
_BOT_COLUMNS = ("is_bot", "bot")
_YES = ("true", "t", "yes", "y", "1", "1.0")
_NO = ("false", "f", "no", "n", "0", "0.0", "")


@dataclass(frozen=True, kw_only=True, eq=False)
class EventTable:
    """Events ordered by actor, time and target, whatever the order of the rows they came in.

    Equal numbers mean equal names. The order is the one that counting needs, and a fixed one makes
    every answer the same however a file was sorted.

    >>> table = event_table(actor=[8, 7, 7], target=[1, 1, 2], time=[0, 5, 4])
    >>> table.time.tolist(), table.row.tolist()
    ([4, 5, 0], [2, 1, 0])
    """

    actor: IntArray  # the hidden doer, a stable number for each name
    target: IntArray  # the visible thing acted on, likewise
    time: IntArray  # arrival, microseconds
    row: IntArray  # where each event stood in what was given
    track: IntArray | None = None  # a public column that may set the gap, as numbers
    declared: BoolArray | None = None  # whether "more to come" was said
    notes: tuple[str, ...] = ()  # what was left out, in sentences

    def __len__(self) -> int:
        return len(self.actor)

    @cached_property
    def history(self) -> History:
        """The same events as the core takes them."""
        return History(
            actor=self.actor, target=self.target, time=self.time, track=self.track, declared=self.declared
        )

    @cached_property
    def actor_rank(self) -> IntArray:
        """0, 1, 2, ... for the actors, in the table's order."""
        new = np.ones(len(self), dtype=np.int64)
        new[1:] = self.actor[1:] != self.actor[:-1]
        new[:1] = 0
        return np.cumsum(new)

    @cached_property
    def target_rank(self) -> IntArray:
        """0, 1, 2, ... for the targets, by size of their number."""
        return _ranked(self.target)

    @cached_property
    def target_group(self) -> IntArray:
        """A number from 0 on for each target; no sort is needed where numbers are dense already."""
        if len(self):
            least, most = int(self.target.min()), int(self.target.max())
            if most - least < _DENSE * len(self):
                return self.target - least
        return self.target_rank

    @property
    def actors(self) -> int:
        """How many actors there are."""
        return int(self.actor_rank[-1]) + 1 if len(self) else 0

    @property
    def people(self) -> IntArray:
        """The number of each actor, in the table's order."""
        return self.actor[np.flatnonzero(np.diff(self.actor_rank, prepend=-1))]

    @property
    def targets(self) -> int:
        """How many targets there are."""
        return int(self.target_rank.max()) + 1 if len(self) else 0

    @property
    def candidate_pairs(self) -> int:
        """Unordered pairs of events on different targets."""
        return len(self) * (len(self) - 1) // 2 - _pairs(self.target_rank)

    @cached_property
    def pseudonym_rank(self) -> IntArray:
        """0, 1, 2, ... for the pseudonyms: an actor on one target."""
        return _ranked(self.actor_rank, self.target_rank)

    @cached_property
    def person_pairs(self) -> int:
        """Unordered pairs of one actor's events on different targets."""
        return _pairs(self.actor_rank) - _pairs(self.pseudonym_rank)

    def keep(self, which: BoolArray) -> "EventTable":
        """The events where `which` is true.

        >>> table = event_table(actor=["a", "b"], target=[1, 1], time=[0, 5])
        >>> table.keep(table.time > 0).time.tolist()
        [5]
        """
        if which.all():
            return self
        columns: dict[str, Any] = {column.name: getattr(self, column.name) for column in fields(self)}
        kept: dict[str, Any] = {name: c[which] for name, c in columns.items() if isinstance(c, np.ndarray)}
        return replace(self, **kept)

    def named(
        self, *, actors: Sequence[str] | None = None, targets: Sequence[str] | None = None
    ) -> BoolArray:
        """Which events are by these actors and on these targets; None: by or on any.

        >>> table = event_table(actor=["ann", "bob"], target=[1, 2], time=[0, 5])
        >>> table.named(actors=["ann"]).tolist(), table.named(targets=["2"]).tolist()
        ([True, False], [False, True])
        """
        which = np.ones(len(self), dtype=np.bool_)
        for what, names, column in (("an actor", actors, self.actor), ("a target", targets, self.target)):
            if names is None:
                continue
            there = is_named(column, names)
            check_named(int(there.sum()), names, what)
            which &= there
        return which

    def collapse(self) -> "EventTable":
        """One event for all that share actor, target and time.

        >>> len(event_table(actor=["a", "a"], target=[1, 1], time=[3, 3]).collapse())
        1
        """
        new = np.ones(len(self), dtype=np.bool_)
        columns = (self.actor, self.target, self.time)
        new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        return self.keep(new)

    def without_busy(self, most: int) -> "EventTable":
        """Without the actors who have more than `most` events.

        >>> event_table(actor=["a", "a", "b"], target=[1, 2, 1], time=[0, 5, 9]).without_busy(1).time
        array([9])
        """
        if most < 1:
            raise BadInput(f"the most events of an actor must be at least 1, not {most}")
        return self.keep(np.bincount(self.actor_rank)[self.actor_rank] <= most)

    def between(self, start: int, end: int) -> "EventTable":
        """The events with start <= time < end, in microseconds."""
        return self.keep((self.time >= start) & (self.time < end))


def event_table(
    *, actor: object, target: object, time: object, track: object = None, declared: object = None
) -> EventTable:
    """The table of some columns: names are whole numbers or texts, times microseconds.

    >>> len(event_table(actor=["ann", "ann"], target=["p1", "p2"], time=[0, 60_000_000]))
    2
    """
    parts = {"actor": actor, "target": target, "time": time, "track": track, "declared": declared}
    history = History(**parts)  # type: ignore[arg-type]  # checked there
    columns: dict[str, Any] = {
        "actor": _codes("actor", history.actors),
        "target": _codes("target", history.targets),
        "time": history.times.astype(np.int64, copy=False),
    }
    if history.tracks is not None:
        columns["track"] = _codes("track", history.tracks)
    if history.declared is not None:
        columns["declared"] = history.declarations
    if np.any(np.abs(columns["time"] // 2) > FARTHEST // 2):
        # So that no difference leaves 64 bits.
        far = max(int(columns["time"].max()), int(columns["time"].min()), key=abs)
        raise BadInput(f"times must lie within 2^60 microseconds of 1970, not {far}", "give microseconds")
    # What else is known orders events of one actor, target and moment: the rows must not.
    known = [columns[name] for name in ("declared", "track") if name in columns]
    order = row_order(columns["actor"], columns["time"], columns["target"], *known)
    return EventTable(**{name: column[order] for name, column in columns.items()}, row=order)


def table_of(
    columns: Columns,
    *,
    bots: bool | None = True,
    collapse: bool = False,
    most: int | None = None,
    track: str | None = None,
    declared: str | None = None,
) -> EventTable:
    """The table of what a reader found.

    Without `bots` the events marked as a bot's are left out; None leaves out those that a column marks,
    if there is such a column. `most` leaves out actors with
    more events than that; `collapse` counts events that share actor, target and time once. `track`
    and `declared` name further columns: what may set the gap, and whether more was said to come.

    >>> from tarry.readers.frames import read_frame
    >>> frame = pl.DataFrame({"user": ["a", "a"], "page": ["p", "q"], "time": [1.6e9, 1.6e9 + 1]})
    >>> table_of(read_frame(frame)).time.tolist()
    [1600000000000000, 1600000001000000]
    """
    frame = columns.frame
    table = event_table(
        actor=_column(frame, columns.actor),
        target=_column(frame, columns.target),
        time=columns.arrival,
        track=None if track is None else _column(frame, _there(frame, track)),
        declared=None if declared is None else says_yes(frame[_there(frame, declared)]),
    )
    table = _without_bots(table, columns, bots=bots)
    if most is not None:
        table = _left_out(table, table.without_busy(most), f"actors with more than {most:,} events")
    if collapse:
        fewer = table.collapse()
        once = (
            f"{len(table) - len(fewer):,} events share actor, target and time with another, and count once"
        )
        table = _noted(fewer, once)
    if len(table) < LEAST_EVENTS:
        raise NotPossible(
            f"a history needs at least {LEAST_EVENTS} events to have pairs, and {len(table)} "
            f"{'is' if len(table) == 1 else 'are'} left of {len(frame)} rows: "
            "give a longer history, or filter less"
        )
    note = busy_note(table.actor_rank)
    return _noted(table, note) if note else table


def _without_bots(table: EventTable, columns: Columns, *, bots: bool | None) -> EventTable:
    if bots:
        return table
    if bots is not None:
        return _left_out(table, table.keep(~is_bot_row(columns)[table.row]), "bots")
    name = bot_column(columns)
    if name is None:
        return table
    try:
        marked = says_yes(columns.frame[name])
    except BadInput:  # nobody asked for it
        return _noted(table, f"the column {name} does not say yes or no: bots, if any, are not left out")
    whose = f"bots, whom the column {name} marks,"
    return _left_out(table, table.keep(~marked[table.row]), whose, " (--with-bots keeps them)")


def bot_column(columns: Columns) -> str | None:
    """The column that marks bots, is_bot or bot; None where there is none.

    >>> from tarry.readers.frames import read_frame
    >>> frame = pl.DataFrame({"user": ["a"], "page": ["p"], "time": [1.6e9], "Bot": [True]})
    >>> bot_column(read_frame(frame))
    'Bot'
    """
    return next((name for name in columns.frame.columns if name.lower() in _BOT_COLUMNS), None)


def is_bot_row(columns: Columns) -> BoolArray:
    """Which rows are marked as a bot's: by a column, else by names that contain bot after their beginning.

    >>> from tarry.readers.frames import read_frame
    >>> frame = pl.DataFrame({"user": ["SineBot", "bottle"], "page": ["p", "q"], "time": [1.6e9, 1.6e9]})
    >>> is_bot_row(read_frame(frame)).tolist()
    [True, False]
    """
    frame = columns.frame
    name = bot_column(columns)
    if name is not None:
        return says_yes(frame[name])
    actor = frame[columns.actor]
    if actor.dtype.is_integer():
        raise BadInput(
            "nothing says who is a bot: actors are numbers, and there is no column is_bot or bot",
            "add such a column, or leave busy actors out instead",
        )
    return np.asarray(actor.cast(pl.String).str.contains(r"(?i).bot").to_numpy(), dtype=np.bool_)


def says_yes(column: pl.Series) -> BoolArray:
    """Whether each value says yes; nothing words is no.

    >>> says_yes(pl.Series(["Yes", "n", None])).tolist()
    [True, False, False]
    """
    words = column.cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
    strange = (~words.is_in([*_YES, *_NO])).sum()
    if strange:
        raise BadInput(
            f"the column {column.name} must say true or false, yes or no, 1 or 0, "
            f"and {strange:,} of its values do not"
        )
    return np.asarray(words.is_in(list(_YES)).to_numpy(), dtype=np.bool_)


def _pairs(groups: IntArray) -> int:
    """Unordered pairs inside groups that are numbered 0, 1, 2, ..."""
    sizes = np.bincount(groups, minlength=1)
    return int((sizes * (sizes - 1) // 2).sum())


def _ranked(*columns: IntArray) -> IntArray:
    """0, 1, 2, ... for the distinct rows of some columns, in their order."""
    order = row_order(*columns)
    new = np.zeros(len(order), dtype=np.bool_)
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return in_rows(order, np.cumsum(new))


def _column(frame: pl.DataFrame, name: str) -> object:
    """A column of names: numbers as they are, texts as the stable number of each distinct one.

    Texts that are all numbers, written as one writes numbers, are those numbers: a history draws the
    same from a CSV file as from a Parquet file.
    """
    column = frame[name]
    # Whole numbers of 2^63 and above are texts, here as in a CSV file.
    fits = column.dtype != pl.UInt64 or bool((column < 1 << 63).all())
    if column.dtype.is_integer() and not column.null_count() and fits:
        return column.to_numpy()
    if column.dtype.is_float():  # a column of numbers with some missing, as spreadsheets write it
        whole = column.cast(pl.Int64, strict=False)
        column = whole if (whole == column).all() else column
    texts = column.cast(pl.String).fill_null("")  # only tracks may be missing
    numbers = texts.cast(pl.Int64, strict=False)
    if not numbers.null_count() and (numbers.cast(pl.String) == texts).all():
        return numbers.to_numpy()
    distinct = texts.unique()
    # Not as one array of texts: that would make every name as long as the longest.
    codes = np.array([stable_code(text) for text in distinct], dtype=np.uint64).view(np.int64)
    _check_distinct(name, codes, len(distinct))
    lookup = pl.DataFrame({"name": distinct, "code": codes})
    return (
        texts.to_frame("name").join(lookup, on="name", how="left", maintain_order="left")["code"].to_numpy()
    )


def is_named(codes: IntArray, names: Sequence[str]) -> BoolArray:
    """Which of these numbers are those of the names.

    >>> is_named(np.array([7, 8]), ["8"]).tolist()
    [False, True]
    """
    which: BoolArray = np.isin(codes, [code for name in names for code in _codes_of(name)])
    return which


def check_named(events: int, names: Sequence[str], what: str) -> None:
    """Refuse names that no event has.

    >>> check_named(0, ["8"], "a target")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: none of the 1 names is a target of this history: check their spelling
    """
    if not events:
        raise BadInput(f"none of the {len(names)} names is {what} of this history", "check their spelling")


def _codes_of(name: str) -> list[int]:
    """The numbers that a name may have: itself if it is a number, and that of its text."""
    text = int(np.array([stable_code(name)], dtype=np.uint64).view(np.int64)[0])
    return [text, int(name)] if name.lstrip("-").isdecimal() and abs(int(name)) < 1 << 63 else [text]


def _codes(what: str, names: "np.ndarray[tuple[int], np.dtype[np.generic]]") -> IntArray:
    if names.dtype.kind in "iu":
        return names.astype(np.int64, copy=False)
    codes = stable_codes(names)
    _check_distinct(what, np.unique(codes), len(np.unique(names)))
    return codes


def _check_distinct(what: str, codes: IntArray, names: int) -> None:
    if len(np.unique(codes)) != names:
        raise BadInput(
            f"two names of the column {what} get the same number", "give the names as whole numbers"
        )


def _left_out(before: EventTable, after: EventTable, whose: str, hint: str = "") -> EventTable:
    events = len(before) - len(after)
    return after if not events else _noted(after, f"{events:,} events of {whose} are left out{hint}")


def _noted(table: EventTable, note: str) -> EventTable:
    return replace(table, notes=(*table.notes, note))


def _there(frame: pl.DataFrame, name: str) -> str:
    if name not in frame.columns:
        raise BadInput(f"there is no column {name!r}", f"use {', '.join(frame.columns[:20])}")
    return name
