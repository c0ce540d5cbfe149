"""Changing policies: how long a new one waits until no pair straddles it, or what not waiting costs.

One space may get a new policy at any time. Tick, window and labels belong to the store, because labels look
over all spaces: those change for all spaces together, while nothing waits, and whatever is counted in ticks
is counted anew. Each change is part of a *closing* transaction.
"""

from collections.abc import Mapping

from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import ticks_up
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.core.straddle import Straddle, quiet_ticks, straddle_loss
from tarry.gateway.catalog import Catalog, PolicyVersion, Space, read_catalog
from tarry.keep.changes import change_settings
from tarry.keep.closing import close_ticks, erased_at, hour_ticks
from tarry.keep.keys import Keys
from tarry.keep.sharing import Snapshot, StoreSettings
from tarry.keep.store import Clock, Transaction, arrival_tick, moment, snapshot

__all__ = [
    "change_all_policies",
    "change_policy",
    "check_not_ended",
    "check_unchanged",
    "cost_at_once",
    "first_quiet",
    "insert_version",
    "next_version",
    "still_reaching",
]


def change_policy(
    transaction: Transaction, clock: Clock, name: str, policy: Policy, *, accept_straddle: bool = False
) -> PolicyVersion:
    """Give a space another policy; admission pauses until no pair can straddle the change.

    With `accept_straddle` it takes effect at once; `cost_at_once` says what that costs.

    >>> from tarry.gateway.database import open_store
    >>> from tarry.gateway.space_changes import add_space
    >>> from tarry.testing import ManualClock
    >>> keys, clock = Keys(bytes(32)), ManualClock()
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     space = add_space(transaction, keys, clock, "talk", Policy(epsilon="1", gap="11m"))
    ...     version = change_policy(transaction, clock, "talk", Policy(epsilon="2", gap="11m"))
    ...     version.first_tick - (clock.wall // 1_000_000)
    961
    """
    version = next_version(transaction, clock, name, policy, accept_straddle=accept_straddle)
    insert_version(transaction, name, version)
    return version


def next_version(
    transaction: Transaction, clock: Clock, name: str, policy: Policy, *, accept_straddle: bool = False
) -> PolicyVersion:
    """The version that `change_policy` would make now; nothing is changed.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway = small_gateway()
    >>> with gateway.store.transaction("reading") as transaction:
    ...     policy = Policy(epsilon="1", gap="1h", window="10s")
    ...     next_version(transaction, gateway.clock, "talk", policy).number
    2
    """
    space = read_catalog(transaction).space(name)
    check_not_ended(space)
    here = snapshot(transaction)
    here.settings.check(policy)
    if space.version.policy == policy:
        raise BadInput(f"space {name!r} has this policy already", "give another one")
    tick = arrival_tick(here, clock)
    first = tick if accept_straddle else max(first_quiet(space, policy, tick), space.version.first_tick)
    return _version_after(space, policy, first)


def insert_version(transaction: Transaction, space: str, version: PolicyVersion) -> None:
    """Store a policy of a space, and count the change.

    >>> from tarry.gateway.testing import small_gateway
    >>> with small_gateway().store.transaction("closing") as transaction:
    ...     insert_version(transaction, "talk", PolicyVersion(number=2, text="", first_tick=7))
    ...     len(read_catalog(transaction).space("talk").versions)
    2
    """
    transaction.tell(
        "insert_version",
        space=space,
        version=version.number,
        policy=version.text,
        first_tick=version.first_tick,
    )
    transaction.tell("count_change")


def check_not_ended(space: Space) -> None:
    """Refuse to change a space that has ended.

    >>> check_not_ended(Space(name="a", title="A", circle="all", outlet={}, versions=(), ended_tick=7))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: space 'a' has ended: make a new one with tarry space add
    """
    if space.has_ended:
        raise NotPossible(f"space {space.name!r} has ended: make a new one with tarry space add")


# --- how far the policies of a space still reach --------------------------------------------------


