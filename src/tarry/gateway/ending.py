"""Ending a space: it takes nothing more in, what waits leaves, and in the end its rows can go.

A space is removed when nothing of it is on its way or can be asked for any more: otherwise another space of
its name would stand beside acts that were promised something else, or a receipt would know no space.
"""

import json
from dataclasses import replace

from tarry.core.errors import NotPossible
from tarry.gateway.book import Book, Space, read_book
from tarry.gateway.straddling import first_quiet
from tarry.keep.clock import Clock, moment
from tarry.keep.closing import RECEIPT_DAYS
from tarry.keep.store import Snapshot, Transaction, arrival_tick, snapshot

__all__ = ["check_removable", "end_space", "remove_space"]


def end_space(transaction: Transaction, clock: Clock, name: str) -> Space:
    """Take nothing more in, for good. What waits leaves at its time; the feed stays.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("closing") as transaction:
    ...     end_space(transaction, gateway.clock, "talk").is_open
    False
    """
    space = read_book(transaction).space(name)
    if space.has_ended:
        raise NotPossible(f"space {name!r} has ended already")
    tick = arrival_tick(snapshot(transaction), clock)
    transaction.tell("end_space", name=name, tick=tick)
    transaction.tell("turn_page")
    return replace(space, is_open=False, ended_tick=tick)


def check_removable(transaction: Transaction, clock: Clock, name: str) -> Space:
    """The space, if it can be removed now; otherwise why not, and when.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     check_removable(transaction, gateway.clock, "talk")
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: space 'talk' has not ended: tarry space end talk goes first
    """
    book, here = read_book(transaction), snapshot(transaction)
    space = book.space(name)
    if space.ended_tick is None:
        raise NotPossible(f"space {name!r} has not ended: tarry space end {name} goes first")
    if len(book.spaces) == 1:
        raise NotPossible(f"{name!r} is the only space, and a gateway has at least one: add another first")
    if transaction.one("is_busy", space=name):
        raise NotPossible(f"posts of {name!r} wait or are parked: let them leave, or withdraw them, first")
    first, tick = _removable_from(transaction, here, space), here.settings.tick
    if arrival_tick(here, clock) < first:
        raise NotPossible(
            f"what left {name!r} may still be asked for or compared: try again after {moment(first * tick)}"
        )
    return space


def remove_space(transaction: Transaction, clock: Clock, name: str) -> None:
    """Forget a space that has ended: its feed, its policies, what the ledger holds of it, and its tokens.

    A token that is good for this space alone is revoked. One that is good for others too keeps those.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("closing") as transaction:
    ...     remove_space(transaction, gateway.clock, "nowhere")
    Traceback (most recent call last):
    tarry.gateway.book.NoSuchSpace: this gateway has no space 'nowhere'
    """
    space = check_removable(transaction, clock, name)
    for version in space.versions:
        transaction.tell("forget_period", period=space.period(version))
    _limit_tokens(transaction, read_book(transaction), name)
    transaction.tell("forget_receipts", space=name)
    transaction.tell("forget_releases", space=name)
    transaction.tell("forget_versions", space=name)
    transaction.tell("forget_space", space=name)
    transaction.tell("turn_page")


def _removable_from(transaction: Transaction, here: Snapshot, space: Space) -> int:
    """The first tick at which no promise reaches back to it, and no receipt of it is answered."""
    quiet = first_quiet(space, space.version.policy, space.ended_tick or 0)
    row = transaction.one("last_release_of", space=space.name)
    if row is None or row["release"] is None:
        return quiet
    return max(quiet, int(row["release"] + RECEIPT_DAYS * 24 * 3600 / here.settings.tick) + 1)


def _limit_tokens(transaction: Transaction, book: Book, name: str) -> None:
    for token in book.tokens.values():
        if name in token.spaces:
            rest = sorted(token.spaces - {name})
            if rest:
                transaction.tell("limit_token", id=token.id, spaces=json.dumps(rest))
            else:  # an empty list would mean all of them
                transaction.tell("revoke_token", id=token.id)
