"""The parked posts of a gateway, for an operator: listed, retried, withdrawn and exported, many at a time.

A post that may have left is retried only by somebody who says so: it could appear
twice. Nothing here knows who has written a post.
"""

import base64
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tarry.keep.errors import NoSuchPost, TooLate
from tarry.keep.gate import Gate
from tarry.keep.posts import State
from tarry.keep.store import Transaction, moment, snapshot

__all__ = ["ParkedPost", "change_each", "exported", "parked_posts", "split_doubt"]


@dataclass(frozen=True, kw_only=True)
class ParkedPost:
    """A post that could not be delivered, and waits for a person.

    >>> known = {"space": "talk", "target": "paper 3", "at": Fraction(60), "attempts": 1}
    >>> ParkedPost(post=7, **known, problem="the webhook hung up", in_doubt=True).as_json()["may_have_left"]
    True
    """

    post: int  # its random key
    space: str
    target: str
    at: Fraction  # its release, in seconds since 1970
    attempts: int
    problem: str
    in_doubt: bool  # whether it may have left

    def as_json(self) -> dict[str, Any]:
        """The post as JSON."""
        return {
            "post": str(self.post),
            "space": self.space,
            "target": self.target,
            "release_at": moment(self.at),
            "attempts": self.attempts,
            "problem": self.problem,
            "may_have_left": self.in_doubt,
        }


def parked_posts(
    transaction: Transaction,
    *,
    ids: Collection[int] = (),
    space: str | None = None,
    target: str | None = None,
) -> list[ParkedPost]:
    """The parked posts with these ids (all, if none are given), of this space and on this target.

    >>> from tarry.gateway.testing import small_gateway
    >>> with small_gateway().store.transaction("reading") as transaction:
    ...     parked_posts(transaction, space="talk")
    []
    """
    rows = {int(row["id"]): row for row in transaction.all("parked")}
    if missing := sorted(set(ids) - set(rows)):
        raise NoSuchPost(f"no parked post has the id {missing[0]}: tarry parked list shows them")
    tick = snapshot(transaction).settings.tick
    posts = (
        ParkedPost(
            post=number,
            space=row["outlet"],
            target=row["target"],
            at=row["release"] * tick,
            attempts=row["attempts"],
            problem=row["problem"] or "",
            in_doubt=State(row["state"]).in_doubt,
        )
        for number, row in rows.items()
        if not ids or number in ids
    )
    return [
        post
        for post in posts
        if (space is None or post.space == space) and (target is None or post.target == target)
    ]


def split_doubt(posts: Iterable[ParkedPost]) -> tuple[list[ParkedPost], list[ParkedPost]]:
    """Those that have certainly not left, and those that may have.

    >>> split_doubt([])
    ([], [])
    """
    posts = list(posts)
    return [post for post in posts if not post.in_doubt], [post for post in posts if post.in_doubt]


def change_each(change: Callable[[int], None], posts: Iterable[ParkedPost]) -> list[ParkedPost]:
    """Retry or withdraw posts, each in a transaction of its own; those that were still parked.

    >>> change_each(lambda post: None, [])
    []
    """
    changed = []
    for post in posts:
        try:
            change(post.post)
        except (TooLate, NoSuchPost):  # somebody else has just seen to it
            continue
        changed.append(post)
    return changed


def exported(receipts: Gate, posts: Iterable[ParkedPost]) -> Iterator[dict[str, Any]]:
    """Each post with its content and options; without them where they cannot be opened.

    >>> from tarry.gateway.testing import small_gateway
    >>> list(exported(small_gateway().receipts, []))
    []
    """
    for post in posts:
        try:
            content, options = receipts.content_of(post.post), receipts.options_of(post.post)
        except (TooLate, NoSuchPost):  # somebody else has just seen to it
            continue
        except Exception:  # noqa: BLE001 - whatever the cipher says: one post must not hide the others
            yield {**post.as_json(), "content": None, "options": None}
            continue
        yield {**post.as_json(), **_text(content), "options": dict(options)}


def _text(content: bytes) -> dict[str, str]:
    try:
        return {"content": content.decode()}
    except UnicodeDecodeError:
        return {"content_base64": base64.b64encode(content).decode()}
