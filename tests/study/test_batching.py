"""Measures of batching: the appendix's own example, and loops over every pair on small tables."""

from fractions import Fraction
from itertools import combinations, pairwise, permutations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.pair_loop import EVENTS, table_of_rows
from tarry.core.calibrate import posterior_batched, posterior_unbatched
from tarry.core.entropy import Seeded
from tarry.core.policy import Policy
from tarry.study import batching as module
from tarry.study.batching import (
    actor_rates,
    close_actor_share,
    in_batch_gaps,
    measure,
    measure_batching,
    null_gaps,
    people_around,
    posteriors,
    reordered_share,
    reply_time,
)
from tarry.study.practice import MICROSECONDS
from tarry.study.replay import replay
from tarry.study.table import event_table

WINDOWS = st.sampled_from([0, 1, 7_000, 1_000_000, 3_000_000, 180_000_000, 1 << 58])
some = settings(max_examples=60)


def rows_of(table):
    """(actor, target, time), in the table's order."""
    return list(zip(table.actor.tolist(), table.target.tolist(), table.time.tolist(), strict=True))


def moves(table):
    """(actor, gap) of consecutive events of one actor on different targets."""
    return [(a[0], b[2] - a[2]) for a, b in pairwise(rows_of(table)) if a[0] == b[0] and a[1] != b[1]]


def test_the_appendix_example_is_measured_as_the_paper_does():
    """Five acts on three targets are two moves, one of them within the window: a rate of a half."""
    table = event_table(actor=["a"] * 5, target=["x", "y", "y", "y", "z"], time=[0, 5, 6, 8, 100])
    found = measure_batching(table, window=5)

    assert (found.rate, found.moves, found.moves_within) == (0.5, 2, 1)
    assert (found.with_partner, found.batched_share) == (2, 0.4)


@some
@given(rows=EVENTS, window=WINDOWS)
def test_batched_events_are_those_with_a_partner_on_either_side(rows, window):
    """The same actor on a different target, at most the window before or after."""
    table = table_of_rows(rows)
    partners = [
        any(b[0] == a[0] and b[1] != a[1] and abs(a[2] - b[2]) <= window for b in rows_of(table))
        for a in rows_of(table)
    ]
    found = measure_batching(table, window)

    assert found.with_partner == sum(partners)
    assert found.batched_share == (sum(partners) / len(partners) if partners else 0.0)


@some
@given(rows=EVENTS, window=WINDOWS)
def test_moves_are_consecutive_acts_on_different_targets(rows, window):
    """Their number, those within the window, their gaps, and the rates of single actors."""
    table = table_of_rows(rows)
    found, told = measure_batching(table, window), moves(table)
    within = sorted(gap for _, gap in told if gap <= window)
    by_actor = {}
    for actor, gap in told:
        by_actor.setdefault(actor, []).append(gap <= window)

    assert (found.moves, found.moves_within) == (len(told), len(within))
    assert found.rate == (len(within) / len(told) if told else None)
    assert in_batch_gaps(table, window).tolist() == within
    assert actor_rates(table, window).tolist() == sorted(np.mean(own) for own in by_actor.values())


@some
@given(rows=EVENTS)
def test_null_gaps_lie_between_neighbours_who_differ_in_actor_and_target(rows):
    """Neighbours in time; of those at the same moment, by actor and then by target."""
    ordered = sorted(rows, key=lambda row: (row[2], row[0], row[1]))
    gaps = sorted(b[2] - a[2] for a, b in pairwise(ordered) if a[0] != b[0] and a[1] != b[1])

    assert null_gaps(table_of_rows(rows)).tolist() == gaps


@some
@given(rows=EVENTS, window=WINDOWS)
def test_the_share_of_close_actors_is_that_of_a_loop(rows, window):
    """Pairs of different actors some two of whose events are at most the window apart."""
    by_actor = {}
    for actor, _, time in rows:
        by_actor.setdefault(actor, []).append(time)
    pairs = list(combinations(by_actor.values(), 2))
    close = sum(any(abs(t - u) <= window for t in one for u in other) for one, other in pairs)

    assert close_actor_share(table_of_rows(rows), window) == (
        Fraction(close, len(pairs)) if pairs else None
    )


@given(
    same=st.floats(0.001, 1),
    different=st.floats(0, 0.999),
    suspects=st.lists(st.integers(2, 99), max_size=4),
)
def test_posteriors_are_those_of_the_bounds(same, different, suspects):
    """One for each number of suspects, in the order asked."""
    found = posteriors(same, different, suspects)
    rates = Fraction(same), Fraction(different)

    assert [one.suspects for one in found] == suspects
    assert [one.batched for one in found] == [float(posterior_batched(*rates, k)) for k in suspects]
    assert [one.unbatched for one in found] == [float(posterior_unbatched(*rates, k)) for k in suspects]


def test_neighbours_on_a_target_that_change_places_are_reordered():
    """Other targets do not matter, and what appears at one moment has no order to lose."""
    table = event_table(actor=range(6), target=[1, 1, 1, 1, 2, 2], time=[0, 1, 2, 3, 0, 1])
    release = np.array([5, 4, 4, 9, 100, 50])  # on 1: swapped, together, kept; on 2: swapped

    assert reordered_share(table, release) == 2 / 4
    assert reordered_share(table, table.time) == 0.0


def test_acts_at_one_moment_have_no_order_to_lose():
    """Neither alone, nor beside others that have one."""
    together = event_table(actor=[1, 2], target=[1, 1], time=[3, 3])
    beside = event_table(actor=[1, 2, 3], target=[1, 1, 1], time=[3, 3, 5])

    assert reordered_share(together, np.array([9, 8])) is None
    assert reordered_share(beside, np.array([9, 8, 7])) == 1.0


