"""What a whole audit costs as a history grows, engine by engine, with peak memory, in one run.

    python bench/growth.py                                  # 300 thousand and one million made-up events
    python bench/growth.py --events 1000000,10000000 --only memory,stream

Every audit runs in a process of its own, warm-up of Java included: an answer is what one waits for.
Processor time and memory are those of all its processes together (what they share counts once), looked at
ten times a second. Spark (`local[2]`) and Sail, a server of Spark Connect, need the parts that
scripts/test fetches.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _measure import MISSING, Figure, Table, speeds
from slices import memory_of
from spark import made_up, question

from tarry.study.audit import audit
from tarry.study.parts.resources import Resources
from tarry.study.parts.spark.engine import audit_on_spark
from tarry.study.parts.spark.session import spark_session

SIZES = (300_000, 1_000_000)
ENGINES = ("memory", "stream", "spark", "sail")
MEMORY = 4 * 10**9
PARTS = Path(os.environ.get("TARRY_PARTS", Path(__file__).resolve().parents[1] / ".parts"))


def run(engine: str, path: Path) -> None:
    """One audit in this process; prints what it says of the history."""
    if engine == "sail":
        report = on_sail(path)
    elif engine == "spark":
        with spark_session("local[2]", settings={"spark.driver.memory": "3g"}) as session:
            report = audit_on_spark(session.read.parquet(str(path)), question())
    else:
        report = audit(path, question(), engine=Resources(engine=engine, memory=MEMORY, jobs=2))
    print(json.dumps(report.as_dict()["linked_pairs"]))


def on_sail(path: Path) -> object:
    from pysail.spark import SparkConnectServer  # noqa: PLC0415 - a peer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    try:
        _, port = server.listening_address
        with spark_session(remote=f"sc://127.0.0.1:{port}") as session:
            return audit_on_spark(session.read.parquet(str(path)), question())
    finally:
        server.stop()


def can_run(engine: str) -> bool:
    """Whether an engine's packages are there; one that is not is named."""
    if engine in {"memory", "stream"} or (PARTS / engine / "complete").exists():
        return True
    print(f"!!! {engine} is not there and is left out", file=sys.stderr)
    MISSING[engine] = None
    return False


def watched(engine: str, path: Path) -> tuple[float, int, str]:
    """Processor seconds and most memory of all processes of an audit, and what it found."""
    environment = dict(os.environ)
    if engine in {"spark", "sail"}:
        environment["PYTHONPATH"] = str(PARTS / engine / "packages")
    before, most = os.times(), 0
    command = [sys.executable, __file__, "--run", engine, str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        while process.poll() is None:
            most = max(most, memory_of(process.pid))
            time.sleep(0.1)
        said = process.stdout.read().splitlines()
    assert process.returncode == 0, f"{engine} failed"
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, most, said[-1]


def measure(
    *, tiny: bool, sizes: tuple[int, ...] = SIZES, engines: tuple[str, ...] = ENGINES
) -> list[Figure | Table]:
    sizes, rounds = ((3_000,), 1) if tiny else (sizes, 2)
    engines = [engine for engine in (engines[:2] if tiny else engines) if can_run(engine)]
    seconds, memory, found = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for events in sizes:
            made_up(events, Path(folder, f"{events}.parquet"))
        for _ in range(rounds):
            for events in sizes:
                for engine in engines:
                    name = f"{engine}, {events:,} events"
                    spent, most, said = watched(engine, Path(folder, f"{events}.parquet"))
                    seconds.setdefault(name, []).append(spent)
                    memory[name] = max(memory.get(name, 0), most)
                    assert found.setdefault(events, said) == said, f"{engine} says otherwise"
    base = next(iter(seconds))
    counts = {name: int(name.split()[1].replace(",", "")) for name in seconds}
    rows = [[name, f"{most / 1e9:.2f} GB", f"{most / counts[name]:,.0f}"] for name, most in memory.items()]
    table = Table("Peak memory of an audit", ["", "all processes", "bytes an event"], rows)
    table.show()
    return [
        speeds("Events audited in a processor second", seconds, base, counts, own=tuple(seconds)),
        table,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    parser.add_argument("--events", default=",".join(map(str, SIZES)), help="sizes, by commas")
    parser.add_argument("--only", default=",".join(ENGINES), help="engines, by commas")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        run(given.run[0], Path(given.run[1]))
        return
    sizes = tuple(map(int, given.events.split(",")))
    measure(tiny=given.tiny, sizes=sizes, engines=tuple(given.only.split(",")))


if __name__ == "__main__":
    main()
