"""The feed: what has been released, in the order of release, and its threads: the same by target.

Written in the transaction that marks a post as released, so each release is there exactly once. Everybody
may read it: what the public sees comes from these rows alone.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple, Self

from tarry.core.errors import BadInput
from tarry.keep.errors import Unavailable
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Release
from tarry.keep.store import MICROS, Row, Store, Transaction, moment

__all__ = [
    "MOST_BYTES",
    "MOST_ITEMS",
    "AppearedPost",
    "Feed",
    "FeedItem",
    "FeedOutlet",
    "ItemSize",
    "ThreadTop",
    "Threads",
]

#: How many releases one answer holds at most, and how many bytes as JSON, unless a single one has more.
MOST_ITEMS = 500
MOST_BYTES = 7 << 20
_MOST_OPTIONS = 16 << 10
_DELETED = "this release was deleted while it was being read: start again at the feed"
_MOST_POSITION = (1 << 63) - 1
_SHORT = 1200  # bytes of the newest post that a list shows
_LONG = 80_000  # bytes of a post that a thread shows: 20,000 characters of any kind


@dataclass(frozen=True, kw_only=True)
class FeedItem:
    """One release, as the public sees it.

    >>> shown = {"target": "paper 3", "content": b"I agree.", "options": {}}
    >>> FeedItem(position=1, id="ab", **shown, at=60_000_000).moment
    '1970-01-01T00:01:00Z'
    """

    position: int  # in the order of release
    id: str  # random
    target: str
    content: bytes
    options: Mapping[str, Any]  # what the author wants shown beside it
    at: int  # microseconds since 1970: of its tick

    @property
    def moment(self) -> str:
        """ISO 8601 in UTC."""
        return moment(Fraction(self.at, MICROS))


class ItemSize(NamedTuple):
    """How large a release is.

    >>> ItemSize(position=1, encoded=306).encoded
    306
    """

    position: int
    encoded: int  # bytes of JSON at most, without its options


class FeedOutlet(Outlet):
    """Publishes the posts of one space in its feed.

    >>> FeedOutlet("talk").delivery
    'exactly once'
    """

    delivery: Delivery = "exactly once"  # it is published and marked in one transaction
    batch = 1000  # a file takes many in one commit for less; more would keep writers waiting longer

    def __init__(self, space: str) -> None:
        self.space = space

    @classmethod
    def for_space(cls, settings: Mapping[str, Any], *, space: str, secret: bytes) -> Self:  # noqa: ARG003 - not needed
        """It needs no settings."""
        return cls(space)

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse options that are too large to be shown beside the content."""
        if options and (size := len(json.dumps(dict(options)))) > _MOST_OPTIONS:
            raise BadInput(
                f"options for a feed must have at most {_MOST_OPTIONS} bytes of JSON, not {size}"
            )

    def deliver(self, release: Release) -> None:
        """Nothing leaves the store before `record`."""

    def record(self, transaction: Transaction, releases: Sequence[Release]) -> None:
        """Publish, in the order of ticks, inside the transaction that marks them as released."""
        if not releases:
            return
        # One writer of a feed at a time: a reader who has seen a position has seen all before it.
        transaction.lock([blake2b(self.space.encode(), digest_size=8, person=b"tarry feed").digest()])
        first = _last_position(transaction, self.space) + 1
        rows: list[dict[str, object]] = []
        at, micros = None, 0
        for position, release in enumerate(releases, first):
            if release.at is not at:  # those of one tick share one moment
                at, micros = release.at, int(release.at * MICROS)
            rows.append(
                {
                    "space": self.space,
                    "position": position,
                    "id": release.id,
                    "target": release.target,
                    "content": release.content,
                    "options": _shown(release.options),
                    "at": micros,
                }
            )
        transaction.many("publish", rows)


def _shown(options: Mapping[str, Any]) -> str:
    return json.dumps(dict(options), sort_keys=True) if options else "{}"


class Feed:
    """Reads what has been released in one space.

    >>> from tarry.gateway.database import open_store
    >>> Feed(open_store(":memory:"), "talk").latest(10)
    []
    """

    def __init__(self, store: Store, space: str) -> None:
        self._store, self.space = store, space

    def latest(self, most: int = MOST_ITEMS, enough: int = MOST_BYTES) -> list[FeedItem]:
        """The last releases, newest first."""
        sizes = self.sizes_latest(most, enough)
        return self.between(sizes[-1].position, sizes[0].position)[::-1] if sizes else []

    def sizes_after(
        self, position: int, most: int = MOST_ITEMS, enough: int = MOST_BYTES
    ) -> list[ItemSize]:
        """The sizes of the releases after a position that fit into one answer, oldest first."""
        return self._sizes("sizes_after", enough, position=position, most=most)

    def sizes_latest(self, most: int = MOST_ITEMS, enough: int = MOST_BYTES) -> list[ItemSize]:
        """The sizes of the last releases that fit into one answer, newest first."""
        return self._sizes("sizes_latest", enough, most=most)

    def _sizes(self, name: str, enough: int, **values: int) -> list[ItemSize]:
        """The sizes of as many releases as fit together; of one at least, if there is one.

        Looked up before the releases are read: nothing is taken into memory that would not be sent.
        """
        with self._store.transaction("reading") as transaction:
            rows = transaction.all(name, space=self.space, **values)
        sizes = [ItemSize(int(row["position"]), int(row["encoded"])) for row in rows]
        totals = accumulate(size.encoded for size in sizes)
        return sizes[: max(1, sum(total <= enough for total in totals))]

    def between(self, first: int, last: int) -> list[FeedItem]:
        """The releases from one position to another, both included."""
        with self._store.transaction("reading") as transaction:
            rows = transaction.all(
                "feed_after", space=self.space, position=first - 1, most=last - first + 1
            )
        return [
            FeedItem(**{**row, "content": bytes(row["content"]), "options": json.loads(row["options"])})
            for row in rows
            if row["position"] <= last
        ]

    def one(self, position: int) -> FeedItem:
        """One release."""
        for item in self.between(position, position):
            return item
        raise Unavailable(_DELETED)

    def position_of(self, public_id: str) -> int | None:
        """Where a release stands, by its id; None if it is not in this feed."""
        with self._store.transaction("reading") as transaction:
            row = transaction.one("is_released", space=self.space, id=public_id)
        return None if row is None else int(row["position"])

    def part(self, position: int, start: int, length: int) -> bytes:
        """Some bytes of one content, from a byte on."""
        with self._store.transaction("reading") as transaction:
            row = transaction.one(
                "content_part", space=self.space, position=position, start=start + 1, length=length
            )
        if row is None:
            raise Unavailable(_DELETED)
        return bytes(row["content"])

    def last_position(self) -> int:
        """The position of the last release; 0 in an empty feed."""
        with self._store.transaction("reading") as transaction:
            return _last_position(transaction, self.space)


def _last_position(transaction: Transaction, space: str) -> int:
    row = transaction.one("last_position", space=space)
    return 0 if row is None or row["position"] is None else int(row["position"])


# --- threads ----------------------------------------------------------------------------------------


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
