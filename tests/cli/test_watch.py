"""`tarry watch`: how often an observer who adds up finds a person's other name."""

import json

import pytest

from tarry.cli.main import main

POLICY = "epsilon=0.5,gap=11m"


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A made-up forum."""
    path = tmp_path_factory.mktemp("watch") / "forum.parquet"
    assert main(["synth", "forum", "-o", str(path), "--seed", "4"]) == 0
    return str(path)


def output(capsys, *words):
    capsys.readouterr()
    assert main(["watch", *words]) == 0
    return capsys.readouterr()


def refusal(capsys, *words):
    capsys.readouterr()
    assert main(["watch", *words]) == 2
    return capsys.readouterr().err


def test_practices_stand_beside_dates_and_tenure(history, capsys):
    """A line for each attack, under both kinds of split, and a sentence for each practice."""
    shown = output(capsys, history, "--policy", POLICY, "--splits", "1").out

    assert "targets split at random" in shown
    assert "targets split by time" in shown
    for practice in ("nothing", POLICY, "dates only", "tenure only"):
        assert f"\n{practice} " in shown
    assert f"  - {POLICY}: after " in shown
    assert "by dates alone" in " ".join(shown.split())


def test_json_has_every_figure(history, capsys):
    found = json.loads(output(capsys, history, "--policy", POLICY, "--splits", "1", "--json").out)
    nothing, _, policy, *_ = found["findings"]

    assert [nothing["practice"], policy["practice"]] == ["nothing", POLICY]
    assert nothing["ledger"] is None
    assert 0 < policy["ledger"] <= 1
    assert found["chance"] < nothing["first"]["low"] <= nothing["first"]["mean"] <= nothing["first"]["high"]
    assert sum(step["queries"] for step in nothing["by_sessions"]) < found["queries"]
    assert 0 <= policy["alone"] <= 1
    assert len(found["sentences"]) == 3


def test_the_seed_decides_everything(history, capsys):
    words = [history, "--policy", POLICY, "--splits", "1", "--json"]
    first, again, other = (output(capsys, *words, "--seed", seed).out for seed in ("1", "1", "2"))

    assert first == again
    assert first != other


def test_fewer_queries_and_busier_names_can_be_asked_for(history, capsys):
    words = [history, "--splits", "1", "--json"]
    few = json.loads(output(capsys, *words, "--queries", "5").out)
    busy = json.loads(output(capsys, *words, "--least", "20").out)
    usual = json.loads(output(capsys, *words).out)

    assert few["queries"] == 10
    assert busy["candidates"] < usual["candidates"]


def test_an_archive_sees_what_is_printed(history, capsys):
    """HotCRP's noon hides hours from somebody who reads later, and nothing from somebody notified."""
    words = [history, "--baseline", "hotcrp", "--splits", "1", "--json"]
    first = {}
    for who in ("notified", "archive"):
        found = json.loads(output(capsys, *words, "--observer", who).out)["findings"]
        first[who] = {one["practice"]: one["first"]["mean"] for one in reversed(found)}

    assert first["notified"]["hotcrp"] == first["notified"]["nothing"]
    assert first["archive"]["hotcrp"] < first["archive"]["nothing"]


def test_what_is_left_out_is_told(history, capsys):
    assert "are left out" in output(capsys, history, "--splits", "1", "--busy-limit", "100").err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--splits", "0"], "the number of splits must be at least 1, not 0"),
        (["--least", "100000"], "nobody in this history has two names with at least 100000 acts each"),
        (["--observer", "owl"], "unknown observer 'owl'"),
        (["--window", "0s"], "the number of microseconds of the window must be at least 1, not 0"),
    ],
)
def test_a_watch_that_cannot_be_is_refused(history, capsys, words, sentence):
    assert sentence in refusal(capsys, history, *words)


def test_a_page_and_charts_are_written_where_asked_for(history, tmp_path, capsys):
    """As those of an audit; standard error says where."""
    page, folder = tmp_path / "watch.html", tmp_path / "charts"
    assert main(["watch", str(history), "--splits", "1", "--html", str(page), "--charts", str(folder)]) == 0

    assert page.read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in folder.glob("*.png")) == ["watch-sessions.png", "watch-weeks.png"]
    assert f"report: {page}\ncharts: {folder}\n" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_refused_before_the_work(history, tmp_path, capsys):
    """A folder is no file."""
    assert main(["watch", str(history), "--html", str(tmp_path)]) == 2
    assert "--html must name a file" in capsys.readouterr().err
