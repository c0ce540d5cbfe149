"""The keeper beside the same work done bare: admit, bulk, release, lateness, and claims as the store grows.

    python bench/keep.py                   SQLite, and PostgreSQL from the development lock
    python bench/keep.py --backend sqlite  one of them

"Bare" is the least that anybody could write: the same rows under random keys into the same tables, just as
durable, and no draws, labels, hashes, clock or leases. Ratios are taken round by round in one run.
"""

import argparse
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median, quantiles

from _measure import Figure, costs, interleaved, speeds

sys.path.insert(
    0, str(Path(__file__).resolve().parents[1] / "tests")
)  # the throw-away PostgreSQL of the tests

from contracts.postgres_server import PostgresServer
from tarry.core.policy import Policy
from tarry.keep.gate import Gate
from tarry.keep.keeper import Keeper
from tarry.keep.keys import Keys
from tarry.keep.outlet import Outlet
from tarry.keep.postgres import PostgresStore
from tarry.keep.posts import Post, Release
from tarry.keep.releaser import Releaser
from tarry.keep.rows import queries
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Store, Vault

POLICY = Policy(epsilon="1", gap="1h", window="5m", tick="1s")
QUICK = Policy(epsilon="1", gap="1s", window="0.1s", tick="0.05s")
CONTENT = b"x" * 200
BATCH = 500
SIZES = (10_000, 100_000, 1_000_000)


class Sink(Outlet):
    """An outlet that does nothing, so that only the keeper is measured."""

    delivery = "at least once"
    batch = BATCH

    def __init__(self) -> None:
        self.late: list[float] = []

    def check(self, options: object) -> None:
        """Anything goes."""

    def deliver(self, release: Release) -> None:
        """Note how late it is."""
        self.late.append(time.time() - float(release.at))


def vault(store: Store, policy: Policy = POLICY) -> Vault:
    with store.transaction("closing") as transaction:
        begin_store(transaction, StoreSettings.of(policy), store.clock())
    return Vault(store, Keys(bytes(32)), {"sink": Sink()})


def row(post: Post, release: int | None = None) -> tuple[dict, dict]:
    """What a bare insert writes of a post: as many columns and bytes as the keeper does."""
    number, who, secret = int.from_bytes(os.urandom(8)) >> 1, os.urandom(32), os.urandom(32)
    return {
        "id": number,
        "target": post.target,
        "outlet": post.outlet,
        "options": b"{}",
        "content": post.content,
        "release": release,
        "parent": None,
        "receipt": secret,
        "pseudonym": who[:16],
        "body": None,
    }, {
        "id": number,
        "actor": who[16:],
        "pseudonym": who[:16],
        "arrival": int(time.time()),
        "declared": 0,
        "unbatched": 9,
        "batched": 4000,
        "deadline": None,
        "shift": 0,
        "label": None,
        "period": "",
        "earliest": None,
        "latest": None,
    }


def known(number: int) -> int | None:
    """Three in five posts of this policy know their release at once: one more index to write."""
    return int(time.time()) + 7200 + number % 3600 if number % 5 < 3 else None


def plain_insert(store: Store, post: dict, arrival: dict) -> None:
    """As the driver's own documentation would have it."""
    statements = queries("postgres" if isinstance(store, PostgresStore) else "sqlite")
    connection = store.connection()
    if isinstance(store, PostgresStore):
        with connection.transaction():
            connection.execute(_named(statements["insert_post"]), post)
            connection.execute(_named(statements["insert_arrival"]), arrival)
    else:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(statements["insert_post"], post)
        connection.execute(statements["insert_arrival"], arrival)
        connection.execute("COMMIT")


@cache
def _named(statement: str) -> str:
    """With psycopg's marks for parameters."""
    return re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", statement)


def posts(count: int, numbers: list[int]) -> list[Post]:
    numbers[0] += count
    return [
        Post(actor=f"actor {n % 5000}", target=f"target {n}", outlet="sink", content=CONTENT)
        for n in range(numbers[0] - count, numbers[0])
    ]


