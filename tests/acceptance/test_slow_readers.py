"""Readers that ask for much and read nothing, at a real server: they cost little, and nobody waits.

`TARRY_READERS=1000 scripts/test tests/acceptance/test_slow_readers.py -s` is the full run.
"""

import contextlib
import json
import os
import re
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from acceptance.gateway_process import ask_http, found_gateway
from tarry.gateway.config import Config
from tarry.gateway.database import open_database
from tarry.gateway.feed import FeedOutlet
from tarry.keep.posts import Release

READERS = int(os.environ.get("TARRY_READERS", "150"))
#: What so many may cost: 200 MiB for a thousand, and a little that does not grow with them.
MOST_BYTES = READERS * (170 << 20) // 1000 + (30 << 20)
QUICK_S = 4.0  # for somebody else, beside four busy processes
PATHS = (
    "/v1/spaces/talk/feed?after=0",
    "/v1/spaces/talk/feed",
    "/v1/spaces/talk/feed.atom",
    "/board/talk",
    "/v1/spaces/talk/feed?after=3",
    "/v1/spaces/talk/feed/events?after=0",
    "/openapi.json",
)


def publish(where: str) -> None:
    """Releases of control characters, which JSON makes six times as long: some large ones, many small."""
    store = open_database(Config(database=where))
    contents = [b"\x01" * (1 << 20)] * 8 + [b"\x01" * 2000] * 600 + [b"\x01" * 300_000] * 4
    releases = [
        Release(id=f"{n:032x}", target=f"p{n}", content=content, options={}, at=1_767_225_600 + n)
        for n, content in enumerate(contents)
    ]
    with store.transaction("working") as transaction:
        FeedOutlet("talk").record(transaction, releases)
    store.close()


@pytest.fixture
def server(tmp_path):
    """A real `tarry serve` with pages: its port, the id of its process, and a token."""
    where = str(tmp_path / "gateway.db")
    token = found_gateway(tmp_path, where)
    publish(where)
    settings = {"DATABASE": where, "KEY_FILE": str(tmp_path / "key"), "BOARDS": "talk", "PORT": "0"}
    settings |= {"OPEN_STREAMS": "20000", "CLIENT_STREAMS": "20000"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TARRY_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tarry", "serve", "--json"],
        env={**kept, **{f"TARRY_{name}": value for name, value in settings.items()}},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = json.loads(process.stdout.readline())["listening"]
        yield int(address.rpartition(":")[2]), process, token
    finally:
        process.terminate()
        process.communicate(timeout=60)


def resident(process: subprocess.Popen) -> int:
    """Bytes of memory that a process has."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) << 10


def reader(port: int, path: str) -> socket.socket:
    """Somebody who asks and does not read."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.settimeout(20)
    line.connect(("127.0.0.1", port))
    line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return line


def ask_others(port: int, token: str) -> float:
    """The longest time that somebody else waits for an answer, posts included."""
    longest, post = 0.0, {"actor": "ann", "target": "p", "content": "I agree."}
    for method, path, body, status in (
        ("GET", "/healthz", None, 200),
        ("GET", "/v1/spaces/talk/feed?after=600&limit=5", None, 200),
        ("POST", "/v1/spaces/talk/posts", post, 202),
    ):
        begin = time.monotonic()
        answer = ask_http(port, method, path, body, Authorization=f"Bearer {token}")
        longest = max(longest, time.monotonic() - begin)
        assert answer is not None, path
        assert answer[0] == status
    return longest


def test_readers_who_do_not_read_cost_little_and_nobody_waits_for_them(server):
    """Whatever they ask for; and what they cost is less than what was asked for by far."""
    port, process, token = server
    files, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most_files, READERS + 1000), most_files))
    try:
        with contextlib.ExitStack() as opened:
            for path in PATHS:  # what is made once is there
                opened.enter_context(reader(port, path))
            ask_others(port, token)
            before, most, longest = resident(process), 0, 0.0
            for number in range(READERS):
                opened.enter_context(reader(port, PATHS[number % len(PATHS)]))
                if number % 25 == 0 or number == READERS - 1:
                    longest = max(longest, ask_others(port, token))
                    most = max(most, resident(process))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most_files))
    mebibytes = (most - before) / (1 << 20)
    sys.stdout.write(
        f"{READERS} readers: {mebibytes:.0f} MiB more; others waited {longest:.3f} s at most\n"
    )

    assert most - before < MOST_BYTES
    assert longest < QUICK_S
