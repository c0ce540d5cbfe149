"""Releases on their way out: written piece by piece, so that a reader who does not read holds little.

A release may be large, and JSON makes control characters six times as long. So a release is read from the
store in slices, each when the one before it has gone; what is small is read together. Nothing else of an
answer waits in memory.
"""

import base64
import codecs
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Literal, NamedTuple, Protocol, TypeVar

import msgspec

from tarry.gateway.feed import Feed, Item
from tarry.gateway.items import JSON, item_out

__all__ = ["TOGETHER", "Call", "Frame", "written"]

#: Bytes of JSON that are written at once.
TOGETHER = 32 << 10
_AT_ONCE = 50  # releases at most
_SLICE = 12 << 10  # bytes of content that are read at once; a multiple of 3, for base64
_LETTERS = 2 << 10  # of these that are written at once
_LINE_ENDS = "\x85\u2028\u2029"  # no line ends in JSON, but many a reader takes them for some
_Form = Literal["text", "json", "base64"]
T = TypeVar("T")


class Call(Protocol):
    """Does something that may block, beside the event loop.

    >>> import asyncio
    >>> call: Call = asyncio.to_thread
    """

    def __call__(self, step: Callable[[], T], /) -> Awaitable[T]:
        """What the step gives."""
        ...


class Frame(NamedTuple):
    """What stands before and after the JSON of a release.

    >>> Frame(lambda item: b"data: ", b"").after
    b''
    """

    before: Callable[[Item], bytes]
    after: bytes


async def written(feed: Feed, call: Call, first: int, last: int, frame: Frame) -> AsyncIterator[bytes]:
    """The releases from one position to another, as JSON.

    >>> import asyncio
    >>> from tarry.gateway.stores import open_store
    >>> async def nothing():
    ...     feed = Feed(open_store(":memory:"), "talk")
    ...     return [
    ...         piece
    ...         async for piece in written(feed, asyncio.to_thread, 1, 9, Frame(lambda item: b"", b""))
    ...     ]
    >>> asyncio.run(nothing())
    []
    """
    place = first
    while (step := await call(partial(_step, feed, place, last, frame))) is not None:
        yield step.piece
        if step.form is not None:
            async for piece in _content(feed, call, step, frame):
                yield piece
        place = step.position + 1


class _Step(NamedTuple):
    """What is written at once: some releases, or all of a large one that stands before its content."""

    position: int  # of the last of them
    piece: bytes
    form: _Form | None = None  # of the content that follows
    length: int = 0  # in bytes


def _step(feed: Feed, first: int, last: int, frame: Frame) -> _Step | None:
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


async def _content(feed: Feed, call: Call, step: _Step, frame: Frame) -> AsyncIterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, step.length, _SLICE):
        content = await call(partial(feed.part, step.position, start, _SLICE))
        if step.form == "base64":
            yield base64.b64encode(content)
            continue
        text = decoder.decode(content)
        for place in range(0, len(text), _LETTERS):
            yield _letters(text[place : place + _LETTERS], step.form)
    yield (b"}" if step.form == "json" else b'"}') + frame.after


def _head(item: Item, frame: Frame) -> _Step:
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
