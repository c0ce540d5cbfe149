"""Which engine answers a question, and what it may take."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tarry.core.errors import BadInput
from tarry.study.parts.budget import free_memory, memory_needed
from tarry.study.table import EventTable

__all__ = ["ENGINES", "Resources", "events_of"]

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
