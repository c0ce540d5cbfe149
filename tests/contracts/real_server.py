"""Real servers that the tests start, stop and start again: each in a process group of its own, on loopback.

`scripts/test` fetches them. On a machine that could not have one, whatever needs it is skipped, loudly.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import pytest

__all__ = ["RealServer", "find_part", "free_port"]

_ROOT = Path(__file__).resolve().parents[2]
_DEADLINE_S = 60.0


def find_part(name: str) -> Path:
    """Where a server's programs are; a machine without them skips the test, and says so."""
    folder = Path(os.environ.get("TARRY_PARTS") or _ROOT / ".parts") / name
    if not (folder / "complete").exists():
        pytest.skip(f"NO REAL {name.upper()}: it is not in {folder} (scripts/test fetches it where it can)")
    return folder


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class RealServer:
    """A program and all its children; what it says goes to a file beside its data."""

    def __init__(
        self,
        command: Sequence[object],
        *,
        port: int,
        log: Path,
        answers: Callable[[], bool],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.port = port
        self._command, self._log, self._answers = list(map(str, command)), log, answers
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self) -> None:
        """Begin, and do not wait."""
        assert self._process is None, "it runs already"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )

    def start(self) -> None:
        """Begin, or begin again; returns when it answers."""
        self.begin()
        self.wait()

    def wait(self) -> None:
        """Until it answers."""
        deadline = time.monotonic() + _DEADLINE_S
        while not self._answers():
            assert self._process.poll() is None, f"it has ended: {self.log()}"
            assert time.monotonic() < deadline, f"it does not answer: {self.log()}"
            time.sleep(0.02)

    def stop(self) -> None:
        """End it in good order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Pull the plug."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End it if it runs."""
        if self._process is not None:
            self.kill()

    def log(self) -> str:
        """What it has said."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None, "it does not run"
        group = self._process.pid
        os.killpg(group, how)
        self._process.wait(_DEADLINE_S)
        self._process = None
        deadline = time.monotonic() + _DEADLINE_S
        while _is_anybody_at(self.port):  # the children of a server listen where it did
            assert time.monotonic() < deadline, "its children live on"
            time.sleep(0.01)


def _is_anybody_at(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), _DEADLINE_S).close()
    except ConnectionRefusedError:
        return False
    return True
