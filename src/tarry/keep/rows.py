"""The statements of a store, read from `.sql` files and asked for by name, and the records they answer.

A room that keeps tables of its own beside the keeper's (the gateway does) brings a folder `sql` like the
keeper's. The numbers of its migrations begin at a thousand of its own.
"""

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeVar

from tarry.keep.keys import post_key, receipt_hash
from tarry.keep.posts import GROUPS, PostRow, Prospect, Status, Timing, prospect, timing_of
from tarry.keep.sharing import StoreSettings
from tarry.keep.store import Answer, Transaction

__all__ = [
    "KEEPER",
    "PARAMETER",
    "BatchedActs",
    "Busy",
    "Claimed",
    "Legacy",
    "LegacyAccount",
    "Payload",
    "WaitingPost",
    "ask_posts",
    "behind_parents",
    "find_heirloom",
    "has_answer",
    "migrations",
    "post_by_key",
    "post_by_receipt",
    "queries",
    "read_all",
    "read_one",
    "status_of",
    "unfinished_posts",
]

#: The rooms whose tables a store holds: the keeper's alone.
KEEPER = ("tarry.keep",)

#: How a statement names a parameter; a cast has two colons.
PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
R = TypeVar("R")


@cache
def queries(dialect: str, rooms: tuple[str, ...] = KEEPER) -> dict[str, str]:
    """Every statement by its name; a dialect's own ones go before the common ones.

    >>> queries("sqlite")["follows"].startswith("SELECT EXISTS")
    True
    """
    statements: dict[str, str] = {}
    for room in rooms:
        statements |= _read(room, "queries.sql") | _read(room, f"{dialect}.sql")
    return statements


@cache
def migrations(dialect: str, rooms: tuple[str, ...] = KEEPER) -> dict[int, str]:
    """The numbered scripts that build a store, each applied once and never changed.

    >>> list(migrations("sqlite"))[0]
    1
    """
    folders = [files(room).joinpath("sql", "migrations") for room in rooms]
    scripts = [path for folder in folders for path in folder.iterdir()]
    named = {path.name: path for path in scripts if path.name.endswith(f".{dialect}.sql")}
    return {int(name[:4]): named[name].read_text(encoding="utf-8") for name in sorted(named)}


