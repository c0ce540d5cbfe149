"""`tarry plan`: the figures that were promised, as JSON, as a table and as a policy file."""

import io
import json
import sys
from fractions import Fraction
from math import exp, log

import pytest

from tarry.cli.main import main
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy

THREE_HUNDRED = ["--gap", "300s", "--window", "0s", "--tick", "1s"]
KEYS = {"epsilon", "gap_s", "window_s", "tick_s", "weight", "eta", "law", "labels", "support_end_ticks"}
COARSE = (
    "Acts between 5m and 6m apart may count as batched or not: the tick (1m) is more than a tenth of the "
    "window (5m). Choose a tick of at most 30s."
)
DELAYS = {"min_s", "mean_s", "median_s", "max_s"}


def answer(capsys, *words):
    """What the command prints when all is well."""
    code = main(["plan", *words])
    out, err = capsys.readouterr()

    assert (code, err) == (0, "")
    return out


def figures(capsys, *words):
    """The JSON it prints."""
    return json.loads(answer(capsys, *words, "--json"))


def refusal(capsys, *words):
    """The one line it says when something is wrong."""
    code = main(["plan", *words])
    out, err = capsys.readouterr()

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    return err


@pytest.mark.parametrize(
    ("epsilon", "weight", "end"), [("1", "1", 763), ("0.5", "1", 1357), ("2", "0.25", 517)]
)
def test_the_figures_the_project_was_asked_for(epsilon, weight, end, capsys):
    """A gap of 300 ticks gives these ends of support, and batched delays from 300 up to them."""
    told = figures(capsys, "--epsilon", epsilon, *THREE_HUNDRED, "--weight", weight)

    assert told["support_end_ticks"] == end
    assert (told["batched"]["min_s"], told["batched"]["max_s"]) == (300, end - 1)


def test_the_json_has_every_key_it_must_have(capsys):
    """Programs find all choices, and for both labels the shortest, mean, median and longest delay."""
    told = figures(capsys, "--epsilon", "1", "--gap", "11m")

    assert set(told) >= KEYS | {"batched", "unbatched"}
    assert set(told["batched"]) >= DELAYS
    assert set(told["unbatched"]) >= DELAYS


@pytest.mark.parametrize("command", [["plan"], ["plan", "--toml"], ["verify", "--events", "2"]], ids=str)
def test_a_tick_that_is_not_small_against_the_window_is_noted_with_the_number(command, capsys):
    """On standard error, so that a file gets the answer alone."""
    words = [*command, "--epsilon", "0.5", "--gap", "11m", "--window", "5m"]

    assert (main([*words, "--tick", "30s"]), capsys.readouterr().err) == (0, "")
    assert (main([*words, "--tick", "1m"]), capsys.readouterr().err) == (0, f"note: {COARSE}\n")


def test_the_json_has_the_note_too(capsys):
    """Programs get it as a list, empty where there is none."""
    flags = ["--epsilon", "0.5", "--gap", "11m", "--window", "5m"]

    assert figures(capsys, *flags, "--tick", "1m")["notes"] == [COARSE]
    assert figures(capsys, *flags, "--tick", "30s")["notes"] == []


def test_a_tick_that_leaves_no_room_between_window_and_gap_is_refused(capsys):
    """With an hour to the tick, 5 and 11 minutes are the same."""
    told = refusal(capsys, "--epsilon", "0.5", "--gap", "11m", "--window", "5m", "--tick", "1h")

    assert told == (
        "tarry plan: gap must be above the window (5m) in whole ticks of 1h too, not 11m: choose a "
        "shorter tick or a longer gap\n"
    )


def test_the_json_tells_seconds_with_the_hold(capsys):
    """Choices come back in seconds, and delays run from arrival to release."""
    told = figures(capsys, "--epsilon", "0.5", "--gap", "11m", "--window", "5m", "--tick", "500ms")
    costs = plan(Policy(epsilon="0.5", gap="11m", window="5m", tick="500ms"))

    assert (told["epsilon"], told["gap_s"], told["window_s"], told["tick_s"]) == (0.5, 660, 300, 0.5)
    assert (told["labels"], told["law"]) == ("held", "zero-inflated-uniform")
    assert told["unbatched"]["min_s"] == 300
    for name, delays in (("batched", costs.batched), ("unbatched", costs.unbatched)):
        exact = [delays.minimum, delays.mean, delays.median, delays.maximum]

        assert [told[name][key] for key in ("min_s", "mean_s", "median_s", "max_s")] == [
            float(s) for s in exact
        ]
    assert told["mean_s"] == float(costs.mean(Fraction(1, 2)))


@pytest.mark.parametrize("law", ["exponential", "staircase"])
def test_a_law_without_an_end_has_no_longest_delay(law, capsys):
    """In JSON the maximum is null, in the table there is no end."""
    told = figures(capsys, "--epsilon", "1", "--gap", "11m", "--law", law)

    assert told["support_end_ticks"] is told["batched"]["max_s"] is told["unbatched"]["max_s"] is None
    assert answer(capsys, "--epsilon", "1", "--gap", "11m", "--law", law).count("no end") == 2


