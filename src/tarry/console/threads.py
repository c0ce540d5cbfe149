"""Threads: the releases of a feed by target, a page at a time. Nothing but what the feed tells."""

import json
from fractions import Fraction
from typing import Any, NamedTuple

from tarry.gateway.feed import Feed
from tarry.keep.store import MICROS, Row, Store, moment

__all__ = ["AppearedPost", "ThreadTop", "Threads"]

_MOST_POSITION = (1 << 63) - 1
_SHORT = 1200  # bytes of the newest post that a list shows
_LONG = 80_000  # bytes of a post that a thread shows: 20,000 characters of any kind


class AppearedPost(NamedTuple):
    """A post as a page shows it.

    >>> AppearedPost(id="ab", name="", at="2026-01-01T00:00:00Z", text="I agree.", is_cut=False).text
    'I agree.'
    """

    id: str
    name: str  # the pseudonym; empty: nobody has given one
    at: str
    text: str
    is_cut: bool  # it is longer


class ThreadTop(NamedTuple):
    """A thread in a list, with its newest post.

    >>> newest = AppearedPost(id="ab", name="", at="2026-01-01T00:00:00Z", text="I agree.", is_cut=False)
    >>> ThreadTop(target="cats", posts=1, newest=newest).target
    'cats'
    """

    target: str
    posts: int
    newest: AppearedPost


class Threads:
    """The threads of one space.

    >>> from tarry.gateway.testing import small_gateway
    >>> Threads(small_gateway().store, "talk").newest(skipped=0)
    []
    """

    #: How many a page has.
    TOPS, POSTS = 20, 50

    def __init__(self, store: Store, space: str) -> None:
        self._store, self._space = store, space

    def newest(self, skipped: int) -> list[ThreadTop]:
        """Some threads, the one with the newest post first."""
        with self._store.transaction("reading") as transaction:
            rows = transaction.all(
                "threads", space=self._space, most=self.TOPS, skipped=skipped, long=_SHORT
            )
        return [ThreadTop(row["target"], int(row["posts"]), _post(row)) for row in rows]

    def count(self) -> int:
        """How many there are."""
        with self._store.transaction("reading") as transaction:
            row = transaction.one("thread_count", space=self._space)
        return 0 if row is None else int(row["threads"])

    def posts(self, target: str, skipped: int) -> list[AppearedPost]:
        """Some posts of a thread, oldest first."""
        with self._store.transaction("reading") as transaction:
            rows = transaction.all(
                "thread",
                space=self._space,
                target=target,
                most=self.POSTS,
                skipped=skipped,
                long=_LONG,
            )
        return [_post(row) for row in rows]

    def length(self, target: str, position: int = _MOST_POSITION) -> int:
        """How many posts a thread has, up to a position of the feed."""
        with self._store.transaction("reading") as transaction:
            row = transaction.one("thread_length", space=self._space, target=target, position=position)
        return 0 if row is None else int(row["posts"])

    def place_of(self, public_id: str) -> tuple[str, int] | None:
        """The thread of a post and its page there, from 1 on; None if it has not appeared."""
        feed = Feed(self._store, self._space)
        if (position := feed.position_of(public_id)) is None:
            return None
        target = feed.one(position).target
        return target, (self.length(target, position) - 1) // self.POSTS + 1


def _post(row: Row) -> AppearedPost:
    options: dict[str, Any] = json.loads(row["options"])
    by, content = options.get("by"), bytes(row["content"])
    is_cut = int(row["size"]) > len(content)
    return AppearedPost(
        id=row["id"],
        name=by if isinstance(by, str) else "" if by is None else str(by),
        at=moment(Fraction(row["at"], MICROS)),
        text=content.decode(errors="ignore" if is_cut else "replace"),
        is_cut=is_cut,
    )
