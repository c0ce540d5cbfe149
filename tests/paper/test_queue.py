"""The queue: what the appendix proves, exactly; and what its assumptions leave out."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.paper.finding import Settings
from tarry.paper.queue import PAPERS, _history_says, _one_person, _queued, _slotted, _worst, find, outputs
from tarry.study.table import event_table

TINY = Settings(tiny=True)
MINUTE = 60_000_000


@pytest.fixture(scope="module")
def found():
    return find(TINY)


@pytest.mark.parametrize("batches", [(1,), (2,), (1, 2)])
def test_independent_batches_leave_no_trace(batches):
    """The appendix, proposition on privacy: one distribution, with and without batches, exactly."""
    assert outputs(batches, steps=2) == outputs((), steps=2)


def test_one_person_s_batch_is_seen():
    """Two comments of one reviewer in the first step: the first two posts are always that reviewer's."""
    seen = outputs((1,), _one_person)

    assert all(PAPERS[first] == PAPERS[second] for first, second, _ in seen)
    assert sum(p for o, p in outputs(()).items() if PAPERS[o[0]] == PAPERS[o[1]]) == Fraction(1, 2)


def test_the_longest_delay_is_the_number_of_batched_comments():
    """The appendix, proposition on delay, for several seeds."""
    for seed in range(5):
        assert all(row[0] == row[1] and row[2] == "yes" for row in _worst(seed, (0, 1, 2, 9, 40)).rows)


@given(st.lists(st.integers(0, 40), min_size=2, max_size=30), st.integers(0, 99))
def test_in_quiet_steps_the_backlog_never_shrinks(minutes, seed):
    """Each busy step posts one comment and no more, so what has piled up stays."""
    table = event_table(
        actor=list(range(len(minutes))), target=[0] * len(minutes), time=[m * MINUTE for m in minutes]
    )
    left, backlog = _queued(table, seed)

    assert (np.diff(backlog) >= 0).all()
    assert (left >= 0).sum() == len(set(minutes))
    assert backlog[-1] == len(minutes) - len(set(minutes)) == (left < 0).sum()


def test_a_slot_queue_lets_a_batch_out_side_by_side():
    """Slot after slot, in order of admission."""
    table = event_table(actor=[1, 1, 1], target=[1, 2, 3], time=[MINUTE, MINUTE, MINUTE])

    assert sorted(_slotted(table).tolist()) == [0, 1, 2]


def test_the_finding_says_what_its_tables_hold(found):
    """Zero where the proof holds, more where it does not; and the first row of the traffic."""
    exact, traffic = found.tables["exact"], found.tables["traffic"]

    assert set(exact.column("independent members")) == {0.0}
    assert min(exact.column("one person's")) > 0.5
    assert "differ by exactly 0" in found.says[0]
    assert "the longest delay is the number" in found.says[0]
    assert f"{traffic.rows[0][4]:,} are never released" in found.says[2]
    assert traffic.rows[0][4] > 0
    assert traffic.rows[1][4] == 0


def test_each_history_has_a_sentence_of_its_own(tmp_path):
    """A given forum is told beside the made-up one."""
    rows = "".join(f"{i % 3},{i},{i // 2 * 90}\n" for i in range(40))
    (tmp_path / "qa_forum.csv").write_text("actor,target,time\n" + rows)
    told = find(Settings(tiny=True, data=tmp_path))
    traffic = told.tables["traffic"]

    assert traffic.title.startswith("Traffic with quiet steps")
    assert [name for name in ("made-up forum", "qa_forum") for s in told.says if f"({name})" in s] == [
        "made-up forum",
        "qa_forum",
    ]
    assert f"{traffic.rows[2][4]:,} are never released" in told.says[3]


def test_the_toy_is_called_one(found):
    """The figures of one person's batches depend on how many reviewers and papers there are."""
    assert "a toy: 2 reviewers, 6 papers" in found.says[1]


def test_without_moves_nothing_is_said_to_leave_side_by_side():
    """A share of nothing has no number."""
    paper, slots = ("forum", "Algorithm 4", 1.0, 2.0, 3, None), ("forum", "slot queue", 1.0, 2.0, 0, None)

    assert _history_says(paper, slots).endswith("Nobody moved within a step.")
    said = _history_says(paper, (*slots[:5], 0.5))
    assert said.endswith("none leave side by side in the paper's queue and 50% in the slot queue.")


def test_the_same_settings_give_the_same_tables(found):
    """Everything follows from the seed."""
    assert found.as_json() == find(TINY).as_json()
    assert found.as_json() != find(Settings(tiny=True, seed=1)).as_json()
