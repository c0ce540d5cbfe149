"""Which engine answers a question, what it may take, and what an audit by parts takes of that."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import polars as pl

from tarry.core.errors import BadInput
from tarry.core.exact import parse_number
from tarry.readers.free_memory import rooms
from tarry.study.memory import ADVISE, needed
from tarry.study.table import EventTable

__all__ = [
    "ENGINES",
    "KEPT",
    "Resources",
    "RunSize",
    "budget_for",
    "events_of",
    "free_memory",
    "memory_needed",
    "read_size",
]

#: By name; auto takes spark where it is said how to reach it, memory where the history fits, else stream.
ENGINES = ("memory", "stream", "spark", "auto")


@dataclass(frozen=True, kw_only=True)
class Resources:
    """An engine by name, and what it may take. What is left out is what the machine has.

    >>> Resources(engine="auto", memory=10**9).chosen(10**7)
    'stream'
    """

    engine: str = "memory"
    memory: int | None = None  # bytes, of all processes together
    jobs: int | None = None  # processes
    scratch: Path | None = None  # where a private folder is made
    say: Callable[[str], None] | None = None  # called with the estimate before the work
    spark_master: str | None = None  # where Spark is started: local[*], yarn, k8s://...
    spark_remote: str | None = None  # or a server of Spark Connect: sc://...

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise BadInput(f"unknown engine {self.engine!r}", f"use {', '.join(ENGINES)}")
        if self.jobs is not None and self.jobs < 1:
            raise BadInput(f"--jobs must be at least 1, not {self.jobs}")
        if self.names_spark and self.engine not in {"spark", "auto"}:
            raise BadInput(
                f"--spark-master and --spark-remote are for the engine spark, not {self.engine}",
                "leave them out, or give --engine spark",
            )

    def chosen(self, events: int | None) -> str:
        """The engine for so many events; None: it is not known, or cannot be read by parts."""
        if self.engine != "auto":
            return self.engine
        if self.names_spark:
            return "spark"
        return "stream" if events is not None and memory_needed(events) > self.bytes else "memory"

    @property
    def names_spark(self) -> bool:
        """Whether it is said how to reach Spark.

        >>> Resources(spark_remote="sc://cluster", engine="auto").names_spark
        True
        """
        return bool(self.spark_master or self.spark_remote)

    @property
    def bytes(self) -> int:
        """The memory that may be taken: half of what is free, where nothing is said."""
        return free_memory() // 2 if self.memory is None else self.memory

    @property
    def processes(self) -> int:
        """One for each processor, where nothing is said."""
        return self.jobs or os.cpu_count() or 1


def events_of(source: Any) -> int | None:
    """How many rows a Parquet file or a table has; None where that is not known without reading all.

    >>> from tarry.study.table import event_table
    >>> events_of(event_table(actor=[1], target=[2], time=[3])), events_of("votes.csv")
    (1, None)
    """
    if isinstance(source, EventTable):
        return len(source)
    if not isinstance(source, str | Path) or Path(source).suffix.lower() not in (".parquet", ".pq"):
        return None
    try:
        return int(pl.scan_parquet(source).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError):  # whoever reads it says what is wrong with it
        return None


# --- what it takes ----------------------------------------------------------------------------------


_GIGABYTE = 10**9
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": _GIGABYTE, "TB": 10**12}
_READ = 3 * 16 + 66  # bytes an event while it is read: numbers, or short names
# Estimates on the safe side; bench/slices.py shows what was taken.
_PART = 400  # bytes an event of a part
_PROCESS = 300 * 10**6  # of each process before it has any event
# Bytes an event on disk: in slices, before that, and rows by key, some for each draw, if keys occur once.
_SORTED, _RAW, _ROWS, _DRAWN_ROWS = 33, 48, 56, 72
#: Bytes an event on disk at the most for what was drawn once, and need not be drawn again.
KEPT = 36
_LEAST_PART = 20_000


@dataclass(frozen=True, kw_only=True)
class RunSize:
    """What a run may take.

    >>> budget_for(10**8, memory=4 * 10**9, jobs=2).rows < 5 * 10**6
    True
    """

    memory: int  # bytes, of all processes together
    jobs: int  # processes
    rows: int  # of one slice
    most_rows: int  # of one part: a slice and its halo
    disk: int  # bytes, at the most

    @property
    def sentence(self) -> str:
        """The estimate, for people."""
        processes = "1 process" if self.jobs == 1 else f"{self.jobs} processes"
        return (
            f"by parts: {processes} with at most {self.memory / _GIGABYTE:.1f} GB of memory in all, "
            f"{self.disk / _GIGABYTE:.1f} GB of disk at most"
        )


def budget_for(events: int, *, memory: int, jobs: int, draws: int = 1) -> RunSize:
    """Slices of such a size that all processes fit together; so many draws are looked at.

    >>> budget_for(10**8, memory=10**6, jobs=2)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: --memory must be at least 0.94 GB for 2 processes, not 0.001 GB: give ...
    """
    left = memory - (jobs + 1) * _PROCESS
    most = left // jobs // _PART
    least = (jobs + 1) * _PROCESS + 2 * _LEAST_PART * _PART * jobs
    if most < 2 * _LEAST_PART:
        raise BadInput(
            f"--memory must be at least {ceil(least / 10**7) / 100:g} GB for {jobs} processes, "
            f"not {memory / _GIGABYTE:.2g} GB",
            "give more, or fewer --jobs",
        )
    return RunSize(
        memory=memory,
        jobs=jobs,
        rows=min(most // 2, max(ceil(events / jobs), _LEAST_PART)),
        most_rows=most,
        disk=events * (_SORTED + max(_RAW, _ROWS + KEPT + draws * _DRAWN_ROWS)),
    )


def memory_needed(events: int) -> int:
    """About how many bytes the engine memory takes for so many events, a recommendation included.

    >>> memory_needed(10**6) < 10**9
    True
    """
    return needed(events, _READ, ADVISE)


def free_memory() -> int:
    """What this process may use, in bytes: limits of its control groups count.

    >>> free_memory() > 0
    True
    """
    sizes = [room.size for room in rooms() if not room.addresses]
    return min(sizes, default=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


def read_size(text: str) -> int:
    """The bytes of a size such as 8GB or 500MB.

    >>> read_size("1.5GB")
    1500000000
    """
    unit = text.strip()[-2:].upper()
    if unit not in _UNITS:
        raise BadInput(f"a size of memory must end in MB or GB, not {text!r}", "write it like 8GB")
    return int(parse_number(text.strip()[:-2], "the size of memory") * _UNITS[unit])
