"""Laws are decided exactly: proved where they hold, broken with a true witness where they do not."""

from fractions import Fraction
from itertools import product
from math import log
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.brute_force import around_exp, breaks_label_free, breaks_pair, excess, witness_point
from contracts.law_contract import grid
from tarry.core.errors import BadInput
from tarry.core.law import Law, Run
from tarry.core.laws.exponential import exponential, geometric_pair
from tarry.core.laws.label_free import label_free
from tarry.core.laws.staircase import staircase
from tarry.core.laws.uniform import uniform
from tarry.core.laws.zero_inflated import zero_inflated_uniform
from tarry.core.mechanism import Ask, LawPair, Mechanism
from tarry.core.policy import Policy
from tarry.core.release import coupled_draws
from tarry.core.sampler import Sampler
from tarry.core.verify import Size, verify
from tarry.core.verify.laws import verify_label_free, verify_pair
from tarry.core.verify.rules import distribution

EPSILONS = "0.05 0.1 0.2 0.35 0.5 0.7 1 1.4 2 2.5 3 4 5 6 7 8"
STARTS = "1 2 3 4 5 6 8 11 16 23 37 60 75 90 100 128 150 200 250 300"
PAIRS = {
    "zero-inflated-uniform": (
        zero_inflated_uniform,
        grid("0.05 0.1 0.5 1 1.4 2 4 8", "1 2 3 7 20 60 150 300", "0 0.25 0.5 0.75 1"),
    ),
    "uniform": (uniform, grid(EPSILONS, STARTS)),
    "exponential": (exponential, grid(EPSILONS, STARTS)),
    "staircase": (staircase, grid(EPSILONS, STARTS)),
}
LABEL_FREE = grid(
    "0.05 0.1 0.25 0.5 1 2 4 8", "1 2 3 7 20 60 150 300", deltas="0.5 0.1 0.01 0.001 0.000001", split=1
)
STEP = Fraction(1, 1_000_000)
SECONDS = 10

every_pair = pytest.mark.parametrize("name", PAIRS)


def spent(name, pair, ask):
    """What the pair spends of its share, as far as the rounding of its formula is known."""
    if name != "uniform":
        return float(ask.share)
    end = pair.unbatched.maximum + 1  # whole ticks: the ratio is L / (L - G), not R
    return log(end / (end - pair.start))


def broken_at(pair, share):
    """The witness against a share, which must be a true one."""
    verdict = verify_pair(pair, share)
    assert not verdict.holds
    assert verdict.margin <= 0
    delay, shift = witness_point(verdict)
    assert breaks_pair(pair, share, at=(delay, shift))
    return delay, shift


def geometric(ratio):
    """Tick k with mass (1 - 1/ratio) ratio^-k."""
    return Law((), (Run(1, 1 - 1 / Fraction(ratio)),), Fraction(ratio))


@every_pair
def test_three_hundred_configurations(name):
    """Each law is proved over a grid of at least 300 asks, and leaves next to nothing unspent."""
    family, asks = PAIRS[name]
    assert len(set(asks)) >= 300
    for ask in asks:
        pair = family(ask)

        verdict = verify_pair(pair, ask.share)

        assert verdict.holds, ask
        assert verdict.word == "holds"
        assert verdict.witness is None
        assert verdict.margin >= 0
        assert verdict.margin == pytest.approx(float(ask.share) - spent(name, pair, ask), abs=2e-9), ask


@every_pair
def test_a_little_less_is_broken(name):
    """No law keeps a share smaller by a millionth than what it spends, and the witness is true."""
    family, asks = PAIRS[name]
    for ask in asks[::3]:
        pair = family(ask)

        broken_at(pair, Fraction(spent(name, pair, ask)) - STEP)


def test_label_free_configurations():
    """The label-free law is proved over a grid of at least 300 asks, with exactly delta spent."""
    assert len(set(LABEL_FREE)) >= 300
    for ask in LABEL_FREE:
        verdict = verify_label_free(label_free(ask).unbatched, ask.start, ask.share, ask.delta)

        assert verdict.holds, ask
        assert verdict.margin == 0


