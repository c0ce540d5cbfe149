"""What a thief learns at each moment of a post's life: the page says it, and here it is tried.

The thief has a copy of the database and the log, and perhaps the key; knows everybody and every target by
name; and tries them all, on the bytes and on a gateway of their own that runs on the copy.
"""

import io
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import combinations
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from contracts.house import KINDS, House, new_database
from tarry.core.entropy import Seeded
from tarry.core.policy import Policy
from tarry.gateway.database import open_store
from tarry.gateway.gateway import Gateway, Submission
from tarry.gateway.monitoring import Log
from tarry.gateway.space_changes import add_space
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.keeper import Keeper
from tarry.keep.keys import Keys, Sealed, receipt_hash, under_receipt
from tarry.keep.posts import Post
from tarry.testing import ListOutlet, ManualClock

PAGE = Path(__file__).resolve().parents[2] / "docs" / "threat-model.md"
#: Ticks so short, and gaps so long, that arrivals and draws are numbers found nowhere else.
POLICY = Policy(epsilon="1", gap="20h", window="2s", tick="0.000001s")
DAY = 24 * 3600
PEOPLE = [f"the person {number}" for number in range(6)]
#: Everybody acts on two targets at once: a batch, which waits for a day.
ACTS = [(who, f"paper {number} {side}") for number, who in enumerate(PEOPLE) for side in "ab"]
SPACE, KEYS = "talk", Keys(bytes(range(32)))


class Life:
    """Posts in a gateway, brought to some moment of their lives."""

    def __init__(self, where: str) -> None:
        store, self.clock, self.outlet = open_store(where), ManualClock(), ListOutlet()
        with store.transaction("closing") as transaction:
            add_space(transaction, KEYS, self.clock, SPACE, POLICY, sealed=True)
        self.house = House(where, self.clock, policy=POLICY, store=store)
        self.contents = {act: f"what {act[0]} says on {act[1]}" for act in ACTS}
        posts = [
            Post(actor=who, target=target, outlet="", content=self.contents[who, target].encode())
            for who, target in ACTS
        ]
        (receipts,) = self.house.gateway.admit([Submission(space=SPACE, posts=posts)])
        self.receipts = dict(zip(ACTS, receipts, strict=True))
        self.arrivals = {
            row["id"]: {row[name] for name in ("arrival", "unbatched", "batched")}
            for row in self.house.rows("arrivals")
        }
        self.releases: dict[int, int] = {}

    # --- moments ------------------------------------------------------------------------------------

    def label(self) -> None:
        self.house.jump(3)
        self.live_on(0)

    def erase(self) -> None:
        self.label()
        self.house.jump(3)

    def withdraw(self) -> None:
        for receipt in self.receipts.values():
            self.house.gateway.receipts.withdraw(receipt.secret)

    def take_back(self) -> None:
        for _, target in ACTS:
            assert self.house.gateway.withdraw_on(SPACE, target) == 1

    def fail(self, why: Exception) -> None:
        """All fall due, and nothing can be delivered."""
        self.outlet.broken = why
        self.house.gateway = Gateway(self.house.store, KEYS, self.clock, outlets={SPACE: self.outlet})
        self.house.jump(2 * DAY)
        self.live_on(0)

    def live_on(self, days: int) -> None:
        """Days go by, and releases are known."""
        for _ in range(days):
            self.house.jump(DAY)
        self.releases |= {row["id"]: row["release"] for row in self.house.rows("posts")}


def accepted(life: Life) -> None:
    """Nothing has happened yet."""


def labelled(life: Life) -> None:
    life.label()


def erased(life: Life) -> None:
    life.erase()


def withdrawn_at_once(life: Life) -> None:
    life.withdraw()


def withdrawn_before_erasure(life: Life) -> None:
    life.label()
    life.withdraw()
    life.house.jump(3)


def withdrawn_after_erasure(life: Life) -> None:
    life.erase()
    life.withdraw()


