"""A change of policy: the pause after which nothing straddles it, and what it costs without one."""

import re
from fractions import Fraction
from itertools import product
from math import inf, log
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.brute_force import around_exp
from contracts.policies import policy_with
from tarry.core.errors import BadInput
from tarry.core.exact import log_of
from tarry.core.law import Law, Run
from tarry.core.laws.zero_inflated import zero_inflated_pair
from tarry.core.mechanism import LawPair
from tarry.core.policy import Policy
from tarry.core.season import Season
from tarry.core.straddle import quiet_ticks, straddle_loss
from tarry.core.verify.laws import common_period
from tarry.core.verify.rules import DelayRule, _largest_ratio, ticks_up_units
from tarry.core.verify.streams import Size, all_streams, moves, paired

LAWS = ["zero-inflated-uniform", "uniform", "exponential", "staircase", "cosine"]
SHARE = Fraction(1, 2)


def policy(gap="4s", law="zero-inflated-uniform", **choices):
    return policy_with(law, **{"epsilon": "1", "gap": gap, "window": "1s", **choices})


def own(batched, unbatched, ticks, **choices):
    """A policy with two laws of its own, private or not."""

    def family(ask):
        return LawPair(batched=batched, unbatched=unbatched, start=ask.start)

    choices = {"epsilon": 2 * SHARE, "labels": "simultaneous", "window": None, **choices}
    return policy(Fraction(ticks), law=family, **choices)


def brute_force(old, new, *, horizon=120, shifts=None):
    """The worst of ln(b_old(k) / u_new(k - l)) beyond the old share, tick by tick."""
    mine, theirs = old.mechanism().pair, new.mechanism().pair
    end = horizon if mine.batched.period else mine.batched.tail_start
    batched, unbatched = ([logs(law, k) for k in range(end)] for law in (mine.batched, theirs.unbatched))
    worst = max(
        batched[k] - (unbatched[k - l] if l <= k else -inf)
        for k in range(end)
        for l in (range(mine.start + 1) if shifts is None else shifts)
        if batched[k] > -inf
    )
    return max(0.0, worst - float(old.share))


def logs(law, tick):
    term = law.term(tick)
    return log_of(term.coefficient) - term.periods * log_of(term.ratio) if term.coefficient else -inf


def slower(batched, unbatched):
    """Whether the tail of an endless batched law falls more slowly than the unbatched one's, or has to."""
    if not (batched.period and unbatched.period):
        return bool(batched.period)
    return batched.ratio**unbatched.period_length < unbatched.ratio**batched.period_length


# --- the pause ---------------------------------------------------------------------------------------


def test_the_pause_is_one_tick_longer_than_the_longest_reach():
    """Every gap of both policies counts, by target and by track, and the window with it."""
    old = policy("10s", target_gaps={"a": "20s"}, window="5s")
    new = policy("11s", track_gaps={"b": "30s"}, window="5s")

    assert quiet_ticks(old, old) == 20 + 5 + 1
    assert quiet_ticks(old, new) == quiet_ticks(new, old) == 30 + 5 + 1


def test_the_pause_is_counted_in_ticks_of_the_old_policy():
    """Where the tick changes, the longer reach is rounded up to the clock that runs during the pause."""
    old, new = policy("10s", tick="1s", window="0s"), policy("13s", tick="7s", window="0s")

    assert quiet_ticks(old, new) == 14 + 1  # two new ticks reach 14 s
    assert quiet_ticks(new, old) == 2 + 1  # and they cover the 10 s of the old gap as well


seconds = st.integers(1, 40).map(Fraction)


@given(
    gaps=st.lists(seconds, min_size=2, max_size=2),
    ticks=st.lists(st.sampled_from(["1s", "2s", "3s", "700ms"]), min_size=2, max_size=2),
    labels=st.sampled_from(["held", "follower"]),
    last=st.integers(0, 10**6),
)
def test_no_promised_story_reaches_past_the_pause(gaps, ticks, labels, last):
    """The latest story of the last old act ends before the first new arrival, and less would not do."""
    old, new = (
        policy(gap + 3, tick=tick, labels=labels, law="uniform")
        for gap, tick in zip(gaps, ticks, strict=True)
    )
    reach = max(each.start_ticks(each.gap) * each.tick for each in (old, new))
    pause = quiet_ticks(old, new)

    def latest_refused(pause):  # the moment at which the last tick of the pause ends
        return (last + pause - 1) * old.tick

    assert last * old.tick + reach <= latest_refused(pause)
    assert last * old.tick + reach > latest_refused(pause - 1)


