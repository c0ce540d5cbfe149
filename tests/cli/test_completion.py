"""`tarry completion`: a shell that has read the script completes commands, subcommands and options."""

import os
import pty
import select
import subprocess
import time

import pytest

from tarry.cli.completion import SHELLS, script
from tarry.cli.main import COMMANDS

#: What bash calls when somebody presses the tabulator.
ASK = """
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_tarry
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """What bash offers after these words; the last one is only begun."""
    file = tmp_path_factory.mktemp("completion") / "tarry"
    file.write_text(script("bash"), encoding="utf-8")

    def ask(*words):
        command = f"source {file}\n" + ASK.format(words=" ".join(f"'{word}'" for word in ("tarry", *words)))
        answer = subprocess.run(
            ["bash", "--norc", "-ec", command], capture_output=True, text=True, check=True
        )
        return answer.stdout.split()

    return ask


def test_all_commands_are_offered(complete):
    assert set(COMMANDS) <= set(complete(""))


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ver"], ["verify"]),
        (["plan", "--eps"], ["--epsilon"]),
        (["plan", "policy.toml", "--eps"], ["--epsilon"]),
        (["space", "ad"], ["add"]),
        (["space", "add", "--pol"], ["--policy"]),
        (["space", "add", "talk", "--pol"], ["--policy"]),
        (["no-such-command", ""], []),
        (["audit", "month.par"], []),  # then bash offers files
    ],
)
def test_what_is_begun_is_completed(complete, words, offered):
    assert complete(*words) == offered


@pytest.mark.parametrize("shell", [pytest.param(name, marks=pytest.mark.needs(name)) for name in SHELLS])
def test_the_script_of_every_shell_can_be_read(tmp_path, shell):
    """Each shell reads its script without running it, and finds nothing wrong."""
    file = tmp_path / "script"
    file.write_text(script(shell), encoding="utf-8")

    check = subprocess.run([shell, "-n", str(file)], capture_output=True, text=True, check=False)

    assert (check.returncode, check.stderr) == (0, "")


@pytest.mark.needs("fish")
def test_fish_completes_what_is_begun(tmp_path):
    file = tmp_path / "tarry.fish"
    file.write_text(script("fish"), encoding="utf-8")
    asked = "; ".join(
        f"complete -C 'tarry {words}'" for words in ("verif", "space ad", "space add --pol", "plan --eps")
    )

    answer = subprocess.run(
        ["fish", "--no-config", "-c", f"source {file}; {asked}"], capture_output=True, text=True, check=True
    )

    assert [line.partition("\t")[0] for line in answer.stdout.splitlines()] == [
        "verify",
        "add",
        "--policy",
        "--epsilon",
    ]


@pytest.mark.needs("zsh")
@pytest.mark.server
def test_zsh_completes_what_is_begun(tmp_path):
    """At a terminal of its own: somebody types the beginning and presses the tabulator."""
    file = tmp_path / "_tarry"
    file.write_text(script("zsh"), encoding="utf-8")
    terminal, end = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"],
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
        env={**os.environ, "TERM": "dumb", "HOME": str(tmp_path)},
    )
    os.close(end)
    try:
        type_until(
            terminal, f"autoload -Uz compinit; compinit -u -D; source {file}; echo re''ady\n", "ready"
        )
        type_until(terminal, "tarry verif\t", "verify ")
        type_until(terminal, "\x15tarry space ad\t", "space add ")
        type_until(terminal, "\x15tarry space add --pol\t", "--policy ")
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)


def type_until(terminal, keys, expected):
    """Type, and wait until the terminal shows what is expected."""
    os.write(terminal, keys.encode())
    shown, end = "", time.monotonic() + 60
    while expected not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")


def test_fish_knows_every_command_with_its_summary():
    text = script("fish")

    assert all(f" -a {name} -d " in text for name in COMMANDS)


def test_options_that_are_not_shown_in_help_are_not_offered(complete):
    """What was spelled otherwise before is still read, and no longer offered."""
    assert "--until-empty" in complete("keeper", "run", "--")
    assert "--lock" not in complete("keeper", "run", "--")
