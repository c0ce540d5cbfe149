"""Samples of people, drawn by everybody alone: so parts of a history draw what the whole would.

Where people are drawn with replacement, how often one of them is drawn is nearly Poisson with mean 1, each
by themselves. Here it is: a number of the person and of the sample, and of nothing else. So no engine has
to hold all people at once. A sample then has not exactly as many people as the history; claims about two
people grow with their square, so they are counted as if it had.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import factorial

import numpy as np

from tarry.core.entropy import DIGIT, Seeded
from tarry.core.lanes import IntArray, SeededLanes, WordArray, event_keys
from tarry.study import kernels
from tarry.study.exact_sums import total
from tarry.study.pairs import later_within
from tarry.study.table import EventTable

__all__ = [
    "Resample",
    "claims_drawn",
    "interval_over",
    "people_drawn",
    "person_keys",
    "resamples",
    "times_drawn",
]

_SAMPLES, _FEWEST_SAMPLES, _WORK = 200, 40, 100_000_000
_TERMS = 20  # of the series of e: beyond them nothing is left of a digit
_ENDS = (0.025, 0.975)


def _steps() -> "list[int]":
    """The digits from which on somebody is drawn at least once, twice, ...: by Poisson's shares of all."""
    e = sum(Fraction(1, factorial(k)) for k in range(_TERMS))
    shares = accumulate(1 / (e * factorial(k)) for k in range(_TERMS))
    return sorted({int(share * DIGIT) for share in shares} - {DIGIT})


_STEPS = _steps()


def resamples(events: int) -> int:
    """How many samples are drawn for a history of so many events.

    >>> resamples(1000), resamples(10**6), resamples(10**9)
    (200, 100, 40)
    """
    return min(_SAMPLES, max(_FEWEST_SAMPLES, _WORK // max(events, 1)))


def person_keys(people: IntArray) -> WordArray:
    """What the draws of each person rest on, from their numbers.

    >>> bool(person_keys(np.array([7]))[0] == person_keys(np.array([8, 7]))[1])
    True
    """
    nowhere = np.zeros(len(people), dtype=np.int64)
    return event_keys(people, nowhere, nowhere)


def times_drawn(keys: WordArray, sample: int, seed: int = 0) -> IntArray:
    """How often a sample has each of these people.

    >>> drawn = times_drawn(person_keys(np.arange(10_000)), 0)
    >>> 9_500 < int(drawn.sum()) < 10_500
    True
    """
    # Below 0, so that no draw of a delay is ever used twice.
    digits = SeededLanes(Seeded(seed, -1 - sample), keys).randbelow(DIGIT)
    times = np.zeros(len(keys), dtype=np.int64)
    for step in _STEPS:
        times += digits >= step
    return times


def claims_drawn(table: EventTable, seen: IntArray, cutoff: int, samples: int, seed: int = 0) -> list[int]:
    """In each sample of people the claims, each as often as those who made its two acts are drawn together.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 50, 51])
    >>> len(claims_drawn(table, table.time, 50, 40))
    40
    """
    orders = [later_within(np.zeros(len(seen), dtype=np.int64), seen, cutoff)]
    orders.append(later_within(table.target_rank, seen, cutoff))
    (everywhere, ends), (on_one, ends_on_one) = [(table.actor_rank[order], ends) for order, ends in orders]
    keys = person_keys(table.people)
    found = []
    for sample in range(samples):
        times = times_drawn(keys, sample, seed)
        found.append(
            int(kernels.weighted_pairs(everywhere, ends, times))
            - int(kernels.weighted_pairs(on_one, ends_on_one, times))
        )
    return found


def people_drawn(
    people: IntArray, own: IntArray, samples: int, seed: int = 0
) -> list[tuple[int, int, int]]:
    """In each sample: people, pairs of one person by the person, and as `claims_drawn` counts them.

    >>> [(one, own, inside)] = people_drawn(np.array([7]), np.array([3]), 1)
    >>> own == 3 * one, inside == 3 * one * one
    (True, True)
    """
    keys, found = person_keys(people), []
    for sample in range(samples):
        times = times_drawn(keys, sample, seed)
        found.append((int(times.sum()), total(times * own), total(times * times * own)))
    return found


@dataclass(frozen=True, kw_only=True)
class Resample:
    """What claims come to in one sample of people, each as often as its people are drawn.

    >>> Resample(people=4, right=2, inside=4, claims=8).share(2)
    0.5
    """

    people: int  # who were drawn, each as often as they were
    right: int  # claims about one person, as often as that person was drawn
    inside: int  # the same claims, counted as those about two people are
    claims: int  # all claims, each as often as both its people were drawn together

    def share(self, people: int) -> float | None:
        """How often claims are right, were there as many people as in the history; None without claims."""
        right, wrong = self.right * self.people, (self.claims - self.inside) * people
        return right / (right + wrong) if right + wrong else None


def interval_over(samples: Sequence[Resample], people: int) -> tuple[float, float] | None:
    """Where the share of right claims lies in 95 of 100 samples; None where most have no claims.

    >>> interval_over([Resample(people=2, right=1, inside=1, claims=2)] * 40, 2)
    (0.5, 0.5)
    """
    shares = [share for sample in samples if (share := sample.share(people)) is not None]
    if not shares or len(shares) < len(samples) // 2:
        return None
    low, high = np.quantile(shares, _ENDS)
    return float(low), float(high)
