"""How an audit by parts compares: with one machine's memory, with one process, with plain sorts.

    python bench/slices.py                       # a million made-up events: half a minute or more
    python bench/slices.py --events 100000000    # on a machine with nothing else to do

All on made-up events, in one run. Memory is that of all processes together (what they share counts once),
looked at ten times a second. Processor time is that of all processes together.

1. One draw with 18 cutoffs, from time-sorted Parquet by parts, against np.sort of the same times.
2. From a file in no order to sorted slices, against DuckDB's plain sort of the same file.
3. The whole audit by parts, with one process and with two, and with the engine memory up to 20 million.
4. A skewed history (30 % on one target, 10 % by one actor): the slowest slice against the median.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

from tarry.core.policy import Policy
from tarry.readers.batches import Batches
from tarry.readers.columns import Wanted
from tarry.study.attack import attack
from tarry.study.audit import audit
from tarry.study.parts.asking import Asked
from tarry.study.parts.attempt import Attempt
from tarry.study.parts.budget import budget_for
from tarry.study.parts.claims import PairCounts
from tarry.study.parts.costs import DelayCounts
from tarry.study.parts.ordering import ordered, sort_database
from tarry.study.parts.report import setting_of
from tarry.study.parts.resources import Resources
from tarry.study.parts.scratch import Scratch
from tarry.study.parts.slices import Slices
from tarry.study.question import Question

SECOND = 1_000_000
CUTOFFS = tuple(
    c * SECOND for c in (1, 2, 5, 10, 20, 30, 60, 90, 120, 180, 300, 450, 600, 900, 1800, 2700, 3600, 7200)
)
MEMORY_UP_TO = 20_000_000
START = 1_600_000_000 * SECOND
# About one event a second, in bursts of three by one actor; a few actors and targets have many.
MADE_UP = """
copy (
    select
        {actor} as actor, {target} as target,
        make_timestamp(
            ({start} + (hash(i // 3, 1) % {events} + hash(i, 2) % 600) * 1000000)::bigint
        ) as time
    from range({events}) t(i)
) to '{path}' (format parquet)
"""


def question():
    return Question(practices=["nothing", Policy(epsilon="1", gap="11m")], different=False)


def make(path, events, memory, *, skewed=False):
    actor = f"({events} // 20 * pow((hash(i // 3, 3) % 1000003) / 1000003, 3))::bigint"
    target = f"({events} // 10 * pow((hash(i, 4) % 1000003) / 1000003, 2))::bigint"
    if skewed:
        actor = f"case when hash(i // 3, 5) % 10 = 0 then 0 else {actor} end"
        target = f"case when hash(i, 6) % 10 < 3 then 0 else {target} end"
    with sort_database(path.parent, memory) as base:
        base.execute(MADE_UP.format(actor=actor, target=target, start=START, events=events, path=path))


# --- in a process of its own ----------------------------------------------------------------------


def run(what, path, folder, options):
    """One contestant; what it says is one line of JSON."""
    memory = options["memory"]
    if what == "plain sort":
        with sort_database(folder, memory // 2) as base:
            query = f"select * from '{path}' order by time"  # noqa: S608 - our own path
            base.execute(f"copy ({query}) to '{folder}/plain' (format parquet)")
        return {}
    if what == "sort":
        ordered(Batches(path, Wanted()), question(), Scratch(folder), memory // 2)
        return {}
    if what == "np.sort":
        times = pl.read_parquet(path, columns=["time"])["time"].to_physical().to_numpy().copy()
        np.random.default_rng(1).shuffle(times)
        return timed(lambda: np.sort(times))
    if what == "draw":
        return timed_slices(Slices.cut(path, options["rows"]))
    engine = (
        "memory"
        if what == "memory"
        else Resources(engine="stream", memory=memory, jobs=options["jobs"], scratch=folder)
    )
    report = audit(path, question(), engine=engine).as_dict()
    scores = [
        [score["true_positives"], score["false_positives"]]
        for each in report["attacks"]
        for score in each["scores"]
    ]
    return {"answer": [report["linked_pairs"], scores, report["null_gaps_s"]]}


def timed(work):
    work()
    start = time.process_time()
    work()
    return {"seconds": time.process_time() - start}


def timed_slices(slices):
    """One draw with 18 cutoffs, slice by slice; how long each took."""
    setting = setting_of(question())
    looks = setting.practices[1].looks()
    delays = Asked(setting=setting, asks=[DelayCounts(practice=1, draw=0, looks=looks, covers=1)])
    moved = [delays.look(slices.part(n, looks, looks)).partial for n in range(len(slices.edges))]
    spread = max(each.most["0/0/moved"] for each in moved) - min(each.least["0/0/moved"] for each in moved)
    case = Attempt(practice=1, draw=0, observer=0, method=attack("cutoff"), looks=looks, spread=spread)
    task = Asked(setting=setting, asks=[PairCounts(case=case, farthest=max(CUTOFFS), cutoffs=CUTOFFS)])
    task.look(slices.part(0, task.before, task.after))  # what is compiled is compiled
    seconds = []
    for number in range(len(slices.edges)):
        start = time.process_time()
        task.look(slices.part(number, task.before, task.after))
        seconds.append(time.process_time() - start)
    return {"seconds": sum(seconds), "slowest": max(seconds) / median(seconds), "slices": len(seconds)}


# --- watched from outside -------------------------------------------------------------------------


def watched(what, path, options):
    """Run a contestant in a process of its own: seconds, processor seconds, and most memory in all."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start, most = time.perf_counter(), 0
        with subprocess.Popen(
            [sys.executable, __file__, "--run", what, str(path), folder, json.dumps(options)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            while process.poll() is None:
                most = max(most, memory_of(process.pid))
                time.sleep(0.1)
            said = process.stdout.read()
        if process.returncode:
            sys.exit(f"{what} failed")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"wall": time.perf_counter() - start, "cpu": cpu, "most": most, **json.loads(said)}


def memory_of(group):
    """Bytes of all processes of a group; what several share counts once."""
    total = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and os.getpgid(int(entry.name)) == group:
                rollup = (entry / "smaps_rollup").read_text(encoding="ascii")
                total += int(rollup.partition("\nPss:")[2].split()[0]) * 1024
        except (OSError, IndexError, ValueError):  # it has ended meanwhile
            continue
    return total


def line(name, found, extra=""):
    print(
        f"{name:<34}{found['wall']:>9.1f} s{found['cpu']:>9.1f} s{found['most'] / 1e9:>9.2f} GB   {extra}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--memory", type=float, default=4.0, help="GB")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the files of a run go")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        what, path, folder, options = given.run
        print(json.dumps(run(what, Path(path), Path(folder), json.loads(options))))
        return
    events = 3_000 if given.tiny else given.events
    options = {"memory": int(given.memory * 1e9), "jobs": 2}
    options["rows"] = max(min(budget_for(events, memory=options["memory"], jobs=2).rows, events // 8), 500)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        compare(Path(folder), events, options)


def compare(folder, events, options):
    path = folder / "events.parquet"
    make(path, events, options["memory"] // 2)
    print(f"{events:,} made-up events, {options['memory'] / 1e9:g} GB\n")
    print(f"{'':<34}{'time':>11}{'processor':>11}{'memory':>12}")
    sorts = {what: watched(what, path, options) for what in ("plain sort", "sort")}
    line("DuckDB's plain sort", sorts["plain sort"])
    ratio = sorts["sort"]["cpu"] / sorts["plain sort"]["cpu"]
    line("read and sort by parts", sorts["sort"], f"{ratio:.2f} x plain sort")
    whole = watched("memory", path, options) if events <= MEMORY_UP_TO else None
    if whole:
        line("audit, engine memory", whole)
    runs = {jobs: watched("stream", path, {**options, "jobs": jobs}) for jobs in (1, 2)}
    against = f"{runs[1]['cpu'] / whole['cpu']:.2f} x processor of memory" if whole else ""
    line("audit, engine stream, 1 process", runs[1], against)
    line(
        "audit, engine stream, 2 processes",
        runs[2],
        f"{runs[1]['wall'] / runs[2]['wall']:.2f} x as fast as one",
    )
    answers = [found["answer"] for found in (whole, *runs.values()) if found]
    print("\nanswers: " + ("the same" if all(one == answers[0] for one in answers) else "NOT THE SAME"))
    by_parts(folder, events, options)
    if any(one != answers[0] for one in answers):
        sys.exit(1)


def by_parts(folder, events, options):
    """One draw from sorted Parquet against np.sort, and the slices of a skewed history."""
    make(folder / "skewed.parquet", events, options["memory"] // 2, skewed=True)
    for name in ("events", "skewed"):
        source, memory = Batches(folder / f"{name}.parquet", Wanted()), options["memory"] // 2
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            ordered(source, question(), Scratch(Path(scratch)), memory)
            (Path(scratch) / "sorted.parquet").replace(folder / f"{name}_by_time.parquet")
    sort = watched("np.sort", folder / "events.parquet", options)
    draw, skew = (
        watched("draw", folder / f"{name}_by_time.parquet", options) for name in ("events", "skewed")
    )
    times, seconds = draw["seconds"] / sort["seconds"], sort["seconds"]
    print(f"one draw, 18 cutoffs, from sorted Parquet in {draw['slices']} slices: {draw['seconds']:.2f} s")
    print(f"of processor time, {times:.1f} x np.sort of the same times ({seconds:.3f} s)")
    print(
        f"skewed history: the slowest of {skew['slices']} slices takes {skew['slowest']:.2f} x the median"
    )


if __name__ == "__main__":
    main()
