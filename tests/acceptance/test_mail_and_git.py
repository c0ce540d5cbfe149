"""Two batched acts leave by a real mail server and a real git server, at the drawn ticks and not before.

A real keeper runs them, under a clock that is sixty times as fast as the system's.
"""

import sqlite3
import threading
import time
from bisect import bisect
from contextlib import contextmanager
from email.utils import parsedate_to_datetime

import pytest

from contracts.git_places import Repository, new_bare
from contracts.mail_server import MailServer
from contracts.scripted_entropy import Script
from tarry.core.policy import Policy
from tarry.keep.gate import Gate
from tarry.keep.keeper import Keeper
from tarry.keep.keys import Keys
from tarry.keep.posts import Post
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import MICROS, Reading, Vault
from tarry.places.git.outlet import Git, waiting_push
from tarry.places.mail.outlet import Mail

pytestmark = pytest.mark.needs("git")
SPEED = 60
DEADLINE_S = 60
POLICY = Policy(epsilon="1", gap="60s", window="5s", law="uniform")
START = 65  # ticks: batched delays begin here
ACTOR = "Ann with two pseudonyms"
KEYS = Keys(bytes(range(32)))


DUE = """SELECT count(*) FROM posts
WHERE state NOT IN ('released', 'withdrawn', 'parked', 'parked_in_doubt')
  AND release <= (SELECT closed FROM clock)"""


class FastClock:
    """Runs sixty times as fast as the system's clock, and remembers what it has told.

    It waits for a keeper that is behind: no tick is missed, so what was drawn is what happens, however slow
    the machine. To know where the keeper stands it looks into the store, as another process would.
    """

    def __init__(self, path):
        self._path, self._reading = path, threading.Lock()
        self._wall, self._began = time.time_ns() // 1000, time.monotonic_ns()
        self.moments, self.told = [], []  # of the system's clock, of this one

    def read(self, database=None):
        """Look at the clock."""
        with self._reading:
            gone = (time.monotonic_ns() - self._began) * SPEED // 1000
            before = self.told[-1] if self.told else self._wall
            now = max(before, min(self._wall + gone, self._limit()))
            self.moments.append(time.time_ns())
            self.told.append(now)
            return Reading(now, now - self._wall, "one run")

    def wait(self, event, seconds):
        """A sixtieth of the time."""
        return event.wait(seconds / SPEED)

    def at(self, moment_ns):
        """What it had told last at a moment of the system's clock."""
        return self.told[bisect(self.moments, moment_ns) - 1]

    def _limit(self):
        """The end of the tick after the one that the keeper has to close next; not past that one's own end
        while something is due or being delivered, which at this speed would take many ticks.
        """
        with look(self._path) as connection:
            rows = connection.execute("SELECT closed FROM clock").fetchall()
            due = connection.execute(DUE).fetchone()[0]
        return (rows[0][0] + (1 if due else 2)) * MICROS if rows else self._wall


@contextmanager
def look(path):
    """The store as another process sees it."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=DEADLINE_S)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def running(vault):
    """A keeper at work."""
    told = []
    keeper = Keeper(vault, tell=told.append)
    thread = threading.Thread(target=keeper.run)
    thread.start()
    try:
        yield told
    finally:
        keeper.stop()
        thread.join(DEADLINE_S)
    assert not thread.is_alive()


def wait_for(condition):
    """Until it is so."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def mail_server():
    """A real SMTP server."""
    with MailServer() as server:
        yield server


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A commit that waits, and a server that notes when it receives something."""
    monkeypatch.setenv("HOME", str(tmp_path))
    remote = new_bare(tmp_path / "remote.git")
    hook = remote / "hooks" / "post-receive"
    hook.write_text(f"#!/bin/sh\ndate +%s%N > {tmp_path / 'received'}\n")
    hook.chmod(0o755)
    repository = Repository(tmp_path / "mine", remote)
    repository.commit("a review")
    return repository


@pytest.fixture
def vault(tmp_path):
    """One person's own store, in a file."""
    store = SqliteStore(tmp_path / "store.sqlite")
    clock = FastClock(store.path)
    with store.transaction("closing") as transaction:
        begin_store(transaction, StoreSettings.of(POLICY, personal=True), clock)
    yield Vault(store, KEYS, {"mail": Mail(), "git": Git()}, clock)
    store.close()


def raw_bytes(folder):
    """The store's files as they lie on the disk, the write-ahead log included."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("store.sqlite*")))


def test_two_batched_acts_leave_at_their_ticks(vault, mail_server, repository, tmp_path):
    """A mail and a push of one person leave at the drawn ticks, dated so; no trace of an arrival stays."""
    letter = {"from": "nym@one.example", "to": ["chair@example.org"], "subject": "Paper 3"}
    letter["server"] = f"smtp://127.0.0.1:{mail_server.port}"
    push = waiting_push(repository.path, "origin", redate=True)
    # Alone the mail would wait 10 ticks and the push 20; as a batch they wait 5 and 95 beyond the start.
    gate = Gate(vault, POLICY, Script([10, 5, 20, 95]))

    with running(vault) as told:
        mail, pushed = gate.admit_many(
            [
                Post(actor=ACTOR, target=target, outlet=outlet, content=b"I agree.", options=options)
                for target, outlet, options in (("paper 3", "mail", letter), ("paper 4", "git", push))
            ]
        )
        with look(vault.store.path) as connection:
            (arrival,) = connection.execute("SELECT DISTINCT arrival FROM arrivals").fetchone()
        at_first = raw_bytes(tmp_path)
        wait_for(lambda: gate.status(mail.secret).state == gate.status(pushed.secret).state == "released")
        wait_for(lambda: not held(vault))
    vault.store.close()

    expected = [arrival + 5 + START + more for more in (5, 95)]
    assert [each.status.latest for each in (mail, pushed)] == expected
    assert [each.status.earliest for each in (mail, pushed)] == [arrival + 5 + 10, arrival + 5 + 20]
    assert [gate.status(each.secret).release_at for each in (mail, pushed)] == expected
    assert told == []  # no tick was missed, no delivery failed

    (received,) = mail_server.received
    assert parsedate_to_datetime(received.message["Date"]).timestamp() == expected[0]
    assert repository.log("origin/main", "%at %ct") == [f"{expected[1]} {expected[1]}"]

    pushed_ns = int((tmp_path / "received").read_text())
    assert received.at_ns < pushed_ns
    for moment, release in zip((received.at_ns, pushed_ns), expected, strict=True):
        assert vault.clock.at(moment) > release * MICROS
    assert vault.clock.at(received.at_ns) < expected[1] * MICROS

    at_last = raw_bytes(tmp_path)
    for trace in (KEYS.actor(ACTOR), arrival.to_bytes(4)):
        assert trace in at_first
        assert trace not in at_last
    assert ACTOR.encode() not in at_first + at_last


def held(vault):
    """Whether anything is left that tells an arrival."""
    with vault.store.transaction("working") as transaction:
        return transaction.one("busy_until")["arrivals"]
