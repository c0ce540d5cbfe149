"""Whether a stop watch tells an arrival: an outsider polls the feed, and we look at their slowest answers.

    python bench/stalls.py                   SQLite (60 MB), PostgreSQL, and SQLite with a planted stall
    python bench/stalls.py --only sqlite     one of them: sqlite, postgres, planted

A gateway and its keeper run in a process of their own, on real time. Round by round a coin decides between
two worlds: in one a person hands in two posts, in the other nobody does anything; neither has a release.
After the request itself is over, the poller's slowest answer is noted until all has happened that the
arrivals cause: labels, closes, erasure, tidying. (The request itself is not looked at: its moment is not
protected.)

A permutation test of the two samples takes worlds that are alike for different ones in one run of a
thousand. So that it has teeth, the third run plants a stall of half a second two windows after an arrival:
it must be found. The command ends with 1 if the honest runs are told apart, or the planted one is not.
"""

import argparse
import http.client
import json
import multiprocessing
import random
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from contracts.postgres_server import PostgresServer
from contracts.stalls import ALPHA, Poll, chance_of, slowest
from tarry.core.policy import Policy
from tarry.gateway.app import create_app
from tarry.gateway.database import open_store
from tarry.gateway.feed import Feed, FeedOutlet
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import Limits
from tarry.gateway.server import Listener, bind
from tarry.gateway.space_changes import add_space
from tarry.gateway.testing import new_token
from tarry.keep import sqlite
from tarry.keep.keeper import Keeper
from tarry.keep.keys import Keys
from tarry.keep.posts import Release
from tarry.keep.store import SystemClock

WINDOW_S, TICK_S, STALL_S = 2.0, 0.25, 0.5
#: Two posts of one person are batched, and leave after an hour at the earliest.
POLICY = Policy(epsilon="1", gap="1h", window=f"{WINDOW_S}s", tick=f"{TICK_S}s")
#: The request is over, even if it waited for a file that was written anew; its label comes after a window.
SINCE_S = 0.75 * WINDOW_S
#: Everything has happened: two windows, a public period, some ticks.
UNTIL_S = SINCE_S + 3 * WINDOW_S + 4 * TICK_S
POLLS = "/v1/spaces/talk/feed?after={}&limit=20"
PAUSE_S = 0.003


# --- the gateway ----------------------------------------------------------------------------------------


def serve(where: str, items: int, talk: Connection, *, planted: bool) -> None:
    """A gateway with a large store, until the other end says something."""
    sqlite._REST = 2  # the file is written anew at nearly every public moment  # noqa: SLF001
    store, keys, clock = open_store(where), Keys(bytes(range(32))), SystemClock()
    with store.transaction("closing") as transaction:
        add_space(transaction, keys, clock, "talk", POLICY, sealed=True)
        content = random.randbytes(500).hex().encode()
        releases = (
            Release(id=f"{n:032x}", target="p", content=content, options={}, at=Fraction(n), attempt=1)
            for n in range(1, items + 1)
        )
        FeedOutlet("talk").record(transaction, list(releases))
    gateway = Gateway(store, keys, clock)
    token = new_token(gateway, "submit")
    app = create_app(gateway, limits=Limits(rate_per_s=1e6, burst=10**6))
    if planted:
        plant_a_stall(gateway)
    door, keeper = Listener(app, bind("127.0.0.1", 0)), Keeper(gateway.vault)
    threads = [threading.Thread(target=door.run), threading.Thread(target=keeper.run)]
    for thread in threads:
        thread.start()
    talk.send((door.url, token))
    talk.recv()
    door.should_exit = True
    keeper.stop()
    for thread in threads:
        thread.join()


def plant_a_stall(gateway: Gateway) -> None:
    """Two windows after each arrival whoever reads the feed waits for half a second."""
    admit, after, tidying = gateway.admit, Feed.sizes_after, threading.Lock()

    def tidy() -> None:
        with tidying:
            time.sleep(STALL_S)

    def admit_and_tidy(requests: list) -> list:
        threading.Timer(2 * WINDOW_S, tidy).start()
        return admit(requests)

    def wait_and_read(*asked: object) -> list:
        with tidying:
            return after(*asked)

    gateway.admit, Feed.sizes_after = admit_and_tidy, wait_and_read


