"""The two pure steps that are the whole law: draw at arrival, release once the label is known.

`plan_release` runs them over a whole history; a keeper runs the same two one event at a time. What
is simulated is what runs: every function here works on whole numbers and on arrays of them alike, and
needs no numpy for the former. There is no way here to cap, shorten or rescale a delay: each of these
breaks the promise (`docs/theory.md`), while a maximum over parents and a public deadline keep it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tarry.core.entropy import Entropy
from tarry.core.errors import BadInput
from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.policy import Policy

if TYPE_CHECKING:
    from tarry.core.lanes import IntArray

__all__ = [
    "Draws",
    "after_parents",
    "coupled_draws",
    "draw_pair",
    "needs_second_draw",
    "release_ticks",
    "told_span",
]

#: Ticks of one event, or of many in an array.
T = TypeVar("T", int, "IntArray")


@dataclass(frozen=True)
class Draws(Generic[T]):
    """What an event waits under either label, drawn once and for all at its arrival.

    >>> Draws(unbatched=400, batched=400).settled, Draws(unbatched=0, batched=400).settled
    (True, False)
    """

    unbatched: T  # ticks, if the event turns out unbatched
    batched: T  # ticks, if it turns out batched

    @property
    def settled(self) -> bool:
        """Whether the release of one event is known before its label is."""
        return bool(self.unbatched == self.batched)

    def ticks(self, *, batched: Any) -> T:
        """The delay under this label.

        >>> Draws(unbatched=0, batched=400).ticks(batched=True)
        400
        """
        delay: T = self.unbatched + batched * (self.batched - self.unbatched)
        return delay


def draw_pair(policy: Policy, target: object, track: object, entropy: Entropy) -> Draws[int]:
    """Draw an event's delays from the laws of its own gap.

    >>> from tarry.core.entropy import Secure
    >>> policy = Policy(epsilon="1", gap="300s", window="0s", weight="1")
    >>> 300 <= draw_pair(policy, "paper 3", None, Secure()).batched <= 762
    True
    """
    mechanism = policy.mechanism(policy.gap_for(target, track))
    pair = mechanism.pair

    def draw(law: Law) -> int:
        return (mechanism.unbatched if law is pair.unbatched else mechanism.batched).draw(entropy)

    return coupled_draws(pair, draw)


def told_span(policy: Policy, target: object, track: object) -> tuple[int, int] | None:
    """The shortest and longest delay to tell instead of an event's draws while its label is open.

    None where the draws may be told. Where the laws are not coupled they must not be: both are drawn apart,
    and whoever has seen them would read the label off the release.

    >>> told_span(Policy(epsilon="1", gap="300s", window="0s"), "paper 3", None)
    """
    pair = policy.mechanism(policy.gap_for(target, track)).pair
    return None if pair.label_free or pair.coupled else pair.span


def coupled_draws(pair: LawPair, draw: Callable[[Law], int]) -> Draws[int]:
    """One draw where it can serve both labels, two where it cannot.

    >>> law = Law.of_masses([0, 1])
    >>> coupled_draws(LawPair(batched=law, unbatched=law, start=1), lambda law: law.minimum)
    Draws(unbatched=1, batched=1)
    """
    unbatched = draw(pair.unbatched)
    return Draws(unbatched, draw(pair.batched) if needs_second_draw(pair, unbatched) else unbatched)


def needs_second_draw(pair: LawPair, unbatched: Any) -> Any:
    """Whether a delay drawn from the unbatched law cannot serve as a batched one.

    Where the batched law is the unbatched one given at least `start` ticks, an unbatched draw that
    long *is* a batched one; only a shorter one needs a second. Then most authors learn their release
    at once, and neither label's law has changed.

    >>> law = Law.of_masses([0, 1])
    >>> needs_second_draw(LawPair(batched=law, unbatched=law, start=1), 1)
    False
    """
    if pair.label_free:
        return unbatched < 0  # never: no delay is negative
    return unbatched < pair.start if pair.coupled else unbatched >= 0


def release_ticks(
    arrival: T, draws: Draws[T], *, batched: Any, hold: int = 0, deadline: int | None = None
) -> T:
    """The tick at which an event leaves, or those of many events, whose columns are then arrays.

    A public deadline lets it out at the latest: that tells nothing which releases do not tell. A post
    whose label is still open at the deadline leaves then, under either label.

    >>> release_ticks(100, Draws(0, 400), batched=False, hold=15, deadline=110)
    110
    """
    release: T = arrival + hold + draws.ticks(batched=batched)
    if deadline is None:
        return release
    if (late := _last(arrival, deadline)) > deadline:
        raise BadInput(
            f"every arrival must come by the deadline, tick {deadline}, not at tick {late}",
            "end the history at the deadline, or move the deadline",
        )
    by_deadline: T = release - (release > deadline) * (release - deadline)
    return by_deadline


def after_parents(release: T, *parents: T) -> T:
    """A release that waits for its parents: posts it refers to, or the author's own on the same target.

    It looks only at releases, so it tells nothing new.

    >>> after_parents(5, 3, 9)
    9
    """
    for parent in parents:
        release = release + (parent > release) * (parent - release)
    return release


def _last(ticks: Any, least: int) -> int:
    """The last of some ticks."""
    return ticks if isinstance(ticks, int) else int(ticks.max(initial=least))
