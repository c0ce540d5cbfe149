"""Servers in processes of their own, and load on them: by wrk, or by threads to prove that it runs."""

import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

CONNECTIONS = 32
PATH = "/v1/spaces/talk/posts"
BODY = '{"actor":"account-%d","target":"paper-%d","content":"' + 200 * "x" + '"}'
ACTORS, TARGETS = 5000, 97

SCRIPT = """
local tag, number = "", 0

function init(arguments)
    tag = arguments[1]
end

function request()
    number = number + 1
    wrk.headers["Idempotency-Key"] = tag .. number
    return wrk.format("POST", nil, nil, string.format('BODY', number % ACTORS, number % TARGETS))
end

function done(summary)
    local e = summary.errors
    local wrong = e.connect + e.read + e.write + e.status + e.timeout
    io.write(string.format("%d %d %d", summary.requests, summary.duration, wrong))
end
"""


class Load(NamedTuple):
    """What one round of load has found."""

    seconds: float  # for one request, 32 of them on their way at any time
    cpu_s: float  # of the server's process, for one request


class Served:
    """A contestant that serves on loopback, until closed."""

    connections = CONNECTIONS

    def __init__(self, script: str, name: str, where: str) -> None:
        command = [sys.executable, script, "--serve", name, "--where", where]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._name, self._rounds = name, 0

    def begin(self) -> None:
        """Wait until it serves."""
        told = self._process.stdout.readline().split()
        assert len(told) == 2, f"{self._name} does not start"
        self.port, self._token = int(told[0]), told[1]

    def load(self, *, tiny: bool) -> Load:
        """Post for a while; every answer must be a good one."""
        self._rounds += 1
        cpu = self._cpu_s()
        count, seconds = self._threads(8) if tiny else self._wrk(2)
        return Load(seconds / count, (self._cpu_s() - cpu) / count)

    def memory(self) -> int:
        """Bytes that the server's process holds."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}

    def _wrk(self, seconds: int) -> tuple[int, float]:
        lua = SCRIPT.replace("BODY", BODY).replace("ACTORS", str(ACTORS)).replace("TARGETS", str(TARGETS))
        headers = [part for name, value in self.headers.items() for part in ("-H", f"{name}: {value}")]
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(lua)
            script.flush()
            command = ["wrk", "-t1", f"-c{self.connections}", f"-d{seconds}s", "-s", script.name, *headers]
            url = f"http://127.0.0.1:{self.port}{PATH}"
            done = subprocess.run(
                [*command, url, "--", f"{self._rounds}."], check=True, capture_output=True, text=True
            )
        count, micros, wrong = map(int, done.stdout.splitlines()[-1].split())
        assert count, "nothing was answered"
        assert not wrong, f"{wrong} of {count} requests failed"
        return count, micros / 1e6

    def _threads(self, each: int, threads: int = 2) -> tuple[int, float]:
        answers: list[int] = []

        def post(thread: int) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
            for n in range(each):
                headers = self.headers | {"Idempotency-Key": f"{self._rounds}.{thread}.{n}"}
                connection.request("POST", PATH, BODY % (n % ACTORS, n % TARGETS), headers)
                answer = connection.getresponse()
                answer.read()
                answers.append(answer.status)
            connection.close()

        start = time.perf_counter()
        workers = [threading.Thread(target=post, args=(n,)) for n in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert answers == [202] * (each * threads), answers
        return len(answers), time.perf_counter() - start

    def _cpu_s(self) -> float:
        told = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii")
        fields = told.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # user and system


def has_wrk() -> bool:
    return shutil.which("wrk") is not None


@contextmanager
def redis_server(folder: Path) -> Iterator[str | None]:
    """A Redis that has everything on the disk before it answers; its socket."""
    if shutil.which("redis-server") is None:
        print("!!! redis-server is not installed, and Celery is left out", file=sys.stderr)
        yield None
        return
    socket = folder / "redis.sock"
    settings = {"port": "0", "unixsocket": str(socket), "dir": str(folder), "save": ""}
    settings |= {"appendonly": "yes", "appendfsync": "always"}
    flags = [part for name, value in settings.items() for part in (f"--{name}", value)]
    server = subprocess.Popen(["redis-server", *flags], stdout=subprocess.DEVNULL)
    try:
        while not socket.exists():
            assert server.poll() is None, "redis-server does not start"
            time.sleep(0.02)
        yield str(socket)
    finally:
        server.terminate()
        server.wait()
