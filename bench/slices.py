"""How an audit by parts compares: with one machine's memory, with one process, with plain sorts.

    python bench/slices.py                       # a million made-up events: a minute or more
    python bench/slices.py --rounds 5            # everything five times, interleaved, with the spread
    python bench/slices.py --events 100000000 --only "stream 2" --folder /var/tmp
    python bench/slices.py --events 20000000 --only "np.sort,draw,memory,stream 1,stream 2"

All on made-up events, in one run. Memory is that of all processes together (what they share counts once),
looked at ten times a second, later once. Processor time is that of all processes together.

1. From a file in no order to a sorted one (sort), against DuckDB's plain sort of it (plain sort).
2. The whole audit by parts with one process and with two (stream 1, stream 2), and with the engine memory.
3. One draw with 18 cutoffs, from time-sorted Parquet by parts (draw), against np.sort of the same times.
4. The same of a skewed history, 30 % on one target, 10 % by one actor (skewed draw): the slowest slice.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
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
from tarry.study.parts.claims import PairCounts
from tarry.study.parts.costs import DelayCounts
from tarry.study.parts.ordering import ordered, sort_database
from tarry.study.parts.report import setting_of
from tarry.study.parts.resources import Resources, budget_for
from tarry.study.parts.scratch import Scratch
from tarry.study.parts.slices import SORTED, Slices, store_slice
from tarry.study.parts.stream import settle
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
    if what.endswith("draw"):
        os.link(path, folder / SORTED)
        return timed_slices(Slices.cut(folder, options["rows"]))
    engine = (
        "memory"
        if what == "memory"
        else Resources(engine="stream", memory=memory, jobs=int(what.split()[1]), scratch=folder, say=say)
    )
    report = audit(path, question(), engine=engine).as_dict()
    scores = [
        [score["true_positives"], score["false_positives"]]
        for each in report["attacks"]
        for score in each["scores"]
    ]
    return {"answer": [report["linked_pairs"], scores, report["null_gaps_s"]]}


def say(estimate):
    print(f"estimate: {estimate}", file=sys.stderr, flush=True)


def timed(work):
    work()
    start = time.process_time()
    work()
    return {"seconds": time.process_time() - start}


def timed_slices(slices):
    """One draw with 18 cutoffs, slice by slice; how long each took, and to take the slices out."""
    settle()
    numbers = range(len(slices.edges))
    start = time.process_time()
    for number in numbers:
        store_slice(slices, number)
    stored = time.process_time() - start
    setting = setting_of(question())
    looks = setting.practices[1].looks()
    delays = Asked(setting=setting, asks=[DelayCounts(practice=1, draw=0, looks=looks, covers=1)])
    moved = [delays.look(slices.part(number, looks, looks)).partial for number in numbers]
    spread = max(each.most["0/0/moved"] for each in moved) - min(each.least["0/0/moved"] for each in moved)
    case = Attempt(practice=1, draw=0, observer=0, method=attack("cutoff"), looks=looks, spread=spread)
    task = Asked(setting=setting, asks=[PairCounts(case=case, farthest=max(CUTOFFS), cutoffs=CUTOFFS)])
    task.look(slices.part(0, task.before, task.after))  # what is compiled is compiled
    seconds = []
    for number in numbers:
        start = time.process_time()
        task.look(slices.part(number, task.before, task.after))
        seconds.append(time.process_time() - start)
    slowest = max(seconds) / median(seconds)
    return {"seconds": sum(seconds) + stored, "slowest": slowest, "slices": len(seconds)}


# --- watched from outside -------------------------------------------------------------------------


def watched(what, path, options):
    """Run a contestant in a process of its own: seconds, processor seconds, most memory and disk in all."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start, most, disk = time.perf_counter(), 0, 0
        with subprocess.Popen(
            [sys.executable, __file__, "--run", what, str(path), folder, json.dumps(options)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            while process.poll() is None:
                most, disk = max(most, memory_of(process.pid)), max(disk, disk_of(folder))
                time.sleep(min(max((time.perf_counter() - start) / 100, 0.1), 1))  # a look is work too
            said = process.stdout.read()
        if process.returncode:
            sys.exit(f"{what} failed")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        wall = time.perf_counter() - start
        return {"wall": wall, "cpu": cpu, "most": most, "disk": disk, **json.loads(said)}


def disk_of(folder):
    """Bytes of all files below a folder, sparse or not."""
    total = 0
    for file in Path(folder).rglob("*"):
        try:
            total += file.stat().st_blocks * 512
        except OSError:  # gone meanwhile
            continue
    return total


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--memory", type=float, default=4.0, help="GB")
    parser.add_argument("--rounds", type=int, default=1, help="how often, all after another")
    parser.add_argument("--only", help=f"some of: {', '.join(ALL)}")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the files of a run go")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        what, path, folder, options = given.run
        print(json.dumps(run(what, Path(path), Path(folder), json.loads(options))))
        return
    events = 3_000 if given.tiny else given.events
    options = {"memory": int(given.memory * 1e9)}
    options["rows"] = max(min(budget_for(events, memory=options["memory"], jobs=2).rows, events // 8), 500)
    chosen = [one.strip() for one in given.only.split(",")] if given.only else list(ALL)
    if unknown := set(chosen) - set(ALL):
        parser.error(f"unknown: {', '.join(unknown)}")
    if events > MEMORY_UP_TO and not given.only:
        chosen.remove("memory")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        compare(Path(folder), events, options, chosen, given.rounds)


def compare(folder, events, options, chosen, rounds):
    make(folder / "events.parquet", events, options["memory"] // 2)
    if "skewed draw" in chosen:
        make(folder / "skewed.parquet", events, options["memory"] // 2, skewed=True)
    for name in {FILES[what] for what in chosen if what in FILES}:
        sort_by_time(folder / name.replace("_by_time", ""), folder / name, options)
    print(f"{events:,} made-up events, {options['memory'] / 1e9:g} GB\n", flush=True)
    print(f"{'':<16}{'time':>10}{'processor':>12}{'memory':>12}{'disk':>12}", flush=True)
    runs = {what: [] for what in chosen}
    for _ in range(rounds):
        for what in chosen:
            found = watched(what, folder / FILES.get(what, "events.parquet"), options)
            runs[what].append(found)
            print(
                f"{what:<16}{found['wall']:>8.1f} s{found['cpu']:>10.1f} s"
                f"{found['most'] / 1e9:>9.2f} GB{found['disk'] / 1e9:>9.2f} GB",
                flush=True,
            )
    print()
    for ratio in RATIOS:
        ratio.tell(runs)
    answers = [run["answer"] for each in runs.values() for run in each if "answer" in run]
    if answers:
        same = all(one == answers[0] for one in answers)
        print(f"answers: {'the same' if same else 'NOT THE SAME'}; linked pairs {answers[0][0]:,}")
        if not same:
            sys.exit(1)
    for name in ("draw", "skewed draw"):
        for run in runs.get(name, [])[:1]:
            print(f"{name}: {run['slices']} slices, the slowest took {run['slowest']:.2f} x the median")


@dataclass
class Ratio:
    """One contestant against another, round by round."""

    above: str
    below: str
    figure: str  # cpu, wall, seconds
    words: str

    def tell(self, runs):
        """Print the ratio if both have run."""
        if self.above in runs and self.below in runs:
            pairs = zip(runs[self.above], runs[self.below], strict=True)
            ratios = sorted(one[self.figure] / other[self.figure] for one, other in pairs)
            spread = f" ({ratios[0]:.2f} to {ratios[-1]:.2f})" if len(ratios) > 1 else ""
            print(f"{self.words}: {median(ratios):.2f}{spread}")


ALL = ("plain sort", "sort", "memory", "stream 1", "stream 2", "np.sort", "draw", "skewed draw")
FILES = {"draw": "events_by_time.parquet", "skewed draw": "skewed_by_time.parquet"}
RATIOS = (
    Ratio("sort", "plain sort", "cpu", "reading and sorting, processor time of the plain sort"),
    Ratio("stream 1", "memory", "cpu", "one process, processor time of the engine memory"),
    Ratio("stream 2", "memory", "cpu", "two processes, processor time of the engine memory"),
    Ratio("stream 1", "stream 2", "wall", "two processes, times as fast as one"),
    Ratio("draw", "np.sort", "seconds", "one draw from sorted Parquet, processor time of np.sort"),
)


def sort_by_time(path, into, options):
    """The same history as time-sorted Parquet."""
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        ordered(Batches(path, Wanted()), question(), Scratch(Path(scratch)), options["memory"] // 2)
        (Path(scratch) / SORTED).replace(into)


if __name__ == "__main__":
    main()
