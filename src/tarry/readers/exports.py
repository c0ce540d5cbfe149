"""What readers of other people's exports share: JSON objects, XML rows, and names that programs act under.

None holds a file in memory.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from tarry.readers.events import Event, Stream
from tarry.readers.faults import Faults
from tarry.readers.json_stream import Found, json_values
from tarry.readers.moments import NoMoment, moment_us
from tarry.readers.sources import Paths, Pieces
from tarry.readers.xml_stream import XmlStream

__all__ = [
    "Fields",
    "XmlFile",
    "event_of",
    "events_found",
    "events_in",
    "events_of",
    "is_bot_name",
    "json_stream_of",
    "read_fields",
    "values_of",
]

#: One object of JSON.
Fields = dict[str, Any]
Row = TypeVar("Row")
# A word of its own: there are people called Abbot and Talbot.
_BOT = re.compile(r"(?:^|[^a-z])bots?(?:$|[^a-z])")
_KNOWN = re.compile(
    r"(?:^|[^a-z])(?:buildbot|copybara|dependabot|github-actions|greenkeeper|imgbot|jenkins|mergify"
    r"|pre-commit-ci|renovate|zuul)(?:$|[^a-z])"
)


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
    paths: Paths,
    kind: str,
    convert: Callable[[Fields], Iterable[Event | str]],
    *,
    notes: Sequence[str],
    prefix: str = "",
) -> Stream:
    r"""Files of JSON as a stream of events; of a text in place of an event, see `events_of`.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "acts.json"
    ...     _ = path.write_text('[{"who": "ann"}]')
    ...     list(json_stream_of(path, "the export", lambda row: [Event(row["who"], "p", 0)], notes=()))
    [Event(actor='ann', target='p', time=0, track='', is_bot=False)]
    """
    pieces = Pieces(paths, kind)
    events = events_of(values_of(pieces, prefix=prefix), convert, pieces.faults)
    return Stream(events, pieces.faults, notes, pieces.share)


def values_of(pieces: Pieces, *, prefix: str = "") -> Iterator[Found]:
    """What files of JSON hold, value by value, one file after the other.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     paths = [Path(folder) / name for name in ("1.json", "2.json")]
    ...     for path in paths:
    ...         _ = path.write_text("[7]")
    ...     list(values_of(Pieces(paths, "the export")))
    [Found(line=1, value=7), Found(line=1, value=7)]
    """
    for source in pieces:
        yield from json_values(source.blocks(), source.what, prefix=prefix)


def events_of(
    values: Iterable[Found], convert: Callable[[Fields], Iterable[Event | str]], faults: Faults
) -> Iterator[Event]:
    """The events of objects; a text in place of one is the reason why there is none: a fault.

    >>> faults = Faults("the export")
    >>> list(events_of([Found(1, {}), Found(2, 7)], lambda row: ["the user is missing"], faults))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the export must have rows that can be read, and has none among 2: ...
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


def events_in(rows: Iterable[Row], read: Callable[[Row], Event | str], faults: Faults) -> Iterator[Event]:
    """The events of rows that come one by one; a text in place of one is a fault.

    >>> faults = Faults("the wiki")
    >>> [event.time for event in events_in([5, -1], lambda row: Event("ann", "p", row), faults)]
    [5, -1]
    """
    good = 0
    for number, row in enumerate(rows, 1):
        event = read(row)
        if isinstance(event, Event):
            good += 1
            yield event
        else:
            faults.add(number, event)
            faults.give_up_if_hopeless(good)


def event_of(
    actor: object,
    target: object,
    time: object,
    track: str = "",
    *,
    is_bot: bool = False,
    bare_is_utc: bool = False,
) -> Event | str:
    """An event of parts as they were written, or why they are none.

    >>> event_of("ann", "p", "2024-05-01T10:00:00Z").time, event_of("ann", None, "")
    (1714557600000000, 'target is missing')
    """
    if not isinstance(actor, str) or not actor:
        return "actor is missing"
    if not isinstance(target, str) or not target:
        return "target is missing"
    try:
        return Event(actor, target, moment_us(time, bare_is_utc=bare_is_utc), track, is_bot)
    except NoMoment as error:
        return str(error)


class XmlFile(Protocol):
    """One file that is being parsed.

    >>> XmlFile.__name__
    'XmlFile'
    """

    xml: XmlStream
    events: list[Event]  # what its call backs have put there since it was last emptied


def events_found(pieces: Pieces, begin: Callable[[str, Faults], XmlFile]) -> Iterator[Event]:
    """Parse file after file, block after block, and take out in between what was found.

    `begin` gets what sentences call a file, and where its faults go.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from types import SimpleNamespace
    >>> def begin(what, faults):
    ...     events = []
    ...     put = {"row": lambda row: events.append(Event(row["who"], "p", 0))}
    ...     return SimpleNamespace(xml=XmlStream(what, root=lambda name: None, begins=put), events=events)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.xml"
    ...     _ = path.write_text('<rows><row who="ann" /></rows>')
    ...     [event.actor for event in events_found(Pieces(path, "the dump"), begin)]
    ['ann']
    """
    good = 0
    for source in pieces:
        file = begin(source.what, pieces.faults)
        for _ in file.xml.read(source.blocks()):
            yield from file.events
            good += len(file.events)
            file.events.clear()
            pieces.faults.give_up_if_hopeless(good)


def is_bot_name(*names: str) -> bool:
    """Whether one of the names of an account is a program's.

    >>> is_bot_name("renovate[bot]", "bot@renovateapp.com"), is_bot_name("Ann Talbot", "ann@nym.example")
    (True, False)
    """
    return any(_BOT.search(name.lower()) or _KNOWN.search(name.lower()) for name in names)
