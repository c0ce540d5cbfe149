"""The two pure steps: draws that follow both laws exactly, and a release that nothing can shorten."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.entropy import Secure, Seeded
from tarry.core.errors import BadInput
from tarry.core.law import Law, Run
from tarry.core.laws import LAWS
from tarry.core.mechanism import Ask, LawPair, shifted_pair
from tarry.core.plugins import load
from tarry.core.policy import Policy
from tarry.core.release import (
    Draws,
    after_parents,
    coupled_draws,
    draw_pair,
    needs_second_draw,
    release_ticks,
    told_span,
)
from tarry.core.season import Season

ASK = Ask(
    share=Fraction(1, 2),
    start=3,
    weight=Fraction(1, 4),
    delta=Fraction(1, 20),
    blocks=4,
    order=Decimal(2),
)
QUARTERS = LawPair(
    batched=Law.of_masses([0, 0, 0, Fraction(1, 4), Fraction(3, 4)]),
    unbatched=Law.of_masses([Fraction(1, 4)] * 4),
    start=3,
)
PAIRS = {**{name: load("law", name)(ASK) for name in LAWS}, "uncoupled": QUARTERS}
TICKS = st.integers(0, 10**6)
DRAWS = st.builds(Draws, TICKS, TICKS)


def joint(pair, end):
    """The chance of each result of `coupled_draws` with draws below `end`, and the laws it drew from."""
    chances, asked = Counter(), set()
    for x in range(end):
        for y in range(end):
            values, laws = iter((x, y)), []

            def draw(law, values=values, laws=laws):
                laws.append(law)
                return next(values)

            result = coupled_draws(pair, draw)
            asked.add(tuple(id(law) for law in laws))
            if len(laws) == 2:
                chances[result] += pair.unbatched.mass(x) * pair.batched.mass(y)
            elif y == 0:
                chances[result] += pair.unbatched.mass(x)
    return {draws: chance for draws, chance in chances.items() if chance}, asked


@pytest.mark.parametrize("name", PAIRS)
def test_coupled_draws_follow_both_laws_exactly(name):
    """Over all draws, the delay under each label has exactly its law, whichever law it is."""
    pair = PAIRS[name]
    end = 12 if pair.batched.maximum is None else pair.batched.maximum + 1
    chances, _ = joint(pair, end)
    batched, unbatched = Counter(), Counter()
    for draws, chance in chances.items():
        batched[draws.batched] += chance
        unbatched[draws.unbatched] += chance

    assert [batched[k] for k in range(end)] == [pair.batched.mass(k) for k in range(end)]
    if pair.batched.maximum is not None:  # else some of the mass lies with far second draws
        assert [unbatched[k] for k in range(end)] == [pair.unbatched.mass(k) for k in range(end)]


@pytest.mark.parametrize("name", ["zero-inflated-uniform", "uniform", "exponential", "staircase"])
def test_a_long_draw_serves_both_labels(name):
    """Where one law continues the other, a delay of at least the start is the same under both labels."""
    chances, asked = joint(PAIRS[name], 10)
    once, twice = (id(PAIRS[name].unbatched),), (id(PAIRS[name].unbatched), id(PAIRS[name].batched))

    assert all(draws.settled == (draws.unbatched >= 3) for draws in chances)
    assert asked == {once, twice}


def test_laws_that_do_not_continue_each_other_are_drawn_apart():
    """Without that relation both labels have draws of their own, even for a long first draw."""
    chances, asked = joint(QUARTERS, 5)

    assert chances[Draws(3, 4)] == Fraction(1, 4) * Fraction(3, 4)
    assert asked == {(id(QUARTERS.unbatched), id(QUARTERS.batched))}


def test_a_label_free_law_is_drawn_once():
    """One law for both labels means one draw, and no label changes it."""
    pair = PAIRS["label-free"]
    chances, asked = joint(pair, 8)

    assert all(draws.settled for draws in chances)
    assert asked == {(id(pair.unbatched),)}


@given(DRAWS)
def test_draws_answer_by_label(draws):
    """The label alone picks one of the two delays, and draws are settled when both are one."""
    assert (draws.ticks(batched=True), draws.ticks(batched=False)) == (draws.batched, draws.unbatched)
    assert draws.settled == (draws.batched == draws.unbatched)


@given(TICKS, DRAWS, st.booleans(), TICKS)
def test_a_release_is_arrival_hold_and_delay(arrival, draws, batched, hold):
    """Without parents and deadline nothing shortens or lengthens the drawn delay."""
    release = release_ticks(arrival, draws, batched=batched, hold=hold)

    assert release == arrival + hold + draws.ticks(batched=batched)


@given(TICKS, DRAWS, st.booleans(), st.lists(st.tuples(TICKS, DRAWS), max_size=4), st.none() | TICKS)
def test_parents_come_first_and_the_deadline_last(arrival, draws, batched, parents, deadline):
    """A release is the maximum of its own time and its parents', then the minimum with the deadline."""
    own, *above = (
        release_ticks(at, drawn, batched=batched, hold=7) for at, drawn in [(arrival, draws), *parents]
    )
    expected = max([own, *above])
    if deadline is not None:
        deadline += max([arrival, *(at for at, _ in parents)])
        expected = min(expected, deadline)
    own, *above = (
        release_ticks(at, drawn, batched=batched, hold=7, deadline=deadline)
        for at, drawn in [(arrival, draws), *parents]
    )

    assert expected == after_parents(own, *above)


