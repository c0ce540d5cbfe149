"""The likelihood attack on a history: its sets of differences are counted as by a loop over every pair."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contracts.pair_loop import loop_counts, within
from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.plan_release import label_history
from tarry.core.policy import Policy
from tarry.study.attack import Observed, Truth
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.attack.difference import difference_attack
from tarry.study.attack.likelihood import GapLaw, pair_laws
from tarry.study.baselines import baseline
from tarry.study.batching import in_batch_gaps, null_gaps
from tarry.study.practice import MICROSECONDS, observer
from tarry.study.replay import replay
from tarry.study.table import event_table

CUTOFFS = [60, 0, 5, 5, 41, 300, 99_999]
HELD = Policy(epsilon="1", gap="40s", window="10s")
POLICIES = {
    "held": HELD,
    "small eta": Policy(epsilon="4", gap="20s", window="10s", tick="2s", weight="0.1"),
    "simultaneous": Policy(epsilon="1", gap="40s", labels="simultaneous"),
    "follower": Policy(epsilon="2", gap="40s", window="10s", labels="follower"),
    "two gaps": Policy(epsilon="1", gap="40s", window="10s", target_gaps={"1": "90s", "4": "90s"}),
    "three gaps": Policy(
        epsilon="3", gap="40s", labels="follower", window="10s", target_gaps={"0": "15s", "5": "2m"}
    ),
}


def busy(seed=0, size=60, start=0):
    """A rush of few people on six targets."""
    rng = np.random.default_rng(seed)
    return event_table(
        actor=rng.integers(0, 5, size),
        target=rng.integers(0, 6, size),
        time=(start + rng.integers(0, 200, size)) * MICROSECONDS,
    )


def observed_of(table, policy, window=10, watcher="notified"):
    """What an observer saw of a policy."""
    practice = replay(policy)
    seen = observer(watcher).see(practice.show(table.history, Seeded(5)))
    return Observed(truth=Truth(table=table, window=window * MICROSECONDS), practice=practice, seen=seen)


def claim_of(observed, policy, cutoff, *, neighbours):
    """Whether a pair's difference is at least as telling as the cutoff, from the laws themselves."""
    tick, table = int(policy.tick * MICROSECONDS), observed.truth.table
    samples = (null_gaps(table), in_batch_gaps(table, observed.truth.window))
    null, inside = (GapLaw.of_sample(-(-gaps // tick)) for gaps in samples)
    if not neighbours:  # any gap at all, before or after: one of size 0, two of every other
        null = GapLaw.of_masses([1 / 8001] + [2 / 8001] * 4000)

    labels = label_history(policy, table.history).batched
    linked = [
        (i, j)
        for j in range(len(table))
        for i in range(j)
        if table.actor[i] == table.actor[j]
        and table.target[i] != table.target[j]
        and table.time[j] - table.time[i] <= observed.truth.window
    ]
    lone = tuple(float(np.mean([not labels[pair[side]] for pair in linked])) for side in (0, 1))

    def law(first, second):
        both = [policy.mechanism(gap) for gap in (first, second)]
        other = None if first == second else both[1]
        return pair_laws(both[0], other, null=null, in_batch=inside, lone=lone, reach=400)

    gaps = {target: policy.target_gaps.get(str(target), policy.gap) for target in range(6)}
    laws = {pair: law(*pair) for pair in product(set(gaps.values()), repeat=2)}
    least = law(policy.gap, policy.gap).threshold_at(cutoff // tick)

    def claimed(a, b):
        apart = b[3] // tick - a[3] // tick
        return bool(laws[gaps[a[1]], gaps[b[1]]].ratio_at(apart) >= least * (1 - 1e-9))

    return claimed


@pytest.mark.parametrize("neighbours", [False, True], ids=["any gap", "neighbours"])
@pytest.mark.parametrize("watcher", ["notified", "poller:7s"])
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_counts_are_those_of_a_loop(policy, watcher, neighbours):
    """Every pair whose difference is at least as telling as the cutoff is claimed, and no other."""
    observed = observed_of(busy(), policy, watcher=watcher)
    cutoffs = [cutoff * MICROSECONDS for cutoff in CUTOFFS]
    scores = difference_attack(observed, cutoffs, neighbours=neighbours)
    for score, cutoff in zip(scores, CUTOFFS, strict=True):
        claimed = claim_of(observed, policy, cutoff * MICROSECONDS, neighbours=neighbours)
        found = loop_counts(observed.truth.table, observed.seen, observed.truth.window, claimed)
        assert (score.cutoff, score.counts) == (cutoff * MICROSECONDS, found)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 999),
    size=st.integers(20, 40),
    cutoffs=st.lists(st.integers(0, 200), min_size=1, max_size=3),
    policy=st.sampled_from(list(POLICIES.values())),
    neighbours=st.booleans(),
)
def test_small_histories_are_counted_as_by_a_loop(seed, size, cutoffs, policy, neighbours):
    """Before 1970 as well."""
    table = busy(seed, size, start=-100)
    assume(len(in_batch_gaps(table, 10 * MICROSECONDS)) and len(null_gaps(table)))
    observed = observed_of(table, policy)
    asked = [cutoff * MICROSECONDS for cutoff in cutoffs]
    for score in difference_attack(observed, asked, neighbours=neighbours):
        claimed = claim_of(observed, policy, score.cutoff, neighbours=neighbours)
        assert score.counts == loop_counts(
            observed.truth.table, observed.seen, observed.truth.window, claimed
        )


def test_it_is_the_cutoff_attack_where_the_theorem_says_so():
    """Simultaneous batches and eta 1: the ratio falls with the distance up to the reach of the policy."""
    policy = Policy(epsilon="1", gap="40s", labels="simultaneous", weight="1")
    table = event_table(
        actor=[1, 1, 2, 3, 4, 4, 5, 6],
        target=[1, 2, 3, 1, 5, 6, 1, 2],
        time=[t * MICROSECONDS for t in (0, 0, 9, 30, 90, 90, 95, 200)],
    )
    observed = observed_of(table, policy, window=0)
    cutoffs = [0, 3 * MICROSECONDS, 20 * MICROSECONDS]

    for neighbours in (False, True):
        found = difference_attack(observed, cutoffs, neighbours=neighbours)
        assert found == cutoff_attack(observed.truth, observed.seen, cutoffs)


def test_a_small_eta_makes_it_another_attack():
    """Unbatched acts that leave at once make short differences tell little: a cutoff is not the best."""
    policy = Policy(epsilon="4", gap="20s", window="10s", weight="0.1")
    observed = observed_of(busy(), policy)
    cutoffs = [cutoff * MICROSECONDS for cutoff in (1, 5, 12)]
    plain = cutoff_attack(observed.truth, observed.seen, cutoffs)

    assert difference_attack(observed, cutoffs, neighbours=True) != plain
    assert plain[0].counts == loop_counts(
        observed.truth.table, observed.seen, observed.truth.window, within(MICROSECONDS)
    )


def test_it_needs_a_policy():
    """And one sentence says so."""
    table = busy()
    truth = Truth(table=table, window=10 * MICROSECONDS)
    with pytest.raises(BadInput, match="the attack likelihood needs a policy to know, and nothing is none"):
        difference_attack(Observed(truth=truth, practice=baseline("nothing"), seen=table.time), [1])


@pytest.mark.parametrize(
    ("actor", "lacking"), [([1, 1], "gaps between different people"), ([1, 2], "gaps inside batches")]
)
def test_it_needs_gaps_to_learn_from(actor, lacking):
    table = event_table(actor=actor, target=[1, 2], time=[0, 5 * MICROSECONDS])
    with pytest.raises(NotPossible, match=f"the likelihood attack needs {lacking} to learn from"):
        difference_attack(observed_of(table, Policy(epsilon="1", gap="11m")), [1], neighbours=True)


def test_ticks_too_fine_for_the_targets_are_refused():
    """Rather than counted wrongly."""
    rows = 40
    table = event_table(
        actor=np.arange(rows) // 2, target=range(rows), time=np.arange(rows) // 2 * (1 << 54)
    )
    policy = Policy(epsilon="1", gap="1ms", labels="simultaneous", tick="1us")
    with pytest.raises(NotPossible, match="cannot keep so many targets apart over so many ticks"):
        difference_attack(observed_of(table, policy, window=0), [1])
