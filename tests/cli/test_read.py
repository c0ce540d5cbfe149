"""`tarry read`: an export becomes a file that `tarry audit` reads; what is wrong is one sentence."""

import gzip
import io
import json
import os
import pty
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import polars as pl
import pytest

from tarry.cli import read
from tarry.cli.main import main
from tarry.core import plugins
from tarry.core.plugins import load_all
from tarry.readers.events import Event, Stream
from tarry.readers.faults import Faults
from tarry.readers.files import read_history

NAMES = ["Adelheid", "Balthasar", "Cunigunde", "SineBot"]


def dump_of(count, bad=0):
    """A stub-meta-history dump of some revisions, the last ones without a time."""
    lines = ["<mediawiki>"]
    for number in range(count + bad):
        moment = f"2024-05-{1 + number % 28:02}T10:{number % 60:02}:{number * 7 % 60:02}Z"
        stamp = f"<timestamp>{moment}</timestamp>" if number < count else ""
        lines.append(
            f"<page><title>Page {number % 5}</title><ns>0</ns><revision>{stamp}<contributor>"
            f"<username>{NAMES[number % 4]}</username></contributor></revision></page>"
        )
    return "\n".join([*lines, "</mediawiki>"])


@pytest.fixture
def dump(tmp_path):
    """A dump of forty revisions and two that are none."""
    path = tmp_path / "stub.xml.gz"
    path.write_bytes(gzip.compress(dump_of(40, bad=2).encode()))
    return path


def say(capsys, *words):
    """Run the command: its exit code and what it printed."""
    code = main([*map(str, words)])
    return code, *capsys.readouterr()


def refusal(capsys, *words):
    """The one sentence of a command that does nothing."""
    code, out, err = say(capsys, "read", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err.strip().removeprefix("tarry read: ")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_what_was_read_can_be_audited(ending, dump, tmp_path, capsys):
    """Without a word about its columns."""
    path = tmp_path / f"edits{ending}"
    code, out, err = say(capsys, "read", "wiki-dump", dump, "-o", path)

    assert code == 0
    assert out.splitlines() == [
        "40 events by 4 actors, 2024-05-01T10:00:00Z to 2024-05-28T10:27:09Z",
        f"written to {path}",
    ]
    assert err.splitlines() == [
        "note: times have a resolution of one second",
        "note: the dump does not tell who is a bot",
        "2 rows cannot be read and are left out:",
        "  line 42: time is missing",
        "  line 43: time is missing",
    ]
    code, out, err = say(capsys, "audit", path, "--no-advice", "--without-bots", "--json")
    told = json.loads(out)
    assert (code, told["events"], told["actors"], told["targets"]) == (0, 30, 3, 5)
    assert "10 events of bots are left out" in err  # by their names, which no column forbids


def test_the_answer_for_programs(dump, tmp_path, capsys):
    """Moments in seconds, faults with their lines."""
    code, out, err = say(capsys, "read", "wiki-dump", dump, "-o", tmp_path / "edits.csv", "--json")

    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "kind": "wiki-dump",
        "file": str(tmp_path / "edits.csv"),
        "events": 40,
        "actors": 4,
        "first_at": 1714557600,
        "last_at": 1716892029,
        "unreadable": 2,
        "faults": [{"line": 42, "reason": "time is missing"}, {"line": 43, "reason": "time is missing"}],
        "notes": ["times have a resolution of one second", "the dump does not tell who is a bot"],
    }


