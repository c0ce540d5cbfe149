"""`tarry attest`: exit 0 where releases are consistent with a promise, 1 with the stories that break it."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tarry.cli.main import main
from tarry.core import plugins
from tarry.core.policy_file import read_policy

SMALL = ["--gap", "30s", "--window", "5s", "--samples", "40000"]
SOUND = ["--epsilon", "1", *SMALL]
SEASON = """
law = "cosine"
blocks = 12
order = 4
gap = "20s"
window = "10s"

[season]
acts = 20
epsilon = 2.6
delta = 0.05
"""
#: Leaves at once, with a twist: it reads the story and answers as a program must.
AT_ONCE = """
import json, sys
story = json.load(sys.stdin)
line = json.dumps([act["at"] for act in story["acts"]])
print("\\n".join([line] * story["samples"]))
"""


def attest(*words):
    return main(["attest", *words])


def answer(capsys, *words):
    code = attest(*words, "--json")
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "at_once.py"
    path.write_text(AT_ONCE, encoding="utf-8")
    return f"{sys.executable} {path}"


def test_a_policy_is_consistent_with_its_own_promise(capsys):
    assert attest(*SOUND) == 0
    said = " ".join(capsys.readouterr().out.split())

    assert "zero-inflated-uniform, epsilon 1: consistent with the promise up to 0." in said
    assert "0.044 in 10,000, 0.014 in 100,000, 0.004 in 1,000,000" in said
    assert "Not decidable from releases: randomness that somebody can predict" in said
    assert "wrong with a chance of at most 0.05, all looks" in said


def test_a_habit_is_broken_with_the_stories_that_show_it(capsys):
    assert attest(*SOUND, "--baseline", "jitter:1m") == 1
    said = " ".join(capsys.readouterr().out.split())

    assert "jitter:1m, notified: broken" in said
    assert "in ticks of 1s. In truth: person 0 on target 0" in said
    assert "release is" in said


def test_programs_get_a_witness_to_repeat(capsys):
    code, found = answer(capsys, *SOUND, "--baseline", "jitter:1m")
    again = answer(capsys, *SOUND, "--baseline", "jitter:1m")[1]

    assert code == 1
    assert found == again
    assert found["verdict"] == "broken"
    assert found["best"]["true"]["acts"][0]["actor"] == 0
    assert found["best"]["region"]
    assert found["best"]["epsilon_at_least"] > found["best"]["promised"]
    assert found["drawn"] <= 40_000


def test_a_program_is_held_to_the_promise(program, capsys):
    code, found = answer(capsys, *SOUND[:-1], "20000", "--program", program)

    assert (code, found["verdict"]) == (1, "broken")


CODE = """
import numpy as np

def at_once(story, samples, source):
    return np.array([[act.at for act in story.acts]] * samples)

class Box:
    def releases(self, story, samples, source):
        return at_once(story, samples, source)

class Nothing:
    pass
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    (tmp_path / "my_box.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("code")
@pytest.mark.parametrize("name", ["my_box:Box", "my_box:at_once"])
def test_a_class_or_a_function_is_run_only_where_that_is_allowed(name, capsys):
    assert attest(*SOUND, "--code", name) == 2
    assert "allow it with --allow-code" in capsys.readouterr().err
    assert attest(*SOUND[:-1], "20000", "--code", name, "--allow-code") == 1
    assert f"{name}: broken" in capsys.readouterr().out


@pytest.mark.usefixtures("code")
def test_a_package_that_is_installed_needs_no_leave(capsys, monkeypatch):
    """It names its function under the entry point `tarry.boxes`."""
    entry = EntryPoint("at-once", "my_box:at_once", "tarry.boxes")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry] if group == "tarry.boxes" else [])

    assert attest(*SOUND[:-1], "20000", "--code", "at-once") == 1
    assert "at-once: broken" in capsys.readouterr().out


@pytest.mark.usefixtures("code")
def test_what_is_no_black_box_is_refused(capsys):
    assert attest(*SOUND, "--code", "my_box:Nothing", "--allow-code") == 2
    assert "name a function of story, samples and source" in capsys.readouterr().err
    assert attest(*SOUND, "--code", "nobody") == 2
    assert "under tarry.boxes" in capsys.readouterr().err


def test_a_season_is_attested_as_a_whole(capsys, tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(SEASON, encoding="utf-8")
    code, found = answer(capsys, str(path), "--season", "--samples", "20000")

    assert (code, found["verdict"]) == (0, "consistent")
    assert found["best"]["kind"] == "a season of 10 pairs"
    assert found["best"]["promised_delta"] == 0.05


def test_pairs_of_any_policy_add_up(capsys):
    code, found = answer(capsys, *SOUND, "--season", "3")

    assert (code, found["best"]["promised"]) == (0, 3.0)
    assert 2 < found["best"]["epsilon_at_least"] < 3


def test_the_page_shortens_a_policy_of_hours_to_one_of_the_same_law(capsys, tmp_path):
    """Everything but gap, window and tick stays, and nothing is said against the short one."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "attest.md").read_text(encoding="utf-8")
    plan, shorten = re.search(r"^tarry (plan .*) > policy.toml\n(sed .*)$", page, re.MULTILINE).groups()
    assert main(plan.split()) == 0
    (tmp_path / "policy.toml").write_text(capsys.readouterr().out, encoding="utf-8")
    subprocess.run(["bash", "-euc", shorten], cwd=tmp_path, check=True)
    long, short = (
        read_policy((tmp_path / f"{name}.toml").read_text(encoding="utf-8")) for name in ("policy", "short")
    )

    assert (short.gap, short.window, 1 / short.tick) == (8, 5, 2)
    assert replace(short, gap=long.gap, window=long.window, tick=long.tick) == long
    assert main(["verify", str(tmp_path / "short.toml")]) == 0
    assert capsys.readouterr().err == ""


GATEWAY = ["--gateway", "http://127.0.0.1:9", "--space", "lab", "--token-file", "token"]
REFUSED = [
    (["--epsilon", "1", "--gap", "11m", "--baseline", "jitter:1m", "--program", "x"], "are two mechanisms"),
    (
        [*GATEWAY, "--season", "3"],
        "--season is attested without a gateway: leave out --gateway or --season",
    ),
    ([*GATEWAY, "--code", "mine:releases"], "--code is attested without a gateway"),
    (GATEWAY[:4], "no token-file is given for the gateway: use --token-file"),
    (["--epsilon", "1", "--gap", "11m", "--program", " "], "--program names no program"),
    (["--epsilon", "1", "--gap", "11m", "--program", "/no/such/program"], "did not answer with a line"),
    (["--epsilon", "1", "--gap", "11m", "--season"], "the policy is for no season: say how many pairs"),
    (["--epsilon", "1", "--gap", "11m", "--samples", "10"], "there must be at least"),
    (["--epsilon", "1", "--gap", "11m", "--level", "2"], "the level must lie between 0 and 1, not 2"),
    (["--epsilon", "1", "--gap", "11m", "--code", "no_such:Box", "--allow-code"], "cannot be loaded"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED)
def test_what_cannot_be_attested_is_refused_in_a_sentence(words, sentence, capsys):
    assert attest(*words) == 2
    assert sentence in capsys.readouterr().err