@contextmanager
def served(where: str, items: int, *, planted: bool = False):
    """Its address, and a token."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(where, items, there), kwargs={"planted": planted})
    process.start()
    try:
        if not here.poll(600):
            raise TimeoutError("the gateway did not start")
        yield here.recv()
    finally:
        here.send("end")
        process.join()


# --- who watches ------------------------------------------------------------------------------------------


class Poller(threading.Thread):
    """Asks for the last page of the feed, again and again."""

    def __init__(self, url: str, items: int) -> None:
        super().__init__()
        self.polls: list[Poll] = []
        self._url, self._path, self._ended = url, POLLS.format(items - 20), threading.Event()

    def run(self) -> None:
        """Until it is stopped."""
        connection = http.client.HTTPConnection(urlsplit(self._url).netloc)
        while not self._ended.wait(PAUSE_S):
            begun = time.perf_counter()
            connection.request("GET", self._path)
            answer = connection.getresponse()
            answer.read()
            self.polls.append(Poll(begun, time.perf_counter() - begun))
            assert answer.status == 200, answer.status
        connection.close()

    def stop(self) -> None:
        """And wait for its last answer."""
        self._ended.set()
        self.join()


def hand_in_a_pair(url: str, token: str, number: int) -> None:
    """One person, two targets."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for target in ("p1", "p2"):
        body = {"actor": f"person {number}", "target": target, "content": "hello"}
        connection.request("POST", "/v1/spaces/talk/posts", json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 202, answer.status
    connection.close()


def play(url: str, token: str, items: int, rounds: int, until_s: float) -> dict[bool, list[float]]:
    """The slowest answers of each round, by whether anything had arrived."""
    coins = [True] * rounds + [False] * rounds
    random.SystemRandom().shuffle(coins)
    poller, found = Poller(url, items), {True: [], False: []}
    poller.start()
    try:
        for number, arrives in enumerate(coins):
            time.sleep(random.uniform(0, WINDOW_S))  # at any moment of a public period
            # Before the request: how long it takes must not move the stretch that is looked at.
            begun = time.perf_counter()
            if arrives:
                hand_in_a_pair(url, token, number)
            time.sleep(max(0, begun + until_s - time.perf_counter()))
            found[arrives].append(slowest(tuple(poller.polls), begun + SINCE_S, begun + until_s))
            poller.polls.clear()
    finally:
        poller.stop()
    return found


def compare(name: str, where: str, items: int, rounds: int, until_s: float) -> float:
    begun = time.perf_counter()
    with served(where, items, planted=name == "planted") as (url, token):
        found = play(url, token, items, rounds, until_s)
    chance = chance_of(found[True], found[False])
    print(f"--- {name}: {rounds} rounds with a pair of arrivals, {rounds} without, in random order")
    if name != "postgres":
        print(f"    store of {Path(where).stat().st_size / 1e6:.0f} MB")
    for arrives, word in ((True, "with"), (False, "without")):
        waits = [1000 * wait for wait in found[arrives]]
        spread = "".join(f"{wait:8.1f}" for wait in (min(waits), median(waits), max(waits)))
        print(f"    slowest answer of a round, {word:<8}{spread} ms   (least, median, most)")
    print(
        f"    chance of such a difference if the worlds are alike: {chance:.5f}   "
        f"(told apart below {ALPHA}; {time.perf_counter() - begun:.0f} s)\n"
    )
    return chance


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    parser.add_argument("--only", choices=["sqlite", "postgres", "planted"], help="only this one")
    parser.add_argument("--rounds", type=int, default=20, help="of either world (default 20)")
    arguments = parser.parse_args()
    size = (200, 1, SINCE_S + 1) if arguments.tiny else (50_000, arguments.rounds, UNTIL_S)
    failed = []
    for name in [arguments.only] if arguments.only else ["sqlite", "postgres", "planted"]:
        with tempfile.TemporaryDirectory() as folder:
            server = PostgresServer(durable=True) if name == "postgres" else None
            try:
                if server is not None:
                    server.start()
                where = f"{folder}/gateway.db" if server is None else server.new_database()
                is_apart = compare(name, where, *size) < ALPHA
            finally:
                if server is not None:
                    server.remove()
        if is_apart != (name == "planted"):
            failed.append(name)
    if failed and not arguments.tiny:
        print(f"not as it should be: {', '.join(failed)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