@some
@given(rows=EVENTS, seed=st.integers(0, 999))
def test_the_reordered_share_is_that_of_a_loop(rows, seed):
    """Over the neighbouring moments of each target: which share of their pairs changes places."""
    table = table_of_rows(rows)
    release = np.random.default_rng(seed).integers(0, 5, len(table))
    appeared = {}
    for (_, target, time), out in zip(rows_of(table), release.tolist(), strict=True):
        appeared.setdefault(target, {}).setdefault(time, []).append(out)
    swapped = [
        fmean(b < a for a in own[earlier] for b in own[later])
        for own in appeared.values()
        for earlier, later in pairwise(sorted(own))
    ]

    assert reordered_share(table, release) == (pytest.approx(fmean(swapped)) if swapped else None)


@some
@given(rows=st.lists(st.tuples(*[st.integers(0, 2)] * 5), min_size=2, max_size=12), data=st.data())
def test_the_reordered_share_does_not_depend_on_the_order_of_rows(rows, data):
    """Rows are (actor, target, time, track, appeared); shuffled, each keeps its own."""

    def share(some_rows):
        actor, target, time, track, appeared = (list(column) for column in zip(*some_rows, strict=True))
        table = event_table(actor=actor, target=target, time=time, track=track)
        return reordered_share(table, np.array(appeared)[table.row])

    assert share(data.draw(st.permutations(rows))) == share(rows)


def test_acts_that_differ_in_track_alone_are_reordered_alike_in_any_order_of_rows():
    """Two at one moment and one later, released by the gaps of their tracks: six files, one answer."""
    policy = Policy(epsilon="2", gap="10s", window="0s", track_gaps={"slow": "10h"})
    rows = [("a", "x", 0, "fast"), ("a", "x", 0, "slow"), ("a", "x", 10_000_000, "fast")]

    def share(some_rows, seed):
        actor, target, time, track = (list(column) for column in zip(*some_rows, strict=True))
        table = event_table(actor=actor, target=target, time=time, track=track)
        return reordered_share(table, replay(policy).show(table.history, Seeded(seed)).release)

    shares = [{share(file, seed) for file in permutations(rows)} for seed in range(20)]

    assert {len(one) for one in shares} == {1}
    assert {0.5} in shares  # the slow one is overtaken, the fast one is not


@pytest.mark.parametrize("size", [0, 1])
def test_hardly_any_events_have_nothing_to_measure(size):
    """And break nothing."""
    table = table_of_rows([(1, 1, 5)][:size])
    found = measure_batching(table, 10)

    assert (found.moves, found.rate, found.batched_share) == (0, None, 0.0)
    assert [len(gaps) for gaps in (in_batch_gaps(table, 10), null_gaps(table), actor_rates(table, 10))] == [
        0
    ] * 3
    assert close_actor_share(table, 10) is None
    assert reordered_share(table, table.time) is None


@pytest.fixture(scope="module")
def table():
    """Half a day of some people."""
    rng = np.random.default_rng(6)
    return event_table(
        actor=rng.integers(0, 30, 300),
        target=rng.integers(0, 20, 300),
        time=rng.integers(0, 40_000, 300) * MICROSECONDS,
    )


def test_measures_are_those_of_batching(table):
    """With gaps as percentiles that were observed, in seconds."""
    found, gaps = measure(table, 300 * MICROSECONDS), null_gaps(table)

    assert (found.events, found.actors, found.targets) == (300, table.actors, table.targets)
    assert (found.first, found.last, found.window) == (
        table.time.min(),
        table.time.max(),
        300 * MICROSECONDS,
    )
    assert found.batching == measure_batching(table, 300 * MICROSECONDS)
    assert found.different == close_actor_share(table, 300 * MICROSECONDS)
    for percent, gap in found.null_gaps_s.items():
        at_most = (gaps <= gap * MICROSECONDS).mean()
        below = (gaps < gap * MICROSECONDS).mean()
        assert below < percent / 100 <= at_most
    assert {found.null_curve_s[percent] for percent in found.null_gaps_s} == set(found.null_gaps_s.values())


def test_the_slow_rate_is_measured_on_small_tables_or_when_asked(table, monkeypatch):
    window = 300 * MICROSECONDS
    work = module._looks(table, window)
    monkeypatch.setattr(module, "MOST_LOOKS", work - 1)

    assert measure(table, window).different is None
    assert measure(table, window, different=True).different == close_actor_share(table, window)
    monkeypatch.setattr(module, "MOST_LOOKS", work)
    assert measure(table, window).different is not None
    assert measure(table, window, different=False).different is None


def test_a_reply_is_slower_by_its_own_delay():
    """Counted on one target, after somebody else; an act after one's own is no reply."""
    table = event_table(
        actor=["a", "b", "b", "c", "a"],
        target=[1, 1, 1, 1, 2],
        time=[0, 2_000_000, 3_000_000, 9_000_000, 1],
    )
    late = table.time + np.where(table.time == 9_000_000, 4_000_000, 0)

    assert reply_time(table, table.time) == (2 + 6) / 2
    assert reply_time(table, late) == (2 + 10) / 2
    assert reply_time(table.keep(table.target == 2), table.time[table.target == 2]) is None


@given(st.integers(0, 99))
def test_people_around_a_typical_act_are_those_of_its_stretch(seed):
    rng = np.random.default_rng(seed)
    table = event_table(actor=rng.integers(0, 6, 41), target=range(41), time=rng.integers(-90, 90, 41))
    stretch = table.time // 20
    people = sorted(len(set(table.actor[stretch == one].tolist())) for one in stretch)

    assert people_around(table, 20) == people[20]
