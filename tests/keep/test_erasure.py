"""After release and erasure nothing tells who posted, or when: no byte of a file, no row of a database."""

import random
import re
from itertools import pairwise
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


def test_a_file_that_was_just_written_anew_waits_for_another_public_moment(file_world, monkeypatch):
    """Writing a file anew takes a hundredth of the time at most, except for the last time."""
    monkeypatch.setattr("tarry.keep.sqlite.time.monotonic", iter(range(0, 10**6, 5)).__next__)
    written, store = [], file_world.store
    store.connection().set_trace_callback(written.append)
    for last in (False, False, True):  # the first takes from 5 to 10: not again before 510
        assert store.clear_traces(last=last)  # nothing to try again at the next tick
        written.append("end")
    store.connection().set_trace_callback(None)

    calls = " ".join(written).split("end")
    assert ["VACUUM" in call for call in calls[:3]] == [True, False, True]
    assert all("wal_checkpoint" in call for call in calls[:3])


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


# --- where rows lie ---------------------------------------------------------------------------------

PEOPLE = 40
#: Of forty pairs in random order one is adjacent on average; so many are with a chance below 1e-9.
TOO_MANY = 14
ORDERS = {
    "transactions": "SELECT id FROM posts ORDER BY CAST(CAST(xmin AS text) AS bigint), ctid",
    "commands": "SELECT id FROM posts ORDER BY CAST(CAST(cmin AS text) AS bigint), ctid",
    "places": "SELECT id FROM posts ORDER BY ctid",
}
TOAST = "SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = CAST('posts' AS regclass)"


class Thief:
    """Looks at where the rows of a database lie, and guesses that neighbours are one person's."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)

    def close(self) -> None:
        self._connection.close()

    def vacuum(self) -> None:
        """As the server does by itself, sooner or later."""
        self._connection.execute("VACUUM posts")

    def rows(self) -> dict[int, tuple]:
        """Transaction, command and place of every row."""
        found = self._connection.execute("SELECT id, xmin, cmin, ctid FROM posts").fetchall()
        return {post: tuple(rest) for post, *rest in found}

    def legacies(self) -> list[tuple[int, int]]:
        """Posts that were withdrawn, as their rows lie, each with its transaction."""
        return self._connection.execute("SELECT id, xmin FROM legacies ORDER BY ctid").fetchall()

    def orders(self, contents: dict[bytes, int]) -> dict[str, list[int]]:
        """The posts in every order that can be seen; large contents lie in a table of their own."""
        orders = {
            name: [post for (post,) in self._connection.execute(query).fetchall()]
            for name, query in ORDERS.items()
        }
        ((table,),) = self._connection.execute(TOAST).fetchall()
        first = f"SELECT chunk_data FROM {table} WHERE chunk_seq = 0 ORDER BY "  # noqa: S608 - a catalogue's name
        for by in ("chunk_id", "ctid"):
            chunks = self._connection.execute(f"{first}{by}".encode()).fetchall()
            orders[f"contents by {by}"] = [contents[chunk[:16]] for (chunk,) in chunks]
        return orders


def adjacent(order: list[int], person_of: dict[int, int]) -> int:
    """How many neighbours are one person's."""
    people = [person_of[post] for post in order]
    return sum(a == b for a, b in pairwise(people))


def hand_in_pairs(world: World) -> None:
    """Everybody posts twice, all within one public period."""
    world.clock.sleep(0.5)
    for person in range(PEOPLE):
        for number in range(2):
            content = random.randbytes(5000)
            receipt = world.admit(f"the person {person}", f"paper {person} {number}", content=content)
            world.person_of[receipt.post] = person
            world.contents[content[:16]] = receipt.post
            world.receipts.append(receipt)
        world.clock.sleep(0.01)


