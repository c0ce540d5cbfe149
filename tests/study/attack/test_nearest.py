"""The nearest-event test: exact counts on any small table, and the bound under the paper's assumptions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.plan_release import plan_release
from tarry.core.policy import Policy
from tarry.study.attack.nearest import nearest_bound, nearest_mass, nearest_test
from tarry.study.score import Counts

TIMES = st.integers(-8, 8)
ROWS = st.lists(st.tuples(TIMES, TIMES, st.integers(0, 2), st.integers(0, 5), st.booleans()), max_size=14)


def columns(rows):
    """Observed, arrival, actor, target, label; targets 0 and 1 are own, 2 to 4 watched, 5 neither."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    observed, arrival, actor, target, label = table.T
    return observed, arrival, actor, target, label.astype(bool), target < 2, (target >= 2) & (target < 5)


def totals(counts):
    """How many own events are batched, and how many are not."""
    return (
        counts.true_positives + counts.false_negatives,
        counts.false_positives + counts.true_negatives,
    )


def batched_rows(rows, window):
    """For each own row whether its actor acts on a watched target within the window, by a loop."""
    return {
        i: any(a == actor and 2 <= t < 5 and abs(at - arrival) <= window for _, at, a, t, _ in rows)
        for i, (_, arrival, actor, target, _) in enumerate(rows)
        if target < 2
    }


@given(ROWS, st.integers(0, 6), st.lists(st.integers(0, 9), max_size=4))
def test_every_count_is_that_of_a_loop_over_all_events(rows, window, cutoffs):
    """Ties, empty sets and cutoffs in any order included."""
    observed, arrival, actor, target, _, own, watched = columns(rows)
    truth = batched_rows(rows, window)
    found = nearest_test(
        observed, arrival, actor, target, own=own, watched=watched, window_us=window, cutoffs_us=cutoffs
    )

    assert [score.cutoff for score in found] == cutoffs
    for score in found:
        near = {
            i: any(2 <= t < 5 and abs(seen - rows[i][0]) <= score.cutoff for seen, _, _, t, _ in rows)
            for i in truth
        }
        batched, others = totals(score.counts)
        assert batched == sum(truth.values())
        assert others == len(truth) - batched
        assert score.counts.true_positives == sum(near[i] for i in truth if truth[i])
        assert score.counts.false_positives == sum(near[i] for i in truth if not truth[i])


@given(ROWS, st.integers(0, 6), st.integers(0, 9))
def test_the_chance_of_the_bound_is_that_of_a_loop_over_all_events(rows, window, gap):
    """Unbatched own events whose nearest watched arrival lies within the gap, the later one labelled so."""
    _, arrival, actor, target, label, own, watched = columns(rows)
    rest = [i for i, truth in batched_rows(rows, window).items() if not truth]
    hits = 0
    for i in rest:
        others = [(at - rows[i][1], flag) for _, at, _, t, flag in rows if 2 <= t < 5]
        nearest = min((abs(step) for step, _ in others), default=gap + 1)
        pairs = [(step, flag) for step, flag in others if abs(step) == nearest]
        own_free = any(step <= 0 for step, _ in pairs) and not rows[i][4]
        hits += nearest <= gap and (own_free or any(step >= 0 and not flag for step, flag in pairs))

    found = nearest_mass(
        arrival, actor, target, label, own=own, watched=watched, window_us=window, gap_us=gap
    )
    assert found == (Fraction(hits, len(rest)) if rest else 0)


def experiment(pairs, seed):
    """Pairs far from each other: half simultaneous by one actor, half apart by an exponential gap.

    Nobody else is about, so the nearest watched event is the other one of the pair: the paper's
    assumptions to the letter.
    """
    rng = np.random.default_rng(seed)
    together = np.arange(pairs) % 2 == 0
    gap = np.where(together, 0, rng.exponential(600, pairs).round()) * rng.choice([-1, 1], pairs)
    start = 10**7 * np.arange(pairs)
    actor = np.stack((np.arange(pairs), np.where(together, 0, pairs) + np.arange(pairs)), axis=1).ravel()
    time = np.stack((start, start + gap.astype(np.int64)), axis=1).ravel()
    return History(actor=actor, target=np.tile([0, 1], pairs), time=time, unit=Fraction(1))


