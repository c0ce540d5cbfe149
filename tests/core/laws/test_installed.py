"""Laws of other packages: installed ones join policies and commands; code only where it is allowed."""

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from tarry.cli.main import main
from tarry.core.errors import BadInput
from tarry.core.policy import Policy, needs_labels
from tarry.core.policy_file import read_policy, write_policy
from tarry.core.verify import Size, verify

PACKAGE = """
from fractions import Fraction
from tarry import Law, LawPair, LabelFree, Run

def _steps(ask, step):
    unbatched = Law(tuple(Run(step, Fraction(h, 6 * step)) for h in (3, 2, 1)))
    return LawPair(batched=unbatched.from_tick(ask.start), unbatched=unbatched, start=ask.start)

def three_steps(ask):
    needed = ask.ratio * ask.start / (2 * (ask.ratio - 1))
    return _steps(ask, max(ask.start, -(-needed // 1)))

def hasty(ask):
    return _steps(ask, ask.start)

def _flat(ask):
    ticks = -(-ask.start // ask.delta)
    law = Law((Run(ticks, Fraction(1, ticks)),))
    return LawPair(batched=law, unbatched=law, start=ask.start)

FLAT = LabelFree(_flat)
NUMBER = 7
"""
ENTRIES = """[tarry.laws]
three-steps = somebodys_laws:three_steps
hasty = somebodys_laws:hasty
flat = somebodys_laws:FLAT
number = somebodys_laws:NUMBER
"""
FREE = {"law": "flat", "labels": "none", "delta": "0.1"}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that lies on the path, and is not installed."""
    (tmp_path / "somebodys_laws.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("somebodys_laws", None)


@pytest.fixture
def installed(package):
    """The same package, installed with its entry points."""
    about = package / "somebodys_laws-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys-laws\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    return about


def policy_of(**choices):
    return Policy(**{"epsilon": "1", "gap": "11m", **choices})


@pytest.mark.parametrize("choices", [{"law": "three-steps"}, FREE], ids=lambda choices: choices["law"])
def test_a_policy_with_an_installed_law_is_written_and_read_back(choices, installed):
    """The name of the law is in the file, and the policy that comes back is the same, laws and all."""
    policy = policy_of(**choices)

    again = read_policy(write_policy(policy))

    assert again == policy
    assert again.law_name == choices["law"]
    assert again.mechanism().pair == policy.mechanism().pair
    assert replace(policy, epsilon=Fraction(2)).law == choices["law"]
    assert pickle.loads(pickle.dumps(policy)) == policy  # noqa: S301 - our own bytes


@pytest.mark.parametrize("choices", [{"law": "three-steps"}, FREE], ids=lambda choices: choices["law"])
def test_an_installed_law_is_verified_like_ours(choices, installed):
    """A law that keeps its promise holds, labels or none."""
    assert verify(policy_of(**choices), Size(events=2)).word == "holds"


def test_the_command_decides_about_an_installed_law(installed, tmp_path, capsys):
    """`tarry verify` finds the witness against a law of another package."""
    path = tmp_path / "policy.toml"
    path.write_text('epsilon = 1\ngap = "11m"\nlaw = "hasty"\n', encoding="utf-8")

    code = main(["verify", str(path), "--events", "2", "--json"])
    report = json.loads(capsys.readouterr().out)

    assert (code, report["verdict"]) == (1, "broken")
    assert report["witness"]["ratio"] == pytest.approx(2)


def test_an_option_names_an_installed_law(installed, capsys):
    """`--law` knows it, and a label-free one brings its labels along as ours does."""
    code = main(["plan", "--epsilon", "1", "--gap", "11m", "--law", "flat", "--delta", "0.1", "--json"])
    report = json.loads(capsys.readouterr().out)

    assert code == 0
    assert report["law"] == "flat"


def test_only_laws_that_need_no_labels_go_without(installed):
    """A law says itself whether it needs labels."""
    assert needs_labels("three-steps")
    assert not needs_labels("flat")
    with pytest.raises(BadInput, match="labels must be 'none' with law 'flat', not 'held'"):
        policy_of(law="flat", delta="0.1")
    with pytest.raises(
        BadInput, match="labels must not be 'none' with law 'three-steps': choose other labels"
    ):
        policy_of(law="three-steps", labels="none", delta="0.1")


def test_a_law_that_is_no_function_is_refused(installed):
    """An entry point that leads to something else is named."""
    with pytest.raises(BadInput, match="law 'number' must be a function that takes an Ask, not 7"):
        policy_of(law="number")


def test_a_law_that_is_not_installed_any_more_is_one_sentence(installed):
    """A file outlives the package of its law."""
    text = write_policy(policy_of(law="three-steps"))
    (installed / "entry_points.txt").write_text("")

    with pytest.raises(
        BadInput, match=r"^unknown law 'three-steps': use .* or install the package that has it$"
    ):
        read_policy(text)


FLAGS = ["verify", "--epsilon", "1", "--gap", "11m", "--law", "somebodys_laws:three_steps", "--events", "2"]


def test_code_that_is_not_installed_needs_a_permission(package, capsys):
    """`module:Name` is loaded only behind --allow-code."""
    assert main(FLAGS) == 2
    assert "allow it with --allow-code" in capsys.readouterr().err
    assert "somebodys_laws" not in sys.modules

    assert main([*FLAGS, "--allow-code"]) == 0
    assert capsys.readouterr().out.startswith("holds")


def test_code_in_a_policy_file_needs_a_permission_too(package, tmp_path, capsys):
    """A policy file that somebody sent runs no code of theirs unless one says so."""
    path = tmp_path / "policy.toml"
    path.write_text('epsilon = 1\ngap = "11m"\nlaw = "somebodys_laws:three_steps"\n', encoding="utf-8")

    assert main(["explain", str(path)]) == 2
    assert "somebodys_laws" not in sys.modules
    assert main(["explain", str(path), "--allow-code"]) == 0
    policy = read_policy(path.read_text(encoding="utf-8"), allow_code=True)
    assert policy.law_name == "three_steps"
    with pytest.raises(BadInput, match="law 'three_steps' is a function, which a policy file cannot hold"):
        write_policy(policy)


def test_only_the_law_that_is_used_is_loaded():
    """A policy with one law imports no other, and no list of installed packages."""
    use = "Policy(epsilon='1', gap='11m', law='uniform')"
    code = f"import sys; from tarry import Policy; {use}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = {name for name in ran.stdout.split() if name.startswith("tarry.core.laws.")}

    assert loaded == {"tarry.core.laws.uniform"}
    assert "importlib.metadata" not in ran.stdout.split()
