"""What readers of other people's exports share: XML elements, JSON objects, and names of programs.

None holds a file in memory. Of XML only what an export needs is allowed: UTF-8, no DOCTYPE (so no entities
that unfold to anything), a nesting of few elements, and texts of a bounded length. Everything else is
refused with its line.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from xml.parsers import expat

from tarry.core.errors import BadInput
from tarry.readers.events import Event, Stream
from tarry.readers.faults import Faults
from tarry.readers.json_stream import Found, json_values
from tarry.readers.moments import NoMoment, moment_us
from tarry.readers.sources import Paths, Pieces

__all__ = [
    "DEEPEST",
    "LONGEST",
    "Fields",
    "XmlFile",
    "XmlStream",
    "event_of",
    "events_found",
    "events_in",
    "events_of",
    "is_bot_name",
    "json_stream_of",
    "read_fields",
    "values_of",
]

DEEPEST = 32  # elements inside one another
LONGEST = 1 << 20  # bytes of one tag with its attributes, and characters of one text
_RULE = "must be well-formed XML in UTF-8"
_FIX = "copy it again, whole and unchanged"

Begin = Callable[[dict[str, str]], None]
Text = Callable[[str], None]
End = Callable[[], None]


class XmlStream:
    """A parser that calls back for the elements in its tables, and for no others.

    `begins` are called with the attributes of an element as it begins, `texts` with the text of one that
    holds nothing else, `ends` when one ends, and `root` with the name of the first element of all. No
    other text is ever put together.

    >>> found = []
    >>> stream = XmlStream("the file", root=print, texts={"name": found.append})
    >>> for _ in stream.read([b"<list><name>a", b"</name><other>b</other></list>"]):
    ...     print(found)
    list
    []
    ['a']
    ['a']
    """

    def __init__(
        self,
        what: str,
        *,
        root: Text,
        begins: Mapping[str, Begin] | None = None,
        texts: Mapping[str, Text] | None = None,
        ends: Mapping[str, End] | None = None,
    ) -> None:
        self.what, self._root = what, root
        self._begins, self._texts, self._ends = begins or {}, texts or {}, ends or {}
        self._depth, self._fed, self._room = 0, 0, 0
        self._parts: list[str] | None = None  # of the text that is being put together
        self._parser = expat.ParserCreate("UTF-8")  # whatever the file declares
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype

    @property
    def line(self) -> int:
        """Where the parser is: inside a call back, the line of the element's tag."""
        return self._parser.CurrentLineNumber

    def read(self, blocks: Iterable[bytes]) -> Iterator[None]:
        """Parse block after block; the one who asks takes in between what the call backs have found."""
        for block in blocks:
            self._parse(block, last=False)
            yield
        self._parse(b"", last=True)
        yield

    def refuse(self, rule: str, found: str, fix: str = "") -> BadInput:
        """What is wrong with the whole file, found in the line where the parser is."""
        return BadInput(f"{self.what} {rule}, and has {found} in line {self.line}", fix)

    def _parse(self, block: bytes, *, last: bool) -> None:
        try:
            self._parser.Parse(block, last)
        except expat.ExpatError as error:
            damage = "an end that comes too early" if last else expat.ErrorString(error.code)
            raise BadInput(f"{self.what} {_RULE}, and has {damage} in line {error.lineno}", _FIX) from None
        self._fed += len(block)
        if self._fed - max(0, self._parser.CurrentByteIndex) > LONGEST:  # it waits for the end of a tag
            raise self.refuse(f"must have tags of at most {LONGEST >> 20} MiB", "a longer one")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            self._root(name)
        if self._depth > DEEPEST:
            raise self.refuse(f"must nest at most {DEEPEST} elements", "more")
        if self._parts is not None:
            raise self.refuse("must have plain texts in its fields", "an element inside one")
        if name in self._begins:
            self._begins[name](attributes)
        if name in self._texts:
            self._parts, self._room = [], LONGEST
            self._parser.CharacterDataHandler = self._text

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._parts is not None:
            text, self._parts = "".join(self._parts), None
            self._parser.CharacterDataHandler = None
            self._texts[name](text)
        elif name in self._ends:
            self._ends[name]()

    def _text(self, text: str) -> None:
        if self._parts is None:
            return
        self._room -= len(text)
        if self._room < 0:
            raise self.refuse(f"must have texts of at most {LONGEST >> 20} Mi characters", "a longer one")
        self._parts.append(text)

    def _doctype(self, *_: object) -> None:
        raise self.refuse("must not have a DOCTYPE", "one", "an export of this kind has none")


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
