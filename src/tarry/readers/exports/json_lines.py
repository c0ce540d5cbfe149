"""Any JSON whose objects tell who acted on what and when: a mapping says where."""

from collections.abc import Callable
from itertools import chain
from typing import Any

from tarry.core.errors import BadInput
from tarry.readers.events import Event, Stream
from tarry.readers.exports.json_export import Fields, events_of, values_of
from tarry.readers.exports.mapping import Missing, as_name, picker
from tarry.readers.faults import clip
from tarry.readers.moments import NoMoment, counted_us, is_count, moment_us, unit_by_size
from tarry.readers.sources import Paths, Pieces

__all__ = ["read_json_lines"]

_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds", "iso": ""}
_FIRST_DAY, _LAST_DAY = 19000101, 22001231  # numbers that are more likely dates than counts of seconds


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
    if time_unit is not None and time_unit not in _UNITS:
        raise BadInput("--time-unit", f"must be one of {', '.join(_UNITS)}", found=clip(time_unit))
    ways = {"actor": actor, "target": target, **({} if track is None else {"track": track})}
    pickers = [(role, picker(role, way)) for role, way in ways.items()]
    is_tracked = track is not None
    clock = _Clock(picker("time", time), time_unit, utc=utc)

    def convert(found: Fields) -> tuple[Event | str]:
        try:
            names = [as_name(role, pick(found)) for role, pick in pickers]
            return (Event(names[0], names[1], clock.read(found), names[2] if is_tracked else ""),)
        except (Missing, NoMoment) as error:
            return (str(error),)

    pieces = Pieces(path, "the export")
    values = values_of(pieces)
    first = [value for _, value in zip(range(1), values, strict=False)]
    for found in first:
        clock.look_at(found.value)
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
            self.notes = (f"times read as {_UNITS[self._unit]}, by the size of the first", *self.notes)

    def read(self, found: Fields) -> int:
        """The time of an object."""
        value = self._pick(found)
        if self._unit == "iso" or not is_count(value):
            return moment_us(value, bare_is_utc=self._utc)
        if self._is_guess and _is_day(value):
            raise NoMoment(f"time is a day without a time of day: {clip(value)}")
        self._unit = self._unit or unit_by_size(value)
        if self._is_guess and unit_by_size(value) != self._unit:
            raise NoMoment(f"time is of another unit than the first number ({_UNITS[self._unit]})")
        return counted_us(value, self._unit)


def _is_day(number: Any) -> bool:
    return _FIRST_DAY <= (float(number) if isinstance(number, str) else number) <= _LAST_DAY
