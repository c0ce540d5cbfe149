"""What a thief of a gateway's database, or of a backup, finds in it; and what public answers look at."""

import asyncio
import contextlib
import random
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from contracts.asgi import call
from contracts.watching import PUBLIC, SELDOM
from tarry.core.policy import Policy
from tarry.gateway.app import create_app
from tarry.gateway.backup import back_up
from tarry.gateway.catalog import token_hash
from tarry.gateway.database import open_store
from tarry.gateway.gateway import Gateway, Submission
from tarry.gateway.space_changes import add_space
from tarry.gateway.testing import new_token
from tarry.keep.closing import close_ticks
from tarry.keep.keys import Keys, post_key, receipt_hash
from tarry.keep.releaser import Releaser
from tarry.keep.sqlite import SqliteStore
from tarry.testing import ManualClock

#: Ticks so short, and gaps so long, that arrivals and draws are numbers found nowhere else.
POLICY = Policy(epsilon="1", gap="20h", window="2s", tick="0.000001s")
TWO_HOURS = 7200
WEEK_S = 7 * 24 * 3600
SECRET = {"posts", "arrivals", "ledger", "adoptions", "hours", "outlook", "clock", "settings", "lockouts"}
SECRET |= {"legacies"}
HASHES = {"an actor's hash", "a pseudonym's hash", "an arrival", "a draw"}