def test_standard_input_is_read(dump, tmp_path, monkeypatch, capsys):
    """Packed as it comes."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(dump.read_bytes())))

    assert say(capsys, "read", "wiki-dump", "-", "-o", tmp_path / "edits.csv")[0] == 0
    assert len(read_history(tmp_path / "edits.csv")) == 40


def test_a_damaged_export_leaves_no_file(tmp_path, capsys):
    """One sentence with the line, and nothing written."""
    (tmp_path / "stub.xml").write_text(dump_of(40)[:-30])

    told = refusal(capsys, "wiki-dump", tmp_path / "stub.xml", "-o", tmp_path / "edits.parquet")
    assert told.startswith(
        "the dump stub.xml must be well-formed XML in UTF-8, and has an end that comes too early"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["stub.xml"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("<mediawiki/>", "has no events in it"),
        (
            dump_of(0, bad=3),
            "must have rows that can be read, and has none among 3: the first fault is in line 2",
        ),
    ],
)
def test_an_export_without_events_leaves_no_file(content, told, tmp_path, capsys):
    """No command can do anything with an empty one."""
    (tmp_path / "stub.xml").write_text(content)

    found = refusal(capsys, "wiki-dump", tmp_path / "stub.xml", "-o", tmp_path / "edits.csv")
    assert found.startswith(f"the dump stub.xml {told}")
    assert [path.name for path in tmp_path.iterdir()] == ["stub.xml"]


def test_a_file_that_is_there_stays_unless_that_is_said(dump, tmp_path, capsys):
    """Nothing is read before that is known."""
    (tmp_path / "edits.csv").write_text("mine")
    words = ["wiki-dump", dump, "-o", tmp_path / "edits.csv"]

    assert "already exists" in refusal(capsys, *words)
    assert (tmp_path / "edits.csv").read_text() == "mine"
    assert say(capsys, "read", *words, "--force")[0] == 0
    assert len(read_history(tmp_path / "edits.csv")) == 40


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["wikidump", "a"], "unknown reader 'wikidump': use wiki-dump, wiki, stack-exchange, git, "),
        (
            ["wiki-dump", "a", "--category", "P"],
            "--category does not go with tarry read wiki-dump",
        ),
        (
            ["git", ".", "--mempool"],
            "--mempool does not go with tarry read git: leave it out: it belongs to bitcoin",
        ),
        (["jsonl", "a", "--actor", "x"], "tarry read jsonl has no --target: give --target WAY"),
        (
            ["wiki-dump", "nothing.xml"],
            "the dump nothing.xml cannot be read (no such file)",
        ),
        (
            ["bitcoin", "http://127.0.0.1:1", "--login", "none"],
            "the login file 'none' cannot be read (No such file",
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence(words, told, tmp_path, monkeypatch, capsys):
    """What, the rule, what was found, what to do."""
    monkeypatch.chdir(tmp_path)

    assert refusal(capsys, *words, "-o", "a.csv").startswith(told)
    assert list(tmp_path.iterdir()) == []


def test_the_help_names_every_kind_and_what_its_source_is():
    """The page of commands is made from it."""
    for name, kind in load_all("reader").items():
        assert re.search(rf"^  {name} +{re.escape(kind.summary)}$", read.__doc__, re.MULTILINE), name


@pytest.fixture
def install(monkeypatch, tmp_path):
    """Pretends that a package with a reader is installed."""
    code = """
from tarry.core.plugins import Option
from tarry.readers.events import Event, Stream
from tarry.readers.faults import Faults
from tarry.readers.kind import ReaderKind

def read_pigeons(source, *, colour="grey"):
    return Stream([Event(colour, source, 0)], Faults("the loft"))

colours = (Option(flag="colour", metavar="COLOUR", help="of the pigeon"),)
READER = ReaderKind(name="pigeons", summary="a loft", read="pigeon_package:read_pigeons", options=colours)
"""
    (tmp_path / "pigeon_package.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)

    def installed(value):
        entry = EntryPoint(name="pigeons", value=value, group="tarry.readers")
        monkeypatch.setattr(plugins, "entry_points", lambda group: [entry] if group == entry.group else [])

    yield installed
    sys.modules.pop("pigeon_package", None)


def test_the_reader_of_an_installed_package_joins_with_its_options(install, tmp_path, capsys):
    """It is in the help and reads like ours."""
    install("pigeon_package:READER")

    assert say(capsys, "read", "pigeons", "loft", "--colour", "white", "-o", "a.csv")[0] == 0
    assert read_history(tmp_path / "a.csv").frame["actor"].to_list() == ["white"]
    assert "--colour COLOUR" in say(capsys, "read", "--help")[1]
    refused = refusal(capsys, "git", ".", "--colour", "white", "-o", "b.csv")
    assert "--colour does not go with tarry read git: leave it out: it belongs to pigeons" in refused


def test_a_package_that_cannot_be_loaded_keeps_nobody_from_reading(install, tmp_path, capsys):
    """Only who names it is told why."""
    install("pigeon_package:NOTHING")
    (tmp_path / "acts.jsonl").write_text('{"by": "ann", "page": "p", "ts": 1714557600}')

    words = ["--actor", "by", "--target", "page", "--time", "ts"]
    assert say(capsys, "read", "jsonl", "acts.jsonl", *words, "-o", "a.csv")[0] == 0
    assert "the reader 'pigeons' (pigeon_package:NOTHING) cannot be loaded" in refusal(
        capsys, "pigeons", "loft", "-o", "b.csv"
    )


@pytest.mark.parametrize("name", ["READER", "read_pigeons"])
def test_code_that_is_not_installed_is_run_where_that_is_allowed(install, tmp_path, capsys, name):
    """By its descriptor, or by its function; without --allow-code nothing of it is loaded."""
    words = [f"pigeon_package:{name}", "loft", "-o", "a.csv"]

    assert "is code that is not installed" in refusal(capsys, *words)
    assert "pigeon_package" not in sys.modules
    assert say(capsys, "read", *words, "--allow-code")[0] == 0
    assert read_history(tmp_path / "a.csv").frame["target"].to_list() == ["loft"]


def test_other_kinds_are_reached_with_their_options(tmp_path, capsys):
    """Lines of JSON with a mapping, and comments of a dump that tells its own account from people's."""
    lines = [
        '{"by": {"id": 7}, "page": "p", "ts": 1714557600}',
        '{"by": {"id": 8}, "page": "q", "ts": 1714557660}',
    ]
    (tmp_path / "acts.jsonl").write_text("\n".join(lines))
    (tmp_path / "Comments.xml").write_text(
        '<comments><row PostId="4" UserId="-1" CreationDate="2024-05-01T10:00:00.5" /></comments>'
    )

    words = ["--actor", "by.id", "--target", "page", "--time", "ts", "--time-unit", "s"]
    assert say(capsys, "read", "jsonl", tmp_path / "acts.jsonl", *words, "-o", tmp_path / "a.csv")[0] == 0
    assert read_history(tmp_path / "a.csv").frame["actor"].to_list() == ["7", "8"]
    assert (
        say(capsys, "read", "stack-exchange", tmp_path / "Comments.xml", "-o", tmp_path / "b.parquet")[0]
        == 0
    )
    assert pl.read_parquet(tmp_path / "b.parquet").rows() == [("-1", "4", 1714557600500000, "", True)]


