"""What readers of other people's exports share: XML elements, JSON objects, and names of programs.

None holds a file in memory. Of XML only what an export needs is allowed: UTF-8, no DOCTYPE (so no entities
that unfold to anything), a nesting of few elements, and texts of a bounded length. Everything else is
refused with its line.
"""

import re
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
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
    "Numbered",
    "XmlStream",
    "as_object",
    "event_of",
    "events_in",
    "events_of",
    "is_bot_name",
    "json_stream_of",
    "listed",
    "read_fields",
    "values_of",
]

DEEPEST = 32  # elements inside one another
LONGEST = 1 << 20  # bytes of one tag with its attributes, and characters of one text

#: One piece of XML: its line, the name of its element, and what there is of that: attributes where it
#: begins, its text, or nothing where it ends.
Element = tuple[int, str, Any]
#: What was read, with its line: an event, or why it is none.
Numbered = tuple[int, Event | str]


class XmlStream:
    """A parser that yields the elements that were asked for, and no others.

    The first element of all is yielded whatever its name. `begins` are yielded with their attributes,
    `texts`, which must hold nothing else, with their text, and `ends` with nothing when they end. No
    other text is ever put together.

    >>> stream = XmlStream("the file", texts={"name"})
    >>> list(stream.read([b"<list><name>a", b"</name><other>b</other></list>"]))
    [(1, 'list', {}), (1, 'name', 'a')]
    """

    def __init__(
        self,
        what: str,
        *,
        begins: Collection[str] = (),
        texts: Collection[str] = (),
        ends: Collection[str] = (),
    ) -> None:
        self.what = what
        self._begins, self._texts, self._ends = begins, texts, ends
        self._depth, self._fed = 0, 0
        self._found: list[Element] = []
        self._text: str | None = None  # what is being put together
        self._parser = expat.ParserCreate("UTF-8")  # whatever the file declares
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self, blocks: Iterable[bytes]) -> Iterator[Element]:
        """Parse block after block. What is wrong is told after all that stands before it."""
        for block in chain(blocks, [None]):
            trouble = self._parse(block)
            yield from self._found
            self._found.clear()
            if trouble:
                raise trouble

    def refuse(self, rule: str, value: str, fix: str = "", *, line: int | None = None) -> BadInput:
        """What is wrong with the whole file, found in this line, or in the one that is being read."""
        return BadInput(
            f"{self.what} {rule}, and has {value} in line {line or self._parser.CurrentLineNumber}", fix
        )

    def _parse(self, block: bytes | None) -> BadInput | None:
        """Parse a block, or (None) the end; what is wrong there, if anything is."""
        try:
            self._parser.Parse(block or b"", block is None)
        except BadInput as error:
            return error
        except expat.ExpatError as error:
            damage = "an end that comes too early" if block is None else expat.ErrorString(error.code)
            return self.refuse(
                "must be well-formed XML in UTF-8",
                damage,
                "copy it again, whole and unchanged",
                line=error.lineno,
            )
        self._fed += len(block or b"")
        if self._fed - max(0, self._parser.CurrentByteIndex) > LONGEST:  # it waits for the end of a tag
            return self.refuse(f"must have tags of at most {LONGEST >> 20} MiB", "a longer one")
        return None

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.refuse(f"must nest at most {DEEPEST} elements", "more")
        if self._text is not None:
            raise self.refuse("must have plain texts in its fields", "an element inside one")
        if self._depth == 1 or name in self._begins:
            self._found.append((self._parser.CurrentLineNumber, name, attributes))
        if name in self._texts:
            self._text = ""
            self._parser.CharacterDataHandler = self._add

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._text is not None or name in self._ends:
            self._found.append((self._parser.CurrentLineNumber, name, self._text))
            self._text = self._parser.CharacterDataHandler = None

    def _add(self, text: str) -> None:
        self._text = (self._text or "") + text
        if len(self._text) > LONGEST:
            raise self.refuse(f"must have texts of at most {LONGEST >> 20} Mi characters", "a longer one")

    def _doctype(self, *_: object) -> None:
        raise self.refuse("must not have a DOCTYPE", "one", "an export of this kind has none")


