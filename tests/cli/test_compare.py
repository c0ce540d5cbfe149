"""`tarry compare`: what each practice costs and buys, side by side."""

import json
from fractions import Fraction

import pytest

from tarry.cli.main import main
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.core.season import Season


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A made-up forum."""
    path = tmp_path_factory.mktemp("compare") / "forum.parquet"
    assert main(["synth", "forum", "-o", str(path), "--seed", "4"]) == 0
    return str(path)


def answer(capsys, *words):
    capsys.readouterr()
    assert main(["compare", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_practice_has_a_line_for_every_observer(history, capsys):
    """Nothing comes first; notified and archive watch unless told otherwise."""
    found = answer(capsys, history, "--policy", "epsilon=1,gap=11m", "--baseline", "hotcrp")

    lines = [(line["policy"], line["observer"]) for line in found["practices"]]
    names = ["nothing", "hotcrp", "epsilon=1,gap=11m"]
    assert lines == [(name, who) for name in names for who in ("notified", "archive")]


def test_a_coarser_stamp_helps_against_the_archive_alone(history, capsys):
    """HotCRP's noon hides nothing from somebody who is notified; a delay hides from both."""
    found = answer(capsys, history, "--policy", "epsilon=0.5,gap=1h", "--baseline", "hotcrp")
    right = {(line["policy"], line["observer"]): line["precision"]["mean"] for line in found["practices"]}

    assert right["hotcrp", "notified"] == right["nothing", "notified"]
    assert right["hotcrp", "archive"] < right["nothing", "archive"] / 2
    assert right["epsilon=0.5,gap=1h", "archive"] < right["nothing", "archive"] / 2
    assert right["epsilon=0.5,gap=1h", "notified"] == right["epsilon=0.5,gap=1h", "archive"]


def test_what_draws_is_drawn_as_often_as_asked_and_its_spread_is_told(history, capsys):
    """A practice without chance runs once."""
    words = ["--baseline", "jitter:24h", "--baseline", "mix:1h", "--draws", "3", "--observer", "notified"]
    lines = {line["policy"]: line for line in answer(capsys, history, *words)["practices"]}

    assert lines["jitter:1d"]["draws"] == 3
    assert lines["mix:1h"]["draws"] == 1
    spread = lines["jitter:1d"]["average_precision"]
    assert spread["low"] < spread["mean"] < spread["high"]
    assert lines["mix:1h"]["longest_s"] <= 3600
    assert lines["jitter:1d"]["longest_s"] <= 86_400


def test_promises_and_events_kept_for_ever_are_told(history, capsys):
    """An epsilon, a delta or none; and what a threshold would never have let go."""
    words = ["--baseline", "threshold:99", "--baseline", "jitter:24h", "--policy", "epsilon=1,gap=36m"]
    lines = {line["policy"]: line for line in answer(capsys, history, *words)["practices"]}

    assert lines["jitter:1d"]["promise"] == "delta 0.025"
    assert lines["epsilon=1,gap=36m"]["promise"] == "epsilon 1, gap 36m"
    assert lines["nothing"]["promise"] == "none"
    assert lines["threshold:99"]["stranded"] == 5000 % 99


def test_a_season_is_compared_with_a_policy_for_one_pair(history, tmp_path, capsys):
    """Its line says what all acts cost together, and its delays are those of its law."""
    season = Season(acts=60, epsilon=Fraction(4), delta=Fraction("0.01"))
    policy = Policy(gap="11m", law="cosine", blocks=13, order="4.75", season=season)
    path = tmp_path / "season.toml"
    path.write_text(write_policy(policy))
    words = ["--policy", str(path), "--policy", "epsilon=1,gap=11m", "--attack", "likelihood"]
    lines = {line["policy"]: line for line in answer(capsys, history, *words)["practices"]}

    mine, other = lines["season.toml"], lines["epsilon=1,gap=11m"]
    assert mine["promise"] == "a season of 60 acts: epsilon 4 in all, but for a chance of 0.01; gap 11m"
    assert mine["mean_s"] == pytest.approx(float(plan(policy).unbatched.mean), rel=0.1)
    assert 0.9 < mine["longest_s"] / float(plan(policy).batched.maximum) <= 1
    assert mine["average_precision"]["mean"] < other["average_precision"]["mean"]


def test_the_table_reads_without_json(history, capsys):
    """One line each, and what the words mean."""
    capsys.readouterr()

    assert main(["compare", history, "--baseline", "threshold:99"]) == 0
    told = capsys.readouterr().out
    assert "threshold:99 would have kept 50 events for ever" in told
    assert "one person's: how often the best claims" in told
    costs, buys = (line.split() for line in told.splitlines() if line.startswith("    "))
    assert costs[-3:] == ["reordered", "replies", "promise"]
    assert {"reference", "excess", "lift"} <= set(buys)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--baseline", "nonsense"], "nonsense"),
        (["--policy", "epsilon=1"], "has no gap"),
        (["--policy", "epsilon=1,gap=11m,colour=red"], "colour=red"),
        (["--baseline", "hotcrp", "--baseline", "hotcrp"], "twice"),
        (["--attack", "likelihood"], "needs a policy"),
    ],
)
def test_a_practice_that_cannot_be_is_refused_in_one_sentence(history, capsys, words, told):
    """What is wrong is named."""
    capsys.readouterr()

    assert main(["compare", history, *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
