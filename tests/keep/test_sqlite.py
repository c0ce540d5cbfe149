"""What is special about a store in a file: other processes come and go, and files can be carried away."""

import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from contracts.keeping import World
from tarry.keep.errors import Unavailable
from tarry.keep.sharing import Snapshot
from tarry.keep.sqlite import SqliteStore

VISIT = """
import sys
from tarry.keep.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
with store.transaction("working") as transaction:
    numbers = [str(n) for n in range(9) if transaction.one("account", account=b"ann", period=str(n))]
store.close()
print(*numbers)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def write(store, number):
    with store.transaction("working") as transaction:
        transaction.run("charge", account=b"ann", period=str(number), batched=number)


def read(store, number):
    with store.transaction("reading") as transaction:
        return transaction.one("account", account=b"ann", period=str(number))


def visit(path):
    """Another process opens the store, reads, and closes it in good order."""
    words = [sys.executable, "-c", VISIT, path]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_a_log_in_use_outlives_a_visit_of_another_process(path):
    """With several threads at work, what is written after another process has come and gone is there."""
    store = SqliteStore(path)
    thread = threading.Thread(target=write, args=(store, 1))
    thread.start()
    thread.join()
    write(store, 2)
    before = visit(path)
    write(store, 3)
    after = visit(path)
    store.close()

    assert (before, after) == ("1 2\n", "1 2 3\n")


def test_the_log_is_emptied_although_others_read_all_the_time(path):
    """Readers take no turn, but each is short: whoever tidies up comes to an end between them."""
    store, ended, counts = SqliteStore(path), threading.Event(), [0, 0, 0]

    def read_on(number):
        while not ended.is_set():
            read(store, 1)
            counts[number] += 1
        store.close()

    threads = [threading.Thread(target=read_on, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        deadline = time.monotonic() + 60
        while not all(counts):
            assert time.monotonic() < deadline
        for number in range(5):
            write(store, number)
            while not store.clear_traces(last=True):
                assert time.monotonic() < deadline
            assert path.with_name("store.db-wal").stat().st_size == 0
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    store.close()


def test_whoever_reads_sees_the_last_commit_and_does_not_wait_for_the_next(path):
    """In the middle of a thread's transaction another thread reads what was there before it."""
    store, found = SqliteStore(path), []
    write(store, 1)
    reader = threading.Thread(target=lambda: found.extend([read(store, 1), read(store, 2)]), daemon=True)
    with store.transaction("working") as transaction:
        transaction.run("charge", account=b"ann", period="2", batched=2)
        reader.start()
        reader.join(60)
        waited = reader.is_alive()
    reader.join(60)
    store.close()

    assert not waited
    assert (found[0]["batched"], found[1]) == (1, None)


def test_a_file_that_was_carried_away_is_not_written_to(path):
    """Nothing is acknowledged by a file that nobody will find, and no empty one takes its place."""
    store = SqliteStore(path)
    write(store, 1)
    path.rename(path.with_name("elsewhere.db"))

    with pytest.raises(Unavailable, match="the store cannot be used: No such file or directory"):
        write(store, 2)
    assert not path.exists()


def test_a_file_that_took_the_place_of_another_is_the_store_from_then_on(path):
    """After a backup was put back, the store reads and writes that one."""
    backup = path.with_name("backup.db")
    SqliteStore(backup).close()
    store = SqliteStore(path)
    write(store, 1)
    for file in (path, path.with_name("store.db-wal"), path.with_name("store.db-shm")):
        file.unlink()
    backup.rename(path)
    write(store, 2)

    assert read(store, 1) is None
    assert read(store, 2)["batched"] == 2
    store.close()


def test_a_file_that_is_no_store_is_told_in_a_sentence(path):
    """Whatever lies there, nobody reads a traceback."""
    path.write_text("junk, and more of it than a header is long; " * 9)

    with pytest.raises(Unavailable, match="file is not a database"):
        SqliteStore(path)


def asked(world) -> list[str]:
    """The statements that one look at where the store stands takes, which must tell what its rows do."""
    seen = []
    with world.store.transaction("reading") as transaction:
        row = Snapshot.of(transaction.one("snapshot"))
        transaction._connection.set_trace_callback(seen.append)
        try:
            assert transaction.snapshot() == row
        finally:
            transaction._connection.set_trace_callback(None)
    return seen


@pytest.fixture
def world(path):
    world = World(lambda: SqliteStore(path))
    yield world
    world.leave()


def test_after_an_admission_the_next_one_need_not_ask_where_the_store_stands(world):
    """What an admission leaves behind holds as long as nobody writes."""
    world.admit("ann")

    assert asked(world) == ["PRAGMA data_version"]
    assert asked(world) == ["PRAGMA data_version"]


def test_whoever_writes_makes_the_next_one_ask(world, path):
    """Another connection, the same one, or one that gives up half-way: what was known holds no more."""

    def elsewhere():
        other = SqliteStore(path)
        with other.transaction("working") as transaction:
            transaction.tell("pause", paused=1)
        other.close()

    def here():
        with world.store.transaction("working") as transaction:
            transaction.tell("pause", paused=0)

    def half_way():
        with suppress(ZeroDivisionError), world.store.transaction("admitting") as transaction:
            transaction.tell("pause", paused=1)
            transaction.remember(transaction.snapshot())
            raise ZeroDivisionError

    def later():
        world.pass_ticks(1)

    for write_something in (here, later, half_way, elsewhere):
        world.admit("ann")
        assert len(asked(world)) == 1
        write_something()
        assert len(asked(world)) == 2, write_something.__name__
