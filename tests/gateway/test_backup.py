"""Backups: every table as of one moment, private, paused; brought back into either kind of database."""

import sqlite3
import threading
from pathlib import Path

import pytest

from contracts.house import ALL_GONE, KINDS, House, new_database
from tarry.core.errors import BadInput, NotPossible
from tarry.gateway import backup
from tarry.gateway.backup import back_up, restore
from tarry.gateway.database import open_store
from tarry.gateway.gateway import Submission
from tarry.gateway.testing import new_token
from tarry.keep.errors import Paused
from tarry.keep.posts import Post
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import snapshot

TABLES = [
    *("adoptions", "arrivals", "book", "clock", "hours", "ledger", "legacies", "lockouts", "outlook"),
    *("posts", "releases", "settings", "spaces", "tokens", "versions"),
]


@pytest.fixture(params=KINDS)
def house(request, tmp_path):
    """A gateway in which nearly every table has rows, one of them more than a page."""
    house = House(new_database(request, request.param, tmp_path), spaces=("talk", "reviews"))
    new_token(house.gateway, "submit")
    house.admit_many(["ann", "bob"])
    house.admit_many(["ann", "bob"], "p2", "reviews")
    house.jump(4000)
    house.admit_many([f"actor {number}" for number in range(120)])
    house.jump(12)
    house.gateway.receipts.withdraw(house.admit().secret)
    with house.store.transaction("closing") as transaction:  # for an hour
        closed = snapshot(transaction).closed
        lockout = {"since": closed, "until": closed + 3600, "resumes": closed + 3601}
        transaction.tell("lock_out", account=house.gateway.keys.login("somebody"), **lockout)
    yield house
    house.store.close()


@pytest.fixture(params=KINDS)
def empty(request, tmp_path):
    """An empty database."""
    store = open_store(new_database(request, request.param, tmp_path, "empty"))
    yield store
    store.close()


def as_of(house, tables=TABLES):
    return {table: house.rows(table) for table in tables}


def paused(rows):
    """The same tables, as a backup has them."""
    return {**rows, "settings": [{**row, "paused": 1} for row in rows["settings"]]}


def test_what_comes_back_is_what_there_was_but_for_the_pause(house, empty, tmp_path):
    before = as_of(house)
    counts = back_up(house.store, tmp_path / "backup.db")
    again = restore(empty, tmp_path / "backup.db")

    other = House.__new__(House)
    other.store = empty
    assert as_of(other) == paused(before)
    assert as_of(house) == before
    assert counts == again == {table: len(rows) for table, rows in before.items()}
    assert [table for table in TABLES if not before[table]] == ["adoptions"]
    assert len(before["posts"]) > 120


