"""Any JSON whose objects tell who acted on what and when: a mapping says where."""

import re
from collections.abc import Callable
from itertools import chain, islice
from typing import Any

from tarry.core.errors import BadInput
from tarry.readers.events import Event, Stream
from tarry.readers.exports import Fields, events_of, read_fields, values_of
from tarry.readers.faults import NO_NAMES, clip
from tarry.readers.moments import (
    FIRST_DATE,
    LAST_DATE,
    UNITS,
    NoMoment,
    counted_us,
    is_count,
    moment_us,
    unit_by_size,
)
from tarry.readers.sources import Paths, Pieces

__all__ = ["Missing", "as_name", "picker", "read_json_lines"]

_BRACES = re.compile(r"\{([^{}]*)\}")
_EXACT = 2.0**53  # whole numbers below it are exact as floats


def read_json_lines(
    path: Paths,
    *,
    actor: str,
    target: str,
    time: str,
    track: str | None = None,
    time_unit: str | None = None,
    utc: bool = False,
) -> Stream:
    r"""Read objects on lines, in an array or one after the other, by a mapping.

    Each part is a way into the object (`user.login`, `labels.0.name`) or a template
    (`{repo.name}#{number}`). A time is an ISO 8601 text with its zone (`utc` says that one without is UTC)
    or a number. The unit of numbers is `time_unit` (s, ms, us, ns, or iso: there are none), else it is
    told by the size of the first.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "acts.jsonl"
    ...     _ = path.write_text('{"by": {"id": 7}, "page": "p", "ts": 1714557600}\n')
    ...     stream = read_json_lines(path, actor="by.id", target="page", time="ts")
    ...     stream.notes, list(stream)[0].time
    (('times read as seconds, by the size of the first',), 1714557600000000)
    """
    if time_unit is not None and time_unit not in {*UNITS, "iso"}:
        raise BadInput(f"unknown --time-unit {clip(time_unit)!r}", f"use {', '.join(UNITS)}, iso")
    ways = {"actor": actor, "target": target, "track": track}
    pickers = [(role, picker(role, way)) for role, way in ways.items() if way is not None]
    clock = _Clock(picker("time", time), time_unit, utc=utc)

    def convert(row: Fields) -> tuple[Event | str]:
        try:
            names = [as_name(role, pick(row)) for role, pick in pickers]
            return (Event(names[0], names[1], clock.read(row), names[2] if track is not None else ""),)
        except (Missing, NoMoment) as error:
            return (str(error),)

    pieces = Pieces(path, "the export")
    values = values_of(pieces)
    first = list(islice(values, 1))
    for row in first:
        clock.look_at(row.value)
    events = events_of(chain(first, values), convert, pieces.faults)
    return Stream(events, pieces.faults, clock.notes, pieces.share)


class _Clock:
    """Reads times, the numbers among them all in one unit."""

    def __init__(self, pick: Callable[[Fields], Any], unit: str | None, *, utc: bool) -> None:
        self._pick, self._unit, self._utc = pick, unit, utc
        self._is_guess = unit is None
        self.notes: tuple[str, ...] = ("times without a zone are read as UTC",) if utc else ()

    def look_at(self, first: object) -> None:
        """Take the unit from the first object, if it is to be guessed, and say so."""
        try:
            value = self._pick(first) if isinstance(first, dict) else None
        except Missing:
            value = None
        if self._is_guess and is_count(value) and not _is_day(value):
            self._unit = unit_by_size(value)
            self.notes = (f"times read as {UNITS[self._unit]}, by the size of the first", *self.notes)

    def read(self, row: Fields) -> int:
        """The time of an object."""
        value = self._pick(row)
        if self._unit == "iso" or not is_count(value):
            return moment_us(value, bare_is_utc=self._utc)
        if self._is_guess and _is_day(value):
            raise NoMoment(f"time is a day without a time of day: {clip(value)}")
        self._unit = self._unit or unit_by_size(value)
        if self._is_guess and unit_by_size(value) != self._unit:
            raise NoMoment(f"time is of another unit than the first number ({UNITS[self._unit]})")
        return counted_us(value, self._unit)


def _is_day(number: Any) -> bool:
    return FIRST_DATE <= (float(number) if isinstance(number, str) else number) <= LAST_DATE


class Missing(ValueError):
    """A part that is not there or is no name; the message says which, and shows nobody's data.

    >>> raise Missing("actor is missing: nothing at user.login")
    Traceback (most recent call last):
    tarry.places.exports.json_lines.Missing: actor is missing: nothing at user.login
    """


def picker(role: str, mapping: str) -> Callable[[Fields], Any]:
    """A function that picks a part of an object: `user.login`, `labels.0.name` or `{repo.name}#{number}`.

    A way alone gives what lies there, whatever it is; a template gives a text. A name that is a way itself
    goes first: some exports are flat and have such names.

    >>> picker("target", "{repo.name}#{number}")({"repo": {"name": "o/r"}, "number": 12})
    'o/r#12'
    >>> picker("track", "labels.0.name")({"labels": [{"name": "bug"}]})
    'bug'
    >>> picker("actor", "user.login")({"user": {}})
    Traceback (most recent call last):
    tarry.places.exports.json_lines.Missing: actor is missing: nothing at user.login
    """
    is_template = "{" in mapping or "}" in mapping
    parts = _BRACES.split(mapping) if is_template else ["", mapping, ""]
    texts, ways = parts[::2], parts[1::2]  # what lies between braces is a way
    left = "".join(texts)
    if not ways or not all(all(way.split(".")) for way in ways) or "{" in left or "}" in left:
        raise BadInput(
            f"--{role} must be a way such as user.login, or a template such as {{repo.name}}#{{number}}, "
            f"not {clip(mapping)!r}"
        )
    pickers = [_way_picker(role, way) for way in ways]
    if not is_template:
        return pickers[0]
    form = "%s".join(text.replace("%", "%%") for text in texts)

    def pick(row: Fields) -> str:
        return form % tuple([as_name(role, pick_part(row)) for pick_part in pickers])

    return pick


def _way_picker(role: str, way: str) -> Callable[[Fields], Any]:
    names = way.split(".")

    def pick(row: Fields) -> Any:
        part = row[way] if way in row else read_fields(row, *names)
        if part is None or part == "":
            raise Missing(f"{role} is missing: nothing at {clip(way)}")
        return part

    return pick


def as_name(role: str, part: Any) -> str:
    """A text or a number as the name of something.

    >>> as_name("actor", 7), as_name("actor", 7.0), as_name("actor", "ann")
    ('7', '7', 'ann')
    >>> as_name("actor", ["ann"])
    Traceback (most recent call last):
    tarry.places.exports.json_lines.Missing: actor is a list
    """
    if isinstance(part, str):
        return part
    if type(part) in NO_NAMES:
        raise Missing(f"{role} is {NO_NAMES[type(part)]}")
    if isinstance(part, float) and part.is_integer() and abs(part) < _EXACT:
        part = int(part)
    return str(part)