def test_label_free_with_less_is_broken():
    """A smaller epsilon or a smaller delta is too much to ask of a label-free law."""
    for ask in LABEL_FREE[::7]:
        law = label_free(ask).unbatched
        smaller = ask.delta * (1 - STEP)

        verdict = verify_label_free(law, ask.start, ask.share, smaller)

        assert not verdict.holds
        assert verdict.margin == pytest.approx(float(smaller - ask.delta))
        assert verdict.margin < 0
        if law.mass(ask.start) == ask.ratio * law.mass(0):  # with a single block no epsilon matters
            assert not verify_label_free(law, ask.start, ask.share - STEP, ask.delta).holds


def test_label_free_witness():
    """The witness against a label-free law names a shift whose excess is above delta."""
    law = Law.of_masses([Fraction(1, 2), 0, Fraction(1, 2)])

    verdict = verify_label_free(law, 3, Fraction(1), Fraction(1, 10))

    shift = int(verdict.witness.other.split()[-1])
    assert excess(law, shift, around_exp(Fraction(1))[1]) > Fraction(1, 10)
    assert verdict.witness.ratio == pytest.approx(1.0)
    assert verdict.witness.allowed == pytest.approx(0.1)


def test_label_free_needs_an_end():
    """A law without an end is refused: its excess is not a finite sum of runs."""
    with pytest.raises(BadInput, match="this label-free law has no end"):
        verify_label_free(geometric(2), 3, Fraction(1), Fraction(1, 10))


masses = st.lists(st.integers(0, 6), min_size=1, max_size=7).filter(any)
positive_masses = st.lists(st.integers(1, 6), min_size=1, max_size=4)
starts = st.integers(0, 5)
shares = st.fractions(min_value=Fraction(1, 100), max_value=3, max_denominator=100)


def law_of(weights):
    """A law with an end."""
    return Law.of_masses([Fraction(weight, sum(weights)) for weight in weights])


@given(weights=masses, start=starts, epsilon=shares, delta=st.fractions(0, 1, max_denominator=30))
def test_label_free_like_brute_force(weights, start, epsilon, delta):
    """Looking only at shifts where ends of runs meet finds what looking at all shifts finds."""
    law = law_of(weights)

    verdict = verify_label_free(law, start, epsilon, delta)

    assert verdict.holds is not breaks_label_free(law, start, epsilon, delta)
    worst = max(excess(law, shift, around_exp(epsilon)[0]) for shift in range(start + 1))
    assert verdict.margin == pytest.approx(float(delta - worst), abs=1e-12)


@given(batched=masses, unbatched=masses, start=starts, share=shares)
def test_pairs_with_an_end_like_brute_force(batched, unbatched, start, share):
    """Of two laws with an end, looking only at ends of runs finds what looking at all ticks finds."""
    pair = LawPair(batched=law_of(batched), unbatched=law_of(unbatched), start=start)

    verdict = verify_pair(pair, share)

    assert verdict.holds is not breaks_pair(pair, share)
    if not verdict.holds:
        broken_at(pair, share)


@st.composite
def endless_laws(draw, ratios):
    """A law without an end, with or without a head."""
    head, period, ratio = draw(st.just([]) | masses), draw(positive_masses), draw(ratios)
    total = sum(head) + sum(period) * ratio / (ratio - 1)
    scaled = [[Run(1, weight / total) for weight in part] for part in (head, period)]
    return Law(tuple(scaled[0]), tuple(scaled[1]), ratio)


@given(
    batched=endless_laws(st.sampled_from([Fraction(3), Fraction(4), Fraction(6)])),
    unbatched=endless_laws(st.sampled_from([Fraction(3, 2), Fraction(2), Fraction(3)])),
    start=starts,
    share=shares,
)
def test_pairs_without_an_end_like_brute_force(batched, unbatched, start, share):
    """Of two laws without an end, the first ticks and the tails decide what far ticks would show."""
    pair = LawPair(batched=batched, unbatched=unbatched, start=start)

    verdict = verify_pair(pair, share)

    assert verdict.holds is not breaks_pair(pair, share, horizon=600)
    if not verdict.holds:
        broken_at(pair, share)


@pytest.mark.parametrize("difference", ["1", "0.01", "0.000001", "0.000000000001"])
def test_slower_batched_tail_is_broken(difference):
    """A batched tail that falls more slowly by ever so little is broken, far out, by a true witness."""
    batched, unbatched = geometric(Fraction(3, 2)), geometric(Fraction(3, 2) + Fraction(difference))

    verdict = verify_pair(LawPair(batched=batched, unbatched=unbatched, start=0), Fraction(1, 2))

    assert not verdict.holds
    delay, shift = witness_point(verdict)
    growth = log(1 + float(Fraction(difference) / Fraction(3, 2)))
    apart = log(float(batched.mass(0) / unbatched.mass(0)))
    assert shift == 0
    assert apart + delay * growth > 0.5
    assert verdict.witness.ratio == pytest.approx(2.718281828 ** (apart + delay * growth), rel=1e-3)


