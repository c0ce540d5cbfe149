"""One week to learn from and three to replay, of any history that has them."""

import numpy as np
import polars as pl
import pytest

from tarry.core.errors import BadInput, NotPossible
from tarry.paper.finding import Settings
from tarry.paper.wikipedia_weeks import real_weeks, split_weeks
from tarry.study.practice import MICROSECONDS
from tarry.study.table import event_table

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
    found, unfit = real_weeks(Settings(data=tmp_path))
    assert list(found) == ["wiki_webdocs_a"]
    assert 0 not in found["wiki_webdocs_a"].learn.actor
    assert len(unfit) == 1
    assert unfit[0].startswith("wiki_month_a is left out: ")


def test_one_file_is_taken_whatever_its_name(tmp_path):
    times = START + np.arange(28 * 48) * (DAY // 48)
    pl.DataFrame(
        {"actor": np.arange(len(times)) % 11, "target": np.arange(len(times)) % 7, "time": times}
    ).write_parquet(tmp_path / "m.parquet")
    assert list(real_weeks(Settings(data=tmp_path / "m.parquet"))[0]) == ["m"]


def test_data_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadInput):
        real_weeks(Settings(data=tmp_path / "nothing.parquet"))
