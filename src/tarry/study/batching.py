"""How people batch: measures of a history before anybody attacks it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tarry.core.calibrate import posterior_batched, posterior_unbatched
from tarry.core.errors import NotPossible
from tarry.core.history import row_order
from tarry.core.labels import partner_distance
from tarry.core.lanes import BoolArray, IntArray
from tarry.study import kernels
from tarry.study.exact_sums import mean_share
from tarry.study.table import EventTable

__all__ = [
    "Batching",
    "Measures",
    "Posterior",
    "actor_rates",
    "batch_gaps",
    "close_actor_share",
    "in_batch_gaps",
    "measure",
    "measure_batching",
    "null_gaps",
    "overtaken_pairs",
    "people_around",
    "posteriors",
    "reordered_share",
    "reply_time",
]

PERCENTILES = (5, 10, 25, 50, 75, 90, 95)
# Of the whole curves: without the least and the most, which are one person's.
FINE = tuple(range(1, 100))
# The rate of different people takes the longest: unasked it is measured where it takes a second or two.
MOST_LOOKS = 200_000_000


@dataclass(frozen=True, kw_only=True)
class Batching:
    """How often the people of a history batch.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a"] * 3, target=[1, 2, 3], time=[0, 5, 99])
    >>> measure_batching(table, window=10).rate
    0.5
    """

    with_partner: int  # events with one of the same actor on a different target within the window
    batched_share: float  # of all events
    moves: int  # an actor's consecutive events on different targets
    moves_within: int  # those at most the window apart

    @property
    def rate(self) -> float | None:
        """The appendix's rate of batching: the share of moves within the window."""
        return self.moves_within / self.moves if self.moves else None


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """How sure an observer can be, among so many equally likely suspects.

    >>> posteriors(0.301, 0.0066, [10])[0].batched > 0.83
    True
    """

    suspects: int
    batched: float  # of the right one, after two acts that appear together
    unbatched: float  # of the likeliest other, after two that do not


@dataclass(frozen=True, kw_only=True)
class Measures:
    """A history before anybody attacks it. Gaps and rates are percentiles: percent -> value.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5, 99])
    >>> measure(table, window=10).batching.rate
    1.0
    """

    events: int
    actors: int
    targets: int
    first: int  # microseconds
    last: int
    window: int  # microseconds
    batching: Batching
    in_batch_gaps_s: dict[int, float]
    null_gaps_s: dict[int, float]
    in_batch_curve_s: dict[int, float]  # the same, every percent: for charts
    null_curve_s: dict[int, float]
    actor_rates: dict[int, float]  # over the actors who moved between targets
    # Share of pairs of different actors who act close together; None: not measured.
    different: Fraction | None


def measure(table: EventTable, window: int, *, different: bool | None = None) -> Measures:
    """How the people of a history batch; the window is in microseconds.

    `different` asks for the rate at which different people act close together, which takes longest;
    unasked it is measured on small tables.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5, 99])
    >>> measure(table, window=10).null_gaps_s[50]
    9.4e-05
    """
    if not len(table):
        raise NotPossible("a history without events cannot be measured: give one with events")
    if different is None:
        different = _looks(table, window) <= MOST_LOOKS
    inside, between = in_batch_gaps(table, window) / 1e6, null_gaps(table) / 1e6  # seconds
    return Measures(
        events=len(table),
        actors=table.actors,
        targets=table.targets,
        first=int(table.time.min()),
        last=int(table.time.max()),
        window=window,
        batching=measure_batching(table, window),
        in_batch_gaps_s=_percentiles(inside),
        null_gaps_s=_percentiles(between),
        in_batch_curve_s=_percentiles(inside, FINE),
        null_curve_s=_percentiles(between, FINE),
        actor_rates=_percentiles(actor_rates(table, window)),
        different=close_actor_share(table, window) if different else None,
    )


def _looks(table: EventTable, window: int) -> int:
    """How many events all windows cover together: what the rate of different people costs."""
    ordered = np.sort(table.time)
    ends = np.searchsorted(ordered, ordered + window, side="right")
    return int(2 * (ends - np.arange(len(ordered))).sum())


