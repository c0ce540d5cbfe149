"""`docs/limits.md`: beside each limit stands a command, which runs and shows it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tarry.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
PROSE = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
COMMAND = re.compile(r"\b[Rr]un\s+`([^`]+)`")
RUN = list(dict.fromkeys(COMMAND.findall(PROSE)))

#: What each command prints of its limits: something of each, where it stands beside several.
SHOWS = {
    "tarry season --gap 11m --window 5m --prior 0.5 --epsilon 1 1": ["0.731"],
    "tarry plan --epsilon 1 --gap 11m --window 5m": ["batched    11m       21m"],
    "tarry explain policy.toml": [
        "An act that in truth arrived later than in the story",
        "Which of two batches an act belongs to, batches merged into one, or moves inside the window",
        "an act that bridges two lone ones 1.5",
        "Style, content, network address, or times that a client or platform writes down itself",
        "the delays may show that it was not batched",
    ],
    "tarry audit month.parquet": ["of pairs of different actors ever act within 5m"],
    "tarry watch month.parquet": ["by dates alone", "searches for a name's other one"],
    "tarry season --gap 11m --window 5m 59:200 59:400": ["cosine, 59 blocks"],
    "tarry explain --epsilon 1 --gap 11m --labels declared": ["its time is not protected"],
    "tarry explain --epsilon 1 --gap 11m --labels follower": [
        "The first act of a burst: its own time is not protected",
        "The second and third act of a burst against each other: only at twice epsilon",
    ],
    "tarry explain --epsilon 1 --gap 11m --labels simultaneous": [
        "Acts at different ticks are not counted as batched, however close"
    ],
    "tarry explain --epsilon 1 --gap 11m --law label-free --labels none --delta 0.01": ["0.01 on top"],
    "tarry verify policy.toml": [
        "labels, draws and releases: no witness up to 3 events",
        "the sentence that explain prints: no witness up to 3 events",
        "at 3 moments in each",
    ],
    "tarry verify gaps.toml": ["no witness up to 3 events"],
    "tarry attest policy.toml --samples 20000": [
        "Not decidable from releases",
        "what is stored, logged or served beside the releases",
        "nine times in ten",
    ],
    "tarry worth pool": ["needs a delta of at least", "measured where somebody acts"],
    "tarry queue": ["nothing waits"],
    "TARRY_HOME=$PWD/other tarry queue": ["nothing waits"],
    "tarry delay policy.toml": ["."],
    "tarry delay policy.toml --batched": ["."],
    "tarry simulate month.parquet --policy policy.toml --seed 7 -o released.csv": ["released.csv"],
    "tarry simulate month.parquet --policy policy.toml --seed 7 -o seven.csv": ["seven.csv"],
    "tarry simulate month.parquet --policy policy.toml -o released.parquet": ["released.parquet"],
    "tarry learn month.parquet -o learned.toml": ["learned.toml"],
    "tarry adoption month.parquet --policy policy.toml": ["people take part"],
    "tarry audit month.parquet --among 1,2,3 --no-advice": [
        "claims are about acts on 3 named targets alone"
    ],
    "tarry reproduce impossibility": ["two-sided privacy without delta is impossible"],
    "tarry reproduce gallery": ["among them are Definition 1 read literally, Algorithm 3"],
    "tarry reproduce queue": [
        "One person's batches change the outputs",
        "leave side by side in the paper's queue",
    ],
    "tarry attest --gallery": ["drawn again after a repost 0.500", "drawn again at a restart 1.111"],
}


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
    """None is left out, and none that the page does not name is run."""
    ours = {
        command for command in RUN if "tarry " in command and not command.startswith(("scripts", "python"))
    }

    assert ours == {*SHOWS}


@pytest.mark.parametrize("command", SHOWS)
def test_a_command_shows_its_limit(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TARRY_HOME", str(folder / "home"))
    words = shlex.split(command)
    if "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        monkeypatch.setenv(name, value.replace("$PWD", str(folder)))

    assert main(words[1:]) == 0
    printed = capsys.readouterr()
    in_a_line = " ".join((printed.out + printed.err).split())
    assert [words for words in SHOWS[command] if words not in in_a_line and words not in printed.out] == []


@pytest.mark.needs_real_draws("two draws are compared")
def test_another_draw_is_another_number_and_a_batched_act_waits_for_the_gap(folder, monkeypatch, capsys):
    """Asking again until the number is short is a law of one's own; without its label it may leave now."""
    monkeypatch.chdir(folder)
    drawn = []
    for _ in range(6):
        assert main(["delay", "policy.toml", "--batched"]) == 0
        drawn.append(float(capsys.readouterr().out))

    assert len(set(drawn)) > 1
    assert min(drawn) >= 11 * 60


def test_what_a_seed_drew_it_draws_again(folder, monkeypatch, capsys):
    """Whoever knows the seed knows every delay."""
    monkeypatch.chdir(folder)
    command = shlex.split("simulate month.parquet --policy policy.toml --seed 7 -o")
    for name in ("once.csv", "again.csv"):
        assert main([*command, name]) == 0

    assert (folder / "once.csv").read_bytes() == (folder / "again.csv").read_bytes()


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
