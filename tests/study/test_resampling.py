"""Samples of people that everybody draws alone: Poisson's shares, and intervals as wide as they were."""

from math import exp, factorial

import numpy as np

from tarry.study.pairs import later_within
from tarry.study.person import own_pairs, right_interval
from tarry.study.resampling import Resample, interval_over, person_keys, times_drawn
from tarry.study.table import event_table

MINUTE = 60_000_000


def crowd(seed, people=80):
    """People who act in twos, some much more often than others."""
    chance = np.random.default_rng(seed)
    pairs = chance.geometric(0.2, people)
    actor = np.repeat(np.arange(people), 2 * pairs)
    start = np.repeat(chance.integers(0, 20_000, int(pairs.sum())), 2)
    time = (start + chance.integers(0, 60, len(start))) * 1_000_000
    return event_table(actor=actor, target=np.arange(len(actor)), time=time)


def drawn_together(table, cutoff, samples=400, seed=1):
    """The interval with people drawn with replacement, all at once: what is nearly drawn here."""
    seen, chance, shares = table.time, np.random.default_rng(seed), []
    own = own_pairs(table, seen, cutoff)
    orders = [later_within(groups, seen, cutoff) for groups in (np.zeros_like(seen), table.target_rank)]
    for _ in range(samples):
        times = chance.multinomial(table.actors, np.full(table.actors, 1 / table.actors))
        pairs = []
        for order, ends in orders:
            sums = np.concatenate(([0], np.cumsum(times[table.actor_rank[order]])))
            pairs.append(int((times[table.actor_rank[order]] * (sums[ends] - sums[1:])).sum()))
        claims = pairs[0] - pairs[1] - int(((times * times - times) * own).sum())
        shares.append(int((times * own).sum()) / claims)
    return np.quantile(shares, [0.025, 0.975])


def test_people_are_drawn_as_often_as_poisson_says():
    """Each share is within six standard errors: wrong once in 10^8 runs, were the draws not fixed."""
    people, samples = 20_000, 10
    drawn = np.concatenate([times_drawn(person_keys(np.arange(people)), one) for one in range(samples)])
    for times in range(8):
        share = exp(-1) / factorial(times)
        error = 6 * (share * (1 - share) / len(drawn)) ** 0.5
        assert abs((drawn == times).mean() - share) < error, times
    assert abs(drawn.mean() - 1) < 6 / len(drawn) ** 0.5


def test_samples_and_people_have_nothing_to_do_with_each_other():
    """No sample tells another, and no person the next one: correlations within six standard errors."""
    keys = person_keys(np.arange(20_000))
    one, other = times_drawn(keys, 0), times_drawn(keys, 1)

    assert abs(np.corrcoef(one, other)[0, 1]) < 6 / len(keys) ** 0.5
    assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 6 / len(keys) ** 0.5
    assert (times_drawn(keys, 0, seed=1) != one).any()


def test_whoever_else_there_is_a_person_is_drawn_alike():
    """So a part of a history, in any order, draws what the whole does."""
    people = np.array([5, -3, 1 << 62])

    assert times_drawn(person_keys(people[::-1]), 3)[::-1].tolist() == [
        int(times_drawn(person_keys(people[[place]]), 3)[0]) for place in range(3)
    ]


def test_an_interval_is_as_wide_as_with_people_drawn_together():
    """Over ten crowds of 80 people: widths within a tenth on average, and middles close to each other."""
    ratios, apart = [], []
    for seed in range(10):
        table = crowd(seed)
        low, high = right_interval(table, table.time, MINUTE, samples=400)
        before = drawn_together(table, MINUTE)
        ratios.append((high - low) / (before[1] - before[0]))
        apart.append(abs((low + high) - before.sum()) / (before[1] - before[0]) / 2)

    assert 0.9 < np.mean(ratios) < 1.1
    assert max(apart) < 0.15


def test_a_sample_of_more_people_does_not_look_more_crowded():
    """Twice as many people have twice the right claims and four times the claims about two."""
    assert Resample(people=20, right=10, inside=10, claims=50).share(10) == 10 / 30
    assert interval_over([Resample(people=0, right=0, inside=0, claims=0)] * 40, 10) is None
