"""Stores that cannot be used for a while: the keeper waits, says so, recovers, and lets out what is due."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from acceptance import outage
from acceptance.outage import AWAY, BACK, Place, hurry, refusal_of, sit_through, wait_for
from contracts.postgres_server import PostgresServer
from tarry.keep import sqlite

#: Anybody may mount where user namespaces are permitted. They are not in a chroot: there root may.
NAMESPACES = (
    ["unshare", "--map-root-user", "--mount"],
    ["unshare", "--mount"],
    ["unshare", "--mount", "--propagation", "unchanged"],
)
TRY_TO_MOUNT = ["sh", "-c", 'mount -t tmpfs tarry "$1" && umount "$1"', "sh"]
LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch):
    hurry(monkeypatch.setattr)


@pytest.fixture
def place(tmp_path):
    """A store in a file."""
    (tmp_path / "house").mkdir()
    return Place(str(tmp_path / "house" / "store.db"))


@pytest.fixture(scope="module")
def server():
    """A PostgreSQL that is as careful as one in use."""
    server = PostgresServer(durable=True)
    try:
        server.start()
        yield server
    finally:
        server.remove()


def check_the_outage_left_no_mark(place):
    """It was told once, ended once, and only what was accepted has left."""
    assert len(place.heard(AWAY)) == 1
    assert len(place.heard(BACK)) == 1
    assert place.delivered() == ["after", "before"]


# --- SQLite ---------------------------------------------------------------------------------------


def test_a_database_that_another_process_locks_is_waited_for(place, monkeypatch):
    """A lock held for longer than SQLite waits is an outage like any other."""
    monkeypatch.setattr(sqlite, "_PATIENCE_MS", 1000)
    command = [sys.executable, "-c", LOCK, place.where]
    others = []

    def lock():
        place.let_go()  # the next connection is less patient
        others.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert others[0].stdout.readline() == b"locked\n"

    def unlock():
        others[0].communicate()

    refusal = sit_through(place, lock, unlock, tries=1)

    assert refusal == "the store cannot be used: database is locked"
    check_the_outage_left_no_mark(place)


def test_a_folder_that_goes_away_and_comes_back_is_waited_for(place):
    """Nothing is written to a store that was carried away, and none is made in its place."""
    house = Path(place.where).parent
    elsewhere = house.with_name("elsewhere")

    refusal = sit_through(place, lambda: house.rename(elsewhere), lambda: elsewhere.rename(house))

    assert refusal == "the store cannot be used: No such file or directory"
    check_the_outage_left_no_mark(place)


def test_a_file_that_goes_away_and_comes_back_is_waited_for(place):
    """The same holds when the file goes alone, with the log beside it."""
    house = Path(place.where).parent
    elsewhere = house.with_name("elsewhere")
    elsewhere.mkdir()

    def move(source, target):
        for file in source.iterdir():
            file.rename(target / file.name)

    refusal = sit_through(place, lambda: move(house, elsewhere), lambda: move(elsewhere, house))

    assert refusal == "the store cannot be used: No such file or directory"
    check_the_outage_left_no_mark(place)


def test_a_full_database_refuses_whole_admissions_and_still_releases(place, monkeypatch):
    """What does not fit has not happened, what was accepted leaves all the same, and room lets more in."""
    small = sqlite._PRAGMAS
    with place.keeper():
        place.admit("before")
        monkeypatch.setattr(sqlite, "_PRAGMAS", (*small, "max_page_count = 1"))
        place.let_go()
        refusal = refusal_of(place, "meanwhile", "and another", content=bytes(100_000))
        wait_for(place.delivered, "what was accepted leaves")
        monkeypatch.setattr(sqlite, "_PRAGMAS", small)
        place.let_go()
        place.admit("after", content=bytes(100_000))
        wait_for(lambda: len(place.delivered()) == 2, "what came after leaves")

    assert refusal == "the store cannot be used: database or disk is full"
    assert place.delivered() == ["after", "before"]
    assert posts_in(place.where) == 2


def posts_in(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT count(*) FROM posts").fetchone()[0]


# --- real disks -----------------------------------------------------------------------------------


@pytest.fixture
def suffer(tmp_path):
    """Runs an outage on a disk of its own; what it printed."""
    trials = ((each, subprocess.run([*each, *TRY_TO_MOUNT, tmp_path], check=False)) for each in NAMESPACES)
    namespace = next((each for each, trial in trials if trial.returncode == 0), None)
    if namespace is None:
        pytest.skip("NO DISK CAN BE MOUNTED HERE: user namespaces are not permitted, and we are not root")

    def run(what):
        command = [*namespace, sys.executable, outage.__file__, what, str(tmp_path)]
        tests = str(Path(outage.__file__).parents[1])
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": tests}
        )
        return done.stdout

    return run


def told_in(answer):
    """What was refused, told and delivered."""
    refusal, told, delivered = answer.splitlines()
    return refusal, told.split("|"), delivered


def test_a_full_disk_is_waited_for(suffer):
    """With no byte left nothing is accepted; with room again everything accepted leaves, and only that."""
    refusal, told, delivered = told_in(suffer("full"))

    assert refusal == "the store cannot be used: database or disk is full"
    # A failed write may give room back for a moment: it is told in turns, and ends well.
    assert [BACK in line for line in told] == [False, True] * (len(told) // 2)
    assert delivered == "after|before"


def test_a_keeper_whose_disk_fills_up_while_it_starts_says_so_and_waits_for_room(suffer):
    """It died without a word, and the act never left."""
    said = suffer("starting")

    assert said.startswith("the store '")
    assert said.endswith(AWAY)


def test_a_read_only_disk_is_waited_for(suffer):
    """A keeper that begins on a read-only disk waits until it can write."""
    refusal, told, delivered = told_in(suffer("read-only"))

    assert refusal == "the store cannot be used: unable to open database file"
    assert told == [f"{refusal}{AWAY}", BACK]
    assert delivered == "after|before"


# --- PostgreSQL -----------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_server_that_ends_and_begins_again_is_waited_for(server, end):
    """A server that was stopped, or whose plug was pulled, is waited for, and has lost nothing."""
    place = Place(server.new_schema())

    refusal = sit_through(place, getattr(server, end), server.start)

    assert refusal.startswith("the store cannot be used: ")
    check_the_outage_left_no_mark(place)