def admissions(bare: Store, kept: Store, *, tiny: bool) -> None:
    one, bulk, rounds = (5, 20, 2) if tiny else (100, 2500, 31)
    gate, numbers = Gate(vault(kept), POLICY), [0]
    vault(bare)

    ones = [posts(one, numbers) for _ in range(3 * rounds + 3)]
    bulks = [posts(bulk, numbers) for _ in range(2 * rounds + 2)]

    def bare_one() -> None:
        for number, each in enumerate(ones.pop()):
            plain_insert(bare, *row(each, known(number)))

    def bare_at_once() -> None:
        for number, each in enumerate(ones.pop()):
            post, arrival = row(each, known(number))
            with bare.transaction("working") as transaction:  # to PostgreSQL all in one trip
                transaction.tell("insert_post", **post)
                transaction.tell("insert_arrival", **arrival)

    def bare_bulk() -> None:
        pairs = (row(each, known(number)) for number, each in enumerate(bulks.pop()))
        new, arrived = zip(*pairs, strict=True)
        with bare.transaction("working") as transaction:
            transaction.many("insert_post", new)
            transaction.many("insert_arrival", arrived)

    def kept_one() -> None:
        for post in ones.pop():
            gate.admit(post)

    contestants = {
        "bare insert": bare_one,
        "the same in one trip": bare_at_once,
        "admit one by one": kept_one,
    }
    seconds = interleaved(contestants, rounds)
    goal = {"admit one by one": "0.85"}
    speeds("Posts taken one by one", seconds, "bare insert", dict.fromkeys(seconds, one), goal)
    seconds = interleaved(
        {"bare bulk insert": bare_bulk, "admit in bulk": lambda: gate.admit_many(bulks.pop())},
        rounds,
    )
    goal = {"admit in bulk": "0.5"}
    speeds("Posts taken at once", seconds, "bare bulk insert", dict.fromkeys(seconds, bulk), goal)


CLAIM_AND_MARK = """
UPDATE posts SET state = 'released', content = NULL
WHERE id IN (SELECT id FROM posts WHERE state IN ('waiting', 'in_doubt') AND until IS NULL
             AND release IS NOT NULL AND release <= {due} ORDER BY release, id LIMIT {batch} {skip})
RETURNING id, content
"""


def bare_claim(store: Store, due: int) -> list:
    """Claim and mark in one statement of its own: no lease, so a crash loses what was claimed."""
    skip = "FOR UPDATE SKIP LOCKED" if isinstance(store, PostgresStore) else ""
    connection = store.connection()
    return connection.execute(CLAIM_AND_MARK.format(due=due, batch=BATCH, skip=skip)).fetchall()


def fill(store: Store, count: int, release: int) -> None:
    for start in range(0, count, 20_000):
        waiting = posts(min(20_000, count - start), [start])
        with store.transaction("working") as transaction:
            transaction.many("insert_post", [row(post, release)[0] for post in waiting])


def releases(bare: Store, kept: Store, *, tiny: bool) -> None:
    count, rounds = (50, 2) if tiny else (5000, 9)
    releaser, sink = Releaser(vault(kept)), Sink()
    vault(bare)

    def drain() -> None:
        while taken := bare_claim(bare, 1):
            sink.late += [0.0] * len(taken)

    seconds: dict[str, list[float]] = {"bare claim": [], "release with lease and mark": []}
    for _ in range(rounds):
        for store, name, work in (
            (bare, "bare claim", drain),
            (kept, "release with lease and mark", releaser.release),
        ):
            fill(store, count, 1)
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    goal = {"release with lease and mark": "0.2, goal 0.5"}
    speeds("Posts that leave", seconds, "bare claim", dict.fromkeys(seconds, count), goal)


