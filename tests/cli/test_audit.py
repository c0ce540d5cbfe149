"""`tarry audit`: equal to a loop over every pair, true on real data, and one sentence for what is wrong."""

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.pair_loop import data_file, loop_counts, within
from tarry.cli.main import main
from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.plan_release import plan_release
from tarry.core.policy import Policy
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import Recipe
from tarry.study.table import event_table

MICROSECONDS = 1_000_000
SEVEN = [10, 60, 300, 600, 1800, 3600, 7200]
ASKED = ["--window", "5m", "--cutoffs", "10s,1m,5m,10m,30m,1h,2h", "--json"]
NAMES = ["Adelheid", "Balthasar", "Cunigunde"]
PAGES = ["Quedlinburg", "Rothenburg", "Speyer", "Ulm"]
START = datetime(2024, 5, 1, 10, tzinfo=UTC)
MADE = synthesize(Recipe(events=1500, actors=40, targets=25, days=9, bots=1), seed=2)
FRAME = MADE.frame().drop("is_bot").with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))


def run(*words, command="audit"):
    """A command's exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([command, *map(str, words)])
    return code, out.getvalue(), err.getvalue()


def answer(*words):
    """The JSON of an audit that finds nothing to complain about."""
    code, out, err = run(*words, "--json")

    assert (code, err) == (0, "")
    return json.loads(out)


def refusal(*words):
    """The one sentence of an audit that does nothing."""
    code, out, err = run(*words)

    assert (code, out, err.count("\n")) == (2, "", 1)
    return err.strip().removeprefix("tarry audit: ")


def write(path, rows):
    """A CSV file of (actor, target, microseconds after the start)."""
    frame = pl.DataFrame(
        {
            "actor": [actor for actor, _, _ in rows],
            "target": [target for _, target, _ in rows],
            "time": [f"{START + timedelta(microseconds=at):%Y-%m-%dT%H:%M:%S.%fZ}" for _, _, at in rows],
        }
    )
    frame.write_csv(path)
    return path


def rows_of(size, unit, seed):
    """Few people, pages and moments."""
    rng = np.random.default_rng(seed)
    return [
        (NAMES[rng.integers(3)], PAGES[rng.integers(4)], int(rng.integers(0, 30)) * unit)
        for _ in range(size)
    ]


@pytest.fixture
def history(tmp_path):
    """A made-up history in a file."""
    path = tmp_path / "made.parquet"
    FRAME.write_parquet(path)
    return path


@settings(max_examples=12)
@given(
    size=st.integers(2, 40),
    unit=st.sampled_from([7, 30 * MICROSECONDS, 61_000_001, 300 * MICROSECONDS]),
    seed=st.integers(0, 9999),
)
def test_an_audit_equals_a_loop_over_every_pair(size, unit, seed):
    """End to end from a file of texts: shares and counts, with nothing done and under a policy."""
    rows = rows_of(size, unit, seed)
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "votes.csv", rows)
        found = answer(path, *ASKED[:-1], "--policy", "epsilon=1,gap=11m", "--seed", "5", "--draws", "2")

    actor, target = [row[0] for row in rows], [row[1] for row in rows]
    at = [int(START.timestamp()) * MICROSECONDS + row[2] for row in rows]
    table = event_table(actor=actor, target=target, time=at)
    window = 300 * MICROSECONDS
    truth = loop_counts(table, table.time, window, lambda a, b: True)
    partners = sum(
        any(a[0] == b[0] and a[1] != b[1] and abs(a[2] - b[2]) <= window for b in rows) for a in rows
    )
    assert (found["events"], found["actors"], found["targets"]) == (size, len(set(actor)), len(set(target)))
    assert found["batched_share"] == partners / size
    assert (found["linked_pairs"], found["candidate_pairs"]) == (
        truth.true_positives,
        table.candidate_pairs,
    )

    policy, history = Policy(epsilon="1", gap="11m"), History(actor=actor, target=target, time=at)
    plans = [plan_release(policy, history, Seeded(5, draw)).release[table.row] for draw in (0, 1)]
    seen = [table.time, *(release * MICROSECONDS for release in plans)]
    told = [(attack["policy"], attack["draw"]) for attack in found["attacks"]]
    assert told == [("nothing", 0), ("epsilon=1,gap=11m", 0), ("epsilon=1,gap=11m", 1)]
    for attack, moments in zip(found["attacks"], seen, strict=True):
        assert [score["cutoff_s"] for score in attack["scores"]] == SEVEN
        for score in attack["scores"]:
            counts = loop_counts(table, moments, window, within(int(score["cutoff_s"] * MICROSECONDS)))
            assert {key: score[key] for key in vars(counts)} == vars(counts)
            assert (score["precision"], score["recall"]) == (counts.precision, counts.recall)


def test_the_dao_votes_are_as_linkable_as_was_found_by_hand():
    """25,085 linked pairs; claims at 300 s are right 79.1 times in 100, with nothing done."""
    found = answer(data_file("dao_votes.parquet"), *ASKED[:-1])
    [attack] = found["attacks"]
    at_300 = next(score for score in attack["scores"] if score["cutoff_s"] == 300)

    assert found["linked_pairs"] == 25_085
    assert round(at_300["precision"], 3) == 0.791
    assert at_300["recall"] == 1.0
    assert (attack["attack"], attack["observer"], attack["policy"]) == ("cutoff", "notified", "nothing")
    assert found["advice"]["sentence"].startswith("Take epsilon ")


def test_unsorted_and_repeated_cutoffs_are_answered_as_asked(history):
    found = answer(history, "--cutoffs", "1h, 0s,10s,1h,", "--no-advice")

    assert [score["cutoff_s"] for score in found["attacks"][0]["scores"]] == [3600, 0, 10, 3600]
    assert found["attacks"][0]["scores"][0] == found["attacks"][0]["scores"][3]


def test_the_same_question_has_the_same_answer(history, tmp_path):
    """In any order of rows; another seed has another."""
    shuffled = tmp_path / "shuffled.parquet"
    FRAME.sample(fraction=1.0, shuffle=True, seed=4).write_parquet(shuffled)
    words = ["--policy", "epsilon=1,gap=11m", "--attack", "cutoff", "--attack", "nearest", "--draws", "2"]

    assert answer(shuffled, *words, "--seed", "8") == answer(history, *words, "--seed", "8")
    assert answer(history, *words, "--seed", "9") != answer(history, *words, "--seed", "8")


def test_all_observers_and_attacks_may_be_asked_for_at_once(history):
    words = [f"--observer={name}" for name in ("notified", "archive", "poller:10m")]
    words += [
        f"--attack={name}" for name in ("cutoff", "likelihood", "recipient", "informed", "nearest:0.2")
    ]
    found = answer(history, *words, "--policy", "epsilon=1,gap=11m", "--baseline", "hotcrp")

    assert len(found["attacks"]) == 3 * (4 + 4 + 4) + 2  # likelihood: no policy, or a poller
    assert {run["observer"] for run in found["attacks"]} == {"notified", "archive", "poller:10m"}
    assert [cost["policy"] for cost in found["costs"]] == ["nothing", "hotcrp", "epsilon=1,gap=11m"]


def test_advice_is_given_unless_one_has_choices_of_ones_own(history):
    assert answer(history)["advice"]["sentence"]
    for words in (["--no-advice"], ["--policy", "epsilon=1,gap=11m"], ["--baseline", "mix:1h"]):
        assert answer(history, *words)["advice"] is None


def test_a_short_history_is_audited_without_advice(tmp_path):
    """The reason stands in its place."""
    path = write(tmp_path / "short.csv", rows_of(5, 60 * MICROSECONDS, 1))
    _, out, _ = run(path)

    assert "no recommendation: " in out
    assert "too few to learn" in answer(path)["advice"]


def test_filters_count_what_is_left(tmp_path):
    rows = [
        ("a", "p", 0),
        ("a", "p", 0),
        ("a", "q", 0),
        ("tidybot", "p", 0),
        ("tidybot", "q", 0),
        ("c", "p", 0),
    ]
    path = write(tmp_path / "some.csv", rows)

    assert answer(path)["events"] == 6
    for words, left, told in (
        (["--collapse"], 5, "1 events share actor, target and time with another, and count once"),
        (["--without-bots"], 4, "2 events of bots are left out"),
        (["--busy-limit", "2"], 3, "3 events of actors with more than 2 events are left out"),
    ):
        _, out, err = run(path, *words, "--json")
        assert json.loads(out)["events"] == left
        assert told in json.loads(out)["notes"]
        assert told in err


def test_bots_that_a_column_marks_count_only_if_one_says_so(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("actor,target,time,is_bot\na,p,1700000000,no\na,q,1700000009,no\nb,p,1700000010,yes\n")

    for command in ("audit", "compare"):
        counted = {}
        for words in ([], ["--without-bots"], ["--with-bots"]):
            code, out, err = run(path, *words, "--json", command=command)
            counted[" ".join(words)] = json.loads(out)["events"]
            assert code == 0
            assert ("1 events of bots" in err) == (words != ["--with-bots"])
        assert counted == {"": 2, "--without-bots": 2, "--with-bots": 3}
    assert run(path, "--without-bots", "--with-bots")[0] == 2


def test_limits_are_told_and_kept(history):
    """In the same sentence as the reason why nothing is left."""
    found = answer(history, "--mean-delay", "1s", "--deadline", "2023-11-14T22:13:20Z")["advice"]

    assert found["answer"] == "limits"
    assert found["sentence"].startswith(
        "No policy that was tried has a mean delay of at most 1s: the nearest"
    )
    assert all(choice["late"] == 0 and not choice["keeps_limits"] for choice in found["choices"])


@pytest.mark.parametrize("words", [["--no-advice"], ["--baseline", "mix:1h"]])
def test_limits_without_a_recommendation_are_refused(history, words):
    code, _, err = run(history, *words, "--max-delay", "1h")

    assert code == 2
    assert "limits are for a recommendation, and none is asked for" in err


def test_the_window_of_a_policy_and_that_of_the_truth_are_two_things(history):
    """--window decides what is linked; labels go by the policy's own."""
    wide = answer(history, "--policy", "epsilon=1,gap=11m", "--window", "10m")
    plain = answer(history, "--policy", "epsilon=1,gap=11m")

    assert wide["linked_pairs"] > plain["linked_pairs"]
    assert wide["costs"] == plain["costs"]