# --- the loss, by streams ----------------------------------------------------------------------------

UNITS = 2  # moments to the tick, so that a change can fall inside one
CHANGE = 4  # acts at moment 4 and later come under the new policy: tick 2 is moments 3 and 4


def at_ticks(stream):
    return tuple(act._replace(at=ticks_up_units(act.at, UNITS)) for act in stream)


def straddling_losses(old, new, change=CHANGE):
    """For all small streams and all their stories: acts that cross the change, nats beyond the shares."""
    policies = (old, new)
    reach = [UNITS * each.start_ticks(each.gap) for each in policies]
    size = Size(events=2, span=change + 1, actors=2, targets=2)
    rules = [
        DelayRule(
            pair=each.mechanism().pair, labels=paired(each.window_ticks), hold=each.hold_ticks, units=UNITS
        )
        for each in policies
    ]

    def side(act):
        return int(act.at >= change)

    def labels(stream):
        return paired(old.window_ticks)(at_ticks(stream))

    def blocks(stream):
        by_rule = [rule.blocks(stream) for rule in rules]
        return [by_rule[side(act)][i] for i, act in enumerate(stream)]

    for stream in all_streams(size):
        before = labels(stream)
        for other, _ in moves(labels, max(reach), size)(stream):
            acts = list(zip(stream, other, strict=True))
            if any(b.at - a.at > reach[side(a)] for a, b in acts):
                continue  # further than this act's own policy promises
            lost = [a for a, x, y in zip(stream, before, labels(other), strict=True) if x and not y]
            ratio, _ = _largest_ratio(blocks(stream), blocks(other), len(stream))
            crossed = sum(side(a) != side(b) for a, b in acts)
            promised = sum(policies[side(act)].share for act in lost)
            yield crossed, inf if ratio is None else log_of(ratio) - float(promised)


