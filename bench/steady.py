"""Steady load over HTTP: how long answers take, and how much memory the server holds, in one run.

    python bench/steady.py                    # 10 s a round, all contestants in turn
    python bench/steady.py --seconds 600      # ten minutes a round: an hour and a half

All get posts at one rate: half of what the slower of our two takes at most, as wrk measures it first. A
post is sent at its moment, whether or not others are answered, and its time runs from that moment: a server
that stands still is not asked less. The base is our own application without preparing and storing a post.
"""

import argparse
import asyncio
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

from _load import ACTORS, BODY, PATH, TARGETS, Served, has_wrk
from _measure import Figure, Table, costs, installed

import gateway

CONNECTIONS = 32
BASE, OURS = "tarry without the insert", ("tarry, PostgreSQL", "tarry, SQLite")
LOOKS = {"the median": 500, "99 %": 990, "99.9 %": 999}


class Steady:
    """Posts at a rate, to one server; the seconds from each post's moment to its answer."""

    def __init__(self, server: Served, rate: float, seconds: float, tag: str) -> None:
        self._server, self._rate, self._total = server, rate, int(rate * seconds)
        self._tag, self._took = tag, list[float]()

    def run(self) -> list[float]:
        """All of them."""
        asyncio.run(self._all())
        assert len(self._took) == self._total
        return self._took

    async def _all(self) -> None:
        begin = time.perf_counter() + 0.2
        await asyncio.gather(*(self._connection(number, begin) for number in range(CONNECTIONS)))

    async def _connection(self, first: int, begin: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        for number in range(first, self._total, CONNECTIONS):
            due = begin + number / self._rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            writer.write(self._request(number))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 202"), head
            length = head.lower().partition(b"content-length: ")[2].split()[0]
            await reader.readexactly(int(length))
            self._took.append(time.perf_counter() - due)
        writer.close()

    def _request(self, number: int) -> bytes:
        body = BODY % (number % ACTORS, number % TARGETS)
        headers = self._server.headers | {
            "Host": "127.0.0.1",
            "Idempotency-Key": f"{self._tag}.{number}",
            "Content-Length": str(len(body)),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"POST {PATH} HTTP/1.1\r\n{lines}\r\n{body}".encode()


def measure(*, tiny: bool, seconds: float = 10) -> list[Figure | Table]:
    rounds = 1 if tiny else 3
    with gateway.places() as (folder, databases), ExitStack() as stack:
        servers = {
            name: stack.enter_context(Served(gateway.__file__, door, where))
            for name, door, where in doors(folder, databases)
        }
        for server in servers.values():
            server.begin()
        most = {
            name: median(1 / server.load(tiny=tiny).seconds for _ in range(3))
            for name, server in servers.items()
        }
        rate = 40.0 if tiny else min(most[name] for name in OURS) / 2
        before = {name: server.memory() for name, server in servers.items()}
        took: dict[str, list[list[float]]] = {name: [] for name in servers}
        for turn in range(rounds):
            for name, server in servers.items():
                took[name].append(Steady(server, rate, 0.5 if tiny else seconds, f"steady{turn}").run())
        rows = [
            [
                name,
                f"{before[name] / 1e6:.0f} MB",
                f"{server.memory() / 1e6:.0f} MB",
                str(len(took[name][0]) * rounds),
            ]
            for name, server in servers.items()
        ]
    memory = Table("Memory of the server's process", ["", "before", "after", "posts between"], rows)
    memory.show()
    return [*(figure(look, took) for look in LOOKS), memory]


def doors(folder: Path, databases: object) -> list[tuple[str, str, str]]:
    found = [
        (BASE, "no_insert", ""),
        (OURS[1], "tarry", str(folder / "gateway.db")),
        (OURS[0], "tarry", databases()),
    ]
    if installed("huey"):
        found.append(("huey, SQLite", "huey", str(folder / "huey.db")))
    if installed("procrastinate"):
        found.append(("Procrastinate, PostgreSQL", "procrastinate", databases()))
    if installed("pgmq"):
        found.append(("pgmq's SQL, PostgreSQL", "pgmq", databases()))
    return found


def figure(look: str, took: dict[str, list[list[float]]]) -> Figure:
    times = {name: [quantiles(one, n=1000)[LOOKS[look] - 1] for one in each] for name, each in took.items()}
    return costs(f"How long an answer takes: {look}", times, BASE, own=OURS, limits=(BASE,))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    parser.add_argument("--seconds", type=float, default=10, help="of each round (default 10)")
    given = parser.parse_args()
    if not given.tiny and not has_wrk():
        parser.error("the load is made by wrk, which is not installed (Debian: apt install wrk)")
    measure(tiny=given.tiny, seconds=given.seconds)


if __name__ == "__main__":
    main()
