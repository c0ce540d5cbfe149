"""`tarry space policy`: another policy, after a pause or at once; what that costs is known first."""

from fractions import Fraction
from math import inf

from tarry.cli.show import print_json, rounded, utc_text
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.straddle import Straddle
from tarry.gateway.catalog import PolicyVersion, Space, read_catalog
from tarry.gateway.policy_changes import change_policy, check_unchanged, cost_at_once, next_version
from tarry.keep.sharing import Snapshot
from tarry.keep.store import Clock, Store, advance, arrival_tick, now_tick, snapshot

__all__ = ["change_policy_of", "current_tick", "resumes_at"]


def change_policy_of(
    store: Store, name: str, policy: Policy, *, at_once: bool, unbounded: bool, dry_run: bool, as_json: bool
) -> None:
    """Give a space another policy, or print what that would cost.

    `at_once` and `unbounded` say that a loss, and one without bound, is accepted.
    """
    clock = store.clock()
    if unbounded and not at_once:
        raise BadInput("--yes does nothing alone", "use it with --accept-straddle")
    if not (at_once or dry_run):
        with store.transaction("closing") as transaction:
            version = change_policy(transaction, clock, name, policy)
        _print_pause(name, version, as_json=as_json)
        return
    space, loss = _cost(store, name, policy)  # before the doors stand still: it takes a while
    if dry_run:
        with store.transaction("reading") as transaction:
            later = next_version(transaction, clock, name, policy)
            ticks = later.first_tick - arrival_tick(snapshot(transaction), clock)
        _print_dry_run(name, later, ticks * policy.tick, loss, as_json=as_json)
        return
    if loss.extra == inf and not unbounded:
        raise NotPossible(
            "changing at once may reveal without bound who acted on both sides of the change: leave "
            "--accept-straddle out and wait, or add --yes (--dry-run shows more)"
        )
    with store.transaction("closing") as transaction:
        check_unchanged(space, read_catalog(transaction).space(name))
        version = change_policy(transaction, clock, name, policy, accept_straddle=True)
    _print_straddle(name, version.number, loss, as_json=as_json)


def current_tick(here: Snapshot, clock: Clock) -> int:
    """The tick that the clock of a store stands in.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     current_tick(snapshot(transaction), gateway.clock) > 0
    True
    """
    return now_tick(advance(here.anchor, clock.read(here.now)).time, here.settings.tick)


def resumes_at(space: Space, tick: int) -> Fraction | None:
    """When the pause before a new policy is over; None: there is none.

    >>> from tarry.gateway.testing import small_gateway
    >>> resumes_at(small_gateway().catalog.space("talk"), tick=1 << 40)
    """
    return _begins(space.version) if space.version.first_tick > tick else None


def _cost(store: Store, name: str, policy: Policy) -> tuple[Space, Straddle]:
    with store.transaction("reading") as transaction:
        space, here = read_catalog(transaction).space(name), snapshot(transaction)
    here.settings.check(policy)
    return space, cost_at_once(space, policy, arrival_tick(here, store.clock()))


def _begins(version: PolicyVersion) -> Fraction:
    return version.first_tick * version.policy.tick


# --- what is printed -------------------------------------------------------------------------------


def _print_pause(name: str, version: PolicyVersion, *, as_json: bool) -> None:
    at = _begins(version)
    if as_json:
        print_json({"space": name, "version": version.number, "resumes_at": at})
        return
    print(
        f"{name} has policy {version.number}; it takes nothing in until {utc_text(at)}, so that no two acts"
    )
    print("can straddle the change; what waits leaves at its time")


def _print_straddle(name: str, version: int, loss: Straddle, *, as_json: bool) -> None:
    if as_json:
        print_json({"space": name, "version": version, **_loss_json(loss)})
        return
    print(f"{name} has policy {version} from now on")
    _print_loss(loss, "the change costs nothing")


def _print_dry_run(
    name: str, version: PolicyVersion, closed: Fraction, loss: Straddle, *, as_json: bool
) -> None:
    """What a new policy would mean, with a pause (`closed` seconds long) and without; nothing changes."""
    at = _begins(version)
    if as_json:
        summary = {"space": name, "version": None, "resumes_at": at, "closed_s": closed}
        print_json({**summary, **_loss_json(loss)})
        return
    print(f"{name} keeps the policy it has; the new one would close it for {rounded(closed)}:")
    print(f"it would take nothing in until {utc_text(at)}, and what waits would leave at its time")
    print("at once (--accept-straddle):")
    _print_loss(loss, "the change would cost nothing")


def _loss_json(loss: Straddle) -> dict[str, object]:
    unbounded = loss.extra == inf  # JSON has no infinity
    return {
        "extra_nats": None if unbounded else loss.extra,
        "unbounded": unbounded,
        "extra_chance": loss.chance,
        "worst": loss.at,
    }


def _print_loss(loss: Straddle, nothing: str) -> None:
    if loss.free:
        print(nothing)
        return
    if loss.chance:
        print(f"acts that straddle the change: delta grows by {loss.chance:.6g}")
    else:
        much = "without bound" if loss.extra == inf else f"by {loss.extra:.6g} nats"
        print(f"acts that straddle the change: each may lose more than was promised, {much}")
    print(f"the worst: {loss.at}")
