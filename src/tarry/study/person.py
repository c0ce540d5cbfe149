"""Whose acts they are: how often claims that two acts are one person's are right about the person.

The paper counts a claim as right if the two acts were batched. Whoever reads "one person's" asks something
else: two acts of one person six minutes apart are one person's. So claims are counted by that truth too.
Beside it stands how often other pairs are one person's: those a little further apart than a batch, those of
one day, and all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tarry.core.errors import BadInput
from tarry.core.history import in_rows, row_order
from tarry.core.lanes import IntArray
from tarry.study.best_cutoff import Scoring, best_score, longest_score, remembering
from tarry.study.exact_sums import mean_share, total
from tarry.study.pairs import later_within, pairs_within, pairs_within_groups, side_by_side
from tarry.study.resampling import Resample, claims_drawn, interval_over, people_drawn, resamples
from tarry.study.score import Score
from tarry.study.table import EventTable

__all__ = [
    "CONFIDENCES",
    "LEAST_CLAIMED",
    "NOBODY",
    "SIZES",
    "Calls",
    "PairShare",
    "People",
    "SizeOfActivity",
    "Yardsticks",
    "calls_at",
    "candidates_within",
    "claims_about",
    "own_pairs",
    "pairs_of_day",
    "people_behind",
    "persons_within",
    "right_interval",
    "yardsticks",
]

_DAY = 86_400_000_000


@dataclass(frozen=True, kw_only=True)
class PairShare:
    """Pairs on different targets, and how many of them are one person's.

    >>> PairShare(persons=1, pairs=4).share
    0.25
    """

    persons: int
    pairs: int

    @property
    def share(self) -> float | None:
        """The share that is one person's; None where there is no pair."""
        return self.persons / self.pairs if self.pairs else None


@dataclass(frozen=True, kw_only=True)
class Yardsticks:
    """How often pairs of a history are one person's, whatever an observer sees. None of them is a floor.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 400_000_000, 9 * 10**9])
    >>> found = yardsticks(table, window=300_000_000, reach=960_000_000)
    >>> found.reference.share, found.base.pairs
    (1.0, 3)
    """

    window: int  # microseconds
    reach: int  # microseconds: gap and window
    reference: PairShare  # arrivals further apart than the window, up to the reach: what a batch looks like
    same_day: PairShare  # on one day of UTC: about what delays of hours leave
    base: PairShare  # all pairs

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        shares = {"reference": self.reference, "same_day": self.same_day, "base": self.base}
        return {
            "reach_s": self.reach / 1e6,
            **{name: {**vars(one), "share": one.share} for name, one in shares.items()},
        }


def yardsticks(table: EventTable, window: int, reach: int) -> Yardsticks:
    """Count the pairs that claims are measured by.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60, 61])
    >>> yardsticks(table, window=1, reach=60).same_day
    PairShare(persons=1, pairs=3)
    """
    if not 0 <= window <= reach:
        raise BadInput(f"the reach must be at least the window, not {reach} and {window} microseconds")
    limits = [window, reach]
    near, far = candidates_within(table, table.time, limits)
    near_own, far_own = persons_within(table, table.time, limits)
    return Yardsticks(
        window=window,
        reach=reach,
        reference=PairShare(persons=far_own - near_own, pairs=far - near),
        same_day=pairs_of_day(table),
        base=PairShare(persons=table.person_pairs, pairs=table.candidate_pairs),
    )


def persons_within(table: EventTable, seen: IntArray, cutoffs: Sequence[int]) -> list[int]:
    """Pairs of one person on different targets, seen at most each cutoff apart.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "a", "b"], target=[1, 2, 2, 3], time=[0, 5, 6, 6])
    >>> persons_within(table, table.time, [1, 9])
    [0, 2]
    """
    own, twice = side_by_side(
        lambda: pairs_within_groups(table.actor_rank, seen, cutoffs),
        lambda: pairs_within_groups(table.pseudonym_rank, seen, cutoffs),
    )
    return [every - same for every, same in zip(own, twice, strict=True)]


