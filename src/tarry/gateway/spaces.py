"""Spaces: making them, pausing them, and giving them another policy without breaking the old promise.

Each change is part of a *closing* transaction: no admission runs beside it, and the next one sees it.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.gateway.book import Space, Version, read_book
from tarry.gateway.outlets import make_outlet, may_take_over
from tarry.gateway.straddling import first_quiet
from tarry.keep.candidates import Adoption
from tarry.keep.clock import Clock
from tarry.keep.keys import Keys
from tarry.keep.store import StoreSettings, Transaction, arrival_tick, begin_store, snapshot
from tarry.keep.vault import own_key

__all__ = [
    "add_space",
    "adopt_delays",
    "change_policy",
    "change_space",
    "forget_account",
    "new_space",
    "next_version",
    "open_space",
]

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_TITLE = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
_BUSY = "posts for the old place wait or are parked: pause the space until they have left, or withdraw them"
_ANY_KEY = Keys(bytes(32))  # whether an outlet can be made does not depend on it


def add_space(
    transaction: Transaction,
    keys: Keys,
    clock: Clock,
    name: str,
    policy: Policy,
    *,
    title: str = "",
    circle: str = "all",
    outlet: Mapping[str, Any] | None = None,
    adoption: Adoption = "everyone",
    sealed: bool = False,
) -> Space:
    """Make a space; the first one founds the store, and later ones share its tick, window and labels.

    >>> from tarry.gateway.stores import open_store
    >>> from tarry.testing import ManualClock
    >>> policy = Policy(epsilon="1", gap="11m", window="5m")
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     add_space(transaction, Keys(bytes(32)), ManualClock(), "talk", policy).title
    'talk'
    """
    space = new_space(name, policy, title=title, circle=circle, outlet=outlet, adoption=adoption)
    if name in read_book(transaction).spaces:
        raise BadInput("a new space", "has a name of its own", found=f"another space {name!r}")
    begin_store(transaction, StoreSettings.of(policy, sealed=sealed), clock)
    own_key(transaction, keys)
    here = snapshot(transaction)
    here.settings.check(policy)
    transaction.tell(
        "insert_space",
        name=name,
        title=space.title,
        circle=circle,
        outlet=json.dumps(dict(space.outlet), sort_keys=True),
        adoption=adoption,
    )
    _insert_version(transaction, name, space.version)
    transaction.tell("turn_page")
    return space


def new_space(
    name: str,
    policy: Policy,
    *,
    title: str = "",
    circle: str = "all",
    outlet: Mapping[str, Any] | None = None,
    adoption: Adoption = "everyone",
) -> Space:
    """A space that is nowhere yet, or why it cannot be one: told before anything is made.

    >>> new_space("talk", Policy(epsilon="1", gap="11m")).title
    'talk'
    """
    space = Space(
        name=name,
        title=title or name,
        circle=circle,
        outlet=dict(outlet or {"kind": "feed"}),
        versions=(Version(number=1, text=write_policy(policy), first_tick=0),),
        adoption=adoption,
    )
    _check(space)
    make_outlet(space, _ANY_KEY)  # refuses what could never work, while somebody reads why
    return space


def open_space(transaction: Transaction, name: str, *, is_open: bool) -> None:
    """Let posts come in, or none until further notice. What waits leaves at its time all the same.

    >>> from tarry.gateway.stores import open_store
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     open_space(transaction, "talk", is_open=False)
    Traceback (most recent call last):
    tarry.gateway.book.NoSuchSpace: this gateway has no space 'talk'
    """
    space = read_book(transaction).space(name)
    if is_open:
        _check_goes_on(space)
    _change(transaction, space, is_open=is_open)


def change_space(
    transaction: Transaction,
    name: str,
    *,
    title: str | None = None,
    outlet: Mapping[str, Any] | None = None,
) -> Space:
    """Give a space another title, or send what it releases elsewhere from the next delivery on.

    What waits leaves where it was meant to. Who is delayed, and who shares actors, stays: it was promised.

    >>> from tarry.gateway.stores import open_store
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     change_space(transaction, "talk", outlet={"kind": "feed"})
    Traceback (most recent call last):
    tarry.gateway.book.NoSuchSpace: this gateway has no space 'talk'
    """
    space = read_book(transaction).space(name)
    told = {"title": space.title if title is None else title, "outlet": dict(outlet or space.outlet)}
    changed = Space(**{**vars(space), **told})
    _check(changed)
    if outlet is not None:
        make_outlet(changed, _ANY_KEY)
        if not may_take_over(space.outlet, outlet) and transaction.one("is_busy", space=name):
            raise NotPossible(_BUSY)
    _change(transaction, changed, is_open=space.is_open)
    return changed


def change_policy(
    transaction: Transaction, clock: Clock, name: str, policy: Policy, *, accept_straddle: bool = False
) -> Version:
    """Give a space another policy; admission pauses until no pair can straddle the change.

    With `accept_straddle` it takes effect at once; `cost_at_once` tells what that costs.

    >>> from tarry.gateway.stores import open_store
    >>> from tarry.testing import ManualClock
    >>> keys, clock = Keys(bytes(32)), ManualClock()
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     space = add_space(transaction, keys, clock, "talk", Policy(epsilon="1", gap="11m"))
    ...     version = change_policy(transaction, clock, "talk", Policy(epsilon="2", gap="11m"))
    ...     version.first_tick - (clock.wall // 1_000_000)
    961
    """
    version = next_version(transaction, clock, name, policy, accept_straddle=accept_straddle)
    _insert_version(transaction, name, version)
    transaction.tell("turn_page")
    return version


def next_version(
    transaction: Transaction, clock: Clock, name: str, policy: Policy, *, accept_straddle: bool = False
) -> Version:
    """The version that `change_policy` would make now; nothing is changed.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     policy = Policy(epsilon="1", gap="1h", window="10s")
    ...     next_version(transaction, gateway.clock, "talk", policy).number
    2
    """
    space = read_book(transaction).space(name)
    _check_goes_on(space)
    here = snapshot(transaction)
    here.settings.check(policy)
    if write_policy(policy) == space.version.text:
        raise BadInput("a new version", "differs from the one that holds", found="the same policy")
    tick = arrival_tick(here, clock)
    first = tick if accept_straddle else max(first_quiet(space, policy, tick), space.version.first_tick)
    return Version(number=space.version.number + 1, text=write_policy(policy), first_tick=first)


def adopt_delays(
    transaction: Transaction, keys: Keys, clock: Clock, name: str, *, actor: str, delayed: bool
) -> int:
    """Let an account opt in or out of delays, ahead of time: the first tick at which it holds.

    >>> from tarry.gateway.stores import open_store
    >>> from tarry.testing import ManualClock
    >>> keys, clock, policy = Keys(bytes(32)), ManualClock(), Policy(epsilon="1", gap="11m")
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     space = add_space(transaction, keys, clock, "talk", policy, adoption="opt-out")
    ...     tick = adopt_delays(transaction, keys, clock, "talk", actor="ann", delayed=False)
    >>> tick - (clock.wall // 1_000_000)
    961
    """
    book = read_book(transaction)
    space = book.space(name)
    if space.adoption == "everyone":
        raise BadInput(
            "an account's choice", "is offered by its space", found="a space that delays everyone"
        )
    if not actor:
        raise BadInput("an account", "has a name", found="none")
    circle = [each for each in book.spaces.values() if each.circle == space.circle]
    tick = arrival_tick(snapshot(transaction), clock)
    first = max(first_quiet(each, each.version.policy, tick) for each in circle)
    account = keys.account(keys.actor(f"{space.circle}/{actor}"))
    transaction.tell("adopt_delays", account=account, first_tick=first, delayed=int(delayed))
    return first


def _check_goes_on(space: Space) -> None:
    if space.has_ended:
        raise NotPossible(f"space {space.name!r} has ended: make a new one with tarry space add")


def forget_account(
    transaction: Transaction, keys: Keys, name: str, *, actor: str, at_once: bool = False
) -> bool:
    """Erase what the ledger counts for an account, and what it chose; whether that is all there is of it.

    The account is one of all spaces of a circle. What it did in the last three windows is still to be
    counted: then this has to be done again. A choice that holds has to be taken back first, unless the
    change may show at once.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("closing") as transaction:
    ...     forget_account(transaction, gateway.keys, "talk", actor="ann")
    True
    """
    book = read_book(transaction)
    space = book.space(name)
    if not actor:
        raise BadInput("an account", "has a name", found="none")
    circle = [each for each in book.spaces.values() if each.circle == space.circle]
    hashed = keys.actor(f"{space.circle}/{actor}")
    account = keys.account(hashed)
    choices, closed = transaction.all("choices", account=account), snapshot(transaction).closed
    past = [row for row in choices if row["first_tick"] <= closed]
    defaults = {each.adoption == "opt-out" for each in circle if each.adoption != "everyone"}
    if not at_once and any(defaults - {bool(row["delayed"])} for row in choices[max(0, len(past) - 1) :]):
        raise NotPossible(
            "the account's choice about delays holds, and forgetting it would show: let it choose the "
            "default of its space and wait until that holds, or give --at-once"
        )
    transaction.tell("forget_counts", account=account)
    transaction.tell("forget_choices", account=account)
    return transaction.one("has_arrived", actor=hashed) is None


def _check(space: Space) -> None:
    rule = "is 1 to 63 small letters, digits and hyphens, no hyphen first"
    for what, text in (("space", space.name), ("circle", space.circle)):
        if not _NAME.fullmatch(text):
            raise BadInput(f"the name of a {what}", rule, found=repr(text))
    if not _TITLE.fullmatch(space.title):
        raise BadInput(
            "the title of a space", "is 1 to 200 characters on one line", found=repr(space.title)
        )


def _change(transaction: Transaction, space: Space, *, is_open: bool) -> None:
    transaction.tell(
        "change_space",
        name=space.name,
        title=space.title,
        outlet=json.dumps(dict(space.outlet), sort_keys=True),
        is_open=int(is_open),
    )
    transaction.tell("turn_page")


def _insert_version(transaction: Transaction, space: str, version: Version) -> None:
    transaction.tell(
        "insert_version",
        space=space,
        version=version.number,
        policy=version.text,
        first_tick=version.first_tick,
    )