def test_slower_tail_after_a_good_beginning():
    """A pair that is fine for its first hundred ticks is still broken by its tail."""
    share = Fraction(1, 2)
    pair = LawPair(batched=geometric(Fraction(3, 2)), unbatched=geometric(Fraction(301, 200)), start=0)
    low, _ = around_exp(share)
    assert all(pair.batched.mass(k) <= low * pair.unbatched.mass(k) for k in range(100))

    delay, _ = broken_at(pair, share)

    assert delay > 100


def test_slower_tail_with_gaps_in_it():
    """A tail that leaves ticks empty is compared where it has mass."""
    batched = Law((), (Run(1, Fraction(0)), Run(1, Fraction(1, 2))), Fraction(2))
    unbatched = Law((), (Run(2, Fraction(3, 8)),), Fraction(4))

    delay, shift = broken_at(LawPair(batched=batched, unbatched=unbatched, start=1), Fraction(1))

    assert delay % 2 == 1
    assert shift == 0


def test_faster_batched_tail_can_hold():
    """A batched tail may fall faster than the unbatched one."""
    pair = LawPair(batched=geometric(3), unbatched=geometric(2), start=0)

    assert verify_pair(pair, Fraction(1, 2)).holds
    assert not breaks_pair(pair, Fraction(1, 2))
    broken_at(pair, Fraction(1, 4))


@pytest.mark.parametrize("lengths", list(product([1, 2, 3], [2, 3, 4])), ids=str)
def test_periods_of_different_length(lengths):
    """How a law is cut into periods does not change the verdict about it."""
    share, ratio = Fraction(1, 2), Fraction(16, 10)

    def written(length):
        runs = tuple(Run(1, (1 - 1 / ratio) / ratio**i) for i in range(length))
        return Law((), runs, ratio**length)

    for start, allowed in product((0, 1, 2), (share, Fraction(47, 100), Fraction(9, 10))):
        shifted = Law((Run(start, Fraction(0)),) if start else (), *_tail(written(lengths[0])))
        pair = LawPair(batched=shifted, unbatched=written(lengths[1]), start=start)

        verdict = verify_pair(pair, allowed)

        assert verdict.holds is not breaks_pair(pair, allowed)
        assert verdict.holds is (ratio**start < around_exp(allowed)[0])


def _tail(law):
    return law.period, law.ratio


def test_periods_that_hardly_meet():
    """Periods that fall together only after very long are refused instead of written out."""
    one, two = (Law((), (Run(n, Fraction(1, 2 * n)),), Fraction(2)) for n in (9973, 9967))

    with pytest.raises(BadInput, match="must meet within 1000 repeats, not"):
        verify_pair(LawPair(batched=one, unbatched=two, start=1), Fraction(1))


def test_endless_batched_against_an_end():
    """A batched law without an end is told at once from an unbatched one that ends."""
    share = Fraction(2)
    unbatched = Law((Run(50, Fraction(1, 50)),))
    pair = LawPair(batched=geometric(Fraction(21, 20)), unbatched=unbatched, start=3)

    delay, shift = broken_at(pair, share)

    assert verify_pair(pair, share).witness.ratio == float("inf")
    assert not 0 <= delay - shift < 50


def test_batched_end_against_endless():
    """A batched law that ends is decided against an unbatched one that does not."""
    unbatched = geometric(Fraction(11, 10))
    pair = LawPair(batched=unbatched.from_tick(4), unbatched=unbatched, start=4)
    ends = LawPair(batched=Law.of_masses([0, 0, 0, 0, 1]), unbatched=unbatched, start=4)

    assert verify_pair(pair, Fraction(1, 2)).holds
    broken_at(ends, Fraction(1, 2))
    assert verify_pair(ends, Fraction(3)).holds


def test_delay_below_the_shift():
    """A batched delay shorter than the start shows that the post cannot have come that late."""
    law = Law((Run(4, Fraction(1, 4)),))

    delay, shift = broken_at(LawPair(batched=law, unbatched=law, start=2), Fraction(5))

    assert delay < shift


