"""Partial adoption: what a policy does for those who take part, and for the others, if not everybody does.

The paper leaves the question open. People take part with all of their acts or with none. Labels look at all
acts of a person, so whoever takes part is delayed as if everybody did; the others appear when they act.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.best_cutoff import best_score
from tarry.study.busy import check_crowds
from tarry.study.figures import percent
from tarry.study.person import claims_about, own_pairs
from tarry.study.practice import MICROSECONDS, Practice
from tarry.study.runs import Progress, Spread, spread, spread_percent
from tarry.study.table import EventTable

__all__ = ["SHARES", "Adoption", "AdoptionPoint", "adoption"]

_SEARCHED = 60  # cutoffs that are looked at for the best one
#: Of people who take part, where none are asked for.
SHARES = tuple(Fraction(quarters, 4) for quarters in range(5))


@dataclass(frozen=True, kw_only=True)
class AdoptionPoint:
    """One share of people who take part; means and ranges over the draws.

    >>> rights = {name: spread([0.2, 0.3]) for name in ("right", "right_adopters", "right_others")}
    >>> AdoptionPoint(share=0.5, adopters=2, others=2, **rights).right.high
    0.3
    """

    share: float  # of people who take part
    adopters: int
    others: int
    right: Spread | None  # how often the best claims are right about the person; None: nothing is claimed
    right_adopters: Spread | None  # the same of claims that are about an act of somebody who takes part
    right_others: Spread | None  # the same of claims that are about an act of anybody else


@dataclass(frozen=True, kw_only=True)
class Adoption:
    """How the claims about both kinds of people fare, share by share.

    >>> rights = {"right": spread([0.3]), "right_adopters": spread([0.3]), "right_others": None}
    >>> point = AdoptionPoint(share=1.0, adopters=2, others=0, **rights)
    >>> Adoption(practice="mine", points=(point,)).as_dict()["points"][0]["adopters"]
    2
    """

    practice: str
    points: Sequence[AdoptionPoint]

    @property
    def sentences(self) -> list[str]:
        """What taking part is worth where some do, in words."""
        known = [
            point
            for point in self.points
            if point.right_adopters is not None and point.right_others is not None
        ]
        return [
            f"Where {percent(point.share)} of people take part, claims about them are right "
            f"{spread_percent(point.right_adopters)} of the time, and claims about the others "
            f"{spread_percent(point.right_others)}."
            for point in known
        ]

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        points = [asdict(point) for point in self.points]
        return {"practice": self.practice, "points": points, "sentences": self.sentences}


def adoption(
    table: EventTable,
    practice: Practice,
    *,
    window: int = 300 * MICROSECONDS,
    shares: Sequence[Fraction] = SHARES,
    seed: int = 0,
    draws: int = 3,
    progress: Progress | None = None,
) -> Adoption:
    """Replay a practice of which only some people take part, and attack everybody.

    Who takes part is drawn anew with each draw. The observer takes the cutoff that is best against all.

    >>> from tarry.core.policy import Policy
    >>> from tarry.study.replay import replay
    >>> from tarry.study.table import event_table
    >>> table = event_table(
    ...     actor=["a", "a", "b", "b"], target=[1, 2, 3, 4], time=[0, 5, 10**12, 10**12 + 5]
    ... )
    >>> found = adoption(table, replay(Policy(epsilon="1", gap="11m"), "mine"), draws=1)
    >>> [(point.adopters, point.others) for point in found.points]
    [(0, 2), (0, 2), (1, 1), (2, 0), (2, 0)]
    """
    if wrong := [share for share in shares if not 0 <= share <= 1]:
        raise BadInput(f"a share of people must lie between 0 and 1, not {float(wrong[0]):g}")
    truth = Truth(table=table, window=window)
    check_crowds(truth.near, _SEARCHED * draws * sum(share > 0 for share in shares), table.actor_rank)
    shown = [practice.show(table.history, Seeded(seed, draw)).release for draw in range(draws)]
    orders = [np.random.default_rng([seed, draw]).permutation(table.actors) for draw in range(draws)]
    points = []
    for done, share in enumerate(shares, start=1):
        adopters = round(share * table.actors)
        rights = [
            _rights(truth, release, order < adopters) for release, order in zip(shown, orders, strict=True)
        ]
        points.append(
            AdoptionPoint(
                share=float(share),
                adopters=adopters,
                others=table.actors - adopters,
                **{
                    name: spread([one[place] for one in rights])
                    for place, name in enumerate(("right", "right_adopters", "right_others"))
                },
            )
        )
        if progress is not None:
            progress(done, len(shares))
    return Adoption(practice=practice.name, points=tuple(points))


def _rights(truth: Truth, release: IntArray, adopts: BoolArray) -> list[float | None]:
    """Right about the person: all claims, those about acts of adopters, and those about the others'."""
    table = truth.table
    seen = np.where(adopts[table.actor_rank], release, table.time)
    farthest = truth.window + 2 * int((release - table.time).max(initial=0))
    best = best_score(lambda cutoffs: cutoff_attack(truth, seen, cutoffs), seen, farthest)
    if best is None:
        return [None, None, None]
    own = own_pairs(table, seen, best.cutoff)
    about = claims_about(table, seen, best.cutoff) - own
    return [best.right_person, *_shares(own, about, adopts)]


def _shares(own: IntArray, about: IntArray, adopts: BoolArray) -> Iterator[float | None]:
    for group in (adopts, ~adopts):
        claims = int(about[group].sum())
        yield int(own[group].sum()) / claims if claims else None