class House:
    """A gateway with one space, and what must not be found in its store."""

    def __init__(self, where: str, *, sealed: bool = False) -> None:
        self.store, self.keys, self.clock = open_store(where), Keys(bytes(range(32))), ManualClock()
        with self.store.transaction("closing") as transaction:
            add_space(transaction, self.keys, self.clock, "talk", POLICY, sealed=sealed)
        self.gateway = Gateway(self.store, self.keys, self.clock)
        self.token, self.app = new_token(self.gateway), create_app(self.gateway)
        self.texts: dict[bytes, str] = {self.token.encode(): "a token"}
        self.numbers: dict[int, str] = {}
        self.chance, self.contents = random.Random(4), list[bytes]()

    async def post(self, number: int) -> None:
        """Somebody posts; one in five thinks better of it, one in five says something else."""
        who, where = f"the person {number % 20}", f"paper {number}"
        content, key = self.chance.randbytes(90).hex(), f"the-key-of-{number}"
        body = {"actor": who, "target": where, "content": content}
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": key}
        told = await call(self.app, "POST", "/v1/spaces/talk/posts", body=body, headers=headers)
        receipt = told.json()["receipt"]
        self.texts |= {who.encode(): "an actor", receipt.encode(): "a receipt", key.encode(): "a key"}
        self.texts[bytes.fromhex(receipt)] = "a receipt"
        self.texts[self.keys.actor(f"all/{who}")] = "an actor's hash"
        self.texts[self.keys.pseudonym(f"all/{who}", f"talk\0{where}")] = "a pseudonym's hash"
        if number % 5 == 0:
            await call(self.app, "DELETE", "/v1/receipt", headers={"Tarry-Receipt": receipt})
            self.texts[content[:60].encode()] = "a withdrawn text"
        elif number % 5 == 1:
            new = {"body": {"content": "better"}, "headers": {"Tarry-Receipt": receipt}}
            await call(self.app, "PUT", "/v1/receipt", **new)
            self.texts[content[:60].encode()] = "a withdrawn text"
        else:
            self.contents.append(content[:60].encode())
        self.clock.sleep(self.chance.uniform(0.01, 1))

    def fill(self, count: int) -> None:
        """People post; nothing is closed meanwhile."""

        async def posts() -> None:
            for number in range(count):
                await self.post(number)

        asyncio.run(posts())
        for row in self.rows("arrivals"):
            self.numbers[row["arrival"]] = "an arrival"
            draws = (row["unbatched"], row["batched"])
            self.numbers |= {draw: "a draw" for draw in draws if draw > 1 << 24}  # small ones are anywhere

    def pass_time(self, seconds: int) -> None:
        """Time goes by; everything that is due leaves."""
        for _ in range(seconds // TWO_HOURS):
            self.clock.sleep(TWO_HOURS)
            with self.store.transaction("closing") as transaction:
                close_ticks(transaction, self.keys, self.clock)
            Releaser(self.gateway.vault).release()
        self.app.state.service.close()

    def rows(self, table: str) -> list[dict[str, object]]:
        """A table as it lies there."""
        with self.store.transaction("working") as transaction:
            found = transaction._connection.execute(f"SELECT * FROM {table}")  # noqa: S608 - our own name
            return [dict(row) for row in found.fetchall()]

    def found_in(self, data: bytes, stored) -> set[str]:
        """What is found of all that; a number that is also the tick of some release does not count."""
        data = re.sub(b"\\0{32,}", bytes(16), data)  # most of a wiped file is empty
        allowed = {row["release"] for row in self.rows("posts")}
        allowed |= {row["at"] for row in self.rows("releases")}
        found = {name for text, name in self.texts.items() if text in data}
        numbers = {n: name for n, name in self.numbers.items() if n not in allowed}
        return found | {name for number, name in numbers.items() if stored(number) in data}


def as_sqlite_stores(number: int) -> bytes:
    """A positive integer: big-endian, in the least of SQLite's sizes with room for a sign."""
    size = next(size for size in (1, 2, 3, 4, 6, 8) if number < 1 << (8 * size - 1))
    return number.to_bytes(size)


def as_text(number: int) -> bytes:
    """A number as `every_row` shows it."""
    return b"%d" % number


def raw_bytes(folder: Path) -> bytes:
    """A store's file with its logs."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@pytest.fixture
def new_house() -> Iterator:
    with contextlib.ExitStack() as ends:

        def build(where: object, **more) -> House:
            house = House(str(where), **more)
            ends.callback(house.store.close)
            ends.callback(house.app.state.service.close)
            return house

        yield build


@pytest.mark.parametrize("sealed", [False, True], ids=["open", "sealed"])
def test_a_thief_of_the_file_finds_hashes_before_erasure_and_nothing_after(new_house, tmp_path, sealed):
    """No name, token, receipt or key is ever in it; after erasure no hash of a person, arrival or draw."""
    house = new_house(tmp_path / "store", sealed=sealed)
    house.fill(120)
    before = raw_bytes(tmp_path)

    assert house.found_in(before, as_sqlite_stores) - {"a withdrawn text"} == HASHES
    assert any(text in before for text in house.contents) is not sealed

    house.pass_time(4 * 24 * 3600)
    assert house.store.clear_traces(last=True)
    assert house.found_in(raw_bytes(tmp_path), as_sqlite_stores) == set()
    assert {row["state"] for row in house.rows("posts")} == {"released", "withdrawn"}
    assert len(house.rows("releases")) == 96


def test_after_a_week_not_even_hashes_of_receipts_are_left(new_house, tmp_path):
    """Receipts are answered for a week; then their rows, and the hashes of requests, are gone."""
    house = new_house(tmp_path / "store")
    house.fill(30)
    rows = house.rows("posts")
    hashes = [row["receipt"] for row in rows] + [row["body"] for row in rows]
    house.pass_time(4 * 24 * 3600)
    assert all(each in raw_bytes(tmp_path) for each in hashes)

    house.pass_time(WEEK_S + TWO_HOURS)
    assert house.store.clear_traces(last=True)
    assert house.rows("posts") == []
    assert not any(each in raw_bytes(tmp_path) for each in hashes)


def test_a_backup_holds_what_the_store_holds_and_no_more(new_house, tmp_path):
    """Made before erasure it has the hashes; made after it, nothing of anybody."""
    folder = tmp_path / "backups"
    folder.mkdir()
    house = new_house(tmp_path / "store")
    house.fill(60)
    back_up(house.store, folder / "before")
    house.pass_time(4 * 24 * 3600)
    back_up(house.store, folder / "after")

    assert house.found_in((folder / "before").read_bytes(), as_sqlite_stores) == HASHES
    assert house.found_in((folder / "after").read_bytes(), as_sqlite_stores) == set()


def test_no_row_of_a_database_tells_anything_after_erasure(new_house, postgres_server):
    """The same for the rows of PostgreSQL; its dead rows and its log are another matter."""
    dsn = postgres_server.new_schema()
    house = new_house(dsn)
    house.fill(60)

    assert house.found_in(every_row(dsn), as_text) == HASHES
    house.pass_time(4 * 24 * 3600)
    assert house.found_in(every_row(dsn), as_text) == set()


def every_row(dsn: str) -> bytes:
    """All tables of a schema: bytes as they are, and the rest as text."""
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    found = []
    with psycopg.connect(dsn) as connection:
        names = [name for (name,) in connection.execute(tables).fetchall()]
        assert {"posts", "arrivals", "ledger", "hours", "releases", "tokens", "adoptions"} <= set(names)
        for name in names:
            for row in connection.execute(f"SELECT * FROM {name}".encode()):  # noqa: S608 - our own names
                found += [value if isinstance(value, bytes) else str(value).encode() for value in row]
    return b"\n".join(found)


def test_who_has_store_and_key_cannot_make_the_receipts_of_keys_they_guess(new_house):
    """A receipt is made from the token itself, which is stored nowhere: its hash is of no use."""
    house = new_house(":memory:")
    house.fill(3)
    known = {row["id"] for row in house.rows("posts")}

    def posts_of(sender: bytes) -> set[int]:
        guesses = (
            Submission(space="talk", posts=(), key=f"the-key-of-{n}", sender=sender) for n in range(3)
        )
        return {post_key(receipt_hash(house.gateway._secret(guess, 0))) for guess in guesses}

    assert posts_of(house.token.encode()) == known
    assert not posts_of(token_hash(house.token)) & known
    assert not posts_of(b"") & known


# --- what public answers look at ----------------------------------------------------------------------


@pytest.fixture
def watched(monkeypatch, new_house, tmp_path):
    """A house whose new connections note the tables they read, and may read none of the secret ones."""
    house = new_house(tmp_path / "store")
    house.fill(10)
    house.pass_time(2 * 24 * 3600)
    read, connect = set[str](), SqliteStore._connect

    def allow(action, table, *_):
        if action == sqlite3.SQLITE_READ:
            read.add(table)
            if table in SECRET:
                return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def guarded(where):
        connection = connect(where)
        connection.set_authorizer(allow)
        return connection

    monkeypatch.setattr(SqliteStore, "_connect", staticmethod(guarded))
    house.app = create_app(house.gateway)  # its threads have no connection yet
    yield house, read
    house.app.state.service.close()


def ask(house: House, path: str, **headers: str) -> int:
    """The status of an answer."""
    return asyncio.run(call(house.app, "GET", path, headers=headers)).status


def test_public_answers_read_the_releases_and_the_book_alone(watched):
    """Every public address is served by connections that may not read a post, an arrival or a ledger."""
    house, read = watched
    with house.store.transaction("closing") as transaction:
        transaction.tell("count_change")  # so that the book is read again

    for path in (*PUBLIC, *SELDOM):
        assert ask(house, path) in {200, 401, 404}, path
    assert ask(house, "/v1/spaces/talk/feed") == ask(house, "/readyz") == 200
    assert read - {"sqlite_master"} == {"releases", "book", "spaces", "versions", "tokens"}


def test_whoever_asks_for_more_is_stopped_by_the_same_guard(watched):
    """A receipt needs the table of posts: the guard is there."""
    house, read = watched

    assert ask(house, "/v1/receipt", **{"Tarry-Receipt": "0" * 64}) == 503
    assert "posts" in read
