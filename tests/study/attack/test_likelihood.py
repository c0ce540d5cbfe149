"""The laws of a pair: exact where all can be listed, right in a replay, with the ratio of the theorem."""

from collections import Counter
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contracts.policies import policy_with
from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.history import History
from tarry.core.law import Law, Run
from tarry.core.laws import LAWS
from tarry.core.laws.zero_inflated import zero_inflated_pair
from tarry.core.mechanism import Mechanism
from tarry.core.plan_release import plan_release
from tarry.core.policy import Policy
from tarry.study.attack.likelihood import GapLaw, Masses, PairLaws, law_ticks, pair_laws, spread

NULLS = st.lists(st.integers(0, 60), min_size=1, max_size=12)
LABELLED = sorted(set(LAWS) - {"label-free"})


def policy_of(law, epsilon="4", gap="3s", **more):
    """A small policy with any of the shipped laws."""
    labels = {"labels": "none", "delta": "0.1"} if law == "label-free" else {"labels": "simultaneous"}
    return policy_with(law, **{"epsilon": epsilon, "gap": gap, **labels, **more})


def masses(law, cut):
    """The masses of a law as far as the attack takes them."""
    return {tick: mass for tick in range(law_ticks(law, cut)) if (mass := law.mass(tick))}


def enumerated(gaps, first, second):
    """The law of gap + second - first, by every combination of the three."""
    sums = Counter()
    for gap, chance in gaps.items():
        for a, p in first.items():
            for b, q in second.items():
                sums[gap + b - a] += chance * p * q
    return sums


def either_sign(sample):
    """The exact law of a sample with signs forgotten."""
    law = Counter()
    for gap in sample:
        for signed in (gap, -gap):
            law[signed] += Fraction(1, 2 * len(sample))
    return law


def mixed(one, other, share):
    """A mixture of two laws."""
    return Counter({k: (1 - share) * one.get(k, 0) + share * other.get(k, 0) for k in {*one, *other}})


def assert_same(found, reach, exact):
    """The masses found are the exact ones, zeros included."""
    wanted = [float(exact.get(d, 0)) for d in range(-reach, reach + 1)]
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=0)


@pytest.mark.parametrize("gaps", [("3s", "3s"), ("2s", "4s")])
@pytest.mark.parametrize("law", LAWS)
def test_the_laws_of_a_pair_are_those_of_a_full_enumeration(law, gaps):
    """Every combination of gap and two delays, in fractions, for one gap and for two."""
    in_batch, null, third = [0, 1, 1], [0, 2, 5, 9], Fraction(1, 4)
    first, second = (policy_of(law, gap=gap).mechanism() for gap in gaps)
    laws = pair_laws(
        first,
        None if gaps[0] == gaps[1] else second,
        in_batch=GapLaw.of_sample(in_batch),
        null=GapLaw.of_sample(null),
        third=float(third),
    )
    batched = [masses(each.pair.batched, 1e-9) for each in (first, second)]
    f1 = enumerated(either_sign(in_batch), *batched)
    unbatched = [masses(each.pair.unbatched, 1e-12) for each in (first, second)]
    through = [masses(each.pair.batched, 1e-12) for each in (first, second)]
    f0 = enumerated(
        either_sign(null), *(mixed(u, b, third) for u, b in zip(unbatched, through, strict=True))
    )

    assert laws.reach == max(abs(d) for d, mass in f1.items() if mass)
    assert_same(laws.f1, laws.reach, f1)
    assert_same(laws.f0, laws.reach, f0)


def test_in_follower_mode_the_earlier_of_a_pair_draws_unbatched():
    """The later event is batched, whichever of the two it is."""
    mechanism = policy_of("zero-inflated-uniform", labels="follower", window="2s").mechanism()
    u, b = masses(mechanism.pair.unbatched, 1), masses(mechanism.pair.batched, 1)
    laws = pair_laws(mechanism, in_batch=GapLaw.of_sample([2]), null=GapLaw.of_sample([9]), lone=(1.0, 0.0))

    exact = mixed(enumerated({2: 1}, u, b), enumerated({-2: 1}, b, u), Fraction(1, 2))
    assert_same(laws.f1, laws.reach, exact)


def replayed(policy, actors, targets, times):
    """Differences of releases of pairs of rows (0, 1), (2, 3), ..."""
    history = History(actor=actors, target=targets, time=times, unit=Fraction(1))
    release = plan_release(policy, history, Seeded(11)).release
    return release[1::2] - release[::2]


