"""Choices against the exact number line: every tie, at every digit, falls on the right side."""

from fractions import Fraction
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.scripted_entropy import Script, ScriptedLanes
from tarry.core.entropy import DIGIT, Seeded
from tarry.core.sampler import Chooser, Geometric

PLACES = 6
digits = st.one_of(st.integers(0, DIGIT - 1), st.sampled_from([0, 1, DIGIT - 2, DIGIT - 1]))
weights = st.lists(st.integers(0, 2**90) | st.integers(0, 5), min_size=2, max_size=6).filter(any)
RATIOS = [
    Fraction(*pair)
    for pair in (
        (3, 1),
        (2, 1),
        (5, 3),
        (9, 7),
        (17, 15),
        (4, 3),
        (8, 7),
        (1001, 1000),
        (2**33 + 1, 2**33),
        (50, 1),
    )
]


def shares_of(numbers):
    """Shares in proportion to numbers."""
    return [Fraction(number, sum(numbers)) for number in numbers]


def digits_of(cut, count):
    """The first digits of a fraction in base 2^32."""
    return [int(cut * DIGIT ** (place + 1)) % DIGIT for place in range(count)]


def interval(script):
    """The reals that begin with the digits a script was asked for."""
    count = len(script.asked)
    low = sum(Fraction(d, DIGIT ** (i + 1)) for i, d in enumerate(script.answers[:count]))
    return low, low + Fraction(1, DIGIT**count)


@st.composite
def near_ties(draw):
    """Shares, and a real that agrees with one of the cuts in 0 to 3 digits."""
    shares = shares_of(draw(weights))
    cut = draw(st.sampled_from(list(accumulate(shares[:-1]))))
    agreeing = draw(st.integers(0, 3))
    beyond = draw(st.lists(digits, min_size=PLACES - agreeing, max_size=PLACES - agreeing))
    last = draw(st.integers(1, DIGIT - 1))  # a real of zeros alone would tie with 0 for ever
    return shares, [*(min(d, DIGIT - 1) for d in digits_of(cut, agreeing)), *beyond, last]


@given(case=near_ties())
def test_draw_counts_the_cuts_below(case):
    """The answer is how many cuts lie below the real, from as few digits as show it."""
    shares, written = case
    cuts = list(accumulate(shares[:-1]))
    script = Script(written)

    answer = Chooser.of_shares(shares).draw(script)

    low, high = interval(script)
    assert answer == sum(cut < low for cut in cuts)
    assert not any(low <= cut < high for cut in cuts)
    assert set(script.asked) == {DIGIT}
    if len(script.asked) > 1:
        script.asked.pop()
        low, high = interval(script)
        assert any(low <= cut < high for cut in cuts)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("step", [-1, 1])
def test_ties_at_each_digit(place, step):
    """A real that leaves a cut at its first, second or third digit is decided there, either way."""
    shares = shares_of([1, 2, 4])
    for index, cut in enumerate(accumulate(shares[:-1])):
        written = digits_of(cut, place + 1)
        written[place] += step
        script = Script(written)

        assert Chooser.of_shares(shares).draw(script) == index + (step > 0)
        assert script.used_up


@pytest.mark.parametrize(
    ("step", "further", "expected"), [(-1, [], 0), (1, [0], 1), (2, [0], 2), (3, [], 3)]
)
def test_cuts_that_tie_with_each_other(step, further, expected):
    """Cuts that differ in their third digit alone are told apart by the third digit."""
    tiny = Fraction(1, DIGIT**3)
    shares = [Fraction(1, 3), tiny, tiny, Fraction(2, 3) - 2 * tiny]
    first, second, third = digits_of(Fraction(1, 3), 3)
    script = Script([first, second, third + step, *further])

    assert Chooser.of_shares(shares).draw(script) == expected
    assert script.used_up