def test_a_label_free_law_needs_no_word_about_labels(capsys):
    """The labels of a label-free law are none without saying so."""
    told = figures(capsys, "--epsilon", "1", "--gap", "20s", "--law", "label-free", "--delta", "0.01")

    assert (told["labels"], told["window_s"], told["eta"], told["delta"]) == ("none", 0, None, 0.01)


def test_the_table_has_a_row_for_each_label(capsys):
    """A person reads the choices, both rows, and where to read on."""
    out = answer(capsys, "--epsilon", "1", *THREE_HUNDRED, "--weight", "1")
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}

    assert out.startswith("zero-inflated-uniform law, held labels, epsilon 1")
    assert rows["batched"][-4:] == ["5m", "8m51s", "8m51s", "12m42s"]
    assert rows["unbatched"][-4:] == ["0s", "6m21s", "6m21s", "12m42s"]
    assert "tarry explain" in out


def test_a_policy_file_says_everything(tmp_path, capsys):
    """A policy by file has the plan of the same policy by flags."""
    path = tmp_path / "policy.toml"
    path.write_text('epsilon = 2\ngap = "300s"\nwindow = "0s"\nweight = 0.25\n', encoding="utf-8")
    by_flags = figures(capsys, "--epsilon", "2", *THREE_HUNDRED, "--weight", "0.25")

    assert figures(capsys, "--policy", str(path)) == figures(capsys, str(path)) == by_flags


def test_every_gap_has_its_own_figures(tmp_path, capsys):
    """Gaps of their own are planned beside the default, in JSON and in the table."""
    path = tmp_path / "policy.toml"
    path.write_text('epsilon = 1\ngap = "300s"\nwindow = "0s"\ngaps.track.slow = "1h"\n', encoding="utf-8")
    (slow,) = figures(capsys, "--policy", str(path))["own_gaps"]
    alone = figures(capsys, "--epsilon", "1", "--gap", "1h", "--window", "0s")

    assert {key: slow[key] for key in ("gap_s", "support_end_ticks", "batched", "unbatched")} == {
        key: alone[key] for key in ("gap_s", "support_end_ticks", "batched", "unbatched")
    }
    assert answer(capsys, "--policy", str(path)).count("\nbatched ") == 2


