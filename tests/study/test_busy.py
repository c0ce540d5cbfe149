"""The busy actor: figures stay exact, time is bounded, one sentence says what to do and names nobody."""

import numpy as np
import polars as pl
import pytest

from tarry.core.errors import NotPossible
from tarry.core.policy import Policy
from tarry.readers.frames import read_frame
from tarry.study import busy
from tarry.study.adoption import adoption
from tarry.study.audit import audit
from tarry.study.busy import busy_note, check_crowds
from tarry.study.pairs import near
from tarry.study.question import Question
from tarry.study.recommend import advise
from tarry.study.replay import replay
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES
from tarry.study.table import event_table, table_of

SECOND = 1_000_000
POLICY = replay(Policy(epsilon="1", gap="11m"), "mine")


@pytest.fixture(scope="module")
def crowded():
    """A forum, and one who acts 30,000 times within its last hour."""
    made = synthesize(RECIPES["forum"], seed=1)
    rng = np.random.default_rng(1)
    moments = int(made.time.max()) - rng.integers(0, 3600, 30_000) * SECOND
    return event_table(
        actor=np.concatenate([made.actor, np.full(30_000, 10**6)]),
        target=np.concatenate([made.target, rng.integers(0, 900, 30_000)]),
        time=np.concatenate([made.time, moments]),
    )


def by_looks(rows, shown, window, limits):
    """One look at each pair, with nothing in common with the code."""
    actor, target, time = rows
    apart, seen = abs(time[:, None] - time), abs(shown[:, None] - shown)
    linked = (actor[:, None] == actor) & (target[:, None] != target) & (apart <= window)
    return [int((linked & (seen <= limit)).sum()) // 2 for limit in limits]


@pytest.mark.parametrize("delays", ["none", "alike", "own"])
def test_a_crowd_is_counted_exactly(delays):
    """Whether nobody waits, all wait alike, or each for a time of their own; at and beyond every end."""
    rng = np.random.default_rng(3)
    count, window = 700, 300
    actor = np.sort((rng.random(count) < 0.05).astype(np.int64))
    time = np.concatenate([np.sort(rng.integers(0, 900, part)) for part in np.bincount(actor)])
    target = rng.integers(0, 9, count)
    wait = {"none": 0, "alike": 40, "own": rng.integers(0, 200, count)}[delays]
    limits = [0, 1, 50, 299, 300, 301, 499, 500, 501, 10_000]

    pairs = near(actor, target, time, window)
    assert pairs._crowded(1)  # else nothing is proved here
    expected = by_looks((actor, target, time), time + wait, window, limits)
    assert pairs.shown_within(time + wait, limits) == expected


def test_one_who_has_most_events_is_noted_without_a_name():
    """With the option that leaves out nobody else; a person of many is nobody to note."""
    frame = {"user": [8] * 3000 + [7] * 40, "page": list(range(3040)), "time": list(range(3040))}

    table = table_of(read_frame(pl.DataFrame(frame), time_unit="s"))
    (note,) = table.notes
    assert note.startswith("one actor has 3,000 of 3,040 events, so figures are mostly about that one")
    assert note.endswith("(--busy-limit 40 leaves only that one out)")
    assert len(table.without_busy(40)) == 40
    assert busy_note(np.arange(3000) % 3) == ""
    assert busy_note(np.zeros(900, dtype=np.int64)) == ""


def test_alone_there_is_nobody_to_keep():
    assert busy_note(np.zeros(3000, dtype=np.int64)).endswith("mostly about that one")


def test_what_would_take_hours_is_refused_with_the_option(crowded, monkeypatch):
    """By a recommendation and by partial adoption; nobody is named."""
    monkeypatch.setattr(busy, "_STEPS", 1_000_000)
    for ask in (lambda: advise(crowded), lambda: adoption(crowded, POLICY)):
        with pytest.raises(NotPossible) as refused:
            ask()
        said = str(refused.value)
        assert said.startswith("one actor has 30,000 of ")
        assert "would take hours: leave out such actors (--busy-limit " in said
        limit = int(said.partition("--busy-limit ")[2].partition(")")[0])
        assert crowded.without_busy(limit).actors == crowded.actors - 1


def test_an_audit_stands_without_the_recommendation(crowded, monkeypatch):
    """And says why there is none."""
    monkeypatch.setattr(busy, "_STEPS", 1_000_000)
    report = audit(crowded, Question(recommend=True, before_after=False))

    assert report.runs
    assert report.no_advice.startswith("one actor has 30,000 of ")


def test_usual_histories_are_never_refused():
    """A forum has no crowd, however often its pairs are counted."""
    made = synthesize(RECIPES["forum"], seed=1)
    table = event_table(actor=made.actor, target=made.target, time=made.time)

    check_crowds(near(table.actor, table.target, table.time, 300 * SECOND), 10**6, table.actor_rank)
