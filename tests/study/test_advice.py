"""Advice: learned on the first part, measured on the rest, the cheapest that helps enough."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.at_advice import DAY, advice_of, choice_of, months, trial
from tarry.core.calibrate import learned_gap
from tarry.core.errors import BadInput, NotPossible
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.study import recommend as module
from tarry.study.attack import attack
from tarry.study.audit import audit
from tarry.study.baselines import baseline
from tarry.study.batching import measure_batching, null_gaps
from tarry.study.learning import PERCENTILES, candidates, split
from tarry.study.limits import limits
from tarry.study.practice import MICROSECONDS, observer
from tarry.study.question import EPSILONS, Question
from tarry.study.recommend import advise
from tarry.study.replay import replay
from tarry.study.score import precision_at
from tarry.study.table import event_table
from tarry.study.tried import Trial


@pytest.fixture(scope="module")
def busy():
    """Months of minutes: most gaps are around a quarter of an hour."""
    return months(every=900 * MICROSECONDS)


@pytest.fixture(scope="module")
def advised(busy):
    return advise(busy, seed=3, draws=2)


@given(
    times=st.lists(st.integers(-50, 50), min_size=1, max_size=40),
    share=st.fractions(0, 1).filter(lambda share: 0 < share < 1),
)
def test_a_split_is_by_time_and_loses_nothing(times, share):
    """No moment falls on both sides, and the first part has at most its share."""
    table = event_table(actor=range(len(times)), target=range(len(times)), time=times)
    cut = sorted(times)[int(len(times) * share)]
    if min(sum(time < cut for time in times), sum(time >= cut for time in times)) < 2:
        with pytest.raises(NotPossible, match="too few to learn on a part and measure on the rest"):
            split(table, share)
        return
    early, late = split(table, share)

    assert early.time.max() < late.time.min()
    assert sorted([*early.time.tolist(), *late.time.tolist()]) == sorted(times)
    assert 2 <= len(early) <= share * len(times)
    assert len(late) >= 2


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_a_share_to_learn_on_leaves_something_for_both(share, busy):
    with pytest.raises(BadInput, match="the share to learn on must lie between 0 and 1"):
        split(busy, share)


def test_candidates_have_the_percentiles_of_the_gaps_between_people(busy):
    """Each with each epsilon; batched delay weighs as much as there are batched events."""
    gaps = null_gaps(busy)
    weight = round(measure_batching(busy, 300 * MICROSECONDS).batched_share, 2)
    found = candidates(busy)

    assert [(policy.epsilon, percent) for policy, percent, _ in found] == [
        (Fraction(epsilon), percent) for epsilon in EPSILONS for percent in PERCENTILES
    ]
    for policy, percent, gap in found:
        measured = Fraction(int(np.quantile(gaps, percent / 100, method="inverted_cdf")), MICROSECONDS)
        assert gap == learned_gap(Fraction(ceil(measured)), policy.window, policy.tick)  # whole ticks
        assert (policy.gap, policy.window, policy.tick) == (gap.gap, 300, 1)
        assert policy.weight == Fraction(str(weight))


def test_a_gap_not_above_the_window_is_raised_and_said_to_be():
    """Where people follow each other closely, the promise begins just above the window."""
    quick = months(every=200 * MICROSECONDS)
    found = advise(quick, epsilons=["1"], percentiles=[25, 50])

    assert [choice.policy.gap for choice in found.choices] == [301]  # two percentiles, one policy
    assert "is not above the window 5m: raised to 5m1s" in found.choices[0].note
    assert not any(choice.note for choice in advise(months(every=DAY), epsilons=["1"]).choices)


@settings(max_examples=30)
@given(
    every=st.integers(40, 10**13),
    pause=st.integers(1, 3),
    window=st.sampled_from(["0s", "1s", "5m", "1d"]),
    tick=st.sampled_from(["1s", "1m"]),
)
def test_every_history_with_gaps_has_candidates(every, pause, window, tick):
    """Whatever the gaps are, also just above the window; also where nobody or everybody batches."""
    places = np.arange(60) * every
    table = event_table(actor=np.arange(60) // pause, target=range(60), time=places)
    gaps = null_gaps(table)
    if len(gaps) < 20:
        with pytest.raises(NotPossible, match=f"{len(gaps)} gaps between different people are too few"):
            candidates(table, window=window, tick=tick)
        return
    for policy, _, _ in candidates(table, window=window, tick=tick, epsilons=["1"]):
        assert policy.gap > policy.window


@settings(max_examples=15)
@given(seed=st.integers(0, 999))
def test_the_part_that_is_measured_changes_no_policy(busy, seed):
    """Law 5 of the house: parameters never look at the people they protect."""
    rng, late = np.random.default_rng(seed), busy.time >= split(busy)[1].time.min()
    actor, target, time = busy.actor.copy(), busy.target.copy(), busy.time.copy()
    actor[late], target[late] = rng.integers(0, 9, late.sum()), rng.integers(0, 99, late.sum())
    time[late] = rng.integers(time[late].min(), 10 * time.max(), late.sum())
    changed = event_table(actor=actor, target=target, time=time)
    options = {"epsilons": ["1"], "percentiles": [25, 75]}

    assert candidates(split(changed)[0]) == candidates(split(busy)[0])
    assert [choice.policy for choice in advise(changed, **options).choices] == [
        choice.policy for choice in advise(busy, **options).choices
    ]


def test_the_part_that_is_learned_on_does_change_them(busy):
    slower = replace(busy, time=np.where(busy.time < busy.time.max() // 4, busy.time // 3, busy.time))

    assert candidates(split(slower)[0]) != candidates(split(busy)[0])


def test_effects_are_those_of_an_audit_of_the_rest(busy, advised):
    """Precision of claims that find a tenth, and delays; means over the draws."""
    early, late = split(busy)
    assert (advised.learned_on, advised.measured_on) == (len(early), len(late))
    policies = [policy for policy, _, _ in candidates(early)]
    question = Question(
        practices=[baseline("nothing"), *(replay(policy, str(i)) for i, policy in enumerate(policies))],
        observers=[observer("notified")],
        attacks=[attack("cutoff")],
        cutoffs=module._cutoffs(policies),
        seed=3,
        draws=2,
    )
    found = audit(late, question)

    def precision(name):
        runs = [
            precision_at([score.counts for score in r.scores], 0.1) for r in found.runs if r.policy == name
        ]
        return np.mean(runs)

    assert advised.before == precision("nothing") > 0.5
    assert [choice.policy for choice in advised.choices] == policies
    for i, choice in enumerate(advised.choices):
        costs = [cost for cost in found.costs if cost.policy == str(i)]
        assert choice.precision == pytest.approx(precision(str(i)))
        assert choice.mean_s == pytest.approx(np.mean([cost.mean_s for cost in costs]))
        assert choice.longest_s == max(cost.longest_s for cost in costs)
        assert 0 < choice.average_precision < 1


def test_the_frontier_is_what_nothing_else_beats(advised):
    for choice in advised.choices:
        beaten = any(
            other is not choice
            and other.right_person <= choice.right_person
            and other.mean_s <= choice.mean_s
            for other in advised.choices
        )
        beaten |= advised.right_before <= choice.right_person  # doing nothing costs nothing
        assert advised.on_frontier(choice) != beaten


def test_a_policy_never_looks_good_because_nobody_looked_far_enough():
    """Gaps of weeks: the cutoffs reach beyond the longest delay, so that some find enough."""
    rare = advise(months(every=40 * DAY))
    policies = [choice.policy for choice in rare.choices]
    longest = max(plan(policy).batched.maximum for policy in policies)

    assert longest > 60 * 86_400
    assert max(module._cutoffs(policies)) > (longest + 300) * MICROSECONDS
    assert all(choice.precision > 0 for choice in rare.choices)


def test_the_cutoffs_are_fine_and_go_a_long_way():
    """No two neighbours are more than half as far again apart."""
    cutoffs = module._cutoffs([Policy(epsilon="1", gap="11m")])

    assert cutoffs[:4] == [2_000_000, 3_000_000, 4_000_000, 6_000_000]
    assert cutoffs[-1] >= 2 * DAY
    assert all(1 < after / before <= 1.5 for before, after in pairwise(cutoffs))


def test_somebody_else_may_watch(busy):
    """A poller sees less, before and after."""
    polled = advise(busy, epsilons=["1"], watcher="poller:1d")

    assert polled.before < advise(busy, epsilons=["1"]).before


def test_progress_is_told(busy):
    told = []
    advise(busy, epsilons=["1"], draws=2, progress=lambda done, total: told.append((done, total)))

    assert told == [(i, 21) for i in range(1, 22)]  # nothing once and three policies twice, on three splits


def test_where_nobody_batches_there_is_nothing_to_recommend():
    rng = np.random.default_rng(0)
    alone = event_table(
        actor=range(200), target=rng.integers(0, 9, 200), time=np.arange(200) * 400 * MICROSECONDS
    )
    found = advise(alone)

    assert (found.best, found.before) == (None, 0.0)
    assert (
        found.sentence == "Nothing to recommend: nobody in the measured part has acts that could be linked."
    )


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        (2, "2 events are too few to learn on a part and measure on the rest: give a longer history"),
        (7, "7 events are too few to learn on a part and measure on the rest: give a longer history"),
        (
            60,
            "14 gaps between different people are too few to learn from (20 are needed): give a longer",
        ),
    ],
)
def test_short_histories_get_one_clear_sentence(rows, rule):
    table = event_table(actor=range(rows), target=range(rows), time=np.arange(rows) * DAY)
    with pytest.raises(NotPossible) as told:
        advise(table)

    assert str(told.value).startswith(rule)


def test_a_history_at_one_moment_cannot_be_split():
    table = event_table(actor=range(100), target=range(100), time=[5] * 100)
    with pytest.raises(NotPossible, match="100 events are too few"):
        advise(table)


def test_the_recommendation_is_said_in_words():
    """Epsilon, gap, how often claims are right before and after, the delay, order and replies."""
    trials = [Trial(before=0.9, rights=(0.5, 0.55), mean_s=65), Trial(before=0.9, rights=(0.3,), mean_s=65)]
    best = choice_of(0.525, epsilon="0.5", trials=trials, reordered=0.125, reply_s=720.0)
    words = advice_of(best, reply_before_s=600.0).sentence

    assert words == (
        "Take epsilon 0.5 with a gap of 11m. Claims that two acts are one person's are right up to 90.0 % "
        "of the time now, and 52.5 % (30.0 to 55.0) with it; acts 5m to 16m apart give 40.0 % anyway (an "
        "excess of +50.0 points now, +12.5 with it). The mean delay is 1m5s, the longest 1h. Of neighbours "
        "on one target 12.5 % change places, and half of the replies appear within 12m instead of 10m."
    )


def test_a_tie_is_said_to_be_one_and_the_next_cheaper_one_is_named():
    cheap = choice_of(0.6, epsilon="2", mean=30.0)
    told = advice_of(choice_of(0.5), cheap, tied=[cheap]).reasons

    assert told[0].startswith(
        "It is a tie with epsilon 2, gap 11m: the measurements do not tell them apart."
    )
    assert told[1].startswith(
        "For less delay there is epsilon 2, gap 11m: claims are right 60.0 % of the time, for 30s"
    )
    alone = choice_of(0.5, trials=[trial(0.5), trial(0.5)])
    assert (
        advice_of(alone).reasons[0].startswith("It does best in each of 2 trials, if each doubling of the")
    )


@pytest.mark.parametrize(
    ("linked", "before", "spent", "told"),
    [
        (4, 0.5, 0, ["Only 4 linked pairs"]),
        (400, 0.005, 0, ["hardly any claim is right"]),
        (400, 0.5, 3, ["3 of 70 people"]),
        (400, 0.5, 4, ["4 of 70 people", "tarry plan --season"]),
        (400, 0.5, 0, []),
    ],
)
def test_a_recommendation_comes_with_what_one_should_know(linked, before, spent, told):
    """Few pairs, hardly any risk over all, and people who batch too often for any promise."""
    advice = advice_of(choice_of(before / 10, spent), before=before, linked_pairs=linked, actors=70)

    assert len(advice.cautions) == len(told)
    assert all(words in said for words, said in zip(told, advice.cautions, strict=True))


def test_a_season_is_not_proposed_where_delays_of_hours_are_not_allowed():
    told = advice_of(choice_of(0.1, 40), actors=70, limits=limits(max_delay="3h")).cautions

    assert not any("season" in sentence for sentence in told)


def test_others_may_have_more_to_say():
    advice = advice_of(choice_of(0.1), further=["See also the season."])

    assert advice.cautions == ["See also the season."]
    assert advice.as_dict()["cautions"] == ["See also the season."]