def taken_back_before_erasure(life: Life) -> None:
    life.label()
    life.take_back()
    life.house.jump(3)


def taken_back_after_erasure(life: Life) -> None:
    life.erase()
    life.take_back()


def filled_again(life: Life) -> None:
    taken_back_after_erasure(life)
    for act, receipt in life.receipts.items():
        life.house.gateway.receipts.replace(receipt.secret, life.contents[act].encode())


def reposted(life: Life) -> None:
    """The old posts are gone, and their heirs wait in their places."""
    withdrawn_after_erasure(life)
    for act in ACTS:
        life.receipts[act] = life.house.admit(*act, life.contents[act].encode())
    life.live_on(0)


def in_doubt(life: Life) -> None:
    life.erase()
    life.fail(Unreachable("it hung up", sent=True))


def parked(life: Life) -> None:
    life.erase()
    life.fail(Refused("no"))


def withdrawn_when_parked(life: Life) -> None:
    parked(life)
    life.withdraw()


def released(life: Life) -> None:
    life.erase()
    life.live_on(4)


def withdrawn_and_over(life: Life) -> None:
    withdrawn_after_erasure(life)
    life.live_on(4)


def taken_back_and_over(life: Life) -> None:
    taken_back_after_erasure(life)
    life.live_on(4)


def purged(life: Life) -> None:
    withdrawn_after_erasure(life)
    life.live_on(12)


MOMENTS = {
    "accepted": accepted,
    "labelled": labelled,
    "erased, waiting": erased,
    "withdrawn by its author, not erased yet": withdrawn_at_once,
    "withdrawn by its author before erasure": withdrawn_before_erasure,
    "withdrawn by its author after erasure": withdrawn_after_erasure,
    "withdrawn by an operator before erasure": taken_back_before_erasure,
    "withdrawn by an operator after erasure": taken_back_after_erasure,
    "the same, its place filled again by its author": filled_again,
    "posted again, in the place of a withdrawn one": reposted,
    "in doubt": in_doubt,
    "parked": parked,
    "parked and withdrawn": withdrawn_when_parked,
    "released": released,
    "withdrawn by its author, its time over": withdrawn_and_over,
    "withdrawn by an operator, its time over": taken_back_and_over,
    "a week later": purged,
}


# --- the thief ----------------------------------------------------------------------------------------


class Copy:
    """A stolen copy: rows by table, and for a file its raw bytes."""

    def __init__(self, rows: Mapping[str, list[dict[str, object]]], raw: bytes | None) -> None:
        self.rows, self._raw = rows, raw
        values = [value for table in rows.values() for row in table for value in row.values()]
        self.text = b"\n".join(v if isinstance(v, bytes) else str(v).encode() for v in values)

    def has_bytes(self, value: bytes) -> bool:
        return value in self.text or (self._raw is not None and value in self._raw)

    def has_number(self, number: int) -> bool:
        # SQLite: big-endian, in the least of its sizes with room for a sign.
        size = next(size for size in (1, 2, 3, 4, 6, 8) if number < 1 << (8 * size - 1))
        if self._raw is not None and number.to_bytes(size) in self._raw:
            return True
        return re.search(rb"(?<!\d)%d(?!\d)" % number, self.text) is not None

    def of_post(self, post: int) -> set[bytes]:
        """Every long value that stands in a row with the key of a post."""
        rows = [row for table in self.rows.values() for row in table if row.get("id") == post]
        values = [value for row in rows for value in row.values()]
        return {value for value in values if isinstance(value, bytes) and len(value) >= 8}


