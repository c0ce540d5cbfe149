"""Replay: a policy's releases are those of `plan_release`, the same wherever and however they are drawn."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from contracts.policies import policy_with
from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.history import History
from tarry.core.plan_release import label_history, plan_release
from tarry.core.policy import Policy
from tarry.study import replay as module
from tarry.study.practice import MICROSECONDS
from tarry.study.replay import replay
from tarry.study.table import event_table
from tarry.testing.practices import PracticeCase, PracticeSuite

POLICY = Policy(epsilon="1", gap="11m")
ELSEWHERE = """
import json, sys
from tarry.core.entropy import Seeded
from tarry.core.policy import Policy
from tarry.study.replay import replay
from tarry.study.table import event_table
columns = json.load(sys.stdin)
table = event_table(**columns)
shown = replay(Policy(epsilon="1", gap="11m")).show(table.history, Seeded(4, 2))
print(json.dumps(sorted(zip(table.row.tolist(), shown.release.tolist(), shown.batched.tolist()))))
"""


class TestReplay(PracticeSuite):
    """A policy is a practice. Labels look at other events, so no event is shown by itself alone."""

    case = PracticeCase(
        practices=[
            replay(POLICY, "held"),
            replay(Policy(epsilon="2", gap="1h", tick="1m", labels="follower"), "follower"),
            replay(policy_with("cosine", gap="11m", window="5m"), "season"),
        ]
    )


class TestReplayWithoutLabels(PracticeSuite):
    """Without labels each event is shown by itself."""

    case = PracticeCase(
        practices=[replay(Policy(epsilon="1", gap="11m", law="label-free", labels="none", delta="0.1"))],
        alone=True,
    )


def columns_of(names, size=400):
    """A busy history without repeated events, as whole numbers or as texts."""
    rng = np.random.default_rng(8)
    actor, target = rng.integers(0, 30, size).tolist(), rng.integers(0, 9, size).tolist()
    times = (rng.permutation(3 * size)[:size] * 20 * MICROSECONDS).tolist()
    if names == "texts":
        actor, target = [f"person {i}" for i in actor], [f"page {i}" for i in target]
    return {"actor": actor, "target": target, "time": times}


def releases(columns, seed=4, draw=2):
    """(row, release, label) of each event, by row."""
    table = event_table(**columns)
    shown = replay(POLICY).show(table.history, Seeded(seed, draw))
    return sorted(zip(table.row.tolist(), shown.release.tolist(), shown.batched.tolist(), strict=True))


def part(columns, rows):
    """Some rows of a history."""
    return {name: [column[i] for i in rows] for name, column in columns.items()}


@pytest.mark.parametrize("names", ["numbers", "texts"])
def test_a_replay_is_plan_release_on_the_names_themselves(names):
    """The numbers that a table has in place of texts change no draw."""
    columns = columns_of(names)
    plan = plan_release(POLICY, History(**columns), Seeded(4, 2))
    told = list(zip(range(400), (plan.release * MICROSECONDS).tolist(), plan.batched.tolist(), strict=True))

    assert releases(columns) == told
    assert 0 < plan.batched.sum() < 400


@pytest.mark.parametrize("names", ["numbers", "texts"])
def test_the_order_of_rows_changes_nothing(names):
    columns = columns_of(names)
    places = np.random.default_rng(1).permutation(400).tolist()
    shuffled = releases(part(columns, places))

    assert sorted((places[row], release, label) for row, release, label in shuffled) == releases(columns)


@pytest.mark.parametrize("names", ["numbers", "texts"])
def test_a_split_by_actors_changes_nothing(names):
    """Several machines may each take some of the people."""
    columns = columns_of(names)
    people = sorted(set(columns["actor"]))
    told = []
    for some in (people[::3], people[1::3], people[2::3]):
        rows = [i for i, actor in enumerate(columns["actor"]) if actor in some]
        told += [(rows[row], release, label) for row, release, label in releases(part(columns, rows))]

    assert sorted(told) == releases(columns)


@pytest.mark.parametrize("names", ["numbers", "texts"])
@pytest.mark.parametrize("salt", ["0", "12345"])
def test_other_processes_draw_the_same(names, salt):
    """Also with another salt of Python's own hashes."""
    columns = columns_of(names)
    told = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        input=json.dumps(columns),
        env={**os.environ, "PYTHONHASHSEED": salt},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert [tuple(row) for row in json.loads(told)] == releases(columns)


def test_other_seeds_and_draws_are_other_releases():
    """And neither stands for the other."""
    columns = columns_of("numbers")
    told = [tuple(releases(columns, seed, draw)) for seed in (0, 1) for draw in (0, 1)]

    assert len(set(told)) == 4
    assert releases(columns, 1, 0) == list(told[2])


