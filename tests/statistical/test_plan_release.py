"""Released minus arrival follows the exact laws, over many draws.

Error rate: a correct program fails any one of these tests with a chance of at most `ERROR_RATE` (by the
inequalities of Dvoretzky, Kiefer, Wolfowitz and Massart, and of Hoeffding); seeded tests do not even change
from run to run. Power: a law at a distance of `2 * BOUND` or more is let through with no larger chance, and
the mutants below are shown to lie that far away.
"""

from fractions import Fraction
from itertools import accumulate
from math import log, sqrt

import numpy as np
import pytest

from contracts.policies import policy_with
from tarry.core.entropy import Secure, Seeded
from tarry.core.history import History
from tarry.core.plan_release import plan_release

ERROR_RATE = 1e-9
DRAWS = 60_000
BOUND = sqrt(log(2 / ERROR_RATE) / (2 * DRAWS))
LAWS = ("zero-inflated-uniform", "uniform", "exponential", "staircase", "cosine")
OTHER = {"cosine": {"order": "0.5"}}  # and not 2: this law has no epsilon of its own
LABELS = (True, False)


def policy_of(law, **more):
    """A policy with a hold, small enough for every tick to be drawn often."""
    return policy_with(law, **{"epsilon": "2", "gap": "40s", "window": "10s", "weight": "0.25", **more})


def label_free(**more):
    """The same for a law without labels."""
    return policy_of("label-free", **{"labels": "none", "window": "0s", "delta": "0.05", **more})


def pairs(*, batched):
    """As many actors as draws, acting on two targets: within the window, or far apart."""
    actor = np.repeat(np.arange(DRAWS), 2)
    target = np.tile([0, 1], DRAWS)
    return History(actor=actor, target=target, time=target * (3 if batched else 300) * 1_000_000)


def waits(policy, entropy, *, batched):
    """Delays after the hold: a row for each actor, a column for each of their events."""
    releases = plan_release(policy, pairs(batched=batched), entropy)
    assert policy.labels == "none" or (releases.batched == batched).all()
    return (releases.release - releases.arrival - policy.hold_ticks).reshape(DRAWS, 2)


def law_of(policy, *, batched):
    """The exact law of these delays."""
    pair = policy.mechanism().pair
    return pair.batched if batched else pair.unbatched


def cumulative(law, end):
    """The law's chance of at most 0, 1, ... end - 1 ticks, in floats: good to far less than the bound."""
    terms = (law.term(k) for k in range(end))
    return np.array(list(accumulate(float(t.coefficient) * float(t.ratio) ** -t.periods for t in terms)))


def distance(sample, law):
    """The largest difference between the sample's cumulative shares and the law's."""
    end = int(sample.max()) + 1
    shares = np.cumsum(np.bincount(sample, minlength=end)) / len(sample)
    return np.abs(shares - cumulative(law, end)).max()


def apart(law, other):
    """The largest difference between two laws' cumulative chances."""
    end = 2000
    return np.abs(cumulative(law, end) - cumulative(other, end)).max()


@pytest.mark.parametrize("batched", LABELS, ids=["batched", "unbatched"])
@pytest.mark.parametrize("law", LAWS)
def test_delays_follow_the_exact_law(law, batched):
    """Seeded delays of batched and of unbatched events have the law of their label, for every law."""
    policy = policy_of(law)
    sample = waits(policy, Seeded(11), batched=batched)[:, 0]

    assert distance(sample, law_of(policy, batched=batched)) < BOUND


@pytest.mark.parametrize("batched", LABELS, ids=["together", "apart"])
def test_label_free_delays_follow_one_law(batched):
    """Without labels every event has the same law, in company or alone."""
    sample = waits(label_free(), Seeded(11), batched=batched)[:, 0]

    assert distance(sample, law_of(label_free(), batched=batched)) < BOUND