def first_quiet(space: Space, policy: Policy, last: int) -> int:
    """The first arrival that a policy may have if the last one under all those before it was at this tick.

    Not only the newest of them counts: one that waits itself may not have its pause cut short, and one that
    was replaced at once, without a pause, still reaches on. Those with ticks of another length do not: what
    they promised was over when the ticks changed.

    >>> text = write_policy(Policy(epsilon="1", gap="11m"))
    >>> versions = (PolicyVersion(number=1, text=text, first_tick=0),)
    >>> space = Space(name="talk", title="Talk", circle="all", outlet={}, versions=versions)
    >>> first_quiet(space, Policy(epsilon="2", gap="11m"), 1000)
    1961
    """
    ends = [*(min(last, later.first_tick) for later in space.versions[1:]), last]
    return max(
        end + quiet_ticks(old.policy, policy)
        for old, end in zip(space.versions, ends, strict=True)
        if old.policy.tick == space.version.policy.tick
    )


def still_reaching(space: Space, policy: Policy, tick: int) -> list[PolicyVersion]:
    """The versions whose acts may be compared with those that arrive under a policy from this tick on.

    One that waits for the end of its pause is not among them: nothing was ever admitted under it.

    >>> old = write_policy(Policy(epsilon="1", gap="11m"))
    >>> versions = tuple(PolicyVersion(number=n, text=old, first_tick=at) for n, at in ((1, 0), (2, 900)))
    >>> space = Space(name="talk", title="Talk", circle="all", outlet={}, versions=versions)
    >>> [[each.number for each in still_reaching(space, versions[0].policy, at)] for at in (899, 900, 2000)]
    [[1], [1, 2], [2]]
    """
    reaching, end, terms = [], tick, StoreSettings.of(policy)
    for version in reversed(space.versions):
        old = version.policy
        # Where tick, window or labels were others, everything was over before they changed.
        if (
            version.first_tick <= end
            and StoreSettings.of(old) == terms
            and end + quiet_ticks(old, policy) > tick
        ):
            reaching.append(version)
        end = min(end, version.first_tick)  # those before it have admitted nothing after it began
    return reaching[::-1]


def cost_at_once(space: Space, policy: Policy, tick: int) -> Straddle:
    """The most that acts may lose if a policy applies from this tick on, whatever they arrived under.

    >>> old, new = Policy(epsilon="1", gap="11m"), Policy(epsilon="1", gap="20m")
    >>> versions = (PolicyVersion(number=1, text=write_policy(old), first_tick=0),)
    >>> space = Space(name="talk", title="Talk", circle="all", outlet={}, versions=versions)
    >>> round(cost_at_once(space, new, 5).extra, 2)
    0.45
    """
    losses = [straddle_loss(version.policy, policy) for version in still_reaching(space, policy, tick)]
    nothing = Straddle(extra=0.0, at="nothing is on its way under another policy")
    return max(losses, key=lambda each: (each.extra, each.chance), default=nothing)


def check_unchanged(before: Space, now: Space) -> None:
    """Refuse to act on a cost that was computed for other policies.

    >>> version = PolicyVersion(number=1, text="", first_tick=0)
    >>> space = Space(name="talk", title="Talk", circle="all", outlet={}, versions=(version,))
    >>> check_unchanged(space, space)
    """
    if before.versions != now.versions:
        raise NotPossible(
            f"somebody has just changed the policy of {before.name!r}: look at it, and try again"
        )


# --- tick, window and labels: all spaces together -------------------------------------------------


