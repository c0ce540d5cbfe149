"""What a policy is learned from: the first part of a history, and gaps between different people in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

__all__ = [
    "LEAST_EVENTS",
    "PERCENTILES",
    "Gaps",
    "candidates",
    "check_split",
    "split",
    "split_ranks",
    "splits",
]

PERCENTILES = (25, 50, 75)
#: How often a policy is learned and measured: one history alone could be lucky.
SPLITS = 3
_LEAST_GAPS = 20
#: Of each part of a split.
LEAST_EVENTS = 2


def split_ranks(events: int, share: Fraction = Fraction(1, 4)) -> list[tuple[int, int]]:
    """Where each split begins, and where its second part does: the ranks of two events by time.

    The first is the one that counts; others like it are later. Each is learned on as many events, and
    measured on all that follow.

    >>> split_ranks(8)
    [(0, 2), (2, 4), (4, 6)]
    """
    if not 0 < share < 1:
        raise BadInput(f"the share to learn on must lie between 0 and 1, not {float(share):g}")
    cuts = [share + (1 - share) * place / SPLITS for place in range(SPLITS)]
    return [(int(events * (cut - share)), int(events * cut)) for cut in cuts]


def check_split(events: int, early: int, late: int) -> None:
    """Refuse a history of so many events where either part of the split that counts has too few.

    >>> check_split(3, 1, 2)
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: 3 events are too few to learn on a part and measure on the rest: ...
    """
    if min(early, late) < LEAST_EVENTS:
        raise NotPossible(
            f"{events} events are too few to learn on a part and measure on the rest: give a longer history"
        )


def split(table: EventTable, share: Fraction = Fraction(1, 4)) -> tuple[EventTable, EventTable]:
    """The first share of the events by time, and the rest. No moment falls on both sides.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1] * 8, target=range(8), time=range(8))
    >>> [len(part) for part in split(table)]
    [2, 6]
    """
    return splits(table, share)[0]


def splits(table: EventTable, share: Fraction = Fraction(1, 4)) -> list[tuple[EventTable, EventTable]]:
    """The split, and others like it later: learned on as many events, measured on all that follow.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1] * 8, target=range(8), time=range(8))
    >>> [(early.time.tolist(), len(late)) for early, late in splits(table)]
    [([0, 1], 6), ([2, 3], 4), ([4, 5], 2)]
    """
    ordered = np.sort(table.time)
    parts: list[tuple[EventTable, EventTable]] = []
    for first, second in split_ranks(len(table), share):
        start, cut = int(ordered[first]), int(ordered[second])
        early, late = table.between(start, cut), table.keep(table.time >= cut)
        if not parts:
            check_split(len(table), len(early), len(late))
        if min(len(early), len(late)) >= LEAST_EVENTS:
            parts.append((early, late))
    return parts


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """What policies are learned from.

    >>> Gaps(count=40, at={50: 660_000_000}, batched_share=0.25).learned(epsilons=["1"])[0][0].gap
    Fraction(660, 1)
    """

    count: int  # of gaps between different people
    at: Mapping[int, int]  # percentile -> microseconds
    batched_share: float  # of the events

    def learned(
        self,
        *,
        window: Duration = "5m",
        tick: Duration = "1s",
        epsilons: Sequence[Number] = EPSILONS,
    ) -> list[tuple[Policy, int, LearnedGap]]:
        """The policies; batched delay weighs as much as there are batched events."""
        if self.count < _LEAST_GAPS:
            raise NotPossible(
                f"{self.count} gaps between different people are too few to learn from "
                f"({_LEAST_GAPS} are needed): give a longer history, leave out busy actors (--busy-limit), "
                "or choose a gap yourself"
            )
        reach, unit = parse_duration(window, "the window"), parse_duration(tick, "the tick")
        weight = Fraction(round(self.batched_share * 100), 100)  # what both kinds of delay count for here
        gaps = {}
        for rank, measured in self.at.items():
            ticks = -(-Fraction(measured, MICROSECONDS) // unit)  # no finer than the clock it is for
            gaps[rank] = learned_gap(max(ticks, 1) * unit, reach, unit)
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
            for rank, gap in gaps.items()
        ]


def candidates(
    table: EventTable,
    *,
    window: Duration = "5m",
    tick: Duration = "1s",
    percentiles: Sequence[int] = PERCENTILES,
    epsilons: Sequence[Number] = EPSILONS,
) -> list[tuple[Policy, int, LearnedGap]]:
    """Policies learned from this table.

    Gaps are percentiles of the gaps between different people.

    >>> from tarry.study.synth import synthesize
    >>> from tarry.study.synth_recipes import RECIPES
    >>> made = synthesize(RECIPES["forum"], seed=1)
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=made.actor, target=made.target, time=made.time)
    >>> len(candidates(table, epsilons=["1"]))
    3
    """
    reach = int(parse_duration(window, "the window") * MICROSECONDS)
    gaps = null_gaps(table)
    at = {
        rank: int(np.quantile(gaps, rank / 100, method="inverted_cdf")) for rank in percentiles if len(gaps)
    }
    learned = Gaps(count=len(gaps), at=at, batched_share=measure_batching(table, reach).batched_share)
    return learned.learned(window=window, tick=tick, epsilons=epsilons)
