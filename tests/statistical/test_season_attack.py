"""Somebody who watches a whole season: how well they tell batched pairs from pairs with another gap.

In one story both acts of each session arrive together, and are batched. In the other they are unbatched,
and the second arrives later, by a gap whose median is gap + window. The observer adds up the best score
there is, the logarithm of the ratio of likelihoods, over all sessions of a season. AUC is the chance that
a season of the first story scores above one of the second: 0.5 tells nothing, 1 tells all.

Error rate: a figure may be `Z` standard errors from what is worked out without drawing, and one law is
above another if they are `Z` apart. A right program is so unlucky with its seed in one of a million
cases, for each comparison; the true distances of laws in order are beyond 2 Z. The draws are seeded, so
nothing changes from run to run. Power: one story twice is at 0.5, equal laws are not in order, and the
figure of one law rejects another.
"""

from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import hypot, pi, sin
from typing import NamedTuple

import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.stats import rankdata

from tarry.core.entropy import Seeded
from tarry.core.lanes import SeededLanes, event_keys
from tarry.core.law import Law, Run
from tarry.core.laws.cosine import block_law
from tarry.core.laws.zero_inflated import zero_inflated_pair
from tarry.core.mechanism import Ask, LawPair
from tarry.core.plugins import load
from tarry.core.sampler import Sampler

Z = 5
SEASONS = 8000
G = 960  # ticks of a second: a gap of 11 minutes and a window of 5
RATIO = Fraction(2 ** (1 / G)).limit_denominator(10**6)
GAP = Law((), (Run(1, 1 - 1 / RATIO),), RATIO)  # geometric, which is exponential on ticks
FAR = 40 * G  # a gap beyond that comes once in 2^40 times
LAWS = ("older", "cosine", "sine")

#: (knows the arrivals, blocks, sessions): AUC of the laws above, worked out without drawing.
FIGURES = {
    (True, 22, 50): (0.999, 0.980, 0.950),
    (True, 59, 200): (1.000, 0.927, 0.887),
    (False, 22, 200): (0.976, 0.899, 0.858),
    (False, 59, 200): (0.740, 0.591, 0.567),
}
every_season = pytest.mark.parametrize(
    "season", FIGURES, ids=lambda season: "{}, {} blocks, {}".format(*season)
)


class Auc(NamedTuple):
    """The area under the curve, and its standard error (DeLong, DeLong and Clarke-Pearson)."""

    value: float
    error: float


class Score(NamedTuple):
    """One thing seen of a session: the score of each value, and its chance in either story."""

    score: np.ndarray
    batched: np.ndarray
    apart: np.ndarray


@cache
def pair_of(law, blocks):
    """The laws with the same mean and longest delay."""
    if law == "older":
        return zero_inflated_pair(Fraction(blocks, blocks - 1), G, blocks * G)
    if law == "cosine":
        ask = Ask(share=Fraction(1), start=G, weight=Fraction(1), blocks=blocks, order=Decimal(4))
        return load("law", "cosine")(ask)
    sines = [sin(pi * (i + 1) / (blocks + 1)) for i in range(blocks)]
    unbatched = [round(2**32 * each * each) for each in sines]
    batched = [round(2**32 * one * two) for one, two in pairwise(sines)]
    return LawPair(batched=block_law((0, *batched), G), unbatched=block_law(unbatched, G), start=G)


def masses(law, length):
    """The chance of each delay, in floats."""
    known = np.concatenate([np.full(run.length, float(run.mass)) for run in law.head])
    return np.concatenate([known, np.zeros(length - len(known))])


