"""One child process for each task: whatever is in a file happens there, under limits of time and memory.

`run_child` is the server's side, `main` the child's (`python -m tarry.console.audit.process`). The task is
one line of JSON on standard input, never on a command line that others could read; what comes back are
lines of JSON. When its input ends, the child knows that nobody waits any more, and ends too.
"""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from tarry.core.errors import TarryError

__all__ = ["ChildLimits", "Ending", "main", "run_child"]


_GRACE_S = 5.0  # a child ends itself; this much later it is ended
_MOST_LINE = 4 << 20
_KEPT = ("HOME", "LANG", "LC_ALL", "PATH", "PYTHONPATH", "NUMBA_CACHE_DIR")
# Among them the operating system's own way to get memory back.
_GAVE_UP = {
    *(signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGTRAP),
}
_THREADS = 4  # each one's stack counts as memory, and the gateway next door goes first anyway


@dataclass(frozen=True, kw_only=True)
class ChildLimits:
    """What a child may use.

    >>> ChildLimits(seconds=120, memory_bytes=4 << 30).seconds
    120
    """

    seconds: int
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How it went: an answer, a sentence about the file, or one of three ways to fail.

    >>> Ending(why="time").answer is None
    True
    """

    answer: dict[str, Any] | None = None
    problem: str = ""
    why: Literal["", "time", "memory", "broken"] = ""


def run_child(
    folder: Path,
    task: dict[str, Any],
    limits: ChildLimits,
    *,
    on_progress: Callable[[dict[str, Any]], None],
    on_start: Callable[["subprocess.Popen[bytes]"], None] = lambda _: None,
    program: str = "tarry.console.audit.process",
) -> Ending:
    """Run a task in a folder and wait. `on_progress` gets messages on the way, `on_start` the process.

    >>> limits = ChildLimits(seconds=60, memory_bytes=2 << 30)
    >>> run_child(Path.cwd(), {}, limits, on_progress=print, program="this").why
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
    on_start(process)
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        process.kill()

    alarm = threading.Timer(limits.seconds + _GRACE_S, end)
    alarm.daemon = True
    alarm.start()
    ending: Ending | None = None
    try:
        _send_task(process.stdin, {**task, **asdict(limits)})
        for message in _messages(process.stdout):
            ending = _ending(message) or ending
            if "stage" in message:
                on_progress(message)
    except BaseException:
        process.kill()
        raise
    finally:
        process.communicate()  # it closes the pipes, and waits
        alarm.cancel()
    return ending or Ending(why="time" if is_late.is_set() else _why(process.returncode))


def _environment(folder: Path) -> dict[str, str]:
    """What a child needs to know of ours: no setting of the gateway, and so no password in one."""
    threads = ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, **dict.fromkeys(threads, str(_THREADS)), "TMPDIR": str(folder)}


def _send_task(pipe: IO[bytes] | None, task: dict[str, Any]) -> None:
    if pipe is not None:
        with contextlib.suppress(BrokenPipeError):  # it has ended already: its code tells how
            pipe.write(json.dumps(task).encode() + b"\n")
            pipe.flush()


def _messages(pipe: IO[bytes] | None) -> Iterator[dict[str, Any]]:
    """The messages of the child. A line that is none is skipped: libraries print."""
    while pipe is not None and (line := pipe.readline(_MOST_LINE)):
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict):
            yield message


def _ending(message: dict[str, Any]) -> Ending | None:
    if isinstance(answer := message.get("answer"), dict):
        return Ending(answer=answer)
    if isinstance(problem := message.get("problem"), str):
        return Ending(problem=problem)
    return Ending(why="memory") if "memory" in message else None


def _why(code: int) -> Literal["time", "memory", "broken"]:
    """By the signal that ended it: out of memory, compiled code gives up in several ways."""
    if -code in {signal.SIGALRM, signal.SIGXCPU}:
        return "time"
    return "memory" if -code in _GAVE_UP else "broken"


# --- the child's side -----------------------------------------------------------------------------------

_LARGEST_FILE = 64 << 20  # bytes that it may write


def main() -> None:
    r"""Do the task on standard input, send messages to standard output, and leave.

    >>> from tempfile import TemporaryDirectory
    >>> limits = ChildLimits(seconds=60, memory_bytes=2 << 30)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.csv"
    ...     _ = path.write_text("user,page,time\n")
    ...     run_child(path.parent, {"do": "look", "path": str(path)}, limits, on_progress=print).problem
    'the history votes.csv has no rows: choose a file with rows in it'
    """
    line = b""
    while (byte := os.read(0, 1)) and byte != b"\n":  # what follows is for the watch
        line += byte
    task = json.loads(line)
    _limit(int(task["seconds"]), int(task["memory_bytes"]))
    send = _sender()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        send({"answer": _do(task, send)})
    except TarryError as error:
        send({"problem": str(error)})
    except MemoryError:
        send({"memory": "too little"})
    except BaseException:  # noqa: BLE001 - a traceback could quote the file, so nobody gets one
        os._exit(1)
    os._exit(0)  # nothing is left to tidy up, and libraries would take their time


def _do(task: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    if task["do"] == "look":
        from tarry.console.audit.look import look  # noqa: PLC0415 - under limits, and only what is needed

        return look(Path(task["path"]))
    from tarry.console.audit.work import work  # noqa: PLC0415 - likewise

    return work(Path(task["path"]), task["choices"], send)


def _limit(seconds: int, memory: int) -> None:
    """Limits of the operating system, which hold whatever a library does."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    os.nice(10)  # posts go first
    # Not the address space: the chart library reserves far more of it than it ever uses.
    for kind, limit in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CPU, seconds * _THREADS),
        (resource.RLIMIT_FSIZE, _LARGEST_FILE),
        (resource.RLIMIT_CORE, 0),  # a dump would hold people's data
    ):
        _, hard = resource.getrlimit(kind)
        most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (most, most))


def _sender() -> Callable[[dict[str, Any]], None]:
    """Writes messages to the server; whatever a library prints goes nowhere."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def send(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=out, flush=True)

    return send


def _leave_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
