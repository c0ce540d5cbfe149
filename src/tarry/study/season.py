"""How many batched acts a season should be for, learned from an earlier period that is closed.

People who never batch need no season and do not count. The others are counted over stretches of time: a
history is cut into equal stretches, as nearly as long as the season as a whole number of them can be, and
each person with a batch in a stretch counts once for it. So a person who was there for a month of ten years
counts in that month alone. A percentile of these counts, times season / stretch, is the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import Duration, format_duration, parse_duration
from tarry.core.labels import partner_distance
from tarry.core.lanes import IntArray
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.core.season import TWO_STORIES
from tarry.core.season_plan import DelayLimits, crossing
from tarry.study.figures import seconds
from tarry.study.practice import MICROSECONDS
from tarry.study.table import EventTable

__all__ = [
    "PERCENTILE",
    "LearnedSeason",
    "SeasonHint",
    "Stretches",
    "hint_of",
    "learn_season",
    "reach_of",
    "season_hint",
    "stretches_of",
]

PERCENTILE = 99
DELTA = Fraction("0.01")
TOTAL = Fraction("2.3")
#: A season is mentioned where the mean delay is about so many times gap + window, or more: some 20 blocks.
ENOUGH = 11
LEAST_ACTS = 2
_LAW = "cosine"
#: More blocks cross sooner still, and take longer to add up.
_MOST_BLOCKS = 1000


@dataclass(frozen=True, kw_only=True)
class LearnedSeason:
    """The acts that a season should be for, and what they were learned from.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5_000_000, 10_000_000])
    >>> learn_season(table, window="5s", length="20s").sentence.partition(" It bounds")[0]
    'A season of 20s should be for 4 batched acts (2 pairs): 99 % of those who batch make no more \
(people who batch: 1; stretches of time: 1, each of 10s).'
    """

    acts: int
    percentile: int
    length: Fraction  # of the season, in seconds
    stretch: Fraction  # of the history, that counts were taken over, in seconds
    stretches: int
    people: int  # with a batch

    @property
    def pairs(self) -> int:
        """Batched pairs, of two acts each, rounded up."""
        return -(-self.acts // 2)

    @property
    def sentence(self) -> str:
        """What was learned, in words."""
        length, stretch = seconds(float(self.length)), seconds(float(self.stretch))
        return (
            f"A season of {length} should be for {self.acts:,} batched acts ({self.pairs:,} pairs): "
            f"{self.percentile} % of those who batch make no more (people who batch: {self.people:,}; "
            f"stretches of time: {self.stretches:,}, each of {stretch}). It bounds {TWO_STORIES}."
        )

    def command(self, policy: Policy, mean: Fraction | None = None) -> str:
        """The call that plans such a season with the policy's gap, for a mean delay if one is given.

        >>> learned = LearnedSeason(
        ...     acts=45, percentile=99, length=Fraction(9), stretch=Fraction(9), stretches=1, people=1
        ... )
        >>> learned.command(Policy(epsilon="1", gap="11m"), Fraction(7200))
        'tarry plan --season 23 --delta 0.01 --mean-delay 2h --gap 11m --window 5m'
        """
        total = f"--total {float(TOTAL):g} " if mean is None else ""
        delay = "" if mean is None else f"--mean-delay {format_duration(Fraction(ceil(mean)))} "
        tick = "" if policy.tick == 1 else f" --tick {format_duration(policy.tick)}"
        return (
            f"tarry plan --season {self.pairs} {total}--delta {float(DELTA):g} {delay}"
            f"--gap {format_duration(policy.gap)} --window {format_duration(policy.window)}{tick}"
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain values, durations in seconds."""
        return {
            "acts": self.acts,
            "pairs": self.pairs,
            "percentile": self.percentile,
            "length_s": float(self.length),
            "stretch_s": float(self.stretch),
            "stretches": self.stretches,
            "people": self.people,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, kw_only=True)
class SeasonHint:
    """Why somebody who takes a policy should look at a season instead.

    >>> people = LearnedSeason(
    ...     acts=60, percentile=99, length=Fraction(86400), stretch=Fraction(86400), stretches=1, people=9
    ... )
    >>> hint = SeasonHint(people=people, crossing=14, mean=Fraction(11040), reach=Fraction(960))
    >>> hint.sentence.partition(" It bounds")[0]
    'A season may suit these people better: 99 % of those who batch make up to 60 batched acts (30 pairs) \
in 1d, and at a mean delay of 3h4m (11.5 times gap + window) a law for seasons costs less from 14 pairs on.'
    """

    people: LearnedSeason  # over the whole history, not scaled
    crossing: int  # the pairs from which a law for seasons costs less
    mean: Fraction  # the delay that is allowed, in seconds
    reach: Fraction  # gap + window, in seconds

    @property
    def sentence(self) -> str:
        """The hint in words."""
        return (
            f"A season may suit these people better: {self.people.percentile} % of those who batch make up "
            f"to {self.people.acts:,} batched acts ({self.people.pairs:,} pairs) in "
            f"{seconds(float(self.people.length))}, and at a mean delay of {seconds(float(self.mean))} "
            f"({float(self.mean / self.reach):.1f} times gap + window) a law for seasons costs less from "
            f"{self.crossing:,} pairs on. It bounds {TWO_STORIES}."
        )

    def command(self, policy: Policy) -> str:
        """The call that plans a season at this delay with the policy's gap."""
        return self.people.command(policy, self.mean)

    def as_dict(self) -> dict[str, Any]:
        """As plain values, durations in seconds."""
        return {
            **self.people.as_dict(),
            "crossing_pairs": self.crossing,
            "mean_delay_s": float(self.mean),
            "reach_s": float(self.reach),
            "sentence": self.sentence,
        }


