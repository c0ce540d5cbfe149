"""How much memory this process may use, and whether it has run out. Nothing large is loaded here."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tarry.core.errors import BadInput

__all__ = ["ASSIGNED", "Room", "gigabytes", "is_short", "rooms"]

#: Whoever knows better says how much may be used, such as 8G.
ASSIGNED = "TARRY_MEMORY"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_NO_LIMIT = 1 << 60  # what control groups without a limit state is above this
_NEAR = 300 << 20  # of a limit that has been reached: large pieces are asked for
_PROBE = 64 << 20
_MACHINE = "this machine has"
_USUAL_STACK = 8 << 20


@dataclass(frozen=True)
class Room:
    """A limit to what this process may use in all, and what sets it.

    >>> Room(2 << 30, "ulimit -v allows", addresses=True).text
    'ulimit -v allows 2.15 GB'
    """

    size: int  # bytes, with those that are in use already
    source: str  # with its verb
    addresses: bool = False  # it counts addresses, of which far more are reserved than memory is used
    stack: int = 0  # addresses that each thread takes beyond the usual ones

    @property
    def is_limit(self) -> bool:
        """Whether somebody has set it, so that it can be raised."""
        return self.source != _MACHINE

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.source} {gigabytes(self.size)}"


def gigabytes(size: int) -> str:
    """A size for people.

    >>> gigabytes(1_640_000_000), gigabytes(64_000_000_000), gigabytes(300_000_000)
    ('1.64 GB', '64 GB', '0.3 GB')
    """
    return f"{size / 1e9:.0f} GB" if size >= 1e10 else f"{round(size / 1e9, 2):g} GB"


def rooms() -> list[Room]:
    """Every limit that there is: of this process, of its control groups, and of the machine.

    >>> all(room.size > 0 for room in rooms())
    True
    """
    if assigned := os.environ.get(ASSIGNED, "").strip():
        return [Room(_parsed(assigned), f"{ASSIGNED} allows")]
    return [*_process_limits(), *_group_limits(), *_machine()]


def _parsed(text: str) -> int:
    digits, unit = text[:-1], _UNITS.get(text[-1].upper())
    if unit is None or not (digits.isascii() and digits.isdecimal() and int(digits)):
        raise BadInput(
            f"{ASSIGNED} must be a whole number with K, M, G or T, such as 8G, not {text[:20]!r}"
        )
    return int(digits) * unit


def _process_limits() -> Iterator[Room]:
    with suppress(ImportError):  # not every system has such limits
        import resource  # noqa: PLC0415 - likewise

        for kind, source, addresses in (
            (resource.RLIMIT_AS, "ulimit -v allows", True),
            (resource.RLIMIT_DATA, "ulimit -d allows", False),
        ):
            limit = resource.getrlimit(kind)[0]
            if limit != resource.RLIM_INFINITY:
                stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
                beyond = 0 if stack == resource.RLIM_INFINITY else max(0, stack - _USUAL_STACK)
                yield Room(limit, source, addresses, beyond)


def _group_limits() -> Iterator[Room]:
    """What control groups leave. Files that the system keeps at hand do not count: it gives them up."""
    for folder, limit, used in _groups():
        given = _number(folder / limit)
        if given is None or given >= _NO_LIMIT:
            continue
        kept = _table(folder / "memory.stat").get("inactive_file", 0)
        others = max(0, (_number(folder / used) or 0) - kept - _mine("VmRSS"))
        yield Room(max(1, given - others), "its control group leaves")


def _groups() -> Iterator[tuple[Path, str, str]]:
    """The folder of each control group around this process, and the files of its limit and use."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "memory" not in controllers.split(","):
                continue
            root = Path("/sys/fs/cgroup/memory" if controllers else "/sys/fs/cgroup")
            names = (
                ("memory.limit_in_bytes", "memory.usage_in_bytes")
                if controllers
                else ("memory.max", "memory.current")
            )
            inner = root / path.lstrip("/")
            for folder in (inner, *inner.parents):
                if folder == root.parent:
                    break
                yield (folder, *names)


def _machine() -> Iterator[Room]:
    kilobytes = _table(Path("/proc/meminfo"))
    if "MemAvailable" in kilobytes:
        free = (kilobytes["MemAvailable"] + kilobytes.get("SwapFree", 0)) << 10
        yield Room(free + _mine("VmRSS"), _MACHINE)


def _mine(name: str) -> int:
    """Bytes of this process: VmRSS is memory, VmPeak the most addresses so far."""
    return _table(Path("/proc/self/status")).get(name, 0) << 10


def _table(path: Path) -> dict[str, int]:
    """Lines of a name and a number; others are left out, and so is what cannot be read."""
    fields = {}
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.replace(":", " ").split()
            if len(words) > 1 and words[1].isdecimal():
                fields[words[0]] = int(words[1])
    return fields


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def is_short() -> bool:
    """Whether memory has run out: a limit was nearly reached, or nothing can be had, memory or thread.

    Libraries say so in many ways; what they say is not read.

    >>> is_short()
    False
    """
    peak = _mine("VmPeak")
    if any(room.addresses and peak > room.size - _NEAR for room in _process_limits()):
        return True
    try:
        bytearray(_PROBE)
        thread = threading.Thread(target=int)
        thread.start()
    except (MemoryError, RuntimeError):
        return True
    thread.join()
    return False