def test_a_backup_is_one_private_file_that_nothing_lies_beside(house, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    back_up(house.store, folder / "b.db")

    assert [path.name for path in folder.iterdir()] == ["b.db"]
    assert (folder / "b.db").stat().st_mode & 0o777 == 0o600


def test_rows_lie_in_the_order_of_their_random_keys(house, tmp_path):
    """A server lays rows down as they come; a backup must not tell that order."""
    back_up(house.store, tmp_path / "b.db")
    with sqlite3.connect(tmp_path / "b.db") as connection:
        laid = [row[0] for row in connection.execute("SELECT id FROM posts ORDER BY rowid")]
    connection.close()

    assert laid == sorted(laid)
    assert len(laid) > 120


def test_a_backup_in_place_of_the_database_starts_paused(house, tmp_path):
    back_up(house.store, tmp_path / "b.db")
    other = House(str(tmp_path / "b.db"), house.clock, spaces=())

    post = Post(actor="ann", target="p1", outlet="", content=b"")
    with pytest.raises(Paused, match="restored from a backup"):
        other.gateway.admit([Submission(space="talk", posts=[post])])
    published = other.feed()
    other.jump(ALL_GONE)
    assert other.feed() == published
    other.store.close()


def test_a_backup_shows_one_moment_while_others_write(house, tmp_path, monkeypatch):
    """Posts and their arrivals are written together: a backup has both of them or neither."""
    monkeypatch.setattr(backup, "_PAGE", 10)
    pages, seen = backup._pages, []

    def slow_pages(source, table):
        for page in pages(source, table):
            # Somebody is accepted between two pages.
            if source is house.store and table.name in ("arrivals", "posts"):
                seen.append(table.name)
                if isinstance(house.store, SqliteStore):
                    _admit_from_outside(house)
                else:
                    _admit_in_a_thread(house)
            yield page

    monkeypatch.setattr(backup, "_pages", slow_pages)
    before = as_of(house, ["posts", "arrivals", "clock"])
    back_up(house.store, tmp_path / "b.db")
    other = House.__new__(House)
    other.store = SqliteStore(tmp_path / "b.db")

    assert len(seen) > 20
    assert as_of(other, ["posts", "arrivals", "clock"]) == before
    assert len(house.rows("posts")) >= len(before["posts"]) + 20
    other.store.close()


def _admit_in_a_thread(house):
    thread = threading.Thread(target=lambda: (house.admit("someone"), house.store.close()))
    thread.start()
    thread.join()


def _admit_from_outside(house):
    """As another process would: the threads of one take turns."""
    other = House(house.where, house.clock, spaces=(), store=open_store(house.where))
    thread = threading.Thread(target=lambda: (other.admit("someone"), other.store.close()))
    thread.start()
    thread.join()
    other.store.close()


def test_a_backup_is_never_written_over_another_file(house, tmp_path):
    (tmp_path / "b.db").write_text("precious")
    with pytest.raises(BadInput, match="already exists: write the backup to a new file"):
        back_up(house.store, tmp_path / "b.db")
    assert (tmp_path / "b.db").read_text() == "precious"


def test_where_nothing_can_be_written_it_says_so_and_leaves_nothing(house, tmp_path):
    with pytest.raises(Exception, match="make its folder first"):
        back_up(house.store, tmp_path / "none" / "b.db")
    assert not (tmp_path / "none").exists()


def test_a_backup_that_breaks_leaves_nothing(house, tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError

    monkeypatch.setattr(backup, "_copy", broken)
    with pytest.raises(RuntimeError):
        back_up(house.store, tmp_path / "b.db")
    assert not [path for path in tmp_path.iterdir() if "b.db" in path.name]


def test_nothing_is_backed_up_of_a_gateway_without_a_space(empty, tmp_path):
    with pytest.raises(NotPossible, match="nothing to back up"):
        back_up(empty, tmp_path / "b.db")


def test_a_database_in_use_is_not_restored_into(house, tmp_path):
    back_up(house.store, tmp_path / "b.db")
    before = as_of(house)
    with pytest.raises(BadInput, match=r"is not empty \(there are rows in "):
        restore(house.store, tmp_path / "b.db")
    assert as_of(house) == before


@pytest.mark.parametrize("content", [None, b"", b"no database at all", "another"])
def test_what_is_no_backup_is_refused(empty, tmp_path, content):
    path = tmp_path / "b.db"
    if content == "another":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE t (x)")
        connection.close()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(
        Exception, match=r"give a file that tarry backup has written|file is not a database"
    ):
        restore(empty, path)


def test_a_backup_of_a_newer_tarry_is_refused(tmp_path, empty):
    house = House(":memory:")
    back_up(house.store, tmp_path / "b.db")
    with sqlite3.connect(tmp_path / "b.db") as connection:
        connection.execute("INSERT INTO migrations VALUES (1999)")
    connection.close()
    with pytest.raises(NotPossible, match="a newer tarry has written this"):
        restore(empty, tmp_path / "b.db")


def test_a_backup_is_not_changed_by_bringing_it_back(tmp_path, empty):
    house = House(":memory:")
    back_up(house.store, tmp_path / "b.db")
    before = Path(tmp_path / "b.db").read_bytes()
    restore(empty, tmp_path / "b.db")

    assert (tmp_path / "b.db").read_bytes() == before
    assert not (tmp_path / "b.db-wal").exists()