@pytest.mark.parametrize("batched", LABELS, ids=["batched", "unbatched"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.needs_real_draws("this test is about how they are spread")
def test_secure_delays_follow_the_exact_law(law, batched):
    """Delays from the secure source have the same laws."""
    policy = policy_of(law)
    sample = waits(policy, Secure(), batched=batched)[:, 0]

    assert distance(sample, law_of(policy, batched=batched)) < BOUND


@pytest.mark.parametrize("batched", LABELS, ids=["batched", "unbatched"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("change", ["epsilon", "gap"])
def test_delays_of_a_slightly_different_policy_are_told_apart(law, batched, change):
    """The same test rejects delays drawn with an epsilon or a gap some 15 percent off, or another order."""
    right = law_of(policy_of(law), batched=batched)
    wrong = policy_of(law, **({"gap": "46s"} if change == "gap" else OTHER.get(law, {"epsilon": "1.7"})))
    sample = waits(wrong, Seeded(11), batched=batched)[:, 0]

    assert apart(right, law_of(wrong, batched=batched)) > 2 * BOUND
    assert distance(sample, right) > BOUND


@pytest.mark.parametrize("law", LAWS)
def test_delays_of_the_other_label_are_told_apart(law):
    """The same test rejects delays drawn under the wrong label."""
    policy = policy_of(law)
    right, wrong = law_of(policy, batched=True), law_of(policy, batched=False)

    assert apart(right, wrong) > 2 * BOUND
    assert distance(waits(policy, Seeded(11), batched=False)[:, 0], right) > BOUND


def test_a_capped_delay_is_told_apart():
    """The same test rejects delays cut off a tenth before their end."""
    policy = policy_of("zero-inflated-uniform")
    sample = waits(policy, Seeded(11), batched=True)[:, 0]
    capped = np.minimum(sample, int(sample.max() - (sample.max() - sample.min()) * 0.1))

    assert distance(capped, law_of(policy, batched=True)) > BOUND


def both_short(first, second, law):
    """How far the share of "both at most the median" is from that of independent delays."""
    median = law.quantile(Fraction(1, 2))
    return abs(((first <= median) & (second <= median)).mean() - float(law.cumulative(median)) ** 2)


@pytest.mark.parametrize("law", LAWS)
def test_members_of_a_batch_wait_independently(law):
    """The delays of two batched events have nothing to do with each other."""
    policy = policy_of(law)
    first, second = waits(policy, Seeded(12), batched=True).T
    exact = law_of(policy, batched=True)

    assert both_short(first, second, exact) < BOUND
    assert both_short(first, first, exact) > 2 * BOUND  # power: one draw for both is found


def test_repeated_simulations_are_independent():
    """The same event waits independently in another draw of the same seed."""
    policy = policy_of("zero-inflated-uniform")
    first, second = (waits(policy, Seeded(12, draw=i), batched=True)[:, 0] for i in (0, 1))

    assert both_short(first, second, law_of(policy, batched=True)) < BOUND


def patterns(places):
    """How often each order of three occurs."""
    order = places.argsort(axis=1)
    return np.bincount((order * [9, 3, 1]).sum(axis=1), minlength=27)[[5, 7, 11, 15, 19, 21]] / len(places)


@pytest.mark.parametrize("entropy", [Seeded(13), Secure()], ids=["seeded", "secure"])
def test_every_order_inside_a_tick_is_equally_likely(entropy):
    """Three events that leave in one tick come out in each of the six orders equally often."""
    history = History(
        actor=np.arange(3 * DRAWS), target=np.tile([0, 1, 2], DRAWS), time=np.zeros(3 * DRAWS, int)
    )
    policy = policy_of("zero-inflated-uniform", deadline_at=Fraction(0))
    places = plan_release(policy, history, entropy).shuffle.reshape(DRAWS, 3)

    assert np.abs(patterns(places) - 1 / 6).max() < sqrt(log(2 * 6 / ERROR_RATE) / (2 * DRAWS))
    assert np.abs(patterns(np.sort(places)) - 1 / 6).max() > 2 * BOUND  # power: order of arrival is found


def test_the_order_inside_a_tick_tells_nothing_of_the_label():
    """Batched and unbatched events are equally often among the first half of a tick."""
    policy = policy_of("zero-inflated-uniform")
    releases = plan_release(policy, pairs(batched=True), Seeded(14))
    alone = plan_release(policy, pairs(batched=False), Seeded(14))
    early = [(r.shuffle.reshape(DRAWS, 2)[:, 0] < 1 << 61).mean() for r in (releases, alone)]

    assert np.abs(np.array(early) - 1 / 2).max() < BOUND
