"""The compiled loops: each counts what its sentence says, and compiling needs no place to write."""

import subprocess
import sys
from pickle import UnpicklingError

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.study import kernels

TIMES = st.lists(st.integers(0, 40), min_size=1, max_size=25)
WITHOUT_A_PLACE = """
import numba, numba.core.caching as caching
for kind in list(caching.CacheImpl._locator_classes):
    kind.from_function = classmethod(lambda cls, *arguments: None)
import numpy as np
from tarry.study.pairs import pairs_within
print(pairs_within(np.array([3, 1, 9, 1]), [0, 2, 100]))
"""


def sorted_rows(times, seed):
    """Rows in three groups, sorted by group and time."""
    groups = np.random.default_rng(seed).integers(0, 3, len(times))
    order = np.lexsort((times, groups))
    ranks = np.unique(groups[order], return_inverse=True)[1].astype(np.int64)
    return ranks, np.array(times, dtype=np.int64)[order]


@settings(max_examples=40)
@given(times=TIMES, window=st.integers(0, 12), seed=st.integers(0, 99))
def test_reaches_are_the_first_rows_out_of_reach(times, window, seed):
    """Of another group, or further away than the window."""
    groups, ordered = sorted_rows(times, seed)
    ends = kernels.reaches(groups, ordered, window)
    for i, end in enumerate(ends.tolist()):
        inside = [
            j for j in range(i, len(times)) if groups[j] == groups[i] and ordered[j] - ordered[i] <= window
        ]
        assert list(range(i, end)) == inside


@settings(max_examples=40)
@given(times=TIMES, window=st.integers(0, 12), seed=st.integers(0, 99))
def test_close_groups_are_those_of_a_loop(times, window, seed):
    """Ordered pairs of different groups some two of whose times are at most the window apart."""
    groups, ordered = sorted_rows(times, seed)
    by_time = np.argsort(ordered, kind="stable")
    found = kernels.close_groups(groups, ordered, ordered[by_time], groups[by_time], window)
    rows = list(zip(groups.tolist(), ordered.tolist(), strict=True))
    pairs = {(g, h) for g, t in rows for h, u in rows if g != h and abs(t - u) <= window}

    assert found == len(pairs)


@settings(max_examples=40)
@given(times=TIMES, seed=st.integers(0, 99), reach=st.sampled_from([0, 2, 6, 30]))
def test_blocks_are_counted_as_by_a_loop(times, seed, reach):
    """Pairs up to each row's end, shown at most each limit apart; ends close by, or far off."""
    chance = np.random.default_rng(seed)
    rows = np.arange(len(times))
    ends = np.minimum(np.maximum.accumulate(rows + 1 + chance.integers(0, reach + 1, len(rows))), len(rows))
    limits, found = np.array([0, 1, 5, 12]), np.zeros(4, dtype=np.int64)
    kernels.add_near_blocks(np.array(times, dtype=np.int64), ends, limits, found)

    assert found.tolist() == [
        sum(abs(times[i] - times[j]) <= limit for i in rows for j in range(i + 1, ends[i]))
        for limit in limits
    ]


@settings(max_examples=40)
@given(first=TIMES, second=TIMES, low=st.integers(-15, 15), more=st.integers(0, 20))
def test_pairs_of_two_columns_are_those_of_a_loop(first, second, low, more):
    """Differences with a sign: second minus first."""
    columns = [np.array(sorted(column), dtype=np.int64) for column in (first, second)]
    found = kernels.cross_pairs(*columns, low, low + more)

    assert found == sum(low <= y - x <= low + more for x in first for y in second)


@pytest.mark.parametrize("name", kernels.__all__)
def test_every_loop_is_compiled(name):
    """And lets other threads run meanwhile."""
    loop = kernels._kept(getattr(kernels, name).__wrapped__)

    assert isinstance(loop, numba.core.dispatcher.Dispatcher)
    assert loop.targetoptions["nogil"]


@pytest.mark.parametrize("damage", [EOFError, UnpicklingError])
def test_damaged_code_that_was_kept_is_made_anew(monkeypatch, damage):
    """A cut-off file in the cache costs a moment, not the answer."""

    def broken(loop):
        def load(*arguments):
            raise damage

        return load

    monkeypatch.setattr(kernels, "_kept", broken)
    run = kernels._compiled(kernels.cross_pairs.__wrapped__)

    assert run(np.array([0, 5]), np.array([1, 9]), 0, 4) == 2


def test_counting_works_where_compiled_code_cannot_be_kept():
    """An installation and a home that cannot be written: compiled each time, and not an error."""
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_PLACE], capture_output=True, text=True, check=False
    )

    assert (ran.stdout, ran.stderr) == ("[1, 3, 6]\n", "")
