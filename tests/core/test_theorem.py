"""Theorem 1'': over all small streams by brute force, and over large random ones with the real labels."""

from fractions import Fraction
from math import isclose

import numpy as np
import pytest

from tarry.core.exact import ratio_below
from tarry.core.history import History
from tarry.core.labels import label_events
from tarry.core.laws.zero_inflated import support_end, zero_inflated_pair
from tarry.core.verify import DelayRule, Size, moves, paired, search
from tarry.core.verify.streams import Act, Neighbour, all_streams

SHARE = Fraction(1, 2)
RATIO = ratio_below(SHARE)


def laws(start):
    return zero_inflated_pair(RATIO, start, support_end(RATIO, start, Fraction(1)))


@pytest.mark.parametrize(("window", "reach"), [(0, 1), (0, 2), (1, 2), (1, 3)])
def test_all_small_streams_keep_the_bound(window, reach):
    """No stream of up to three acts is told from any delayed or reassigned one by more than R^n."""
    size = Size(events=3, span=window + 1, moved=3)
    rule = DelayRule(pair=laws(reach), labels=paired(window), hold=window)
    verdict = search(rule, moves(paired(window), reach, size), SHARE, size)

    assert verdict.holds
    assert verdict.margin < 1e-8  # and some stream reaches it: the bound is tight


def test_four_acts_keep_the_bound():
    """Bridges, twins and bursts of four acts keep it too, two of them moved at once."""
    size = Size(events=4, span=1, moved=2)
    rule = DelayRule(pair=laws(2), labels=paired(1), hold=1)

    assert search(rule, moves(paired(1), 2, size), SHARE, size).holds


def test_labels_are_only_ever_lost():
    """In every neighbour the differing labels are batched in the true stream and unbatched in the other."""
    size = Size(events=3, span=2, moved=3)
    labels, seen = paired(1), 0
    for stream in all_streams(size):
        before = labels(stream)
        for other, cost in moves(labels, 3, size)(stream):
            after = labels(other)
            seen += 1

            assert all(b or not a for b, a in zip(before, after, strict=True))
            assert cost == sum(b != a for b, a in zip(before, after, strict=True))
    assert seen > 10_000


def _random_stream(rng, events, span, actors, targets):
    return {
        "actor": rng.integers(0, actors, events),
        "target": rng.integers(0, targets, events),
        "time": rng.integers(0, span, events),
    }


def _labels(columns, window):
    history = History(**columns, unit=Fraction(1))
    return label_events("held", history, history.times, window)


def _dissolve(rng, columns, window, reach, tries=40):
    """Another stream of the theorem: some batched acts later or someone else's, all unbatched there."""
    before = _labels(columns, window)
    moved = np.flatnonzero(before)
    if not moved.size:
        return None
    moved = rng.choice(moved, size=rng.integers(1, min(12, moved.size) + 1), replace=False)
    for _ in range(tries):
        other = {name: column.copy() for name, column in columns.items()}
        other["time"][moved] += rng.integers(0, reach + 1, moved.size)
        strangers = rng.random(moved.size) < 0.7
        other["actor"][moved[strangers]] = 10_000 + rng.integers(0, 50, strangers.sum())
        if not _labels(other, window)[moved].any():
            return other
    return None


@pytest.mark.parametrize("seed", range(6))
def test_large_random_streams_keep_the_bound(seed):
    """With the real labels on hundreds of acts, each act pays nothing or loses its label for one share."""
    rng = np.random.default_rng(seed)
    window, reach = 5, 17
    pair = laws(reach)
    worst = {shift: _largest_ratio(pair.batched, pair.unbatched, shift) for shift in range(reach + 1)}
    checked = 0
    for _ in range(60):
        columns = _random_stream(rng, 400, 900, 40, 12)
        other = _dissolve(rng, columns, window, reach)
        if other is None:
            continue
        before, after = _labels(columns, window), _labels(other, window)
        shift = other["time"] - columns["time"]
        ratio, lost = Fraction(1), 0
        for b, a, by in zip(before.tolist(), after.tolist(), shift.tolist(), strict=True):
            if (b, a) == (True, False):
                ratio *= worst[by]
                lost += 1
            else:
                assert (a, by) == (b, 0)  # nothing else may differ: a lone act's shift has no bound

        assert lost == before.sum() - after.sum()
        assert ratio <= RATIO**lost
        checked += 1
    assert checked >= 20


def _largest_ratio(batched, unbatched, shift):
    return max(
        batched.mass(k) / unbatched.mass(k - shift) for k in range(batched.minimum, batched.maximum + 1)
    )


def test_the_ledger_is_the_theorem_for_all_batched_acts():
    """Dissolving two pairs of one actor costs four shares, not fewer: it adds up without a discount."""
    stream = (Act(0, 0, 0), Act(0, 0, 1), Act(9, 0, 0), Act(9, 0, 1))
    apart = (Act(0, 0, 0), Act(2, 0, 1), Act(9, 0, 0), Act(11, 0, 1))
    rule, size = DelayRule(pair=laws(2), labels=paired(0)), Size()

    def told(cost):
        return search(rule, lambda _: iter([Neighbour(apart, cost)]), SHARE, size, streams=[stream])

    assert told(4).holds
    assert told(4).margin < 1e-8
    assert isclose(told(3).witness.ratio, RATIO**4)
