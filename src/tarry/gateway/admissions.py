"""Group commit: posts that come in at about the same time are made durable together.

A thread takes whatever has come in while it was busy, and admits it in one transaction. Nobody waits for
others on purpose: a lone post is admitted at once.
"""

import asyncio
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import NamedTuple, Self

from tarry.core.errors import TarryError
from tarry.gateway.gateway import Answer, Gateway, Request
from tarry.keep.errors import Unavailable
from tarry.keep.posts import Receipt
from tarry.keep.sqlite import SqliteStore

__all__ = ["Admissions", "Unsure"]

#: How many requests share a transaction at most, and how many posts, unless one request has more: no tick
#: closes meanwhile, and a database server has room for so many locks.
_MOST, _MOST_POSTS = 128, 500


class Unsure(Unavailable):
    """The store went away while posts were handed in.

    >>> issubclass(Unsure, Unavailable)
    True
    """

    def __init__(self) -> None:
        super().__init__(
            "the store is away, and this may or may not have been accepted: send it again with the same "
            "Idempotency-Key"
        )


class _Asked(NamedTuple):
    request: Request
    loop: asyncio.AbstractEventLoop
    answer: "asyncio.Future[list[Receipt]]"


class Admissions:
    """Takes requests from an event loop, and answers when they are on the disk.

    >>> from tarry.gateway.testing import small_gateway
    >>> from tarry.keep.posts import Post
    >>> request = Request(space="talk", posts=[Post(actor="a", target="t", outlet="", content=b"")])
    >>> with Admissions(small_gateway()) as admissions:
    ...     asyncio.run(admissions.admit(request))[0].status.state
    'waiting'
    """

    def __init__(self, gateway: Gateway, *, threads: int | None = None) -> None:
        if threads is None:
            # While one waits for a database server the other one prepares; a file has a single writer.
            threads = 1 if isinstance(gateway.store, SqliteStore) else 2
        self._gateway = gateway
        self._coming: dict[asyncio.AbstractEventLoop, list[_Asked]] = {}
        self._queue: SimpleQueue[_Asked | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"admissions {n}", daemon=True) for n in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def admit(self, request: Request) -> list[Receipt]:
        """Accept a request; when this returns, its posts are stored and will leave at their ticks."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Receipt]] = loop.create_future()
        coming = self._coming.setdefault(loop, [])
        coming.append(_Asked(request, loop, answer))
        # What comes in one turn of the loop goes over at its end: larger groups, and fewer of them.
        if len(coming) == 1:
            loop.call_soon(self._hand_over, loop)
        return await answer

    def close(self) -> None:
        """Admit what has come in, and end."""
        for loop in tuple(self._coming):
            self._hand_over(loop)
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        for asked in self._coming.pop(loop, ()):
            self._queue.put(asked)

    def _work(self) -> None:
        while (group := self._take()) is not None:
            self._tell(group, self._answers([asked.request for asked in group]))
        self._gateway.store.close()

    def _take(self) -> list[_Asked] | None:
        """Wait for a request, and take all that have come with it."""
        first = self._queue.get()
        if first is None:
            return None
        group, posts = [first], len(first.request.posts)
        while len(group) < _MOST and posts < _MOST_POSTS:
            try:
                more = self._queue.get_nowait()
            except Empty:
                break
            if more is None:
                self._queue.put(None)  # for the next turn
                break
            group.append(more)
            posts += len(more.request.posts)
        return group

    def _answers(self, requests: Sequence[Request]) -> Sequence[Answer | Exception]:
        try:
            return self._gateway.admit(requests)
        except Unavailable:
            return [Unsure()] * len(requests)
        except TarryError as refusal:
            return [refusal] * len(requests)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told to whom it concerns
            if len(requests) == 1:
                return [error]
            # One request that breaks something must not take the others down.
            return [self._answers([request])[0] for request in requests]

    @staticmethod
    def _tell(group: list[_Asked], answers: Sequence[Answer | Exception]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[tuple[_Asked, Answer | Exception]]] = {}
        for asked, answer in zip(group, answers, strict=True):
            loops.setdefault(asked.loop, []).append((asked, answer))
        for loop, told in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, told)


def _settle(told: list[tuple[_Asked, Answer | Exception]]) -> None:
    for asked, answer in told:
        if asked.answer.done():  # whoever asked has gone
            continue
        if isinstance(answer, Exception):
            asked.answer.set_exception(answer)
        else:
            asked.answer.set_result(answer)
