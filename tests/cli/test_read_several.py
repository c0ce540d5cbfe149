"""`tarry read` of an export in several files, and what is left when it is stopped: nothing."""

import csv
import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from tarry.cli.main import main

LINE = '{"by": "ann", "page": "Ulm", "at": 1714557600}\n'
WORDS = ["--actor", "by", "--target", "page", "--time", "at"]


def read(*words):
    """Run the command."""
    return main(["read", *map(str, words)])


def targets(path):
    """What was written."""
    with path.open(encoding="utf-8", newline="") as file:
        return [row["target"] for row in csv.DictReader(file)]


def wiki_dump(path, title, *, bad=0):
    """A dump of one page."""
    stamp = "<timestamp>2024-05-01T10:00:00Z</timestamp>"
    by = "<contributor><username>Ann</username></contributor>"
    revisions = [f"<revision>{stamp}{by}</revision>", *[f"<revision>{by}</revision>"] * bad]
    text = "\n".join(["<mediawiki>", f"<page><title>{title}</title>", *revisions, "</page></mediawiki>"])
    path.write_text(text)
    return path


def test_a_dump_in_pieces_is_read_as_one(tmp_path, capsys):
    """In the order that was given; faults tell file and line."""
    pieces = [
        wiki_dump(tmp_path / f"stub{number}.xml", f"Page {number}", bad=number) for number in range(3)
    ]

    assert read("wiki-dump", *pieces, "-o", tmp_path / "edits.csv") == 0
    told = capsys.readouterr()
    assert targets(tmp_path / "edits.csv") == ["Page 0", "Page 1", "Page 2"]
    assert told.out.startswith("3 events by 1 actor, ")
    assert told.err.splitlines()[-4:] == [
        "3 rows cannot be read and are left out:",
        "  line 4 of stub1.xml: time is missing",
        "  line 4 of stub2.xml: time is missing",
        "  line 5 of stub2.xml: time is missing",
    ]


def test_programs_are_told_the_file_too(tmp_path, capsys):
    """Where there are several."""
    pieces = [wiki_dump(tmp_path / f"stub{number}.xml", "p", bad=number) for number in range(2)]

    assert read("wiki-dump", *pieces, "-o", tmp_path / "edits.csv", "--json") == 0
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert faults == [{"file": "stub1.xml", "line": 4, "reason": "time is missing"}]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["git", "one.xml", "two.xml"],
            "tarry read git takes one SOURCE, not 2: read them one by",
        ),
        (["wiki-dump", "one.xml", "one.xml"], "one file of the dump in 2 files is given twice"),
        (["wiki-dump", "one.xml", "three.xml"], "the dump three.xml cannot be read"),
        (["wiki-dump", "one.xml", "half.xml"], "the dump half.xml must be well-formed XML in UTF-8"),
        (["wiki-dump", "empty.xml", "none.xml"], "the dump in 2 files has no events in it"),
    ],
)
def test_what_cannot_be_read_together_is_one_sentence(words, told, tmp_path, monkeypatch, capsys):
    """And nothing is written."""
    monkeypatch.chdir(tmp_path)
    for name in ("one.xml", "two.xml"):
        wiki_dump(tmp_path / name, "p")
    (tmp_path / "half.xml").write_text("<mediawiki><page>")
    for name in ("empty.xml", "none.xml"):
        (tmp_path / name).write_text("<mediawiki/>")

    assert read(*words, "-o", "edits.csv") == 2
    assert capsys.readouterr().err.startswith(f"tarry read: {told}")
    assert not list(tmp_path.glob("*edits.csv*"))


def test_progress_goes_over_all_files(tmp_path):
    """The first half is half, not all."""
    for name in ("1.jsonl", "2.jsonl"):
        (tmp_path / name).write_text(LINE * 20_000)
    mine, theirs = pty.openpty()
    words = [sys.executable, "-m", "tarry", "read", "jsonl", tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    ran = subprocess.run(
        [*words, *WORDS, "-o", tmp_path / "a.csv"],
        check=True,
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=60,
    )
    os.close(theirs)
    shown = os.read(mine, 1 << 16).decode()
    os.close(mine)

    share = int(shown.partition("%")[0].rpartition("K")[2])
    assert 0 < share <= 50
    assert ran.stdout.startswith(b"40,000 events by 1 actor, ")


def feed(child, folder):
    """Give it rows, and wait until it has begun to write."""
    child.stdin.write(LINE.encode() * 20_000)
    child.stdin.flush()
    until = time.monotonic() + 30
    while not list(folder.iterdir()):
        assert time.monotonic() < until
        assert child.poll() is None
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("ending", "number"),
    [
        (".csv", signal.SIGTERM),
        (".csv", signal.SIGHUP),
        (".parquet", signal.SIGTERM),
        (".parquet", signal.SIGINT),
    ],
)
def test_whoever_stops_it_finds_nothing_left(ending, number, tmp_path, usual_signals):
    """Also while it waits for a pipe that gives nothing any more."""
    words = [sys.executable, "-m", "tarry", "read", "jsonl", "-", *WORDS, "-o", tmp_path / f"a{ending}"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            feed(child, tmp_path)
            child.send_signal(number)
            assert child.wait(30) == 130
            assert child.stderr.read() == b""
        finally:
            child.kill()

    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_was_turned_off_stays_so(tmp_path):
    """As nohup does it."""
    words = [sys.executable, "-m", "tarry", "read", "jsonl", "-", *WORDS, "-o", tmp_path / "a.csv"]
    shell = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *words]
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            feed(child, tmp_path)
            child.send_signal(signal.SIGHUP)
            out, _ = child.communicate(timeout=30)
        finally:
            child.kill()

    assert (child.returncode, out.split()[0]) == (0, b"20,000")
