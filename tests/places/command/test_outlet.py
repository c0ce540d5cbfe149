"""The command outlet meets the contract of outlets: what a program is given tells a release and no more."""

import os
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused
from tarry.keep.posts import Release
from tarry.places.command.outlet import CommandOutlet, command_options
from tarry.testing.outlets import OutletCase, OutletSuite

#: Writes down all that a program can see of how it was started.
LOOK = """
import json, os, sys
told = [sys.argv, dict(os.environ), sys.stdin.read(), os.getcwd(), os.umask(0), os.listdir("/proc/self/fd")]
with open(sys.argv[1], "a") as file:
    print(json.dumps(told), file=file)
sys.exit(int(sys.argv[2]))
"""


class CommandWorld:
    """A program that tells what it was given."""

    content = "Grüße".encode()

    def __init__(self, folder):
        self.seen, self.outputs = folder / "seen", folder / "output"
        (folder / "here").mkdir()
        self.outlet = CommandOutlet(self.outputs)
        self.options = {
            "argv": [sys.executable, "-c", LOOK, str(self.seen), "0"],
            "directory": str(folder / "here"),
            "environment": {"PATH": "/usr/bin:/bin", "WORD": "ä b"},
        }

    def sent(self):
        """What each run has seen."""
        return self.seen.read_text().splitlines() if self.seen.exists() else []

    def close(self):
        """Nothing is left running."""


class TestCommand(OutletSuite):
    """The command outlet meets the contract of outlets."""

    case = OutletCase(
        world=CommandWorld,
        undeliverable=[
            {"argv": []},
            {"argv": "ls"},
            {"argv": ["/no/such/program"]},
            {"argv": ["true", "\0"]},
            {"directory": "here"},
            {"directory": "/no/such/folder"},
            {"environment": None},
            {"umask": "022"},
            {"umask": 0o1000},
        ],
        troubles={
            "ends badly": (lambda world: world.options["argv"].__setitem__(-1, "3"), Refused),
            "has lost its folder": (lambda world: Path(world.options["directory"]).rmdir(), Refused),
        },
    )


@pytest.fixture
def run(tmp_path):
    """Runs words, as a releaser would; what they printed."""
    outlet = CommandOutlet(tmp_path / "output")

    def deliver(*argv, content=b"", directory=tmp_path, umask=None, **environment):
        kept = {"PATH": os.environ["PATH"], **environment}
        options = {"argv": list(map(str, argv)), "directory": str(directory), "environment": kept}
        options |= {} if umask is None else {"umask": umask}
        outlet.deliver(Release(id="ab", target="x", content=content, options=options, at=Fraction(0)))
        return (tmp_path / "output" / "ab").read_bytes()

    return deliver


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("exit 3", "the command ended with 3; what it printed is in {}"),
        ("kill -9 $$", "the command was ended by SIGKILL; what it printed is in {}"),
        ("kill -40 $$", "the command was ended by signal 40; what it printed is in {}"),
    ],
)
def test_a_command_that_fails_says_how_and_where_to_look(run, tmp_path, script, sentence):
    """The code or the signal is told, and what was printed before is there."""
    with pytest.raises(Refused) as told:
        run("sh", "-c", f"echo oh; {script}")

    assert str(told.value) == sentence.format(tmp_path / "output" / "ab")
    assert (tmp_path / "output" / "ab").read_text() == "oh\n"


def test_a_program_that_has_gone_meanwhile_is_told(run, tmp_path):
    """What was there at the admission, and is not at the release, cannot be started."""
    with pytest.raises(Refused, match=r"could not be started: .*gone' cannot be run: check its name"):
        run(tmp_path / "gone")


def test_a_directory_that_has_gone_meanwhile_is_told(run, tmp_path):
    """A command is not run anywhere else."""
    with pytest.raises(Refused, match="could not be started: there is no directory"):
        run("true", directory=tmp_path / "gone")


def test_a_program_that_is_no_program_is_told(run, tmp_path):
    """A file that may be executed, and cannot be, is the owner's to mend."""
    (tmp_path / "data").write_bytes(b"\x00\x01\x02")
    (tmp_path / "data").chmod(0o755)

    with pytest.raises(Refused, match="the command could not be started: Exec format error"):
        run("./data")


def test_a_file_that_may_not_be_executed_is_refused_at_once(tmp_path):
    """The check at admission looks at the rights of the file too."""
    (tmp_path / "script").write_text("#!/bin/sh\n")
    options = {"argv": ["./script"], "directory": str(tmp_path), "environment": {}}

    with pytest.raises(
        BadInput, match=r"'\./script' cannot be run: check its name, and that it may be executed"
    ):
        CommandOutlet(tmp_path / "output").check(options)


def test_a_program_is_found_as_a_shell_finds_it(run, tmp_path):
    """On the kept PATH, relative folders of it included, and from the kept directory."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mine").write_text('#!/bin/sh\necho "$0 $1"\n')
    (tmp_path / "bin" / "mine").chmod(0o755)

    assert run("mine", "x", PATH=f"/nowhere:bin:{os.environ['PATH']}").endswith(b"bin/mine x\n")
    assert run("bin/mine", "y").endswith(b"bin/mine y\n")


def test_a_big_output_lands_whole(run):
    """Nothing of what is printed is held in memory or lost."""
    assert run("sh", "-c", "head -c 3000000 /dev/zero") == bytes(3_000_000)


def test_content_that_is_not_read_is_no_failure(run):
    """A program that ends without reading its input has done what it was to do."""
    assert run("true", content=bytes(1_000_000)) == b""


def test_content_is_read_whole(run):
    """A big content arrives byte for byte, and then ends."""
    content = os.urandom(300_000)

    assert run("cat", content=content) == content


STAY = """
import os, time
if not (child := os.fork()):
    time.sleep(60)
    os._exit(0)
open("pid", "w").write(str(child))
print("left")
"""


def test_a_daemon_left_behind_does_not_hold_the_keeper(run, tmp_path):
    """A program that leaves a process behind, with its input unread and its output open, has ended."""
    began = time.monotonic()
    try:
        printed = run(sys.executable, "-c", STAY, content=bytes(1_000_000))
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

    assert printed == b"left\n"
    assert time.monotonic() - began < 30


def test_a_variable_that_is_not_set_cannot_be_kept():
    """Naming what is not there is a slip, and told."""
    with pytest.raises(BadInput, match="EDITOR is not set: set it, or leave out --env EDITOR"):
        command_options(["true"], Path("/"), {"PATH": "/bin"}, ["EDITOR"], umask=0)


@pytest.mark.parametrize("umask", [0o002, 0o027])
def test_a_program_makes_files_under_the_kept_umask(run, umask):
    """What it makes has the rights it would have had at the shell; a service of systemd has others."""
    assert int(run("sh", "-c", "umask", umask=umask), 8) == umask


def test_without_a_kept_umask_the_keepers_is_taken(run):
    """What was handed in before umasks were kept still runs."""
    mine = os.umask(0o077)
    try:
        assert int(run("sh", "-c", "umask"), 8) == 0o077
    finally:
        os.umask(mine)
