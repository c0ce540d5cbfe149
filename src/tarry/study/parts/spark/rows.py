"""Rows of a table as events, on Spark's workers: by the reader's own rules, a batch at a time.

What can be said only of all rows (whether each name of a column is a number, what a fault is) is asked
first, by `surveyed`; then all batches are read in the same way.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tarry.core.entropy import stable_code
from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray
from tarry.readers.columns import Columns, faults_of_names, name_column
from tarry.readers.times import REASONS, moments
from tarry.study.table import is_bot_row, says_yes

__all__ = ["FAULTS", "NAMES", "SURVEY", "Roles", "is_text", "name_codes", "names", "numbered", "surveyed"]

#: What may be wrong with a row. Workers count how often each is, since rows of a table have no places.
FAULTS = (
    *(f"{role} {what}" for role in ("actor", "target") for what in ("is missing", "ends in NUL")),
    *(f"time {what}" for what in REASONS if what),
)
#: What `surveyed` and `names` give, in Spark's words.
SURVEY = ", ".join(
    f"{name} long"
    for name in (
        *("rows", "unreadable", "clock", "bots", "strange_marks", "strange_declared"),
        *("actor", "target", "track"),
        *(f"fault{number}" for number in range(len(FAULTS))),
    )
)
NAMES = "role string, code long, name string"
_DAY = 86_400_000_000
Frames = Iterator[pl.DataFrame]


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Which column is what, and how it is read.

    >>> Roles(actor="user", target="page", time="ts").columns
    ('user', 'page', 'ts')
    """

    actor: str
    target: str
    time: str
    unit: str | None = None  # of times that are numbers
    track: str | None = None
    declared: str | None = None
    marks: str | None = None  # the column that marks bots
    without_bots: bool = False
    texts: tuple[str, ...] = ()  # actor, target, track: those whose names are hashed

    @property
    def columns(self) -> tuple[str, ...]:
        """All that are read, each once."""
        named = (self.actor, self.target, self.time, self.track, self.declared, self.marks)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def named(self) -> dict[str, str]:
        """The columns of names, by role."""
        roles = {"actor": self.actor, "target": self.target, "track": self.track}
        return {role: name for role, name in roles.items() if name is not None}


def surveyed(frames: Frames, roles: Roles) -> Frames:
    """Of each batch: what is wrong with it, and how many of its names are no numbers.

    >>> frame = pl.DataFrame({"user": ["7", "ann", None], "page": [1, 2, 3], "ts": [5, 6, 7]})
    >>> roles = Roles(actor="user", target="page", time="ts", unit="s")
    >>> row = next(surveyed(iter([frame]), roles)).to_dicts()[0]
    >>> row["rows"], row["unreadable"], row["actor"], row["target"]
    (3, 1, 1, 0)
    """
    for frame in frames:
        columns, faults = _read(frame, roles)
        marks, declared = (_words(columns, name) for name in (roles.marks, roles.declared))
        yield pl.DataFrame(
            {
                "rows": frame.height,
                "unreadable": frame.height - len(columns),
                "clock": int((columns.arrival % _DAY != 0).sum()),
                "bots": 0 if marks is None else int(marks.sum()),
                "strange_marks": int(marks is None and roles.marks is not None),
                "strange_declared": int(declared is None and roles.declared is not None),
                **{
                    role: int(role in roles.named and is_text(columns.frame[roles.named[role]]))
                    for role in ("actor", "target", "track")
                },
                **{f"fault{number}": int((faults == number).sum()) for number in range(len(FAULTS))},
            }
        )


