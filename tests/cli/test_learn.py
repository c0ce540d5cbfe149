"""`tarry learn`: a policy from a history, measured on what it was not learned from."""

import json

import polars as pl
import pytest

from tarry.cli.main import main
from tarry.core.policy_file import read_policy
from tarry.readers.files import read_history
from tarry.study.season import learn_season
from tarry.study.table import table_of


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
        (["--season-length", "0s"], "the length of a season must be above 0s, not 0s"),
        (["--season-length", "soon"], "--season-length"),
        (
            ["--season-percentile", "101"],
            "--season-percentile must lie above 0 and be at most 100, not 101",
        ),
        (["--mean-delay", "late"], "--mean-delay"),
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


# --- a season -------------------------------------------------------------------------------------

QUICK = ["--epsilon", "1", "--percentile", "50", "--draws", "1"]


def learned(capsys, history, folder, *words):
    """What the command answers, and the policy that it writes."""
    path = folder / "season.toml"
    capsys.readouterr()
    assert main(["learn", str(history), "-o", str(path), "--force", *QUICK, *words]) == 0
    return capsys.readouterr().out, read_policy(path.read_text(encoding="utf-8"))


def test_the_acts_of_a_season_are_learned_and_the_next_call_is_printed(history, tmp_path, capsys):
    """It runs as it is printed; the policy that is written is still the one without a season."""
    words = ["--season-length", "180d", "--season-percentile", "90"]
    out, policy = learned(capsys, history, tmp_path, *words)
    answer = json.loads(learned(capsys, history, tmp_path, *words, "--json")[0])["season"]
    expected = learn_season(table_of(read_history(history)), length="180d", percentile=90)

    assert policy.season is None
    assert (answer["acts"], answer["percentile"], answer["length_s"]) == (expected.acts, 90, 180 * 86_400)
    assert answer["command"].startswith(
        f"tarry plan --season {-(-expected.acts // 2)} --total 2.3 --delta "
    )
    assert f"    {answer['command']}\n" in out
    assert main(["plan", *answer["command"].split()[2:]]) == 0
    assert f"season: {2 * answer['pairs']} acts" in capsys.readouterr().out


def test_a_season_is_planned_for_the_delay_that_is_given(history, tmp_path, capsys):
    words = ["--season-length", "30d", "--mean-delay", "3h", "--json"]
    answer = json.loads(learned(capsys, history, tmp_path, *words)[0])["season"]

    assert " --delta 0.01 --mean-delay 3h --gap " in answer["command"]
    assert "--total" not in answer["command"]


def test_no_season_is_taken_or_mentioned_unasked_where_delays_are_short(history, tmp_path, capsys):
    out, policy = learned(capsys, history, tmp_path)
    answer = json.loads(learned(capsys, history, tmp_path, "--json")[0])

    assert policy.season is None
    assert (answer["season"], answer["season_hint"]) == (None, None)
    assert "season" not in out.replace(str(tmp_path), "").replace("season.toml", "")


def test_a_season_is_mentioned_where_people_batch_often_and_may_wait(tmp_path, capsys):
    """One sentence with the numbers, and the call that shows more; the policy stays what it was."""
    path, second = tmp_path / "busy.parquet", 1_000_000
    rows = [
        {"actor": person, "target": side + 2 * person, "time": day * 86_400 * second + at}
        for day in range(60)
        for person in range(20)
        for side, at in ((0, person * 3600 * second), (1, (person * 3600 + 60) * second))
    ]
    pl.DataFrame(rows).write_parquet(path, metadata={"time_unit": "us"})
    out, policy = learned(capsys, path, tmp_path, "--mean-delay", "12h")
    hint = json.loads(learned(capsys, path, tmp_path, "--mean-delay", "12h", "--json")[0])["season_hint"]

    assert policy.season is None
    assert hint["pairs"] == 60
    assert hint["crossing_pairs"] < 60
    assert "A season may suit these people better" in out
    assert f"    {hint['command']}\n" in out


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


def test_by_parts_it_learns_the_same(history, tmp_path, capsys):
    """The same policy, trials and season; only the mix beside it is not tried, and a caution says so."""
    answers = []
    words = ["--epsilon", "1", "--draws", "1", "--season-length", "20d", "--json"]
    stream = ["--engine", "stream", "--memory", "2GB", "--jobs", "1", "--scratch", str(tmp_path)]
    for engine in (["--engine", "memory"], stream):
        capsys.readouterr()
        path = tmp_path / f"{engine[1]}.toml"
        assert main(["learn", str(history), "-o", str(path), *words, *engine]) == 0
        answer = json.loads(capsys.readouterr().out)
        del answer["file"], answer["mix"]
        answer["reasons"] = [reason for reason in answer["reasons"] if not reason.startswith("A mix ")]
        answers.append(answer)
    whole, by_parts = answers

    assert by_parts["cautions"].pop().startswith("A mix that delays as much was not tried beside it")
    assert by_parts == whole
    assert [path.suffix for path in tmp_path.iterdir()] == [".toml", ".toml"]
