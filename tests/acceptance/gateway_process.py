"""Servers and workers of a gateway as processes of their own, for tests that kill them.

`python gateway_process.py FOLDER WHERE LEASE` imports everything once and then does what it reads, line by
line: `serve PORT` and `work THREADS` fork a process that does what `tarry serve` and `tarry worker` do, and
answer with its id once it has begun (`hasty` before it: at once); `kill ID` and `end ID` answer with how it
ended.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg.rows  # noqa: F401 - imported once, here, and not by each process that opens a store

from tarry.cli.serve import end_on_signals
from tarry.core.policy import Policy
from tarry.gateway.catalog import add_token, read_catalog
from tarry.gateway.config import Config
from tarry.gateway.database import first_keys, open_database, open_gateway
from tarry.gateway.feed import FeedOutlet
from tarry.gateway.monitoring import Log
from tarry.gateway.server import ThreadGroup, serve, work
from tarry.gateway.space_changes import add_space
from tarry.keep import keeper, releaser
from tarry.keep.posts import Release
from tarry.keep.releaser import LEASE_S
from tarry.keep.store import Transaction

__all__ = [
    "POLICY",
    "Ask",
    "ask_http",
    "config_at",
    "found_gateway",
    "free_ports",
    "processes",
    "running",
    "wait_for",
]

POLICY = Policy(epsilon="2", gap="1s", window="0.5s", tick="0.25s")
_PATIENCE_S = 5.0
_DEADLINE_S = 60.0
Ask = Callable[..., int]


def config_at(folder: Path, where: str, port: int = 0) -> Config:
    """The settings of one process; a server leaves releasing to the workers."""
    return Config(database=where, key_file=str(folder / "key"), port=port, workers_in_server=0)


def found_gateway(folder: Path, where: str, **outlets: dict[str, Any]) -> str:
    """Make a gateway with the space "talk", or with spaces with these outlets; a token for everything."""
    config = config_at(folder, where)
    store = open_database(config, make=True)
    keys = first_keys(config, store)
    with store.transaction("closing") as transaction:
        for name, outlet in (outlets or {"talk": {"kind": "feed"}}).items():
            add_space(transaction, keys, store.clock(), name, POLICY, outlet=outlet)
        token = add_token(transaction, read_catalog(transaction), "a test", ["admin"])[1]
    store.close()
    return token


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens at."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def ask_http(
    port: int, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, Any] | None:
    """What a server answers; None if it died, or does not live."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        sent["Content-Type"] = "application/json"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    except (OSError, http.client.HTTPException, ValueError):  # the last one: half an answer
        return None
    finally:
        connection.close()


def wait_for(condition: Callable[[], object], what: str, seconds: float = _DEADLINE_S) -> None:
    """By looking, with a deadline that only a broken gateway meets."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not after {seconds:.0f} s: {what}"
        time.sleep(0.02)


def running(source: Path | None) -> dict[str, str]:
    """The environment of a process that runs another tarry."""
    return {**os.environ} if source is None else {**os.environ, "PYTHONPATH": str(source)}


@contextmanager
def processes(
    folder: Path, where: str, *, lease_s: int = LEASE_S, source: Path | None = None
) -> Iterator[Ask]:
    """What forks, kills and ends the processes of a run; a worker that dies is missed after a lease.

    With a `source` they run the tarry that lies there.
    """
    nursery = subprocess.Popen(
        [sys.executable, __file__, str(folder), where, str(lease_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**running(source), "OPENBLAS_NUM_THREADS": "1"},  # a process with threads is not forked
        text=True,
        start_new_session=True,
    )

    def ask(*words: object) -> int:
        print(*words, file=nursery.stdin, flush=True)
        return int(nursery.stdout.readline())

    try:
        yield ask
    finally:
        nursery.stdin.close()
        nursery.wait(_DEADLINE_S)
        nursery.stdout.close()


# --- inside the nursery -----------------------------------------------------------------------------


def main(folder: Path, where: str, lease_s: int) -> None:
    """Do what is asked, until there is nobody to ask."""
    releaser.LEASE_S, keeper.LEASE_S, keeper._RENEW_S = lease_s, lease_s, lease_s / 4
    for line in sys.stdin:
        match line.split():
            case ["kill" | "end" as how, process]:
                os.kill(int(process), signal.SIGKILL if how == "kill" else signal.SIGTERM)
                answer = os.waitstatus_to_exitcode(os.waitpid(int(process), 0)[1])
            case [*hasty, what, number]:
                answer = _start(folder, where, what, int(number), hasty=bool(hasty))
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    os.killpg(0, signal.SIGKILL)


def _start(folder: Path, where: str, what: str, number: int, *, hasty: bool) -> int:
    ours, theirs = os.pipe()
    process = os.fork()
    if not process:
        os.close(0)  # the questions are not for the children
        os.close(ours)
        _become(folder, where, what, number, theirs)
    os.close(theirs)
    if not hasty:
        os.read(ours, 1)
    os.close(ours)
    return process


def _become(folder: Path, where: str, what: str, number: int, ready: int) -> None:
    try:
        with (folder / "log").open("a", encoding="utf-8") as file:
            running, log = ThreadGroup(), Log(file)
            end_on_signals(running)
            if what == "serve":
                config = config_at(folder, where, number)
                serve(open_gateway(config), config, log, running, lambda _: os.close(ready))
            else:
                FeedOutlet.record = _slowly(folder)
                gateway = open_gateway(config_at(folder, where))
                os.close(ready)
                work(gateway, log, running, threads=number)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a child never returns into its parent's work
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def _slowly(folder: Path) -> Callable[..., None]:
    """Room for a kill between the marks of releases and their rows, and before both are written down.

    A file tells who has begun, and how often it came to its end.
    """
    record = FeedOutlet.record

    def slow_record(outlet: FeedOutlet, transaction: Transaction, releases: Sequence[Release]) -> None:
        with (folder / "records").open("ab", buffering=0) as file:
            file.write(b"(%d " % os.getpid())
            time.sleep(0.005)
            record(outlet, transaction, releases)
            time.sleep(0.005)
            file.write(b")")

    return slow_record


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
