"""Changing spaces: making, pausing, ending and removing them, and what accounts choose in them.

Each change is part of a *closing* transaction: no admission runs beside it, and the next one sees it.
(Other policies for a space: `policy_changes`.)

A space is removed when nothing of it is on its way or can be asked for any more: otherwise another space of
its name would stand beside acts that were promised something else, or a receipt would name no space.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.gateway.catalog import Catalog, PolicyVersion, Space, read_catalog
from tarry.gateway.outlets import make_outlet, may_take_over
from tarry.gateway.policy_changes import check_not_ended, first_quiet, insert_version
from tarry.keep.admission import Adoption
from tarry.keep.closing import RECEIPT_DAYS
from tarry.keep.keys import Keys
from tarry.keep.sharing import Snapshot, StoreSettings, begin_store
from tarry.keep.store import Clock, Transaction, arrival_tick, moment, own_key, snapshot

__all__ = [
    "SpaceChoices",
    "add_space",
    "adopt_delays",
    "change_space",
    "check_removable",
    "end_space",
    "forget_account",
    "new_space",
    "open_space",
    "remove_space",
]

_ANY_KEY = Keys(bytes(32))  # whether an outlet can be made does not depend on it


class SpaceChoices(TypedDict, total=False):
    """What may be said about a new space.

    >>> new_space("talk", Policy(epsilon="1", gap="11m"), **SpaceChoices(circle="staff")).circle
    'staff'
    """

    title: str  # else its name
    circle: str  # else "all"
    outlet: Mapping[str, Any] | None  # else a feed
    adoption: Adoption  # else "everyone"


def add_space(
    transaction: Transaction,
    keys: Keys,
    clock: Clock,
    name: str,
    policy: Policy,
    *,
    sealed: bool = False,
    **choices: Unpack[SpaceChoices],
) -> Space:
    """Make a space; the first one sets the store's tick, window and labels, and later ones share them.

    >>> from tarry.gateway.database import open_store
    >>> from tarry.testing import ManualClock
    >>> policy = Policy(epsilon="1", gap="11m", window="5m")
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     add_space(transaction, Keys(bytes(32)), ManualClock(), "talk", policy).title
    'talk'
    """
    space = new_space(name, policy, **choices)
    if name in read_catalog(transaction).spaces:
        raise BadInput(f"space {name!r} already exists", "choose another name")
    begin_store(transaction, StoreSettings.of(policy, sealed=sealed), clock)
    own_key(transaction, keys)
    snapshot(transaction).settings.check(policy)
    transaction.tell(
        "insert_space",
        name=name,
        title=space.title,
        circle=space.circle,
        outlet=json.dumps(dict(space.outlet), sort_keys=True),
        adoption=space.adoption,
    )
    insert_version(transaction, name, space.version)
    return space


def new_space(name: str, policy: Policy, **choices: Unpack[SpaceChoices]) -> Space:
    """Build and check a space; nothing is stored.

    >>> new_space("talk", Policy(epsilon="1", gap="11m")).title
    'talk'
    """
    space = Space(
        name=name,
        title=choices.get("title") or name,
        circle=choices.get("circle", "all"),
        outlet=dict(choices.get("outlet") or {"kind": "feed"}),
        versions=(PolicyVersion(number=1, text=write_policy(policy), first_tick=0),),
        adoption=choices.get("adoption", "everyone"),
    )
    _check_names(space)
    make_outlet(space, _ANY_KEY)  # refuses what could never work, while somebody reads why
    return space


def open_space(transaction: Transaction, name: str, *, is_open: bool) -> None:
    """Open a space for posts, or pause it. What waits leaves at its time all the same.

    >>> from tarry.gateway.database import open_store
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     open_space(transaction, "talk", is_open=False)
    Traceback (most recent call last):
    tarry.gateway.catalog.NoSuchSpace: this gateway has no space 'talk': check its name
    """
    space = read_catalog(transaction).space(name)
    if is_open:
        check_not_ended(space)
    _update(transaction, space, is_open=is_open)


def change_space(
    transaction: Transaction,
    name: str,
    *,
    title: str | None = None,
    outlet: Mapping[str, Any] | None = None,
) -> Space:
    """Give a space another title, or another outlet from the next delivery on.

    What waits leaves where it was meant to. Who is delayed, and who shares actors, cannot change: it was
    promised.

    >>> from tarry.gateway.database import open_store
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     change_space(transaction, "talk", outlet={"kind": "feed"})
    Traceback (most recent call last):
    tarry.gateway.catalog.NoSuchSpace: this gateway has no space 'talk': check its name
    """
    space = read_catalog(transaction).space(name)
    changed = replace(
        space,
        title=space.title if title is None else title,
        outlet=dict(outlet or space.outlet),
    )
    _check_names(changed)
    if outlet is not None:
        make_outlet(changed, _ANY_KEY)
        if not may_take_over(space.outlet, outlet) and transaction.one("is_busy", space=name):
            raise NotPossible(
                f"posts for the old outlet of {name!r} wait or are parked: pause the space until they have "
                "left, or withdraw them"
            )
    _update(transaction, changed, is_open=space.is_open)
    return changed


def end_space(transaction: Transaction, clock: Clock, name: str) -> Space:
    """End a space: it accepts nothing any more. What waits leaves at its time; the feed stays.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("closing") as transaction:
    ...     end_space(transaction, gateway.clock, "talk").is_open
    False
    """
    space = read_catalog(transaction).space(name)
    if space.has_ended:
        raise NotPossible(f"space {name!r} has ended already: there is nothing to change")
    tick = arrival_tick(snapshot(transaction), clock)
    transaction.tell("end_space", name=name, tick=tick)
    transaction.tell("count_change")
    return replace(space, is_open=False, ended_tick=tick)


def check_removable(transaction: Transaction, clock: Clock, name: str) -> Space:
    """The space, if it can be removed now; otherwise why not, and when.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     check_removable(transaction, gateway.clock, "talk")
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: space 'talk' has not ended: run tarry space end talk first
    """
    catalog, here = read_catalog(transaction), snapshot(transaction)
    space = catalog.space(name)
    if space.ended_tick is None:
        raise NotPossible(f"space {name!r} has not ended: run tarry space end {name} first")
    if len(catalog.spaces) == 1:
        raise NotPossible(f"space {name!r} is the only one of this gateway: add another one first")
    if transaction.one("is_busy", space=name):
        raise NotPossible(f"posts of {name!r} wait or are parked: let them leave, or withdraw them, first")
    first, tick = _removable_from(transaction, here, space), here.settings.tick
    if arrival_tick(here, clock) < first:
        raise NotPossible(
            f"posts that left {name!r} may still be asked for or compared: try again after "
            f"{moment(first * tick)}"
        )
    return space


def remove_space(transaction: Transaction, clock: Clock, name: str) -> None:
    """Remove a space that has ended: its feed, its policies, what the ledger holds of it, and its tokens.

    A token for this space alone is revoked. One for other spaces too keeps those.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("closing") as transaction:
    ...     remove_space(transaction, gateway.clock, "nowhere")
    Traceback (most recent call last):
    tarry.gateway.catalog.NoSuchSpace: this gateway has no space 'nowhere': check its name
    """
    space = check_removable(transaction, clock, name)
    for version in space.versions:
        transaction.tell("forget_period", period=space.period(version))
    _limit_tokens(transaction, read_catalog(transaction), name)
    for statement in ("forget_receipts", "forget_releases", "forget_versions", "forget_space"):
        transaction.tell(statement, space=name)
    transaction.tell("count_change")


# --- accounts -------------------------------------------------------------------------------------


def adopt_delays(
    transaction: Transaction, keys: Keys, clock: Clock, name: str, *, actor: str, delayed: bool
) -> int:
    """Let an account opt in or out of delays, ahead of time: the first tick of its choice.

    >>> from tarry.gateway.database import open_store
    >>> from tarry.testing import ManualClock
    >>> keys, clock, policy = Keys(bytes(32)), ManualClock(), Policy(epsilon="1", gap="11m")
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     space = add_space(transaction, keys, clock, "talk", policy, adoption="opt-out")
    ...     tick = adopt_delays(transaction, keys, clock, "talk", actor="ann", delayed=False)
    >>> tick - (clock.wall // 1_000_000)
    961
    """
    catalog = read_catalog(transaction)
    space = catalog.space(name)
    if space.adoption == "everyone":
        raise BadInput(f"space {name!r} delays everyone", "choose a space that lets accounts opt in or out")
    _check_actor(actor)
    tick = arrival_tick(snapshot(transaction), clock)
    first = max(first_quiet(each, each.version.policy, tick) for each in _circle(catalog, space))
    account = keys.account(keys.actor(f"{space.circle}/{actor}"))
    transaction.tell("adopt_delays", account=account, first_tick=first, delayed=int(delayed))
    return first


def forget_account(
    transaction: Transaction, keys: Keys, name: str, *, actor: str, at_once: bool = False
) -> bool:
    """Erase what the ledger counts for an account, and its choice; whether nothing of it is left.

    The account is one of all spaces of a circle. What it did in the last three windows is not counted yet:
    then this has to be done again. A choice that is in force has to be taken back first, unless the change
    may show at once.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("closing") as transaction:
    ...     forget_account(transaction, gateway.keys, "talk", actor="ann")
    True
    """
    catalog = read_catalog(transaction)
    space = catalog.space(name)
    _check_actor(actor)
    hashed = keys.actor(f"{space.circle}/{actor}")
    account = keys.account(hashed)
    adoptions = {each.adoption for each in _circle(catalog, space)} - {"everyone"}
    defaults = {adoption == "opt-out" for adoption in adoptions}
    if not at_once and any(defaults - {delayed} for delayed in _choices_in_force(transaction, account)):
        raise NotPossible(
            "this account's choice about delays is in force, and forgetting it would show: let it choose "
            "the default of its space and wait until that is in force, or use --at-once"
        )
    transaction.tell("forget_counts", account=account)
    transaction.tell("forget_choices", account=account)
    return transaction.one("has_arrived", actor=hashed) is None


def _choices_in_force(transaction: Transaction, account: bytes) -> list[bool]:
    """Whether the account is delayed, by its present choice and by those that begin later."""
    rows, closed = transaction.all("choices", account=account), snapshot(transaction).closed
    past = sum(row["first_tick"] <= closed for row in rows)
    return [bool(row["delayed"]) for row in rows[max(0, past - 1) :]]


def _circle(catalog: Catalog, space: Space) -> list[Space]:
    return [each for each in catalog.spaces.values() if each.circle == space.circle]


def _check_actor(actor: str) -> None:
    if not actor:
        raise BadInput("the account has no name", "give the name by which its posts are submitted")


def _check_names(space: Space) -> None:
    name = (
        r"[a-z0-9][a-z0-9-]{0,62}",
        "be 1 to 63 small letters, digits and hyphens, without a hyphen first",
    )
    title = r"[^\x00-\x1f\x7f]{1,200}", "have 1 to 200 characters on one line"
    for what, text, (pattern, rule) in (
        ("name of a space", space.name, name),
        ("name of a circle", space.circle, name),
        ("title of a space", space.title, title),
    ):
        if not re.fullmatch(pattern, text):
            raise BadInput(f"the {what} must {rule}, not {text!r}")


def _update(transaction: Transaction, space: Space, *, is_open: bool) -> None:
    transaction.tell(
        "change_space",
        name=space.name,
        title=space.title,
        outlet=json.dumps(dict(space.outlet), sort_keys=True),
        is_open=int(is_open),
    )
    transaction.tell("count_change")


def _removable_from(transaction: Transaction, here: Snapshot, space: Space) -> int:
    """The first tick at which no promise reaches back to it, and no receipt of it is answered."""
    quiet = first_quiet(space, space.version.policy, space.ended_tick or 0)
    row = transaction.one("last_release_of", space=space.name)
    if row is None or row["release"] is None:
        return quiet
    return max(quiet, int(row["release"] + RECEIPT_DAYS * 24 * 3600 / here.settings.tick) + 1)


def _limit_tokens(transaction: Transaction, catalog: Catalog, name: str) -> None:
    for token in catalog.tokens.values():
        if name in token.spaces:
            if rest := sorted(token.spaces - {name}):
                transaction.tell("limit_token", id=token.id, spaces=json.dumps(rest))
            else:  # an empty list would mean all of them
                transaction.tell("revoke_token", id=token.id)
