"""The corrected version: everybody, the named percentile, gap plus window, a hold."""

from fractions import Fraction

import numpy as np
import pytest

from tarry.core.continuous import uniform
from tarry.core.errors import NotPossible
from tarry.paper.months import wikipedia_month
from tarry.paper.wikipedia_corrected import (
    EPSILONS,
    NOTHING,
    declaring,
    distinct_gaps,
    learn_gaps,
    practice_name,
    replay_everybody,
    result_of,
)
from tarry.paper.wikipedia_weeks import split_weeks
from tarry.study.batching import measure_batching, null_gaps
from tarry.study.practice import MICROSECONDS
from tarry.study.table import event_table

WINDOW = 300 * MICROSECONDS


@pytest.fixture(scope="module")
def weeks():
    return split_weeks(wikipedia_month(0))


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
