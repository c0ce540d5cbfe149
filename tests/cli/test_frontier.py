"""`tarry frontier`: the points of the trade, as JSON and as a table."""

import json

import pytest

from tarry.cli.main import main
from tarry.core.plan import frontier
from tarry.core.policy import Policy

FLAGS = ["--epsilon", "3", "--gap", "11m", "--window", "5m"]


def answer(capsys, *words):
    """What the command prints when all is well."""
    code = main(["frontier", *words])
    out, err = capsys.readouterr()

    assert (code, err) == (0, "")
    return out


def test_the_json_holds_every_point(capsys):
    """Programs get the choices and, for each point, its weights, law and mean delays in seconds."""
    told = json.loads(answer(capsys, *FLAGS, "--json"))
    points = frontier(Policy(epsilon="3", gap="11m", window="5m"))

    assert (told["epsilon"], told["gap_s"], told["window_s"]) == (3, 660, 300)
    assert [
        (
            p["weight_from"],
            p["weight_to"],
            p["support_end_ticks"],
            p["batched_mean_s"],
            p["unbatched_mean_s"],
        )
        for p in told["points"]
    ] == [
        (*map(float, p.weights), p.support_end_ticks, float(p.batched), float(p.unbatched)) for p in points
    ]
    assert len(points) > 5


def test_the_table_has_a_line_for_each_point(capsys):
    """A person reads one line a point, batched delay falling."""
    lines = answer(capsys, *FLAGS).splitlines()
    ends = [int(line.split()[-3]) for line in lines[1:]]

    assert lines[0].split("  ")[0] == "weight"
    assert len(ends) == len(frontier(Policy(epsilon="3", gap="11m", window="5m")))
    assert ends == sorted(ends, reverse=True)


def test_where_there_is_nothing_to_trade_it_says_so(capsys):
    """A single point comes with the reason."""
    out = answer(capsys, "--epsilon", "1", "--gap", "11m")

    assert "0 to 1" in out
    assert "one point" in out


@pytest.mark.parametrize("law", ["exponential", "staircase"])
def test_an_endless_law_has_one_point_without_end(law, capsys):
    """Endless laws are shown as such."""
    out = answer(capsys, *FLAGS, "--law", law)
    (point,) = json.loads(answer(capsys, *FLAGS, "--law", law, "--json"))["points"]

    assert "no end" in out
    assert (point["support_end_ticks"], point["eta"]) == (None, None)


def test_the_policys_own_weight_does_not_matter(tmp_path, capsys):
    """All weights are tried, whatever the policy's own."""
    path = tmp_path / "policy.toml"
    path.write_text('epsilon = 3\ngap = "11m"\nwindow = "5m"\nweight = 0.9\n', encoding="utf-8")
    points = [
        json.loads(answer(capsys, *words, "--json"))["points"] for words in (FLAGS, ["--policy", str(path)])
    ]

    assert points[0] == points[1]


def test_a_weight_is_not_asked_for(capsys):
    """A flag that would not matter does not exist."""
    code = main(["frontier", *FLAGS, "--weight", "0.5"])
    out, err = capsys.readouterr()

    assert (code, out) == (2, "")
    assert "unrecognized arguments: --weight" in err
