"""The gateway over HTTP: durable admission beside the same stack without the insert, and beside peers.

    python bench/gateway.py
    python bench/gateway.py --only admission     or leaving

Each contestant is one uvicorn process on loopback; wrk keeps 32 requests on their way. Every request has a
key and an actor of its own. A peer that is not installed is named and left out.
"""

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple

from _doors import gateway, serve
from _load import Load, Served, has_wrk, redis_server
from _measure import Figure, installed, speeds

import keep as ours
from tarry.gateway.database import open_store
from tarry.gateway.feed import FeedOutlet
from tarry.keep.keeper import Keeper
from tarry.keep.posts import Release
from tarry.keep.releaser import Published, Releaser
from tarry.keep.store import Store, Transaction, Vault

BASE, COPIED = "tarry without the insert", "bare claim, copied to a feed"
GOALS = {"tarry, SQLite": "0.5", "tarry, PostgreSQL": "0.5"}
LIMITS = (
    "bare ASGI",
    "Starlette and msgspec, no work",
    "Litestar and msgspec, no work",
    "FastAPI and pydantic, no work",
)
STEPS = {
    "reading, token, limits, answer": BASE,
    "the thread that admits, and back": "through the thread",
    "checks, hashes, draws, sealing": "and prepared",
    "the transaction, in memory": "tarry, in memory",
    "a file, and waiting for the disk": "tarry, SQLite",
}


class Entrant(NamedTuple):
    """Who takes part."""

    door: str  # its name in _doors
    where: str = ""  # what it stores to
    needs: str = "starlette"  # a package


def entrants(folder: Path, databases: Callable[[], str], redis: str | None) -> dict[str, Entrant]:
    found = {
        LIMITS[0]: Entrant("bare"),
        LIMITS[1]: Entrant("starlette"),
        LIMITS[2]: Entrant("litestar", needs="litestar"),
        LIMITS[3]: Entrant("fastapi", needs="fastapi"),
        BASE: Entrant("no_insert"),
        "through the thread": Entrant("handed_over"),
        "and prepared": Entrant("prepared"),
        "tarry, in memory": Entrant("tarry", ":memory:"),
        "tarry, SQLite": Entrant("tarry", str(folder / "gateway.db")),
        "tarry, PostgreSQL": Entrant("tarry", databases()),
        "huey, SQLite": Entrant("huey", str(folder / "huey.db"), needs="huey"),
        "Procrastinate, PostgreSQL": Entrant("procrastinate", databases(), needs="procrastinate"),
        "pgmq's SQL, PostgreSQL": Entrant("pgmq", databases(), needs="pgmq"),
    }
    if redis is not None and installed("redis"):
        found["Celery, Redis"] = Entrant("celery", f"redis+socket://{redis}", needs="celery")
    return {name: each for name, each in found.items() if installed(each.needs)}


def admission(folder: Path, databases: Callable[[], str], *, tiny: bool) -> list[Figure]:
    rounds = 1 if tiny else 7
    with ExitStack() as stack:
        redis = stack.enter_context(redis_server(folder))
        servers = {
            name: stack.enter_context(Served(__file__, each.door, each.where))
            for name, each in entrants(folder, databases, redis).items()
        }
        for server in servers.values():
            server.begin()
        for server in servers.values():
            server.load(tiny=tiny)  # to warm up
        loads: dict[str, list[Load]] = {name: [] for name in servers}
        for _ in range(rounds):
            for name, server in servers.items():
                loads[name].append(server.load(tiny=tiny))
    wall = {name: [load.seconds for load in found] for name, found in loads.items()}
    cpu = {name: [max(load.cpu_s, 1e-6) for load in found] for name, found in loads.items()}
    kinds = {"own": ("tarry, PostgreSQL", "tarry, SQLite", "tarry, in memory"), "limits": (*LIMITS, BASE)}
    each = dict.fromkeys(wall, 1)
    figures = [
        speeds("Posts taken over HTTP", wall, BASE, each, **kinds),
        speeds("Posts taken for a second of the server's processor", cpu, BASE, each, GOALS, **kinds),
    ]
    steps(loads)
    return figures


def steps(loads: dict[str, list[Load]]) -> None:
    """What each step adds to a request, and how much of that is work of the server's process."""
    print(f"{'where the time goes, us per request':<44}{'adds':>10}{'in all':>10}{'of CPU':>10}")
    before = 0.0
    for step, name in STEPS.items():
        wall, cpu = (1e6 * median(times) for times in zip(*loads[name], strict=True))
        print(f"{step:<44}{wall - before:>10.1f}{wall:>10.1f}{cpu:>10.1f}")
        before = wall
    wall, cpu = (1e6 * median(times) for times in zip(*loads["tarry, PostgreSQL"], strict=True))
    print(f"{'with PostgreSQL instead of the file':<44}{'':>10}{wall:>10.1f}{cpu:>10.1f}\n")


# --- leaving by the feed ----------------------------------------------------------------------------------


