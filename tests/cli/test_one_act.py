"""One act on its way in, from the command line to the store: what it reads, and what it writes."""

import sys
import tomllib
from pathlib import Path

import pytest

from tarry.keep.sqlite import SqliteStore

RUN = ["run", "--target", "here", "--", "true"]
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "DROP", "VACUUM")
_OPENED: list[str] | None = None


def _note_opened(event, arguments):
    """An audit hook stays for good: it notes nothing but during a test."""
    if _OPENED is not None and event == "open" and isinstance(arguments[0], str | Path):
        _OPENED.append(str(arguments[0]))


sys.addaudithook(_note_opened)


@pytest.fixture
def opened(monkeypatch):
    """The files that are opened from now on."""
    monkeypatch.setattr(sys.modules[__name__], "_OPENED", [])
    return _OPENED


@pytest.fixture
def statements(monkeypatch):
    """The statements that SQLite is given from now on."""
    given, connect = [], SqliteStore._connect

    def traced(where):
        connection = connect(where)
        connection.set_trace_callback(given.append)
        return connection

    monkeypatch.setattr(SqliteStore, "_connect", staticmethod(traced))
    return given


def written_apart(statements):
    """The statements that write outside a transaction that says so."""
    apart, inside = [], False
    for statement in statements:
        word = statement.split()[0].upper()
        inside = {"BEGIN": True, "COMMIT": False, "ROLLBACK": False}.get(word, inside)
        if word in WRITES and not inside and "IF NOT EXISTS" not in statement:
            apart.append(statement)
    return apart


def test_an_act_is_accepted_in_one_transaction_that_writes(quiet, statements):
    """Stamp, draws, content and promise are written together, and nothing else is on the way."""
    quiet.ask(*RUN)
    statements.clear()

    quiet.ask(*RUN)

    assert statements.count("BEGIN IMMEDIATE") == 1
    assert statements.count("COMMIT") == statements.count("BEGIN") + 1
    within = statements[statements.index("BEGIN IMMEDIATE") :]
    assert [text.split()[2] for text in within if text.startswith("INSERT")] == ["posts", "arrivals"]
    assert written_apart(statements) == []


def test_an_act_reads_policy_and_key_once(quiet, opened, monkeypatch):
    """The file of each is opened once, and the policy is made of its text once."""
    quiet.ask(*RUN)
    opened.clear()
    read, loads = [], tomllib.loads
    monkeypatch.setattr(tomllib, "loads", lambda text, **how: read.append(text) or loads(text, **how))

    quiet.ask(*RUN)

    assert opened.count(str(quiet.home.policy_path)) == 1
    assert opened.count(str(quiet.home.key_path)) == 1
    assert len(read) == 1
