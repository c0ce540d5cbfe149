"""Group commit: submissions that arrive at about the same time are made durable together.

A thread takes whatever has arrived while it was busy, and admits it in one transaction. Nobody waits for
others on purpose: a lone post is admitted at once.
"""

import asyncio
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import NamedTuple

from tarry.core.errors import TarryError
from tarry.gateway.gateway import Gateway, Outcome, Submission
from tarry.keep.errors import Unavailable
from tarry.keep.posts import Receipt
from tarry.keep.sqlite import SqliteStore

__all__ = ["AcceptanceUnknown", "GroupCommit"]

#: How many submissions share a transaction at most, and how many posts, unless one submission has more: no
#: tick closes meanwhile, and a database server has room for so many locks.
_MOST, _MOST_POSTS = 128, 500


class AcceptanceUnknown(Unavailable):
    """The store became unreachable while posts were submitted.

    >>> issubclass(AcceptanceUnknown, Unavailable)
    True
    """

    def __init__(self) -> None:
        super().__init__(
            "the store is away, and this may or may not have been accepted: send it again with the same "
            "Idempotency-Key"
        )


class _Pending(NamedTuple):
    submission: Submission
    loop: asyncio.AbstractEventLoop
    receipts: "asyncio.Future[list[Receipt]]"


class GroupCommit:
    """Takes submissions from an event loop, and answers when they are on the disk.

    >>> from contextlib import closing
    >>> from tarry.gateway.testing import small_gateway
    >>> from tarry.keep.posts import Post
    >>> post = Post(actor="a", target="t", outlet="", content=b"")
    >>> with closing(GroupCommit(small_gateway())) as group_commit:
    ...     asyncio.run(group_commit.admit(Submission(space="talk", posts=[post])))[0].status.state
    'waiting'
    """

    def __init__(self, gateway: Gateway, *, threads: int | None = None) -> None:
        # While one waits for a database server the other one prepares; a file has a single writer.
        threads = threads or (1 if isinstance(gateway.store, SqliteStore) else 2)
        self._gateway = gateway
        self._arriving: dict[asyncio.AbstractEventLoop, list[_Pending]] = {}
        self._queue: SimpleQueue[_Pending | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"group commit {n}", daemon=True)
            for n in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def admit(self, submission: Submission) -> list[Receipt]:
        """Accept a submission; when this returns, its posts are stored and will leave at their ticks."""
        loop = asyncio.get_running_loop()
        receipts: asyncio.Future[list[Receipt]] = loop.create_future()
        arriving = self._arriving.setdefault(loop, [])
        arriving.append(_Pending(submission, loop, receipts))
        # What arrives in one turn of the loop is handed over at its end: larger groups, and fewer of them.
        if len(arriving) == 1:
            loop.call_soon(self._hand_over, loop)
        return await receipts

    def close(self) -> None:
        """Admit what has arrived, and end."""
        for loop in tuple(self._arriving):
            self._hand_over(loop)
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        for pending in self._arriving.pop(loop, ()):
            self._queue.put(pending)

    def _work(self) -> None:
        while (group := self._take()) is not None:
            self._answer(group, self._outcomes([pending.submission for pending in group]))
        self._gateway.store.close()

    def _take(self) -> list[_Pending] | None:
        """Wait for a submission, and take all that have come with it."""
        first = self._queue.get()
        if first is None:
            return None
        group, posts = [first], len(first.submission.posts)
        while len(group) < _MOST and posts < _MOST_POSTS:
            try:
                more = self._queue.get_nowait()
            except Empty:
                break
            if more is None:
                self._queue.put(None)  # for the next turn
                break
            group.append(more)
            posts += len(more.submission.posts)
        return group

    def _outcomes(self, submissions: Sequence[Submission]) -> Sequence[Outcome | Exception]:
        try:
            return self._gateway.admit(submissions)
        except Unavailable:
            return [AcceptanceUnknown()] * len(submissions)
        except TarryError as refusal:
            return [refusal] * len(submissions)
        except Exception as error:  # noqa: BLE001 - whatever it is, it goes to whom it concerns
            if len(submissions) == 1:
                return [error]
            # One submission that breaks something must not take the others down.
            return [self._outcomes([submission])[0] for submission in submissions]

    @staticmethod
    def _answer(group: list[_Pending], outcomes: Sequence[Outcome | Exception]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[tuple[_Pending, Outcome | Exception]]] = {}
        for pending, outcome in zip(group, outcomes, strict=True):
            loops.setdefault(pending.loop, []).append((pending, outcome))
        for loop, settled in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, settled)


def _settle(settled: list[tuple[_Pending, Outcome | Exception]]) -> None:
    for pending, outcome in settled:
        if pending.receipts.done():  # the client has gone
            continue
        if isinstance(outcome, Exception):
            pending.receipts.set_exception(outcome)
        else:
            pending.receipts.set_result(outcome)
