"""A store of an earlier version is brought up to date when it is opened, and what waits in it leaves."""

import re
import sqlite3
import threading
from contextlib import closing

import psycopg
import pytest

from contracts.keeping import BATCHED, UNBATCHED, WINDOW, World, stiff_policy
from tarry.keep.keys import Keys, post_key, receipt_hash
from tarry.keep.postgres import PostgresStore
from tarry.keep.rows import migrations
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Anchor, last_past_tick
from tarry.testing import ManualClock

POLICY, KEYS = stiff_policy(), Keys(bytes(range(32)))
CLOSED = last_past_tick(ManualClock().wall, POLICY.tick)
#: Posts by target: state, ticks from arrival to release where that is known, and whether its arrival is.
POSTS = {
    "p1": ("waiting", None, True),
    "p2": ("waiting", None, True),
    "p3": ("waiting", 5, False),
    "p4": ("withdrawn", None, True),
    "": ("released", -5, False),
}


def secret_of(target: str) -> str:
    return f"the receipt of {target}"


def post_row(target: str) -> dict[str, object]:
    """A post as the first version wrote it."""
    state, delay, _ = POSTS[target]
    receipt, done = receipt_hash(secret_of(target)), state != "waiting"
    return {
        "id": post_key(receipt),
        "state": state,
        "target": "" if done else target,
        "outlet": "list",
        "options": None if done else b"{}",
        "content": None if done else target.encode(),
        "release": None if delay is None else CLOSED + delay,
        "receipt": receipt,
        "pseudonym": KEYS.pseudonym("ann", target) if state != "released" else None,
    }


def arrival_row(target: str) -> dict[str, object]:
    """Its arrival, in the last tick that has closed."""
    return {
        "id": post_key(receipt_hash(secret_of(target))),
        "actor": KEYS.actor("ann"),
        "pseudonym": KEYS.pseudonym("ann", target),
        "arrival": CLOSED,
        "declared": 0,
        "unbatched": 0,
        "batched": BATCHED["held"] - WINDOW,
        "period": "",
    }


def old_rows() -> list[tuple[str, dict[str, object]]]:
    """All that an old store holds."""
    anchor = Anchor.at(ManualClock().read()).columns
    settings = {"tick": "1", "window_ticks": WINDOW, "labels": "held", "personal": 0, "sealed": 0}
    return [
        ("migrations", {"number": 1}),
        ("clock", {"one": 1, **anchor, "closed": CLOSED}),
        ("settings", {"one": 1, **settings}),
        ("ledger", {"account": b"somebody", "period": "", "batched": 3}),
        *(("posts", post_row(target)) for target in POSTS),
        *(("arrivals", arrival_row(target)) for target, (*_, known) in POSTS.items() if known),
    ]


def insertion(table: str, row: dict[str, object], mark: str) -> str:
    """A statement that inserts a row."""
    values = ", ".join(mark.format(name) for name in row)
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})"  # noqa: S608 - our own names


@pytest.fixture
def old_file(tmp_path):
    """A file that the first script alone has built."""
    with closing(sqlite3.connect(tmp_path / "store")) as connection, connection:
        connection.executescript(migrations("sqlite")[1])
        connection.execute("CREATE TABLE migrations (number INTEGER PRIMARY KEY)")
        for table, row in old_rows():
            connection.execute(insertion(table, row, ":{}"), row)
    return lambda: SqliteStore(tmp_path / "store")


@pytest.fixture
def old_database(postgres_server):
    """The same in a database."""
    dsn = postgres_server.new_schema()
    with psycopg.connect(dsn) as connection:
        connection.execute(migrations("postgres")[1].encode())
        connection.execute("CREATE TABLE migrations (number BIGINT PRIMARY KEY)")
        for table, row in old_rows():
            connection.execute(insertion(table, row, "%({})s").encode(), row)
    return lambda: PostgresStore(dsn)


