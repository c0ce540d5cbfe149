"""People at the gate and keepers, as processes of their own, for tests that kill them.

`python keeper_process.py FOLDER WHERE` imports everything once and then does what it reads, line by line:
`admit N` and `keep N` fork a process and answer with its id once it has begun (`hasty` before it: at once);
`kill ID` and `end ID` answer with how it ended.
Everything that a test has to know afterwards is in files of FOLDER before the process goes on.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg.rows  # noqa: F401 - imported once, here, and not by each process that opens a store

from tarry.core.policy import Policy
from tarry.keep import keeper, releaser
from tarry.keep.errors import TooLate
from tarry.keep.gate import Gate
from tarry.keep.keys import Keys
from tarry.keep.outlet import Outlet
from tarry.keep.postgres import PostgresStore
from tarry.keep.posts import Post, Receipt, Release
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Store, Vault
from tarry.places.feed.outlet import FeedFile

LEASE_S = 3
POLICY = Policy(epsilon="2", gap="0.5s", window="0.3s", tick="0.05s")
KEYS = Keys(bytes(32))


def open_store(where: str) -> Store:
    """A store by its path, or by where its server is reached."""
    return PostgresStore(where) if where.startswith("postgresql:") else SqliteStore(where)


def open_vault(folder: Path, where: str) -> Vault:
    """A founded store with its two outlets."""
    outlets = {
        "feed": Watched(FeedFile(folder / "feed"), folder / "tries"),
        "once": Watched(Once(folder / "once"), folder / "tries"),
    }
    return Vault(open_store(where), KEYS, outlets)


class Once(Outlet):
    """Like a command: it leaves a mark in the world, some time after it began and before it ends."""

    delivery = "at most once"

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self, options: Mapping[str, Any]) -> None:
        """Anything goes."""

    def deliver(self, release: Release) -> None:
        time.sleep(0.01)
        append(self._path, release.id)
        time.sleep(0.01)


class Watched(Outlet):
    """Writes down when each try began."""

    def __init__(self, outlet: Outlet, path: Path) -> None:
        self._outlet, self._path = outlet, path
        self.delivery, self.check = outlet.delivery, outlet.check

    def deliver(self, release: Release) -> None:
        append(self._path, json.dumps([release.id, time.time(), str(release.at), release.attempt]))
        self._outlet.deliver(release)
        time.sleep(0.002)  # room for a kill between the delivery and its mark


def append(path: Path, line: str) -> None:
    """One write is one line: a killed process leaves a whole one or none."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


# --- who is killed --------------------------------------------------------------------------------


def admit(folder: Path, vault: Vault, number: str) -> None:
    """Hand in lone posts and pairs, take some back, and write down each answer before the next question."""
    gate, journal = Gate(vault, POLICY), folder / f"journal {number}"
    dice = random.Random(number)
    mine: list[Receipt] = []
    for act in range(1_000_000):
        outlet = "once" if dice.random() < 0.3 else "feed"
        batched = dice.random() < 0.4
        names = [f"target {number} {act} {side}" for side in range(1 + batched)]
        receipts = gate.admit_many(
            [Post(actor=f"{number} {act}", target=name, outlet=outlet, content=b"!") for name in names]
        )
        for receipt in receipts:
            status = receipt.status
            _tell(journal, "accepted", receipt, earliest=status.earliest, latest=status.latest)
        append(journal, json.dumps({"batched": [each.post for each in receipts] if batched else []}))
        mine += receipts
        if dice.random() < 0.15:
            _take_back(gate, journal, mine.pop(dice.randrange(len(mine))))
        time.sleep(dice.uniform(0.0, 0.03))


def _take_back(gate: Gate, journal: Path, receipt: Receipt) -> None:
    _tell(journal, "withdrawing", receipt)
    try:
        gate.withdraw(receipt.secret)
    except TooLate:
        return
    _tell(journal, "withdrawn", receipt, when=time.time())


def _tell(journal: Path, what: str, receipt: Receipt, **more: object) -> None:
    append(journal, json.dumps({what: receipt.post, **more}))


def keep(folder: Path, vault: Vault, number: str) -> None:
    """Close ticks and deliver, until told to end."""
    one = keeper.Keeper(vault, workers=2, tell=lambda line: append(folder / "told", line))
    signal.signal(signal.SIGTERM, lambda *_: one.stop())
    one.run()


# --- who forks them -------------------------------------------------------------------------------


def main(folder: Path, where: str) -> None:
    """Do what is asked, until there is nobody to ask."""
    releaser.LEASE_S = LEASE_S
    keeper._RENEW_S = LEASE_S / 4
    for line in sys.stdin:
        match line.split():
            case ["kill" | "end" as how, process]:
                os.kill(int(process), signal.SIGKILL if how == "kill" else signal.SIGTERM)
                answer = os.waitstatus_to_exitcode(os.waitpid(int(process), 0)[1])
            case [*hasty, what, number]:
                answer = _start(folder, where, what, number, hasty=bool(hasty))
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    os.killpg(0, signal.SIGKILL)


def _start(folder: Path, where: str, what: str, number: str, *, hasty: bool) -> int:
    ours, theirs = os.pipe()
    process = os.fork()
    if not process:
        os.close(0)  # the questions are not for the children
        _become(folder, where, what, number, theirs)
    os.close(theirs)
    if not hasty:
        os.read(ours, 1)
    os.close(ours)
    return process


def _become(folder: Path, where: str, what: str, number: str, ready: int) -> None:
    try:
        vault = open_vault(folder, where)
        os.close(ready)
        {"admit": admit, "keep": keep}[what](folder, vault, number)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a child never returns into its parent's work
        sys.excepthook(*sys.exc_info())
        os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
