"""Both versions of the Wikipedia experiment: the authors' slips, and everybody with the right gap."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import NotPossible
from tarry.paper.laws import uniform
from tarry.paper.wikipedia_months import split_weeks, wikipedia_month
from tarry.paper.wikipedia_versions import (
    CUTOFFS,
    EPSILONS,
    LOWER,
    NOTHING,
    PERCENTILES,
    Delay,
    attack_samples,
    declaring,
    distinct_gaps,
    learn_gaps,
    practice_name,
    replay_everybody,
    result_of,
    sampled_gaps,
    some_actors,
)
from tarry.study.batching import measure_batching, null_gaps
from tarry.study.practice import MICROSECONDS
from tarry.study.table import event_table


@pytest.fixture(scope="module")
def weeks():
    return split_weeks(wikipedia_month(0))


def test_the_slip_takes_the_percentile_below():
    all_of_them = (10, *PERCENTILES)
    assert {high: low for low, high in pairwise(all_of_them)} == LOWER


@given(share=st.floats(0.0, 1.0), seed=st.integers(0, 9))
def test_a_sample_keeps_all_events_of_its_users_and_none_of_the_others(share, seed):
    month = wikipedia_month(1, events=300)
    some = some_actors(month, share, np.random.default_rng(seed))
    chosen = np.unique(some.actor)
    assert len(chosen) == max(2, round(share * month.actors))
    assert len(some) == np.isin(month.actor, chosen).sum()


def test_gaps_in_samples_are_ten_times_those_of_everybody_and_more(weeks):
    everybody = float(np.median(null_gaps(weeks.learn))) / MICROSECONDS
    assert 8 < sampled_gaps(weeks.learn, draws=10, seed=0)[50] / everybody < 20


def test_without_gaps_there_is_nothing_to_learn():
    alone = event_table(actor=[1, 1, 1], target=[1, 1, 1], time=[0, 1, 2])
    with pytest.raises(NotPossible, match="gaps"):
        sampled_gaps(alone, draws=2, seed=0)


def test_the_running_maximum_never_falls_towards_small_cutoffs_and_never_lowers_precision(weeks):
    delay = Delay("0.5", 198.0)
    smooth = attack_samples(weeks.replay, delay, draws=3, seed=0)
    plain = attack_samples(weeks.replay, delay, draws=3, seed=0, smooth=False)
    assert all(one.precision >= other.precision for one, other in pairwise(smooth.points))
    assert all(s.precision >= p.precision for s, p in zip(smooth.points, plain.points, strict=True))
    assert [point.recall for point in smooth.points] == [point.recall for point in plain.points]
    assert [point.cutoff_s for point in plain.points] == list(CUTOFFS)


def test_delays_are_the_closed_forms_without_window_or_hold(weeks):
    share = measure_batching(weeks.replay, 300 * MICROSECONDS).batched_share
    curve = attack_samples(weeks.replay, Delay("0.5", 660.0), draws=2, seed=0, share=1.0)
    assert curve.mean_s == pytest.approx(uniform(0.25, 660.0).weighted(share), rel=0.02)


@pytest.mark.parametrize(("start", "expected"), [(198.0, 0.64), (660.0, 0.23)])
def test_recall_within_280_seconds_is_what_theory_expects(weeks, start, expected):
    # theory: 1 - (1 - T / W)^2 for acts at one moment, W = start * a / (1 - a), a = e^(-1/4)
    curve = attack_samples(weeks.replay, Delay("0.5", start), draws=3, seed=0, share=1.0)
    assert curve.at(280).recall == pytest.approx(expected, abs=0.03)


def test_the_same_seed_gives_the_same_curve(weeks):
    curves = [attack_samples(weeks.replay, Delay("1", 198.0), draws=2, seed=seed) for seed in (5, 5, 6)]
    assert curves[0] == curves[1] != curves[2]


WINDOW = 300 * MICROSECONDS


@pytest.fixture(scope="module")
def found(weeks):
    return {labels: replay_everybody(weeks, labels, draws=2, seed=0) for labels in ("held", "declared")}


def test_a_gap_is_the_named_percentile_of_everybodys_gaps(weeks):
    gaps = null_gaps(weeks.learn) / MICROSECONDS
    for percent, learned in learn_gaps(weeks.learn).items():
        assert np.mean(gaps <= float(learned.measured)) >= percent / 100
        assert np.mean(gaps < float(learned.measured)) < percent / 100


def test_a_gap_not_above_the_window_is_raised_and_both_numbers_are_told(weeks):
    learned = learn_gaps(weeks.learn)[25]
    assert learned.measured < 300 < learned.gap
    assert learned.message.endswith("not above the window 5m: raised to 5m1s")


def test_percentiles_that_lead_to_one_gap_are_replayed_once(weeks):
    gaps = distinct_gaps(learn_gaps(weeks.learn))
    assert sorted(percent for percents in gaps.values() for percent in percents) == [25, 50, 75]
    assert gaps[Fraction(301)] == [25, 50]


def test_nobody_to_learn_from_is_refused():
    with pytest.raises(NotPossible, match="gap"):
        learn_gaps(event_table(actor=[1, 1], target=[1, 2], time=[0, 1]))


def test_exactly_the_members_of_batches_declare(weeks):
    said = declaring(weeks.replay).declared
    assert int(said.sum()) == measure_batching(weeks.replay, WINDOW).with_partner


def test_without_delay_precision_is_what_the_audit_counts(found):
    run = found["held"].runs[0]
    counts = next(score.counts for score in run.scores if score.cutoff_s == 30)
    assert result_of(found["held"], NOTHING).precision == counts.precision


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_delays_are_the_closed_forms_with_the_window_added_and_the_hold(weeks, found, epsilon):
    share = measure_batching(weeks.replay, WINDOW).batched_share
    law = uniform(float(epsilon) / 2, 601.0)
    name = practice_name(Fraction(301), epsilon)
    held, declared = (result_of(found[labels], name) for labels in ("held", "declared"))
    assert held.mean_s == pytest.approx(300 + law.weighted(share), rel=0.03)
    assert held.longest_s <= 300 + law.end + 1
    assert held.mean_s - declared.mean_s == pytest.approx(300, abs=5)


def test_a_smaller_epsilon_leaves_less_to_find(found):
    results = [result_of(found["held"], practice_name(Fraction(301), epsilon)) for epsilon in EPSILONS]
    shares = [one.average_precision for one in (*results, result_of(found["held"], NOTHING))]
    assert shares == sorted(shares)