def test_a_window_of_nothing_links_what_happens_at_one_moment(tmp_path):
    path = write(tmp_path / "some.csv", [("a", "p", 0), ("a", "q", 0), ("a", "r", 1), ("b", "p", 1)])

    assert answer(path, "--window", "0s")["linked_pairs"] == 1


def test_the_table_says_what_the_json_says(history):
    code, out, err = run(history, "--policy", "epsilon=1,gap=11m")
    found = answer(history, "--policy", "epsilon=1,gap=11m")
    lines = out.splitlines()

    assert (code, err) == (0, "")
    told = f"{found['events']:,} events by {found['actors']} actors on {found['targets']} targets"
    assert lines[0] == f"{told}, 2024-01-01 to 2024-01-09"
    assert f"{found['linked_pairs']:,} linked pairs among {found['candidate_pairs']:,}" in out
    for attack in found["attacks"]:
        place = lines.index(f"{attack['policy']}, seen by notified, attack cutoff, draw 0")
        for line, score in zip(lines[place + 2 :], attack["scores"], strict=False):
            claims = score["true_positives"] + score["false_positives"]
            assert line.split()[1] == f"{claims:,}"
            assert f"{100 * score['right_person']:.1f} %" in line
            assert f"{100 * score['precision']:.1f} %" in line
    assert all(sentence.split(".")[0][:60] in " ".join(out.split()) for sentence in found["headlines"])