def log_ratio(batched, apart):
    """The best score: minus infinity where the batched story is impossible."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(batched > 0, np.log(batched) - np.log(apart), -np.inf)


@cache
def scores(law, knows, blocks):
    """What is seen of a session: both delays, or only how far apart the two releases are."""
    pair, length = pair_of(law, blocks), blocks * G + FAR
    batched, unbatched = masses(pair.batched, length), masses(pair.unbatched, length)
    gaps = (1 - 1 / float(RATIO)) * float(RATIO) ** -np.arange(FAR)
    later = np.maximum(fftconvolve(unbatched, gaps)[:length], 1e-300)
    if knows:
        stories = [(batched, unbatched), (batched, later)]
    else:
        stories = [(apart_by(batched, batched), apart_by(later, unbatched))]
    return [Score(log_ratio(*story), *story) for story in stories]


def apart_by(one, other):
    """The chance of each distance between two delays, whichever is the longer."""
    signed = fftconvolve(one, other[::-1])
    middle = len(other) - 1
    distance = signed[middle:].copy()
    distance[1:] += signed[:middle][::-1]
    return np.where(distance < 1e-14, 0, distance)  # what is smaller is noise of the transform


def draw(law, count, seed):
    """So many seeded delays."""
    events = np.arange(count, dtype=np.int64)
    return Sampler(law).draw_many(SeededLanes(Seeded(seed), event_keys(events % 97, events % 31, events)))


def seasons(law, season, seed, *, batched):
    """The scores of so many seasons of one story."""
    knows, blocks, sessions = season
    pair, count = pair_of(law, blocks), SEASONS * sessions
    delays = pair.batched if batched else pair.unbatched
    first, second = (draw(delays, count, seed + place) for place in (0, 1))
    if not batched:
        second += np.minimum(draw(GAP, count, seed + 2), FAR - 1)
    seen = [first, second] if knows else [np.abs(second - first)]
    added = sum(each.score[values] for each, values in zip(scores(law, knows, blocks), seen, strict=True))
    return np.maximum(added.reshape(SEASONS, sessions).sum(axis=1), -1e9)  # ranks need finite numbers


def auc(high, low):
    """From the ranks: each season's share of the other story's that it beats."""
    ranks = rankdata(np.concatenate([high, low]))
    beaten = (ranks[: len(high)] - rankdata(high)) / len(low)
    beating = 1 - (ranks[len(high) :] - rankdata(low)) / len(high)
    return Auc(float(beaten.mean()), hypot(*(x.std() / len(x) ** 0.5 for x in (beaten, beating))))


@cache
def simulated(law, season, seed=1):
    """The AUC of the attack on a law."""
    return auc(seasons(law, season, seed, batched=True), seasons(law, season, seed + 100, batched=False))


def worked_out(law, season, step=2e-4, size=1 << 19):
    """The same without drawing: scores on a grid, added up by powers of their transforms."""
    knows, blocks, sessions = season

    def spread(score, chances):
        likely = np.isfinite(score) & (chances > 0)
        below, above = np.divmod(score[likely] / step, 1)
        places = below.astype(int) % size
        part = [
            np.bincount((places + i) % size, chances[likely] * w, size)
            for i, w in ((0, 1 - above), (1, above))
        ]
        return np.fft.rfft(part[0] + part[1])

    def total(story):
        spectrum = np.prod(
            [spread(each.score, getattr(each, story)) for each in scores(law, knows, blocks)], axis=0
        )
        return np.roll(np.fft.irfft(spectrum**sessions, size), size // 2)

    batched, apart = total("batched"), total("apart")
    impossible = 1 - apart.sum()  # seasons that prove that somebody was not batched
    return float((batched * (np.cumsum(apart) - apart / 2 + impossible)).sum())


def agrees(found, figure):
    return abs(found.value - figure) <= Z * max(found.error, 1e-4)  # all in order: no spread


def clearly_above(one, other):
    return one.value - other.value > Z * hypot(one.error, other.error)


@every_season
def test_the_attack_finds_what_is_worked_out(season):
    """Drawn with the samplers that release acts, and added up by hand."""
    for law, figure in zip(LAWS, FIGURES[season], strict=True):
        exact = worked_out(law, season)
        assert exact == pytest.approx(figure, abs=6e-4)
        assert agrees(simulated(law, season), exact)


@every_season
def test_the_older_law_tells_more_than_the_cosine_law(season):
    assert clearly_above(simulated("older", season), simulated("cosine", season))


@pytest.mark.parametrize("season", list(FIGURES)[:3])
def test_the_cosine_law_tells_more_than_the_sine_law(season):
    """Where enough is seen to tell them apart with so many seasons."""
    assert clearly_above(simulated("cosine", season), simulated("sine", season))


@every_season
def test_equal_laws_are_not_in_order(season):
    """Two runs against one law: neither is above the other."""
    one, other = simulated("cosine", season), simulated("cosine", season, seed=201)

    assert one != other
    assert not clearly_above(one, other)
    assert not clearly_above(other, one)


@every_season
def test_the_figure_of_one_law_rejects_another(season):
    """But where arrivals are not known and delays are long: there two laws tell nearly as little."""
    _, cosine, sine = FIGURES[season]

    if season != (False, 59, 200):
        assert not agrees(simulated("cosine", season), sine)
        assert not agrees(simulated("sine", season), cosine)
    assert not agrees(simulated("older", season), cosine)


@every_season
def test_one_story_twice_tells_nothing(season):
    """The attack knows nothing but what it sees."""
    twice = (seasons("cosine", season, seed, batched=True) for seed in (301, 401))

    assert agrees(auc(*twice), 0.5)
