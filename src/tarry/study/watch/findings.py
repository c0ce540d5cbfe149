"""How often the other name is found: settings chosen on half of the people, figures of the other half."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from tarry.core.lanes import BoolArray, IntArray
from tarry.study.figures import percent
from tarry.study.watch.ranking import FloatArray, Ranked, Way

__all__ = ["ATTACKS", "Estimate", "Growth", "Tally", "WatchFinding", "estimate", "interval_below", "joined"]

#: The attack with its ladder of widths and backgrounds, and the plain one beside it.
ATTACKS = ("likelihood", "counting")
_SURE = 1.96  # standard errors: 95 of 100 intervals hold the truth


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean and its interval, in which the truth lies 95 times of 100; people are drawn, not queries.

    >>> Estimate(mean=0.5, low=0.4, high=0.6).text
    '50.0 % (40.0 to 60.0)'
    """

    mean: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """In percent."""
        return f"{percent(self.mean)} ({100 * self.low:.1f} to {100 * self.high:.1f})"


def estimate(values: FloatArray, people: IntArray) -> Estimate:
    """The mean of values between 0 and 1, several of which may be one person's.

    The interval is Wilson's, for as many independent values as would vary so much.

    >>> estimate(np.array([1.0, 1.0, 1.0, 1.0]), np.array([1, 1, 2, 2])).text
    '100.0 % (34.2 to 100.0)'
    """
    mean = float(values.mean())
    error = _error(values - mean, people)
    count = len(np.unique(people))
    worth = min(mean * (1 - mean) / error**2, len(values)) if error else count
    square = _SURE**2 / worth
    middle = (mean + square / 2) / (1 + square)
    half = _SURE / (1 + square) * sqrt(max(0.0, mean * (1 - mean)) / worth + square / (4 * worth))
    return Estimate(
        mean=mean, low=min(mean, max(0.0, middle - half)), high=max(mean, min(1.0, middle + half))
    )


def interval_below(lower: FloatArray, higher: FloatArray, people: IntArray, looks: int = 1) -> bool:
    """Whether the mean of one row of figures lies below another's beyond chance, query by query.

    With several looks the chance that any of them says so wrongly is at most 1 in 40.

    >>> people = np.arange(50)
    >>> (
    ...     interval_below(np.zeros(50), np.ones(50), people),
    ...     interval_below(np.zeros(50), np.zeros(50), people),
    ... )
    (True, False)
    """
    apart = lower - higher
    mean, sure = float(apart.mean()), NormalDist().inv_cdf(1 - 0.025 / max(1, looks))
    return mean < 0 and mean + sure * _error(apart - mean, people) < 0


def _error(deviations: FloatArray, people: IntArray) -> float:
    """The standard error of a mean whose values belong together by person."""
    sums = np.bincount(np.unique(people, return_inverse=True)[1], weights=deviations)
    return float(np.sqrt((sums**2).sum())) / len(deviations)


@dataclass(frozen=True, kw_only=True)
class Growth:
    """The queries that share so many sessions or weeks with their other name.

    >>> Growth(least=4, most=7, queries=20, first=Estimate(mean=0.5, low=0.3, high=0.7)).text
    '4 to 7'
    """

    least: int
    most: int
    queries: int
    first: Estimate  # how often the other name comes first

    @property
    def text(self) -> str:
        """The range."""
        return str(self.least) if self.least == self.most else f"{self.least:,} to {self.most:,}"