def test_a_login_comes_from_a_file_and_is_never_shown(tmp_path, monkeypatch, capsys):
    """On the command line everybody on the machine could read it."""
    asked = []

    def read_bitcoin(node, **options):
        asked.append((node, options))
        return Stream([Event("1a", "1b", 0)], Faults("the node"))

    monkeypatch.setattr("tarry.places.bitcoin.reader.read_bitcoin", read_bitcoin)
    login, node = tmp_path / "login", "http://127.0.0.1:8332"
    words = ["bitcoin", node, "--login", login, "--blocks", "1-2", "--mempool", "-o", tmp_path / "a.csv"]
    login.touch(0o600)
    login.write_text("ann:s3:cret\n")

    assert say(capsys, "read", *words)[0] == 0
    assert asked == [(node, {"login": ("ann", "s3:cret"), "blocks": "1-2", "mempool": True})]
    for content in ("s3cret", ":s3cret", "ann:", "ann:s3cret\nbob:other", ""):
        login.write_text(content)
        told = refusal(capsys, *words, "--force")
        assert told == f"the login file {str(login)!r} does not hold user:password: write it in one line"
    login.write_text("ann:s3:cret\n")
    for rights in (0o640, 0o604, 0o620):
        login.chmod(rights)
        told = refusal(capsys, *words, "--force")
        assert told == (
            f"the login file must be closed to everybody else, not have rights {rights:o}: "
            f"chmod go= {str(login)!r}"
        )
    assert len(asked) == 1


def test_one_is_not_several(tmp_path, capsys):
    """One event, one actor, one row."""
    (tmp_path / "stub.xml").write_text(dump_of(1, bad=1))
    code, out, err = say(capsys, "read", "wiki-dump", tmp_path / "stub.xml", "-o", tmp_path / "edits.csv")

    assert code == 0
    assert out.startswith("1 event by 1 actor, 2024-")
    assert "\n1 row cannot be read and is left out:\n" in err


def test_progress_is_shown_on_a_terminal_alone(dump, tmp_path):
    """How much of the file, and how many events; the line is gone at the end."""
    (tmp_path / "stub.xml").write_text(dump_of(4000))
    mine, theirs = pty.openpty()
    words = [
        sys.executable,
        "-m",
        "tarry",
        "read",
        "wiki-dump",
        tmp_path / "stub.xml",
        "-o",
        tmp_path / "a.csv",
    ]
    ran = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=theirs, timeout=60)
    os.close(theirs)
    shown = os.read(mine, 1 << 16).decode()
    os.close(mine)

    assert "%  100 events" in shown
    assert shown.count("\r\033[K") >= 2
    assert ran.stdout.startswith(b"4,000 events by 4 actors")
