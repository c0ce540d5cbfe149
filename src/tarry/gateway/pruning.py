"""Deleting what is old: releases, counts of arrivals, replaced choices, the ledger of old policies.

Nothing here is needed to keep a promise. What the next step of something depends on stays: the last release
of a feed, the last hour with arrivals, the choice of an account that holds.
"""

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Literal, get_args

from tarry.core.errors import BadInput
from tarry.core.exact import format_duration, ticks_up
from tarry.gateway.catalog import Space, read_catalog
from tarry.keep.closing import RECEIPT_DAYS, hour_ticks
from tarry.keep.sharing import StoreSettings
from tarry.keep.store import MICROS, Clock, Store, Transaction, advance, snapshot

__all__ = ["LEAST_S", "PRUNED", "What", "prune"]

#: What can be pruned:
#: feed       releases in the feeds; whoever follows a feed has seen them, and nobody else can any more
#: hours      arrivals counted by the hour
#: adoptions  choices of accounts, in or out of delays, that a later choice has replaced
#: ledger     batched acts by account, under policies that another one has replaced, and of ended spaces
What = Literal["feed", "hours", "adoptions", "ledger"]
PRUNED: tuple[What, ...] = get_args(What)
#: Receipts are answered for so long, and say what became of a post.
LEAST_S = RECEIPT_DAYS * 24 * 3600
_OF_A_SPACE = ("feed", "ledger")
_AT_A_TIME = 500  # rows in one transaction: others want to write, too
_ALL = 1 << 62


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
        age = format_duration(older_than)
        raise BadInput(
            f"only what is {RECEIPT_DAYS}d old or older may be pruned, not {age}", "give a longer age"
        )
    if space is not None and what not in _OF_A_SPACE:
        raise BadInput(f"{what} cannot be pruned for space {space!r} alone", "leave the space out")
    with store.transaction("reading") as transaction:
        here, catalog = snapshot(transaction), read_catalog(transaction)
    before = Fraction(advance(here.anchor, clock.read(here.now)).time, MICROS) - older_than
    spaces = list(catalog.spaces.values()) if space is None else [catalog.space(space)]
    steps = _steps(what, here.settings, before, spaces, _ALL if dry else _AT_A_TIME)
    return sum((_try_out if dry else _repeat)(store, step) for step in steps)


Step = Callable[[Transaction], int]


def _steps(
    what: What, settings: StoreSettings, before: Fraction, spaces: list[Space], most: int
) -> list[Step]:
    """The steps to take, each until it changes nothing."""
    tick = max(0, ticks_up(before, settings.tick) - 1)
    if what == "feed":
        return [_feed(space, before, most) for space in spaces]
    if what == "ledger":
        return [_ledger(period) for space in spaces for period in _old_periods(space, tick)]
    if what == "hours":
        return [lambda transaction: transaction.run("prune_hours", before=tick // hour_ticks(settings))]
    return [lambda transaction: transaction.run("prune_adoptions", before=tick)]


def _feed(space: Space, before: Fraction, most: int) -> Step:
    micros = int(before * MICROS)
    return lambda transaction: transaction.run("prune_feed", space=space.name, before=micros, most=most)


def _ledger(period: str) -> Step:
    return lambda transaction: transaction.run("forget_period", period=period)


def _old_periods(space: Space, tick: int) -> list[str]:
    """The versions under which nothing has arrived since this tick."""
    ends = [*(version.first_tick for version in space.versions[1:]), space.ended_tick]
    return [
        space.period(version)
        for version, end in zip(space.versions, ends, strict=True)
        if end is not None and end <= tick
    ]


def _repeat(store: Store, step: Step) -> int:
    total = 0
    while True:
        with store.transaction("working") as transaction:
            changed = step(transaction)
        total += changed
        if not changed:
            return total


def _try_out(store: Store, step: Step) -> int:
    """How many rows would go: it is done and undone."""
    changed = 0
    with suppress(_Undo), store.transaction("working") as transaction:
        changed = step(transaction)
        raise _Undo
    return changed
