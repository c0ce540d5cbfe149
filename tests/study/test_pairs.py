"""Pairs are counted exactly, by every way of counting, on tables of every shape."""

import threading
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.pair_loop import CUTOFFS, EVENTS, near_pairs, seen_of, table_of_rows, within
from tarry.core.errors import BadInput
from tarry.study import kernels, pairs
from tarry.study.pairs import (
    LONGEST,
    common_unit,
    near,
    pairs_within,
    pairs_within_groups,
    pairs_within_own_limits,
    side_by_side,
)

YEARS = 13 * 365 * 86_400 * 1_000_000  # microseconds
ALWAYS, NEVER = 1 << 40, 0
#: What to change so that every table is counted in one way, and the loop that then counts.
FLAT = {"dense": ("_DENSE", ALWAYS, "add_dense"), "sorted": ("_DENSE", NEVER, "add_sorted")}
GROUPED = {
    "one key": ("_FAR", 1 << 90, "add_rising"),
    "two keys": ("_FAR", NEVER, "add_sorted_groups"),
}
NEAR = {
    "one look a pair": ("_LOOKS_A_STEP", ALWAYS, "add_near"),
    "blocks": ("_LOOKS_A_STEP", NEVER, "add_near_blocks"),
}
#: Times so close together that a table of counts always fits, and a key of group and time as well.
CLOSE = st.lists(st.integers(-30, 60), max_size=30)
UNITS = st.sampled_from([1, 1_000, 1_000_000, 60_000_000])


class Spy:
    """The compiled loops, noting which of them were asked to count."""

    def __init__(self):
        self.asked = set()

    def __getattr__(self, name):
        self.asked.add(name)
        return getattr(kernels, name)


def spied(patch, setting=None, value=None):
    """Force one way of counting, and watch that it is taken."""
    spy = Spy()
    patch.setattr(pairs, "kernels", spy)
    if setting is not None:
        patch.setattr(pairs, setting, value)
    return spy


def loop(times, limit, together=lambda i, j: True):
    """Pairs at most a limit apart, one by one; limits may be one for each row."""
    limits = limit if isinstance(limit, list) else [limit] * len(times)
    rows = range(len(times))
    return sum(abs(times[i] - times[j]) <= limits[i] and together(i, j) for i, j in combinations(rows, 2))


@pytest.mark.parametrize("way", FLAT)
@settings(max_examples=60)
@given(places=CLOSE, unit=UNITS, limits=CUTOFFS, more=st.sampled_from([0, 1]))
def test_pairs_of_times_are_those_of_a_loop(way, places, unit, limits, more):
    """By a table of counts and by sorting; limits that are no whole units count the same pairs."""
    setting, value, kernel = FLAT[way]
    times, cutoffs = np.array(places, dtype=np.int64) * unit - 5, [limit * unit + more for limit in limits]
    with pytest.MonkeyPatch.context() as patch:
        spy = spied(patch, setting, value)
        found = pairs_within(times, cutoffs)

    assert found == [loop(times.tolist(), cutoff) for cutoff in cutoffs]
    assert spy.asked == ({kernel} if places else set())


@settings(max_examples=60)
@given(rows=EVENTS, limits=CUTOFFS, unit=UNITS)
def test_pairs_of_any_times_are_those_of_a_loop(rows, limits, unit):
    """Whichever way is chosen: before 1970, years apart, in any order."""
    times, cutoffs = [time for _, _, time in rows], [limit * unit for limit in limits]

    assert pairs_within(np.array(times, dtype=np.int64), cutoffs) == [loop(times, c) for c in cutoffs]


@pytest.mark.parametrize("way", GROUPED)
@settings(max_examples=60)
@given(places=CLOSE, unit=UNITS, limits=CUTOFFS, seed=st.integers(0, 1 << 16))
def test_pairs_inside_groups_are_those_of_a_loop(way, places, unit, limits, seed):
    """By one number for group and time, and by two."""
    setting, value, kernel = GROUPED[way]
    times = np.array(places, dtype=np.int64) * unit + 3
    groups = np.random.default_rng(seed).integers(0, 4, len(times))
    cutoffs = [limit * unit for limit in limits]
    with pytest.MonkeyPatch.context() as patch:
        spy = spied(patch, setting, value)
        found = pairs_within_groups(groups, times, cutoffs)

    expected = [loop(times.tolist(), c, lambda i, j: groups[i] == groups[j]) for c in cutoffs]
    assert found == expected
    assert spy.asked == ({kernel} if places else set())