@dataclass(frozen=True, kw_only=True)
class WatchFinding:
    """What one attack finds of one practice, under one kind of split.

    >>> one = Estimate(mean=0.5, low=0.3, high=0.7)
    >>> figures = {"first": one, "among_ten": one, "area": one, "by_sessions": (), "by_weeks": ()}
    >>> WatchFinding(
    ...     practice="nothing", split="random", attack="counting", chosen=(), **figures
    ... ).ledger is None
    True
    """

    practice: str
    split: str
    attack: str
    first: Estimate  # how often the other name comes first
    among_ten: Estimate  # how often it is among the first ten
    area: Estimate  # of the other candidates, the share that come after it
    by_sessions: tuple[Growth, ...]
    by_weeks: tuple[Growth, ...]
    chosen: tuple[str, ...]  # the settings, as chosen on either half
    ledger: float | None = None  # how sure of the right name one could be by the ledger alone
    reach_s: float | None = None  # how much later an act may come in the ledger's other story
    # Of searches with a shared session, the share in which nobody else acts within reach of every one
    alone: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """As plain values.

        >>> one = Estimate(mean=0.5, low=0.3, high=0.7)
        >>> figures = {"first": one, "among_ten": one, "area": one, "by_sessions": (), "by_weeks": ()}
        >>> one = WatchFinding(practice="nothing", split="random", attack="counting", chosen=(), **figures)
        >>> one.as_dict()["first"]["mean"]
        0.5
        """
        return asdict(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Every query's figures in every way of scoring, before one way is chosen.

    >>> ranked = Ranked(above=np.array([[0], [1]]), beside=np.array([[0], [0]]), others=9)
    >>> queries = {"people": np.array([3, 4]), "halves": np.array([0, 1]), "shared": np.ones((2, 2))}
    >>> tally = Tally.of(ranked, ways=[Way(width=5)], **queries)
    >>> tally.finding(practice="nothing", split="random", attack="counting").first.mean
    0.5
    """

    ways: Sequence[Way]
    first: FloatArray  # a row for each query, a column for each way
    among_ten: FloatArray
    area: FloatArray
    people: IntArray
    halves: IntArray  # 0 or 1 for each query, one value for a person
    shared: IntArray  # sessions and weeks shared with the other name

    @classmethod
    def of(
        cls, ranked: Ranked, *, ways: Sequence[Way], people: IntArray, halves: IntArray, shared: IntArray
    ) -> "Tally":
        """The figures of a ranking."""
        return cls(
            ways=ways,
            first=ranked.among(1),
            among_ten=ranked.among(10),
            area=ranked.area,
            people=people,
            halves=halves,
            shared=shared,
        )

    def columns(self, attack: str) -> IntArray:
        """For each query, the way that does best for the people of the other half."""
        allowed = np.array([way.counts == (attack == "counting") for way in self.ways])
        column = np.zeros(len(self.halves), dtype=np.int64)
        for half in (0, 1):
            other = self.halves != half
            if not other.any():  # nobody to choose by: the first way there is
                column[~other] = int(np.argmax(allowed))
                continue
            worth = self.first[other].mean(axis=0) + self.area[other].mean(axis=0) / 1000  # between equals
            column[~other] = int(np.argmax(np.where(allowed, worth, -1.0)))
        return column

    def finding(self, *, practice: str, split: str, attack: str, **ledger: float | None) -> WatchFinding:
        """The figures of an attack; `ledger`, `reach_s` and `alone` are those of the policy."""
        column = self.columns(attack)
        rows = np.arange(len(column))
        first = self.first[rows, column]
        return WatchFinding(
            practice=practice,
            split=split,
            attack=attack,
            first=estimate(first, self.people),
            among_ten=estimate(self.among_ten[rows, column], self.people),
            area=estimate(self.area[rows, column], self.people),
            by_sessions=tuple(_growth(first, self.people, self.shared[:, 0])),
            by_weeks=tuple(_growth(first, self.people, self.shared[:, 1])),
            chosen=tuple(self.ways[way].text for way in np.unique(column)),
            **ledger,
        )

    def best(self) -> FloatArray:
        """How often the likelihood attack finds each query's other name first."""
        return self.first[np.arange(len(self.halves)), self.columns("likelihood")]


def joined(tallies: Sequence[Tally]) -> Tally:
    """The queries of several splits together.

    >>> ranked = Ranked(above=np.array([[0]]), beside=np.array([[0]]), others=9)
    >>> queries = {"people": np.array([3]), "halves": np.array([0]), "shared": np.ones((1, 2))}
    >>> one = Tally.of(ranked, ways=[Way(width=5)], **queries)
    >>> len(joined([one, one]).people)
    2
    """
    names = [column.name for column in fields(Tally) if column.name != "ways"]
    columns = {name: np.concatenate([getattr(tally, name) for tally in tallies]) for name in names}
    return Tally(ways=tallies[0].ways, **columns)


def _growth(first: FloatArray, people: IntArray, shared: IntArray) -> Iterator[Growth]:
    """The same figures for 0, 1, 2 to 3, 4 to 7 and so on."""
    least, most = 0, 0
    while least <= shared.max(initial=-1):
        inside: BoolArray = (shared >= least) & (shared <= most)
        if inside.any():
            yield Growth(
                least=least,
                most=most,
                queries=int(inside.sum()),
                first=estimate(first[inside], people[inside]),
            )
        least, most = most + 1, 2 * most + 1
