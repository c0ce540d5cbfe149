"""The attack: what an observer sees of every name, and where each query's other name comes among all.

The score of q for a query p is the sum, over the releases o of q, of log(1 - t + t K(o) / f(o)). K is the
density of p's releases, smoothed by a triangle of some width; f is what one would expect of q without p.
Its expectation is at most 0 for everybody who has nothing to do with p, whatever the width and t.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from os import cpu_count

import numpy as np
import numpy.typing as npt

from tarry.core.lanes import IntArray
from tarry.study import kernels
from tarry.study.figures import seconds
from tarry.study.watch.pseudonyms import WEEK, Pseudonyms

__all__ = ["BACKGROUNDS", "COUNTING", "TRUSTS", "FloatArray", "Ranked", "Sight", "Way", "rank"]

FloatArray = npt.NDArray[np.float64]

_HOURS = 168
_HOUR = WEEK // _HOURS
#: What o is compared with: what everybody does that week, or what q does then or at that hour of a week.
BACKGROUNDS = (
    "everybody that week",
    "the name itself that week",
    "the name itself those four weeks",
    "the name itself at that hour",
)
#: How much of q's activity may be p's own: small ones ask little of q, large ones much.
TRUSTS = (0.02, 0.1, 0.3, 0.7)
COUNTING = "coincidences"


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to score: a width, whether bursts count once, and what is done with it.

    >>> Way(width=300_000_000, background="everybody that week", trust=0.1).text
    'within 5m, against everybody that week, t 0.1'
    >>> Way(width=300_000_000, pause=3_600_000_000).text
    'within 5m, bursts as one, coincidences counted'
    """

    width: int  # microseconds
    pause: int = 0  # microseconds; 0: every act counts
    grid: int = 1  # microseconds; times are cut to whole ones
    background: str = COUNTING
    trust: float | None = None

    @property
    def counts(self) -> bool:
        """Whether it only counts coincidences."""
        return self.trust is None

    @property
    def text(self) -> str:
        """For people."""
        within = f"within {seconds(self.width / 1e6)}"
        within += f", times cut to {seconds(self.grid / 1e6)}" if self.grid > 1 else ""
        within += ", bursts as one" if self.pause else ""
        return (
            f"{within}, {COUNTING} counted"
            if self.counts
            else f"{within}, against {self.background}, t {self.trust:g}"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Sight:
    """What somebody knows of each row, and how they look at it.

    >>> import numpy as np
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a"] * 4, target=[1, 2, 1, 2], time=[0, 5, 900, 905])
    >>> names = Pseudonyms(table=table, sides=table.target - 1, least=2)
    >>> sight = Sight(names=names, seen=table.time, widths=(10,))
    >>> sight.scores(0, 10)[:, -1].tolist()  # coincidences with the first name's acts: its own, the other's
    [2.0, 2.0]
    """

    names: Pseudonyms
    seen: IntArray  # microseconds, one for each row of the table
    widths: Sequence[int]
    pause: int = 0  # acts of a name that follow another one of it sooner than this count as that one
    cell: int = WEEK  # the length over which activity is compared; no finer than what is seen
    grid: int = 1  # microseconds; whoever sees more may look as if times were cut to whole ones

    @cached_property
    def moments(self) -> IntArray:
        """What is looked at of each row."""
        cut: IntArray = self.seen // self.grid * self.grid
        return cut

    @cached_property
    def _rows(self) -> IntArray:
        """The candidates' rows by the moment they are seen; of a burst of one name only the first."""
        names = self.names.names
        rows: IntArray = np.lexsort((self.moments, names))
        burst = (np.diff(names[rows]) == 0) & (np.diff(self.moments[rows]) < self.pause)
        rows = rows[np.append(True, ~burst)]
        rows = rows[self.names.places[names[rows]] >= 0]
        by_time: IntArray = rows[np.argsort(self.moments[rows], kind="stable")]
        return by_time

    @cached_property
    def times(self) -> IntArray:
        """When the candidates' acts are seen, in order."""
        return self.moments[self._rows]

    @cached_property
    def owners(self) -> IntArray:
        """The candidate of each of them."""
        return self.names.places[self.names.names[self._rows]]

    @cached_property
    def sizes(self) -> IntArray:
        """How many acts each candidate has."""
        return np.bincount(self.owners, minlength=len(self.names.candidates))

    @cached_property
    def rareness(self) -> FloatArray:
        """1 / f for each of the candidates' acts and each background, in microseconds."""
        rows, own, seen = self._rows, self.sizes[self.owners], self.moments
        start, end = int(seen.min()), int(seen.max())
        cells = (seen - start) // self.cell
        hours = seen // _HOUR % _HOURS
        span = float(max(WEEK, self.cell, end - start))
        everybody = np.bincount(cells)[cells[rows]]
        that_week = _together(self.owners, cells[rows])
        four_weeks = _together(self.owners, cells[rows] // 4)
        that_hour = _together(self.owners, hours[rows])
        return np.stack(
            [
                len(seen) / everybody * self.cell,
                own / that_week * self.cell,
                own / four_weeks * (4 * self.cell),
                own / that_hour * span / _HOURS,
            ],
            axis=1,
        )

    @cached_property
    def _acts(self) -> list[IntArray]:
        """The times of each candidate, in order."""
        order = np.argsort(self.owners, kind="stable")
        return np.split(self.times[order], np.cumsum(self.sizes)[:-1])

    def prepare(self) -> None:
        """Work out what all scores need."""
        _ = self.rareness, self._acts

    @property
    def ways(self) -> list[Way]:
        """The ways to score, in the order of the columns of a ranking."""
        scored = [*product(BACKGROUNDS, TRUSTS), (COUNTING, None)]
        return [
            Way(width=width, pause=self.pause, grid=self.grid, background=background, trust=trust)
            for width in self.widths
            for background, trust in scored
        ]

    def scores(self, query: int, width: int) -> FloatArray:
        """The score of every candidate for one of them: a row for each, a column for each way."""
        trusts = np.array(TRUSTS)
        place = int(self.names.places[query])
        return kernels.watch_scores(
            self._acts[place], width, self.times, self.owners, self.rareness, trusts, self.sizes
        )


def _together(owners: IntArray, groups: IntArray) -> IntArray:
    """For each row, how many rows have its owner and group."""
    keys = owners * (int(groups.max(initial=0)) + 1) + groups
    _, of_row, counts = np.unique(keys, return_inverse=True, return_counts=True)
    together: IntArray = counts[of_row]
    return together


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranked:
    """How many of the other candidates come before each query's other name, and how many beside it.

    >>> one = Ranked(above=np.array([[0]]), beside=np.array([[1]]), others=9)
    >>> one.among(1).tolist(), one.among(10).tolist(), round(float(one.area[0, 0]), 4)
    ([[0.5]], [[1.0]], 0.9375)
    """

    above: IntArray  # a row for each query, a column for each way
    beside: IntArray
    others: int  # candidates but the query itself: the other name is one of them

    def among(self, first: int) -> FloatArray:
        """The chance that the other name is among so many first ones, if equals come in any order."""
        return np.clip((first - self.above) / (self.beside + 1), 0.0, 1.0)

    @property
    def area(self) -> FloatArray:
        """The share of the others that come after it; beside it counts half."""
        wrong = max(1, self.others - 1)
        return 1.0 - (self.above + self.beside / 2) / wrong


def rank(sights: Sequence[Sight], progress: Callable[[], None] | None = None) -> Ranked:
    """Find the other name of every query, in every way of several sights of the same names.

    >>> from tarry.study.table import event_table
    >>> times = [0, 5, 900, 905, 20, 30, 40, 50]
    >>> table = event_table(actor=[1] * 4 + [2] * 4, target=[1, 2] * 4, time=times)
    >>> names = Pseudonyms(table=table, sides=table.target - 1, least=2)
    >>> rank([Sight(names=names, seen=table.time, widths=(10,))]).above[0].tolist()[-1]
    0
    """
    names, columns = sights[0].names, sum(len(sight.ways) for sight in sights)
    above = np.zeros((len(names.queries), columns), dtype=np.int64)
    beside = np.zeros_like(above)
    for sight in sights:  # before several threads would do it
        sight.prepare()
    looks = [(sight, width) for sight in sights for width in sight.widths]

    def one(number: int) -> None:
        query = int(names.queries[number])
        me, mate, first = names.places[query], names.places[query ^ 1], 0
        for sight, width in looks:
            scores = sight.scores(query, width)
            right = scores[mate].copy()
            scores[me] = -np.inf  # nobody looks for the name they have
            last = first + scores.shape[1]
            above[number, first:last] = (scores > right).sum(axis=0)
            beside[number, first:last] = (scores == right).sum(axis=0) - 1
            first = last

    with ThreadPoolExecutor(min(8, cpu_count() or 1)) as pool:
        for _ in pool.map(one, range(len(names.queries))):
            if progress is not None:
                progress()
    return Ranked(above=above, beside=beside, others=max(1, len(names.candidates) - 1))
