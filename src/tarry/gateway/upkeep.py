"""What an operator looks after: parked posts, many at a time, and rows that are old enough to be deleted.

A parked post that may have left is retried only by somebody who says so: it could appear twice. Nothing
here knows who has written a post.

Nothing that is deleted here is needed to keep a promise. What the next step of something depends on stays:
the last release of a feed, the last hour with arrivals, the choice of an account that holds.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from tarry.core.errors import BadInput
from tarry.core.exact import format_duration, ticks_up
from tarry.gateway.catalog import Space, read_catalog
from tarry.keep.closing import RECEIPT_DAYS, hour_ticks
from tarry.keep.errors import NoSuchPost, TooLate
from tarry.keep.gate import Gate
from tarry.keep.outlet import content_fields
from tarry.keep.posts import State
from tarry.keep.sharing import StoreSettings
from tarry.keep.store import MICROS, Clock, Store, Transaction, advance, moment, snapshot

__all__ = [
    "LEAST_S",
    "PRUNED",
    "ParkedPost",
    "What",
    "change_each",
    "exported",
    "parked_posts",
    "prune",
    "split_doubt",
]


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
        with suppress(TooLate, NoSuchPost):  # somebody else has just seen to it
            change(post.post)
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
        yield {**post.as_json(), **content_fields(content), "options": dict(options)}


# --- pruning: releases, counts of arrivals, replaced choices, the ledger of old policies ----------

#: What can be pruned:
#: feed       releases in the feeds; whoever follows a feed has seen them, and nobody else can any more
#: hours      arrivals counted by the hour
#: adoptions  choices of accounts, in or out of delays, that a later choice has replaced
#: ledger     batched acts by account, under policies that another one has replaced, and of ended spaces
What = Literal["feed", "hours", "adoptions", "ledger"]
PRUNED: tuple[What, ...] = get_args(What)
#: Receipts are answered for so long, and say what became of a post.
LEAST_S = RECEIPT_DAYS * 24 * 3600
_AT_A_TIME = 500  # rows in one transaction: others want to write, too


class _Undo(Exception):
    """Undoes a transaction."""


def prune(
    store: Store,
    clock: Clock,
    what: What,
    older_than: Fraction,
    *,
    space: str | None = None,
    dry: bool = False,
) -> int:
    """Delete rows that are older than so many seconds, of one space or of all; how many.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> prune(gateway.store, gateway.clock, "feed", Fraction(90 * 24 * 3600))
    0
    """
    if older_than < LEAST_S:
        raise BadInput(
            f"only what is {RECEIPT_DAYS}d old or older may be pruned, not {format_duration(older_than)}",
            "give a longer age",
        )
    if space is not None and what not in {"feed", "ledger"}:
        raise BadInput(f"{what} cannot be pruned for space {space!r} alone", "leave the space out")
    with store.transaction("reading") as transaction:
        here, catalog = snapshot(transaction), read_catalog(transaction)
    before = Fraction(advance(here.anchor, clock.read(here.now)).time, MICROS) - older_than
    spaces = list(catalog.spaces.values()) if space is None else [catalog.space(space)]
    statements = _statements(what, here.settings, before, spaces, 1 << 62 if dry else _AT_A_TIME)
    return sum((_try_out if dry else _repeat)(store, name, values) for name, values in statements)


def _statements(
    what: What, settings: StoreSettings, before: Fraction, spaces: list[Space], most: int
) -> list[tuple[str, dict[str, object]]]:
    """The statements to run, by name and with their values, each until it changes nothing."""
    tick = max(0, ticks_up(before, settings.tick) - 1)
    if what == "feed":
        same = {"before": int(before * MICROS), "most": most}
        return [("prune_feed", {"space": space.name, **same}) for space in spaces]
    if what == "ledger":
        periods = (period for space in spaces for period in _old_periods(space, tick))
        return [("forget_period", {"period": period}) for period in periods]
    if what == "hours":
        return [("prune_hours", {"before": tick // hour_ticks(settings)})]
    return [("prune_adoptions", {"before": tick})]


def _old_periods(space: Space, tick: int) -> list[str]:
    """The versions under which nothing has arrived since this tick."""
    ends = [*(version.first_tick for version in space.versions[1:]), space.ended_tick]
    return [
        space.period(version)
        for version, end in zip(space.versions, ends, strict=True)
        if end is not None and end <= tick
    ]


def _repeat(store: Store, name: str, values: dict[str, object]) -> int:
    total, changed = 0, 1
    while changed:
        with store.transaction("working") as transaction:
            changed = transaction.run(name, **values)
        total += changed
    return total


def _try_out(store: Store, name: str, values: dict[str, object]) -> int:
    """How many rows would go: it is done and undone."""
    changed = 0
    with suppress(_Undo), store.transaction("working") as transaction:
        changed = transaction.run(name, **values)
        raise _Undo
    return changed
