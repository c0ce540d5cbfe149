"""The policies of a space that still reach on: how long a new one waits, or what not waiting costs."""

from tarry.core.errors import NotPossible
from tarry.core.policy import Policy
from tarry.core.straddle import Straddle, quiet_ticks, straddle_loss
from tarry.gateway.book import Space, Version
from tarry.keep.store import StoreSettings

__all__ = ["check_unchanged", "cost_at_once", "first_quiet", "on_their_way"]


def first_quiet(space: Space, policy: Policy, last: int) -> int:
    """The first arrival that a policy may have if the last one under all those before it was at this tick.

    Not only the newest of them counts: one that waits itself may not have its pause cut short, and one that
    was replaced at once, without a pause, still reaches on. Those with ticks of another length do not: what
    they promised was over when the ticks changed.

    >>> from tarry.core.policy_file import write_policy
    >>> policy = write_policy(Policy(epsilon="1", gap="11m"))
    >>> versions = (Version(number=1, text=policy, first_tick=0),)
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


def on_their_way(space: Space, policy: Policy, tick: int) -> list[Version]:
    """The versions whose acts may be compared with those that come in under a policy from this tick on.

    One that waits for the end of its pause is none of them: nothing was ever admitted under it.

    >>> from tarry.core.policy_file import write_policy
    >>> old = write_policy(Policy(epsilon="1", gap="11m"))
    >>> versions = (Version(number=1, text=old, first_tick=0), Version(number=2, text=old, first_tick=900))
    >>> space = Space(name="talk", title="Talk", circle="all", outlet={}, versions=versions)
    >>> [[each.number for each in on_their_way(space, versions[0].policy, at)] for at in (899, 900, 2000)]
    [[1], [1, 2], [2]]
    """
    found, end, terms = [], tick, StoreSettings.of(policy)
    for version in reversed(space.versions):
        old = version.policy
        # Where tick, window or labels were others, everything was over before they changed.
        if (
            version.first_tick <= end
            and StoreSettings.of(old) == terms
            and end + quiet_ticks(old, policy) > tick
        ):
            found.append(version)
        end = min(end, version.first_tick)  # those before it have admitted nothing after it began
    return found[::-1]


def cost_at_once(space: Space, policy: Policy, tick: int) -> Straddle:
    """The most that acts may lose if a policy holds from this tick on, whatever they came in under.

    >>> from tarry.core.policy_file import write_policy
    >>> old, new = Policy(epsilon="1", gap="11m"), Policy(epsilon="1", gap="20m")
    >>> versions = (Version(number=1, text=write_policy(old), first_tick=0),)
    >>> space = Space(name="talk", title="Talk", circle="all", outlet={}, versions=versions)
    >>> round(cost_at_once(space, new, 5).extra, 2)
    0.45
    """
    losses = [straddle_loss(version.policy, policy) for version in on_their_way(space, policy, tick)]
    nothing = Straddle(extra=0.0, at="nothing is on its way under another policy")
    return max(losses, key=lambda each: (each.extra, each.chance), default=nothing)


def check_unchanged(before: Space, now: Space) -> None:
    """Refuse to act on a cost that was told of other policies.

    >>> version = Version(number=1, text="", first_tick=0)
    >>> space = Space(name="talk", title="Talk", circle="all", outlet={}, versions=(version,))
    >>> check_unchanged(space, space)
    """
    if before.versions != now.versions:
        raise NotPossible(f"the policy of {before.name} was changed meanwhile: look, and try again")
