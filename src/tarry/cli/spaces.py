"""How `tarry space` tells what there is, and what a new policy means."""

from collections.abc import Sequence
from fractions import Fraction
from math import inf

from tarry.cli.settings import told_at
from tarry.cli.show import print_json, print_table, rounded
from tarry.core.straddle import Straddle
from tarry.gateway.book import Space, Version
from tarry.keep.clock import Clock, advance, now_tick
from tarry.keep.store import Snapshot

__all__ = ["list_spaces", "resumes_at", "tell_change", "tell_plan", "tell_straddle"]


def list_spaces(spaces: Sequence[Space], here: Snapshot | None, clock: Clock, *, as_json: bool) -> None:
    """The spaces, and whether each takes posts in."""
    tick = 0 if here is None else _now_tick(here, clock)
    if as_json:
        print_json({"spaces": [_plain(space, tick) for space in spaces]})
        return
    if not spaces:
        print("there is no space yet: tarry space add makes one")
        return
    rows = [
        [
            space.name,
            space.circle,
            str(space.outlet["kind"]),
            space.adoption,
            str(space.version.number),
            _state(space, tick),
        ]
        for space in spaces
    ]
    print_table(["space", "circle", "to", "delayed", "policy", "takes posts in"], rows)


def tell_change(name: str, version: Version, *, as_json: bool) -> None:
    """When a space with a new policy takes posts in again."""
    at = _begins(version)
    if as_json:
        print_json({"space": name, "version": version.number, "resumes_at": at})
        return
    print(
        f"{name} has policy {version.number}; it takes nothing in until {told_at(at)}, so that no two acts"
    )
    print("can straddle the change; what waits leaves at its time")


def tell_straddle(name: str, version: int, loss: Straddle, *, as_json: bool) -> None:
    """What it costs that a policy has changed at once."""
    if as_json:
        print_json({"space": name, "version": version, **_plain_loss(loss)})
        return
    print(f"{name} has policy {version} from now on")
    _print_loss(loss, "the change costs nothing")


def tell_plan(name: str, version: Version, closed: Fraction, loss: Straddle, *, as_json: bool) -> None:
    """What a new policy would mean, with a pause (`closed` seconds long) and without; nothing changes."""
    at = _begins(version)
    if as_json:
        told = {"space": name, "version": None, "resumes_at": at, "closed_s": closed}
        print_json({**told, **_plain_loss(loss)})
        return
    print(f"{name} keeps the policy it has; the new one would close it for {rounded(closed)}:")
    print(f"it would take nothing in until {told_at(at)}, and what waits would leave at its time")
    print("at once (--accept-straddle):")
    _print_loss(loss, "the change would cost nothing")


def _plain_loss(loss: Straddle) -> dict[str, object]:
    extra = None if loss.extra == inf else loss.extra  # JSON has no infinity
    told = {"extra_nats": extra, "unbounded": loss.extra == inf, "extra_chance": loss.chance}
    return {**told, "worst": loss.at}


def _print_loss(loss: Straddle, nothing: str) -> None:
    if loss.free:
        print(nothing)
        return
    if loss.chance:
        print(f"acts that straddle the change: delta grows by {loss.chance:.6g}")
    else:
        told = "without bound" if loss.extra == inf else f"by {loss.extra:.6g} nats"
        print(f"acts that straddle the change: each may lose more than was promised, {told}")
    print(f"the worst: {loss.at}")


def resumes_at(space: Space, here: Snapshot, clock: Clock) -> Fraction | None:
    """When the pause before a new policy is over; None: there is none.

    >>> from tarry.gateway.testing import small_gateway
    >>> from tarry.keep.store import place
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     resumes_at(gateway.book.space("talk"), place(transaction), gateway.clock)
    """
    return _resumes(space, _now_tick(here, clock))


def _state(space: Space, tick: int) -> str:
    if not space.is_open:
        return "ended" if space.has_ended else "paused"
    return f"from {told_at(_begins(space.version))}" if space.version.first_tick > tick else "yes"


def _plain(space: Space, tick: int) -> dict[str, object]:
    return {
        "name": space.name,
        "title": space.title,
        "circle": space.circle,
        "outlet": dict(space.outlet),
        "adoption": space.adoption,
        "version": space.version.number,
        "is_open": space.is_open,
        "has_ended": space.has_ended,
        "resumes_at": _resumes(space, tick),
    }


def _resumes(space: Space, tick: int) -> Fraction | None:
    return _begins(space.version) if space.version.first_tick > tick else None


def _begins(version: Version) -> Fraction:
    return version.first_tick * version.policy.tick


def _now_tick(here: Snapshot, clock: Clock) -> int:
    return now_tick(advance(here.anchor, clock.read(here.now)).time, here.settings.tick)
