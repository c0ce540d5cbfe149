"""A gateway's database: its address is checked, no password is shown, and opening brings it up to date."""

from pathlib import Path

import pytest

from contracts.house import KINDS, POLICY, new_database
from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.config import Config
from tarry.gateway.database import (
    ROOMS,
    applied_migrations,
    database_path,
    make_key,
    migrate,
    open_database,
    open_gateway,
    open_store,
    opened_database,
)
from tarry.gateway.gateway import Gateway
from tarry.gateway.space_changes import add_space
from tarry.gateway.testing import small_gateway
from tarry.keep.errors import Unavailable
from tarry.keep.keys import Keys
from tarry.keep.postgres import PostgresStore
from tarry.keep.rows import KEEPER, migrations
from tarry.keep.sqlite import SqliteStore
from tarry.testing import ManualClock

PASSWORD = "hunter2"  # noqa: S105 - of nothing


@pytest.mark.parametrize(
    "where",
    [
        f"postgresql://postgres:{PASSWORD}@[bad/x",
        f"postgresql+psycopg://u:{PASSWORD}@h/x",
        f"mysql://u:{PASSWORD}@h/x",
        f"POSTGRESQL://u:{PASSWORD}@h/x",
    ],
)
@pytest.mark.parametrize(
    "attempt", [applied_migrations, open_store, lambda where: open_database(Config(database=where))]
)
def test_an_address_that_cannot_be_one_is_refused_without_its_password(where, attempt):
    with pytest.raises(
        BadInput, match=r"a database must be a SQLite file|the address of the database"
    ) as caught:
        attempt(where)
    assert PASSWORD not in str(caught.value)


def test_a_broken_url_is_not_quoted_by_the_store_itself():
    with pytest.raises(BadInput) as caught:
        PostgresStore(f"postgresql://postgres:{PASSWORD}@[bad/x")
    assert PASSWORD not in str(caught.value)


def test_a_path_is_a_path_with_sqlite_before_it_or_without():
    assert database_path("sqlite:///srv/g.db") == database_path("/srv/g.db") == Path("/srv/g.db")
    assert database_path("a:b/c.db") == Path("a:b/c.db")
    assert database_path("postgres://db/x") is database_path("postgresql://db/x") is None


@pytest.mark.parametrize(
    ("rights", "is_fine"), [(0o600, True), (0o660, True), (0o644, False), (0o602, False)]
)
def test_a_database_that_others_may_read_or_write_is_refused(tmp_path, rights, is_fine):
    config = Config(database=str(tmp_path / "g.db"))
    open_database(config, make=True).close()
    (tmp_path / "g.db").chmod(rights)
    if is_fine:
        open_database(config).close()
        return
    with pytest.raises(BadInput, match=rf"others can read the database .* \(mode {rights:o}\): chmod o= "):
        open_database(config)


@pytest.fixture(params=KINDS)
def where(request, tmp_path):
    return new_database(request, request.param, tmp_path)


def test_both_dialects_have_the_same_scripts():
    assert list(migrations("sqlite", ROOMS)) == list(migrations("postgres", ROOMS))


def test_a_new_database_gets_all_scripts_and_then_none(where):
    assert applied_migrations(where) == []
    assert migrate(where) == (list(migrations("sqlite", ROOMS)),) * 2
    assert migrate(where) == ([], list(migrations("sqlite", ROOMS)))


def test_an_older_database_gets_what_is_missing(where):
    (PostgresStore if where.startswith("postgres") else SqliteStore)(where, KEEPER).close()
    new, now = migrate(where)

    assert new == [number for number in now if number > 1000]
    assert len(now) > len(new) > 0


def test_a_newer_database_is_refused_and_left_alone(where):
    store = open_store(where)
    with store.transaction("working"):
        store.connection().execute("INSERT INTO migrations (number) VALUES (1999)")
    store.close()

    for attempt in (migrate, lambda where: open_database(Config(database=where))):
        with pytest.raises(NotPossible, match="a newer tarry has written this"):
            attempt(where)


def test_only_what_may_make_a_database_makes_one(tmp_path):
    config = Config(database=str(tmp_path / "new.db"), key_file=str(tmp_path / "key"))
    for attempt in (open_database, open_gateway):
        with pytest.raises(NotPossible, match=r"there is no database .*: tarry space add makes one"):
            attempt(config)
    assert list(tmp_path.iterdir()) == []

    open_database(config, make=True).close()
    with pytest.raises(NotPossible, match="there is no key file"):
        open_gateway(config)


@pytest.mark.parametrize("where", ["postgresql://nobody@/none?host=/nowhere", "broken.db"])
def test_what_cannot_be_opened_is_unavailable_in_one_line(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.db").write_text("no database at all")
    with pytest.raises(Unavailable) as caught:
        applied_migrations(where)
    assert str(caught.value).startswith("the store cannot be opened: ")
    assert len(str(caught.value).splitlines()) == 1


def test_a_gateway_keeps_to_its_key(where, tmp_path):
    """Nobody would be known again under another one, and nothing could be opened."""
    config = Config(database=where, key_file=str(tmp_path / "key"))
    other = Config(database=where, key_file=str(tmp_path / "other"))
    with opened_database(config, make=True) as store, store.transaction("closing") as transaction:
        add_space(transaction, make_key(config.key_file), ManualClock(), "talk", POLICY)
    make_key(other.key_file)

    for _ in range(2):
        with pytest.raises(NotPossible, match="this key is not the one that this store was begun with"):
            open_gateway(other)
        open_gateway(config).store.close()


def test_a_store_that_has_no_mark_yet_takes_the_first_key(where):
    """One of an earlier version."""
    gateway = small_gateway(store=open_store(where))
    with gateway.store.transaction("working"):
        gateway.store.connection().execute("UPDATE settings SET fingerprint = NULL")
    Gateway(gateway.store, gateway.keys)

    with pytest.raises(NotPossible, match="this key is not"):
        Gateway(gateway.store, Keys(bytes(32)))
    gateway.store.close()
