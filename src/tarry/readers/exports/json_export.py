"""Exports that are JSON: object by object, each into the events it tells of."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tarry.readers.events import Event, Stream
from tarry.readers.faults import Faults
from tarry.readers.json_stream import Found, json_values
from tarry.readers.packed import Packed

__all__ = ["Fields", "events_of", "json_stream_of", "read_fields"]

#: One object of JSON.
Fields = dict[str, Any]


def read_fields(value: object, *path: str) -> Any:
    """What an object holds at the end of a path of names, or None.

    >>> (
    ...     read_fields({"user": {"login": "ann"}}, "user", "login"),
    ...     read_fields({"user": None}, "user", "login"),
    ... )
    ('ann', None)
    """
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def json_stream_of(
    path: str | Path,
    kind: str,
    convert: Callable[[Fields], Iterable[Event | str]],
    *,
    notes: tuple[str, ...],
    prefix: str = "",
) -> Stream:
    r"""A file of JSON as a stream of events; of a text in place of an event, see `events_of`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "acts.json"
    ...     _ = path.write_text('[{"who": "ann"}]')
    ...     list(json_stream_of(path, "the export", lambda row: [Event(row["who"], "p", 0)], notes=()))
    [Event(actor='ann', target='p', time=0, track='', is_bot=False)]
    """
    source = Packed(path, kind)
    faults = Faults(source.what)
    values = json_values(source.blocks(), source.what, prefix=prefix)
    return Stream(events_of(values, convert, faults), faults, notes, source.share)


def events_of(
    values: Iterable[Found], convert: Callable[[Fields], Iterable[Event | str]], faults: Faults
) -> Iterator[Event]:
    """The events of objects; a text in place of one is the reason why there is none: a fault.

    >>> faults = Faults("the export")
    >>> list(events_of([Found(1, {}), Found(2, 7)], lambda row: ["the user is missing"], faults))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the export must have rows that can be read, found none among 2: ...
    >>> [str(fault) for fault in faults.first]
    ['line 1: the user is missing', 'line 2: not a JSON object']
    """
    good = 0
    for line, value in values:
        for event in convert(value) if isinstance(value, dict) else ["not a JSON object"]:
            if isinstance(event, Event):
                good += 1
                yield event
            else:
                faults.add(line, event)
        if not good:
            faults.give_up_if_hopeless(good)
    if faults.count and not good:
        faults.refuse(f"none among {faults.count}")