def test_a_policy_comes_from_standard_input(monkeypatch, capsys):
    """`--policy -` reads standard input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO('epsilon = 1\ngap = "300s"\nwindow = "0s"\nweight = 1\n'))

    assert figures(capsys, "--policy", "-")["support_end_ticks"] == 763


def test_standard_input_is_not_cut_off_in_silence(monkeypatch, capsys):
    """More than a policy can be is refused, not read up to some point."""
    text = 'epsilon = 1\ngap = "300s"\n' + "#" * (1 << 20) + "\nunknown = 1\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    assert "the policy file must be at most 1 MiB" in refusal(capsys, "--policy", "-")


def test_toml_prints_the_policy_file(capsys):
    """What `--toml` prints is a policy file with the very same policy."""
    out = answer(
        capsys, "--epsilon", "0.1", "--gap", "11m", "--labels", "declared", "--cover", "bridge", "--toml"
    )
    policy = Policy(epsilon="0.1", gap="11m", labels="declared", cover="bridge")

    assert read_policy(out) == policy
    assert out == write_policy(policy)


@pytest.mark.parametrize(
    ("flag", "seconds"),
    [("--mean-delay", 400), ("--mean-delay", 2000), ("--max-delay", 762), ("--max-delay", 5000)],
)
def test_a_budget_finds_the_epsilon_that_keeps_it(flag, seconds, capsys):
    """The plan for the found epsilon stays within the budget, and close to it."""
    told = figures(capsys, flag, f"{seconds}s", *THREE_HUNDRED, "--weight", "1")
    spent = told["mean_s"] if flag == "--mean-delay" else told["batched"]["max_s"]

    assert 0.97 * seconds < spent <= seconds


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--max-delay", "10m", "--epsilon", "1"],
            "--max-delay finds epsilon, and epsilon is already given",
        ),
        (
            ["--mean-delay", "10m", "--policy", "p.toml"],
            "--mean-delay finds epsilon, and epsilon is already",
        ),
        (
            ["--max-delay", "10m", "p.toml"],
            "--max-delay finds epsilon, and epsilon is already given: leave",
        ),
        (["--max-delay", "299s"], "no epsilon up to 100 keeps the maximum delay within 4m59s"),
        (["--max-delay", "-5m"], "--max-delay must be 0s or longer, not '-5m'"),
        (["--mean-delay", "soon"], "--mean-delay must be numbers with units, not 'soon'"),
        (["--max-delay", "1d", "--law", "staircase"], "the staircase law has no longest delay"),
    ],
)
def test_an_impossible_budget_gets_one_sentence(words, sentence, capsys):
    """A budget beside an epsilon, below the gap or without a unit is refused in one line."""
    budget = words if "p.toml" in words else [*words, *THREE_HUNDRED]

    assert refusal(capsys, *budget).startswith(f"tarry plan: {sentence}")


# --- a season -------------------------------------------------------------------------------------

PLACE = ["--gap", "11m", "--window", "5m"]


def test_a_season_is_planned_and_the_older_law_beside_it(capsys):
    """30 pairs within 4 nats but for one in a hundred people: more are in `core/test_season_plan.py`."""
    told = figures(capsys, "--season", "30", "--total", "4", "--delta", "0.01", *PLACE)
    season, hold, start = told["season"], told["hold_ticks"], 960

    assert (told["law"], season["blocks"], season["acts"]) == ("cosine", 13, 60)
    assert 2.5 <= season["order"] <= 3.25
    assert season["costs"] <= 4
    assert told["batched"]["mean_s"] - hold == pytest.approx(7 * start, abs=1)
    other = season["other"]
    ratio = exp((4 - log(0.99)) / 60)
    assert other["law"] == "zero-inflated-uniform"
    assert other["batched"]["max_s"] - hold == pytest.approx(start * ratio / (ratio - 1), abs=1)
    assert other["batched"]["mean_s"] == (other["batched"]["max_s"] + hold + start) / 2


def test_the_policy_of_a_season_is_printed_as_a_file(capsys):
    """For a few pairs the older law is better, and taken; the file reads back."""
    few = answer(capsys, "--season", "2", "--total", "1", "--delta", "0.01", *PLACE, "--toml")
    many = answer(capsys, "--season", "30", "--total", "4", "--delta", "0.01", *PLACE, "--toml")

    assert read_policy(few).law == "zero-inflated-uniform"
    assert read_policy(few).season.acts == 4
    assert (read_policy(many).law, read_policy(many).season.acts) == ("cosine", 60)


def test_a_season_is_told_in_words(capsys):
    told = answer(capsys, "--season", "30", "--total", "4", "--delta", "0.01", *PLACE)

    assert "season: 60 acts (30 pairs) cost 3." in told
    assert "the zero-inflated-uniform law would need" in told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--total", "2"], "--season must have --delta: try --delta 0.01"),
        (
            ["--delta", "0.01"],
            "--season must have --total, --max-delay or --mean-delay: try --total 2.3 or --max-delay 8h",
        ),
        (
            ["--delta", "0.01", "--max-delay", "10m"],
            "no law keeps these delays: allow more delay, or choose a shorter gap or window",
        ),
        (
            ["--total", "2", "--delta", "0.01", "--epsilon", "1"],
            "--season finds the law, and --epsilon is given",
        ),
        (
            ["--total", "2", "--delta", "0.01", "--law", "uniform"],
            "--season finds the law, and --law is given",
        ),
        (["--total", "0", "--delta", "0.01"], "the epsilon of a season must be above 0, not 0"),
        (
            ["--total", "4", "--delta", "0.01", "--max-delay", "1h"],
            "13 blocks are needed, with a longest delay of 3h32m59s, and at most 1h is allowed: allow more",
        ),
    ],
)
def test_a_season_that_cannot_be_planned_is_refused(words, sentence, capsys):
    assert sentence in refusal(capsys, "--season", "30", *words, *PLACE)


def test_a_season_needs_a_gap(capsys):
    words = ["--season", "30", "--total", "4", "--delta", "0.01"]

    assert "no gap is given: use --gap 11m" in refusal(capsys, *words)


def test_without_a_total_the_least_within_a_delay_is_found(capsys):
    """And what the older law would cost there; the file reads back."""
    words = ["--season", "30", "--delta", "0.01", "--max-delay", "3h33m", *PLACE]
    told = figures(capsys, *words)
    season, other = told["season"], told["season"]["other"]

    assert (told["law"], season["blocks"], season["acts"]) == ("cosine", 13, 60)
    assert season["costs"] <= season["epsilon"] == 3.643
    assert (other["law"], other["epsilon"]) == ("zero-inflated-uniform", 4.793)
    assert told["batched"]["max_s"] == 3 * 3600 + 33 * 60 - 1
    assert "the zero-inflated-uniform law would cost 4.793 within these delays" in answer(capsys, *words)
    assert read_policy(answer(capsys, *words, "--toml")).season.epsilon == Fraction("3.643")


def test_where_the_older_law_alone_is_short_enough_it_says_so(capsys):
    words = ["--season", "2", "--delta", "0.01", "--max-delay", "40m", *PLACE]
    told = answer(capsys, *words)

    assert told.startswith("zero-inflated-uniform law")
    assert "no other law is possible: a law for seasons needs 3 times gap + window at the least" in told
    assert figures(capsys, *words)["season"]["other"] is None
