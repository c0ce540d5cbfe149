"""`tarry season`: what a season is worth, as a table and as JSON, and what it refuses."""

import json

import pytest

from tarry.cli.main import main
from tarry.core.season import TWO_STORIES

FLAGS = ["--gap", "11m", "--window", "5m"]


def answer(capsys, *words):
    """What the command prints when all is well."""
    code = main(["season", *words])
    out, err = capsys.readouterr()

    assert (code, err) == (0, "")
    return out


def test_a_row_has_both_laws_at_equal_delays(capsys):
    lines = answer(capsys, *FLAGS, "7:12:6").splitlines()

    assert lines[0] == "delays of batched acts, hold not counted; gap + window 16m; prior 0.01"
    assert lines[3].split() == [
        *("zero-inflated-uniform", "12", "1h4m", "1h51m59s", "0.975", "3.69", "3.70", "0.290", "0.290"),
    ]
    assert lines[4].split("  ", 1)[0] == "cosine, 7 blocks, order 6"
    assert lines[4].split()[5:] == ["12", "1h4m", "1h51m59s", "0.945", "3.45", "3.94", "0.165", "0.233"]


def test_it_says_which_figures_are_numeric_and_what_stays_visible(capsys):
    """A bound on losses does not bound quantiles, and hides no dates."""
    note = "posteriors (median, 90 %) are numeric: the laws' own where nothing is shifted, and no bounds"

    assert note in answer(capsys, *FLAGS, "7:12:sine")
    assert json.loads(answer(capsys, *FLAGS, "7:12:sine", "--json"))["notes"] == [note, TWO_STORIES]


def test_the_json_has_every_figure(capsys):
    told = json.loads(
        answer(capsys, *FLAGS, "7:12:6", "--delta", "0.01", "--prior", "0.5", "--tick", "1m", "--json")
    )
    (season,) = told["seasons"]
    older, cosine = season["laws"]

    assert (told["gap_s"], told["window_s"], told["tick_s"], told["prior"]) == (660, 300, 60, 0.5)
    assert (season["pairs"], season["blocks"], season["max_s"]) == (12, 7, 7 * 960 - 60)
    assert (older["law"], older["order"], cosine["law"], cosine["order"]) == (
        *("zero-inflated-uniform", None),
        *("cosine", 6),
    )
    assert [round(each["epsilons"][0], 2) for each in season["laws"]] == [3.69, 3.45]
    assert older["posterior_median"] == pytest.approx((7 / 6) ** 24 / (1 + (7 / 6) ** 24))


def test_with_an_epsilon_the_older_law_stands_alone(capsys):
    told = json.loads(answer(capsys, *FLAGS, "--epsilon", "0.5", "2", "5", "--json"))

    assert [[each["law"] for each in season["laws"]] for season in told["seasons"]] == [
        ["zero-inflated-uniform"]
    ] * 2
    assert [round(season["laws"][0]["posterior_90"], 2) for season in told["seasons"]] == [0.03, 0.11]


def test_an_order_is_for_every_row_that_has_none(capsys):
    told = json.loads(answer(capsys, *FLAGS, "--order", "4", "7:2", "7:2:6", "--json"))

    assert [season["laws"][1]["order"] for season in told["seasons"]] == [4, 6]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["7:12"], "no gap is given: use --gap 11m or the gap of your people (tarry learn)"),
        ([*FLAGS, "7"], "a season must be BLOCKS:PAIRS in whole numbers, or with --epsilon PAIRS, not '7'"),
        ([*FLAGS, "7:x"], "a season must be BLOCKS:PAIRS in whole numbers, or with --epsilon PAIRS, not"),
        ([*FLAGS, "7:12:big"], "order must be a decimal number, not 'big'"),
        ([*FLAGS, "7:12:0"], "order must be between 0.01 and 1000 in steps of 0.01, not 0"),
        ([*FLAGS, "2:12"], "blocks must be between 3 and 10000, not 2"),
        ([*FLAGS, "--epsilon", "1"], "--epsilon must have pairs and no --order: try --epsilon 0.5 2 5 12"),
        ([*FLAGS, "--epsilon", "1", "7:12"], "a season must be BLOCKS:PAIRS in whole numbers, or with"),
        ([*FLAGS, "--delta", "0.01,", "7:12"], "--delta must be a decimal number, not ''"),
        ([*FLAGS, "--prior", "1", "7:12"], "prior must be above 0 and below 1, not 1"),
    ],
)
def test_what_cannot_be_shown_is_refused(words, sentence, capsys):
    code = main(["season", *words])
    out, err = capsys.readouterr()

    assert (code, out) == (2, "")
    assert err.startswith(f"tarry season: {sentence}")
