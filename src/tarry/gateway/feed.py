"""The feed: what has been released, in the order of release.

Written in the transaction that marks a post as released, so each release is there exactly once. Read by
everybody: these rows are all that the public's questions are answered from.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple

from tarry.core.errors import BadInput
from tarry.keep.clock import MICROS, moment
from tarry.keep.errors import Unavailable
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Release
from tarry.keep.store import Row, Store, Transaction

__all__ = ["MOST_BYTES", "MOST_ITEMS", "Feed", "FeedOutlet", "Item", "Size"]

#: How many releases one answer holds at most, and how many bytes as JSON, unless a single one has more.
MOST_ITEMS = 500
MOST_BYTES = 7 << 20
_MOST_OPTIONS = 16 << 10
_DELETED = "this release was deleted while it was read"


@dataclass(frozen=True, kw_only=True)
class Item:
    """One release, as the public sees it.

    >>> Item(position=1, id="ab", target="paper 3", content=b"I agree.", options={}, at=60_000_000).moment
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


class Size(NamedTuple):
    """How much a release is.

    >>> Size(position=1, encoded=306).encoded
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
    batch = 500

    def __init__(self, space: str) -> None:
        self.space = space

    def check(self, options: Mapping[str, Any]) -> None:
        """What is shown beside the content is small."""
        if options and len(json.dumps(dict(options))) > _MOST_OPTIONS:
            raise BadInput("the options of a post to a feed", "are at most 16 KiB of JSON", found="more")

    def deliver(self, release: Release) -> None:
        """Nothing leaves the store before `record`."""

    def record(self, transaction: Transaction, releases: Sequence[Release]) -> None:
        """Publish, in the order of ticks, inside the transaction that marks them as released."""
        if not releases:
            return
        # One writer of a feed at a time: a reader who has seen a position has seen all before it.
        transaction.lock([blake2b(self.space.encode(), digest_size=8, person=b"tarry feed").digest()])
        row = transaction.one("last_position", space=self.space)
        last = 0 if row is None or row["position"] is None else int(row["position"])
        transaction.many("publish", [self._row(last + n, r) for n, r in enumerate(releases, 1)])

    def _row(self, position: int, release: Release) -> dict[str, object]:
        return {
            "space": self.space,
            "position": position,
            "id": release.id,
            "target": release.target,
            "content": release.content,
            "options": json.dumps(dict(release.options), sort_keys=True),
            "at": int(release.at * MICROS),
        }


class Feed:
    """Reads what has been released in one space.

    >>> from tarry.gateway.stores import open_store
    >>> Feed(open_store(":memory:"), "talk").latest(10)
    []
    """

    def __init__(self, store: Store, space: str) -> None:
        self._store, self.space = store, space

    def after(self, position: int, most: int = MOST_ITEMS, enough: int = MOST_BYTES) -> list[Item]:
        """What was released after a place in the order, first things first: fewer where they are large."""
        sizes = self.sizes_after(position, most, enough)
        return self.between(sizes[0].position, sizes[-1].position) if sizes else []

    def latest(self, most: int = MOST_ITEMS, enough: int = MOST_BYTES) -> list[Item]:
        """What was released last, last things first."""
        sizes = self.sizes_latest(most, enough)
        return self.between(sizes[-1].position, sizes[0].position)[::-1] if sizes else []

    def sizes_after(self, position: int, most: int = MOST_ITEMS, enough: int = MOST_BYTES) -> list[Size]:
        """How much one answer holds of what was released after a place, first things first."""
        with self._store.transaction("reading") as transaction:
            rows = transaction.all("sizes_after", space=self.space, position=position, most=most)
        return _fitting(rows, enough)

    def sizes_latest(self, most: int = MOST_ITEMS, enough: int = MOST_BYTES) -> list[Size]:
        """How much one answer holds of what was released last, last things first."""
        with self._store.transaction("reading") as transaction:
            rows = transaction.all("sizes_latest", space=self.space, most=most)
        return _fitting(rows, enough)

    def between(self, first: int, last: int) -> list[Item]:
        """What was released from one position to another, both included."""
        place = {"space": self.space, "position": first - 1, "most": last - first + 1}
        with self._store.transaction("reading") as transaction:
            rows = transaction.all("feed_after", **place)
        return [_item(row) for row in rows if row["position"] <= last]

    def one(self, position: int) -> Item:
        """One release."""
        for item in self.between(position, position):
            return item
        raise Unavailable(_DELETED)

    def part(self, position: int, start: int, length: int) -> bytes:
        """Some bytes of one content, from a place on."""
        place = {"space": self.space, "position": position, "start": start + 1, "length": length}
        with self._store.transaction("reading") as transaction:
            row = transaction.one("content_part", **place)
        if row is None:
            raise Unavailable(_DELETED)
        return bytes(row["content"])

    def last_position(self) -> int:
        """Where the feed ends."""
        with self._store.transaction("reading") as transaction:
            row = transaction.one("last_position", space=self.space)
        return 0 if row is None or row["position"] is None else int(row["position"])


def _fitting(rows: Sequence[Row], enough: int) -> list[Size]:
    """As many of these as are not too much together; one at least, if there is one.

    Asked before they are read: nothing is taken into memory that would not be told.
    """
    sizes = [Size(int(row["position"]), int(row["encoded"])) for row in rows]
    totals = accumulate(size.encoded for size in sizes)
    return sizes[: max(1, sum(total <= enough for total in totals))]


def _item(row: Row) -> Item:
    return Item(
        position=row["position"],
        id=row["id"],
        target=row["target"],
        content=bytes(row["content"]),
        options=json.loads(row["options"]),
        at=row["at"],
    )
