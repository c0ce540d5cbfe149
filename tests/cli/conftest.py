"""One's own store for the tests of commands, under a clock moved by hand or under the machine's own."""

import os

import pytest

from contracts.house import new_database
from contracts.operating import Operator
from contracts.shell import SLOW, Shell
from tarry.keep.sqlite import SqliteStore


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """A shell under the machine's own clock; keepers that its commands start are ended."""
    shell = Shell(tmp_path, capsys)
    monkeypatch.setenv("TARRY_HOME", str(shell.home.state))
    monkeypatch.delenv("TARRY_SMTP", raising=False)
    monkeypatch.chdir(tmp_path)
    yield shell
    shell.end_keepers()


@pytest.fixture
def quiet(shell, monkeypatch):
    """A shell whose clock stands still until it is moved, and whose commands start no keeper."""
    monkeypatch.setattr(SqliteStore, "clock", lambda store: shell.clock)
    monkeypatch.setattr("tarry.cli.personal_store._start_keeper", shell.started.append)
    shell.write_policy(SLOW)
    return shell


@pytest.fixture(params=["sqlite"])
def operator(request, tmp_path, monkeypatch, capsys):
    """An operator at a shell; tests that ask for it get a PostgreSQL database instead."""
    for name in [name for name in os.environ if name.startswith("TARRY_")]:
        monkeypatch.delenv(name)
    operator = Operator(tmp_path, new_database(request, request.param, tmp_path), capsys)
    monkeypatch.setenv("TARRY_DATABASE", operator.database)
    monkeypatch.setenv("TARRY_KEY_FILE", str(operator.key))
    monkeypatch.chdir(tmp_path)
    yield operator
    operator.end()
