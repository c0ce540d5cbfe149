"""The accountant is never below the truth, and close above it."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from math import exp, isclose, log
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core import accountant
from tarry.core.accountant import Losses, ln_above, losses_of_blocks
from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import exceeds_exp

EPSILONS = [Fraction(text) for text in ("0", "0.1", "0.35", "1", "2.5")]


def exact_ratios(batched, unbatched, acts):
    """The chance of every product of ratios P/Q after so many acts, in fractions; None where Q is 0."""
    one = Counter()
    for p, q in zip(batched, unbatched, strict=True):
        if p:
            one[Fraction(p, sum(batched)) / Fraction(q, sum(unbatched)) if q else None] += Fraction(
                p, sum(batched)
            )
    whole = Counter({Fraction(1): Fraction(1)})
    for _ in range(acts):
        more = Counter()
        for (a, chance), (b, other) in product(whole.items(), one.items()):
            more[None if a is None or b is None else a * b] += chance * other
        whole = more
    return whole


def exact_delta(ratios, epsilon):
    """Bounds of the sum over what is seen of max(0, P - e^epsilon Q), from below and above."""
    scale = Fraction(10) ** 15
    below = Fraction(int(exp(epsilon) * scale) - 10**4, scale)

    def excess(c):
        return sum(
            (chance if ratio is None else max(Fraction(0), chance * (1 - c / ratio)))
            for ratio, chance in ratios.items()
        )

    return excess(below + Fraction(2, 10**10)), excess(below)


small_laws = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=4).filter(
    lambda masses: any(p and q for p, q in masses)
)


@given(small_laws, st.integers(1, 4), st.sampled_from(EPSILONS))
def test_delta_is_never_below_the_truth(masses, acts, epsilon):
    batched, unbatched = zip(*masses, strict=True)
    low, _ = exact_delta(exact_ratios(batched, unbatched, acts), epsilon)

    assert losses_of_blocks(batched, unbatched).times(acts).delta(epsilon) >= low


@pytest.mark.parametrize("longest", [4096, 40])
@pytest.mark.parametrize("cut", [0, 22, 60])
def test_on_a_thousand_small_laws_it_is_at_least_the_truth_and_hardly_more(monkeypatch, longest, cut):
    """Also with rows so short, and ends cut off so early, that both happen all the time."""
    monkeypatch.setattr(accountant, "_LONGEST", longest)
    monkeypatch.setattr(accountant, "_CUT", accountant._ONE >> (cut or 50))
    random, excess = Random(5), []
    for _ in range(200):
        blocks = random.randint(2, 5)
        batched, unbatched = ([random.randint(10, 20) for _ in range(blocks)] for _ in range(2))
        acts, epsilon = random.randint(1, 4), random.choice(EPSILONS)
        low, high = exact_delta(exact_ratios(batched, unbatched, acts), epsilon)
        ours = losses_of_blocks(batched, unbatched).times(acts).delta(epsilon)
        assert ours >= low
        excess.append(float(ours - high))

    # A wide grid splits ratios far apart: that is allowed to cost, and on the fine one hardly does.
    assert max(excess) < (0.002 if longest == 4096 and cut != 22 else 0.2)


def reference(batched, unbatched, acts, epsilon):
    """Delta by floats on a fine grid, with the fast Fourier transform: it shares nothing with ours."""
    p, q = (np.array(masses) / sum(masses) for masses in (batched, unbatched))
    loss, grid = np.log(p[p > 0] / q[p > 0]), 2e-5
    low, size = np.floor(loss.min() / grid) * grid * 1.0, 1 << 21
    row = np.zeros(size)
    place = (loss - low) / grid
    whole = np.floor(place).astype(int)
    part = place - whole
    np.add.at(row, whole, p[p > 0] * (1 - part))
    np.add.at(row, whole + 1, p[p > 0] * part)
    total = np.fft.irfft(np.fft.rfft(row) ** acts, size)
    # The row is a circle: read it from far below the mean.
    mean = acts * (p[p > 0] * loss).sum()
    places = np.arange(size)
    turn = size * grid
    losses = acts * low + places * grid
    losses -= np.round((losses - mean) / turn) * turn
    return float((total * np.maximum(0, 1 - np.exp(epsilon - losses))).sum())


def test_the_season_of_a_real_law_is_within_a_hundredth_of_a_fine_reference():
    """39 blocks of order 4 and 200 acts: 2.325, 3.427 and 4.210 at 1e-2, 1e-4 and 1e-6."""
    from decimal import Decimal

    from tarry.core.laws.cosine import cosine_masses

    unbatched, batched = cosine_masses(39, Decimal(4))
    season = losses_of_blocks((0, *batched), unbatched).times(200)

    for delta in ("0.01", "0.0001", "0.000001"):
        epsilon = season.epsilon(Fraction(delta))
        true = reference((0, *batched), unbatched, 200, float(epsilon))
        assert true <= float(delta) <= 1.03 * true  # 1 % of epsilon is far more than 3 % of delta
        lower = reference((0, *batched), unbatched, 200, float(epsilon) * 0.99)
        assert lower > float(delta)


@given(small_laws, st.integers(1, 6))
def test_delta_falls_with_epsilon_and_grows_with_acts(masses, acts):
    batched, unbatched = zip(*masses, strict=True)
    one = losses_of_blocks(batched, unbatched)
    few = one.times(acts)
    more = few + one
    slack = Fraction(1, 10**6)  # of the grid

    for low, high in pairwise(EPSILONS):
        assert few.delta(low) >= few.delta(high)
    assert all(few.delta(each) <= more.delta(each) + slack for each in EPSILONS)


@given(small_laws, st.integers(1, 6), st.fractions("0.001", "0.9"))
def test_epsilon_and_delta_are_each_others_inverse(masses, acts, delta):
    batched, unbatched = zip(*masses, strict=True)
    season = losses_of_blocks(batched, unbatched).times(acts)
    try:
        epsilon = season.epsilon(delta)
    except NotPossible:
        assert season.proof > delta * 2**72
        return

    assert season.delta(epsilon) <= delta
    if epsilon > Fraction(1, 100):
        assert season.delta(epsilon - Fraction(1, 100)) > delta


@given(small_laws, st.integers(1, 4), st.sampled_from(EPSILONS))
def test_the_chance_to_move_the_odds_further_is_bounded(masses, acts, epsilon):
    batched, unbatched = zip(*masses, strict=True)
    ratios = exact_ratios(batched, unbatched, acts)
    true = sum(
        chance
        for ratio, chance in ratios.items()
        if ratio is None or exceeds_exp(ratio, epsilon + Fraction(1, 1000))
    )

    assert losses_of_blocks(batched, unbatched).times(acts).chance_above(epsilon) >= true


def test_sums_may_be_taken_in_any_order():
    """Different acts one after the other: what other policies add is a factor more."""
    one, two = losses_of_blocks([3, 2, 1], [1, 2, 3]), losses_of_blocks([5, 1], [4, 2])
    season, other = one.times(3) + two.times(2), two + one + two + one + one

    assert season.acts == other.acts == 5
    assert isclose(season.delta(Fraction(1, 2)), other.delta(Fraction(1, 2)), abs_tol=1e-9)


def test_on_a_wider_grid_the_bound_is_larger_and_close():
    one = losses_of_blocks([5, 4, 3, 3], [3, 3, 4, 5])
    fine, wide = (
        one.times(50).epsilon(Fraction(1, 100)),
        one.on_grid(16).times(50).epsilon(Fraction(1, 100)),
    )

    assert fine < wide < fine * Fraction(1005, 1000)


def test_a_constant_loss_has_no_discount():
    """The stories of the older laws: the release is seen with a certain chance, or not at all."""
    season = losses_of_blocks([0, 1], [1, 9]).times(20)

    assert isclose(season.epsilon(Fraction(1, 100)), 20 * log(10 / 9) + log(0.99), abs_tol=2e-4)
    assert isclose(season.quantile(0.5), season.quantile(0.999), abs_tol=0.01)


def test_what_is_rounded_down_is_found():
    """A sum that forgets its rounding loses mass, and says less than the truth."""
    one = losses_of_blocks([2, 1], [1, 2])
    short = Losses(
        one.acts, one.first, one.width, tuple(mass * 999 // 1000 for mass in one.masses), one.proof
    )
    low, _ = exact_delta(exact_ratios([2, 1], [1, 2], 3), Fraction(1, 10))

    assert short.times(3).delta(Fraction(1, 10)) < low <= one.times(3).delta(Fraction(1, 10))


@pytest.mark.parametrize("ratio", ["1", "1.0000001", "2", "2.718281", "1000000"])
def test_logarithms_are_rounded_up(ratio):
    nats = ln_above(Fraction(ratio))

    assert not exceeds_exp(Fraction(ratio), nats)
    assert nats - log(float(Fraction(ratio))) <= 1.01e-6


def test_no_season_has_less_than_one_act():
    with pytest.raises(BadInput, match="at least one act, not 0"):
        losses_of_blocks([1], [1]).times(0)


def test_what_always_tells_has_no_epsilon():
    with pytest.raises(NotPossible, match="choose a larger delta"):
        losses_of_blocks([1, 1], [0, 1]).epsilon(Fraction(1, 3))
