"""A made-up month has the statistics that the paper prints of its own."""

import numpy as np
import pytest

from tarry.paper.months import DAYS, EVENTS, wikipedia_month
from tarry.paper.wikipedia_coded import sampled_gaps
from tarry.paper.wikipedia_weeks import split_weeks
from tarry.study.batching import measure_batching
from tarry.study.practice import MICROSECONDS

WINDOW = 300 * MICROSECONDS
# The notebook's percentiles of gaps in samples of a tenth of the users.
GAPS = {10: 193.0, 25: 654.5, 50: 1951.9, 75: 4712.4}


@pytest.fixture(scope="module", params=[0, 1, 2])
def month(request):
    return wikipedia_month(request.param)


def test_the_month_has_as_many_revisions_as_the_papers(month):
    assert len(month) == EVENTS == 13_430


def test_the_month_lasts_from_its_first_day_to_its_last(month):
    days = np.unique((month.time - month.time.min()) // (86_400 * MICROSECONDS))
    assert len(days) == DAYS == 31
    assert int(np.ptp(month.time)) < DAYS * 86_400 * MICROSECONDS


def test_the_batched_share_lies_between_the_text_and_the_test_set(month):
    assert 0.20 <= measure_batching(month, WINDOW).batched_share <= 0.26


def test_moves_are_within_five_minutes_as_often_as_printed(month):
    assert measure_batching(month, WINDOW).rate == pytest.approx(0.92, abs=0.02)


def test_gaps_in_samples_of_users_are_the_notebooks_on_average():
    weeks = [split_weeks(wikipedia_month(seed)) for seed in range(8)]
    found = [sampled_gaps(one.learn, draws=10, seed=0) for one in weeks]
    for percentile, printed in GAPS.items():
        assert np.mean([gaps[percentile] for gaps in found]) == pytest.approx(printed, rel=0.1)


def test_the_same_seed_gives_the_same_month_and_another_gives_another():
    first, again, other = (wikipedia_month(seed, events=500) for seed in (3, 3, 4))
    assert np.array_equal(first.time, again.time)
    assert np.array_equal(first.actor, again.actor)
    assert np.array_equal(first.target, again.target)
    assert not np.array_equal(first.time, other.time)