@settings(max_examples=60)
@given(rows=EVENTS, limits=CUTOFFS, unit=UNITS)
def test_pairs_inside_groups_are_those_of_a_loop_on_any_times(rows, limits, unit):
    """Whichever way is chosen; a limit longer than all of the history reaches into no other group."""
    groups, times = [target for _, target, _ in rows], [time for _, _, time in rows]
    cutoffs = [limit * unit for limit in limits] + [LONGEST]
    found = pairs_within_groups(np.array(groups, dtype=np.int64), np.array(times, dtype=np.int64), cutoffs)

    assert found == [loop(times, c, lambda i, j: groups[i] == groups[j]) for c in cutoffs]


def test_thirteen_years_in_microseconds_on_many_targets_need_two_keys():
    """Group and time do not fit into one number there, and the counts are those of a loop."""
    rng, targets = np.random.default_rng(3), 12_000
    groups = rng.integers(0, targets, 3 * targets)
    groups[:targets] = np.arange(targets)
    times = rng.integers(0, YEARS, 3 * targets)
    times[targets:] = times[groups[targets:]] + rng.integers(-3000, 3000, 2 * targets)
    with pytest.MonkeyPatch.context() as patch:
        spy = spied(patch)
        found = pairs_within_groups(groups, times, [1000, 0, 10**9])

    by_group = {}
    for group, time in zip(groups.tolist(), times.tolist(), strict=True):
        by_group.setdefault(group, []).append(time)
    assert found == [sum(loop(own, limit) for own in by_group.values()) for limit in (1000, 0, 10**9)]
    assert spy.asked == {"add_sorted_groups"}