@pytest.fixture
def pairs(postgres_server):
    """A database in which everybody has two posts waiting, handed in one after the other."""
    dsn = postgres_server.new_schema()
    world, thief = World(lambda: PostgresStore(dsn), POLICY), Thief(dsn)
    world.person_of, world.contents, world.receipts = {}, {}, []
    hand_in_pairs(world)
    yield world, thief
    thief.close()
    world.leave()


def pass_windows(world: World, count: int) -> None:
    """Some public moments go by."""
    for _ in range(count):
        world.clock.sleep(2)
        world.close()


def test_after_erasure_no_order_of_rows_tells_whose_posts_belong_together(pairs):
    """Before it every order of the database shows the pairs; then none does, and all are of one moment."""
    world, thief = pairs
    before = thief.orders(world.contents)
    pass_windows(world, 4)
    after, rows = thief.orders(world.contents), thief.rows()

    assert world.dump("arrivals") == []
    assert {row["state"] for row in world.dump("posts")} == {"waiting"}
    assert {name: adjacent(order, world.person_of) for name, order in before.items()} == dict.fromkeys(
        before, PEOPLE
    )
    for name, order in after.items():
        assert len(order) == 2 * PEOPLE, name
        assert adjacent(order, world.person_of) < TOO_MANY, name
    assert len({(xmin, cmin) for xmin, cmin, _ in rows.values()}) == 1
    for receipt in world.receipts:
        assert world.gate.status(receipt.secret).state == "waiting"


def test_when_and_in_which_order_posts_were_withdrawn_shows_nowhere(pairs):
    """Withdrawn one after the other, long after erasure: at the next public moment all are written anew."""
    world, thief = pairs
    pass_windows(world, 4)
    for receipt in world.receipts:
        world.gate.withdraw(receipt.secret)
    before = thief.legacies()
    pass_windows(world, 1)
    after = thief.legacies()

    assert len({xmin for _, xmin in before}) == len(after) == 2 * PEOPLE
    assert len({xmin for _, xmin in after}) == 1
    assert adjacent([post for post, _ in before], world.person_of) == PEOPLE
    assert adjacent([post for post, _ in after], world.person_of) < TOO_MANY


def test_nor_do_rows_that_lie_where_vacuum_has_made_room(pairs):
    """Vacuum frees the places of old rows: new ones do not take them in the order in which posts came."""
    world, thief = pairs
    pass_windows(world, 4)
    thief.vacuum()
    old = set(world.person_of)
    hand_in_pairs(world)
    pass_windows(world, 4)
    thief.vacuum()

    for name, order in thief.orders(world.contents).items():
        new = [post for post in order if post not in old]
        assert len(new) == 2 * PEOPLE, name
        assert adjacent(new, world.person_of) < TOO_MANY, name


def test_each_post_is_written_anew_once_and_again_after_it_was_changed(pairs):
    """The cost grows with arrivals and changes: whatever else waits stays where it is."""
    world, thief = pairs
    pass_windows(world, 4)
    before = thief.rows()
    pass_windows(world, 2)
    assert thief.rows() == before

    changed = world.receipts[3], world.receipts[50]
    world.gate.replace(changed[0].secret, b"better")
    world.clock.sleep(0.1)
    world.gate.withdraw(changed[1].secret)
    one_by_one = thief.rows()
    pass_windows(world, 2)
    after = thief.rows()

    moved = {post for post in after if after[post] != before[post]}
    assert moved == {receipt.post for receipt in changed}
    assert len({one_by_one[post][0] for post in moved}) == 2
    assert len({after[post][0] for post in moved}) == 1
    assert [world.gate.status(each.secret).state for each in changed] == ["waiting", "withdrawn"]


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
        assert len(names) == 12  # one of these is the tests' own
        for (name,) in names:
            for row in connection.execute(f"SELECT * FROM {name}".encode()):  # noqa: S608 - our own names
                found += [value if isinstance(value, bytes) else str(value).encode() for value in row]
    return b"\n".join(found)
