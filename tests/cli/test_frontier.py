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


# --- a season -------------------------------------------------------------------------------------

SEASON = ["--season", "12", "--delta", "0.01", "--gap", "11m", "--window", "5m"]


def test_a_season_has_a_row_for_each_number_of_blocks(capsys):
    """What twelve pairs cost, how long acts wait, and the older law at the same longest delay."""
    told = json.loads(answer(capsys, *SEASON, "--blocks", "22, 7", "--json"))

    assert (told["acts"], told["delta"], told["gap_s"], told["window_s"]) == (24, 0.01, 660, 300)
    assert [
        (
            p["blocks"],
            p["order"],
            round(p["epsilon"], 2),
            p["longest_s"],
            round(p["zero_inflated_uniform"], 2),
        )
        for p in told["points"]
    ] == [(7, 5.25, 3.45, 300 + 7 * 960 - 1, 3.69), (22, 6.75, 0.88, 300 + 22 * 960 - 1, 1.11)]
    assert [p["mean_s"] for p in told["points"]] == [300 + 4 * 960 - 0.5, 300 + 11.5 * 960 - 0.5]


def test_a_season_is_a_table_for_people(capsys):
    lines = answer(capsys, *SEASON, "--blocks", "7").splitlines()

    assert lines[0].split() == [
        "blocks",
        "order",
        "epsilon",
        "mean",
        "delay",
        "longest",
        "zero-inflated-uniform",
    ]
    assert lines[1].split() == ["7", "5.25", "3.448", "1h9m", "1h56m59s", "3.690"]
    assert "what 24 acts (12 pairs) of one person cost together, but for a chance of 0.01" in lines[3]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--season", "12", "--gap", "11m"], "--season must have --delta: try --delta 0.01"),
        (["--season", "12", "--delta", "0.01"], "no gap is given: use --gap 11m"),
        ([*SEASON, "--epsilon", "1"], "--season finds the law, and --epsilon is given too"),
        (
            [*SEASON, "--blocks", "7,many"],
            "--blocks must be whole numbers, not 'many': write them like 7,22",
        ),
        ([*SEASON, "--blocks", "2"], "blocks must be between 3 and 10000, not 2"),
        ([*FLAGS, "--blocks", "7"], "--blocks is for a season, and none is given: add --season"),
    ],
)
def test_a_season_that_has_no_frontier_is_refused(words, sentence, capsys):
    assert main(["frontier", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_weight_is_not_asked_for(capsys):
    """A flag that would not matter does not exist."""
    code = main(["frontier", *FLAGS, "--weight", "0.5"])
    out, err = capsys.readouterr()

    assert (code, out) == (2, "")
    assert "unrecognized arguments: --weight" in err