CHANGES = {
    "longer gap": (policy("2s"), policy("3s")),
    "shorter gap": (policy("3s"), policy("2s")),
    "smaller epsilon": (policy("2s"), policy("2s", epsilon="0.8")),
    "larger epsilon": (policy("2s", epsilon="1"), policy("2s", epsilon="2")),
    "no window": (policy("2s", window="0s"), policy("3s", window="0s")),
    "simultaneous": (
        policy("2s", labels="simultaneous", window=None),
        policy("4s", labels="simultaneous", window=None),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_loss_is_what_small_streams_show(name):
    """Acts that do not cross the change keep their promise, each that does loses `extra`, and one does."""
    old, new = CHANGES[name]
    extra = straddle_loss(old, new).extra
    losses = list(straddling_losses(old, new))

    assert extra > 0
    assert max(loss for crossed, loss in losses if not crossed) <= 1e-12
    for count in (1, 2):
        worst = max(loss for crossed, loss in losses if crossed == count)
        assert worst == (inf if extra == inf else pytest.approx(count * extra, abs=1e-8))


def test_the_same_policy_again_costs_nothing():
    """A change of name alone is free, also for acts that cross it."""
    old, new = policy("2s"), policy("2s", starts_at=1)

    assert straddle_loss(old, new).free
    assert max(loss for _, loss in straddling_losses(old, new)) <= 1e-12


# --- the loss, by formula and by tick ----------------------------------------------------------------

zero_inflated = st.builds(
    policy,
    st.integers(2, 60).map(Fraction),
    epsilon=st.sampled_from(["0.2", "0.5", "1", "2", "4"]),
    weight=st.sampled_from(["0", "0.5", "1"]),
)


@given(old=zero_inflated, new=zero_inflated)
def test_the_formula_for_the_default_law(old, new):
    """ln[(L_new / eta_new) / (L_old / eta_old)] where L does not shrink, and no bound where it does."""
    (old_end, old_eta), (new_end, new_eta) = (
        (pair.batched.maximum + 1, pair.eta) for pair in (old.mechanism().pair, new.mechanism().pair)
    )
    extra = straddle_loss(old, new).extra

    if new_end < old_end:
        assert extra == inf
    else:
        formula = log((new_end / new_eta) / (old_end / old_eta))
        assert extra == pytest.approx(max(0.0, formula), abs=1e-8)


def test_between_two_ticks_one_tick_less_is_still_bounded():
    """L_new = L_old - 1 has no bound only where a change falls inside a tick, and the shift can be 0."""
    old, new = (
        policy("2s", law=lambda ask, end=end: zero_inflated_pair(ask.ratio, ask.start, end))
        for end in (12, 11)
    )

    assert straddle_loss(old, new).extra == inf
    assert brute_force(old, new, shifts=range(1, 4)) < 1
    losses = {change: list(straddling_losses(old, new, change)) for change in (CHANGE, CHANGE + 1)}
    assert max(loss for _, loss in losses[CHANGE]) == inf  # inside tick 2
    assert max(loss for _, loss in losses[CHANGE + 1]) < 1  # between ticks 2 and 3


@pytest.mark.parametrize(("before", "after"), list(product(LAWS, LAWS)))
def test_every_law_against_every_law(before, after):
    """Longer gaps, shorter gaps and other epsilons, law by law: what looking at every tick shows."""
    for gap, later, epsilon in product((3, 5), (3, 4, 7), ("0.6", "1")):
        old = policy(Fraction(gap), law=before)
        new = policy(Fraction(later), law=after, epsilon=epsilon)
        batched, unbatched = old.mechanism().pair.batched, new.mechanism().pair.unbatched

        found = straddle_loss(old, new)

        if slower(batched, unbatched):
            assert found.extra == inf
        else:
            assert found.extra == pytest.approx(brute_force(old, new), abs=1e-8), (gap, later, epsilon)
            assert found.free is (brute_force(old, new) < 1e-8)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("gap", ["2s", "11m", "1d"])
def test_a_law_that_stays_costs_exactly_nothing(law, gap):
    """Where nothing changes, no rounding makes a loss of what was promised."""
    found = straddle_loss(policy(gap, law=law), policy(gap, law=law))

    assert (found.extra, found.chance, found.free) == (0.0, 0.0, True)
    assert found.at == "no release tells more than was promised"


weights = st.lists(st.integers(0, 6), min_size=1, max_size=7).filter(any)


def law_of(masses):
    return Law.of_masses([Fraction(mass, sum(masses)) for mass in masses])


@given(batched=weights, unbatched=weights, start=st.integers(1, 4))
def test_any_two_laws_with_an_end(batched, unbatched, start):
    """For laws of one's own, too, the loss is the worst over every delay and every shift."""
    old = own(law_of(batched), law_of([1]), start)
    new = own(law_of([1]), law_of(unbatched), start + 1)

    assert straddle_loss(old, new).extra == pytest.approx(brute_force(old, new))


@st.composite
def endless(draw):
    head = draw(st.just([]) | weights)
    period = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    ratio = draw(st.sampled_from([Fraction(3, 2), Fraction(2), Fraction(3)]))
    total = sum(head) + sum(period) * ratio / (ratio - 1)
    runs = [tuple(Run(1, Fraction(mass) / total) for mass in part) for part in (head, period)]
    return Law(*runs, ratio)


@given(batched=endless(), unbatched=endless() | weights.map(law_of), start=st.integers(1, 4))
def test_an_endless_law_against_any_other(batched, unbatched, start):
    """A tail that falls more slowly than the new one has no bound; the others are as their first ticks."""
    old, new = own(batched, law_of([1]), start), own(law_of([1]), unbatched, start)

    expected = inf if slower(batched, unbatched) else brute_force(old, new, horizon=60)

    assert straddle_loss(old, new).extra == pytest.approx(expected)


def test_the_witness_is_a_true_one():
    """The words name both gaps, and a release and a shift at which the loss is seen."""
    old, new = policy("11m"), policy("15m")
    found = straddle_loss(old, new)
    delay, zero, shift = map(int, re.findall(r"tick (\d+)", found.at))
    ratio = old.mechanism().pair.batched.mass(delay) / new.mechanism().pair.unbatched.mass(delay - shift)

    assert zero == 0
    assert log_of(ratio) - float(old.share) == pytest.approx(found.extra)
    assert "old policy (gap 11m)" in found.at
    assert "new policy (gap 15m)" in found.at


def test_a_loss_without_bound_says_so():
    """Never seen under the new policy, or ever rarer there: the words tell which."""
    never = straddle_loss(policy("15m"), policy("11m"))
    rarer = straddle_loss(policy("15m", law="exponential"), policy("11m", law="exponential"))

    assert never.extra == rarer.extra == inf
    assert "and never when it arrives unbatched" in never.at
    assert rarer.at.endswith("later releases tell ever more")


# --- periods that hardly meet ------------------------------------------------------------------------


@pytest.mark.parametrize("laws", [("staircase", "staircase"), ("exponential", "staircase")], ids="-".join)
def test_periods_that_hardly_meet_have_a_bound(laws):
    """Staircases of 3133 and 3201 ticks meet after millions of ticks: the loss is bounded, not refused."""
    old, new = (
        policy(gap, law=law, window="5m") for gap, law in zip(("2833s", "2901s"), laws, strict=True)
    )
    batched, unbatched = old.mechanism().pair.batched, new.mechanism().pair.unbatched
    assert common_period(batched, unbatched) is None
    # both laws only fall, so that a shift of 0 is the worst; 40 periods show all there is
    steps = {first for law in (batched, unbatched) for first, _, _ in law.steps(40 * 3201)}
    ends = {last for law in (batched, unbatched) for _, last, _ in law.steps(40 * 3201)}
    worst = max(
        logs(batched, k) - logs(unbatched, k)
        for k in sorted(steps | ends)[::7]
        if batched.term(k).coefficient
    )

    found = straddle_loss(old, new)

    assert worst - float(SHARE) <= found.extra <= worst + 1e-9
    assert "no release is more than" in found.at
    assert straddle_loss(new, old).extra == inf


# --- a season ----------------------------------------------------------------------------------------

SEASON = Season(acts=400, epsilon=Fraction(50), delta=Fraction("0.01"))


def season_policy(blocks, **choices):
    order = "2" if blocks else None
    law = "cosine" if blocks else "zero-inflated-uniform"
    return Policy(gap="4s", window="1s", law=law, blocks=blocks, order=order, season=SEASON, **choices)


def largest_log_ratio(batched, unbatched, reach):
    """The worst of ln(b(k) / u(k - l)), from the masses alone."""
    delays = [k for k in range(batched.tail_start) if batched.mass(k)]
    return max(
        log(batched.mass(k) / unbatched.mass(k - l)) if k >= l and unbatched.mass(k - l) else inf
        for k in delays
        for l in range(reach + 1)
    )


@pytest.mark.parametrize(("before", "after"), [(7, 9), (7, 12), (9, 7), (7, None), (None, 12)])
def test_in_a_season_what_counts_is_the_largest_ratio_of_the_old_law(before, after):
    """Not what the season leaves for one act: a law whose loss varies may lose more in one of them."""
    old, new = season_policy(before), season_policy(after)
    mine, theirs = old.mechanism().pair, new.mechanism().pair
    own_loss = largest_log_ratio(mine.batched, mine.unbatched, mine.start)
    crossing = largest_log_ratio(mine.batched, theirs.unbatched, mine.start)

    if before:
        assert own_loss > 1.2 * float(SEASON.share)
    expected = inf if crossing == inf else pytest.approx(max(0.0, crossing - own_loss), abs=2e-6)
    assert straddle_loss(old, new).extra == expected


def test_a_season_policy_that_stays_costs_nothing():
    """Its own largest loss is what was promised: by the season's share alone this would be refused."""
    old = season_policy(7)

    assert straddle_loss(old, old).free
    assert straddle_loss(old, season_policy(7, starts_at=1)).free


# --- gaps, refusals ----------------------------------------------------------------------------------

named_gaps = st.dictionaries(st.sampled_from("ab"), st.sampled_from(["2s", "3s", "5s", "9s"]), max_size=2)


@settings(max_examples=50)
@given(targets=st.tuples(named_gaps, named_gaps), tracks=st.tuples(named_gaps, named_gaps))
def test_an_act_keeps_its_target_and_its_track(targets, tracks):
    """The loss is the worst over what any target on any track is given by both policies."""
    old, new = (
        policy(gap, target_gaps=target, track_gaps=track, law="uniform")
        for gap, target, track in zip(("3s", "4s"), targets, tracks, strict=True)
    )
    worst = max(
        straddle_loss(*(policy(each.gap_for(target, track), law="uniform") for each in (old, new))).extra
        for target, track in product(("a", "b", "another"), ("a", "b", None))
    )

    assert straddle_loss(old, new).extra == worst


@pytest.mark.parametrize(
    "choices",
    [{"tick": "2s"}, {"window": "2s"}, {"labels": "follower"}],
    ids=lambda choices: next(iter(choices)),
)
def test_tick_window_and_labels_stay(choices):
    """They decide who is batched: a change of one needs a pause, and the sentence says so."""
    with pytest.raises(
        BadInput, match=r"must keep tick, window and labels, not turn .*: pause admission before it"
    ):
        straddle_loss(policy("11m"), policy("11m", **choices))


def test_a_window_of_as_many_ticks_is_the_same():
    """What counts is the window in ticks, as in a store."""
    assert straddle_loss(policy("11m", window="1s"), policy("11m", window="500ms")).free


def test_another_deadline_has_no_bound():
    """What is let out at a deadline that only one of the policies has tells which one it was."""
    old, new = policy("11m", deadline_at=10**6), policy("11m", deadline_at=10**6 + 1)

    assert straddle_loss(old, old).free
    for found in (straddle_loss(old, new), straddle_loss(new, old), straddle_loss(policy("11m"), old)):
        assert found.extra == inf
        assert "deadline" in found.at


# --- without labels ----------------------------------------------------------------------------------


def label_free(gap, **choices):
    named = {"labels": "none", "law": "label-free", "delta": "0.01", "window": None, **choices}
    return policy(gap, **named)


def brute_excess(old, new):
    """By how much the worst excess over all shifts is above delta, tick by tick."""
    mine, theirs = old.mechanism().pair, new.mechanism().pair
    factor, _ = around_exp(old.epsilon)
    law, later = mine.unbatched, theirs.unbatched
    worst = max(
        sum(max(Fraction(0), law.mass(k) - factor * later.mass(k - l)) for k in range(law.tail_start))
        for l in range(mine.start + 1)
    )
    return float(max(Fraction(0), worst - old.delta))


@pytest.mark.parametrize(("gap", "later"), [("6s", "6s"), ("6s", "9s"), ("9s", "6s"), ("6s", "7s")])
@pytest.mark.parametrize("epsilon", ["0.8", "1", "1.3"])
def test_a_label_free_law_fails_more_often(gap, later, epsilon):
    """At the old epsilon delta grows by `chance`, which is what looking at every tick and shift shows."""
    old, new = label_free(gap), label_free(later, epsilon=epsilon)

    found = straddle_loss(old, new)

    assert found.extra == 0
    assert found.chance == pytest.approx(brute_excess(old, new), abs=1e-12)
    assert found.free is (found.chance == 0)
    assert found.free or "by a chance of" in found.at


@given(
    first=weights,
    second=weights,
    start=st.integers(1, 4),
    delta=st.fractions("0.02", "0.9", max_denominator=50),
)
def test_any_two_label_free_laws(first, second, start, delta):
    """Looking only at shifts where ends of runs of the two laws meet finds what all shifts show."""

    def whole(masses):
        law = law_of(masses)
        return label_free(
            Fraction(start),
            delta=delta,
            law=lambda ask: LawPair(batched=law, unbatched=law, start=ask.start),
        )

    old, new = whole(first), whole(second)

    assert straddle_loss(old, new).chance == pytest.approx(brute_excess(old, new), abs=1e-12)


# --- size --------------------------------------------------------------------------------------------


def test_a_day_in_seconds_takes_no_time():
    """Every pair of laws over gaps of a day, and the label-free one, is answered within seconds."""
    began = perf_counter()
    for before, after, later in product(LAWS, LAWS, ("1d", "25h", "86401s", "1h")):
        straddle_loss(policy("1d", law=before), policy(later, law=after))
    straddle_loss(label_free("1d"), label_free("25h"))

    assert perf_counter() - began < 20