def test_nobody_is_named(tmp_path):
    """Neither in the text nor in the JSON, neither by name nor by number."""
    rng = np.random.default_rng(3)
    rows = [(*rows_of(1, 1, i)[0][:2], int(rng.integers(0, 9 * 86_400)) * MICROSECONDS) for i in range(900)]
    path = write(tmp_path / "named.csv", rows)
    table = event_table(actor=[row[0] for row in rows], target=[row[1] for row in rows], time=[0] * 900)
    secrets = [*NAMES, *PAGES, *map(str, {*table.actor.tolist(), *table.target.tolist()})]
    asked = ["--observer", "archive", "--attack", "cutoff", "--attack", "informed"]
    for words in ([], ["--json"], [*asked, "--policy", "epsilon=1,gap=11m"], [*asked, "--json"]):
        code, out, err = run(path, *words)
        assert (code, err) == (0, "")
        assert not [secret for secret in secrets if secret in out]


def test_unreadable_rows_are_counted_and_told(tmp_path):
    path = write(tmp_path / "some.csv", rows_of(9, 60 * MICROSECONDS, 1))
    path.write_text(path.read_text() + "ann,p1,later\n")
    code, out, err = run(path, "--json")

    assert code == 0
    assert (json.loads(out)["unreadable"], json.loads(out)["events"]) == (1, 9)
    assert re.search(r"1 rows? cannot be read and (is|are) left out:\n", err)
    assert "\n  line 11: time is not a moment (a text of 5 characters)\n" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--observer", "spy"], "unknown observer 'spy': use notified, archive or poller:10m"),
        (["--observer", "poller:0s"], "the interval of a poller must be above 0s, not 0s"),
        (
            ["--attack", "guess"],
            "unknown attack 'guess': use cutoff, likelihood, recipient, informed, nearest",
        ),
        (["--attack", "nearest:2"], "the share of watched targets must lie between 0 and 1, not 2"),
        (
            ["--attack", "likelihood"],
            "the attack likelihood needs a policy, and an observer who is notified",
        ),
        (["--baseline", "hotcrap"], "unknown practice 'hotcrap': use nothing, hotcrp"),
        (["--baseline", "nothing"], "the practice 'nothing' is given twice: give it once"),
        (["--policy", "epsilon=1,gap=11m"] * 2, "the practice 'epsilon=1,gap=11m' is given twice"),
        (
            ["--observer", "poller:10m", "--observer", "poller:600s"],
            "the observer 'poller:10m' is given twice",
        ),
        (["--attack", "cutoff", "--attack", "cutoff"], "the attack 'cutoff' is given twice"),
        (["--cutoffs", "soon"], "a cutoff must be numbers with units, not 'soon'"),
        (["--cutoffs", "10s,5"], "a cutoff must be numbers with units, not '5'"),
        (["--cutoffs", "10s,-5s"], "a cutoff must be 0s or longer, not '-5s'"),
        (["--cutoffs", "-5s"], "a cutoff must be 0s or longer, not '-5s'"),
        (["--cutoffs", " , "], "no cutoffs given: give at least one"),
        (["--window", "-5m"], "the window must be 0s or longer, not '-5m'"),
        (["--window", "5"], "the window must be numbers with units, not '5'"),
        (["--draws", "0"], "the number of draws must be at least 1, not 0"),
        (["--draws", "many"], "argument --draws: invalid int value: 'many' (see tarry audit --help)"),
        (["--seed", "x"], "argument --seed: invalid int value: 'x' (see tarry audit --help)"),
        (["--busy-limit", "0"], "the most events of an actor must be at least 1, not 0"),
        (
            ["--policy", "nowhere.toml"],
            "the policy file 'nowhere.toml' cannot be read (No such file or directory)",
        ),
        (["--policy", "epsilon=1"], "the policy 'epsilon=1' has no gap"),
        (["--policy", "epsilon=1,gap=1m"], "gap must be above the window (5m), not 1m"),
        (["--policy", "epsilon=1,gap=11m,colour=red"], "'colour=red' is no choice of a policy"),
        (["--actor", "nobody"], "has no column nobody for --actor: name one that it has, the columns"),
        (["--track", "nowhere"], "there is no column 'nowhere': use"),
        (["--time-unit", "min"], "--time-unit must be one of s, ms, us, ns, iso, not min"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(words, told, history):
    """With exit code 2 and nothing else printed."""
    assert told in refusal(history, *words)


def test_a_missing_history_is_said_in_one_sentence(tmp_path):
    assert "no such file" in refusal(tmp_path / "nowhere.parquet")
    assert "a history needs at least 2 events" in refusal(write(tmp_path / "one.csv", [("a", "p", 0)]))


def test_by_parts_it_says_the_same(tmp_path):
    """Another engine, the same figures; the estimate stands on standard error before the work."""
    path = tmp_path / "acts.parquet"
    FRAME.write_parquet(path)
    asked = [path, "--baseline", "jitter:1h", "--json"]
    parts = ["--engine", "stream", "--memory", "2GB", "--jobs", "1", "--scratch", tmp_path]
    code, out, err = run(*asked, *parts)
    by_parts, whole = json.loads(out), answer(*asked[:-1], "--engine", "memory")

    assert code == 0
    assert "1,500 rows by parts: 1 process with at most 2.0 GB of memory in all" in err
    for name in ("attacks", "costs", "yardsticks", "linked_pairs", "actor_rates", "null_gaps_s"):
        assert by_parts[name] == whole[name], name


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--engine", "dask"], "unknown engine 'dask': use memory, stream, spark, auto"),
        (["--memory", "8"], "a size of memory must end in MB or GB, not '8': write it like 8GB"),
        (["--jobs", "0"], "--jobs must be at least 1, not 0"),
        (
            ["--engine", "stream", "--memory", "1MB", "--jobs", "2"],
            "--memory must be at least 0.94 GB for 2",
        ),
        (
            ["--engine", "stream", "--scratch", "/no/such"],
            "the scratch folder '/no/such' cannot be written",
        ),
        (["--engine", "stream", "--baseline", "kloak"], "the practice kloak looks at a whole history"),
    ],
)
def test_what_an_engine_cannot_do_is_said_in_one_sentence(words, told, tmp_path):
    path = tmp_path / "acts.parquet"
    FRAME.write_parquet(path)
    code, out, err = run(path, *words)

    assert (code, out) == (2, "")
    assert told in err
