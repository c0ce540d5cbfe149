"""The statements of the keeper: all of them used, all of them understood by both databases."""

import ast
import re
import sqlite3
from pathlib import Path

import psycopg
import pytest

import tarry.console
import tarry.gateway
import tarry.keep
from tarry.keep.postgres import _QUERIES as POSTGRES
from tarry.keep.postgres import PostgresStore
from tarry.keep.rows import KEEPER, migrations, queries
from tarry.keep.sqlite import SqliteStore, _in_order

SOURCES = [
    path
    for room in (tarry.keep, tarry.gateway, tarry.console)
    for path in Path(room.__file__).parent.rglob("*.py")
]
ROOMS = ("tarry.keep", "tarry.gateway")
CALL = re.compile(
    r'(?:\.(?:one|all|ask|run|many|tell)\(\s*|(?:read_one|read_all|has_answer)\((?:\s*[\w.]+,)+\s*)"(\w+)"'
    r'|(?:_QUERIES|_statements)\["(\w+)"\]'
)


def names_in_code():
    """Every name that the code asks for."""
    found = (match for path in SOURCES for match in CALL.finditer(path.read_text(encoding="utf-8")))
    return {name for match in found for name in match.groups() if name}


def texts_in_code():
    """Every text that stands in the code: a statement may be named in a table."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES)
    return {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def test_every_statement_is_used_and_every_used_one_exists():
    """What the code asks for is what the files hold; `many` finds the form for several rows by itself."""
    known = {name for dialect in ("sqlite", "postgres") for name in queries(dialect, ROOMS)}
    several = {name for name in known if name.removesuffix("_rows") in known - {name}}

    assert known - several - texts_in_code() == set()
    assert names_in_code() - known == set()


def test_both_databases_know_the_same_statements():
    """Only PostgreSQL has statements of its own: its locks, and inserts of several rows."""
    sqlite, postgres = set(queries("sqlite")), set(queries("postgres"))

    assert sqlite - postgres == set()
    assert all(re.fullmatch(r"lock\w*|insert_\w+_rows", name) for name in postgres - sqlite)


def test_both_databases_are_built_by_scripts_of_the_same_numbers():
    """Migrations are numbered from 1 on, alike in both."""
    numbers = list(migrations("sqlite"))

    assert numbers == list(migrations("postgres")) == list(range(1, len(numbers) + 1))


class Asked(dict):
    """Has whatever it is asked for, and remembers that."""

    def __missing__(self, name):
        self[name] = 1
        return 1


@pytest.mark.parametrize("name", sorted(queries("sqlite", ROOMS)))
def test_sqlite_understands(name):
    """SQLite finds every table, column and parameter that a statement names, and we the same ones."""
    store, by_name, in_order = SqliteStore(":memory:", ROOMS), Asked(), Asked()
    statement, pick = _in_order(store.statements[name])
    with store.transaction("working") as transaction:
        try:
            transaction._connection.execute(f"EXPLAIN {queries('sqlite', ROOMS)[name]}", by_name)
            transaction._connection.execute(f"EXPLAIN {statement}", pick(in_order))
        except sqlite3.Error as error:
            pytest.fail(f"{name}: {error}")
    assert in_order == by_name


def test_each_parameter_gets_its_own_value(monkeypatch):
    """In whatever order, however often, and however like another it is named."""
    text = "SELECT :b, :a, :b2, :b, '12:30'"
    monkeypatch.setitem(queries("sqlite", KEEPER), "odd", text)
    with SqliteStore(":memory:").transaction("reading") as transaction:
        assert tuple(transaction.one("odd", a=1, b=2, b2=3)) == (2, 1, 3, 2, "12:30")


def test_postgres_understands(postgres_server):
    """PostgreSQL parses every statement against the real tables."""
    dsn = postgres_server.new_schema()
    PostgresStore(dsn).close()
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
        for name, statement in POSTGRES.items():
            try:
                connection.execute(f"PREPARE {name} AS ".encode() + statement.text)
            except psycopg.Error as error:
                pytest.fail(f"{name}: {error}")