def measure_batching(table: EventTable, window: int) -> Batching:
    """Measure a table; the window is in microseconds.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a"] * 5, target=[1, 2, 2, 2, 3], time=[0, 5, 6, 8, 100])
    >>> measure_batching(table, window=5)  # the appendix's own example
    Batching(with_partner=2, batched_share=0.4, moves=2, moves_within=1)
    """
    before, after = partner_distance(table.history, table.time)
    with_partner = int((np.minimum(before, after) <= window).sum())
    gaps = _move_gaps(table)
    return Batching(
        with_partner=with_partner,
        batched_share=with_partner / len(table) if len(table) else 0.0,
        moves=len(gaps),
        moves_within=int((gaps <= window).sum()),
    )


def in_batch_gaps(table: EventTable, window: int) -> IntArray:
    """The gaps of moves within the window, sorted, in microseconds.

    >>> from tarry.study.table import event_table
    >>> in_batch_gaps(event_table(actor=["a"] * 3, target=[1, 2, 3], time=[0, 9, 12]), 5).tolist()
    [3]
    """
    gaps = _move_gaps(table)
    return np.sort(gaps[gaps <= window])


def batch_gaps(table: EventTable, window: int, new: BoolArray) -> IntArray:
    """The gaps of moves within the window to the events that are `new`, in microseconds.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a"] * 3, target=[1, 2, 3], time=[0, 3, 5])
    >>> batch_gaps(table, 5, table.time > 3).tolist()
    [2]
    """
    gaps = np.diff(table.time)
    which: BoolArray = _moves(table) & (gaps <= window) & new[1:]
    return gaps[which]


def null_gaps(table: EventTable) -> IntArray:
    """The gaps of rows that follow each other and differ in actor and target, sorted, in microseconds.

    >>> from tarry.study.table import event_table
    >>> null_gaps(event_table(actor=["a", "b", "c"], target=[1, 2, 2], time=[0, 9, 12])).tolist()
    [9]
    """
    order = np.argsort(table.time, kind="stable")
    actor, target, time = table.actor[order], table.target[order], table.time[order]
    apart = (actor[1:] != actor[:-1]) & (target[1:] != target[:-1])
    return np.sort(np.diff(time)[apart])


