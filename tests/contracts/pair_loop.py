"""Counts of pairs by looking at every pair: slow, small, and written from the definition alone."""

import os
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import strategies as st

from tarry.study.score import Counts
from tarry.study.table import EventTable, event_table

__all__ = [
    "CUTOFFS",
    "EVENTS",
    "data_file",
    "loop_counts",
    "near_pairs",
    "one_recipient",
    "other_targets",
    "seen_of",
    "table_of_rows",
    "within",
]

YEARS = 13 * 365 * 86_400 * 1_000_000  # microseconds


def _events(*, actors, targets, size, base, unit, moments, seed):
    """Few actors, targets and moments: ties and repeated events are common."""
    chance = Random(seed)
    return [
        (chance.randrange(actors), chance.randrange(targets), base + unit * chance.randrange(moments))
        for _ in range(size)
    ]


#: Rows (actor, target, time in microseconds), unsorted; also none, one, before 1970 and years apart.
EVENTS = st.builds(
    _events,
    actors=st.sampled_from([1, 2, 4]),
    targets=st.sampled_from([1, 2, 5, 30]),
    size=st.integers(0, 30),
    base=st.sampled_from([0, -7, -(10**15) - 1, 1_700_000_000_000_000]),
    unit=st.sampled_from([1, 1_000, 1_000_000, 60_000_000, YEARS // 40, 1 << 54]),
    moments=st.sampled_from([1, 4, 12, 40]),
    seed=st.integers(0, 1 << 32),  # one number for all rows: drawing each would take most of the time
)

#: Cutoffs or windows as multiples of some unit: unsorted, repeated, none at all apart.
CUTOFFS = st.lists(st.sampled_from([0, 1, 2, 3, 5, 11, 39, 999]), min_size=1, max_size=5)


def table_of_rows(rows) -> EventTable:
    """The table of (actor, target, time) rows."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return event_table(actor=columns[:, 0], target=columns[:, 1], time=columns[:, 2])


def seen_of(table, seed, unit):
    """Moments at which somebody saw the events: late, out of order, often together."""
    chance = Random(seed)
    late = [unit * chance.choice([0, 0, 1, 2, 7]) for _ in range(len(table))]
    return table.time + np.array(late, dtype=np.int64)


def other_targets(a, b) -> bool:
    """Candidates of most attacks: pairs on different targets."""
    return a[1] != b[1]


def one_recipient(a, b) -> bool:
    """Candidates of the same-recipient attacks: one actor, different targets."""
    return a[0] == b[0] and a[1] != b[1]


def within(cutoff):
    """The claim of the cutoff attack."""
    return lambda a, b: abs(a[3] - b[3]) <= cutoff


def loop_counts(table, seen, window, claimed, candidate=other_targets) -> Counts:
    """What becomes of every candidate; `claimed` is asked about rows (actor, target, time, seen)."""
    counts = dict.fromkeys(("true_positives", "false_positives", "false_negatives", "true_negatives"), 0)
    columns = (table.actor, table.target, table.time, seen)
    for a, b in combinations(zip(*(column.tolist() for column in columns), strict=True), 2):
        if candidate(a, b):
            linked = a[0] == b[0] and abs(a[2] - b[2]) <= window
            kind = ("true" if linked == claimed(a, b) else "false") + "_"
            counts[kind + ("positives" if claimed(a, b) else "negatives")] += 1
    return Counts(**counts)


def near_pairs(table, seen, window, claimed) -> int:
    """Linked pairs that are claimed."""
    return loop_counts(table, seen, window, claimed).true_positives


def data_file(name) -> Path:
    """A real history that everybody can get; tests without the folder say what they did not look at."""
    folder = os.environ.get("TARRY_DATA")
    if not folder:
        pytest.skip(f"TARRY_DATA is not set: {name} was not looked at")
    return Path(folder) / name
