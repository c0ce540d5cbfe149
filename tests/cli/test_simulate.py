"""`tarry simulate`: every column as it was, and two more."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tarry.cli.main import main
from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.plan_release import plan_release
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy

POLICY = "epsilon=1,gap=11m"
START = 1_700_000_000


@pytest.fixture
def history(tmp_path):
    """Some people on some pages, in no order, with a column nobody asked about."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "page": [f"page {n}" for n in rng.integers(0, 5, 60)],
            "user": [f"user {n}" for n in rng.integers(0, 6, 60)],
            "note": [f"said {n}" for n in range(60)],
            "time": rng.integers(START, START + 4000, 60),
        }
    )
    path = tmp_path / "history.csv"
    frame.write_csv(path)
    return path


def simulate(*words):
    return main(["simulate", *map(str, words)])


def test_all_columns_are_kept_in_their_rows_and_two_are_added(history, tmp_path):
    """The output is the input, row by row, with `release` in microseconds and `batched`."""
    path = tmp_path / "released.parquet"

    assert simulate(history, "--policy", POLICY, "-o", path) == 0
    released, given = pl.read_parquet(path), pl.read_csv(history, infer_schema=False)
    assert released.columns == ["page", "user", "note", "time", "release", "batched"]
    assert released.select(given.columns).equals(given)
    assert released.schema["release"] == pl.Int64
    assert released.schema["batched"] == pl.Boolean


def test_releases_are_those_of_plan_release(history, tmp_path):
    """What is simulated is what runs: the very releases of the core, event by event."""
    path = tmp_path / "released.parquet"
    simulate(history, "--policy", POLICY, "--seed", "7", "--draw", "2", "-o", path)
    frame = pl.read_parquet(path)
    times = frame["time"].cast(pl.Int64).to_numpy() * 1_000_000
    events = History(actor=frame["user"].to_list(), target=frame["page"].to_list(), time=times)
    plan = plan_release(Policy(epsilon="1", gap="11m"), events, Seeded(7, 2))

    assert frame["release"].to_list() == (plan.release * 1_000_000).tolist()
    assert frame["batched"].to_list() == plan.batched.tolist()


def test_neither_the_order_of_rows_nor_the_process_changes_a_release(history, tmp_path):
    """Shuffled rows in another process, with other hash seeds, come out as they would have here."""
    first, second = tmp_path / "here.parquet", tmp_path / "there.parquet"
    simulate(history, "--policy", POLICY, "-o", first)
    shuffled = pl.read_csv(history, infer_schema=False).sample(fraction=1, shuffle=True, seed=5)
    shuffled.write_csv(tmp_path / "shuffled.csv")
    words = ["simulate", str(tmp_path / "shuffled.csv"), "--policy", POLICY, "-o", str(second)]
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    subprocess.run(
        [sys.executable, "-m", "tarry", *words], check=True, env=environment, capture_output=True
    )

    here, there = (pl.read_parquet(path).sort("note") for path in (first, second))
    assert here.equals(there)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "arrow"])
