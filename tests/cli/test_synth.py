"""`tarry synth`: writes a made-up history in four formats, says what is in it, overwrites nothing."""

import json
import subprocess
import sys

import polars as pl
import pytest

from tarry.cli.main import main
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES, Recipe

SMALL = ["--events", "300", "--actors", "20", "--targets", "9", "--days", "2", "--bots", "1"]
MADE = synthesize(Recipe(events=300, actors=20, targets=9, days=2, bots=1), seed=0)


def say(capsys, *words):
    """Run the command: its exit code and what it printed."""
    code = main(["synth", *map(str, words)])
    return code, *capsys.readouterr()


def refusal(capsys, *words):
    """The one sentence of a command that does nothing."""
    code, out, err = say(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err.strip().removeprefix("tarry synth: ")


def read_csv(path):
    moment = pl.col("time").str.to_datetime("%Y-%m-%dT%H:%M:%SZ", time_unit="us").cast(pl.Int64)
    return pl.read_csv(path).with_columns(moment)


def read_jsonl(path):
    moment = pl.col("time").str.to_datetime("%Y-%m-%dT%H:%M:%SZ", time_unit="us").cast(pl.Int64)
    return pl.read_ndjson(path).with_columns(moment)


def read_arrow(path):
    frame = pl.read_ipc(path)
    assert frame.schema["time"] == pl.Datetime("us", "UTC")
    return frame.with_columns(pl.col("time").cast(pl.Int64))


READ = {".parquet": pl.read_parquet, ".csv": read_csv, ".jsonl": read_jsonl, ".arrow": read_arrow}


@pytest.mark.parametrize("suffix", READ)
def test_every_format_holds_the_same_history(suffix, tmp_path, capsys):
    """The file, read again, is what the library makes of the same recipe and seed."""
    path = tmp_path / f"made{suffix}"
    code, _, err = say(capsys, *SMALL, "-o", path)

    assert (code, err) == (0, "")
    assert READ[suffix](path).equals(MADE.frame())


def test_a_parquet_file_says_its_unit_of_time(tmp_path, capsys):
    """Whole numbers alone would not tell microseconds from seconds."""
    path = tmp_path / "made.parquet"
    say(capsys, *SMALL, "-o", path)
    told = pl.read_parquet_metadata(path)

    assert (told["time_unit"], told["time_resolution_us"]) == ("us", "1000000")


def test_times_in_text_are_utc_by_iso_8601(tmp_path, capsys):
    """The first time of the default history is on its Monday."""
    path = tmp_path / "made.csv"
    say(capsys, *SMALL, "-o", path)
    header, first, *_ = path.read_text(encoding="utf-8").splitlines()

    assert header == "actor,target,time,is_bot,session"
    assert first.split(",")[2].startswith("2024-01-01T")
    assert first.split(",")[2].endswith("Z")


def test_the_summary_as_json(tmp_path, capsys):
    """Programs get the figures of what was made, and the file."""
    path = tmp_path / "made.csv"
    code, out, err = say(capsys, *SMALL, "-o", path, "--json")
    answer = json.loads(out)
    frame = MADE.frame()
    others = frame.join(frame, on="actor", suffix="_other").filter(
        pl.col("target") != pl.col("target_other"),
        (pl.col("time") - pl.col("time_other")).abs() <= 300_000_000,
    )
    batched = others.select("actor", "target", "time").unique()
    share = frame.join(batched, on=["actor", "target", "time"], how="semi").height / 300

    assert (code, err) == (0, "")
    assert answer == {
        "recipe": "wiki",
        "seed": 0,
        "file": str(path),
        "events": 300,
        "actors": frame["actor"].n_unique(),
        "targets": 9,
        "days": 2,
        "bots": 1,
        "bot_events": 60,
        "sessions": frame["session"].max() + 1,
        "window_s": 300,
        "batched_share": pytest.approx(share),
    }
    assert 0.05 < share < 0.95


def test_the_summary_for_people(tmp_path, capsys):
    """A few lines say what was made, and where it is."""
    path = tmp_path / "made.parquet"
    code, out, err = say(capsys, "forum", "-o", path)

    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "made up 5,000 events, 400 actors, 600 targets, 90 days"
    assert "% of the events are batched" in out
    assert "0 % of the events are those of 0 bots" in out
    assert out.splitlines()[-1] == f"written to {path}"


def test_a_recipe_is_taken_by_name_and_a_seed_by_number(tmp_path, capsys):
    """What is written is the named recipe's history of that seed."""
    path = tmp_path / "made.parquet"
    say(capsys, "review", "--seed", "7", "-o", path)

    assert pl.read_parquet(path).equals(synthesize(RECIPES["review"], seed=7).frame())


def test_a_file_that_is_there_is_kept(tmp_path, capsys):
    """Nothing is written over, unless that is asked for."""
    path = tmp_path / "made.csv"
    path.write_text("precious", encoding="utf-8")
    sentence = refusal(capsys, *SMALL, "-o", path)

    assert sentence == (
        f"the output file {str(path)!r} already exists: choose another name, or give --force"
    )
    assert path.read_text(encoding="utf-8") == "precious"
    assert say(capsys, *SMALL, "-o", path, "--force")[0] == 0
    assert read_csv(path).equals(MADE.frame())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["-o", "made.xls"],
            "the output file must end in .parquet, .csv, .jsonl or .arrow, not 'made.xls'",
        ),
        (["town", "-o", "made.csv"], "unknown recipe 'town': use forum, wiki, review, wikipedia"),
        (
            ["-o", "made.csv", "--events", "-3"],
            "events must be a whole number from 1 to 100000000, not -3",
        ),
        (
            ["-o", "made.csv", "--bots", "500"],
            "bots must leave at least one person among 500 actors, not",
        ),
        (["-o", "made.csv", "--seed", "-1"], "the seed must be a whole number from 0 to"),
        (["-o", "made.csv", "--days", "few"], "argument --days: invalid int value: 'few'"),
        ([], "the following arguments are required: -o/--output"),
        (["-o", "nowhere/made.csv"], "tarry: 'nowhere/made.csv' cannot be used: No such file or directory"),
    ],
)
def test_what_is_wrong_gets_one_sentence_and_no_file(words, sentence, tmp_path, monkeypatch, capsys):
    """A bad name, number or place is told, and nothing is left behind."""
    monkeypatch.chdir(tmp_path)

    assert refusal(capsys, *words).startswith(sentence)
    assert list(tmp_path.iterdir()) == []


def test_without_the_study_extra_the_command_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    """A plain installation has no polars; the sentence names the extra, and help still works."""
    monkeypatch.setitem(sys.modules, "polars", None)
    sentence = refusal(capsys, "-o", tmp_path / "made.csv")

    assert sentence == "this command needs the study extra: pip install '.[study]' in a checkout of tarry"
    assert say(capsys, "--help")[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_loading_the_command_needs_no_polars():
    """`tarry synth --help` works where the study is not installed."""
    hide = "import sys; sys.modules['polars'] = None"
    code = f"{hide}; from tarry.cli.main import main; main(['synth', '--help'])"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert ran.stdout.startswith("usage: tarry synth")