@settings(max_examples=60)
@given(rows=EVENTS, own=st.lists(st.integers(0, 1 << 56), min_size=30, max_size=30))
def test_groups_may_have_limits_of_their_own(rows, own):
    """Each pair is judged by its group's limit."""
    groups, times = [target for _, target, _ in rows], [time for _, _, time in rows]
    limits = [own[group] for group in groups]
    columns = [np.array(column, dtype=np.int64) for column in (groups, times, limits)]
    found = pairs_within_own_limits(*columns[:2], [columns[2], columns[2] // 1000])

    same = [
        loop(times, each, lambda i, j: groups[i] == groups[j])
        for each in (limits, [l // 1000 for l in limits])
    ]
    assert found == same


@pytest.mark.parametrize("way", NEAR)
@settings(max_examples=80)
@given(
    rows=EVENTS,
    unit=UNITS,
    window=st.sampled_from([0, 1, 3, 12, 1 << 30]),
    limits=CUTOFFS,
    seed=st.integers(0, 99),
)
def test_linked_pairs_are_those_of_a_loop(way, *, rows, unit, window, limits, seed):
    """One by one and by blocks: all of them, those shown close together, those within one's own limit."""
    setting, value, kernel = NEAR[way]
    table = table_of_rows(rows)
    seen, cutoffs = seen_of(table, seed, unit), [limit * unit for limit in limits]
    own = {actor: unit * (actor % 3) for actor in table.actor.tolist()}
    limits_of_rows = np.array([own[actor] for actor in table.actor.tolist()], dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        spy = spied(patch, setting, value)
        linked = near(table.actor, table.target, table.time, window * unit)
        found = (
            linked.total,
            linked.shown_within(seen, cutoffs),
            linked.shown_within_own(seen, limits_of_rows),
        )

    assert found == (
        near_pairs(table, seen, window * unit, lambda a, b: True),
        [near_pairs(table, seen, window * unit, within(cutoff)) for cutoff in cutoffs],
        near_pairs(table, seen, window * unit, lambda a, b: abs(a[3] - b[3]) <= own[a[0]]),
    )
    close_to_any = any(end > row + 1 for row, end in enumerate(linked.ends.tolist()))
    assert (kernel in spy.asked) == (way != "blocks" or close_to_any)


def test_crowds_and_quiet_actors_are_counted_beside_each_other():
    """Some actors by blocks and some one by one, first, last and in between: the sum is a loop's."""
    sizes, rows = [3, 60, 5, 60, 60, 2], []
    for actor, size in enumerate(sizes):
        rows += [(actor, i * i % 7, i * 3 % size) for i in range(size)]
    table = table_of_rows(rows)
    seen = seen_of(table, 1, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "_LOOKS_A_STEP", 0.5)
        linked = near(table.actor, table.target, table.time, 20)
        crowds = [end - start for start, end in linked._crowded(3)]
        found = linked.shown_within(seen, [4, 0, 50])

    assert crowds == [60, 60, 60]
    assert found == [near_pairs(table, seen, 20, within(cutoff)) for cutoff in (4, 0, 50)]


def test_a_crowd_takes_no_look_at_each_pair():
    """20,000 events of one actor inside the window: 200 million pairs, counted by blocks alone."""
    n, targets = 20_000, 100
    actor, time = np.zeros(n, dtype=np.int64), np.arange(n)
    target = np.arange(n) % targets
    with pytest.MonkeyPatch.context() as patch:
        spy = spied(patch)
        patch.setattr(kernels, "add_near", _only_over_nothing)
        linked = near(actor, target, time, n)
        found = linked.shown_within(time[::-1].copy(), [0, 1, 99, n])

    on_one_target = targets * comb(n // targets, 2)
    assert linked.total == comb(n, 2) - on_one_target
    assert found == [0, n - 1, sum(n - d for d in range(1, 100)), comb(n, 2) - on_one_target]
    assert "add_near_blocks" in spy.asked


def _only_over_nothing(*arguments):
    """In place of the loop that looks at each pair: it is given no rows."""
    _, _, _, first, last, _, _ = arguments
    assert first >= last


def test_a_crowd_on_many_targets_takes_one_walk_over_them_all():
    """Not one for each target: two walks for all limits, over all pairs and over those on one target."""
    n, walks = 6_000, []
    rng = np.random.default_rng(4)
    time, target = np.arange(n), rng.integers(0, n // 2, n)
    with pytest.MonkeyPatch.context() as patch:
        walk = kernels.add_near_blocks
        patch.setattr(kernels, "add_near_blocks", lambda *each: walks.append(1) or walk(*each))
        linked = near(np.zeros(n, dtype=np.int64), target, time, n)
        found = linked.shown_within(time % 7, [0, 3])

    expected = 0
    for k in range(7):
        on_one = np.bincount(target[time % 7 == k])
        expected += comb(int(on_one.sum()), 2) - int((on_one * (on_one - 1) // 2).sum())
    assert found[0] == expected
    assert len(walks) == 2


@pytest.mark.parametrize(
    "count", [pairs_within, lambda times, limits: pairs_within_groups(times * 0, times, limits)]
)
def test_a_negative_limit_is_refused(count):
    """A cutoff is a distance."""
    with pytest.raises(BadInput, match="a cutoff must be at least 0, not -3"):
        count(np.array([1, 2]), [5, -3])


def test_no_limits_are_no_counts():
    """An empty list is answered by one, on every way of counting."""
    one = np.zeros(3, dtype=np.int64)

    assert pairs_within(one, []) == pairs_within_groups(one, one, []) == []
    assert pairs_within_own_limits(one, one, []) == near(one, one, one, 5).shown_within(one, []) == []


@settings(max_examples=60)
@given(places=st.lists(st.integers(-50, 50), min_size=1), unit=UNITS, start=st.integers(-(10**15), 10**15))
def test_the_common_unit_divides_every_difference_and_none_larger_does(places, unit, start):
    """Whatever the first time is."""
    times = np.array(places, dtype=np.int64) * unit + start
    found = common_unit(times)
    apart = [time - times[0] for time in times.tolist()]

    assert not any(distance % found for distance in apart)
    assert all(any(distance % larger for distance in apart) for larger in pairs.UNITS if larger > found)


def test_a_unit_that_only_fits_the_first_thousand_is_not_taken():
    """The look at a few never decides alone."""
    assert common_unit(np.append(np.zeros(5000, dtype=np.int64), 7)) == 1


def test_jobs_answer_in_their_order_and_pass_their_errors_on():
    """Side by side, as one after the other."""
    assert side_by_side(*(lambda i=i: i for i in range(5))) == [0, 1, 2, 3, 4]
    with pytest.raises(BadInput, match="a cutoff"):
        side_by_side(lambda: 1, lambda: pairs_within(np.array([1]), [-1]))


def test_jobs_of_one_process_among_several_do_not_run_at_once(monkeypatch):
    """They run in the thread that asks, one after the other: the processors have other work."""
    monkeypatch.setattr(pairs, "_AT_ONCE", [2])
    elsewhere = side_by_side(threading.get_ident, threading.get_ident)
    pairs.one_after_another()

    assert threading.get_ident() not in elsewhere
    assert side_by_side(threading.get_ident, threading.get_ident) == [threading.get_ident()] * 2
