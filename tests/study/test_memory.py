"""The estimate of memory: what it counts, and the sentence where it does not fit."""

import polars as pl
import pytest

from tarry.cli.outputs import write_frame
from tarry.core.errors import NotPossible
from tarry.readers.files import weigh
from tarry.readers.free_memory import ASSIGNED, Room
from tarry.study.audit import audit
from tarry.study.memory import ADVISE, ATTACK, SIMULATE, check_file, check_memory, watching, work_of
from tarry.study.question import Question
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import Recipe
from tarry.study.table import event_table


def test_the_sentence_says_how_much_is_needed_how_much_there_is_and_what_to_do(monkeypatch):
    """With the number of events that would fit."""
    monkeypatch.setenv(ASSIGNED, "2G")

    with pytest.raises(NotPossible) as refused:
        check_memory(12_000_000, 66, ADVISE)

    assert str(refused.value) == (
        "this needs about 6.82 GB of memory for 12,000,000 events, and TARRY_MEMORY allows 2.15 GB: take "
        "a part of the history (about 3,400,000 events fit), leave out busy actors (--busy-limit), ask for "
        "no recommendation (--no-advice), or allow more memory"
    )


def test_what_fits_by_the_estimate_is_not_refused(monkeypatch):
    """As many events as the sentence names are let through."""
    monkeypatch.setenv(ASSIGNED, "2G")

    check_memory(3_400_000, 66, ADVISE)


def test_no_part_of_a_history_is_offered_where_hardly_anything_fits(monkeypatch):
    """Then only more memory helps."""
    monkeypatch.setenv(ASSIGNED, "300M")

    with pytest.raises(NotPossible) as refused:
        check_memory(12_000_000, 66, SIMULATE)

    assert "events fit" not in str(refused.value)
    assert str(refused.value).endswith(": allow more memory")


def test_addresses_are_more_than_memory(monkeypatch):
    """Libraries reserve them; under `ulimit -v` they count."""
    room = "tarry.study.memory.rooms"
    monkeypatch.setattr(room, lambda: [Room(1 << 30, "ulimit -d allows")])
    check_memory(1_000_000, 66, ATTACK)
    monkeypatch.setattr(room, lambda: [Room(1 << 30, "ulimit -v allows", addresses=True)])
    with pytest.raises(NotPossible, match="of addresses for 1,000,000 events"):
        check_memory(1_000_000, 66, ATTACK)


def test_long_stacks_count_for_each_thread(monkeypatch):
    """A library that cannot start its threads may wait for them for ever."""
    wide = Room(3 << 30, "ulimit -v allows", addresses=True, stack=1 << 30)
    monkeypatch.setattr("tarry.study.memory.rooms", lambda: [wide])
    with pytest.raises(NotPossible, match="of addresses"):
        check_memory(1000, 66, ATTACK)


def test_the_part_that_takes_most_counts():
    """A recommendation takes more than attacks; a long watch with many replays more than both."""
    assert work_of(Question(practices=["nothing"])) == ATTACK
    assert work_of(Question()) == ADVISE
    many = Question(practices=["nothing", "jitter:24h"], draws=20, watch=True)
    assert work_of(many) == watching(40)
    assert watching(40).event > ADVISE.event


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_a_file_is_weighed_before_it_is_read(monkeypatch, tmp_path, ending):
    """Of each kind, within a fifth of its rows."""
    made = synthesize(Recipe(events=2_000, bots=0), seed=1)
    frame = pl.DataFrame({"actor": made.actor, "target": made.target, "time": made.time})
    path = tmp_path / f"month{ending}"
    write_frame(frame, path, force=False)

    assert 1_600 < weigh(path).rows < 2_400
    monkeypatch.setenv(ASSIGNED, "1M")
    with pytest.raises(NotPossible, match=r"of memory for [12],\d\d\d events"):
        check_file(path, ATTACK)


def test_an_audit_in_python_is_refused_too(monkeypatch):
    """Before anything is measured."""
    monkeypatch.setenv(ASSIGNED, "1M")
    table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])

    with pytest.raises(NotPossible, match="of memory for 2 events, and TARRY_MEMORY allows 0 GB"):
        audit(table)