def due(here: Vault, posts: int, release: int, step: int = 0) -> None:
    """Posts that fall due at a tick, or one after the other; stored as the gateway stores them."""
    rows = []
    for n, post in enumerate(ours.posts(posts, [0])):
        made = ours.row(post, release + n * step)[0] | {"outlet": "talk"}
        sealed = {what: here.seal.shut(made["id"], what, made[what]) for what in ("content", "options")}
        rows.append(made | sealed)
    with here.store.transaction("working") as transaction:
        transaction.many("insert_post", rows)


def releases(kind: str, bare: Store, copied: Store, here: Vault, *, tiny: bool) -> Figure:
    size, rounds = (50, 2) if tiny else (5000, 9)
    ours.vault(bare)
    ours.vault(copied)
    releaser = Releaser(here)

    def drain() -> None:
        while ours.bare_claim(bare, 1):
            pass

    def copy() -> None:
        while copied_to_feed(copied):
            pass

    works = {
        "bare claim": drain,
        COPIED: copy,
        "released to a feed": releaser.release,
    }
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        ours.fill(bare, size, 1)
        ours.fill(copied, size, 1)
        due(here, size, 1)
        for name, work in works.items():
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    return speeds(
        f"Posts that leave by a feed, {kind}",
        seconds,
        COPIED,
        dict.fromkeys(seconds, size),
        {"released to a feed": "0.65, goal 0.8"},
        own=("released to a feed",),
        limits=("bare claim", COPIED),
    )


def copied_to_feed(store: Store) -> int:
    """The least that a feed takes: a claim, and a row for each under a random id, in one transaction.

    (An id that follows from the order of the posts would be quicker to store, and tell their keys.)
    """
    with store.transaction("working") as transaction:
        taken = ours.bare_claim(store, 1)
        last = transaction.one("last_position", space="talk")["position"] or 0
        plain = {"space": "talk", "target": "target", "options": "{}", "at": 1}
        rows = [
            plain | {"position": n, "id": os.urandom(16).hex(), "content": ours.CONTENT}
            for n in range(last + 1, last + 1 + len(taken))
        ]
        transaction.many("publish", rows)
    return len(taken)


def lateness(kind: str, bare: Store, here: Vault, *, tiny: bool) -> list[Figure]:
    """One post falls due at every tick: when can everybody read it?"""
    ticks, tick = (10, 0.05) if tiny else (150, 0.05)
    ours.vault(bare, ours.QUICK)
    late: dict[str, list[list[float]]] = {"bare loop": [], "the feed": []}
    for _ in range(1 if tiny else 3):
        late["bare loop"].append(ours.bare_lateness(bare, ticks, tick))
        late["the feed"].append(feed_lateness(here, ticks, tick))
    return ours.show_lateness(f"How late a post stands in a feed, {kind}", late)


def feed_lateness(here: Vault, ticks: int, tick: float) -> list[float]:
    due(here, ticks, int(time.time() / tick) + 20, step=1)
    late: list[float] = []
    publish, record, due_at = Releaser.publish, FeedOutlet.record, list[float]()

    def kept(self: FeedOutlet, transaction: Transaction, releases: Sequence[Release]) -> None:
        due_at[:] = [float(release.at) for release in releases]
        record(self, transaction, releases)

    def noted(self: Releaser, outlet: str) -> Published | None:
        published = publish(self, outlet)  # when this returns, whoever reads the feed finds them
        if published:
            late.extend(time.time() - at for at in due_at)
        return published

    Releaser.publish, FeedOutlet.record = noted, kept
    keeper = Keeper(here, workers=2)
    thread = threading.Thread(target=keeper.run)
    thread.start()
    while len(late) < ticks:
        time.sleep(0.05)
    keeper.stop()
    thread.join()
    Releaser.publish, FeedOutlet.record = publish, record
    return late


def left(kind: str, new: Callable[[], str], *, tiny: bool) -> Figure:
    return releases(kind, open_store(new()), open_store(new()), gateway(new()).vault, tiny=tiny)


def late(kind: str, new: Callable[[], str], *, tiny: bool) -> list[Figure]:
    return lateness(kind, open_store(new()), gateway(new(), ours.QUICK).vault, tiny=tiny)


@contextmanager
def places() -> Iterator[tuple[Path, Callable[[], str]]]:
    """A folder, and what makes databases on a PostgreSQL of our own."""
    server = ours.PostgresServer(durable=True)
    try:
        server.start()
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder), server.new_database
    finally:
        server.remove()


def stores(folder: Path, databases: Callable[[], str]) -> dict[str, Callable[[], str]]:
    numbers = count()
    return {"SQLite": lambda: str(folder / f"{next(numbers)}.db"), "PostgreSQL": databases}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    parser.add_argument("--only", choices=["admission", "leaving"], help="one half")
    parser.add_argument("--serve", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--where", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.where)
        return
    if not arguments.tiny and not has_wrk():
        parser.error("the load is made by wrk, which is not installed (Debian: apt install wrk)")
    with places() as (folder, databases):
        if arguments.only != "leaving":
            admission(folder, databases, tiny=arguments.tiny)
        if arguments.only != "admission":
            for kind, new in stores(folder, databases).items():
                left(kind, new, tiny=arguments.tiny)
                late(kind, new, tiny=arguments.tiny)


if __name__ == "__main__":
    main()
