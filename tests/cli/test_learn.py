"""`tarry learn`: a policy from a history, measured on what it was not learned from."""

import json

import polars as pl
import pytest

from tarry.cli.main import main
from tarry.core.policy_file import read_policy


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A made-up forum."""
    path = tmp_path_factory.mktemp("learn") / "forum.parquet"
    assert main(["synth", "forum", "-o", str(path), "--seed", "4"]) == 0
    return path


def test_the_recommended_policy_is_written_and_can_be_read(history, tmp_path, capsys):
    """The file is a policy; the answer says what it was measured to do."""
    path = tmp_path / "policy.toml"
    capsys.readouterr()

    assert main(["learn", str(history), "-o", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    policy = read_policy(path.read_text(encoding="utf-8"))
    [best] = [choice for choice in answer["choices"] if choice["recommended"]]
    assert (float(policy.epsilon), float(policy.gap)) == (best["epsilon"], best["gap_s"])
    assert best["on_frontier"]
    assert answer["learned_on"] + answer["measured_on"] == 5000
    assert best["precision"] < answer["precision_before"]


def test_what_happens_after_the_learned_part_changes_no_gap(history, tmp_path, capsys):
    """Parameters never look at the people they protect: the rest of the history is free to change."""
    frame = pl.read_parquet(history).sort("time")
    changed = frame.with_columns(
        actor=pl.when(pl.int_range(pl.len()) < 2000).then("actor").otherwise(pl.col("actor") % 7)
    )
    changed.write_parquet(tmp_path / "changed.parquet", metadata={"time_unit": "us"})
    gaps = []
    for path in (history, tmp_path / "changed.parquet"):
        capsys.readouterr()
        main(["learn", str(path), "-o", str(tmp_path / "p.toml"), "--force", "--json"])
        answer = json.loads(capsys.readouterr().out)
        gaps.append([(choice["epsilon"], choice["gap_s"]) for choice in answer["choices"]])

    assert gaps[0] == gaps[1]


def test_epsilon_and_percentile_may_be_chosen(history, tmp_path, capsys):
    """Then there is one choice, and the table says so in words too."""
    capsys.readouterr()
    words = ["--epsilon", "1", "--percentile", "75", "--window", "2m"]

    assert main(["learn", str(history), "-o", str(tmp_path / "p.toml"), *words]) == 0
    told = capsys.readouterr().out
    assert "Take epsilon 1" in told
    policy = read_policy((tmp_path / "p.toml").read_text(encoding="utf-8"))
    assert (policy.epsilon, policy.window) == (1, 120)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--percentile", "0"], "--percentile"),
        (["--learn-on", "1"], "share to learn on"),
        (["--epsilon", "-1"], "epsilon"),
        (["--draws", "0"], "draws"),
    ],
)
def test_what_cannot_be_learned_is_refused_and_nothing_is_written(history, tmp_path, capsys, words, told):
    """One sentence, and no half a policy."""
    path = tmp_path / "policy.toml"
    capsys.readouterr()

    assert main(["learn", str(history), "-o", str(path), *words]) == 2
    assert told in capsys.readouterr().err
    assert not path.exists()


def test_a_policy_that_is_there_stays(history, tmp_path, capsys):
    """A policy in force is not replaced by accident."""
    path = tmp_path / "policy.toml"
    path.write_text("mine", encoding="utf-8")

    assert main(["learn", str(history), "-o", str(path)]) == 2
    assert path.read_text(encoding="utf-8") == "mine"


def test_limits_are_kept_or_nothing_is_written(history, tmp_path, capsys):
    path = tmp_path / "policy.toml"
    capsys.readouterr()

    assert main(["learn", str(history), "-o", str(path), "--max-delay", "1m"]) != 0
    assert "has a longest delay of at most 1m: the nearest has " in capsys.readouterr().err
    assert not path.exists()
    assert main(["learn", str(history), "-o", str(path), "--mean-delay", "40m", "--json"]) == 0
    [best] = [one for one in json.loads(capsys.readouterr().out)["choices"] if one["recommended"]]
    assert best["mean_s"] <= 2400


def test_what_does_not_help_is_written_only_if_it_was_chosen_outright(tmp_path, capsys):
    """One person works for hours, then another: delays hide nobody."""
    spell = [n // 40 for n in range(4800)]
    minute = [130 * one + 3 * (n % 40) for n, one in enumerate(spell)]
    frame = pl.DataFrame({"actor": [one % 3 for one in spell], "target": [n * 7 % 41 for n in range(4800)]})
    frame = frame.with_columns(time=pl.Series([1_700_000_000 + 60 * one for one in minute]))
    frame.write_csv(tmp_path / "ports.csv")
    words = ["learn", str(tmp_path / "ports.csv"), "-o", str(tmp_path / "p.toml"), "--epsilon", "1"]
    capsys.readouterr()

    assert main(words) != 0
    assert "Delays do not help here" in capsys.readouterr().err
    assert main([*words, "--percentile", "50"]) == 0
    assert "Delays do not help here" in capsys.readouterr().out
    assert read_policy((tmp_path / "p.toml").read_text(encoding="utf-8")).epsilon == 1


def test_bots_teach_no_gaps(tmp_path, capsys):
    path = tmp_path / "wiki.parquet"
    assert main(["synth", "wiki", "-o", str(path)]) == 0
    learned = {}
    for words in ((), ("--with-bots",)):
        capsys.readouterr()
        plain = ["--epsilon", "1", "--draws", "1", "--force", "--json"]
        assert main(["learn", str(path), "-o", str(tmp_path / "p.toml"), *plain, *words]) == 0
        told = capsys.readouterr()
        assert ("events of bots" in told.err) == (not words)
        learned[words] = json.loads(told.out)["learned_on"]

    assert learned == {(): 4000, ("--with-bots",): 5000}
