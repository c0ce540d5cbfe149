"""`tarry space policy`: another policy, after a pause or at once; what that costs is known first."""

import argparse
from math import inf

from tarry.cli.spaces import tell_change, tell_plan, tell_straddle
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.straddle import Straddle
from tarry.gateway.book import Space, read_book
from tarry.gateway.config import Config
from tarry.gateway.spaces import change_policy, next_version
from tarry.gateway.straddling import check_unchanged, cost_at_once
from tarry.keep.store import Store, arrival_tick, snapshot

__all__ = ["change"]


def change(arguments: argparse.Namespace, _: Config, store: Store) -> None:
    """Give a space another policy, or tell what that would cost."""
    ((name, policy),), clock = arguments.chosen.items(), store.clock()
    at_once, as_json = arguments.accept_straddle, arguments.json
    if arguments.yes and not at_once:
        raise BadInput("--yes", "goes with --accept-straddle", found="it alone")
    if not (at_once or arguments.dry_run):
        with store.transaction("closing") as transaction:
            version = change_policy(transaction, clock, name, policy)
        tell_change(name, version, as_json=as_json)
        return
    space, loss = _cost(store, name, policy)  # before the doors stand still: it takes a while
    if arguments.dry_run:
        with store.transaction("reading") as transaction:
            later = next_version(transaction, clock, name, policy)
            ticks = later.first_tick - arrival_tick(snapshot(transaction), clock)
        tell_plan(name, later, ticks * policy.tick, loss, as_json=as_json)
        return
    if loss.extra == inf and not arguments.yes:
        raise NotPossible(
            "at once this change may tell without bound who acted on both sides of it: leave "
            "--accept-straddle out and wait, or give --yes too (--dry-run tells more)"
        )
    with store.transaction("closing") as transaction:
        check_unchanged(space, read_book(transaction).space(name))
        version = change_policy(transaction, clock, name, policy, accept_straddle=True)
    tell_straddle(name, version.number, loss, as_json=as_json)


def _cost(store: Store, name: str, policy: Policy) -> tuple[Space, Straddle]:
    with store.transaction("reading") as transaction:
        space, here = read_book(transaction).space(name), snapshot(transaction)
    here.settings.check(policy)
    return space, cost_at_once(space, policy, arrival_tick(here, store.clock()))