def numbered(frames: Frames, roles: Roles) -> Frames:
    """The events that count: numbers for names, times in microseconds.

    >>> frame = pl.DataFrame({"user": ["7", "8"], "page": [1, 2], "ts": [5, 6]})
    >>> roles = Roles(actor="user", target="page", time="ts", unit="s")
    >>> next(numbered(iter([frame]), roles)).rows()
    [(7, 1, 5000000), (8, 2, 6000000)]
    """
    for frame in frames:
        columns = _readable(frame, roles)
        numbers = {
            role: name_codes(columns.frame[name], as_text=role in roles.texts)
            for role, name in roles.named.items()
        }
        events = pl.DataFrame(
            {"actor": numbers["actor"], "target": numbers["target"], "time": columns.arrival}
        )
        if roles.track is not None:
            events = events.with_columns(pl.Series("track", numbers["track"]))
        if roles.declared is not None:
            events = events.with_columns(pl.Series("declared", says_yes(columns.frame[roles.declared])))
        yield events.filter(~is_bot_row(columns)) if roles.without_bots else events


def names(frames: Frames, roles: Roles) -> Frames:
    """Each text of a batch once, with the number that it gets.

    >>> frame = pl.DataFrame({"user": ["ann", "ann"], "page": [1, 2], "ts": [5, 6]})
    >>> roles = Roles(actor="user", target="page", time="ts", unit="s", texts=("actor",))
    >>> next(names(iter([frame]), roles)).select("role", "name").rows()
    [('actor', 'ann')]
    """
    for frame in frames:
        readable = _readable(frame, roles).frame
        for role in roles.texts:
            distinct = _as_texts(readable[roles.named[role]]).unique()
            codes = pl.Series("code", name_codes(distinct, as_text=True))
            yield pl.DataFrame([distinct.alias("name"), codes]).select(
                pl.lit(role).alias("role"), "code", "name"
            )


def is_text(column: pl.Series) -> bool:
    """Whether some name of a column is no whole number, written as one writes numbers.

    >>> is_text(pl.Series(["7", "-8"])), is_text(pl.Series(["7", "08"])), is_text(pl.Series([7, None]))
    (False, True, True)
    """
    if column.dtype.is_integer() and not column.null_count():
        return False
    texts = _as_texts(column)
    numbers = texts.cast(pl.Int64, strict=False)
    return bool(numbers.null_count()) or not (numbers.cast(pl.String) == texts).all()


def name_codes(column: pl.Series, *, as_text: bool) -> IntArray:
    """Numbers for names: they themselves, or the stable number of each text.

    >>> name_codes(pl.Series(["7"]), as_text=False).tolist()
    [7]
    """
    if not as_text:
        return column.cast(pl.Int64).to_numpy()
    texts = _as_texts(column)
    distinct = texts.unique()
    codes = np.array([stable_code(text) for text in distinct], dtype=np.uint64).view(np.int64)
    lookup = pl.DataFrame({"name": distinct, "code": codes})
    joined = texts.to_frame("name").join(lookup, on="name", how="left", maintain_order="left")
    return joined["code"].to_numpy()


def _as_texts(column: pl.Series) -> pl.Series:
    return column.cast(pl.String).fill_null("")  # only tracks may be missing


def _readable(frame: pl.DataFrame, roles: Roles) -> Columns:
    """The rows that can be read, as `take_columns` reads them."""
    return _read(frame, roles)[0]


def _read(frame: pl.DataFrame, roles: Roles) -> tuple[Columns, IntArray]:
    """These, and of all rows what is wrong with each: its place in `FAULTS`, or -1."""
    pair = [name_column(role, frame[roles.named[role]]) for role in ("actor", "target")]
    when = moments(frame[roles.time], roles.unit)
    # Of several faults of a row the first one counts.
    of_time = when.fault.astype(np.int64)
    faults = np.where(of_time > 0, len(FAULTS) - len(REASONS) + of_time, -1)
    for role, column in (("target", pair[1]), ("actor", pair[0])):
        for mask, reason in faults_of_names(role, column)[::-1]:
            faults[mask] = FAULTS.index(reason)
    bad = faults >= 0
    columns = Columns(
        frame=frame.with_columns(pair).filter(~bad),
        actor=roles.actor,
        target=roles.target,
        time=roles.time,
        arrival=when.arrival[~bad],
    )
    return columns, faults


def _words(columns: Columns, name: str | None) -> BoolArray | None:
    """What a column of yes and no says; None where some of it says neither."""
    if name is None:
        return None
    try:
        return says_yes(columns.frame[name])
    except BadInput:
        return None
