"""Stores that the version before states were one column has written: they open, and what waits leaves.

`tests/fixtures/stores/make.py` wrote them, and `facts.json` says what that version itself made of them.
"""

import json
import shutil
from pathlib import Path

import psycopg
import pytest

from contracts.lockout_contract import LoginOutlet
from tarry.core.policy import Policy
from tarry.gateway.database import ROOMS
from tarry.keep.closing import close_ticks
from tarry.keep.errors import TooLate
from tarry.keep.gate import Gate
from tarry.keep.keys import Keys
from tarry.keep.postgres import PostgresStore
from tarry.keep.posts import Post
from tarry.keep.releaser import Releaser
from tarry.keep.rows import KEEPER, migrations
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Vault
from tarry.testing import ListOutlet, ManualClock

FOLDER = Path(__file__).parents[1] / "fixtures" / "stores"
FACTS = json.loads((FOLDER / "facts.json").read_text(encoding="utf-8"))
POLICY = Policy(epsilon="1", gap="80s", window="30s", tick="10s")
TICK_S, TICKS = 10, 150
BY_AUTHOR, BY_OPERATOR = "taken back by its author", "taken back by an operator"


def outlets():
    """An outlet for each fate; all of them work."""
    names = ("list", "idle", "refusing", "failing", "unanswered", "dying", "twice")
    once = {name: ListOutlet(delivery="at most once") for name in ("once-unanswered", "once-dying")}
    return {**{name: ListOutlet() for name in names}, **once, "wiki": LoginOutlet()}


def in_a_file(name):
    def opened(request):
        rooms = ROOMS if name == "shared" else KEEPER
        path = request.getfixturevalue("tmp_path") / "store.sqlite"
        shutil.copy(FOLDER / f"{name}.db", path)
        return SqliteStore(path, rooms), rooms

    return opened


def in_a_database(request):
    where = request.getfixturevalue("postgres_server").new_database()
    with psycopg.connect(where) as connection:
        connection.execute((FOLDER / "shared.postgres.sql").read_bytes())
    return PostgresStore(where, ROOMS), ROOMS


STORES = {
    "personal": ("personal", in_a_file("personal")),
    "personal, locked out": ("personal-locked-out", in_a_file("personal-locked-out")),
    "shared": ("shared", in_a_file("shared")),
    "shared, in PostgreSQL": ("shared", in_a_database),
}


class Reopened:
    """A store of the earlier version, opened by this one."""

    def __init__(self, facts, store, rooms):
        self.facts, self.store, self.rooms = facts, store, rooms
        now = facts["clock"]
        self.clock = ManualClock(now["wall"], now["steady"], now["boot"])
        self.outlets, self.keys = outlets(), Keys(bytes(range(32)))
        vault = Vault(store, self.keys, self.outlets, self.clock)
        self.gate, self.releaser = Gate(vault, POLICY), Releaser(vault)

    def status(self):
        """What each author is told."""
        told = {secret: self.gate.status(secret) for secret in self.facts["status"]}
        return {
            secret: {"state": s.state, "in_doubt": s.in_doubt, "earliest": s.earliest, "latest": s.latest}
            for secret, s in told.items()
        }

    def go_on(self):
        """Ticks close on time, dead workers are noticed, and what is due leaves."""
        for _ in range(TICKS):
            self.clock.sleep(TICK_S)
            with self.store.transaction("closing") as transaction:
                close_ticks(transaction, self.keys, self.clock)
            self.releaser.sweep()
            self.releaser.release()

    @property
    def delivered(self):
        """What has left, with its tick."""
        found = [release for outlet in self.outlets.values() for release in outlet.delivered]
        return sorted([release.target, int(release.at / TICK_S)] for release in found)


@pytest.fixture(params=STORES)
def reopened(request):
    name, opened = STORES[request.param]
    found = Reopened(FACTS[name], *opened(request))
    yield found
    found.store.close()


def test_an_earlier_store_is_brought_up_to_date(reopened):
    """It has seen every script there is."""
    with reopened.store.transaction("reading") as transaction:
        rows = transaction._connection.execute("SELECT number FROM migrations").fetchall()
    dialect = "postgres" if isinstance(reopened.store, PostgresStore) else "sqlite"

    assert sorted(row["number"] for row in rows) == list(migrations(dialect, reopened.rooms))


def test_authors_are_told_what_they_were_told_before(reopened):
    """State, doubt and both moments of every post."""
    assert reopened.status() == reopened.facts["status"]


def test_what_waits_leaves_once_at_its_tick_and_nothing_else_does(reopened):
    """As the earlier version would have it: what is parked stays, and what may have left still may."""
    reopened.go_on()
    then = reopened.facts["then"]

    assert reopened.delivered == then["delivered"]
    assert len({release.id for outlet in reopened.outlets.values() for release in outlet.delivered}) == len(
        then["delivered"]
    )
    assert reopened.status() == then["status"]


def test_a_post_in_doubt_cannot_be_taken_back(reopened):
    """Nobody may act as if it had not left; what has failed for certain is another matter."""
    doubted = [secret for secret, told in reopened.facts["status"].items() if told["in_doubt"]]
    refused = []
    for secret in ("failed", "in doubt", "in doubt, being delivered", "being delivered"):
        try:
            reopened.gate.withdraw(secret)
        except TooLate:
            refused.append(secret)

    assert doubted == ["in doubt", "in doubt, being delivered", "parked, may have left"]
    assert refused == ["in doubt", "in doubt, being delivered", "being delivered"]


def test_a_legacy_is_inherited(reopened):
    """Who posts again what they have taken back gets its moment, and not another one."""
    secret = BY_AUTHOR
    post = Post(actor=f"author of {secret}", target=f"on {secret}", outlet="list", content=b"again")
    before = reopened.gate.status(secret)

    assert reopened.gate.admit(post).status.latest == before.latest


def test_the_place_of_what_an_operator_took_back_can_be_used_by_its_author(reopened):
    """The receipt is enough, and its moment stays."""
    secret = BY_OPERATOR
    if secret not in reopened.facts["status"]:
        return  # one person's own store has no operator
    before = reopened.gate.status(secret)
    after = reopened.gate.replace(secret, b"something else")

    assert (after.state, after.latest) == ("waiting", before.latest)
