"""How fast pairs are counted, against a cross-join and against sorting one column, in one run.

    python bench/study.py

Three questions. At 13 thousand events: the same counts as a cross-join, and how long both take; with
pandas summing in Python (how such studies were done, on a tenth of the people), with pandas summing in
numpy, and here. At 3.5 million events (a made-up month of the size of English Wikipedia): what one more
draw with 18 cutoffs costs, from the known labels to the counts, as a multiple of `np.sort` of one
column. And how much memory that takes, as a multiple of the three columns, in a process of its own.

The cross-join needs pandas, which is installed for this bench alone.
"""

import gc
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
from _measure import arguments, interleaved

from tarry.core.entropy import Seeded
from tarry.core.policy import Policy
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.baselines import baseline
from tarry.study.replay import replay
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES, Recipe
from tarry.study.table import event_table

SECOND = 1_000_000
WINDOW = 300 * SECOND
CUTOFFS = [
    c * SECOND for c in (1, 2, 5, 10, 20, 30, 60, 90, 120, 180, 300, 450, 600, 900, 1800, 2700, 3600, 7200)
]
POLICY = Policy(epsilon="1", gap="11m", window="5m")


def made_up(recipe):
    made = synthesize(recipe, seed=1)
    return event_table(actor=made.actor, target=made.target, time=made.time)


def counts_here(table, seen):
    scores = cutoff_attack(Truth(table=table, window=WINDOW), seen, CUTOFFS)
    return [(s.counts.true_positives, s.counts.false_positives, s.counts.false_negatives) for s in scores]


def cross_join(table, seen, add, slice_rows=500):
    """Every pair of events as a row of a table, a slice at a time; `add` sums a column of truth values."""
    import pandas as pd  # noqa: PLC0415 - this bench alone needs it

    columns = {"actor": table.actor, "target": table.target, "time": table.time, "seen": seen}
    events = pd.DataFrame({**columns, "row": np.arange(len(table))})
    counts = np.zeros((len(CUTOFFS), 3), dtype=np.int64)
    for start in range(0, len(events), slice_rows):
        pairs = events[start : start + slice_rows].merge(events[start:], how="cross", suffixes=("", "_2"))
        pairs = pairs[(pairs.row < pairs.row_2) & (pairs.target != pairs.target_2)]
        linked = (pairs.actor == pairs.actor_2) & ((pairs.time - pairs.time_2).abs() <= WINDOW)
        apart = (pairs.seen - pairs.seen_2).abs()
        for place, cutoff in enumerate(CUTOFFS):
            flagged = apart <= cutoff
            counts[place] += (add(flagged & linked), add(flagged & ~linked), add(~flagged & linked))
    return [tuple(row) for row in counts.tolist()]


def in_numpy(column):
    return int(column.sum())


