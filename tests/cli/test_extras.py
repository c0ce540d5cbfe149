"""A plain `pip install tarry`: every command works, or names the extra to install in one sentence."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from contracts.shell import FAST, Shell
from tarry.cli.main import COMMANDS, EXTRAS

ROOT = Path(__file__).resolve().parents[2]
#: One line for each command that gets as far as a plain installation lets it.
LINES = {
    "plan": "plan --policy policy.toml",
    "frontier": "frontier --policy policy.toml",
    "verify": "verify policy.toml",
    "attest": "attest policy.toml --samples 20000",
    "worth": "worth jitter:1h",
    "explain": "explain policy.toml",
    "delay": "delay --policy policy.toml",
    "run": "run --target a -- true",
    "git": "git push",
    "mail": "mail --server smtp://localhost --from a@b.example --to c@d.example",
    "wiki": "wiki append --account nym --heading Hoots Owls",
    "openreview": "openreview post --account nym --invitation i --signature s --forum f",
    "wallet": "wallet send 00",
    "queue": "queue",
    "withdraw": "withdraw abcd",
    "repeat": "repeat abcd",
    "keeper": "keeper --until-empty",
    "page": "page --no-open",
    "serve": "serve --port 0",
    "worker": "worker",
    "doctor": "doctor",
    "completion": "completion bash",
    "space": "space list",
    "token": "token add me --scope submit",
    "parked": "parked list",
    "prune": "prune feed --older-than 90d",
    "store": "store encrypt",
    "status": "status",
    "migrate": "migrate",
    "backup": "backup all.gz",
    "restore": "restore all.gz",
    "resume": "resume",
    "read": "read jsonl log.jsonl --actor a --target t --time t -o read.csv",
    "audit": "audit events.csv",
    "simulate": "simulate events.csv --policy policy.toml -o releases.csv",
    "compare": "compare events.csv",
    "learn": "learn events.csv -o learned.toml",
    "season": "season 7:12",
    "watch": "watch events.csv",
    "adoption": "adoption events.csv --policy policy.toml",
    "synth": "synth -o made.csv",
    "reproduce": "reproduce",
}
#: Those that cannot do anything without their extra.
NEEDED = {
    "page": "gateway",
    "serve": "gateway",
    "worker": "gateway",
    "audit": "study",
    "simulate": "study",
    "compare": "study",
    "watch": "study",
    "adoption": "study",
    "learn": "study",
    "worth": "study",
    "synth": "study",
    "reproduce": "paper",
}
PLAIN = """
import sys
for package in {packages}:
    sys.modules[package] = None  # as if it were not installed, for every process below this one too
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What each command answers where no extra is installed: exit code, and standard error."""
    folder = tmp_path_factory.mktemp("plain")
    packages = [package for extra in EXTRAS.values() for package in extra]
    (folder / "sitecustomize.py").write_text(PLAIN.format(packages=packages), encoding="utf-8")
    (folder / "policy.toml").write_text(FAST, encoding="utf-8")
    (folder / "events.csv").write_text("actor,target,time\na,b,1\n", encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TARRY_")}
    places = {"TARRY_HOME": folder / "home", "TARRY_DATABASE": folder / "gateway.db"}
    environment = {**kept, **{name: str(path) for name, path in places.items()}, "PYTHONPATH": str(folder)}
    environment["TARRY_KEY_FILE"] = str(folder / "key")

    def tarry(line):
        command = [sys.executable, "-m", "tarry", *line.split()]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        return subprocess.run(
            command, cwd=folder, env=environment, check=False, text=True, timeout=60, **pipes
        )

    tarry("space add talk --policy policy.toml")
    yield tarry
    Shell(folder, None).end_keepers()


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_of_a_plain_installation_ends_in_a_traceback(name, plain):
    done = plain(LINES[name])

    # Without encryption something is wrong, and tarry doctor is there to say so.
    assert done.returncode in ({0, 1} if name == "doctor" else {0, 2}), done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode == 2:
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("tarry")
    if name in NEEDED:
        extra = NEEDED[name]
        install = f"pip install '.[{extra}]' in a checkout of tarry"
        assert done.stderr == f"tarry {name}: this command needs the {extra} extra: {install}\n"


def test_every_extra_is_known_by_its_packages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    known = {name for packages in EXTRAS.values() for name in packages}

    assert set(EXTRAS) == set(extras) - {"all"}
    for needs in extras.values():
        for need in needs:
            distribution = need.partition(">")[0].partition("[")[0]
            package = distribution.replace("-", "_").removesuffix("_python")
            assert package in known | {"tarry"}
