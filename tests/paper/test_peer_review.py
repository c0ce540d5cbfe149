"""Rates and posterior by the appendix's method."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import NotPossible
from tarry.paper.finding import RunSettings
from tarry.paper.peer_review import find, measure_rates
from tarry.study.figures import percent
from tarry.study.practice import MICROSECONDS
from tarry.study.table import event_table

DAY = 86_400 * MICROSECONDS


@pytest.fixture(scope="module")
def found():
    return find(RunSettings())


def test_the_published_rates_give_the_printed_posterior(found):
    published = found.tables["rates"].rows[0]
    assert published[1:3] == [0.301, 0.0066]
    assert published[3] == pytest.approx(0.8351, abs=0.0001)  # introduction: 83.51 %


def test_the_appendixs_example_has_a_rate_of_one_half():
    minutes = np.array([0, 5, 6, 8, 100]) * 60 * MICROSECONDS
    example = event_table(actor=["r"] * 5 + ["s"], target=[1, 2, 2, 2, 3, 9], time=[*minutes, 10 * DAY])
    rates = measure_rates(example)
    assert rates.same == 0.5
    assert rates.different == 0.0


events = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 40)), min_size=2, max_size=25
)


@given(rows=events, window=st.integers(0, 10))
def test_rates_of_two_acts_are_those_of_a_loop_over_all_pairs(rows, window):
    close = {True: [], False: []}
    for k, (actor, target, time) in enumerate(rows):
        for other, elsewhere, later in rows[:k]:
            if target != elsewhere:
                close[actor == other].append(abs(time - later) <= window)
    actor, target, time = zip(*rows, strict=True)
    table = event_table(actor=actor, target=target, time=time)
    try:
        rates = measure_rates(table, window)
    except NotPossible:
        assert len(set(actor)) == 1 or not close[True]
        return
    assert rates.pair_same == pytest.approx(np.mean(close[True]))
    assert rates.pair_different == pytest.approx(np.mean(close[False]) if close[False] else 0.0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_made_up_conference_has_the_papers_two_rates(seed):
    made_up = find(RunSettings(seed=seed)).tables["rates"].rows[1]
    assert made_up[1] == pytest.approx(0.301, rel=0.1)  # appendix: 30.10 %
    assert made_up[2] == pytest.approx(0.0066, rel=0.1)  # appendix: 0.66 %
    assert made_up[3] == pytest.approx(0.8351, abs=0.02)


def test_posteriors_fall_with_the_number_of_suspects(found):
    for row in found.tables["posteriors"].rows:
        assert list(row[1:]) == sorted(row[1:], reverse=True)


def test_the_sentences_say_what_the_table_has(found):
    made_up = found.tables["rates"].rows[1]
    assert made_up[0] == "made-up conference"
    for cell in made_up[1:4]:
        assert percent(cell) in found.says[0]
    assert percent(made_up[6]) in found.says[-1]


def project(days, seed=0):
    """A project with reviewers, their own requests, a bot and repeated rows."""
    rng = np.random.default_rng(seed)
    many = 40 * days
    frame = pl.DataFrame(
        {
            "actor": rng.integers(0, 30, many),
            "target": rng.integers(0, 200, many),
            "time": 19_000 * DAY + np.sort(rng.integers(0, days * DAY, many)),
            "is_pull": rng.random(many) < 0.8,
            "is_target_author": rng.random(many) < 0.1,
            "is_bot": rng.random(many) < 0.1,
        }
    )
    return pl.concat([frame, frame.head(50)])


def test_only_reviewers_count_and_each_act_once(tmp_path):
    frame = project(120)
    frame.write_parquet(tmp_path / "code_review_a.parquet")
    told = find(RunSettings(data=tmp_path))
    kept = frame.filter("is_pull", ~pl.col("is_target_author"), ~pl.col("is_bot"))
    acts = kept.select("actor", "target", "time").unique()
    assert f"code_review_a ({acts.height:,} comments of {acts['actor'].n_unique()} people)" in told.says[1]
    assert told.says[-1].startswith(f"Of code_review_a, {acts.height:,} acts from {frame.height:,} rows ")


def test_a_history_that_marks_no_reviewers_gets_no_note_on_them(tmp_path):
    project(120).select("actor", "target", "time").write_parquet(tmp_path / "code_review_a.parquet")
    assert not any(one.startswith("Of ") for one in find(RunSettings(data=tmp_path)).says)


def test_a_long_history_is_also_measured_in_stretches_of_four_weeks(tmp_path):
    project(120).write_parquet(tmp_path / "code_review_a.parquet")
    rates = {row[0]: row for row in find(RunSettings(data=tmp_path)).tables["rates"].rows}
    # The same people are there all the time: who looks longer sees more of them close.
    assert rates["code_review_a, four weeks"][2] < rates["code_review_a"][2]


def test_the_same_settings_give_the_same_tables_and_a_tiny_run_runs(tmp_path):
    project(60).write_parquet(tmp_path / "code_review_a.parquet")
    settings = RunSettings(seed=3, tiny=True, data=tmp_path)
    first, again = find(settings), find(settings)
    assert first.as_json() == again.as_json()
    assert first.name == "peer_review"
    assert find(RunSettings(seed=4)).as_json() != find(RunSettings(seed=5)).as_json()