def assert_drawn_from(found, law, reach):
    """The largest distance between two cumulative laws is one that chance explains (1 in a million)."""
    counts = np.bincount(np.clip(found, -reach - 1, reach) + reach + 1, minlength=2 * reach + 2)
    distance = np.abs(np.cumsum(counts[1:]) / len(found) - np.cumsum(law)).max()

    assert distance <= np.sqrt(log(2e6) / (2 * len(found)))


@pytest.mark.parametrize("law", LABELLED)
def test_a_replay_draws_its_differences_from_these_laws(law):
    """Held labels, a window, two gaps: what `plan_release` does is what the attack computes."""
    rng, n = np.random.default_rng(5), 40_000
    policy = policy_with(law, epsilon="2", gap="40s", window="10s", target_gaps={"1": "90s"})
    targets, sign = np.tile([0, 1], n), rng.choice([-1, 1], n)
    inside, apart = rng.integers(0, 11, n), rng.integers(0, 300, n)
    laws = pair_laws(
        policy.mechanism(),
        policy.mechanism(Fraction(90)),
        in_batch=GapLaw.of_sample(inside),
        null=GapLaw.of_sample(apart),
        reach=2000,
    )
    for gaps, law_, actors in (
        (inside, laws.f1, np.repeat(np.arange(n), 2)),
        (apart, laws.f0, np.arange(2 * n)),
    ):
        times = np.stack((np.full(n, 1000), 1000 + sign * gaps), axis=1).ravel()
        assert_drawn_from(replayed(policy, actors, targets, times), law_, laws.reach)


