"""A store that was brought back: what may have left meanwhile, and letting it work again."""

from dataclasses import dataclass
from fractions import Fraction

from tarry.core.errors import NotPossible
from tarry.gateway.book import NO_SPACE
from tarry.keep.clock import Clock, advance, last_past_tick
from tarry.keep.closing import close_ticks
from tarry.keep.keys import Keys
from tarry.keep.posts import status_of
from tarry.keep.rows import unfinished_posts
from tarry.keep.store import Snapshot, Transaction, snapshot

__all__ = ["MayHaveLeft", "may_have_left", "resume"]

_PARKED = "it was due while the store was away, and may have left: look, then retry or withdraw it"


@dataclass(frozen=True, kw_only=True)
class MayHaveLeft:
    """A post that a backup holds as waiting, and that was to leave by now.

    >>> MayHaveLeft(post=7, space="talk", target="paper 3", at=Fraction(60)).space
    'talk'
    """

    post: int  # its random key
    space: str
    target: str
    at: Fraction  # when it was to leave, at the earliest; seconds since 1970


def may_have_left(transaction: Transaction, clock: Clock) -> list[MayHaveLeft]:
    """The waiting posts whose release lies in the past, or may.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     may_have_left(transaction, gateway.clock)
    []
    """
    here = snapshot(transaction)
    settings, past, found = here.settings, _past(here, clock), []
    for post in unfinished_posts(transaction):
        status = status_of(transaction, settings, post)
        if status.state == "waiting" and status.earliest is not None and status.earliest <= past:
            at = status.earliest * settings.tick
            found.append(MayHaveLeft(post=post.id, space=post.outlet, target=post.target, at=at))
    return sorted(found, key=lambda each: (each.at, each.post))


def resume(transaction: Transaction, keys: Keys, clock: Clock) -> int:
    """Let a paused store work again, inside a closing transaction; how many posts were parked for it.

    What was still without a label gets it when the ticks that were missed close, and its release may then
    turn out to lie in the past as well.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("closing") as transaction:
    ...     transaction.tell("pause", paused=1)
    ...     resume(transaction, gateway.keys, gateway.clock)
    0
    """
    if transaction.snapshot() is None:
        raise NotPossible(NO_SPACE)
    here = snapshot(transaction)
    if not here.settings.paused:
        raise NotPossible("this gateway is not paused: there is nothing to resume")
    # Before the ticks close, which would date them anew: a person needs to know when they were due.
    parked = transaction.run("park_overdue", tick=_past(here, clock), problem=_PARKED)
    transaction.tell("pause", paused=0)
    closed = close_ticks(transaction, keys, clock)
    return parked + transaction.run("park_overdue", tick=closed.tick, problem=_PARKED)


def _past(here: Snapshot, clock: Clock) -> int:
    return last_past_tick(advance(here.anchor, clock.read(here.now)).time, here.settings.tick)
