"""Policies learned on a part of a history, and the parts: learned on one, measured on what came after."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tarry.core.calibrate import LearnedGap, learned_gap
from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import Duration, Number, parse_duration, parse_number
from tarry.core.policy import Policy
from tarry.study.batching import measure_batching, null_gaps
from tarry.study.practice import MICROSECONDS
from tarry.study.question import EPSILONS
from tarry.study.table import EventTable

__all__ = ["PERCENTILES", "candidates", "split", "splits"]

PERCENTILES = (25, 50, 75)
#: How often a policy is learned and measured: one history alone could be lucky.
SPLITS = 3
_LEAST_GAPS = 20


def split(table: EventTable, share: Fraction = Fraction(1, 4)) -> tuple[EventTable, EventTable]:
    """The first share of the events by time, and the rest. No moment falls on both sides.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1] * 8, target=range(8), time=range(8))
    >>> [len(part) for part in split(table)]
    [2, 6]
    """
    if not 0 < share < 1:
        raise BadInput(f"the share to learn on must lie between 0 and 1, not {float(share):g}")
    ordered = np.sort(table.time)
    cut = int(ordered[int(len(ordered) * share)])
    early, late = table.keep(table.time < cut), table.keep(table.time >= cut)
    if len(early) < 2 or len(late) < 2:
        raise NotPossible(
            f"{len(table)} events are too few to learn on a part and measure on the rest: "
            "give a longer history"
        )
    return early, late


def splits(table: EventTable, share: Fraction = Fraction(1, 4)) -> list[tuple[EventTable, EventTable]]:
    """The split, and others like it later: learned on as many events, measured on all that follow.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1] * 8, target=range(8), time=range(8))
    >>> [(early.time.tolist(), len(late)) for early, late in splits(table)]
    [([0, 1], 6), ([2, 3], 4), ([4, 5], 2)]
    """
    parts = [split(table, share)]
    ordered = np.sort(table.time)
    for place in range(1, SPLITS):
        cut = share + (1 - share) * place / SPLITS
        start, middle = (int(ordered[int(len(ordered) * where)]) for where in (cut - share, cut))
        early, late = table.between(start, middle), table.keep(table.time >= middle)
        if len(early) > 1 and len(late) > 1:
            parts.append((early, late))
    return parts


def candidates(
    table: EventTable,
    *,
    window: Duration = "5m",
    tick: Duration = "1s",
    epsilons: Sequence[Number] = EPSILONS,
    percentiles: Sequence[int] = PERCENTILES,
) -> list[tuple[Policy, int, LearnedGap]]:
    """Policies learned from this table.

    Gaps are percentiles of the gaps between different people; batched delay weighs as much as there
    are batched events.

    >>> from tarry.study.synth import synthesize
    >>> from tarry.study.synth_recipes import RECIPES
    >>> made = synthesize(RECIPES["forum"], seed=1)
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=made.actor, target=made.target, time=made.time)
    >>> len(candidates(table, epsilons=["1"]))
    3
    """
    gaps = null_gaps(table)
    if len(gaps) < _LEAST_GAPS:
        raise NotPossible(
            f"{len(gaps)} gaps between different people are too few to learn from "
            f"({_LEAST_GAPS} are needed): give a longer history, or choose a gap yourself"
        )
    reach, unit = parse_duration(window, "the window"), parse_duration(tick, "the tick")
    batched = measure_batching(table, int(reach * MICROSECONDS)).batched_share
    weight = Fraction(round(batched * 100), 100)  # what both kinds of delay count for here
    learned = {}
    for rank in percentiles:
        measured = int(np.quantile(gaps, rank / 100, method="inverted_cdf"))
        ticks = -(-Fraction(measured, MICROSECONDS) // unit)  # no finer than the clock it is for
        learned[rank] = learned_gap(max(ticks, 1) * unit, reach, unit)
    return [
        (
            Policy(
                epsilon=parse_number(epsilon, "epsilon"),
                gap=gap.gap,
                window=reach,
                tick=unit,
                weight=weight,
            ),
            rank,
            gap,
        )
        for epsilon in epsilons
        for rank, gap in learned.items()
    ]
