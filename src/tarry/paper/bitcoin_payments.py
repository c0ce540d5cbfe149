"""Payments of the Bitcoin experiment: two made-up weeks of them, and the gaps that two rules learn.

Most payments go to an address that nobody else pays. Some addresses are paid often, a few very often.
Now and then one owner pays a single address from several of their own within a minute: a batch.
Nothing here is anybody's payment; the statistics are those that the paper prints of its week. How often
regular addresses are paid is not printed: it was chosen so that delays and attacks come near what is, and
proves nothing by itself.

The paper's rule takes the gap from the recipient's last seven days. A gap that follows the very payments
it protects gives them away: had one of them come earlier, the next would draw from another law. A gap from
a week that is closed by then cannot.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tarry.core.calibrate import gap_at_percentile
from tarry.core.exact import ratio_below
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.laws.zero_inflated import support_end, zero_inflated_pair
from tarry.core.mechanism import LawPair
from tarry.paper.finding import Table
from tarry.study.practice import MICROSECONDS
from tarry.study.table import EventTable, event_table

__all__ = [
    "ARRIVALS",
    "DAY",
    "DEFAULT",
    "WEEK",
    "WINDOW",
    "Gaps",
    "closed_gaps",
    "example",
    "make_weeks",
    "past_gaps",
    "safe_table",
    "usable",
    "with_history",
]


FloatArray = npt.NDArray[np.float64]

DAY = 86_400 * MICROSECONDS
WEEK = 7 * DAY
#: Section on Bitcoin: a batch is within one minute; without history the gap is ten minutes.
WINDOW, DEFAULT = 60 * MICROSECONDS, 600 * MICROSECONDS

_STARTS_AT = 1_658_707_200 * MICROSECONDS  # the Monday a week before that of the paper, 00:00 UTC
_BATCHED = 0.0104  # of all payments are made in batches; the rest of the published 1.2 % is chance
_KNOWN_BATCHED = 0.78  # of batches go to addresses that are paid often
_KNOWN_LONE = 0.025  # and so do these of the lone payments
_MORE = 0.2  # chance of each further member of a batch, after two
_A_WEEK, _SPREAD, _MOST = 5.0, 2.0, 500.0  # lone payments of a regular address: median, log sd, most


@dataclass(frozen=True, kw_only=True, eq=False)
class _Paid:
    recipient: IntArray
    time: IntArray  # microseconds after the start


def make_weeks(per_day: int, seed: int) -> EventTable:
    """Two weeks of payments: the actor is the receiving address, the target the spending one.

    >>> table = make_weeks(per_day=500, seed=1)
    >>> len(table), table.targets == len(table)
    (7000, True)
    """
    rng = np.random.default_rng(seed)
    total = 14 * per_day
    rates = _rates(total * _KNOWN_LONE / 2)
    batches = _batches(round(total * _BATCHED), rates, rng)
    lone = total - len(batches.time)
    known = rng.choice(len(rates), size=round(lone * _KNOWN_LONE), p=rates / rates.sum())
    fresh = len(rates) + total + np.arange(lone - len(known))
    time = np.concatenate((batches.time, rng.integers(2 * WEEK, size=lone)))
    return event_table(
        actor=np.concatenate((batches.recipient, known, fresh)),
        target=rng.permutation(total),
        time=_STARTS_AT + time // MICROSECONDS * MICROSECONDS,
    )


def _rates(a_week: float) -> FloatArray:
    """How often regular addresses are paid in a week, in sum about `a_week`: a long tail, cut.

    The quantiles of the law, not draws from it: so few addresses would make every seed another world.
    """
    many = max(1, round(a_week / float(np.mean(_quantiles(1000)))))
    return _quantiles(many)


def _quantiles(many: int) -> FloatArray:
    scores = [NormalDist().inv_cdf((i + 0.5) / many) for i in range(many)]
    return np.minimum(_A_WEEK * np.exp(_SPREAD * np.array(scores)), _MOST)


def _batches(payments: int, rates: FloatArray, rng: np.random.Generator) -> _Paid:
    """Batches of two or more, to addresses that are paid often or to ones of their own."""
    ends = np.cumsum(1 + rng.geometric(1 - _MORE, size=payments))
    sizes = np.diff(ends[: int(np.searchsorted(ends, payments)) + 1], prepend=0)
    owner = rng.choice(len(rates), size=len(sizes), p=rates / rates.sum())
    alone = rng.random(len(sizes)) >= _KNOWN_BATCHED
    owner[alone] = len(rates) + np.arange(int(alone.sum()))
    start = rng.integers(2 * WEEK - WINDOW, size=len(sizes))
    within = rng.integers(WINDOW - 5 * MICROSECONDS, size=int(sizes.sum()))
    return _Paid(recipient=np.repeat(owner, sizes), time=np.repeat(start, sizes) + within)


def with_history(table: EventTable) -> BoolArray:
    """Which payments go to a recipient that was paid in the seven days before, batches not counted.

    >>> with_history(event_table(actor=[7, 7, 7], target=[1, 2, 3], time=[0, 10, WEEK])).tolist()
    [False, False, True]
    """
    same = table.actor_rank[1:] == table.actor_rank[:-1]
    near = same & (np.diff(table.time) <= WINDOW)
    # The start of each run of payments within a minute of each other decides for all of them.
    runs = np.flatnonzero(np.concatenate(([True], ~near)))
    history = np.zeros(len(table), dtype=np.bool_)
    before = np.concatenate(([False], same & (np.diff(table.time) <= WEEK)))[runs]
    lengths = np.diff(np.append(runs, len(table)))
    history[:] = np.repeat(before, lengths)
    return history


# --- the gap of a payment: the paper's rule, and the safe one -------------------------------------

Gaps = dict[int, IntArray]  # by percentile: microseconds, one for each row


def past_gaps(table: EventTable, percentiles: Sequence[int], since: int) -> Gaps:
    """The paper's rule: for each payment, percentiles of its recipient's gaps in the seven days before.

    Gaps within the window are batches and left out; without any gap it is ten minutes. Rows before
    `since` get that too: they are history alone.

    >>> from tarry.study.table import event_table
    >>> at = [0, 10, 20, 24, 40, 50]
    >>> table = event_table(actor=[7] * 6, target=range(6), time=[t * WINDOW * 2 for t in at])
    >>> [int(gap) // (2 * WINDOW) for gap in past_gaps(table, [50], 0)[50]][-1]
    10
    """
    gaps = {percentile: np.full(len(table), DEFAULT) for percentile in percentiles}
    starts = np.flatnonzero(np.diff(table.actor_rank, prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        if end - start < 3:  # a gap before a payment takes three
            continue
        times = table.time[start:end]
        apart = np.diff(times)
        first = np.searchsorted(times, times - WEEK)
        for i in range(2, end - start):
            past = apart[first[i] : i - 1]
            past = past[past > WINDOW]
            if times[i] >= since and len(past):
                for percentile, gap in zip(percentiles, np.percentile(past, percentiles), strict=True):
                    gaps[percentile][start + i] = round(gap)
    return gaps


def closed_gaps(table: EventTable, percentiles: Sequence[int]) -> Gaps:
    """The safe rule: the recipient's gaps in the week before the payment's own, which is closed by then.

    >>> from tarry.study.table import event_table
    >>> at = [0, 10, 30, 7 * 720 + 5]
    >>> table = event_table(actor=[7] * 4, target=range(4), time=[t * WINDOW * 2 for t in at])
    >>> [int(gap) // (2 * WINDOW) for gap in closed_gaps(table, [50])[50]]
    [5, 5, 5, 10]
    """
    week = (table.time - table.time.min()) // WEEK
    known: dict[tuple[int, int], list[int]] = {}
    kind = np.stack((table.actor_rank, week), axis=1)
    starts = np.flatnonzero(np.any(np.diff(kind, axis=0, prepend=-1) != 0, axis=1))
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        apart = np.diff(table.time[start:end])
        if len(apart := apart[apart > WINDOW]):
            recipient, number = kind[start].tolist()
            known[recipient, number + 1] = [int(gap_at_percentile(apart.tolist(), p)) for p in percentiles]
    gaps = {percentile: np.full(len(table), DEFAULT) for percentile in percentiles}
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        learned = known.get((int(kind[start, 0]), int(kind[start, 1])), [])
        for percentile, gap in zip(percentiles, learned, strict=False):
            gaps[percentile][start:end] = gap
    return gaps


def usable(gaps: IntArray) -> IntArray:
    """Gaps in whole seconds, rounded up to two digits: fewer laws, and never a shorter gap.

    >>> usable(np.array([60_000_001, 600_000_000, 4_712_400_000])).tolist()
    [61, 600, 4800]
    """
    seconds = -(-gaps // MICROSECONDS)
    step = 10 ** np.maximum(np.floor(np.log10(seconds)).astype(np.int64) - 1, 0)
    rounded: IntArray = -(-seconds // step) * step
    return rounded


# --- an example -----------------------------------------------------------------------------------

#: Theory, parameters: the arrivals of one recipient, and where the fourth might have come instead.
ARRIVALS, MOVED = (0, 10, 20, 24, 40), (0, 10, 20, 14, 40)


def example(ticks: int = 1000) -> tuple[float, float, Fraction | None, float]:
    """Two medians of gaps; the largest ratio of a later batched payment; nats of a later unbatched one.

    `ticks` are those of one unit of time: the more, the nearer to continuous time.

    >>> before, after, ratio, nats = example()
    >>> before, after, ratio, round(nats, 2)
    (10.0, 8.0, None, 0.22)
    """
    before, after = (float(np.median(np.diff(np.sort(times)))) for times in (ARRIVALS, MOVED))
    true, other = (_laws(round(gap * ticks)) for gap in (after, before))
    ratio = (
        true.batched.mass(true.start) / other.batched.mass(true.start)
        if other.start <= true.start
        else None
    )
    leak = log(true.unbatched.mass(true.start) / other.unbatched.mass(true.start))
    return before, after, ratio, leak


def _laws(start: int) -> LawPair:
    ratio = ratio_below(Fraction(1, 2))
    return zero_inflated_pair(ratio, start, support_end(ratio, start, Fraction(1)))


def safe_table() -> Table:
    """The example, beside a gap that does not follow the payments.

    >>> safe_table().rows[1][3]
    0.0
    """
    before, after, ratio, leak = example()
    nats = "infinite" if ratio is None else log(ratio)
    rows = [
        ("the gap follows the payments", before, after, nats, leak),
        ("the gap of a closed week", before, before, 0.0, 0.0),
    ]
    header = (
        "rule",
        "gap",
        "gap had one come earlier",
        "a later batched one, nats",
        "a later lone one, nats",
    )
    title = (
        f"What a moved payment changes for those after it: arrivals {ARRIVALS}, the fourth at 14 instead"
    )
    return Table(title=title, header=header, rows=rows)
