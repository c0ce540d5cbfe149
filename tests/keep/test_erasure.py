"""After release and erasure nothing tells who posted, or when: no byte of a file, no row of a database."""

import random
import re
from pathlib import Path

import psycopg
import pytest

from contracts.keeping import World
from tarry.core.policy import Policy
from tarry.keep.postgres import PostgresStore
from tarry.keep.posts import Post
from tarry.keep.sqlite import SqliteStore

#: Ticks so short, and gaps so long, that arrivals and draws are numbers found nowhere else.
POLICY = Policy(epsilon="1", gap="20h", window="2s", tick="0.000001s")
TWO_HOURS = 7200


class Secrets:
    """What must not be found again, each with its name for the reader of a failure."""

    def __init__(self) -> None:
        self.texts: dict[bytes, str] = {}
        self.numbers: dict[int, str] = {}

    def note_post(self, world: World, post: Post) -> None:
        """Remember who posts what."""
        self.texts[post.actor.encode()] = "the actor's name"
        self.texts[world.keys.actor(post.actor)] = "the actor's hash"
        self.texts[world.keys.pseudonym(post.actor, post.target)] = "the pseudonym's hash"
        self.texts[post.content[-18:]] = "the content"

    def note_arrivals(self, world: World) -> None:
        """Remember ticks and draws that lie in the table of arrivals at this moment."""
        for row in world.dump("arrivals"):
            for column, name in (("arrival", "arrival"), ("unbatched", "draw"), ("batched", "draw")):
                if row[column] > 1 << 24:  # a small number would be found anywhere
                    self.numbers[row[column]] = name

    def found_in(
        self, data: bytes, stored, allowed: set[int] = frozenset(), most: int = 10**6
    ) -> list[str]:
        """The names of what is found of the last; `allowed` numbers are ticks of some release too."""
        data = re.sub(b"\\0{32,}", bytes(16), data)  # most of a wiped file is empty
        texts, numbers = list(self.texts.items())[-most:], list(self.numbers.items())[-most:]
        found = [name for text, name in texts if text in data]
        return found + [name for n, name in numbers if n not in allowed and stored(n) in data]


def keep_posts(world: World, count: int) -> Secrets:
    """People post, some change their minds, a few are batched; everything leaves."""
    chance, secrets = random.Random(3), Secrets()
    for number in range(count):
        content = chance.randbytes(chance.choice((20, 300, 3000, 9000)))
        who = f"the person {chance.randrange(count // 4)}"
        post = Post(actor=who, target=f"paper {number}", outlet="list", content=content)
        receipt = world.gate.admit(post)
        secrets.note_post(world, post)
        if number % 10 == 0:
            world.gate.withdraw(receipt.secret)
            secrets.note_arrivals(world)
            world.clock.sleep(chance.uniform(0.1, 9))
            world.close()
            world.releaser.release()
    secrets.note_arrivals(world)
    return secrets


def let_everything_out(world: World) -> None:
    """A few days go by."""
    for _ in range(50):
        world.clock.sleep(TWO_HOURS)
        world.close()
        world.releaser.release()

    assert world.dump("arrivals") == []
    assert {row["state"] for row in world.dump("posts")} == {"released", "withdrawn"}


def as_sqlite_stores(number: int) -> bytes:
    """A positive integer: big-endian, in the least of SQLite's sizes with room for a sign."""
    size = next(size for size in (1, 2, 3, 4, 6, 8) if number < 1 << (8 * size - 1))
    return number.to_bytes(size)


def raw_bytes(folder: Path) -> bytes:
    """A store's file with its logs."""
    assert {path.name for path in folder.iterdir()} == {"store", "store-wal", "store-shm"}
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@pytest.fixture
def file_world(tmp_path):
    world = World(lambda: SqliteStore(tmp_path / "store"), POLICY)
    yield world
    world.leave()


def test_the_raw_bytes_of_a_file_tell_nothing(file_world, tmp_path):
    """After release, erasure and `clear_traces`, a file and its logs hold neither person nor arrival."""
    secrets = keep_posts(file_world, 1500)
    before = secrets.found_in(raw_bytes(tmp_path), as_sqlite_stores, most=200)
    let_everything_out(file_world)

    assert file_world.store.clear_traces()
    allowed = {row["release"] for row in file_world.dump("posts")}
    assert secrets.found_in(raw_bytes(tmp_path), as_sqlite_stores, allowed) == []
    assert len(before) > 100  # they would have been found
    assert {"the actor's hash", "the pseudonym's hash", "the content", "arrival", "draw"} <= set(before)


def test_stale_bytes_between_rows_are_wiped(file_world, tmp_path):
    """What SQLite leaves in the gaps of a page when it moves rows is gone after `clear_traces`."""
    gap = b"stale bytes in a gap"
    file_world.admit()
    file_world.store.clear_traces(last=True)
    path = tmp_path / "store"
    raw = bytearray(path.read_bytes())
    start = raw.index(bytes(len(gap) + 100), 4096) + 50
    raw[start : start + len(gap)] = gap
    file_world.store.close()
    path.write_bytes(raw)

    assert gap in path.read_bytes()
    assert file_world.store.clear_traces(last=True)
    assert gap not in raw_bytes(tmp_path)
    assert len(file_world.dump("posts")) == 1


def test_a_file_that_was_just_written_anew_has_to_wait(file_world, monkeypatch):
    """Writing a file anew takes a hundredth of the time at most, except for the last time."""
    monkeypatch.setattr("tarry.keep.sqlite.time.monotonic", iter(range(0, 10**6, 5)).__next__)

    assert file_world.store.clear_traces()  # took from 5 to 10: not again before 510
    assert not file_world.store.clear_traces()
    assert file_world.store.clear_traces(last=True)


def test_no_row_of_a_database_tells_anything(postgres_server):
    """After release and erasure no row of any table holds a person's name or hash, an arrival or a draw."""
    dsn = postgres_server.new_schema()
    world = World(lambda: PostgresStore(dsn), POLICY)
    secrets = keep_posts(world, 200)
    before = secrets.found_in(every_row(dsn), as_text)
    let_everything_out(world)
    allowed = {row["release"] for row in world.dump("posts")}
    world.leave()

    assert secrets.found_in(every_row(dsn), as_text, allowed) == []
    assert {"the actor's hash", "the pseudonym's hash", "the content", "arrival", "draw"} <= set(before)


def as_text(number: int) -> bytes:
    """A number as `every_row` shows it."""
    return b"%d" % number


def every_row(dsn: str) -> bytes:
    """All tables of a schema: bytes as they are, and the rest as text."""
    found = []
    with psycopg.connect(dsn) as connection:
        names = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
        ).fetchall()
        assert len(names) == 11
        for (name,) in names:
            for row in connection.execute(f"SELECT * FROM {name}".encode()):  # noqa: S608 - our own names
                found += [value if isinstance(value, bytes) else str(value).encode() for value in row]
    return b"\n".join(found)