def test_every_kind_of_file_can_be_written(history, tmp_path, suffix, capsys):
    """The name of the output says its kind; --json says what it came to."""
    path = tmp_path / f"released.{suffix}"

    assert simulate(history, "--policy", POLICY, "-o", path, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["events"] == 60
    assert answer["longest_s"] >= answer["mean_s"] > 300
    assert path.stat().st_size > 0


def test_claims_are_measured_now_and_with_the_policy(history, tmp_path, capsys):
    """Both truths beside what they are measured by, over three draws; --no-attack leaves that out."""
    path = tmp_path / "released.csv"
    simulate(history, "--policy", POLICY, "-o", path, "--json")
    before, after = json.loads(capsys.readouterr().out)["practices"]
    simulate(history, "--policy", POLICY, "-o", path, "--force")
    shown = capsys.readouterr().out
    simulate(history, "--policy", POLICY, "-o", path, "--force", "--no-attack")

    assert (before["policy"], before["draws"], after["policy"], after["draws"]) == ("nothing", 1, POLICY, 3)
    assert after["excess"] == pytest.approx(after["right_person"]["mean"] - after["reference"])
    for word in ("one person's", "reference", "excess", "lift", "in short"):
        assert word in shown
    assert "excess" not in capsys.readouterr().out


def test_gaps_of_their_own_reach_targets_with_texts_for_names(history, tmp_path):
    """A target's own gap is found by its name, and a track's by the column that --track names."""
    policy = tmp_path / "policy.toml"
    policy.write_text('epsilon = 1\ngap = "11m"\n[gaps.target]\n"page 1" = "10d"\n', encoding="utf-8")
    simulate(history, "--policy", policy, "-o", tmp_path / "a.parquet")
    by_target = pl.read_parquet(tmp_path / "a.parquet")
    policy.write_text('epsilon = 1\ngap = "11m"\n[gaps.track]\n"page 1" = "10d"\n', encoding="utf-8")
    simulate(history, "--policy", policy, "--track", "page", "-o", tmp_path / "b.parquet")

    slow = by_target.filter(pl.col("page") == "page 1", pl.col("batched"))
    assert (slow["release"] - slow["time"].cast(pl.Int64) * 1_000_000 >= 10 * 86_400 * 1_000_000).all()
    assert by_target.equals(pl.read_parquet(tmp_path / "b.parquet"))


def test_a_policy_with_tracks_asks_for_the_column(history, tmp_path, capsys):
    """Nobody's gap is quietly another one."""
    policy = tmp_path / "policy.toml"
    policy.write_text('epsilon = 1\ngap = "11m"\n[gaps.track]\nx = "1h"\n', encoding="utf-8")

    assert simulate(history, "--policy", policy, "-o", tmp_path / "b.parquet") == 2
    assert "--track" in capsys.readouterr().err


def test_a_column_called_release_is_not_written_over(tmp_path, capsys):
    """A history that has such a column already is refused in one sentence."""
    path = tmp_path / "history.csv"
    path.write_text("user,page,time,release\na,p,1700000000,x\nb,q,1700000001,y\n", encoding="utf-8")

    assert simulate(path, "--policy", POLICY, "-o", tmp_path / "r.csv") == 2
    assert "already has a column 'release': rename it" in capsys.readouterr().err


def test_a_file_that_is_there_stays_unless_force_is_said(history, tmp_path, capsys):
    """Nothing is written over by accident."""
    path = tmp_path / "released.csv"
    path.write_text("mine", encoding="utf-8")

    assert simulate(history, "--policy", POLICY, "-o", path) == 2
    assert path.read_text(encoding="utf-8") == "mine"
    assert "--force" in capsys.readouterr().err
    assert simulate(history, "--policy", POLICY, "-o", path, "--force") == 0
    assert path.read_text(encoding="utf-8").startswith("page,user,note,time,release,batched")


def test_declared_labels_use_the_column_that_says_more_was_to_come(tmp_path):
    """The first of a batch is batched when it said so, and not otherwise."""
    path = tmp_path / "history.csv"
    path.write_text(
        "user,page,time,more\na,p,1700000000,yes\na,q,1700000060,\nb,p,1700000000,\nb,q,1700000060,\n",
        encoding="utf-8",
    )
    words = ["--policy", "epsilon=1,gap=11m,labels=declared", "--declared", "more"]
    simulate(path, *words, "-o", tmp_path / "r.csv")

    assert pl.read_csv(tmp_path / "r.csv")["batched"].to_list() == [True, True, False, True]


def test_the_kind_of_file_changes_no_release(tmp_path):
    """Names that are numbers are the same names in a CSV file, where everything is text."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"actor": rng.integers(0, 4, 40), "target": rng.integers(0, 5, 40)})
    frame = frame.with_columns(time=pl.Series(START + rng.integers(0, 900, 40)))
    frame.write_csv(tmp_path / "h.csv")
    frame.write_parquet(tmp_path / "h.parquet")
    found = []
    for kind in ("csv", "parquet"):
        simulate(tmp_path / f"h.{kind}", "--policy", POLICY, "-o", tmp_path / f"{kind}.parquet")
        found.append(pl.read_parquet(tmp_path / f"{kind}.parquet")["release"].to_list())

    assert found[0] == found[1]


def test_rows_of_bots_are_left_out_unless_one_says_so(history, tmp_path, capsys):
    """The others keep their order; what bots did does not change their releases."""
    marked = pl.read_csv(history).with_row_index().with_columns(bot=pl.col("index") % 3 == 0).drop("index")
    marked.write_csv(tmp_path / "marked.csv")
    path = tmp_path / "released.parquet"
    capsys.readouterr()

    assert simulate(tmp_path / "marked.csv", "--policy", POLICY, "-o", path) == 0
    assert "20 events of bots, whom the column bot marks, are left out" in capsys.readouterr().err
    people = pl.read_parquet(path)
    assert people["note"].to_list() == marked.filter(~pl.col("bot"))["note"].to_list()
    assert (people["release"] >= people["time"].cast(pl.Int64) * 1_000_000).all()
    assert simulate(tmp_path / "marked.csv", "--policy", POLICY, "-o", path, "--force", "--with-bots") == 0
    assert len(pl.read_parquet(path)) == 60


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_by_parts_it_writes_the_same_table(tmp_path, capsys, monkeypatch, ending):
    """Rows that cannot be read, bots, duplicates, slices and pieces: the same rows in the same order."""
    from tarry.study.parts import simulated

    whole = simulated.budget_for
    monkeypatch.setattr(
        simulated, "budget_for", lambda events, **limits: replace(whole(events, **limits), rows=60)
    )
    monkeypatch.setattr(simulated, "_AT_ONCE", 70)
    rng = np.random.default_rng(5)
    seconds = pl.Series((START + rng.integers(0, 3000, 300)) * 1_000_000).cast(pl.Datetime("us"))
    frame = pl.DataFrame(
        {
            "line": [f"said {n}" for n in range(300)],
            "user": [None if n % 50 == 3 else f"user {n % 7}" for n in range(300)],
            "page": rng.integers(0, 4, 300),
            "time": seconds,
            "bot": [n % 7 == 2 for n in range(300)],
        }
    )
    history = tmp_path / "history.parquet"
    pl.concat([frame, frame.sample(40, seed=1)]).write_parquet(history)
    answers, tables = [], []
    stream = ["--engine", "stream", "--memory", "2GB", "--jobs", "1", "--scratch", tmp_path]
    for engine in (["--engine", "memory"], stream):
        path = tmp_path / f"{engine[1]}{ending}"
        assert simulate(history, "--policy", POLICY, "-o", path, "--json", *engine) == 0
        said = capsys.readouterr()
        answers.append({**json.loads(said.out), "file": ""})
        tables.append(path.read_bytes() if ending in {".csv", ".jsonl"} else _table(path))
        assert "rows cannot be read and are left out" in said.err
        assert "whom the column bot marks, are left out" in said.err

    assert answers[0] == answers[1]
    assert tables[0] == tables[1] if ending in {".csv", ".jsonl"} else tables[0].equals(tables[1])
    assert not list(tmp_path.glob("tarry-*"))


def _table(path):
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_ipc(path)


def test_a_deadline_that_some_events_miss_is_the_same_sentence_by_parts(tmp_path, capsys):
    """Counted over all slices."""
    history, policy = tmp_path / "history.parquet", tmp_path / "policy.toml"
    times = pl.Series([(START + n) * 1_000_000 for n in range(9)]).cast(pl.Datetime("us"))
    pl.DataFrame({"user": range(9), "page": range(9), "time": times}).write_parquet(history)
    policy.write_text(
        write_policy(Policy(epsilon="1", gap="2s", window="1s", deadline_at=START + 5)), encoding="utf-8"
    )
    told = []
    for engine in ("memory", "stream"):
        words = ["-o", tmp_path / "p.csv", "--engine", engine, "--scratch", tmp_path]
        assert simulate(history, "--policy", policy, *words) == 2
        told.append(capsys.readouterr().err.splitlines()[-1])

    assert told[0] == told[1]
    assert "3 of 9 events come after the deadline" in told[0]
    assert not list(tmp_path.glob("tarry-*"))


def test_spark_writes_no_releases(history, tmp_path, capsys):
    """One sentence, and what to use."""
    assert simulate(history, "--policy", POLICY, "-o", tmp_path / "p.csv", "--engine", "spark") == 2
    assert "Spark writes no table of releases: use --engine stream" in capsys.readouterr().err
