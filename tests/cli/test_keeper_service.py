"""`tarry keeper install`: a unit that systemd reads as it was meant, and a word on what was done."""

import shlex
import subprocess
import sys

import pytest

from tarry.cli.keeper import unit

NAME = "tarry-keeper.service"
FAKE = """#!/bin/sh
echo "$@" >> "{log}"
exit {code}
"""


@pytest.fixture
def machine(shell, tmp_path, monkeypatch):
    """Gives the machine a systemctl that ends with a code, or none; what it was asked is in a file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()

    def prepare(code):
        if code is not None:
            program = tmp_path / "bin" / "systemctl"
            program.write_text(FAKE.format(log=tmp_path / "log", code=code))
            program.chmod(0o755)
        return tmp_path / "config" / "systemd" / "user" / NAME

    return prepare


def asked(tmp_path):
    """What systemctl was asked."""
    return (tmp_path / "log").read_text().splitlines()


def test_the_unit_is_written_and_started(shell, machine, tmp_path):
    """`install` writes the unit for this very store, and has systemd read and start it."""
    path = machine(code=0)
    code, out, err = shell.say("keeper", "install")
    lines = path.read_text().splitlines()

    assert (code, out, err) == (0, f"wrote {path} and started it\n", "")
    assert asked(tmp_path) == ["--user daemon-reload", f"--user enable --now {NAME}"]
    assert f'ExecStart="{sys.executable}" -P -m tarry keeper' in lines
    assert f'Environment="TARRY_HOME={shell.home.state}"' in lines
    assert {"Restart=always", "KillMode=mixed", "WantedBy=default.target"} <= set(lines)
    assert not shell.home.is_founded()


@pytest.mark.parametrize("code", [None, 1], ids=["no systemctl", "one that fails"])
def test_where_systemd_is_not_to_be_had_it_says_what_to_do(shell, machine, code):
    """The unit is written all the same, and the sentence tells how to start it."""
    path = machine(code)

    assert shell.say("keeper", "install") == (
        0,
        f"wrote {path}; start it with: systemctl --user enable --now {NAME}\n",
        "",
    )
    assert path.exists()
    assert shell.ask("keeper", "install") == {"unit": str(path), "started": False}


def test_the_unit_is_removed(shell, machine, tmp_path):
    """`remove` stops the service and takes the unit away; a second time it does no harm."""
    path = machine(code=0)
    shell.say("keeper", "install")

    assert shell.say("keeper", "remove") == (0, f"removed {path}\n", "")
    assert asked(tmp_path)[-1] == f"--user disable --now {NAME}"
    assert not path.exists()
    assert shell.say("keeper", "remove")[0] == 0


def test_the_old_spelling_still_works(shell, machine):
    """Scripts from before there were subcommands say --install and --remove."""
    path = machine(code=0)

    assert shell.ask("keeper", "--install") == {"unit": str(path), "started": True}
    assert shell.ask("keeper", "--remove") == {"unit": str(path), "started": False}


def test_signs_that_systemd_reads_are_escaped():
    """Quotes, backslashes and percent signs in paths arrive as they are."""
    text = unit('/a "b"/py', {"TARRY_HOME": "/50%\\x"})

    assert 'ExecStart="/a \\"b\\"/py" -P -m tarry keeper\n' in text
    assert 'Environment="TARRY_HOME=/50%%\\\\x"\n' in text


def test_the_unit_finds_the_store_from_anywhere(shell):
    """Places that were named are named to the service too, but for relative ones; nothing else is."""
    text = unit("/py", {"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "/c", "SECRET": "x"})
    places = [line for line in text.splitlines() if line.startswith("Environment")]

    assert places == ['Environment="XDG_CONFIG_HOME=/c"']


def test_nothing_in_the_home_folder_is_loaded(tmp_path):
    """A service starts there, and a file that has the name of a module must not break it."""
    (tmp_path / "tomllib.py").write_text("raise SystemExit('loaded')\n")
    start = unit(sys.executable, {}).partition("ExecStart=")[2].splitlines()[0]
    words = [*shlex.split(start), "--help"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_folder_that_cannot_be_written_is_named(shell, machine):
    """What stands in the way is told by its name, with exit code 2."""
    path = machine(code=0)
    path.parents[2].write_text("a file, not a folder")
    sentence = shell.refusal("keeper", "install")

    assert sentence.startswith(f"tarry: '{path.parents[2]}")
    assert "cannot be used: " in sentence
