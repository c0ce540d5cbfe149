"""The gateway over HTTP: durable admission beside the same stack without the insert, and beside peers.

    pip install litestar huey procrastinate celery redis    (and from the system: wrk, redis-server)
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
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple

from _doors import gateway, serve
from _load import Load, Served, has_wrk, redis_server
from _measure import print_speeds
from keep_peers import installed

import keep as ours
from tarry.gateway.database import open_store
from tarry.gateway.feed import FeedOutlet
from tarry.keep.keeper import Keeper
from tarry.keep.posts import Release
from tarry.keep.releaser import Published, Releaser
from tarry.keep.store import Store, Transaction, Vault

BASE, COPIED = "tarry without the insert", "bare claim, copied to a feed"
GOALS = {"tarry, SQLite": "0.6", "tarry, PostgreSQL": "0.6"}
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
        "bare ASGI": Entrant("bare"),
        "Starlette and msgspec, no work": Entrant("starlette"),
        "Litestar and msgspec, no work": Entrant("litestar", needs="litestar"),
        "FastAPI and pydantic, no work": Entrant("fastapi", needs="fastapi"),
        BASE: Entrant("no_insert"),
        "through the thread": Entrant("handed_over"),
        "and prepared": Entrant("prepared"),
        "tarry, in memory": Entrant("tarry", ":memory:"),
        "tarry, SQLite": Entrant("tarry", str(folder / "gateway.db")),
        "tarry, PostgreSQL": Entrant("tarry", databases()),
        "huey, SQLite": Entrant("huey", str(folder / "huey.db"), needs="huey"),
        "Procrastinate, PostgreSQL": Entrant("procrastinate", databases(), needs="procrastinate"),
    }
    if redis is not None and installed("redis"):
        found["Celery, Redis"] = Entrant("celery", f"redis+socket://{redis}", needs="celery")
    return {name: each for name, each in found.items() if installed(each.needs)}


def admission(folder: Path, databases: Callable[[], str], *, tiny: bool) -> None:
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
    seconds = {name: [load.seconds for load in found] for name, found in loads.items()}
    print_speeds(seconds, BASE, dict.fromkeys(seconds, 1), GOALS)
    steps(loads)


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


def releases(bare: Store, copied: Store, here: Vault, *, tiny: bool) -> None:
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
    print_speeds(seconds, COPIED, dict.fromkeys(seconds, size), {"released to a feed": "0.65, goal 0.8"})


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


def lateness(bare: Store, here: Vault, *, tiny: bool) -> None:
    """One post falls due at every tick: when can everybody read it?"""
    ticks, tick = (10, 0.05) if tiny else (150, 0.05)
    ours.vault(bare, ours.QUICK)
    late: dict[str, list[float]] = {"bare loop": [], "the feed": []}
    for _ in range(1 if tiny else 3):
        late["bare loop"] += ours.bare_lateness(bare, ticks, tick)
        late["the feed"] += feed_lateness(here, ticks, tick)
    ours.show_lateness(late)


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


def leaving(new: Callable[[], str], *, tiny: bool) -> None:
    releases(open_store(new()), open_store(new()), gateway(new()).vault, tiny=tiny)
    lateness(open_store(new()), gateway(new(), ours.QUICK).vault, tiny=tiny)


def measure(folder: Path, databases: Callable[[], str], *, only: str | None, tiny: bool) -> None:
    if only != "leaving":
        admission(folder, databases, tiny=tiny)
    if only != "admission":
        numbers = count()
        print("--- sqlite\n")
        leaving(lambda: str(folder / f"{next(numbers)}.db"), tiny=tiny)
        print("--- postgres\n")
        leaving(databases, tiny=tiny)


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
    server = ours.PostgresServer(durable=True)
    try:
        server.start()
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), server.new_database, only=arguments.only, tiny=arguments.tiny)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
