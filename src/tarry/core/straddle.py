"""What a change of policy costs acts that straddle it, and the pause after which none can.

The promise compares a batched act with a story in which it came up to G ticks later, unbatched. Where the
policy changes in between, the truth draws from the old batched law and the story from the new unbatched
one, and nobody has matched these two. Only that way round: a story never moves an act to an earlier tick,
and an act that loses its label where it stands has both its laws from one policy, as promised.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, nextafter

from tarry.core.errors import BadInput
from tarry.core.exact import format_duration, ticks_up
from tarry.core.mechanism import LawPair
from tarry.core.policy import Policy
from tarry.core.verify.laws import common_period, log_ratio_bound, worst_excess, worst_ratio

__all__ = ["Straddle", "quiet_ticks", "straddle_loss"]


@dataclass(frozen=True, kw_only=True)
class Straddle:
    """What an immediate change may cost beyond what was promised; for display alone.

    >>> Straddle(extra=0.25, at="a release at tick 9 ...").free
    False
    """

    extra: float  # nats beyond its share, for each act that in the other story came after the change
    chance: float = 0.0  # for laws without labels: by how much more than delta their promise may fail
    at: str  # a release that tells this much, in words; the hold is not counted

    @property
    def free(self) -> bool:
        """Whether the change costs nothing."""
        return not self.extra and not self.chance


_NOTHING = Straddle(extra=0.0, at="no release tells more than was promised")


def quiet_ticks(old: Policy, new: Policy) -> int:
    """Ticks from the last arrival under the old policy to the first that the new one may take: G + 1.

    G is the longest reach of either policy, over all their gaps. It is counted in ticks of the old
    policy, whose clock runs during the pause: where the new tick is another, its reach is taken in
    seconds and rounded up. No story that was promised then crosses the change, and no window does.

    >>> quiet_ticks(Policy(epsilon="1", gap="11m"), Policy(epsilon="1", gap="20m"))
    1501
    """
    reach = max(policy.start_ticks(gap) * policy.tick for policy in (old, new) for gap in policy.gaps)
    return ticks_up(reach, old.tick) + 1


def straddle_loss(old: Policy, new: Policy) -> Straddle:
    """What acts may lose at most if the new policy takes over at once, without a pause.

    The worst over every delay, every shift of 0..G ticks (0 too: a change may fall inside a tick) and
    every gap an act may have under the two policies. Whether anything is lost is decided exactly; how
    much is a float, for display, and a bound from above where two endless laws are compared whose
    periods hardly ever meet. Each act that crosses pays: a pair that moves as a whole pays twice.
    Without labels the old epsilon is kept, and `chance` says by how much delta grows.

    >>> old, new = (Policy(epsilon="1", gap=gap) for gap in ("11m", "20m"))
    >>> round(straddle_loss(old, new).extra, 2), straddle_loss(new, old).extra, straddle_loss(old, old).free
    (0.45, inf, True)
    """
    _check_same(old, new)
    if old.deadline_at != new.deadline_at:
        # What a flush at one of two deadlines tells depends on the moment of the change.
        return Straddle(
            extra=inf, at="the deadline changes, and what leaves at either tells which policy it came under"
        )
    loss = _loss_without_labels if old.labels == "none" else _loss
    losses = (loss(old, new, gap, later) for gap, later in sorted(_gaps(old, new)))
    return max(losses, key=lambda each: (each.extra, each.chance))


def _check_same(old: Policy, new: Policy) -> None:
    """Other ticks, windows or labels change who is batched: there is nothing to compare act by act."""
    before, after = ((each.tick, each.window_ticks, each.labels) for each in (old, new))
    if before != after:
        terms = (
            f"tick {format_duration(each.tick)}, window {format_duration(each.window)}, "
            f"labels {each.labels!r}"
            for each in (old, new)
        )
        raise BadInput(
            "a change of policy without a pause must keep tick, window and labels, "
            f"not turn {' into '.join(terms)}",
            "pause admission before it",
        )


def _gaps(old: Policy, new: Policy) -> set[tuple[Fraction, Fraction]]:
    """The gaps that one act may have under the two policies, whatever its target and track."""
    tracks = {(old.gap, new.gap)} | {
        (old.track_gaps.get(name, old.gap), new.track_gaps.get(name, new.gap))
        for name in {*old.track_gaps, *new.track_gaps}
    }
    return tracks | {
        (old.target_gaps.get(name, a), new.target_gaps.get(name, b))
        for name in {*old.target_gaps, *new.target_gaps}
        for a, b in tracks
    }


def _loss(old: Policy, new: Policy, gap: Fraction, later: Fraction) -> Straddle:
    """The worst ratio of the old batched law and the new unbatched one, beyond the old share."""
    mine, theirs = old.mechanism(gap).pair, new.mechanism(later).pair
    pair = LawPair(batched=mine.batched, unbatched=theirs.unbatched, start=mine.start)
    if common_period(pair.batched, pair.unbatched) is None:
        return _bound(pair, old.share, gap, later)
    worst = worst_ratio(pair, old.share)
    if not worst.broken:
        return _NOTHING
    witness = worst.witness(old.share, **_stories(gap, later))
    if worst.endless:
        return Straddle(extra=inf, at=f"{witness}; later releases tell ever more")
    return Straddle(extra=_beyond(worst.log_ratio, old.share), at=str(witness))


def _bound(pair: LawPair, share: Fraction, gap: Fraction, later: Fraction) -> Straddle:
    """The same for two endless laws whose periods hardly ever meet: a bound, not the exact worst."""
    bound = log_ratio_bound(pair)
    if bound < float(share) - 1e-9:  # far more than a float may be off: what is lost is never left out
        return _NOTHING
    if bound == inf:
        at = f"the later a release, the more it tells {_under('old', gap)} from {_under('new', later)}"
    else:
        at = (
            f"no release is more than {exp(bound):.6g} times as likely for an act batched under "
            f"{_under('old', gap)} as for one unbatched under {_under('new', later)}; {exp(share):.6g} "
            "times is allowed"
        )
    return Straddle(extra=_beyond(bound, share), at=at)


def _loss_without_labels(old: Policy, new: Policy, gap: Fraction, later: Fraction) -> Straddle:
    """By how much delta must grow for the old epsilon to hold between the two laws."""
    mine, theirs = old.mechanism(gap).pair, new.mechanism(later).pair
    worst = worst_excess(mine.unbatched, theirs.unbatched, mine.start, old.epsilon, old.delta)
    if not worst.broken:
        return _NOTHING
    witness = worst.witness(old.delta, **_stories(gap, later))
    return Straddle(extra=0.0, chance=float(worst.amount - old.delta), at=str(witness))


def _stories(gap: Fraction, later: Fraction) -> dict[str, str]:
    return {"old": f" under {_under('old', gap)}", "new": f" under {_under('new', later)}"}


def _under(which: str, gap: Fraction) -> str:
    return f"the {which} policy (gap {format_duration(gap)})"


def _beyond(log_ratio: float, share: Fraction) -> float:
    """What is lost is above 0, however the subtraction rounds."""
    return max(log_ratio - float(share), nextafter(0.0, 1.0))
