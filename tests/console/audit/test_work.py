"""The audit itself: the same figures as the command's, files one can keep, and nobody's name in them."""

import gzip
import json
import re

import polars as pl
import pytest

from tarry.console.audit.page import USUAL, read_choices
from tarry.console.audit.work import work
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.study.recommend import advise
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES
from tarry.study.table import event_table

COLUMNS = ["who", "paper", "at"]
DEADLINE = write_policy(Policy(epsilon="1", gap="9m", deadline_at=1_000_000))


def choices(**changed):
    form = {**USUAL, "actor": "who", "target": "paper", "time": "at", "epsilons": "1", **changed}
    return read_choices(form, COLUMNS, {"late": DEADLINE})


@pytest.fixture(scope="module")
def made():
    return synthesize(RECIPES["forum"], seed=3)


@pytest.fixture
def history(made, tmp_path, monkeypatch):
    """A made-up forum as a file, with two rows that cannot be read, in the folder at hand."""
    monkeypatch.chdir(tmp_path)
    frame = made.frame().select(
        who=pl.format("person-{}", "actor"), paper="target", at=pl.col("time") // 1_000_000
    )
    path = tmp_path / "forum.csv"
    path.write_bytes(frame.write_csv().encode() + b"person-x,7,soon\n,8,1704067200\n")
    return path


def test_an_audit_finds_what_the_command_finds_and_writes_it_down(history, made, tmp_path):
    told = []
    found = work(history, choices(policies="epsilon=2, gap=9m", **{"habit hotcrp": "on"}), told.append)
    names = [f"person-{n}" for n in made.actor.tolist()]
    table = event_table(actor=names, target=made.target, time=made.time)
    advice = advise(table, epsilons=["1"], draws=3)

    assert not history.exists()
    assert found["advice"]["sentence"] == advice.sentence
    assert [each["is_best"] for each in found["advice"]["choices"]].count(True) == 1
    assert found["advice"]["not_promised"]
    assert list(found["now"][0]) == ["right", "reference", "excess", "same_day", "base", "lift"]
    assert found["now"][0]["lift"].endswith(" x")
    for row in (*found["advice"]["choices"], *found["compared"]["rows"][::2]):
        share = float(row["right"].split(" ")[0] if isinstance(row["right"], str) else row["right"][0][:4])
        excess = share - float(row["reference"].split(" ")[0])
        assert float(row["excess"]) == pytest.approx(excess, abs=0.11)
    assert (found["events"], found["unreadable"]) == ("5,000", 2)
    assert found["unreadable_rows"][1] == "line 5003: actor is missing"
    assert list(dict.fromkeys(each["stage"] for each in told)) == [
        *("reading", "measuring", "advising", "comparing", "writing"),
    ]
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert figures["advice"]["sentence"] == advice.sentence
    assert {line["policy"] for line in figures["comparison"]} == {
        *("nothing", "recommended", "hotcrp", "epsilon=2, gap=9m"),
    }
    assert read_policy((tmp_path / "policy.toml").read_text(encoding="utf-8")) == advice.best.policy

    rows = {row["name"]: row for row in found["compared"]["rows"]}
    assert list(rows) == ["nothing", "recommended", "hotcrp", "epsilon=2, gap=9m"]
    # One question, one answer; the comparison looks among all cutoffs, so intervals may differ.
    assert rows["nothing"]["right"][0].partition(" (")[0] == found["advice"]["before"].partition(" (")[0]
    assert rows["hotcrp"]["is_habit"]
    assert found["compared"]["is_later_part"]
    for name in ("report.html", "comparison.html", "figures.json"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert not re.search("person-|forum.csv|" + re.escape(str(tmp_path)), text)
    assert "person-" not in json.dumps([found, told])


def test_an_audit_stands_without_a_recommendation_or_a_comparison(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "few.jsonl"
    path.write_text('{"who": 1, "paper": 2, "at": 1700000000}\n' * 3, encoding="utf-8")
    found = work(path, choices(**{"space late": "on"}), lambda _: None)

    assert found["advice"] is None
    assert "too few" in found["no_advice"]
    assert "come after the deadline" in found["not_compared"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["figures.json", "report.html"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (b"a,b,soon\nc,d,later\n", "must have rows that can be read, and has none among 2"),
        (b",,\n" * 5, "must have rows that can be read"),
        (b"a,b,1700000000\n", "needs at least 2 events"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence_and_stays_for_another_choice(tmp_path, rows, told):
    path = tmp_path / "a.csv"
    path.write_bytes(b"who,paper,at\n" + rows)
    with pytest.raises(Exception, match=told) as refused:
        work(path, choices(), lambda _: None)

    assert "\n" not in str(refused.value)
    assert path.exists()


def test_a_bomb_of_rows_is_refused_by_its_size(tmp_path):
    once = gzip.compress(b"ann,p1,1700000000\n" * 1_000_000)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"who,paper,at\n") + once * 60)
    with pytest.raises(BadInput, match="unpacks to more than 1024 MiB"):
        work(path, choices(), lambda _: None)

    assert path.stat().st_size < 4 << 20
