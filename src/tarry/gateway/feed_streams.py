"""Server-sent events: releases as they happen, to everybody who keeps a connection open.

One task for each space with listeners looks where the feed ends, and wakes them when it has grown. Each of
them reads on from its own position, as fast as it can: what is sent is what the feed holds, and nothing is
sent in between but a comment at fixed times. Libraries for server-sent events send what a program gives
them, and hold it in memory; here each listener reads from the store.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from functools import partial

from tarry.gateway.feed import Feed
from tarry.gateway.feed_formats import ItemFrame, RunInThread, json_pieces
from tarry.gateway.limits import KEY_S, TooManyRequests
from tarry.keep.errors import Unavailable
from tarry.keep.store import Store

__all__ = ["LONGEST_S", "FeedStreams"]

#: How long one stream lasts at most.
LONGEST_S = KEY_S
_LOOK_S = 0.25
_COMMENT_S = 15.0
_AT_ONCE = 50  # releases that are looked up for one listener
_EVENT = ItemFrame(lambda item: b"id: %d\nevent: release\ndata: " % item.position, b"\n\n")


class FeedStreams:
    """The listeners of one process.

    >>> from tarry.gateway.database import open_store
    >>> FeedStreams(open_store(":memory:"), asyncio.to_thread, most=10, share=2).listeners
    0
    """

    def __init__(self, store: Store, call: RunInThread, most: int, share: int) -> None:
        self._store, self._call, self._most, self._share = store, call, most, share
        self._counts: dict[str, int] = {}  # listeners of each space
        self._clients: dict[str, int] = {}  # and of each client
        self._news: dict[str, asyncio.Event] = {}  # set, and made anew, when the feed has grown
        self._lookers: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False

    @property
    def listeners(self) -> int:
        """The number of open streams."""
        return sum(self._counts.values())

    def close(self) -> None:
        """End all streams; called in the event loop."""
        self._is_closed = True
        for looker in self._lookers.values():
            looker.cancel()
        for news in self._news.values():
            news.set()

    def check_room(self, client: str) -> None:
        """Refuse one stream too many: first of this client, and then of all."""
        if self._clients.get(client, 0) >= self._share:
            raise TooManyRequests(60, "too many streams are open from your network address")
        if not self._has_room(client):
            raise TooManyRequests(60, "too many streams are open at this moment")

    async def listen(self, space: str, position: int | None, client: str) -> AsyncIterator[bytes]:
        """Everything after a position, or from now on, for an hour at most.

        Clients are counted under a key that changes every hour: a stream that lasted longer would count for
        nobody. Browsers come back by themselves.
        """
        if not self._has_room(client):  # somebody came in between
            return
        self._counts[space] = self._counts.get(space, 0) + 1
        self._clients[client] = self._clients.get(client, 0) + 1
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
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]

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

    def _has_room(self, client: str) -> bool:
        has_share = self._clients.get(client, 0) < self._share
        return has_share and self.listeners < self._most and not self._is_closed

    def _look_after(self, feed: Feed) -> None:
        self._news.setdefault(feed.space, asyncio.Event())
        looker = self._lookers.get(feed.space)
        if looker is None or looker.done():
            self._lookers[feed.space] = asyncio.create_task(self._look(feed))

    async def _look(self, feed: Feed) -> None:
        """Look where the feed ends, while anybody listens."""
        end = -1
        while self._counts.get(feed.space):
            with contextlib.suppress(Unavailable):  # the store comes back, and so do its releases
                now = await self._call(feed.last_position)
                if now != end:
                    end, news = now, self._news[feed.space]
                    self._news[feed.space] = asyncio.Event()
                    news.set()
            await asyncio.sleep(_LOOK_S)
