"""One child process: what a file brings along happens there, under limits of time and memory.

What is asked goes in at its standard input, never on a command line that others could read; what it says
comes back line by line. When its input ends it knows that nobody waits any more, and ends too.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

__all__ = ["Ending", "Limits", "run_child"]

_GRACE_S = 5.0  # a child ends itself; this much later it is ended
_MOST_LINE = 4 << 20
_KEPT = ("HOME", "LANG", "LC_ALL", "PATH", "PYTHONPATH", "NUMBA_CACHE_DIR")
# Among them the operating system's own way to get memory back.
_GAVE_UP = {
    *(signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGTRAP),
}
_THREADS = "4"  # each one's stack counts as memory, and the gateway next door goes first anyway


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a child may use.

    >>> Limits(seconds=120, memory_bytes=4 << 30).seconds
    120
    """

    seconds: int
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How it went: an answer, a sentence about what was given, or one of three ways not to end well.

    >>> Ending(why="time").answer is None
    True
    """

    answer: dict[str, Any] | None = None
    problem: str = ""
    why: Literal["", "time", "memory", "broken"] = ""


def run_child(
    folder: Path,
    task: dict[str, Any],
    limits: Limits,
    *,
    hear: Callable[[dict[str, Any]], None],
    hold: Callable[["subprocess.Popen[bytes]"], None] = lambda _: None,
    program: str = "tarry.console.audit_child",
) -> Ending:
    """Run a task in a folder and wait. `hear` is told how far it is, `hold` gets the process itself.

    >>> run_child(Path.cwd(), {}, Limits(seconds=60, memory_bytes=2 << 30), hear=print, program="this").why
    'broken'
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a reader's complaint could quote what it reads
        cwd=folder,
        env=_environment(folder),
        start_new_session=True,  # Ctrl-C is the server's business
    )
    hold(process)
    too_long = _Alarm(process, limits.seconds + _GRACE_S)
    ending: Ending | None = None
    try:
        asked = {**task, "seconds": limits.seconds, "memory_bytes": limits.memory_bytes}
        _ask(process.stdin, asked)
        for told in _lines(process.stdout):
            ending = _ending(told) or ending
            if "stage" in told:
                hear(told)
    except BaseException:
        process.kill()
        raise
    finally:
        code = process.wait()
        too_long.timer.cancel()
        _close(process)
    return ending or Ending(why="time" if too_long.has_rung else _why(code))


class _Alarm:
    """Ends a process that stays too long."""

    def __init__(self, process: "subprocess.Popen[bytes]", seconds: float) -> None:
        self._process, self.has_rung = process, False
        self.timer = threading.Timer(seconds, self._ring)
        self.timer.daemon = True
        self.timer.start()

    def _ring(self) -> None:
        self.has_rung = True
        self._process.kill()


def _environment(folder: Path) -> dict[str, str]:
    """What a child needs to know of ours: no setting of the gateway, and so no password in one."""
    threads = dict.fromkeys(("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), _THREADS)
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, **threads, "NUMBA_NUM_THREADS": _THREADS, "TMPDIR": str(folder)}


def _ask(pipe: IO[bytes] | None, task: dict[str, Any]) -> None:
    if pipe is not None:
        try:
            pipe.write(json.dumps(task).encode() + b"\n")
            pipe.flush()
        except BrokenPipeError:  # it has ended already: how, its code tells
            return


def _lines(pipe: IO[bytes] | None) -> Iterator[dict[str, Any]]:
    """What it says. A line that is no message of ours is skipped: libraries print."""
    while pipe is not None and (line := pipe.readline(_MOST_LINE)):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict):
            yield told


def _ending(told: dict[str, Any]) -> Ending | None:
    if isinstance(answer := told.get("answer"), dict):
        return Ending(answer=answer)
    if isinstance(problem := told.get("problem"), str):
        return Ending(problem=problem)
    return Ending(why="memory") if "memory" in told else None


def _why(code: int) -> Literal["time", "memory", "broken"]:
    """By the signal that ended it: out of memory, compiled code gives up in several ways."""
    if -code in {signal.SIGALRM, signal.SIGXCPU}:
        return "time"
    return "memory" if -code in _GAVE_UP else "broken"


def _close(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
