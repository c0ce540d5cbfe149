"""What baselines are worth as a promise: the delta of a gap g, which no larger epsilon buys off.

The events' laws are all alike, so an observer who sees a delay tells it from one that began g later.
Delta at epsilon is the largest P(delay in S) - e^epsilon P(delay + g in S) over sets S.
"""

from functools import cache

import numpy as np
import pytest
from scipy import stats

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS

EVENTS = 200_000
MINUTE = 60 * MICROSECONDS
GAP = 36 * MINUTE
#: Five standard errors of a probability estimated with that many events, at most.
CLOSE = 5 * 0.5 / np.sqrt(EVENTS)
WORTH = [
    ("poisson:60m", 1 - np.exp(-36 / 60)),  # 0.451
    ("poisson:4h", 1 - np.exp(-36 / 240)),
    ("jitter:5m-15m", 1.0),
    ("jitter:24h", 0.025),
    ("jitter:12h-36h", 0.025),
    ("jitter:1h", 0.6),
]


@cache
def history():
    """Events spread evenly over a year, each by another actor."""
    rows = np.arange(EVENTS)
    return History(actor=rows, target=rows % 1000, time=rows * (365 * 86_400 * MICROSECONDS // EVENTS))


@cache
def delays(text):
    """The delays of a baseline, one for each event."""
    return baseline(text).show(history(), Seeded(11)).release - history().times


def delta(sample, epsilon):
    """The hockey-stick estimate, with bins as wide as the gap, from the shortest delay on."""
    bins = (sample - sample.min()) // GAP
    law = np.bincount(bins, minlength=int(bins.max()) + 2) / len(sample)
    shifted = np.concatenate([[0], law[:-1]])
    return np.maximum(0, law - np.exp(epsilon) * shifted).sum()


@pytest.mark.parametrize(("text", "worth"), WORTH)
@pytest.mark.parametrize("epsilon", [0.2, 1, 5])
def test_delta_is_the_formula_whatever_epsilon(text, worth, epsilon):
    """Exponential: 1 - e^(-g/m). Uniform: min(1, g/J), wherever it begins."""
    assert abs(delta(delays(text), epsilon) - worth) < CLOSE


@pytest.mark.parametrize(("text", "worth"), WORTH)
def test_delays_that_the_later_event_cannot_have_are_the_whole_of_delta(text, worth):
    """The set that shows it: delays of less than the gap above the shortest."""
    sample = delays(text)

    assert abs((sample - sample.min() < GAP).mean() - worth) < CLOSE


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("poisson:60m", stats.expon(scale=60 * MINUTE)),
        ("poisson:4s*3", stats.gamma(3, scale=4 * MICROSECONDS)),
        ("jitter:5m-15m", stats.uniform(5 * MINUTE, 10 * MINUTE)),
    ],
)
def test_delays_follow_their_law(text, law):
    """The whole distribution, by a Kolmogorov-Smirnov test with a fixed seed."""
    assert stats.kstest(delays(text), law.cdf).pvalue > 0.001


def test_backdating_follows_its_law():
    """Stamps lie back by a uniform time of up to two days."""
    shown = baseline("backdated").show(history(), Seeded(11))
    back = shown.release - shown.printed

    assert stats.kstest(back, stats.uniform(0, 2 * 1440 * MINUTE).cdf).pvalue > 0.001


@pytest.mark.parametrize(("text", "column"), [("mix:1d", "release"), ("rounding:1d", "printed")])
def test_a_boundary_tells_apart_with_the_chance_that_it_lies_between(text, column):
    """Times a gap apart get different days with probability g/T over all phases, and surely at one."""
    rows, phases = np.arange(EVENTS), np.arange(EVENTS) * (1440 * MINUTE // EVENTS)
    first, second = (
        getattr(baseline(text).show(History(actor=rows, target=rows, time=times), Seeded(0)), column)
        for times in (phases, phases + GAP)
    )
    apart = first != second

    assert abs(apart.mean() - 36 / 1440) < 1e-4
    assert apart[(phases > 0) & (phases + GAP > 1440 * MINUTE)].all()


@pytest.mark.parametrize("text", ["hotcrp", "rounding:1d", "backdated"])
def test_a_blurred_stamp_hides_nothing_from_a_watcher(text):
    """What is visible at once tells any two times apart."""
    assert baseline(text).show(history(), Seeded(0)).release.tolist() == history().times.tolist()
