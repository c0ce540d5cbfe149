"""A database is as old as the scripts it has seen; opening it brings it up to date, never back."""

import pytest

from contracts.house import KINDS, POLICY, new_database
from tarry.core.errors import NotPossible
from tarry.gateway.config import Config
from tarry.gateway.gateway import Gateway
from tarry.gateway.keyfile import make_key
from tarry.gateway.migrations import applied, bring_up_to_date
from tarry.gateway.opening import open_database, open_gateway, opened
from tarry.gateway.spaces import add_space
from tarry.gateway.stores import ROOMS, open_store
from tarry.gateway.testing import small_gateway
from tarry.keep.errors import Unavailable
from tarry.keep.keys import Keys
from tarry.keep.postgres import PostgresStore
from tarry.keep.rows import KEEPER, migrations
from tarry.keep.sqlite import SqliteStore
from tarry.testing import ManualClock


@pytest.fixture(params=KINDS)
def where(request, tmp_path):
    return new_database(request, request.param, tmp_path)


def test_both_dialects_have_the_same_scripts():
    assert list(migrations("sqlite", ROOMS)) == list(migrations("postgres", ROOMS))


def test_a_new_database_gets_all_scripts_and_then_none(where):
    assert applied(where) == []
    assert bring_up_to_date(where) == (list(migrations("sqlite", ROOMS)),) * 2
    assert bring_up_to_date(where) == ([], list(migrations("sqlite", ROOMS)))


def test_an_older_database_gets_what_is_missing(where):
    (PostgresStore if where.startswith("postgres") else SqliteStore)(where, KEEPER).close()
    new, now = bring_up_to_date(where)

    assert new == [number for number in now if number > 1000]
    assert len(now) > len(new) > 0


def test_a_newer_database_is_refused_and_left_alone(where):
    store = open_store(where)
    with store.transaction("working"):
        store.connection().execute("INSERT INTO migrations (number) VALUES (1999)")
    store.close()

    for attempt in (bring_up_to_date, lambda where: open_database(Config(database=where))):
        with pytest.raises(NotPossible, match="written by a newer tarry"):
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
        applied(where)
    assert str(caught.value).startswith("the store cannot be opened: ")
    assert len(str(caught.value).splitlines()) == 1


def test_a_gateway_keeps_to_its_key(where, tmp_path):
    """Nobody would be known again under another one, and nothing could be opened."""
    config = Config(database=where, key_file=str(tmp_path / "key"))
    other = Config(database=where, key_file=str(tmp_path / "other"))
    with opened(config, make=True) as store, store.transaction("closing") as transaction:
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
