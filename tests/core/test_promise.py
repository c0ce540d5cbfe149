"""The promise: its numbers err against us, and its words say what is and is not promised."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.exact import exceeds_exp, format_duration, parse_duration, ticks_up
from tarry.core.policy import LABEL_RULES, Policy
from tarry.core.promise import coarse_tick, promise

EPSILONS = st.integers(1, 100_000).map(lambda i: Fraction(i, 1000))


def policy_of(labels="held", **more):
    """A policy with a gap of 11 minutes."""
    window = {} if labels in ("simultaneous", "none") else {"window": "5m"}
    law = {"law": "label-free", "delta": "0.01"} if labels == "none" else {}
    return Policy(**{"epsilon": "1", "gap": "11m", "labels": labels, **window, **law, **more})


@pytest.mark.parametrize(
    ("labels", "minutes", "share"),
    [
        ("held", 16, Fraction(1, 2)),
        ("declared", 16, Fraction(1, 2)),
        ("simultaneous", 11, Fraction(1, 2)),
        ("follower", 11, Fraction(1)),
        ("none", 11, Fraction(1)),
    ],
)
def test_reach_and_share_follow_the_label_rule(labels, minutes, share):
    """The promise covers moves up to the start of the batched law, at the share of one event."""
    told = promise(policy_of(labels))

    assert (told.reach, told.share) == (60 * minutes, share)


def test_reach_is_told_in_whole_ticks():
    """Gap and window are each rounded up to the tick, and so is the reach."""
    told = promise(policy_of(gap="654.5s", window="4.2s", tick="2s"))

    assert told.reach == 656 + 6


def test_the_smallest_gap_bounds_the_reach():
    """With several gaps a pair is promised up to the smaller one, so the shortest is told."""
    told = promise(policy_of(target_gaps={"a": "6m"}, track_gaps={"b": "1h"}))

    assert told.reach == 60 * (6 + 5)


@given(EPSILONS, st.integers(0, 1000))
def test_loss_is_linear_in_batched_events(epsilon, events):
    """Each batched event costs its share, and there is no discount for many."""
    assert promise(policy_of(epsilon=epsilon)).loss(events) == epsilon / 2 * events


@given(EPSILONS, st.integers(0, 2000))
def test_odds_err_upwards(epsilon, events):
    """The odds are never below e^loss, and above it by no more than a float must."""
    told = promise(policy_of(epsilon=epsilon))
    odds, loss = told.odds(events), told.loss(events)
    if loss == 0 or loss >= 700:
        assert odds == (1.0 if loss == 0 else float("inf"))
    else:
        assert exceeds_exp(Fraction(odds), loss)
        assert not exceeds_exp(Fraction(odds) * (1 - Fraction(1, 10**15)), loss)


@pytest.mark.parametrize(
    ("labels", "cover", "cost"),
    [*((labels, "pair", Fraction(1)) for labels in LABEL_RULES), ("held", "bridge", Fraction(2, 3))],
)
@given(epsilon=EPSILONS)
def test_odds_in_words_err_upwards(labels, cover, cost, epsilon):
    """The number of times that the words allow a pair is never below what it costs, and close to it."""
    sentence = promise(policy_of(labels, epsilon=epsilon, cover=cover)).promised[0]
    times = Fraction(re.search(r"at most (\S+) times", sentence).group(1))

    assert exceeds_exp(times, epsilon * cost)
    assert not exceeds_exp(times * Fraction(98, 100), epsilon * cost)


def test_the_words_of_held_labels_name_window_odds_and_reach():
    """A reader finds every number of the promise in its first sentence."""
    sentence = promise(policy_of()).promised[0]

    for part in ("within 5m of each other", "at most 2.72 times", "either one", "up to 16m"):
        assert part in sentence


@pytest.mark.parametrize(
    ("tick", "window", "near"), [("1s", "5m", "5m1s"), ("1m", "5m", "6m"), ("2m", "5m", "8m")]
)
@pytest.mark.parametrize("labels", ["held", "declared", "follower"])
def test_near_is_told_in_time_one_tick_more_than_the_window_in_ticks(labels, tick, window, near):
    """The words say how far away everything else must be, before and in the other story."""
    told = promise(policy_of(labels, tick=tick, window=window))

    assert told.near == parse_duration(near)
    assert f"nothing else of theirs less than {near} from either" in told.promised[0]
    assert f"no act on another target less than {near} from that moment" in told.promised[0]


@given(
    window=st.integers(0, 10**4).map(lambda i: Fraction(i, 100)),
    tick=st.integers(1, 10**3).map(lambda i: Fraction(i, 100)),
    at=st.integers(-(10**6), 10**6).map(lambda i: Fraction(i, 1000)),
    apart=st.integers(0, 2 * 10**5).map(lambda i: Fraction(i, 1000)),
)
def test_window_near_and_reach_are_true_of_ticks_wherever_arrivals_fall(window, tick, at, apart):
    """Within the window surely batched, from near on surely not, up to the reach at most G ticks later."""
    policy = Policy(epsilon="1", gap=window + tick, window=window, tick=tick)
    told, first, second = promise(policy), ticks_up(at, tick), ticks_up(at + apart, tick)

    assert second - first <= policy.window_ticks or apart > told.window
    assert second - first > policy.window_ticks or apart < told.near
    assert second - first <= policy.start_ticks(policy.gap) or apart > told.reach


@pytest.mark.parametrize(
    ("tick", "coarse"), [("1s", False), ("30s", False), ("30.001s", True), ("1m", True), ("10m", True)]
)
def test_a_tick_above_a_tenth_of_the_window_is_said(tick, coarse):
    """The sentence has the number: how far apart acts may still count as batched."""
    policy = policy_of(tick=tick)
    told = promise(policy)

    assert bool(coarse_tick(policy)) == coarse
    assert any("more than a tenth of the window" in sentence for sentence in told.not_promised) == coarse
    assert not coarse or f"Acts between 5m and {format_duration(told.near)} apart" in coarse_tick(policy)


def test_without_a_window_no_tick_is_too_coarse():
    """Acts of one tick are batched then, and the promise says so."""
    assert not coarse_tick(policy_of("simultaneous", tick="10m"))


@pytest.mark.parametrize(
    ("labels", "part"),
    [
        ("simultaneous", "arrived at one moment"),
        ("follower", "as if the later one had arrived up to 11m later"),
        ("none", "any one act had arrived up to 11m later"),
        ("none", "and a chance of 0.01 on top"),
    ],
)
def test_the_words_follow_the_label_rule(labels, part):
    """Each rule promises what it can keep, and no more."""
    assert part in promise(policy_of(labels)).promised[0]


@pytest.mark.parametrize(
    ("cover", "costs"),
    [
        ("pair", "costs 0.75: a pair 1.5, an act that bridges two lone ones 2.25"),
        ("bridge", "costs 0.5: a pair 1, an act that bridges two lone ones 1.5"),
    ],
)
def test_the_words_tell_what_a_bridge_costs(cover, costs):
    """The price of a pair, a bridge and a burst is told in numbers."""
    assert costs in promise(policy_of(epsilon="1.5", cover=cover)).promised[1]


@pytest.mark.parametrize(
    ("labels", "part"),
    [
        ("follower", "The first act of a burst"),
        ("follower", "only at twice epsilon"),
        ("declared", "A first act whose author did not say that more would come"),
        ("simultaneous", "Acts at different ticks are not counted as batched"),
        *((labels, "A long watch") for labels in LABEL_RULES),
        *((labels, "Style, content, network address") for labels in LABEL_RULES),
        *((labels, "Which of two batches an act belongs to") for labels in LABEL_RULES if labels != "none"),
        *((labels, "That an act was alone") for labels in LABEL_RULES if labels != "none"),
    ],
)
def test_what_is_not_promised_is_said(labels, part):
    """Every promise comes with its limits, those of its label rule included."""
    assert any(part in sentence for sentence in promise(policy_of(labels)).not_promised)


@pytest.mark.parametrize("labels", ["held", "none"])
def test_limits_of_other_rules_are_not_told(labels):
    """A rule without a weakness of first acts does not claim one."""
    assert not any("first act" in sentence.lower() for sentence in promise(policy_of(labels)).not_promised)


@pytest.mark.parametrize("part", ["That an act was alone", "Which of two batches"])
def test_without_labels_nothing_is_said_about_them(part):
    """One law for all shows no labels and covers any move, so these limits do not apply."""
    assert not any(part in sentence for sentence in promise(policy_of("none")).not_promised)


@pytest.mark.parametrize("end", ["deadline_at", "ends_at"])
def test_the_words_tell_what_an_end_takes_away(end):
    """Shortly before a deadline or the end of the period a later arrival is no story."""
    told = promise(Policy(epsilon="1", gap="11m", **{end: 10_000})).not_promised

    assert any("Within 16m of" in s and "a later arrival would have been refused" in s for s in told)
    assert not any(
        "refused" in sentence for sentence in promise(Policy(epsilon="1", gap="11m")).not_promised
    )


def test_an_end_inside_a_tick_takes_away_up_to_a_tick_more():
    """Arrivals are refused from the last tick that ends before it on."""
    told = promise(Policy(epsilon="1", gap="11m", tick="10s", deadline_at=10_003)).not_promised

    assert any(sentence.startswith("Within 16m3s of the policy's deadline") for sentence in told)


def test_the_words_warn_of_an_epsilon_that_hides_nothing():
    """Above 3 the first thing not promised is: much."""
    assert promise(Policy(epsilon="26", gap="11m")).not_promised[0].startswith("Much: an epsilon of 26")
    assert not promise(Policy(epsilon="3", gap="11m")).not_promised[0].startswith("Much")


def test_the_words_name_the_smallest_gap():
    """With several gaps a pair is promised up to the smallest."""
    policy = Policy(epsilon="1", gap="30m", window="5m", track_gaps={"theory": "11m"})

    assert "16m (the smallest gap and the window)" in promise(policy).promised[0]
