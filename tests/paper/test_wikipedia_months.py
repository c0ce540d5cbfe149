"""The months of the Wikipedia experiment: made up as printed, and real ones split in two parts."""

import numpy as np
import polars as pl
import pytest

from tarry.core.errors import BadInput, NotPossible
from tarry.paper.finding import RunSettings
from tarry.paper.wikipedia_months import DAYS, EVENTS, real_weeks, split_weeks, wikipedia_month
from tarry.paper.wikipedia_versions import sampled_gaps
from tarry.study.batching import measure_batching
from tarry.study.practice import MICROSECONDS
from tarry.study.table import event_table

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


DAY = 86_400 * MICROSECONDS
START = 19_000 * DAY  # a day of our time, so that files are known to be in microseconds


def history(times):
    times = np.asarray(times, dtype=np.int64)
    many = np.arange(len(times))
    return event_table(actor=many % 7, target=many % 5, time=times)


def test_a_month_gives_its_first_week_and_its_last_three():
    month = history(np.arange(31 * 24) * (DAY // 24))
    weeks = split_weeks(month)
    end = int(month.time.max()) + 1
    assert int(weeks.learn.time.max()) < 7 * DAY
    assert int(weeks.replay.time.min()) >= end - 21 * DAY
    assert len(weeks.learn) == 7 * 24
    assert (weeks.learn_days, weeks.replay_days, weeks.cut_from) == (7, 21, None)


def test_of_a_long_history_the_busiest_four_weeks_are_taken():
    quiet, busy = np.arange(200) * DAY, 100 * DAY + np.arange(28 * 50) * (DAY // 50)
    weeks = split_weeks(history(np.concatenate((quiet, busy))))
    assert int(weeks.learn.time.min()) == 100 * DAY
    assert int(weeks.replay.time.max()) < 128 * DAY
    assert len(weeks.learn) == 7 * 51
    assert weeks.cut_from == 100 * DAY
    assert weeks.whole_days == pytest.approx(199)


def test_a_short_history_is_cut_at_a_quarter_and_nothing_is_in_both_parts():
    short = history(np.arange(20 * 24) * (DAY // 24))
    weeks = split_weeks(short)
    assert int(weeks.learn.time.max()) < int(weeks.replay.time.min())
    assert len(weeks.learn) == pytest.approx(len(short) / 4, abs=2)
    assert weeks.learn_days == pytest.approx(weeks.whole_days / 4)
    assert weeks.replay_days == pytest.approx(3 * weeks.whole_days / 4)


@pytest.mark.parametrize("times", [np.arange(500) * MICROSECONDS, np.arange(60) * DAY // 2])
def test_what_is_too_short_or_too_thin_is_refused_with_a_reason(times):
    with pytest.raises(NotPossible, match="least"):
        split_weeks(history(times))


def test_histories_are_found_in_a_folder_and_bots_left_out(tmp_path):
    times = START + np.arange(28 * 48) * (DAY // 48)
    frame = pl.DataFrame(
        {"actor": np.arange(len(times)) % 9, "target": np.arange(len(times)) % 5, "time": times}
    ).with_columns(is_bot=pl.col("actor") == 0)
    frame.write_parquet(tmp_path / "wiki_webdocs_a.parquet")
    frame.head(60).write_parquet(tmp_path / "wiki_month_a.parquet")
    frame.write_parquet(tmp_path / "other.parquet")
    found, unfit = real_weeks(RunSettings(data=tmp_path))
    assert list(found) == ["wiki_webdocs_a"]
    assert 0 not in found["wiki_webdocs_a"].learn.actor
    assert len(unfit) == 1
    assert unfit[0].startswith("wiki_month_a is left out: ")


def test_one_wiki_is_taken_whatever_its_name(tmp_path):
    times = START + np.arange(28 * 48) * (DAY // 48)
    pl.DataFrame(
        {"actor": np.arange(len(times)) % 11, "target": np.arange(len(times)) % 7, "time": times}
    ).write_parquet(tmp_path / "m.parquet")
    assert list(real_weeks(RunSettings(data=tmp_path / "m.parquet"))[0]) == ["m"]


def test_data_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadInput):
        real_weeks(RunSettings(data=tmp_path / "nothing.parquet"))