#: One object of JSON.
Fields = dict[str, Any]
# A word of its own: there are people called Abbot and Talbot.
_BOT = re.compile(
    r"(?:^|[^a-z])(?:bots?|buildbot|copybara|dependabot|github-actions|greenkeeper|imgbot|jenkins|mergify"
    r"|pre-commit-ci|renovate|zuul)(?:$|[^a-z])"
)


def read_fields(value: object, *path: str) -> Any:
    """What an object holds at the end of a path of names, and of places in lists, or None.

    >>> (
    ...     read_fields({"user": {"login": "ann"}}, "user", "login"),
    ...     read_fields({"user": None}, "user", "login"),
    ... )
    ('ann', None)
    """
    for name in path:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isascii() and name.isdigit():
            value = value[int(name)] if len(name) < 10 and int(name) < len(value) else None
        else:
            return None
    return value


def as_object(value: object) -> Fields:
    """A JSON object, or an empty one for what is none.

    >>> as_object({"ns": 0}), as_object(None)
    ({'ns': 0}, {})
    """
    return value if isinstance(value, dict) else {}


def listed(answer: Mapping[str, Any], name: str) -> list[Fields]:
    """The objects in a list; what is none there is an empty one.

    >>> listed({"pages": [{"ns": 0}, 5]}, "pages"), listed({}, "pages")
    ([{'ns': 0}, {}], [])
    """
    rows = answer.get(name, [])
    return [as_object(row) for row in rows] if isinstance(rows, list) else [{}]


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
    values: Iterable[tuple[int, Any]], convert: Callable[[Fields], Iterable[Event | str]], faults: Faults
) -> Iterator[Event]:
    """The events of objects; a text in place of one is the reason why there is none: a fault.

    >>> faults = Faults("the export")
    >>> list(events_of([(1, {}), (2, 7)], lambda row: ["the user is missing"], faults))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the export must have rows that can be read, and has none among 2: ...
    >>> [str(fault) for fault in faults.first]
    ['line 1: the user is missing', 'line 2: not a JSON object']
    """
    good = yield from events_in(
        (
            (line, event)
            for line, value in values
            for event in (convert(value) if isinstance(value, dict) else ["not a JSON object"])
        ),
        faults,
    )
    if faults.count and not good:
        faults.refuse(f"none among {faults.count}")


def events_in(found: Iterable[Numbered], faults: Faults) -> Generator[Event, None, int]:
    """The events among what was read, and in the end how many they are; what is none is a fault.

    >>> faults = Faults("the wiki")
    >>> [event.time for event in events_in([(1, Event("ann", "p", 5)), (2, "no user")], faults)]
    [5]
    >>> str(faults.first[0])
    'line 2: no user'
    """
    good = 0
    for line, event in found:
        if isinstance(event, Event):
            good += 1
            yield event
        else:
            faults.add(line, event)
            faults.give_up_if_hopeless(good)
    return good


def event_of(
    actor: object,
    target: object,
    time: object,
    track: str = "",
    *,
    is_bot: bool = False,
    read: Callable[[object], int] = moment_us,
) -> Event | str:
    """An event of parts as they were written, or why they are none; `read` reads the time.

    >>> event_of("ann", "p", "2024-05-01T10:00:00Z").time, event_of("ann", None, "")
    (1714557600000000, 'target is missing')
    """
    if not isinstance(actor, str) or not actor:
        return "actor is missing"
    if not isinstance(target, str) or not target:
        return "target is missing"
    try:
        return Event(actor, target, read(time), track, is_bot)
    except NoMoment as error:
        return str(error)


def is_bot_name(*names: str) -> bool:
    """Whether one of the names of an account is a program's.

    >>> is_bot_name("renovate[bot]", "bot@renovateapp.com"), is_bot_name("Ann Talbot", "ann@nym.example")
    (True, False)
    """
    return any(_BOT.search(name.lower()) for name in names)