@given(st.lists(st.tuples(TICKS, DRAWS, st.booleans(), TICKS), min_size=1), TICKS, st.none() | TICKS)
def test_a_row_is_released_as_an_array_of_them_is(rows, hold, deadline):
    """The keeper and a replay call the same functions: one with a number, the other with columns."""
    arrival, draws, batched, above = zip(*rows, strict=True)
    deadline = None if deadline is None else deadline + max(arrival)
    both = Draws(np.array([d.unbatched for d in draws]), np.array([d.batched for d in draws]))
    columns = release_ticks(
        np.array(arrival), both, batched=np.array(batched), hold=hold, deadline=deadline
    )
    alone = [
        release_ticks(at, drawn, batched=label, hold=hold, deadline=deadline)
        for at, drawn, label, _ in rows
    ]

    assert columns.tolist() == alone
    assert after_parents(columns, np.array(above)).tolist() == [
        after_parents(tick, parent) for tick, parent in zip(alone, above, strict=True)
    ]


@pytest.mark.parametrize("name", PAIRS)
def test_second_draws_are_needed_where_a_row_needs_one(name):
    """Of an array exactly the rows that would draw twice by themselves."""
    delays = np.arange(12)

    assert np.broadcast_to(needs_second_draw(PAIRS[name], delays), 12).tolist() == [
        needs_second_draw(PAIRS[name], delay) for delay in range(12)
    ]


@given(TICKS, DRAWS, TICKS, st.integers(0, 10**6), st.lists(TICKS, max_size=4))
def test_a_label_still_open_at_the_deadline_does_not_matter(arrival, draws, hold, late, parents):
    """A post whose hold ends at the deadline or after it leaves at the deadline under either label."""
    deadline = max(arrival, arrival + hold - late)
    parents = [min(parent, deadline) for parent in parents]  # these leave by the deadline too
    releases = {
        after_parents(release_ticks(arrival, draws, batched=label, hold=hold, deadline=deadline), *parents)
        for label in (True, False)
    }

    assert releases == {deadline}


GAPS = {"target_gaps": {"p1": "20s"}, "track_gaps": {"slow": "90s", "7": "50s"}}