def change_all_policies(
    transaction: Transaction, keys: Keys, clock: Clock, policies: Mapping[str, Policy]
) -> dict[str, PolicyVersion]:
    """Give every space a new policy, inside a closing transaction; they stay paused.

    >>> from tarry.gateway.space_changes import open_space
    >>> from tarry.gateway.testing import small_gateway
    >>> gateway, policy = small_gateway(), Policy(epsilon="1", gap="1h", window="10m", tick="1m")
    >>> with gateway.store.transaction("closing") as transaction:
    ...     open_space(transaction, "talk", is_open=False)
    ...     change_all_policies(transaction, gateway.keys, gateway.clock, {"talk": policy})["talk"].number
    2
    """
    catalog = read_catalog(transaction)
    settings = _check_choice(catalog, policies)
    if snapshot(transaction).settings.paused:
        raise NotPossible("this gateway was brought back from a backup: run tarry resume first")
    close_ticks(transaction, keys, clock)
    here = snapshot(transaction)
    _check_quiet(transaction, here, catalog, policies)
    if settings.tick != here.settings.tick:
        _recount(transaction, here, catalog, settings)
    closed = change_settings(transaction, here, clock, settings, None)
    changed = {
        name: _version_after(catalog.space(name), policy, closed + 1) for name, policy in policies.items()
    }
    for name, version in changed.items():
        insert_version(transaction, name, version)
    return changed


def _check_choice(catalog: Catalog, policies: Mapping[str, Policy]) -> StoreSettings:
    """One policy for each space, all with one tick, window and label mode."""
    for name in policies:
        catalog.space(name)
    if missing := sorted(set(catalog.spaces) - set(policies)):
        raise BadInput(
            f"a change of tick, window or labels must have a policy for every space, also {missing[0]!r}"
        )
    if running := sorted(space.name for space in catalog.spaces.values() if space.is_open):
        raise BadInput(
            f"tick, window and labels change only while every space is paused, and {running[0]!r} is open",
            f"tarry space pause {running[0]}",
        )
    settings = [StoreSettings.of(policy) for policy in policies.values()]
    for policy in policies.values():
        settings[0].check(policy)
    return settings[0]


def _check_quiet(
    transaction: Transaction, here: Snapshot, catalog: Catalog, policies: Mapping[str, Policy]
) -> None:
    """Nothing waits, nothing is left to erase, and nothing that was promised reaches over the change."""
    busy = transaction.one("busy_until")
    if busy is not None and busy["waiting"]:
        raise NotPossible(
            "posts still wait under the old policies: let them leave, or withdraw them, first"
        )
    last = here.latest if here.latest is not None else _last_arrival(transaction, here)
    if last is None:
        return  # nobody ever came
    first = max(first_quiet(catalog.space(name), policy, last) for name, policy in policies.items())
    if here.latest is not None:
        first = max(first, erased_at(here.settings, last))
    if here.latest is not None or here.closed + 1 < first:
        raise NotPossible(
            "the last posts may still be compared with those that come next: try again after "
            + moment(first * here.settings.tick)
        )


def _last_arrival(transaction: Transaction, here: Snapshot) -> int | None:
    """No arrival was later. It is erased itself; its release, and the hour it came in, are known."""
    row = transaction.one("last_known")
    release, hour = (None, None) if row is None else (row["release"], row["hour"])
    bounds = [release, None if hour is None else (hour + 1) * hour_ticks(here.settings) - 1]
    return min((each for each in bounds if each is not None), default=None)


def _recount(transaction: Transaction, here: Snapshot, catalog: Catalog, settings: StoreSettings) -> None:
    """Convert what was counted in ticks of the old length to ticks of the new one."""

    def moved(tick: int) -> int:
        return ticks_up(tick * here.settings.tick, settings.tick)

    ratio = here.settings.tick / settings.tick
    transaction.tell("recount_done", times=ratio.numerator, over=ratio.denominator)
    transaction.tell("forget_hours")
    transaction.tell("clear_outlook")
    for space in catalog.spaces.values():
        for version in space.versions:
            transaction.tell(
                "move_version",
                space=space.name,
                version=version.number,
                first_tick=moved(version.first_tick),
            )
        if space.ended_tick is not None:
            transaction.tell("move_end", space=space.name, tick=moved(space.ended_tick))
    rows = transaction.all("adoptions")
    transaction.tell("forget_adoptions")
    transaction.many("adopt_delays", [{**row, "first_tick": moved(row["first_tick"])} for row in rows])


def _version_after(space: Space, policy: Policy, first_tick: int) -> PolicyVersion:
    return PolicyVersion(number=space.version.number + 1, text=write_policy(policy), first_tick=first_tick)