def learn_season(
    table: EventTable,
    *,
    window: Duration = "5m",
    length: Duration | None = None,
    percentile: int = PERCENTILE,
) -> LearnedSeason:
    """How many batched acts a season of this length should be for; else of the length of the history.

    At least so many percent of those who batch make no more: an observed count, scaled and rounded up.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a"] * 4, target=[1, 2, 1, 2], time=[0, 1, 999_998, 999_999])
    >>> learn_season(table, window="1s").acts, learn_season(table, window="0.001s", length="0.5s").acts
    (4, 2)
    """
    reach = reach_of(window, percentile)
    span = int(table.time.max()) - int(table.time.min()) + 1 if len(table) else 1
    cut = stretches_of(span, length)
    before, after = partner_distance(table.history, table.time)
    batched = np.minimum(before, after) <= reach
    counts = np.sort(_counts(table.actor[batched], (table.time[batched] - table.time.min()) // cut.stretch))
    rank = cut.rank(len(counts) if batched.any() else 0, percentile)
    return cut.learned(int(counts[rank]), percentile, len(np.unique(table.actor[batched])))


def reach_of(window: Duration, percentile: int) -> int:
    """The window in microseconds; what is no percentile is refused.

    >>> reach_of("1s", 99)
    1000000
    >>> reach_of("1s", 0)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the percentile of a season must lie above 0 and be at most 100, not 0
    """
    if not 0 < percentile <= 100:
        raise BadInput(f"the percentile of a season must lie above 0 and be at most 100, not {percentile}")
    return int(parse_duration(window, "the window") * MICROSECONDS)


@dataclass(frozen=True, kw_only=True)
class Stretches:
    """Equal stretches that a history is cut into, nearly as long as a season; microseconds.

    >>> Stretches(season=20, stretch=10, count=1).learned(3, 99, 7).acts
    6
    """

    season: int
    stretch: int
    count: int

    @staticmethod
    def rank(counts: int, percentile: int) -> int:
        """The place of the count that so many percent do not pass, among so many in rising order."""
        if not counts:
            raise NotPossible(
                "nobody in this history has a batch, so there is no season to learn: "
                "give a longer history or a longer window"
            )
        return -(-percentile * counts // 100) - 1

    def learned(self, count: int, percentile: int, people: int) -> LearnedSeason:
        """What such a count says of a season."""
        return LearnedSeason(
            acts=max(LEAST_ACTS, ceil(Fraction(count * self.season, self.stretch))),
            percentile=percentile,
            length=Fraction(self.season, MICROSECONDS),
            stretch=Fraction(self.stretch, MICROSECONDS),
            stretches=self.count,
            people=people,
        )


def stretches_of(span: int, length: Duration | None) -> Stretches:
    """How a history of so many microseconds is cut for a season of this length; else of its own.

    >>> stretches_of(10_000_000, "4s").count
    2
    """
    season = span if length is None else int(parse_duration(length, "the season") * MICROSECONDS)
    if season <= 0:
        raise BadInput("the length of a season must be above 0s, not 0s")
    count = max(1, round(Fraction(span, season)))
    return Stretches(season=season, stretch=-(-span // count), count=count)


def season_hint(
    table: EventTable, policy: Policy, *, mean: Fraction | None = None, percentile: int = PERCENTILE
) -> SeasonHint | None:
    """A hint, where people batch so often and may wait so long that a season is better; else None.

    `mean` is the mean delay in seconds that is allowed; else that of the policy's batched acts.

    >>> from tarry.study.table import event_table
    >>> times = [step * 60_000_000 for step in range(100)]
    >>> table = event_table(actor=["a"] * 100, target=range(100), time=times)
    >>> season_hint(table, Policy(epsilon="1", gap="11m")) is None  # too short a delay
    True
    >>> season_hint(table, Policy(epsilon="1", gap="11m"), mean=Fraction(11 * 960)).crossing
    14
    """
    return hint_of(partial(learn_season, table), policy, mean=mean, percentile=percentile)


def hint_of(
    learn: Callable[..., LearnedSeason],
    policy: Policy,
    *,
    mean: Fraction | None = None,
    percentile: int = PERCENTILE,
) -> SeasonHint | None:
    """The same of a history of which `learn` learns, as `learn_season` does of a table.

    >>> hint_of(learn_season, Policy(epsilon="1", gap="11m")) is None
    True
    """
    reach = policy.start_ticks(policy.gap) * policy.tick
    allowed = plan(policy).batched.mean if mean is None else mean
    if round(allowed / reach) < ENOUGH:
        return None
    people = learn(window=policy.window, percentile=percentile)
    blocks = min(DelayLimits(mean=allowed).blocks(policy), _MOST_BLOCKS)
    pairs = crossing(_LAW, blocks, DELTA)
    if people.pairs < pairs:
        return None
    return SeasonHint(people=people, crossing=pairs, mean=allowed, reach=reach)


def _counts(actor: IntArray, stretch: IntArray) -> IntArray:
    """How many rows each actor has in each stretch; rows stand by actor and time."""
    new = np.flatnonzero((np.diff(actor) != 0) | (np.diff(stretch) != 0)) + 1
    counts: IntArray = np.diff(np.concatenate(([0], new, [len(actor)])))
    return counts
