"""What runs in the child process: first the limits, then the task, line by line what was found.

`python -m tarry.console.audit_child` reads one line of JSON and answers with lines of JSON.
"""

import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tarry.core.errors import TarryError

__all__ = ["main"]

_LARGEST_FILE = 64 << 20  # that it may write
_PROCESSORS = 4  # as many threads as it has

Tell = Callable[[dict[str, Any]], None]


def main() -> None:
    r"""Do the task that standard input tells, and leave.

    >>> from tempfile import TemporaryDirectory
    >>> from tarry.console.audit_process import Limits, run_child
    >>> limits = Limits(seconds=60, memory_bytes=2 << 30)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.csv"
    ...     _ = path.write_text("user,page,time\n")
    ...     run_child(path.parent, {"do": "look", "path": str(path)}, limits, hear=print).problem
    'the history votes.csv must have rows, found only the names of columns'
    """
    task = json.loads(_first_line())
    _limit(int(task["seconds"]), int(task["memory_bytes"]))
    tell = _voice()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        tell({"answer": _do(task, tell)})
    except TarryError as error:
        tell({"problem": str(error)})
    except MemoryError:
        tell({"memory": "too little"})
    except BaseException:  # noqa: BLE001 - a traceback could quote the file, so nobody gets one
        os._exit(1)
    os._exit(0)  # nothing is left to tidy up, and libraries would take their time


def _do(task: dict[str, Any], tell: Tell) -> dict[str, Any]:
    if task["do"] == "look":
        from tarry.console.audit_look import look  # noqa: PLC0415 - under limits, and only what is needed

        return look(Path(task["path"]))
    from tarry.console.audit_work import work  # noqa: PLC0415 - likewise

    return work(Path(task["path"]), task["choices"], tell)


def _first_line() -> bytes:
    """Byte by byte: what follows is for the watch."""
    line = b""
    while (found := os.read(0, 1)) and found != b"\n":
        line += found
    return line


def _limit(seconds: int, memory: int) -> None:
    """Limits of the operating system, which hold whatever a library does."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    os.nice(10)  # posts go first
    # Not the address space: the chart library reserves far more of it than it ever uses.
    for kind, wanted in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CPU, seconds * _PROCESSORS),
        (resource.RLIMIT_FSIZE, _LARGEST_FILE),
        (resource.RLIMIT_CORE, 0),  # a dump would hold people's data
    ):
        _, hard = resource.getrlimit(kind)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (most, most))


def _voice() -> Tell:
    """Says things where they are listened to; whatever a library prints goes nowhere."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)

    def tell(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    return tell


def _leave_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
