"""The version before migration 9 is replaced by this one, program by program, while people post and read.

Old programs go on at a database that a new one has brought up to date, and both release from it.
"""

import random
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from acceptance import gateway_process
from acceptance.gateway_process import free_ports, processes, running
from acceptance.test_gateway_kills import Run, check_everything, suffer
from tarry.gateway.database import applied_migrations

BEFORE = "efa44af17436"  # the last commit before migration 9
CHECKOUT = Path(__file__).resolve().parents[2]
PAUSE_S = 0.4

pytestmark = pytest.mark.needs("git")


@pytest.fixture(scope="module")
def old(tmp_path_factory) -> Path:
    """The sources of the version before, from the history of this checkout."""
    archive = ["git", "-C", str(CHECKOUT), "archive", BEFORE, "src"]
    done = subprocess.run(archive, check=False, capture_output=True)
    if done.returncode:
        pytest.skip(f"this checkout has no commit {BEFORE}")
    folder = tmp_path_factory.mktemp("old")
    # Not by Python: Debian's 3.11.2 knows no filters yet, and later ones warn where none is named.
    subprocess.run(["tar", "-xf", "-", "-C", str(folder)], check=True, input=done.stdout)
    return folder / "src"


def found_by(old: Path, folder: Path, where: str) -> str:
    """The old version makes the gateway; a token for everything."""
    code = "import sys, gateway_process as g; print(g.found_gateway(g.Path(sys.argv[1]), sys.argv[2]))"
    env = running(old)
    env["PYTHONPATH"] += f":{Path(gateway_process.__file__).parent}"
    command = [sys.executable, "-c", code, str(folder), where]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout.strip()


@contextmanager
def both(old: Path, folder: Path, where: str):
    """Programs of the old version first; whoever says "new" gets one of this version from then on."""
    with (
        processes(folder, where, source=old) as ask_old,
        processes(folder, where) as ask_new,
    ):
        owners = {}

        def ask(*words):
            if words[0] == "new":
                words = words[1:]
                owners[process := ask_new(*words)] = ask_new
                return process
            if words[0] in {"kill", "end"}:
                return owners[words[1]](*words)
            owners[process := ask_old(*words)] = ask_old
            return process

        yield ask


def roll(dice, ask, alive):
    """One program after the other ends, now and then by a kill, and one of this version takes its place."""
    for number in range(len(alive)):
        time.sleep(dice.uniform(0.5, 1) * PAUSE_S)
        what, argument, process = alive.pop(0)
        how = "kill" if what == "work" and number % 2 else "end"
        assert ask(how, process) == (-9 if how == "kill" else 0)
        alive.append((what, argument, ask("new", what, argument)))
    time.sleep(PAUSE_S)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("backend", ["postgres", "sqlite"])
def test_a_rolling_restart_loses_doubles_and_hastens_nothing(old, backend, tmp_path, request):
    """What either version has accepted leaves once, at one of its moments, by whichever of them."""
    if backend == "sqlite":
        where = str(tmp_path / "gateway.db")
    else:
        where = request.getfixturevalue("postgres_server").new_schema()
    run = Run(free_ports(2), found_by(old, tmp_path, where))
    before = applied_migrations(where)
    suffer(run, tmp_path, where, partial(roll, random.Random(backend)), programs=partial(both, old))

    assert (9 in before, 9 in applied_migrations(where)) == (False, True)
    assert len(run.accepted) > 20
    check_everything(run)