@pytest.mark.parametrize(
    ("target", "track", "start"), [("p2", None, 10), ("p1", "slow", 20), ("p2", "slow", 90), (3, 7, 50)]
)
@pytest.mark.parametrize("source", [Secure(), Seeded(4).stream("ann", "p", 0)], ids=["secure", "seeded"])
@pytest.mark.needs_real_draws("this test is about several that differ")
def test_draw_pair_uses_the_laws_of_the_events_own_gap(target, track, start, source):
    """Target and track choose the gap, and batched delays start there and end where its law does."""
    policy = Policy(epsilon="3", gap="10s", labels="simultaneous", **GAPS)
    end = policy.mechanism(Fraction(start)).pair.batched.maximum
    drawn = [draw_pair(policy, target, track, source) for _ in range(200)]

    assert all(start <= draws.batched <= end for draws in drawn)
    assert all(0 <= draws.unbatched <= end for draws in drawn)
    assert len({draws.batched for draws in drawn}) > 1


def test_the_same_stream_gives_the_same_draws():
    """A seeded event draws the same pair whenever it is asked."""
    policy = Policy(epsilon="1", gap="11m")
    drawn = {draw_pair(policy, "p", None, Seeded(1).stream("ann", "p", 5, 2)) for _ in range(3)}

    assert len(drawn) == 1


def test_an_arrival_after_the_deadline_is_refused():
    """Nothing is released before it arrived."""
    with pytest.raises(BadInput, match=r"must come by the deadline, tick 110, not at tick 120"):
        release_ticks(120, Draws(0, 0), batched=False, deadline=110)


ENDLESS = Law((), (Run(1, Fraction(1, 2)),), Fraction(2))


@pytest.mark.parametrize(
    ("batched", "unbatched", "span"),
    [
        (QUARTERS.batched, QUARTERS.unbatched, (0, 4)),
        (Law.of_masses([0, 0, 0, 1]), Law.of_masses([0, 0, 0, 0, 0, 0, 1]), (3, 6)),
        # 2^-20 < 10^-6 < 2^-19: of delays of 0 to 19 ticks all but one in a million are made
        (Law.of_masses([0, 0, 0, 1]), ENDLESS, (0, 19)),
        (shifted_pair(ENDLESS, 3).batched, ENDLESS.from_tick(1), (1, 22)),
    ],
)
def test_the_span_of_a_pair_holds_every_delay_of_either_law(batched, unbatched, span):
    """From the shortest to the longest; where there is no longest, all but one in a million."""
    assert LawPair(batched=batched, unbatched=unbatched, start=3).span == span


def test_the_span_of_a_law_without_an_end_is_never_one_tick():
    """Nearly all of it at one tick is not all of it: the release is not certain."""
    nearly = Law((Run(1, 1 - Fraction(1, 10**9)),), (Run(1, Fraction(1, 2 * 10**9)),), Fraction(2))

    assert LawPair(batched=nearly, unbatched=replace(nearly), start=0).span == (0, 1)


def test_the_draws_of_a_season_law_are_not_told():
    """It is not coupled: until the label is decided only the span of the law is."""
    season = Season(acts=2, epsilon=Fraction(4), delta=Fraction(1, 100))
    policy = Policy(gap="8s", window="0s", law="cosine", blocks=5, order="2", season=season)

    assert not policy.mechanism().pair.coupled
    assert told_span(policy, "p1", None) == (0, 39)


@pytest.mark.parametrize("name", sorted(set(LAWS) - {"cosine"}))
def test_the_draws_of_our_laws_may_be_told(name):
    """They are coupled, or need no label: nothing is told instead of them."""
    free = {"labels": "none", "delta": "0.1"} if name == "label-free" else {}
    pair = Policy(epsilon="1", gap="8s", law=name, window="0s", **free).mechanism().pair

    assert pair.coupled or pair.label_free
    assert told_span(Policy(epsilon="1", gap="8s", law=name, window="0s", **free), "p1", None) is None


def test_a_span_is_that_of_the_events_own_gap():
    """A track or target with a gap of its own has laws of its own."""
    policy = Policy(
        epsilon="1",
        gap="3s",
        window="0s",
        target_gaps={"p2": "7s"},
        law=lambda ask: shifted_pair(Law.of_masses([1]), ask.start),
    )

    assert [told_span(policy, target, None) for target in ("p1", "p2")] == [(0, 3), (0, 7)]