def candidates_within(table: EventTable, seen: IntArray, cutoffs: Sequence[int]) -> list[int]:
    """Pairs on different targets, whoever's, seen at most each cutoff apart.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "a", "b"], target=[1, 2, 2, 3], time=[0, 5, 6, 6])
    >>> candidates_within(table, table.time, [1, 9])
    [2, 5]
    """
    everywhere, on_one = side_by_side(
        lambda: pairs_within(seen, cutoffs), lambda: pairs_within_groups(table.target_group, seen, cutoffs)
    )
    return [every - same for every, same in zip(everywhere, on_one, strict=True)]


def pairs_of_day(table: EventTable) -> PairShare:
    """Pairs on different targets that arrive on one day of UTC.

    >>> from tarry.study.table import event_table
    >>> pairs_of_day(event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60, 61]))
    PairShare(persons=1, pairs=3)
    """
    day = table.time // _DAY
    return PairShare(
        persons=_alike(day, table.actor_rank) - _alike(day, table.pseudonym_rank),
        pairs=_alike(day) - _alike(day, table.target_rank),
    )


def _alike(*columns: IntArray) -> int:
    """Pairs of rows that agree in all columns."""
    order = row_order(*columns)
    new = np.zeros(len(order), dtype=np.bool_)
    for column in columns:
        new[1:] |= column[order][1:] != column[order][:-1]
    sizes = np.bincount(np.cumsum(new)) if len(order) else np.zeros(0, dtype=np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


# --- people ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SizeOfActivity:
    """People with so many acts, and how many of them have a pair that is claimed.

    >>> SizeOfActivity(least=2, most=9, people=10, called=4).called
    4
    """

    least: int  # acts
    most: int | None  # None: no limit
    people: int
    called: int


@dataclass(frozen=True, kw_only=True)
class Calls:
    """What claims at one cutoff are to the people behind them.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 50, 51])
    >>> found = calls_at(table, table.time, 50)
    >>> found.people, found.called, found.top_share
    (2, 1, 1.0)
    """

    cutoff: int  # microseconds
    people: int  # all of them
    called: int  # those with at least one pair of their own among the claims
    top_share: float | None  # of the right claims: about the person with most of them
    top_ten_share: float | None  # about the ten with most
    mean_right: float | None  # over people whom a claim is about: how often such claims are right
    sizes: tuple[SizeOfActivity, ...]


def calls_at(table: EventTable, seen: IntArray, cutoff: int) -> Calls:
    """Count the people whom claims at a cutoff are about; below 0 nothing is claimed.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 50, 51])
    >>> round(calls_at(table, table.time, 51).mean_right, 3)  # one of three claims, and none of two
    0.167
    """
    own = own_pairs(table, seen, cutoff)
    claims = claims_about(table, seen, cutoff) - own
    ranked, right = np.sort(own)[::-1], total(own)
    about = claims > 0
    acts = np.bincount(table.actor_rank, minlength=1)
    return Calls(
        cutoff=cutoff,
        people=table.actors,
        called=int((own > 0).sum()),
        top_share=int(ranked[:1].sum()) / right if right else None,
        top_ten_share=int(ranked[:10].sum()) / right if right else None,
        mean_right=mean_share(own[about], claims[about]) if about.any() else None,
        sizes=tuple(
            SizeOfActivity(
                least=least,
                most=most,
                people=int(((acts >= least) & (acts <= (most or acts.max()))).sum()),
                called=int(((acts >= least) & (acts <= (most or acts.max())) & (own > 0)).sum()),
            )
            for least, most in SIZES
        ),
    )


def right_interval(
    table: EventTable, seen: IntArray, cutoff: int, *, seed: int = 0, samples: int = 200
) -> tuple[float, float] | None:
    """Where the share of right claims lies for other people like these: 95 of 100 samples of people.

    In a sample pairs of one person count as often as that person is drawn, pairs of two people as often
    as both are drawn together. None where too few people are claimed.

    >>> from tarry.study.table import event_table
    >>> actors = [n // 2 for n in range(40)]
    >>> table = event_table(actor=actors, target=range(40), time=[1000 * a for a in actors])
    >>> right_interval(table, table.time, 5)
    (1.0, 1.0)
    """
    own = own_pairs(table, seen, cutoff)
    if (own > 0).sum() < LEAST_CLAIMED:
        return None
    drawn = zip(
        people_drawn(table.people, own, samples, seed),
        claims_drawn(table, seen, cutoff, samples, seed),
        strict=True,
    )
    return interval_over(
        [
            Resample(people=people, right=right, inside=inside, claims=claims)
            for (people, right, inside), claims in drawn
        ],
        table.actors,
    )


@dataclass(frozen=True, kw_only=True)
class People:
    """What an attack's claims say about people: the best of them, and whom they are about.

    >>> People(best=None).called_at(0.5) is None
    True
    """

    best: Score | None  # of claims that find a tenth of the linked pairs; None: none does, or nobody asked
    interval: tuple[float, float] | None = None  # of its share of right claims, over samples of people
    calls: Mapping[float, Calls] = field(default_factory=dict)  # at the longest cutoff right so often

    @property
    def right(self) -> float | None:
        """How often the best claims are right about the person."""
        return None if self.best is None else self.best.right_person

    def called_at(self, confidence: float) -> int | None:
        """How many people have a pair that is claimed with this confidence; None where nobody asked."""
        return self.calls[confidence].called if confidence in self.calls else None


def people_behind(
    table: EventTable, seen: IntArray, score: Scoring, farthest: int, *, thorough: bool, seed: int = 0
) -> People:
    """The best cutoff of an attack, and where it is thorough also intervals and whom the claims are about.

    >>> from tarry.study.attack import Truth
    >>> from tarry.study.attack.cutoff import cutoff_attack
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 50, 90])
    >>> truth = Truth(table=table, window=60)
    >>> score = lambda cutoffs: cutoff_attack(truth, table.time, cutoffs)
    >>> people_behind(table, table.time, score, 100, thorough=True).called_at(0.5)
    1
    """
    score = remembering(score)
    best = best_score(score, seen, farthest)
    if not thorough:
        return People(best=best)
    calls = {}
    for confidence in CONFIDENCES:
        longest = longest_score(score, seen, farthest, confidence)
        calls[confidence] = calls_at(table, seen, -1 if longest is None else longest.cutoff)
    interval = (
        None
        if best is None
        else right_interval(table, seen, best.cutoff, seed=seed, samples=resamples(len(table)))
    )
    return People(best=best, interval=interval, calls=calls)


#: Nothing was asked about people.
NOBODY = People(best=None)
#: A pair is called where claims as close are right this often.
CONFIDENCES = (0.5, 0.9)
#: Fewer people with claims about them have no interval.
LEAST_CLAIMED = 2
#: Sizes of activity: least and most acts.
SIZES: tuple[tuple[int, int | None], ...] = ((1, 1), (2, 9), (10, 99), (100, 999), (1000, None))


def own_pairs(table: EventTable, seen: IntArray, cutoff: int) -> IntArray:
    """For each person, pairs of theirs on different targets, seen at most the cutoff apart.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 50, 51])
    >>> int(own_pairs(table, table.time, 50).sum())
    1
    """
    own = np.zeros(max(table.actors, 1), dtype=np.int64)
    for sign, groups in ((1, table.actor_rank), (-1, table.pseudonym_rank)):
        order, ends = later_within(groups, seen, cutoff)
        own += sign * _by_person(table, in_rows(order, ends - np.arange(len(ends)) - 1))
    return own


def claims_about(table: EventTable, seen: IntArray, cutoff: int) -> IntArray:
    """For each person, claims about each of their acts; a claim about two of them counts twice.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 50, 51])
    >>> sorted(claims_about(table, table.time, 51).tolist())
    [2, 4]
    """
    claims = np.zeros(max(table.actors, 1), dtype=np.int64)
    for sign, groups in ((1, np.zeros(len(seen), dtype=np.int64)), (-1, table.target_rank)):
        order, ends = later_within(groups, seen, cutoff)
        places = np.arange(len(ends))
        begun = np.bincount(places + 1, minlength=len(ends) + 2) - np.bincount(
            ends, minlength=len(ends) + 2
        )
        earlier = np.cumsum(begun)[: len(ends)]
        claims += sign * _by_person(table, in_rows(order, ends - places - 1 + earlier))
    return claims


def _by_person(table: EventTable, values: IntArray) -> IntArray:
    """The sum of each person's values; rows are in the order of people."""
    if not len(table):
        return np.zeros(1, dtype=np.int64)
    return np.add.reduceat(values, np.flatnonzero(np.diff(table.actor_rank, prepend=-1)))