def test_broken_first_in_the_second_period():
    """What a head hides for one period is looked for in the next."""
    share = Fraction(1)
    batched = Law((Run(1, Fraction(0)),), tuple(Run(1, Fraction(m, 100)) for m in (25, 24, 1)), Fraction(2))
    unbatched = Law(
        (Run(1, Fraction(2, 5)),), tuple(Run(1, Fraction(m, 100)) for m in (14, 14, 2)), Fraction(2)
    )
    pair = LawPair(batched=batched, unbatched=unbatched, start=1)
    low, _ = around_exp(share)
    assert all(batched.mass(k) <= low * unbatched.mass(k - l) for k in range(1, 4) for l in (0, 1))

    assert broken_at(pair, share) == (4, 1)


@every_pair
@pytest.mark.parametrize("share", ["0.05", "0.5", "4"])
def test_a_day_in_seconds(name, share):
    """A gap of 86,400 ticks is decided in seconds, both ways."""
    ask = Ask(share=Fraction(share), start=86_400, weight=Fraction(1, 2))
    began = perf_counter()
    pair = PAIRS[name][0](ask)

    holds, broken = verify_pair(pair, ask.share), verify_pair(pair, ask.share - Fraction(1, 100))

    assert holds.holds
    assert 0 <= holds.margin < 1e-4
    assert not broken.holds
    assert broken.margin == pytest.approx(-0.01, abs=1e-4)
    assert pair.coupled
    assert perf_counter() - began < SECONDS


def test_a_day_label_free():
    """A label-free law over a gap of 86,400 ticks is decided in seconds, both ways."""
    ask = Ask(share=Fraction(1, 2), start=86_400, weight=Fraction(1), delta=Fraction(1, 1000))
    began = perf_counter()
    law = label_free(ask).unbatched

    assert verify_label_free(law, ask.start, ask.share, ask.delta).holds
    assert not verify_label_free(law, ask.start, ask.share, ask.delta * (1 - STEP)).holds
    assert not verify_label_free(law, ask.start, ask.share - Fraction(1, 10), ask.delta).holds
    assert perf_counter() - began < SECONDS


def test_microseconds_over_a_day():
    """Far finer ticks change neither the verdict nor the margin, which stays next to nothing."""
    ask = Ask(share=Fraction(1, 2), start=86_400_000_000, weight=Fraction(1))
    for name, (family, _) in PAIRS.items():
        pair = family(ask)

        verdict = verify_pair(pair, ask.share)

        assert verdict.holds, name
        assert 0 <= verdict.margin < 1e-9
        assert pair.coupled


def test_nothing_to_spend():
    """With a share of zero, identical laws hold and a ratio above 1 is broken, far ticks included."""
    law = geometric_pair(Fraction(9, 10), start=20).unbatched

    assert verify_pair(LawPair(batched=law, unbatched=law, start=0), Fraction(0)).holds
    later = LawPair(batched=law.from_tick(20), unbatched=law, start=20)
    broken_at(later, Fraction(0))


@pytest.mark.parametrize(
    "checked", [Run, Law, LawPair, Mechanism, Sampler, Policy], ids=lambda c: c.__name__
)
def test_what_is_checked_and_drawn_has_no_subclass(checked):
    """One could answer otherwise when it is drawn: say that it is coupled, or bring its own sampler."""
    with pytest.raises(BadInput, match=rf"{checked.__name__} must not have subclasses, not even Own: "):
        type("Own", (checked,), {"coupled": True})


def test_a_law_is_drawn_as_it_was_checked_whatever_it_says_of_itself():
    """Laws that pass and are not coupled, from a family that has written down that they are."""
    quarters = Law.of_masses([Fraction(1, 4)] * 4)

    def family(ask):
        pair = LawPair(batched=Law.of_masses([0, 0, 1]), unbatched=quarters, start=ask.start)
        vars(pair)["coupled"] = True
        return pair

    policy = Policy(epsilon="4", gap="2s", window="0s", law=family)
    pair = policy.mechanism().pair
    drawn = distribution(lambda draw: (coupled_draws(pair, draw).batched,))

    assert verify(policy, Size(events=1)).holds
    assert not pair.coupled
    assert drawn == {
        (2,): Fraction(1)
    }  # with a draw of 3 taken for both labels it would be the law no more