def steal(where: str, folder: Path) -> Copy:
    """As a thief would find it: after the keeper has cleared the traces."""
    if where.startswith("postgresql"):
        with psycopg.connect(where, row_factory=dict_row) as connection:
            return Copy(all_rows(connection, "information_schema.tables", "current_schema()"), None)
    raw = re.sub(
        b"\\0{32,}", bytes(16), b"".join(p.read_bytes() for p in sorted(folder.glob("gateway.db*")))
    )
    connection = sqlite3.connect(where)
    connection.row_factory = sqlite3.Row
    try:
        names = [
            row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return Copy({n: [dict(r) for r in connection.execute(f"SELECT * FROM {n}")] for n in names}, raw)  # noqa: S608 - our own names
    finally:
        connection.close()


def all_rows(connection, tables: str, schema: str) -> dict[str, list[dict[str, object]]]:
    query = f"SELECT table_name FROM {tables} WHERE table_schema = {schema}"  # noqa: S608 - our own names
    names = [row["table_name"] for row in connection.execute(query).fetchall()]
    found = {n: connection.execute(f"SELECT * FROM {n}").fetchall() for n in names}  # noqa: S608 - our own names
    return {
        name: [{k: bytes(v) if isinstance(v, memoryview) else v for k, v in row.items()} for row in rows]
        for name, rows in found.items()
    }


def learned_of(copy: Copy, life: Life, act: tuple[str, str]) -> set[str]:
    """From the file alone, of one post."""
    (who, target), post = act, life.receipts[act].post
    twins = [life.receipts[other].post for other in ACTS if other[0] == who]
    same = any(copy.of_post(one) & copy.of_post(other) for one, other in combinations(twins, 2))
    facts = {
        "target": copy.has_bytes(target.encode()),
        "content": copy.has_bytes(life.contents[act].encode()),
        "arrival": any(
            copy.has_number(number) for number in life.arrivals.get(post, ()) if number > 1 << 24
        ),
        "release": post in life.releases and copy.has_number(life.releases[post]),
        "one person's": same,
    }
    return {fact for fact, holds in facts.items() if holds}


def learned_with_key(copy: Copy, life: Life, act: tuple[str, str]) -> set[str]:
    """By trying every name there is, and opening what can be opened."""
    (who, target), post = act, life.receipts[act].post
    actor = KEYS.actor(f"all/{who}")
    pseudonym = KEYS.pseudonym(f"all/{who}", f"{SPACE}\0{target}")
    row = next((row for row in copy.rows["posts"] if row["id"] == post), {})
    # The seal of a pseudonym opens with nothing that is stored.
    stored = [row.get("pseudonym"), *(r["sealed"] for r in copy.rows["legacies"] if r["id"] == post)]
    guesses = [str(post), KEYS.public_id(post), bytes(row.get("receipt") or b"").hex(), who, target, ""]
    opened = [under_receipt(guess, value) for value in stored if value for guess in guesses]
    facts = {
        "whose": copy.has_bytes(actor) or copy.has_bytes(pseudonym) or {actor, pseudonym} & set(opened),
        "batched": copy.has_bytes(KEYS.account(actor)),
        "content": row.get("content") and Sealed(KEYS.seal).open(post, "content", row["content"]),
    }
    return learned_of(copy, life, act) | {fact for fact, holds in facts.items() if holds}


@pytest.fixture(params=KINDS)
def where(request, tmp_path):
    return new_database(request, request.param, tmp_path)


@contextmanager
def a_life(where: str, moment: str) -> Iterator[Life]:
    life = Life(where)
    try:
        MOMENTS[moment](life)
        assert life.house.store.clear_traces(last=True)
        yield life
    finally:
        life.house.store.close()


def page() -> dict[str, tuple[set[str], set[str]]]:
    """What the page says: by moment, from the file alone, and with the key."""
    section = PAGE.read_text(encoding="utf-8").partition("## What a thief learns, moment by moment")[2]
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| ")][2:]
    said = {}
    for line in lines:
        moment, alone, with_key = (cell.strip() for cell in line.strip("| ").split("|"))
        file = {word for word in alone.split(", ") if word != "nothing"}
        said[moment] = file, file | {word for word in with_key.split(", ") if word != "no more"}
    return said


def test_the_page_goes_through_every_moment():
    assert list(page()) == list(MOMENTS)


@pytest.mark.parametrize("moment", MOMENTS)
def test_at_every_moment_a_thief_learns_what_the_page_says(where, tmp_path, moment):
    """Of every post alike: no more, and no less."""
    file, with_key = page()[moment]
    with a_life(where, moment) as life:
        copy = steal(where, tmp_path)
        for act in ACTS:
            assert learned_of(copy, life, act) == file, act
            assert learned_with_key(copy, life, act) == with_key, act


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_gateway_on_a_stolen_copy_tells_no_more_of_the_names_that_are_tried(tmp_path, moment):
    """Whoever posts there in the name of each person finds heirs of withdrawn posts, and nothing else."""
    where = str(tmp_path / "gateway.db")
    _, with_key = page()[moment]
    with a_life(where, moment) as life:
        life.house.store.close()
        author, other, nobody = (
            answer_on_a_copy(where, tmp_path / f"{number}.db", life, who, "paper 0 a")
            for number, who in enumerate(("the person 0", "the person 1", "nobody"))
        )

    assert other == nobody
    assert (author != other) == ("whose" in with_key and moment.startswith("withdrawn"))


def test_the_log_tells_nothing_of_what_could_not_be_delivered(where):
    """Neither a name nor a hash, receipt, target, key or public id of any post."""
    log = io.StringIO()
    with a_life(where, "erased, waiting") as life:
        life.house.clock.sleep(4 * DAY)
        life.outlet.broken = Refused("no")
        life.house.gateway = Gateway(life.house.store, KEYS, life.clock, outlets={SPACE: life.outlet})
        Keeper(life.house.gateway.vault, tell=partial(Log(log), "keeper")).run(until_empty=True)
        states = {row["state"] for row in life.house.rows("posts")}

    assert states == {"parked"}
    assert "parked" in log.getvalue()
    for (who, target), receipt in life.receipts.items():
        actor, pseudonym = KEYS.actor(f"all/{who}"), KEYS.pseudonym(f"all/{who}", f"{SPACE}\0{target}")
        hashes = [actor.hex(), pseudonym.hex(), receipt_hash(receipt.secret).hex()]
        secrets = [who, target, receipt.secret, str(receipt.post), KEYS.public_id(receipt.post), *hashes]
        assert not any(secret in log.getvalue() for secret in secrets)


def answer_on_a_copy(where: str, path: Path, life: Life, who: str, target: str) -> tuple[object, ...]:
    """When a post of this person would leave; the draws are always the same."""
    shutil.copy(where, path)
    store = open_store(str(path))
    try:
        entropy = Seeded(7).stream("a thief", "tries names", time=0)
        gateway = Gateway(store, KEYS, life.clock, entropy=entropy)
        post = Post(actor=who, target=target, outlet="", content=b"!")
        (answer,) = gateway.admit([Submission(space=SPACE, posts=[post])])
        return (answer[0].status.earliest, answer[0].status.latest)
    finally:
        store.close()


def test_the_thief_of_this_suite_finds_what_is_left_in_the_open(where, tmp_path):
    """A store that kept pseudonyms as they are, as earlier versions did, is found out."""
    with a_life(where, "erased, waiting") as life:
        mark = "%s" if where.startswith("postgresql") else "?"
        with life.house.store.transaction("working"):
            for (who, target), receipt in life.receipts.items():
                plain = KEYS.pseudonym(f"all/{who}", f"{SPACE}\0{target}")
                change = f"UPDATE posts SET pseudonym = {mark} WHERE id = {mark}"  # noqa: S608 - a mark
                life.house.store.connection().execute(change, (plain, receipt.post))
        assert life.house.store.clear_traces(last=True)
        copy = steal(where, tmp_path)

        assert all("whose" in learned_with_key(copy, life, act) for act in ACTS)
