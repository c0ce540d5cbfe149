"""`tarry worth`: what a habit is worth to each observer, what it costs, and what is cheaper."""

import json

from tarry.cli.main import main

HISTORY = "user,page,time\n" + "".join(
    f"u{i % 7},p{i % 5},{1_700_000_000 + 700 * i}\nu{i % 7},q{i % 5},{1_700_000_030 + 700 * i}\n"
    for i in range(60)
)


def test_a_phrase_is_enough(capsys):
    assert main(["worth", "jitter", "24h", "--gap", "36m"]) == 0
    said = capsys.readouterr().out

    assert "notified: epsilon 1 holds with delta 0.025, and with no smaller one" in said
    assert (
        "the cheapest policy that is at least as good: law zero-inflated-uniform, labels held, epsilon 1: "
        "1h7m21s on average" in said.replace("\n", " ")
    )


def test_programs_get_figures(capsys, tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text('epsilon = 1\ngap = "11m"\n', encoding="utf-8")

    assert main(["worth", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["delta"] for each in found["observers"]] == [0, 0, 0]
    assert found["mean_s"] > 0
    assert found["linkage"] == []


def test_real_acts_are_attacked_too(capsys, tmp_path):
    path = tmp_path / "history.csv"
    path.write_text(HISTORY, encoding="utf-8")

    assert main(["worth", "round to day", "--history", str(path), "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["linkage"]
    assert {line["policy"] for line in lines} == {"nothing", "rounding:1d"}
    assert {line["observer"] for line in lines} == {"notified", "poller:10m", "archive"}
    assert main(["worth", "round to day", "--history", str(path)]) == 0
    assert "right about the person" in capsys.readouterr().out


def test_an_unknown_habit_is_refused(capsys):
    assert main(["worth", "a wing and a prayer"]) == 2
    assert "unknown practice 'a wing and a prayer'" in capsys.readouterr().err