@given(
    ratio=st.sampled_from([Fraction(2), Fraction(3, 2), Fraction(3), Fraction(5, 3)]),
    blocks=st.integers(1, 12),
    null=NULLS,
    third=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_the_cutoff_is_optimal_where_the_theorem_says_so(ratio, blocks, null, third):
    """Simultaneous batches, eta = 1 exactly, any null without order: the ratio falls with |d|."""
    start = blocks * (ratio.numerator - ratio.denominator)
    end = blocks * ratio.numerator
    pair = zero_inflated_pair(ratio, start, end)
    assert pair.eta == 1
    laws = pair_laws(Mechanism(pair=pair, hold=0), null=GapLaw.of_sample(null), third=third)
    right = laws.ratio[laws.reach :]

    assert laws.reach == end - start - 1
    assert (right[1:] <= right[:-1] * (1 + 1e-12)).all()
    for cutoff, ratio_here in enumerate(right):
        if third < 1 and np.isfinite(ratio_here):  # then it falls strictly: no plateau to take along
            assert laws.intervals_above(laws.threshold_at(cutoff)) == [(-cutoff, cutoff)]


@given(
    law=st.sampled_from(LABELLED),
    epsilon=st.sampled_from(["0.5", "1", "3"]),
    null=NULLS,
    third=st.floats(0, 0.9),
)
def test_no_ratio_exceeds_what_epsilon_and_the_null_allow(law, epsilon, null, third):
    """Power <= e^epsilon / P0 * type-I error holds for every test, so for each single difference."""
    policy, gaps = policy_of(law, epsilon=epsilon, gap="12s"), GapLaw.of_sample(null)
    chance = (1 - third) * gaps.within(12)
    assume(chance)
    laws = pair_laws(policy.mechanism(), null=gaps, third=third)

    assert laws.ratio.max() <= exp(float(policy.epsilon)) / chance * (1 + 1e-9)


def test_with_a_window_the_ratio_rises_before_it_falls():
    """Epsilon 1, g the median of an exponential null, all batches exactly a quarter of g wide."""
    g, width, tick = 2000, 500, log(2) / 2000
    edges = np.concatenate(([0], np.arange(40 / tick) + 0.5)) * tick
    laws = pair_laws(
        Policy(epsilon="1", gap=f"{g}s", window=f"{width}s", weight="1").mechanism(),
        in_batch=GapLaw.of_sample([width]),
        null=GapLaw.of_masses(-np.diff(np.exp(-edges))),
    )

    assert float(laws.ratio_at(0)) == pytest.approx(2.407, abs=1e-3)
    assert float(laws.ratio_at(width)) == pytest.approx(2.430, abs=1e-3)
    [_, (low, high)] = laws.intervals_above(laws.threshold_at(width // 2))
    assert low == width // 2
    assert high > width


def test_far_gaps_leave_a_null_whose_digits_are_right():
    """Where a difference is all but impossible without batching, its tiny chance is still exact."""
    pair = zero_inflated_pair(Fraction(2), 200, 400)
    null = GapLaw(distances=np.array([0, 5000]), masses=np.array([1e-25, 1.0]))
    laws = pair_laws(Mechanism(pair=pair, hold=0), null=null)
    triangle = (400 - np.abs(laws.differences)) / 400**2

    np.testing.assert_allclose(laws.f0, 1e-25 * triangle, rtol=1e-12)


def test_ratios_are_infinite_or_nothing_where_one_law_has_no_mass():
    """Only batched: infinite; only not batched, or neither: 0."""
    laws = PairLaws(f1=np.array([0.5, 0.5, 0, 0, 0]), f0=np.array([0, 0.25, 0.5, 0, 0.25]))

    assert laws.ratio.tolist() == [np.inf, 2, 0, 0, 0]
    assert laws.ratio_at(np.array([-9, -2, -1, 2, 3])).tolist() == [0, np.inf, 2, 0, 0]
    assert laws.intervals_above(np.inf) == [(-2, -2)]
    assert laws.threshold_at(1) == 2  # neither 1 nor anything further on that side is ever batched
    assert laws.intervals_above(2) == [(-2, -1)]


def test_a_threshold_can_cut_out_several_intervals():
    """Ratios that differ by rounding alone count as one."""
    f1 = np.array([0.1, 0.3, 0.1, 0.3 * (1 - 1e-12), 0.2])
    laws = PairLaws(f1=f1, f0=np.full(5, 0.2))

    assert laws.intervals_above(laws.threshold_at(1)) == [(-1, -1), (1, 1)]
    assert laws.intervals_above(1.0) == [(-1, -1), (1, 2)]
    assert laws.intervals_above(9.0) == []


def test_beyond_the_last_batched_difference_the_attack_flags_all_that_could_be_batched():
    """A longer cutoff gains nothing: the set stays what it is."""
    pair = zero_inflated_pair(Fraction(2), 5, 10)
    laws = pair_laws(Mechanism(pair=pair, hold=0), null=GapLaw.of_sample([0, 3]), reach=30)

    assert laws.reach == 30
    assert laws.intervals_above(laws.threshold_at(30)) == [(-4, 4)]
    assert laws.intervals_above(laws.threshold_at(10**9)) == [(-4, 4)]


def test_a_null_beyond_all_delays_leaves_every_difference_to_batches():
    """No unbatched pair comes that close: every ratio is infinite."""
    pair = zero_inflated_pair(Fraction(2), 5, 10)
    laws = pair_laws(Mechanism(pair=pair, hold=0), null=GapLaw.of_sample([10**12]))

    assert not laws.f0.any()
    assert laws.intervals_above(laws.threshold_at(0)) == [(-4, 4)]


def test_what_cannot_be_asked_gets_one_sentence():
    """Shares outside 0..1, thresholds of nothing, negative cutoffs, and laws of too many ticks."""
    mechanism, null = policy_of("uniform").mechanism(), GapLaw.of_sample([1])
    laws = pair_laws(mechanism, null=null)

    with pytest.raises(BadInput, match="must lie between 0 and 1"):
        pair_laws(mechanism, null=null, third=1.5)
    with pytest.raises(BadInput, match="must be above 0"):
        laws.intervals_above(0.0)
    with pytest.raises(BadInput, match="a cutoff must be at least 0"):
        laws.threshold_at(-1)
    with pytest.raises(NotPossible, match="choose a longer tick"):
        pair_laws(policy_of("uniform", gap="100d").mechanism(), null=null)
    with pytest.raises(NotPossible, match="choose a longer tick"):
        pair_laws(mechanism, null=null, reach=1 << 40)


RUNS = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), max_size=4)


@st.composite
def laws(draw):
    """Any head, with or without an endless tail, scaled so that all masses sum to 1."""
    head = [Run(length, Fraction(mass)) for length, mass in draw(RUNS)]
    period = [Run(length, Fraction(mass)) for length, mass in draw(RUNS)]
    ratio = Fraction(draw(st.integers(11, 40)), 10) if any(run.mass for run in period) else Fraction(1)
    period = period if ratio > 1 else []
    total = sum(run.total for run in head)
    total += sum(run.total for run in period) * ratio / (ratio - 1) if period else 0
    if not total:
        return Law.of_masses([0, 1])
    scale = [tuple(Run(run.length, run.mass / total) for run in runs) for runs in (head, period)]
    return Law(*scale, ratio)


@given(laws(), st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(-50, 50))
def test_a_delay_is_added_tick_by_tick(law, values, low):
    """Doubling gives what the plain convolution with the law's masses gives."""
    values = np.array(values, dtype=float)
    dense = [float(law.mass(tick)) for tick in range(law_ticks(law, 1e-6))]
    later = spread(Masses(low=low, values=values), law, 1e-6)

    assert later.low == low
    np.testing.assert_allclose(later.values, np.convolve(values, dense), rtol=1e-12, atol=1e-300)


@given(laws(), st.sampled_from([1e-3, 1e-9]))
def test_a_law_is_cut_at_the_first_period_that_leaves_little_enough(law, cut):
    """At most the cut is dropped, and one period less would have dropped more; a law that ends is whole."""
    ticks = law_ticks(law, cut)
    left = 1 - law.cumulative(ticks - 1)

    assert left <= cut * (1 + 1e-6)
    if law.period and ticks > law.tail_start + law.period_length:
        assert left * law.ratio > cut * (1 - 1e-6)
    if not law.period:
        assert left == 0


def test_small_masses_keep_their_digits_beside_large_ones():
    """A sum of 1e-30 a thousand ticks from a mass of 1 is exact, and nothing is left over elsewhere."""
    values = np.zeros(5000)
    values[0], values[4000] = 1.0, 1e-30
    run = Law((Run(1000, Fraction(1, 1000)),))

    later = spread(Masses(low=0, values=values), run, 1e-9).values

    assert later[4000:5000].tolist() == pytest.approx([1e-33] * 1000, rel=1e-12)
    assert not later[1000:4000].any()


@given(st.lists(st.integers(-20, 20), min_size=1), st.integers(0, 25))
def test_a_sample_of_gaps_loses_its_signs_and_nothing_else(sample, limit):
    """Either sign is as likely; gaps beyond the limit are left out."""
    law = GapLaw.of_sample(sample)
    either, forward = law.either(limit), law.forward(limit)

    for gap in range(-limit, limit + 1):
        share = sum(abs(each) == abs(gap) for each in sample) / len(sample)
        assert either.within(limit)[gap + limit] == pytest.approx(share / (2 if gap else 1))
        assert forward.within(limit)[gap + limit] == pytest.approx(share if gap >= 0 else 0)
    assert law.within(limit) == pytest.approx(float(forward.values.sum()))
    assert law.farthest == max(map(abs, sample))


def test_masses_outside_the_window_are_dropped():
    """A window shorter than the masses, apart from them, or wider."""
    masses = Masses(low=-1, values=np.array([0.0, 0.25, 0.75]))

    assert masses.within(0).tolist() == [0.25]
    assert masses.within(2).tolist() == [0, 0, 0.25, 0.75, 0]
    assert Masses(low=5, values=np.ones(1)).within(2).tolist() == [0] * 5
    assert masses.farthest == 1
    assert masses.mirrored().within(1).tolist() == [0.75, 0.25, 0]


@pytest.mark.parametrize("sample", [[], [0.5]])
def test_what_is_no_sample_of_gaps_is_refused(sample):
    """Empty, or not whole ticks."""
    with pytest.raises(BadInput, match="a sample of gaps must hold whole ticks"):
        GapLaw.of_sample(sample)


@pytest.mark.parametrize(
    ("distances", "masses", "what"),
    [
        ([], [], "must have a mass for each distance"),
        ([0], [0.5, 0.5], "must have a mass for each distance"),
        ([0, 1], [0.9, 0.2], "the masses of a law of gaps"),
        ([0, 1], [-0.1, 0.2], "the masses of a law of gaps"),
        ([0, 1], [0.0, 0.0], "the masses of a law of gaps"),
        ([0, 1], [0.5, float("nan")], "the masses of a law of gaps"),
        ([3, 1], [0.5, 0.5], "the distances of a law of gaps"),
        ([-1, 1], [0.5, 0.5], "the distances of a law of gaps"),
    ],
)
def test_what_is_no_law_of_gaps_is_refused(distances, masses, what):
    """Empty, negative, unsorted, nothing at all or more than everything."""
    with pytest.raises(BadInput, match=what):
        GapLaw(distances=np.array(distances), masses=np.array(masses))
