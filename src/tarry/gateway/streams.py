"""Server-sent events: releases as they happen, to whoever keeps a connection open.

One task for each space that somebody listens to looks for new releases and hands them to all listeners.
What is sent is what the feed holds, and nothing is sent in between but a comment at fixed times.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from tarry.gateway.feed import Feed, Item
from tarry.gateway.items import item_out
from tarry.gateway.limits import TooMany
from tarry.keep.errors import Unavailable
from tarry.keep.store import Store

__all__ = ["Streams"]

_LOOK_S = 0.25
_COMMENT_S = 15.0
_BEHIND = 2000  # items that a slow listener may lag; then it is let go, and can come back where it was
T = TypeVar("T")


class _Call(Protocol):
    def __call__(self, step: Callable[[], T], /) -> Awaitable[T]: ...


class Streams:
    """The listeners of one process.

    >>> from tarry.gateway.stores import open_store
    >>> Streams(open_store(":memory:"), asyncio.to_thread, most=10).listeners
    0
    """

    def __init__(self, store: Store, call: _Call, most: int) -> None:
        self._store, self._call, self._most = store, call, most
        self._queues: dict[str, set[asyncio.Queue[list[Item] | None]]] = {}
        self._lookers: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return sum(map(len, self._queues.values()))

    def close(self) -> None:
        """Let all listeners go; called in the event loop."""
        self._is_closed = True
        for queues in self._queues.values():
            for queue in queues:
                queue.put_nowait(None)

    def check_room(self) -> None:
        """Refuse one listener too many."""
        if self.listeners >= self._most or self._is_closed:
            raise TooMany(60)

    async def listen(self, space: str, position: int | None) -> AsyncIterator[bytes]:
        """Everything after a position, or from now on, for as long as the listener stays."""
        queue: asyncio.Queue[list[Item] | None] = asyncio.Queue()
        feed = Feed(self._store, space)
        self._queues.setdefault(space, set()).add(queue)
        try:
            yield b": here\n\n"
            if position is None:
                position = await self._call(feed.last_position)
            self._look_after(space, position)
            while items := await self._call(partial(feed.after, position)):
                position = items[-1].position
                yield _events(items)
            async for items in self._take(queue):
                news = [item for item in items if item.position > position]
                position = news[-1].position if news else position
                yield _events(news) if news else b": still here\n\n"
        except Unavailable:
            return  # the listener comes back
        finally:
            self._queues[space].discard(queue)

    async def _take(self, queue: "asyncio.Queue[list[Item] | None]") -> AsyncIterator[list[Item]]:
        while True:
            try:
                items = await asyncio.wait_for(queue.get(), _COMMENT_S)
            except TimeoutError:
                yield []
                continue
            if items is None or queue.qsize() * len(items or [0]) > _BEHIND:
                return
            yield items

    def _look_after(self, space: str, position: int) -> None:
        if space not in self._lookers or self._lookers[space].done():
            self._lookers[space] = asyncio.create_task(self._look(space, position))

    async def _look(self, space: str, position: int) -> None:
        """Look for news while anybody listens."""
        feed = Feed(self._store, space)
        while self._queues.get(space) and not self._is_closed:
            with contextlib.suppress(Unavailable):  # the store comes back, and so do its releases
                while items := await self._call(partial(feed.after, position)):
                    position = items[-1].position
                    for queue in self._queues[space]:
                        queue.put_nowait(items)
            await asyncio.sleep(_LOOK_S)


def _events(items: list[Item]) -> bytes:
    told = []
    for item in items:
        body = msgspec.json.encode(item_out(item))
        told.append(b"id: %d\nevent: release\ndata: %b\n\n" % (item.position, body))
    return b"".join(told)
