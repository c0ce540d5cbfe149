"""The two pure steps that are the whole law: draw at arrival, release once the label is known.

`plan_release` runs them over a whole history; a keeper runs the same two one event at a time. What
is simulated is what runs. There is no way here to cap, shorten or rescale a delay: each of these
breaks the promise (`docs/theory.md`), while a maximum over parents and a public deadline keep it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tarry.core.entropy import Entropy
from tarry.core.errors import BadInput
from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.policy import Policy

__all__ = ["Draws", "coupled_draws", "draw_pair", "release_tick"]


@dataclass(frozen=True)
class Draws:
    """What an event waits under either label, drawn once and for all at its arrival.

    >>> Draws(unbatched=400, batched=400).settled, Draws(unbatched=0, batched=400).settled
    (True, False)
    """

    unbatched: int  # ticks, if the event turns out unbatched
    batched: int  # ticks, if it turns out batched

    @property
    def settled(self) -> bool:
        """Whether the release is known before the label is."""
        return self.unbatched == self.batched

    def ticks(self, *, batched: bool) -> int:
        """The delay under this label."""
        return self.batched if batched else self.unbatched


def draw_pair(policy: Policy, target: object, track: object, entropy: Entropy) -> Draws:
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


def coupled_draws(pair: LawPair, draw: Callable[[Law], int]) -> Draws:
    """One draw where it can serve both labels, two where it cannot.

    Where the batched law is the unbatched one given at least `start` ticks, an unbatched draw that
    long *is* a batched one; only a shorter one needs a second. Then most authors learn their release
    at once, and neither label's law has changed.

    >>> law = Law.of_masses([0, 1])
    >>> coupled_draws(LawPair(batched=law, unbatched=law, start=1), lambda law: law.minimum)
    Draws(unbatched=1, batched=1)
    """
    unbatched = draw(pair.unbatched)
    if pair.label_free or (pair.coupled and unbatched >= pair.start):
        return Draws(unbatched, unbatched)
    return Draws(unbatched, draw(pair.batched))


def release_tick(
    arrival: int,
    draws: Draws,
    *,
    batched: bool,
    hold: int = 0,
    parents: Iterable[int] = (),
    deadline: int | None = None,
) -> int:
    """The tick at which an event leaves.

    It waits for its parents (posts it refers to: visible ones, or the author's own on the same
    target), and a public deadline lets it out at the latest. Both look only at releases, so they
    tell nothing new. A post whose label is still open at the deadline leaves then, under either
    label.

    >>> release_tick(100, Draws(0, 400), batched=False, hold=5, parents=[120], deadline=110)
    110
    """
    if deadline is not None and arrival > deadline:
        raise BadInput(
            "an arrival", "comes no later than the deadline", found=f"tick {arrival} after {deadline}"
        )
    release = max([arrival + hold + (draws.batched if batched else draws.unbatched), *parents])
    return release if deadline is None else min(release, deadline)
