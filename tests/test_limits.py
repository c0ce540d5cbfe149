"""`docs/limits.md`: beside each limit stands a command, which runs and shows it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tarry.cli.main import COMMANDS, main, parser_of

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
PROSE = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
COMMAND = re.compile(r"\b[Rr]un\s+`([^`]+)`")
RUN = list(dict.fromkeys(COMMAND.findall(PROSE)))

#: What each cheap command prints of its limit.
SHOWS = {
    "tarry season --gap 11m --window 5m --prior 0.5 --epsilon 1 1": "0.731",
    "tarry plan --epsilon 1 --gap 11m --window 5m": "batched    11m       21m",
    "tarry explain policy.toml": "Which of two batches an act belongs to",
    "tarry audit month.parquet": "of pairs of different actors ever act within 5m",
    "tarry watch month.parquet": "by dates alone",
    "tarry season --gap 11m --window 5m 59:200 59:400": "cosine, 59 blocks",
    "tarry explain --epsilon 1 --gap 11m --labels declared": "its time is not protected",
    "tarry explain --epsilon 1 --gap 11m --labels follower": "The first act of a burst",
    "tarry explain --epsilon 1 --gap 11m --labels simultaneous": "Acts at different ticks",
    "tarry explain --epsilon 1 --gap 11m --law label-free --labels none --delta 0.01": "0.01 on top",
    "tarry verify policy.toml": "no witness up to 3 events",
    "tarry verify gaps.toml": "no witness up to 3 events",
    "tarry attest policy.toml --samples 20000": "Not decidable from releases",
    "tarry worth pool": "needs a delta of at least",
    "tarry queue": "nothing waits",
    "TARRY_HOME=$PWD/other tarry queue": "nothing waits",
    "tarry delay policy.toml": ".",
    "tarry delay policy.toml --batched": ".",
    "tarry simulate month.parquet --policy policy.toml --seed 7 -o released.csv": "released.csv",
    "tarry simulate month.parquet --policy policy.toml --seed 7 -o seven.csv": "seven.csv",
    "tarry simulate month.parquet --policy policy.toml -o released.parquet": "released.parquet",
    "tarry learn month.parquet -o learned.toml": "learned.toml",
    "tarry adoption month.parquet --policy policy.toml": "people take part",
    "tarry audit month.parquet --among 1,2,3 --no-advice": "claims are about acts on 3 named targets alone",
}
#: They take a minute or more.
DEAR = (
    "tarry reproduce impossibility",
    "tarry reproduce gallery",
    "tarry reproduce queue",
    "tarry attest --gallery",
)


def limits():
    """Each item of a list, and the paragraph before that list."""
    lead = ""
    for block in re.split(r"\n\n+", PROSE):
        if block.startswith("- "):
            yield from ((item, lead) for item in re.split(r"\n(?=- )", block))
        else:
            lead = block


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the page's first block makes, of a small month."""
    place = tmp_path_factory.mktemp("limits")
    begin = re.search(r"```sh\n(.*?)```", TEXT, flags=re.DOTALL).group(1)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(
        ["bash", "-euc", begin.replace("synth review", "synth review --events 600 --actors 40")],
        cwd=place,
        env={**os.environ, "PATH": path},
        check=True,
        capture_output=True,
    )
    return place


def test_every_limit_has_a_command():
    bare = [item for item, lead in limits() if not COMMAND.search(item) and not COMMAND.search(lead)]

    assert bare == []
    assert len(list(limits())) > 45


def test_every_command_is_tried_here():
    """One that is cheap is run, one that is dear is read."""
    ours = {
        command for command in RUN if "tarry " in command and not command.startswith(("scripts", "python"))
    }

    assert ours == {*SHOWS, *DEAR}


@pytest.mark.parametrize("command", SHOWS)
def test_a_cheap_command_shows_its_limit(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TARRY_HOME", str(folder / "home"))
    words = shlex.split(command)
    if "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        monkeypatch.setenv(name, value.replace("$PWD", str(folder)))

    assert main(words[1:]) == 0
    printed = capsys.readouterr()
    assert SHOWS[command] in " ".join((printed.out + printed.err).split()) or SHOWS[command] in printed.out


@pytest.mark.parametrize("command", DEAR)
def test_a_dear_command_can_be_typed(command):
    _, name, *words = shlex.split(command)

    assert parser_of(name, COMMANDS[name].place).read(words)


def test_tests_that_are_named_are_there():
    named = [shlex.split(command)[1:] for command in RUN if command.startswith("scripts/test ")]

    assert len(named) > 8
    for path, *only in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"def test_\w*{only[1] if only else ''}\w*\(", text), (path, only)


def test_the_other_commands_run():
    (bench,) = [shlex.split(command) for command in RUN if command.startswith("python bench/")]
    lines = [shlex.split(command) for command in RUN if command.startswith("python -c ")]

    assert (ROOT / bench[1]).exists()
    assert len(lines) == 2
    for line in lines:
        done = subprocess.run([sys.executable, *line[1:]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