def _read(room: str, name: str) -> dict[str, str]:
    file = files(room).joinpath("sql", name)
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    for group, states in GROUPS.items():
        text = text.replace(f"{{{group}}}", "({})".format(", ".join(f"'{state}'" for state in states)))
    parts = _NAME.split(text)
    return {name: _statement(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def _statement(body: str) -> str:
    """Without the lines that explain it: they would be sent each time."""
    return "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()


def read_one(
    transaction: Transaction, record: Callable[..., R], name: str, /, **values: object
) -> R | None:
    """The answer of a statement, as a record that has its columns as fields; None if there is none.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("reading") as transaction:
    ...     read_one(transaction, Busy, "busy_until").is_idle
    True
    """
    row = transaction.one(name, **values)
    return None if row is None else record(**row)


def read_all(transaction: Transaction, record: Callable[..., R], name: str, /, **values: object) -> list[R]:
    """Every row of an answer, each as such a record.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("reading") as transaction:
    ...     read_all(transaction, WaitingPost, "waiting_at", outlet="feed")
    []
    """
    return [record(**row) for row in transaction.all(name, **values)]


def has_answer(transaction: Transaction, name: str, /, **values: object) -> bool:
    """Whether a statement that asks something is answered with yes.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("reading") as transaction:
    ...     has_answer(transaction, "tried")
    False
    """
    row = transaction.one(name, **values)
    return row is not None and bool(row["answer"])


def post_by_key(transaction: Transaction, post: int) -> PostRow | None:
    """The post with this key.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("reading") as transaction:
    ...     post_by_key(transaction, 7)
    """
    return read_one(transaction, PostRow.of, "by_id", id=post)


def post_by_receipt(transaction: Transaction, receipt: str) -> PostRow | None:
    """The post that a receipt names, with what is still known of its arrival.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("reading") as transaction:
    ...     post_by_receipt(transaction, "no such receipt")
    """
    hashed = receipt_hash(receipt)
    return read_one(transaction, PostRow.of, "by_receipt", id=post_key(hashed), receipt=hashed)


def ask_posts(transaction: Transaction, posts: Iterable[int]) -> Callable[[], dict[int, PostRow]]:
    """Those of these posts that there are, by their keys, once they are wanted.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("reading") as transaction:
    ...     ask_posts(transaction, [7, 8])()
    {}
    """
    answer: Answer = transaction.ask("by_ids", ids=json.dumps(list(posts)))
    return lambda: {row["id"]: PostRow.of(**row) for row in answer()}


def unfinished_posts(transaction: Transaction) -> list[PostRow]:
    """Every post that waits or is parked, in no order that tells anything.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("reading") as transaction:
    ...     unfinished_posts(transaction)
    []
    """
    return read_all(transaction, PostRow.of, "not_done")


def status_of(transaction: Transaction, settings: StoreSettings, post: PostRow) -> Status:
    """What the author of a post may know of it.

    >>> from tarry.core.policy import Policy
    >>> from tarry.keep.posts import State
    >>> from tarry.testing import memory_store
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> post = PostRow(id=1, state=State.RELEASED, target="", outlet="list", timing=Timing(1, 7))
    >>> with memory_store(policy).transaction("reading") as transaction:
    ...     status_of(transaction, StoreSettings.of(policy), post).release_at
    Fraction(7, 1)
    """
    ticks = prospect(post.timing, settings)
    if post.state.is_on_its_way and post.parent is not None:
        ticks = behind_parents(transaction, settings, ticks, post_by_key(transaction, post.parent))
    return ticks.status(post.state, settings.tick, post.problem)


def behind_parents(
    transaction: Transaction, settings: StoreSettings, ticks: Prospect, parent: PostRow | None
) -> Prospect:
    """A post leaves no earlier than the waiting post it depends on, all the way up.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_store
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> with memory_store(policy).transaction("working") as transaction:
    ...     behind_parents(transaction, StoreSettings.of(policy), Prospect(3, 9), None)
    Prospect(earliest=3, latest=9, in_between=False)
    """
    while parent is not None and parent.state.is_on_its_way:
        ticks = ticks.after(prospect(parent.timing, settings))
        parent = None if parent.parent is None else post_by_key(transaction, parent.parent)
    return ticks


def find_heirloom(transaction: Transaction, pseudonym: bytes, closed: int) -> Timing | None:
    """The withdrawn post, still alive, that a repost inherits from.

    >>> from tarry.testing import memory_store
    >>> with memory_store().transaction("reading") as transaction:
    ...     find_heirloom(transaction, bytes(16), closed=0)
    """
    return read_one(transaction, timing_of, "heirloom", pseudonym=pseudonym, closed=closed)


class Payload(NamedTuple):
    """What a post that waits or is parked says, as it is stored: perhaps encrypted.

    >>> Payload(id=7, content=b"I agree.", options=b"{}").options
    b'{}'
    """

    id: int
    content: bytes
    options: bytes


class Claimed(NamedTuple):
    """A post that is due, as the worker has it who takes it.

    >>> Claimed(id=7, target="p", options=b"{}", content=b"", release=60, attempts=1).release
    60
    """

    id: int
    target: str
    options: bytes
    content: bytes
    release: int  # tick
    attempts: int  # with this one


class WaitingPost(NamedTuple):
    """A post that is still to leave by some outlet.

    >>> WaitingPost(id=7, release=60, options=b"{}").held_up
    False
    """

    id: int
    release: int | None
    options: bytes | None  # perhaps encrypted
    held_up: bool | int = False  # whether another post stands before it


class Legacy(NamedTuple):
    """The place of a post that an operator has withdrawn: its author may use it again.

    >>> Legacy(sealed=b"x", target="paper 3").target
    'paper 3'
    """

    sealed: bytes | None  # the pseudonym under its receipt
    target: str


class LegacyAccount(NamedTuple):
    """A withdrawn post that needs an account.

    >>> LegacyAccount(id=7, account=b"hash").id
    7
    """

    id: int
    account: bytes  # a hash of the account and of the key of the post


class BatchedActs(NamedTuple):
    """How many batched acts of an actor are about to be erased.

    >>> BatchedActs(actor=b"hash", period="", batched=2).batched
    2
    """

    actor: bytes
    period: str
    batched: int


class Busy(NamedTuple):
    """How much a store has still to do.

    >>> Busy(waiting=0, arrivals=3, heirlooms=0, last_release=None).is_idle
    False
    """

    waiting: int = 0  # posts that are still to leave
    arrivals: int = 0  # not erased yet
    heirlooms: int = 0  # withdrawn posts that may have an heir
    last_release: int | None = None  # tick

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits, and nothing is left to erase."""
        return not (self.waiting or self.arrivals or self.heirlooms)