def against_cross_join(*, tiny):
    events = 400 if tiny else 13_000
    table = made_up(Recipe(events=events, actors=max(20, events // 13), targets=max(40, events // 10)))
    sample = table.keep(table.actor_rank % 10 == 0)  # a tenth of the people, as the authors took
    released = {t: replay(POLICY).show(t.history, Seeded(1)).release for t in (table, sample)}
    truths = {t: Truth(table=t, window=WINDOW) for t in (table, sample)}
    for each in (table, sample):
        same = counts_here(each, released[each]) == cross_join(each, released[each], in_numpy)
        assert same, "the counts differ"
        print(f"identical counts on {len(each):,} events, {len(CUTOFFS)} cutoffs")
    contestants = {
        "pandas, summed in Python, a tenth": lambda: cross_join(sample, released[sample], sum),
        "pandas, summed in numpy, a tenth": lambda: cross_join(sample, released[sample], in_numpy),
        "pandas, summed in numpy, everybody": lambda: cross_join(table, released[table], in_numpy),
        "tarry, a tenth": lambda: cutoff_attack(truths[sample], released[sample], CUTOFFS),
        "tarry, everybody": lambda: cutoff_attack(truths[table], released[table], CUTOFFS),
    }
    seconds = interleaved(contestants, 1 if tiny else 3)
    took = {name: median(times) for name, times in seconds.items()}
    print(f"\n{'':<44}{'seconds':>12}   tarry on the same events is faster by, target")
    goals = {"pandas, summed in Python, a tenth": ">= 500", "pandas, summed in numpy, everybody": ">= 100"}
    for name, time in took.items():
        times = time / took["tarry, everybody" if name.endswith("everybody") else "tarry, a tenth"]
        print(f"{name:<44}{time:>12.3g}   {times:,.0f}   {goals.get(name, '')}")
    everybody = took["pandas, summed in Python, a tenth"] * _pairs(len(table)) / _pairs(len(sample))
    print(f"{'summed in Python on everybody, by its pairs':<44}{everybody:>12.3g}   ", end="")
    print(f"{everybody / took['tarry, everybody']:,.0f}   >= 500\n")


def _pairs(events):
    return events * (events - 1) // 2


def a_draw_at_scale(*, tiny):
    recipe = RECIPES["forum"] if tiny else RECIPES["wikipedia"]
    table = made_up(recipe)
    truth, practice = Truth(table=table, window=WINDOW), replay(POLICY)
    draws = iter(range(1_000))
    print(f"{len(table):,} events, {table.actors:,} actors, {table.targets:,} targets, ", end="")
    print(f"{truth.linked_pairs:,} linked pairs, {len(CUTOFFS)} cutoffs")
    column, nothing = practice.show(table.history, Seeded(1)).release, baseline("nothing")

    def draw():
        shown = practice.show(table.history, Seeded(1, next(draws)))
        return cutoff_attack(truth, shown.release, CUTOFFS)

    contestants = {
        "np.sort of one column": lambda: np.sort(column),
        "replay alone": lambda: practice.show(table.history, Seeded(1, next(draws))),
        "a draw: replay and counts": draw,
        "counts without a policy": lambda: cutoff_attack(
            truth, nothing.show(table.history, Seeded(0)).release, CUTOFFS
        ),
    }
    seconds = interleaved(contestants, 1 if tiny else 7)
    print(f"{'':<44}{'x np.sort':>12}{'spread':>18}   target")
    for name, times in seconds.items():
        ratios = sorted(t / s for t, s in zip(times, seconds["np.sort of one column"], strict=True))
        goal = "<= 30, goal 15" if name.startswith("a draw") else ""
        print(f"{name:<44}{median(ratios):>12.2f}{f'{ratios[0]:.2f}..{ratios[-1]:.2f}':>18}   {goal}")
    print()


def growth(*, tiny):
    """The cost of a draw at twice the size, again and again: n log n asks for a little over 2."""
    sizes = [2_000, 4_000] if tiny else [200_000, 400_000, 800_000, 1_600_000, 3_200_000]
    costs = {}
    for events in sizes:
        # Twice the people and twice the targets: a busier place, not busier people.
        recipe = Recipe(events=events, actors=max(10, events // 11), targets=max(10, events // 4))
        table = made_up(recipe)
        truth, practice = Truth(table=table, window=WINDOW), replay(POLICY)

        def draw(table=table, truth=truth, practice=practice):
            return cutoff_attack(truth, practice.show(table.history, Seeded(1)).release, CUTOFFS)

        costs[events] = median(interleaved({"draw": draw}, 1 if tiny else 5)["draw"])
    print("twice the events cost: ", end="")
    print(", ".join(f"{costs[b] / costs[a]:.2f} ({a:,} to {b:,})" for a, b in pairwise(sizes)))
    print()


def memory(*, tiny):
    told = subprocess.run(
        [sys.executable, __file__, "--peak", *(["--tiny"] if tiny else [])],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    print(told)


def print_peak(*, tiny):
    """Run in a process of its own: what a table and two draws add to what the libraries take."""
    made = synthesize(RECIPES["forum" if tiny else "wikipedia"], seed=1)
    columns = {name: getattr(made, name).copy() for name in ("actor", "target", "time")}
    del made
    small = event_table(actor=[1, 1, 2], target=[1, 2, 3], time=[0, 1, 2])
    cutoff_attack(Truth(table=small, window=1), small.time, CUTOFFS)  # compiled code, thread pools
    gc.collect()
    size = sum(column.nbytes for column in columns.values())
    before = _resident("VmRSS") - size
    _reset_peak()
    table = event_table(**columns)
    columns.clear()
    truth, practice = Truth(table=table, window=WINDOW), replay(POLICY)
    for draw in range(2):
        cutoff_attack(truth, practice.show(table.history, Seeded(1, draw)).release, CUTOFFS)
    peak = _resident("VmHWM") - before
    print(
        f"memory, from the columns to the counts of two draws: {peak / size:.2f} x the three columns",
        end="",
    )
    print(f" ({size / 1e6:.0f} MB)   target <= 6")


def _resident(what):
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024


def _reset_peak():
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


if __name__ == "__main__":
    if "--peak" in sys.argv:
        print_peak(tiny="--tiny" in sys.argv)
    else:
        asked = arguments(__doc__.split("\n", maxsplit=1)[0])
        against_cross_join(tiny=asked.tiny)
        a_draw_at_scale(tiny=asked.tiny)
        growth(tiny=asked.tiny)
        memory(tiny=asked.tiny)
