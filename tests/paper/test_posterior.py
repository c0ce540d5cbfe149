"""Posteriors after a batched and an unbatched pair, against the paper's own numbers."""

import json
from math import floor

import pytest

from contracts.pair_loop import data_file
from tarry.core.errors import BadInput
from tarry.paper import posterior
from tarry.paper.finding import RunSettings

ROWS = {
    "two people": "a,1,0 a,2,60 b,1,1000 b,3,9000",
    "busy": "a,1,0 a,2,60 b,1,100 b,3,160 c,2,50000 c,3,90000",
}


@pytest.fixture(scope="module")
def found():
    return posterior.find(RunSettings())


@pytest.fixture
def folder(tmp_path):
    for name, rows in ROWS.items():
        lines = "\n".join(rows.split())
        (tmp_path / f"{name}.csv").write_text(f"actor,target,time\n{lines}\n")
    (tmp_path / "README.md").write_text("not a history")
    return tmp_path


def test_ten_suspects_give_the_printed_83_5_percent(found):
    """Introduction: 0.301 / (0.301 + 9 (0.0066)) = 83.51 %, which is cut off and not rounded."""
    ten = next(one for one in found.tables["published"].records() if one["suspects"] == 10)

    assert floor(ten["batched"] * 10_000) / 100 == 83.51
    assert round(ten["batched"] * 100, 2) == 83.52
    assert ten["batched"] == pytest.approx(0.301 / (0.301 + 9 * 0.0066))


def test_both_curves_are_the_formulas_of_the_section(found):
    """0.301 / (0.301 + 0.0066 (K-1)) and 0.9934 / (0.699 + 0.9934 (K-1)), for K from 2 to 50."""
    rows = found.tables["published"].records()

    assert [one["suspects"] for one in rows] == list(range(2, 51))
    for one in rows:
        others = one["suspects"] - 1
        assert one["batched"] == pytest.approx(0.301 / (0.301 + 0.0066 * others))
        assert one["batched, as plotted"] == pytest.approx(0.301 / (0.301 + 0.0072 * others))
        assert one["unbatched"] == pytest.approx(0.9934 / (0.699 + 0.9934 * others))


def test_sentences_are_true_of_the_table(found):
    """Even odds end where the column passes one half, and the other figures stand in the row of ten."""
    rows = found.tables["published"].records()
    ten = next(one for one in rows if one["suspects"] == 10)
    even = max(one["suspects"] for one in rows if one["batched"] >= 0.5)

    assert f"With up to {even} suspects" in found.says[2]
    assert f"{100 * ten['batched, as plotted']:.1f} %" in found.says[1]
    assert f"to {100 * ten['unbatched']:.1f} %" in found.says[3]
    assert f"known to {100 * (1 - 9 * ten['unbatched']):.1f} %" in found.says[3]


def test_rates_are_measured_on_every_history_of_a_folder(folder):
    """Two moves within five minutes of three, two people of three who are ever close: by hand."""
    told = []
    found = posterior.find(RunSettings(data=folder, progress=lambda done, many: told.append((done, many))))
    rows = {one["history"]: one for one in found.tables["measured"].records()}

    assert list(rows) == sorted(ROWS)
    assert rows["busy"]["one person"] == pytest.approx(2 / 3)
    assert rows["busy"]["different people"] == pytest.approx(1 / 3)
    assert rows["busy"]["batched, 2 suspects"] == pytest.approx(2 / 3)
    assert rows["busy"]["even odds up to"] == 3
    assert told == [(1, 2), (2, 2)]


def test_several_histories_are_told_with_their_range_and_one_alone_without(folder):
    """The ends of the range are the ends of the column; a single history has no range."""
    several = posterior.find(RunSettings(data=folder)).says[4]
    alone = posterior.find(RunSettings(data=folder / "busy.csv")).says[4]

    assert (
        several == "Measured on 2 histories, 10 suspects give from 18.2 % (busy) to 100.0 % (two people)."
    )
    assert alone == "Measured on busy, 10 suspects give 18.2 %."


def test_the_reviews_say_why_another_script_has_another_figure(folder):
    """Only where that history is among those given."""
    assert "peer_review" not in " ".join(posterior.find(RunSettings(data=folder)).says)
    (folder / "busy.csv").rename(folder / "code_review_a.csv")
    said = posterior.find(RunSettings(data=folder)).says[-1]

    assert said.startswith("All rows of code_review_a count here but those of bots: its 18.2 % is not")


def test_no_two_lines_of_measured_rates_have_one_colour(folder):
    """Of many histories some are drawn, the most and the least sure among them."""
    for copy in range(8):
        (folder / f"copy {copy}.csv").write_text((folder / "busy.csv").read_text())
    chart = posterior.find(RunSettings(data=folder)).charts["measured-rates"].to_dict()
    scale = chart["layer"][0]["encoding"]["color"]["scale"]

    assert len(set(scale["range"])) == len(scale["domain"]) == 7
    assert scale["domain"][:2] == ["the paper's conference", "two people"]
    assert scale["domain"][-1] == "copy 7"


def test_a_history_of_one_close_pair_has_no_even_odds(folder):
    """Where different people never come close, a batched pair is certain, and no crowd hides it."""
    row = posterior.find(RunSettings(data=folder / "two people.csv")).tables["measured"].records()[0]

    assert row["different people"] == 0
    assert row["batched, 50 suspects"] == 1
    assert row["even odds up to"] is None


def test_a_history_without_rates_has_no_posterior(tmp_path):
    """Nobody moved between targets: said so, with empty cells."""
    (tmp_path / "still.csv").write_text("actor,target,time\na,1,0\nb,1,10\n")
    found = posterior.find(RunSettings(data=tmp_path))

    assert found.says[-1] == "No history given has both rates, so none has a posterior."
    assert found.tables["measured"].records()[0]["batched, 10 suspects"] is None


def test_tiny_takes_one_history(folder):
    """The smallest file alone proves that it runs."""
    rows = posterior.find(RunSettings(data=folder, tiny=True)).tables["measured"].records()

    assert [one["history"] for one in rows] == ["two people"]


def test_data_that_is_not_there_is_refused(tmp_path):
    """A wrong folder gets one sentence."""
    with pytest.raises(BadInput):
        posterior.find(RunSettings(data=tmp_path / "nowhere"))


def test_same_settings_give_the_same_finding(folder):
    """The same folder gives the same JSON, whatever the seed."""
    first, second = (posterior.find(RunSettings(data=folder, seed=seed)).as_json() for seed in (0, 7))

    assert json.dumps(first) == json.dumps(second)


def test_votes_of_a_real_community_are_more_telling_than_the_conference():
    """46 % of moves are batched and 0.16 % of people ever close: ten suspects give 97 %."""
    found = posterior.find(RunSettings(data=data_file("dao_votes.parquet")))
    row = found.tables["measured"].records()[0]

    assert round(row["one person"], 4) == 0.4606
    assert round(row["different people"], 5) == 0.00156
    assert round(row["batched, 10 suspects"], 3) == 0.970
