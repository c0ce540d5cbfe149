"""Releases as the public API gives them: JSON, written piece by piece, Atom, and server-sent events.

A release may be large, and JSON makes control characters six times as long. So a release is read from the
store in slices, each when the one before it has gone; what is small is read together. Nothing else of an
answer waits in memory, and a client that does not read holds little. That is why the JSON around large
content is put together here, and not by a library.

Libraries for server-sent events send what a program gives them, and hold it in memory; here each listener
reads from the store.
"""

import asyncio
import base64
import codecs
import contextlib
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from xml.etree import ElementTree as ET

import msgspec

from tarry.gateway.bodies import ItemOut
from tarry.gateway.catalog import Space
from tarry.gateway.counters import Places, own_counters
from tarry.gateway.feed import Feed, FeedItem
from tarry.gateway.limits import KEY_S, TooManyRequests
from tarry.keep.errors import Unavailable
from tarry.keep.store import Store

__all__ = [
    "JSON",
    "LONGEST_S",
    "TOGETHER",
    "FeedStreams",
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
_AT_ONCE = 50  # releases at most, also those that are looked up for one listener
_SLICE = 12 << 10  # bytes of content that are read at once; a multiple of 3, for base64
_LETTERS = 2 << 10  # of these that are written at once
_LINE_ENDS = "\x85\u2028\u2029"  # no line ends in JSON, but many readers take them for some
_ATOM = "http://www.w3.org/2005/Atom"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_Form = Literal["text", "json", "base64"]
_OPENINGS: dict[_Form, bytes] = {
    "text": b',"content":"',
    "json": b',"content":',
    "base64": b',"content_base64":"',
}
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
    _add(ET.SubElement(feed, f"{{{_ATOM}}}author"), "name", space.title)
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
        if step.form == "json":  # as it was stored; a line end in it stands between two values
            text = text.replace("\r", " ").replace("\n", " ")
        for begin in range(0, len(text), _LETTERS):
            part = text[begin : begin + _LETTERS]
            yield _safe(part.encode() if step.form == "json" else msgspec.json.encode(part)[1:-1])
    yield (b"}" if step.form == "json" else b'"}') + frame.after


def _head(item: FeedItem, frame: ItemFrame) -> _Step:
    head = item_out(item)
    form: _Form = "json" if item.options.items() >= JSON.items() else "text"
    form = "base64" if head.content_base64 is not None else form
    head.content, head.content_base64 = None, None
    piece = _safe(msgspec.json.encode(head))[:-1] + _OPENINGS[form]
    return _Step(item.position, frame.before(item) + piece, form, len(item.content))


def _safe(text: bytes) -> bytes:
    for letter in _LINE_ENDS:
        text = text.replace(letter.encode(), b"\\u%04x" % ord(letter))
    return text


# --- server-sent events: releases as they happen, to everybody who keeps a connection open --------

#: How long one stream lasts at most.
LONGEST_S = KEY_S
_LOOK_S = 0.25
_COMMENT_S = 15.0
_EVENT = ItemFrame(lambda item: b"id: %d\nevent: release\ndata: " % item.position, b"\n\n")


class FeedStreams:
    """The listeners of one process, in places that they share with those of its server's other processes.

    >>> from tarry.gateway.database import open_store
    >>> FeedStreams(open_store(":memory:"), asyncio.to_thread, most=10, share=2).listeners
    0
    """

    def __init__(
        self, store: Store, call: RunInThread, most: int, share: int, places: Places | None = None
    ) -> None:
        self._store, self._call, self._most, self._share = store, call, most, share
        self._counts = Counter[str]()  # listeners of each space, in this process
        self._places = places or own_counters().streams  # by client
        self._news: dict[str, asyncio.Event] = {}  # set, and made anew, when the feed has grown
        self._lookers: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False

    @property
    def listeners(self) -> int:
        """The number of open streams of this process."""
        return self._counts.total()

    def close(self) -> None:
        """End all streams; called in the event loop."""
        self._is_closed = True
        for looker in self._lookers.values():
            looker.cancel()
        for news in self._news.values():
            news.set()

    def check_room(self, client: str) -> None:
        """Refuse one stream too many: first of this client, and then of all."""
        if self._places.of(client) >= self._share:
            raise TooManyRequests(60, "too many streams are open from your network address")
        if self._is_closed or self._places.total() >= self._most:
            raise TooManyRequests(60, "too many streams are open at this moment")

    async def listen(self, space: str, position: int | None, client: str) -> AsyncIterator[bytes]:
        """Everything after a position, or from now on, for an hour at most.

        Clients are counted under a key that changes every hour: a stream that lasted longer would count for
        nobody. Browsers come back by themselves.
        """
        if self._is_closed or not self._places.take(client, self._share, self._most):
            return  # somebody came in between
        self._counts[space] += 1
        try:
            yield b": here\n\n"
            with contextlib.suppress(Unavailable):  # the listener comes back
                feed = Feed(self._store, space)
                if position is None:
                    position = await self._call(feed.last_position)
                async for event in self._follow(feed, position):
                    yield event
        finally:
            self._counts[space] -= 1
            self._places.give(client)

    async def _follow(self, feed: Feed, position: int) -> AsyncIterator[bytes]:
        self._look_after(feed)
        end = time.monotonic() + LONGEST_S
        while not self._is_closed and time.monotonic() < end:
            news = self._news[feed.space]  # taken first: what comes while we read wakes us
            if sizes := await self._call(partial(feed.sizes_after, position, _AT_ONCE)):
                position = sizes[-1].position
                async for event in json_pieces(feed, self._call, sizes[0].position, position, _EVENT):
                    yield event
                continue
            try:
                await asyncio.wait_for(news.wait(), _COMMENT_S)
            except TimeoutError:
                yield b": still here\n\n"

    def _look_after(self, feed: Feed) -> None:
        self._news.setdefault(feed.space, asyncio.Event())
        looker = self._lookers.get(feed.space)
        if looker is None or looker.done():
            self._lookers[feed.space] = asyncio.create_task(self._look(feed))

    async def _look(self, feed: Feed) -> None:
        """Look where the feed ends, while anybody listens."""
        end = -1
        while self._counts[feed.space]:
            with contextlib.suppress(Unavailable):  # the store comes back, and so do its releases
                now = await self._call(feed.last_position)
                if now != end:
                    end, news = now, self._news[feed.space]
                    self._news[feed.space] = asyncio.Event()
                    news.set()
            await asyncio.sleep(_LOOK_S)
