"""What a post costs where several processes answer as one server, beside one process: `tarry serve` itself.

    python bench/processes.py

Each serves a PostgreSQL database of its own, without workers, and gets load in turn: 32 connections for
each of its processes. Processor time is that of all of them together. Database and load are not counted,
but share the machine.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from _load import CONNECTIONS, Load, Served, has_wrk
from _measure import Figure, arguments, costs, speeds

import gateway
from acceptance.gateway_process import config_at, found_gateway

ONE, TWO = "one process", "two processes"
SETTINGS = {"workers_in_server": 0, "rate_per_s": 1e6, "burst": 1_000_000, "pages": "false"}


class Command(Served):
    """`tarry serve`, until closed."""

    def __init__(self, folder: Path, where: str, processes: int) -> None:
        self._token, self._name, self._rounds = found_gateway(folder, where), f"{processes} processes", 0
        self.connections = CONNECTIONS * processes
        told = {**SETTINGS, "database": where, "key_file": config_at(folder, where).key_file, "port": 0}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TARRY_")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tarry", "serve", "--processes", str(processes), "--json"],
            env=kept | {f"TARRY_{name.upper()}": str(value) for name, value in told.items()},
            stderr=subprocess.DEVNULL,  # its log
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self) -> None:
        """Wait until it serves."""
        self.port = int(json.loads(self._process.stdout.readline())["listening"].rpartition(":")[2])

    def _cpu_s(self) -> float:
        """Of the first process and those that it has started."""
        children = Path(f"/proc/{self._process.pid}/task").glob("*/children")
        found = [int(child) for each in children for child in each.read_text(encoding="ascii").split()]
        ticks = 0
        for process in (self._process.pid, *found):
            told = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            ticks += int(told[11]) + int(told[12])  # user and system
        return ticks / os.sysconf("SC_CLK_TCK")


def measure(databases: Callable[[], str], *, tiny: bool) -> list[Figure]:
    """Processor time for a post, and posts a second."""
    with ExitStack() as stack:
        servers = {}
        for name, processes in ((ONE, 1), (TWO, 2)):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            servers[name] = stack.enter_context(Command(folder, databases(), processes))
        for server in servers.values():
            server.begin()
            server.load(tiny=tiny)  # to warm up
        loads: dict[str, list[Load]] = {name: [] for name in servers}
        for _ in range(1 if tiny else 9):
            for name, server in servers.items():
                loads[name].append(server.load(tiny=tiny))
    cpu = {name: [max(load.cpu_s, 1e-6) for load in each] for name, each in loads.items()}
    wall = {name: [load.seconds for load in each] for name, each in loads.items()}
    title = "several processes, PostgreSQL"
    return [
        costs(f"Processor time for a post, {title}", cpu, ONE, {TWO: "1"}, own=(TWO, ONE)),
        speeds(f"Posts a second, {title}", wall, ONE, dict.fromkeys(wall, 1), own=(TWO, ONE)),
    ]


def main() -> None:
    tiny = arguments(__doc__).tiny
    if not tiny and not has_wrk():
        sys.exit("the load is made by wrk, which is not installed (Debian: apt install wrk)")
    with gateway.places() as (_, databases):
        measure(databases, tiny=tiny)


if __name__ == "__main__":
    main()
