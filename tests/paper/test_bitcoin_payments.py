"""Two made-up weeks: the printed statistics, and nothing but the seed."""

import numpy as np
import pytest

from tarry.core.labels import partner_distance
from tarry.paper.bitcoin_payments import DAY, WEEK, WINDOW, make_weeks, with_history
from tarry.study.table import event_table


@pytest.fixture(scope="module")
def weeks():
    return make_weeks(12_500, seed=0)


def batched(table):
    return np.minimum(*partner_distance(table.history, table.time)) <= WINDOW


def test_the_weeks_have_the_printed_statistics(weeks):
    """Section on Bitcoin: 1.2 % batched; > 90 % of the others without history, about 80 % of these with."""
    second = weeks.time >= weeks.time.min() + WEEK
    together, known = batched(weeks), with_history(weeks)

    assert together[second].mean() == pytest.approx(0.012, abs=0.001)
    assert 1 - known[second & ~together].mean() > 0.9
    assert known[second & together].mean() == pytest.approx(0.8, abs=0.05)


def test_the_weeks_are_two_and_full(weeks):
    """As many payments a day as asked for, in whole seconds, from addresses of their own."""
    assert len(weeks) == 14 * 12_500
    assert np.ptp(weeks.time) < 14 * DAY
    assert not (weeks.time % 1_000_000).any()
    assert weeks.targets == len(weeks)


def test_recipients_have_a_long_tail(weeks):
    """Nearly all addresses are paid once; the busiest hundred get most of the rest."""
    paid = np.sort(np.bincount(weeks.actor_rank))

    assert (paid == 1).mean() > 0.95
    assert paid[-100:].sum() > 0.5 * paid[paid > 2].sum()


def test_the_same_seed_gives_the_same_weeks():
    """And another seed others."""
    one, again, other = (make_weeks(300, seed) for seed in (1, 1, 2))

    assert np.array_equal(one.time, again.time)
    assert np.array_equal(one.actor, again.actor)
    assert not np.array_equal(one.time, other.time)


def test_a_batch_alone_is_no_history():
    """Members of a batch are not each other's past; a payment after it has one."""
    at = [0, WINDOW // 2, WINDOW * 5]
    table = event_table(actor=["a"] * 3, target=[1, 2, 3], time=at)

    assert with_history(table).tolist() == [False, False, True]
