"""The worked example of an attack and a practice: as code, behind --allow-code, and installed."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import polars as pl
import pytest

import tarry
from tarry.cli.main import main
from tarry.testing import AttackCase, AttackSuite, PracticeCase, PracticeSuite

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "own_study.py"
PAGE = ROOT / "docs" / "own-attack.md"
MINUTE = 60


def load():
    """The file as a module, wherever it lies."""
    spec = importlib.util.spec_from_file_location("own_study_of_tests", EXAMPLE)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OWN = load()


class TestNeighbours(AttackSuite):
    case = AttackCase(kind=OWN.NEIGHBOURS)


class TestModerator(PracticeSuite):
    case = PracticeCase(habit=OWN.MODERATOR, alone=True)


@pytest.fixture
def acts():
    """Ann acts twice with nobody between, Bob twice with Cat between, Ann once more on a target of hers."""
    rows = [
        *(("ann", "p1", 0), ("ann", "p2", 1), ("bob", "p3", 60), ("cat", "p1", 61), ("bob", "p1", 62)),
        *(("ann", "p1", 120), ("ann", "p1", 121)),
    ]
    return pl.DataFrame(rows, schema=["actor", "target", "time"], orient="row").with_columns(
        time=pl.col("time") * MINUTE
    )


@pytest.fixture
def history(acts, tmp_path):
    path = tmp_path / "acts.parquet"
    acts.write_parquet(path)
    return str(path)


def installed(folder, monkeypatch):
    """A package with the file in it, as pip would have left it."""
    about = folder / "own_study-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: own-study\nVersion: 1\n")
    points = re.search(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
    (about / "entry_points.txt").write_text(
        points.replace("project.entry-points.", "").replace('"', ""), encoding="utf-8"
    )
    (folder / "own_study.py").write_text(EXAMPLE.read_text("utf-8"), encoding="utf-8")
    monkeypatch.syspath_prepend(folder)


def compared(capsys, *words):
    """What `tarry compare --json` says, by policy and attack."""
    assert main(["compare", *words, "--json", "--observer", "notified"]) == 0
    return {
        (line["policy"], line["attack"]): line for line in json.loads(capsys.readouterr().out)["practices"]
    }


def test_the_attack_claims_neighbours_alone(acts):
    """Of six pairs of neighbours two are on one target; at a cutoff of a minute two claims are wrong."""
    question = tarry.Question(
        practices=["nothing"], attacks=[OWN.Neighbours()], cutoffs=["30s", "1m", "2h"], time_unit="s"
    )

    scores = tarry.audit(acts, question).runs[0].scores

    assert [(score.counts.claims, score.counts.true_positives, score.persons) for score in scores] == [
        *((0, 0, 0), (2, 1, 1), (3, 1, 1))
    ]


def test_the_practice_shows_at_the_end_of_the_shift(acts):
    """What comes at the very end of a shift is shown at once."""
    question = tarry.Question(practices=["nothing", OWN.MODERATOR.make("1h")], time_unit="s")

    cost = tarry.audit(acts, question).costs[1]

    waited = [0, 59, 0, 59, 58, 0, 59]  # minutes
    assert cost.policy == "moderator:1h"
    assert cost.mean_s == pytest.approx(MINUTE * sum(waited) / 7)
    assert cost.longest_s == 59 * MINUTE


@pytest.mark.parametrize("where", ["as code", "installed"])
def test_commands_know_both(where, history, tmp_path, monkeypatch, capsys):
    """By the names on the page: `module:NAME` where that is allowed, the short name once installed."""
    words = {
        "as code": [
            "--attack",
            "own_study:NEIGHBOURS",
            "--baseline",
            "own_study:MODERATOR:1h",
            "--allow-code",
        ],
        "installed": ["--attack", "neighbours", "--baseline", "moderator:1h"],
    }[where]
    if where == "installed":
        installed(tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    monkeypatch.delitem(sys.modules, "own_study", raising=False)

    lines = compared(capsys, history, "--time-unit", "s", *words)

    assert set(lines) == {("nothing", "neighbours"), ("moderator:1h", "neighbours")}
    assert lines["moderator:1h", "neighbours"]["longest_s"] == 59 * MINUTE


def test_code_is_not_run_unasked(history, monkeypatch, capsys):
    """A name with a colon is refused in one sentence, and nothing of it is loaded."""
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    monkeypatch.delitem(sys.modules, "own_study", raising=False)

    for option, name in (("--attack", "NEIGHBOURS"), ("--baseline", "MODERATOR:4h")):
        assert main(["compare", history, option, f"own_study:{name}"]) == 2
        assert "is code that is not installed" in capsys.readouterr().err
    assert "own_study" not in sys.modules


def test_the_page_shows_the_file():
    """Each block of Python on the page stands in the file, word for word."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)

    assert len(blocks) == 4
    assert [block for block in blocks if block.strip() not in EXAMPLE.read_text("utf-8")] == []