def test_what_is_printed_is_the_release():
    table = event_table(**columns_of("numbers"))
    shown = replay(POLICY).show(table.history, Seeded(1))

    assert shown.printed.tolist() == shown.release.tolist()
    assert (shown.release >= table.time).all()


def test_releases_are_told_in_microseconds_whatever_the_tick():
    """Whole ticks of the policy, none before the arrival."""
    table = event_table(actor=[1, 1], target=[1, 2], time=[1, 61_000_000])
    for tick, unit in (("250ms", 250_000), ("1m", 60_000_000)):
        release = replay(Policy(epsilon="1", gap="20m", tick=tick)).show(table.history, Seeded(1)).release
        assert not (release % unit).any()
        assert (release > table.time).all()


def test_labels_are_worked_out_once_for_a_history(monkeypatch):
    """Epsilon and draws do not matter to them; the window, the tick and the rule do."""
    asked = []
    monkeypatch.setattr(
        module,
        "label_history",
        lambda policy, history: asked.append(policy) or label_history(policy, history),
    )
    history = event_table(**columns_of("numbers")).history
    same = [Policy(epsilon=epsilon, gap="40m") for epsilon in ("1", "2")]
    other = [
        Policy(epsilon="1", gap="40m", window="6m"),
        Policy(epsilon="1", gap="40m", tick="500ms"),
        Policy(epsilon="1", gap="40m", labels="follower"),
        Policy(epsilon="1", gap="40m", window="10m", tick="2s"),  # as many ticks in its window as the first
    ]
    for policy in same + other:
        for draw in (0, 1):
            shown = replay(policy).show(history, Seeded(3, draw))
            plan = plan_release(policy, history, Seeded(3, draw))
            assert (shown.release == plan.release * int(policy.tick * MICROSECONDS)).all()
            assert (shown.batched == plan.batched).all()

    assert len(asked) == 1 + len(other)


@pytest.mark.parametrize("names", ["numbers", "texts"])
def test_targets_keep_gaps_of_their_own(names):
    """By the names that the policy file has, though a table knows numbers only."""
    columns = columns_of(names)
    long = "3" if names == "numbers" else "page 3"
    policy = Policy(epsilon="1", gap="11m", target_gaps={long: "9d"})
    table = event_table(**columns)
    shown = replay(policy).show(table.history, Seeded(4, 2))
    plan = plan_release(policy, History(**columns), Seeded(4, 2))

    assert shown.release.tolist() == (plan.release * MICROSECONDS)[table.row].tolist()
    waits = (shown.release - table.time)[shown.batched]
    own = np.array([str(columns["target"][row]) == long for row in table.row.tolist()])[shown.batched]
    assert waits[own].min() > 9 * 86_400 * MICROSECONDS > waits[~own].max()


@pytest.mark.parametrize("names", ["numbers", "texts"])
def test_tracks_and_declarations_go_with_their_events(names):
    """A replay is `plan_release` with them too, in any order of rows."""
    columns = columns_of(names)
    columns["track"] = [["a", "b"][i % 2] if names == "texts" else i % 2 for i in range(400)]
    columns["declared"] = [i % 5 == 0 for i in range(400)]
    policy = Policy(epsilon="1", gap="11m", labels="declared", track_gaps={"b": "9d", "1": "5d"})
    table = event_table(**columns)
    shown = replay(policy).show(table.history, Seeded(4, 2))
    plan = plan_release(policy, History(**columns), Seeded(4, 2))

    assert shown.release.tolist() == (plan.release * MICROSECONDS)[table.row].tolist()
    assert shown.batched.tolist() == plan.batched[table.row].tolist()
    assert shown.batched[table.declared].all()
    assert (shown.release - table.time).max() > 5 * 86_400 * MICROSECONDS


def test_a_policy_with_gaps_of_tracks_needs_tracks():
    """Better no answer than that of another policy."""
    practice = replay(Policy(epsilon="1", gap="11m", track_gaps={"a": "1h"}))
    with pytest.raises(NotPossible, match=r"needs a history with tracks: say which column \(--track\)"):
        practice.show(event_table(**columns_of("numbers")).history, Seeded(1))

    tracked = History(actor=[1], target=[1], time=[0], track=["a"])
    assert practice.show(tracked, Seeded(1)).release[0] >= 300 * MICROSECONDS


def test_a_replay_is_named_by_its_choices_or_as_one_likes():
    assert replay(POLICY).name == "epsilon 1, gap 660s"
    assert replay(POLICY, "mine.toml").name == "mine.toml"
    assert replay(POLICY).draws


def test_a_tick_of_weeks_is_refused():
    """So that no release leaves 64 bits."""
    with pytest.raises(BadInput, match="the tick of a replayed policy must be at most 12 days"):
        replay(Policy(epsilon="1", gap="99d", window="0s", tick="30d"))