def actor_rates(table: EventTable, window: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The rate of batching of each actor who moved between targets at all, sorted.

    >>> from tarry.study.table import event_table
    >>> actor_rates(event_table(actor=["a"] * 3, target=[1, 2, 3], time=[0, 9, 12]), 5).tolist()
    [0.5]
    """
    moved = _moves(table)
    ranks = table.actor_rank[1:][moved]
    all_moves = np.bincount(ranks, minlength=1)
    close = np.bincount(ranks[np.diff(table.time)[moved] <= window], minlength=len(all_moves))
    rates: np.ndarray[tuple[int], np.dtype[np.float64]] = np.sort(
        close[all_moves > 0] / all_moves[all_moves > 0]
    )
    return rates


def close_actor_share(table: EventTable, window: int) -> Fraction | None:
    """The share of pairs of different actors with some two events at most the window apart.

    Exact, in memory that grows with the events and not with the pairs; the time grows with the
    events that each actor's windows cover. None where there is only one actor.

    >>> from tarry.study.table import event_table
    >>> close_actor_share(event_table(actor=["a", "b", "c"], target=[1, 1, 1], time=[0, 5, 99]), 5)
    Fraction(1, 3)
    """
    pairs = table.actors * (table.actors - 1) // 2
    if not pairs:
        return None
    order = np.argsort(table.time, kind="stable")
    twice = kernels.close_groups(
        table.actor_rank, table.time, table.time[order], table.actor_rank[order], window
    )
    return Fraction(twice // 2, pairs)


def posteriors(same: float, different: float, suspects: Sequence[int]) -> list[Posterior]:
    """What two acts together, or apart, tell about who did them.

    >>> [round(p.batched, 3) for p in posteriors(0.301, 0.0066, [2, 10])]
    [0.979, 0.835]
    """
    rates = Fraction(same), Fraction(different)
    return [
        Posterior(
            suspects=count,
            batched=float(posterior_batched(*rates, count)),
            unbatched=float(posterior_unbatched(*rates, count)),
        )
        for count in suspects
    ]


def reordered_share(table: EventTable, release: IntArray) -> float | None:
    """The share of neighbours on one target that appear in the other order than they arrived in.

    Events that arrived, or appear, at the same moment have no order to lose. Where several arrived at
    one moment, neighbouring moments count by the share of their pairs that change places: which row
    came first in a file must not matter.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "b", "c"], target=[1, 1, 1], time=[0, 1, 2])
    >>> reordered_share(table, np.array([5, 4, 9]))
    0.5
    """
    overtaken, pairs, _ = overtaken_pairs(table, release)
    return mean_share(overtaken, pairs) if len(pairs) else None


def overtaken_pairs(table: EventTable, release: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """For neighbouring moments on one target: pairs that change places, all pairs, and the later moment.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "b", "c"], target=[1, 1, 1], time=[0, 1, 2])
    >>> [column.tolist() for column in overtaken_pairs(table, np.array([5, 4, 9]))]
    [[1, 0], [1, 1], [1, 2]]
    """
    order = row_order(table.target, table.time, release)
    target, time = table.target[order], table.time[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(target) != 0) | (np.diff(time) != 0)
    first = np.flatnonzero(new)  # the first row of each moment
    follows = np.diff(target[first]) == 0  # whether the next moment is on the same target
    if not follows.any():
        return (np.zeros(0, dtype=np.int64),) * 3
    pairs = np.diff(first) * np.diff(np.append(first[1:], len(order)))
    return _overtaken(first, release[order])[follows], pairs[follows], time[first[1:]][follows]


def reply_time(table: EventTable, release: IntArray) -> float | None:
    """Seconds within which half of the acts appear that follow another person's on the same target.

    It is counted from the moment when the act before appeared, if people answer what they see as fast as
    they did: so what is added is the delay of the answer. None where nobody follows anybody.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "b", "b"], target=[1, 1, 1], time=[0, 4_000_000, 5_000_000])
    >>> reply_time(table, table.time), reply_time(table, table.time + 3_000_000)
    (4.0, 7.0)
    """
    order = row_order(table.target, table.time, table.actor)
    follows = (np.diff(table.target[order]) == 0) & (np.diff(table.actor[order]) != 0)
    waits = release[order][1:][follows] - table.time[order][:-1][follows]
    return float(np.median(waits)) / 1e6 if len(waits) else None


def people_around(table: EventTable, span: int) -> int:
    """How many people are active around a typical act, in a stretch of so many microseconds.

    The history is cut into such stretches; half of the acts are in one with at most so many people.

    >>> from tarry.study.table import event_table
    >>> people_around(event_table(actor=["a", "b", "b"], target=[1, 2, 3], time=[0, 4, 90]), 10)
    2
    """
    stretch = np.unique(table.time // max(span, 1), return_inverse=True)[1]
    present = np.unique(np.stack([stretch, table.actor_rank]), axis=1)[0]
    people = np.bincount(present)[stretch]
    return int(np.quantile(people, 0.5, method="inverted_cdf")) if len(people) else 0


def _overtaken(first: IntArray, appeared: IntArray) -> IntArray:
    """For each moment but the last: its pairs with the next one's rows that appear before its own."""
    count = len(appeared)
    moment = np.repeat(np.arange(len(first)), np.diff(np.append(first, count)))
    # Rows stand by moment and appearance, so a key of both finds a row's place in the next moment.
    key = moment * count + np.unique(appeared, return_inverse=True)[1]
    rows = np.arange(first[-1])
    earlier = np.searchsorted(key, key[rows] + count) - first[moment[rows] + 1]
    return np.add.reduceat(earlier, first[:-1])


def _moves(table: EventTable) -> BoolArray:
    """Whether each row but the first is a move: the same actor as the row before, another target."""
    moved: BoolArray = (np.diff(table.actor) == 0) & (np.diff(table.target) != 0)
    return moved


def _move_gaps(table: EventTable) -> IntArray:
    return np.diff(table.time)[_moves(table)]


def _percentiles(
    values: "np.ndarray[tuple[int], np.dtype[np.float64]]", percents: Sequence[int] = PERCENTILES
) -> dict[int, float]:
    """Observed values, none in between: at least so many percent are at most this."""
    if not len(values):
        return {}
    observed = np.quantile(values, [percent / 100 for percent in percents], method="inverted_cdf")
    return dict(zip(percents, (float(value) for value in observed), strict=True))
