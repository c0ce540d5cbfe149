"""Releases in the formats of the public API: JSON, written piece by piece, and Atom.

A release may be large, and JSON makes control characters six times as long. So a release is read from the
store in slices, each when the one before it has gone; what is small is read together. Nothing else of an
answer waits in memory, and a client that does not read holds little. That is why the JSON around large
content is put together here, and not by a library.
"""

import base64
import codecs
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from xml.etree import ElementTree as ET

import msgspec

from tarry.gateway.bodies import ItemOut
from tarry.gateway.catalog import Space
from tarry.gateway.feed import Feed, FeedItem

__all__ = [
    "JSON",
    "TOGETHER",
    "ItemFrame",
    "RunInThread",
    "atom_feed",
    "encode_content",
    "item_out",
    "json_pieces",
]

#: The reserved option that tells JSON from text, and its value.
JSON = {"content_type": "application/json"}
#: Bytes of JSON that are written at once.
TOGETHER = 32 << 10
_AT_ONCE = 50  # releases at most
_SLICE = 12 << 10  # bytes of content that are read at once; a multiple of 3, for base64
_LETTERS = 2 << 10  # of these that are written at once
_LINE_ENDS = "\x85\u2028\u2029"  # no line ends in JSON, but many readers take them for some
_ATOM = "http://www.w3.org/2005/Atom"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_Form = Literal["text", "json", "base64"]
T = TypeVar("T")


def encode_content(content: str | dict[str, Any] | list[Any]) -> tuple[bytes, dict[str, Any]]:
    """Content as it is stored, and the option that says what it is.

    >>> encode_content("I agree."), encode_content({"score": 3})
    ((b'I agree.', {}), (b'{"score":3}', {'content_type': 'application/json'}))
    """
    if isinstance(content, str):
        return content.encode(), {}
    return msgspec.json.encode(content), dict(JSON)


def item_out(item: FeedItem) -> ItemOut:
    """A release as a record of the API.

    >>> item_out(FeedItem(position=1, id="ab", target="t", content=b"[1]", options=JSON, at=0)).content
    [1]
    """
    record = ItemOut(
        position=item.position,
        id=item.id,
        target=item.target,
        at=item.moment,
        options={name: value for name, value in item.options.items() if name not in JSON},
    )
    try:
        text = item.content.decode()
        record.content = msgspec.json.decode(text) if item.options.items() >= JSON.items() else text
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        record.content_base64 = base64.b64encode(item.content).decode()
    return record


def atom_feed(space: Space, items: Sequence[FeedItem], address: str) -> bytes:
    """The feed for readers of Atom (RFC 4287), newest first. `address` is its own.

    >>> space = Space(name="talk", title="Talk", circle="all", outlet={}, versions=())
    >>> atom_feed(space, [], "/v1/spaces/talk/feed.atom")[:22]
    b"<?xml version='1.0' en"
    """
    ET.register_namespace("", _ATOM)
    feed = ET.Element(f"{{{_ATOM}}}feed")
    _add(feed, "id", f"urn:tarry:{space.name}")
    _add(feed, "title", space.title)
    _add(feed, "updated", items[0].moment if items else "1970-01-01T00:00:00Z")
    ET.SubElement(feed, f"{{{_ATOM}}}link", rel="self", href=address)
    author = ET.SubElement(feed, f"{{{_ATOM}}}author")
    _add(author, "name", space.title)
    for item in items:
        entry = ET.SubElement(feed, f"{{{_ATOM}}}entry")
        _add(entry, "id", f"urn:tarry:{space.name}:{item.id}")
        _add(entry, "title", item.target)
        _add(entry, "updated", item.moment)
        _add(entry, "content", item.content.decode(errors="replace")).set("type", "text")
    return bytes(ET.tostring(feed, encoding="utf-8", xml_declaration=True))


