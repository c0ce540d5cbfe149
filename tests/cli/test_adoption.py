"""`tarry adoption`: a table, JSON and a chart of what a policy is worth if only some take part."""

import json

import pytest

from tarry.cli.main import main


@pytest.fixture
def history(tmp_path):
    path = tmp_path / "history.csv"
    rows = [f"{n % 20},p{2 * n + i},{1_700_000_000 + 9000 * n + 60 * i}" for n in range(80) for i in (0, 1)]
    path.write_text("\n".join(["actor,target,time", *rows]), encoding="utf-8")
    return str(path)


def test_shares_are_percent_and_the_chart_is_written(history, tmp_path, capsys):
    code = main(
        [
            "adoption",
            history,
            "--policy",
            "epsilon=1,gap=11m",
            "--shares",
            "0,50",
            "--charts",
            str(tmp_path),
        ]
    )
    out = capsys.readouterr().out

    assert code == 0
    assert out.splitlines()[0].split("  ")[0] == "take part"
    assert "Where 50.0 % of people take part" in " ".join(out.split())
    assert {path.name for path in tmp_path.glob("adoption.*")} == {"adoption.svg", "adoption.png"}


def test_the_json_has_every_point(history, capsys):
    assert main(["adoption", history, "--policy", "epsilon=1,gap=11m", "--shares", "25,100", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]

    assert [(point["share"], point["adopters"], point["others"]) for point in points] == [
        (0.25, 5, 15),
        (1.0, 20, 0),
    ]


def test_a_share_above_all_is_refused(history, capsys):
    assert main(["adoption", history, "--policy", "epsilon=1,gap=11m", "--shares", "120"]) == 2
    assert "a share of people must lie between 0 and 1, not 1.2" in capsys.readouterr().err