@pytest.fixture(params=["old_file", "old_database"])
def reopen(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def world(reopen):
    world = World(reopen, POLICY)
    yield world
    world.leave()


def test_what_waited_in_an_old_store_leaves(world):
    """Posts leave at the ticks that their old draws give; receipts, legacies and the ledger hold."""
    heir = world.admit(target="p4")
    states = [world.gate.status(secret_of(target)).state for target in POSTS]
    world.pass_ticks(20)

    batched = CLOSED + BATCHED["held"]
    assert states == [state for state, *_ in POSTS.values()]
    assert world.gate.status(heir.secret).release_at == batched
    assert dict(world.delivered) == {"p1": batched, "p2": batched, "p3": CLOSED + 5, "p4": batched}
    assert sum(row["batched"] for row in world.dump("ledger")) == 3 + 3
    assert [row["arrivals"] for row in world.dump("hours")] == [3]


def test_an_old_store_forgets_whose_waiting_posts_are(world):
    """Their receipts are not known, so nothing can be sealed; what was withdrawn keeps its heir."""
    rows, legacies = world.dump("posts"), world.rows("legacies")

    assert {row["pseudonym"] for row in rows} == {None}
    assert {post: bytes(row["pseudonym"]) for post, row in legacies.items()} == {
        post_row("p4")["id"]: KEYS.pseudonym("ann", "p4")
    }


def test_posts_of_an_old_store_are_withdrawn_and_depended_on_as_far_as_they_are_known(world):
    """While its arrival is known its repost inherits; afterwards it draws anew, once."""
    world.gate.withdraw(secret_of("p1"))
    heir = world.admit(target="p1")
    child = world.admit(target="p3", depends_on=secret_of("p3"))
    world.gate.withdraw(secret_of("p3"))
    again = world.admit(target="p3")

    assert heir.status.earliest == CLOSED + UNBATCHED["held"]
    assert child.status.earliest == CLOSED + 5
    assert world.rows("arrivals")[again.post]["arrival"] == CLOSED + 1


@pytest.mark.parametrize("of_one_person", [False, True])
def test_one_persons_own_old_store_still_knows_what_waits(tmp_path, old_file, of_one_person):
    """Its owner withdraws without receipts, and every post is theirs."""
    with closing(sqlite3.connect(tmp_path / "store")) as connection, connection:
        connection.execute("UPDATE settings SET personal = ?", (int(of_one_person),))
    old_file().close()
    with closing(sqlite3.connect(tmp_path / "store")) as connection:
        stored = connection.execute("SELECT pseudonym FROM posts WHERE target = 'p3'").fetchone()[0]

    assert stored == (KEYS.pseudonym("ann", "p3") if of_one_person else None)


def test_an_old_store_takes_new_posts(world):
    """A request that may come again, and one that may not, are accepted beside the old posts."""
    asked = [world.candidate("bob", secret="b" * 64, body=b"body")]
    first, again = world.send(asked, asked)
    world.pass_ticks(20)

    assert first == again
    assert world.gate.status("b" * 64).release_at == CLOSED + 1 + UNBATCHED["held"]


def test_a_store_is_brought_up_to_date_once(reopen):
    """However many open it at once, each script has run once, and nobody fails."""
    troubles, stores = [], []

    def visit():
        try:
            stores.append(reopen())
            stores[-1].close()
        except BaseException as error:  # noqa: BLE001 - raised below
            troubles.append(error)

    threads = [threading.Thread(target=visit) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    world = World(reopen, POLICY)
    numbers = sorted(row["number"] for row in world.dump("migrations"))
    world.leave()

    assert troubles == []
    assert numbers == list(migrations("sqlite"))


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_the_old_script_knows_nothing_of_the_new_columns(dialect):
    """Or these tests would build no old store."""
    script = re.sub(r"--.*", "", migrations(dialect)[1])

    assert not re.search(r"\b(body|paused|adoptions|hours|outlook|lockouts|legacies)\b", script)