def scored(history, release, cutoffs):
    """The test on the first event of each pair, times in seconds as if they were microseconds."""
    own = history.targets == 0
    return nearest_test(
        release, history.times, history.actor_ids, history.target_ids,
        own=own, watched=~own, window_us=0, cutoffs_us=cutoffs,
    )  # fmt: skip


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
def test_the_power_of_the_test_stays_below_its_bound(epsilon):
    """Under the paper's assumptions, with the gap at the median; and the bound says something there."""
    history = experiment(60_000, seed=3)
    policy = Policy(epsilon=epsilon, gap="416s", labels="simultaneous", weight="1")
    plan = plan_release(policy, history, Seeded(8))
    own = history.targets == 0
    mass = nearest_mass(
        history.times, history.actor_ids, history.target_ids, plan.batched,
        own=own, watched=~own, window_us=0, gap_us=416,
    )  # fmt: skip
    assert float(mass) == pytest.approx(0.5, abs=0.02)

    scores = scored(history, plan.release, [20, 60, 120, 240, 480])
    for score in scores:
        power, type_one = score.counts.recall, score.counts.false_positive_rate
        bound, (batched, others) = nearest_bound(score.counts, epsilon, mass), totals(score.counts)
        noise = np.sqrt(0.25 / batched + (bound / type_one) ** 2 * type_one / others)
        assert type_one < power <= bound + 5 * noise
        assert power > 0.5 * bound  # within a factor of two of the truth
    assert nearest_bound(scores[0].counts, epsilon, mass) < 0.2


def test_without_delays_the_test_breaks_the_bound():
    """What the bound forbids is what happens to events that are shown as they arrive."""
    history = experiment(2_000, seed=3)
    [score] = scored(history, history.times, [20])

    assert score.counts.recall == 1.0
    assert nearest_bound(score.counts, "1", Fraction(1, 2)) < 0.3


def test_shares_of_nothing_are_not_numbers():
    """Without events of a kind there is no share, and without a null no bound."""
    nothing = Counts(true_positives=0, false_positives=0, false_negatives=0, true_negatives=0)
    some = Counts(true_positives=0, false_positives=0, false_negatives=1, true_negatives=9)

    assert nothing.recall is None
    assert nothing.false_positive_rate is None
    assert nearest_bound(nothing, 1, Fraction(1, 2)) == 1.0
    assert nearest_bound(some, 1, Fraction(0)) == 1


def test_a_larger_batch_is_bounded_with_more_flips():
    """Every further label that flips costs half of epsilon."""
    counts = Counts(true_positives=0, false_positives=1, false_negatives=9, true_negatives=999)
    once = nearest_bound(counts, 2, Fraction(1, 2))

    assert nearest_bound(counts, 2, Fraction(1, 2), flips=2) == pytest.approx(once * np.e)


def test_times_are_exact_to_the_microsecond():
    """Present-day times in microseconds, one apart."""
    now = 1_790_000_000_000_000
    at, actor, target = np.array([now, now + 1]), np.array([1, 1]), np.array([0, 1])
    own = target == 0
    found = nearest_test(at, at, actor, target, own=own, watched=~own, window_us=1, cutoffs_us=[0, 1])

    assert [score.counts.true_positives for score in found] == [0, 1]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"watched": np.array([True, True])}, "1 targets are both the observer's own and watched"),
        ({"window_us": -1}, "must be at least 0"),
        ({"cutoffs_us": [3, -2]}, "not -2 microseconds"),
        ({"own": np.array([True])}, "same number of rows"),
    ],
)
def test_what_cannot_be_tested_gets_one_sentence(change, rule):
    """Targets on both sides, negative lengths, columns of different length."""
    column = np.array([0, 1])
    settings = {"own": column == 0, "watched": column == 1, "window_us": 0, "cutoffs_us": [1]}

    with pytest.raises(BadInput, match=rule):
        nearest_test(column, column, column, column, **{**settings, **change})
