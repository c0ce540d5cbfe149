"""`tarry space policy`: another policy, after a pause or at once; what that costs is known first."""

import argparse
from math import inf

from tarry.cli.show import print_answer, rounded, utc_text
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.straddle import Straddle
from tarry.gateway.catalog import Space, read_catalog
from tarry.gateway.policy_changes import change_policy, check_unchanged, cost_at_once, next_version
from tarry.keep.store import Store, arrival_tick, snapshot

__all__ = ["change_policy_of"]


def change_policy_of(arguments: argparse.Namespace, store: Store, policy: Policy) -> None:
    """Give a space another policy, or print what that would cost."""
    clock, name, at_once = store.clock(), arguments.name, arguments.accept_straddle
    if arguments.yes and not at_once:
        raise BadInput("--yes does nothing alone", "use it with --accept-straddle")
    if not (at_once or arguments.dry_run):
        with store.transaction("closing") as transaction:
            version = change_policy(transaction, clock, name, policy)
        at = version.begins_at
        print_answer(
            arguments,
            f"{name} has policy {version.number}; it takes nothing in until {utc_text(at)}, so that no two "
            "acts\ncan straddle the change; what waits leaves at its time",
            space=name,
            version=version.number,
            resumes_at=at,
        )
        return
    space, loss = _cost(store, name, policy)  # before the doors stand still: it takes a while
    if arguments.dry_run:
        with store.transaction("reading") as transaction:
            later = next_version(transaction, clock, name, policy)
            ticks = later.first_tick - arrival_tick(snapshot(transaction), clock)
        at, closed = later.begins_at, ticks * policy.tick
        print_answer(
            arguments,
            f"{name} keeps the policy it has; the new one would close it for {rounded(closed)}:\n"
            f"it would take nothing in until {utc_text(at)}, and what waits would leave at its time\n"
            f"at once (--accept-straddle):\n{_loss_text(loss, 'the change would cost nothing')}",
            space=name,
            version=None,
            resumes_at=at,
            closed_s=closed,
            **_loss_json(loss),
        )
        return
    if loss.extra == inf and not arguments.yes:
        raise NotPossible(
            "changing at once may reveal without bound who acted on both sides of the change: leave "
            "--accept-straddle out and wait, or add --yes (--dry-run shows more)"
        )
    with store.transaction("closing") as transaction:
        check_unchanged(space, read_catalog(transaction).space(name))
        version = change_policy(transaction, clock, name, policy, accept_straddle=True)
    print_answer(
        arguments,
        f"{name} has policy {version.number} from now on\n{_loss_text(loss, 'the change costs nothing')}",
        space=name,
        version=version.number,
        **_loss_json(loss),
    )


def _cost(store: Store, name: str, policy: Policy) -> tuple[Space, Straddle]:
    with store.transaction("reading") as transaction:
        space, here = read_catalog(transaction).space(name), snapshot(transaction)
    here.settings.check(policy)
    return space, cost_at_once(space, policy, arrival_tick(here, store.clock()))


# --- what is printed -------------------------------------------------------------------------------


def _loss_json(loss: Straddle) -> dict[str, object]:
    unbounded = loss.extra == inf  # JSON has no infinity
    return {
        "extra_nats": None if unbounded else loss.extra,
        "unbounded": unbounded,
        "extra_chance": loss.chance,
        "worst": loss.at,
    }


def _loss_text(loss: Straddle, nothing: str) -> str:
    if loss.free:
        return nothing
    much = "without bound" if loss.extra == inf else f"by {loss.extra:.6g} nats"
    grows = f"delta grows by {loss.chance:.6g}"
    loses = f"each may lose more than was promised, {much}"
    return f"acts that straddle the change: {grows if loss.chance else loses}\nthe worst: {loss.at}"
