"""Where the gap of a payment comes from: the paper's rule, the safe one, and what lies between them.

A gap that follows the very payments it protects gives them away: had one of them come earlier, the
next would draw from another law. A gap from a week that is closed by then cannot.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import log

import numpy as np

from tarry.core.calibrate import gap_at_percentile
from tarry.core.exact import ratio_below
from tarry.core.lanes import IntArray
from tarry.core.laws.zero_inflated import support_end, zero_inflated_pair
from tarry.core.mechanism import LawPair
from tarry.paper.finding import Table
from tarry.paper.weeks import DEFAULT, WEEK, WINDOW
from tarry.study.practice import MICROSECONDS
from tarry.study.table import EventTable

__all__ = ["ARRIVALS", "Gaps", "closed_gaps", "example", "past_gaps", "safe_table", "usable"]

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
    told = "infinite" if ratio is None else log(ratio)
    rows = [
        ("the gap follows the payments", before, after, told, leak),
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
