"""What an audit costs on Spark as a history grows, beside the engine memory, in one run.

    python bench/spark.py                      # one, three and ten million made-up events
    python bench/spark.py --events 1000000     # one of them

Spark runs here, with two cores (`--spark-master` names another). Events come at the same pace at every
size: a longer history has more time, people and targets, as real ones have. Processor time is that of all
processes together. Memory is the most that one of Spark's Python workers takes, and that of the one process
of the engine memory. Needs the spark extra and Java; without them it says so, and does nothing.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

from tarry.study.audit import audit
from tarry.study.parts.resources import Resources
from tarry.study.parts.spark.engine import audit_on_spark
from tarry.study.parts.spark.session import spark_session
from tarry.study.question import Question

SECOND = 1_000_000
START = 1_600_000_000 * SECOND
PACE = 3  # seconds between two events of a history, on average
SIZES = (1_000_000, 3_000_000, 10_000_000)
TICKS = os.sysconf("SC_CLK_TCK")


def made_up(events: int, path: Path) -> None:
    """In no order, with names as texts, in bursts of three by one actor."""
    rng = np.random.default_rng(events)
    burst = np.repeat(np.arange(events // 3 + 1), 3)[:events]
    actor = rng.integers(0, events // 30 + 1, events // 3 + 1)[burst]
    moment = rng.integers(0, events * PACE, events // 3 + 1)[burst] + rng.integers(0, 900, events)
    frame = pl.DataFrame(
        {
            "actor": actor,
            "target": rng.integers(0, events // 20 + 1, events),
            "time": START + moment * SECOND,
        }
    ).select(
        pl.format("actor {}", "actor").alias("actor"),
        pl.format("page {}", "target").alias("target"),
        pl.col("time").cast(pl.Datetime("us", "UTC")),
    )
    frame.sample(fraction=1, shuffle=True, seed=1).write_parquet(path, row_group_size=250_000)


def question() -> Question:
    """Doing nothing, and one policy, against who is notified."""
    return Question(practices=["nothing", "poisson:5m"], different=False, draws=1)


def family() -> list[Path]:
    """All processes that this one has started, and theirs."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [os.getpid()]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return [Path("/proc", str(child)) for child in found]


def processor_s(folder: Path) -> float:
    """Of a process, and of those of its children that have ended."""
    fields = (folder / "stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def peak_mb(folder: Path) -> float:
    """The most memory that a Python process has had; nothing for Java."""
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024 if "python" in status["Name"] else 0.0


def on_spark(path: Path, master: str) -> None:
    """One audit in a session that is warm; prints seconds, processor seconds and the largest worker."""
    with spark_session(master, settings={"spark.driver.memory": "3g"}) as session:
        audit_on_spark(session.read.parquet(str(path)).limit(20_000), question())
        before, start = sum(map(processor_s, family())) + time.process_time(), time.perf_counter()
        audit_on_spark(session.read.parquet(str(path)), question())
        seconds = time.perf_counter() - start
        processor = sum(map(processor_s, family())) + time.process_time() - before
        print(seconds, processor, max(map(peak_mb, family())))


def in_memory(path: Path) -> None:
    """The same, by the engine memory."""
    before, start = time.process_time(), time.perf_counter()
    audit(path, question(), engine=Resources(engine="memory"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(time.perf_counter() - start, time.process_time() - before, peak)


def measured(engine: str, path: Path, master: str) -> tuple[float, float, float]:
    """An engine in a process of its own."""
    words = [sys.executable, __file__, "--engine", engine, "--path", str(path), "--spark-master", master]
    ran = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    seconds, processor, peak = map(float, ran.stdout.split()[-3:])
    return seconds, processor, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    parser.add_argument("--events", type=int, help="one size alone")
    parser.add_argument("--spark-master", default="local[2]")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if find_spec("pyspark.java_gateway" if find_spec("pyspark") else "pyspark") is None:
        print("LEFT OUT: the spark extra is not installed here")
        return
    if given.engine:
        on_spark(given.path, given.spark_master) if given.engine == "spark" else in_memory(given.path)
        return
    sizes = (20_000,) if given.tiny else (given.events,) if given.events else SIZES
    print(f"{'events':>12} {'engine':<8} {'seconds':>9} {'processor s':>12} {'per million':>12} {'MB':>7}")
    for events in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "events.parquet")
            made_up(events, path)
            for engine in ("memory", "spark"):
                seconds, processor, peak = measured(engine, path, given.spark_master)
                figures = (
                    f"{seconds:>9.1f} {processor:>12.1f} {processor / events * 1e6:>12.1f} {peak:>7.0f}"
                )
                print(f"{events:>12,} {engine:<8} {figures}", flush=True)


if __name__ == "__main__":
    main()