def _add(parent: ET.Element, name: str, text: str) -> ET.Element:
    child = ET.SubElement(parent, f"{{{_ATOM}}}{name}")
    child.text = _NOT_XML.sub("\ufffd", text)
    return child


# --- JSON, piece by piece -------------------------------------------------------------------------


class RunInThread(Protocol):
    """Runs something that may block, beside the event loop.

    >>> import asyncio
    >>> call: RunInThread = asyncio.to_thread
    """

    def __call__(self, step: Callable[[], T], /) -> Awaitable[T]:
        """The result of the step."""
        ...


class ItemFrame(NamedTuple):
    """What stands before and after the JSON of a release.

    >>> ItemFrame(lambda item: b"data: ", b"").after
    b''
    """

    before: Callable[[FeedItem], bytes]
    after: bytes


async def json_pieces(
    feed: Feed, call: RunInThread, first: int, last: int, frame: ItemFrame
) -> AsyncIterator[bytes]:
    """The releases from one position to another, as JSON.

    >>> import asyncio
    >>> from tarry.gateway.database import open_store
    >>> async def nothing():
    ...     feed, frame = Feed(open_store(":memory:"), "talk"), ItemFrame(lambda item: b"", b"")
    ...     return [piece async for piece in json_pieces(feed, asyncio.to_thread, 1, 9, frame)]
    >>> asyncio.run(nothing())
    []
    """
    position = first
    while (step := await call(partial(_step, feed, position, last, frame))) is not None:
        yield step.piece
        if step.form is not None:
            async for piece in _content(feed, call, step, frame):
                yield piece
        position = step.position + 1


class _Step(NamedTuple):
    """What is written at once: some releases, or all of a large one that stands before its content."""

    position: int  # of the last of them
    piece: bytes
    form: _Form | None = None  # of the content that follows
    length: int = 0  # in bytes


def _step(feed: Feed, first: int, last: int, frame: ItemFrame) -> _Step | None:
    sizes = feed.sizes_after(first - 1, _AT_ONCE, TOGETHER)
    if not sizes or sizes[0].position > last:
        return None
    if sizes[0].encoded > TOGETHER:
        return _head(feed.one(sizes[0].position), frame)
    position, piece = last, b""
    for item in feed.between(first, min(last, sizes[-1].position)):
        piece += frame.before(item) + _safe(msgspec.json.encode(item_out(item))) + frame.after
        position = item.position
        if len(piece) > TOGETHER:  # options make it longer than was thought
            break
    return _Step(position, piece)


async def _content(feed: Feed, call: RunInThread, step: _Step, frame: ItemFrame) -> AsyncIterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, step.length, _SLICE):
        content = await call(partial(feed.part, step.position, start, _SLICE))
        if step.form == "base64":
            yield base64.b64encode(content)
            continue
        text = decoder.decode(content)
        for begin in range(0, len(text), _LETTERS):
            yield _letters(text[begin : begin + _LETTERS], step.form)
    yield (b"}" if step.form == "json" else b'"}') + frame.after


def _head(item: FeedItem, frame: ItemFrame) -> _Step:
    head = item_out(item)
    form: _Form = "json" if item.options.items() >= JSON.items() else "text"
    form = "base64" if head.content_base64 is not None else form
    head.content, head.content_base64 = None, None
    name = b"content_base64" if form == "base64" else b"content"
    opening = b"" if form == "json" else b'"'
    piece = _safe(msgspec.json.encode(head))[:-1] + b',"%b":%b' % (name, opening)
    return _Step(item.position, frame.before(item) + piece, form, len(item.content))


def _letters(text: str, form: _Form | None) -> bytes:
    if form == "json":  # as it was stored; a line end in it stands between two values
        return _safe(text.replace("\r", " ").replace("\n", " ").encode())
    return _safe(msgspec.json.encode(text)[1:-1])


def _safe(text: bytes) -> bytes:
    for letter in _LINE_ENDS:
        text = text.replace(letter.encode(), b"\\u%04x" % ord(letter))
    return text
