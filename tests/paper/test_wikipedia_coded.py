"""The authors' version: samples of users, delays without window and hold, smoothed precision."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.continuous import uniform
from tarry.core.errors import NotPossible
from tarry.paper.months import wikipedia_month
from tarry.paper.wikipedia_coded import (
    CUTOFFS,
    LOWER,
    PERCENTILES,
    Delay,
    attack_samples,
    sampled_gaps,
    some_actors,
)
from tarry.paper.wikipedia_weeks import split_weeks
from tarry.study.batching import measure_batching, null_gaps
from tarry.study.practice import MICROSECONDS
from tarry.study.table import event_table


@pytest.fixture(scope="module")
def weeks():
    return split_weeks(wikipedia_month(0))


def test_the_slip_takes_the_percentile_below():
    all_of_them = (10, *PERCENTILES)
    assert {high: low for low, high in pairwise(all_of_them)} == LOWER


@given(share=st.floats(0.0, 1.0), seed=st.integers(0, 9))
def test_a_sample_keeps_all_events_of_its_users_and_none_of_the_others(share, seed):
    month = wikipedia_month(1, events=300)
    some = some_actors(month, share, np.random.default_rng(seed))
    chosen = np.unique(some.actor)
    assert len(chosen) == max(2, round(share * month.actors))
    assert len(some) == np.isin(month.actor, chosen).sum()


def test_gaps_in_samples_are_ten_times_those_of_everybody_and_more(weeks):
    everybody = float(np.median(null_gaps(weeks.learn))) / MICROSECONDS
    assert 8 < sampled_gaps(weeks.learn, draws=10, seed=0)[50] / everybody < 20


def test_without_gaps_there_is_nothing_to_learn():
    alone = event_table(actor=[1, 1, 1], target=[1, 1, 1], time=[0, 1, 2])
    with pytest.raises(NotPossible, match="gaps"):
        sampled_gaps(alone, draws=2, seed=0)


def test_the_running_maximum_never_falls_towards_small_cutoffs_and_never_lowers_precision(weeks):
    delay = Delay("0.5", 198.0)
    smooth = attack_samples(weeks.replay, delay, draws=3, seed=0)
    plain = attack_samples(weeks.replay, delay, draws=3, seed=0, smooth=False)
    assert all(one.precision >= other.precision for one, other in pairwise(smooth.points))
    assert all(s.precision >= p.precision for s, p in zip(smooth.points, plain.points, strict=True))
    assert [point.recall for point in smooth.points] == [point.recall for point in plain.points]
    assert [point.cutoff_s for point in plain.points] == list(CUTOFFS)


def test_delays_are_the_closed_forms_without_window_or_hold(weeks):
    share = measure_batching(weeks.replay, 300 * MICROSECONDS).batched_share
    curve = attack_samples(weeks.replay, Delay("0.5", 660.0), draws=2, seed=0, share=1.0)
    assert curve.mean_s == pytest.approx(uniform(0.25, 660.0).weighted(share), rel=0.02)


@pytest.mark.parametrize(("start", "expected"), [(198.0, 0.64), (660.0, 0.23)])
def test_recall_within_280_seconds_is_what_theory_expects(weeks, start, expected):
    # theory: 1 - (1 - T / W)^2 for acts at one moment, W = start * a / (1 - a), a = e^(-1/4)
    curve = attack_samples(weeks.replay, Delay("0.5", start), draws=3, seed=0, share=1.0)
    assert curve.at(280).recall == pytest.approx(expected, abs=0.03)


def test_the_same_seed_gives_the_same_curve(weeks):
    curves = [attack_samples(weeks.replay, Delay("1", 198.0), draws=2, seed=seed) for seed in (5, 5, 6)]
    assert curves[0] == curves[1] != curves[2]