def test_what_has_no_share_is_never_chosen():
    """Things with a share of zero, at either end or between, are passed over."""
    choice = Chooser.of_shares([Fraction(share) for share in ("0", "0.5", "0", "0.5", "0")])

    chosen = [choice.draw(Script([digit, 1])) for digit in (0, 1, DIGIT // 2 - 1, DIGIT // 2, DIGIT - 1)]

    assert chosen == [1, 1, 1, 3, 3]


def test_a_single_thing_asks_for_nothing():
    """Where there is nothing to choose, no randomness is used."""
    script = Script([])

    assert Chooser.of_shares([Fraction(1)]).draw(script) == 0
    assert Chooser.of_shares([Fraction(1)]).draw_many(ScriptedLanes([script] * 3)).tolist() == [0, 0, 0]


@given(cases=st.lists(near_ties(), min_size=1, max_size=4), data=st.data())
def test_draw_many_is_draw(cases, data):
    """A vector of lanes chooses what each lane alone would, ties included, and uses the same digits."""
    choice = Chooser.of_shares(cases[0][0])
    written = [digits for _, digits in cases]
    written += [digits_of(cut, 2) + [7] * PLACES for cut in accumulate(cases[0][0][:-1])]
    which = data.draw(st.permutations(range(len(written))))[: data.draw(st.integers(1, len(written)))]
    alone = [Script(answers) for answers in written]
    lanes = [Script(answers) for answers in written]

    expected = [choice.draw(alone[i]) for i in which]
    found = choice.draw_many(ScriptedLanes(lanes), np.array(which))

    assert found.tolist() == expected
    assert [lanes[i].asked for i in range(len(lanes))] == [alone[i].asked for i in range(len(lanes))]


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
def test_coins_are_exact(ratio):
    """The cut of coin i is x / (1 + x) with x = ratio^-(2^i), cut off where asked, never rounded."""
    geometric = Geometric(ratio)

    for i, coin in enumerate(geometric.coins[:11]):
        x = 1 / ratio ** (1 << i)
        for bits in (0, 1, 3, 32, 64, 200):
            assert coin.cuts[0](bits) == int(x / (1 + x) * 2**bits)
    if len(geometric.coins) <= 11:
        onward = 1 / ratio ** (1 << len(geometric.coins))
        for bits in (0, 1, 32, 64, 200):
            assert geometric._onward.cuts[0](bits) == int(onward * 2**bits)


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
def test_as_many_coins_as_needed(ratio):
    """Coins are added until going on once more has a chance below one half."""
    count = len(Geometric(ratio).coins)

    assert count == 0 or _at_least_half(ratio, 1 << (count - 1))
    assert not _at_least_half(ratio, 1 << count)


def _at_least_half(ratio, exponent):
    """Whether ratio^-exponent >= 1/2, by squaring fractions that are rounded to 300 digits."""
    power, scale = 1 / ratio, 10**300
    for _ in range(exponent.bit_length() - 1):
        power = Fraction(int(power * power * scale), scale)
    return power >= Fraction(1, 2)


@pytest.mark.parametrize("ratio", [r for r in RATIOS if r > Fraction(101, 100)], ids=str)
def test_counts_are_exactly_geometric(ratio):
    """The chances of the coins and of going on multiply to (1 - 1/r) r^-j for every j."""
    geometric = Geometric(ratio)
    count = len(geometric.coins)
    onward = 1 / ratio ** (1 << count)

    for heads, rounds in product(product((0, 1), repeat=count), range(3)):
        chance = onward**rounds * (1 - onward)
        for i, head in enumerate(heads):
            x = 1 / ratio ** (1 << i)
            chance *= x / (1 + x) if head else 1 / (1 + x)
        # digit 0 stays below every cut and shows a head, the largest digit shows none
        script = Script([*(0 if head else DIGIT - 1 for head in heads), *[0] * rounds, DIGIT - 1])

        j = geometric.draw(script)

        assert script.used_up
        assert chance == (1 - 1 / ratio) / ratio**j


@pytest.mark.parametrize("ratio", RATIOS, ids=str)
def test_geometric_draw_many_is_draw(ratio):
    """A vector of lanes counts what each lane alone would, for any of the lanes."""
    geometric = Geometric(ratio)
    which = np.array([4, 0, 17, 9])

    def streams():
        return [Seeded(5).stream("actor", "target", event) for event in range(20)]

    lanes, alone = streams(), streams()
    found = geometric.draw_many(ScriptedLanes(lanes), which)

    assert found.tolist() == [geometric.draw(alone[i]) for i in which]
    assert [lane.position for lane in lanes] == [stream.position for stream in alone]