def claims_as_it_grows(
    kind: str, new_store: Callable[[], Store], *, tiny: bool, sizes: tuple[int, ...] = SIZES
) -> Figure:
    """The cost of claiming and marking one batch, in stores where ever more posts wait for a later tick."""
    sizes, rounds = ((100, 1000), 3) if tiny else (sizes, 75)
    stores = {size: new_store() for size in sizes}
    releasers = {size: Releaser(vault(store)) for size, store in stores.items()}
    for size, store in stores.items():
        fill(store, size, 1 << 40)
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(rounds):
        for size, store in stores.items():
            fill(store, 100, 1)
            start = time.perf_counter()
            releasers[size].release()
            seconds[size].append(time.perf_counter() - start)
    return costs(
        f"Claim and mark 100 posts, {kind}",
        {f"{size:,} waiting": times for size, times in seconds.items()},
        f"{sizes[0]:,} waiting",
        own=tuple(f"{size:,} waiting" for size in reversed(sizes)),
    )


def lateness(bare: Store, kept: Store, *, tiny: bool) -> list[Figure]:
    """One post falls due at every tick: how late is the keeper, how late a loop that sleeps until then?"""
    ticks, tick = (10, 0.05) if tiny else (150, 0.05)
    here = vault(kept, QUICK)
    vault(bare, QUICK)
    late: dict[str, list[list[float]]] = {"bare loop": [], "keeper": []}
    for _ in range(1 if tiny else 3):
        late["bare loop"].append(bare_lateness(bare, ticks, tick))
        late["keeper"].append(kept_lateness(here, ticks, tick))
    return show_lateness("How late", late)


def show_lateness(title: str, late: dict[str, list[list[float]]]) -> list[Figure]:
    """Each round of each contestant; the first one is the limit, the last one ours. Nobody may be early."""
    base, *_, ours = late
    early = {name: sum(one < 0 for times in rounds for one in times) for name, rounds in late.items()}
    print(f"early: {early}")
    assert not early[ours], "something was released early"
    kinds = {"own": (ours,), "limits": (base,)}
    return [
        costs(f"{title}: {name}", {who: list(map(what, each)) for who, each in late.items()}, base, **kinds)
        for name, what in (("the median", median), ("99 %", far))
    ]


def far(times: list[float]) -> float:
    """99 % are no later."""
    return quantiles(times, n=100)[98]


def bare_lateness(store: Store, ticks: int, tick: float) -> list[float]:
    first, late = _schedule(store, ticks, tick), []
    for due in range(first, first + ticks):
        time.sleep(max(0.0, due * tick - time.time()))
        assert len(bare_claim(store, due)) == 1
        late.append(time.time() - due * tick)
    return late


def _schedule(store: Store, ticks: int, tick: float) -> int:
    """One post for each tick, the first of them soon; which tick that is."""
    first = int(time.time() / tick) + 20
    with store.transaction("working") as transaction:
        due = [row(post, first + n)[0] for n, post in enumerate(posts(ticks, [0]))]
        transaction.many("insert_post", due)
    return first


def kept_lateness(here: Vault, ticks: int, tick: float) -> list[float]:
    _schedule(here.store, ticks, tick)
    sink = here.outlets["sink"]
    sink.late.clear()
    keeper = Keeper(here, workers=2)
    thread = threading.Thread(target=keeper.run)
    thread.start()
    while len(sink.late) < ticks:
        time.sleep(0.05)
    keeper.stop()
    thread.join()
    return list(sink.late)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    parser.add_argument("--backend", choices=["sqlite", "postgres"], help="only this one")
    arguments = parser.parse_args()
    for backend in [arguments.backend] if arguments.backend else ["sqlite", "postgres"]:
        print(f"--- {backend}\n")
        with tempfile.TemporaryDirectory() as folder:
            if backend == "sqlite":
                names = iter(range(100))
                measure(
                    lambda names=names, folder=folder: SqliteStore(f"{folder}/{next(names)}.sqlite"),
                    tiny=arguments.tiny,
                )
            else:
                server = PostgresServer(durable=True)
                try:
                    server.start()
                    measure(lambda server=server: PostgresStore(server.new_database()), tiny=arguments.tiny)
                finally:
                    server.remove()


def measure(new_store: Callable[[], Store], *, tiny: bool) -> None:
    admissions(new_store(), new_store(), tiny=tiny)
    releases(new_store(), new_store(), tiny=tiny)
    lateness(new_store(), new_store(), tiny=tiny)
    claims_as_it_grows("all else waits", new_store, tiny=tiny)


if __name__ == "__main__":
    main()
