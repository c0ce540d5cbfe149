"""Planning a season: the fewest blocks, the least total within a delay, and what blocks cost."""

from decimal import Decimal
from fractions import Fraction
from math import log

import pytest

from tarry.core.errors import BadInput, NotPossible
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.core.season import Accountant, Season
from tarry.core.season_plan import (
    ORDERS,
    DelayLimits,
    _cost,
    best_shape,
    crossing,
    fewest_blocks,
    least_total,
    plan_season,
    season_frontier,
)

SEASON = Season(acts=400, epsilon=Fraction("2.3"), delta=Fraction("0.01"))
CHOICES = {"gap": "11m", "window": "5m"}
G, HOLD = 960, 300  # seconds
CENT = Fraction("0.01")


# --- the shortest delays for a total ----------------------------------------------------------------


def test_the_fewest_blocks_are_found():
    found = plan_season(SEASON, CHOICES)
    hold = 300
    other = plan(found.other).batched

    assert (found.policy.law, found.policy.blocks) == ("cosine", 58)
    assert Decimal("2.5") <= found.policy.order <= Decimal("3.25")
    assert plan(found.policy).batched.mean - hold == pytest.approx(7 * 3600 + 52 * 60, abs=30)
    assert other.maximum - hold == pytest.approx(46 * 3600 + 19 * 60, abs=31)
    assert other.mean - hold == pytest.approx(23 * 3600 + 17 * 60, abs=31)
    assert best_shape("cosine", 57, 400, Fraction("0.01")).epsilon == pytest.approx(2.324, abs=5e-4)


def test_for_few_pairs_the_older_law_is_taken():
    few = Season(acts=4, epsilon=Fraction(1), delta=Fraction("0.01"))
    found = plan_season(few, CHOICES)

    assert (found.policy.law, found.other.law) == ("zero-inflated-uniform", "cosine")


@pytest.mark.parametrize(("acts", "epsilon"), [(24, "4"), (60, "3"), (100, "1")])
def test_one_block_less_does_not_do(acts, epsilon):
    season = Season(acts=acts, epsilon=Fraction(epsilon), delta=Fraction("0.01"))
    shape = fewest_blocks("cosine", season)

    assert shape.epsilon <= season.epsilon
    assert best_shape("cosine", shape.blocks - 1, acts, season.delta).epsilon > season.epsilon


@pytest.mark.parametrize("limit", ["maximum", "mean"])
def test_a_limit_of_the_delay_is_kept_to_the_tick(limit):
    """What a policy needs is allowed, with the tick that an arrival is rounded by; a second less is not."""
    season = Season(acts=24, epsilon=Fraction("3.5"), delta=CENT)
    delays = plan(plan_season(season, CHOICES).policy).batched
    least = getattr(delays, limit) + 1

    assert plan_season(season, CHOICES, **{limit: least}).policy.blocks == 7
    with pytest.raises(NotPossible, match=r"^7 blocks are needed, with a (longest|mean) delay of "):
        plan_season(season, CHOICES, **{limit: least - 1})


def test_the_gap_of_a_target_counts_for_the_limit():
    season = Season(acts=24, epsilon=Fraction("3.5"), delta=CENT)
    longest = Fraction(HOLD + 7 * G)

    assert plan_season(season, CHOICES, maximum=longest).policy.blocks == 7
    with pytest.raises(NotPossible, match="and at most 1h57m is allowed: allow more delay"):
        plan_season(season, {**CHOICES, "target_gaps": {"p": "1h"}}, maximum=longest)


# --- the least total within a delay -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "blocks"),
    [
        (DelayLimits(maximum=Fraction(HOLD + 13 * G)), 13),
        (DelayLimits(maximum=Fraction(HOLD + 13 * G - 1)), 12),
        (DelayLimits(mean=Fraction(HOLD + 7 * G) + Fraction(1, 2)), 13),
        (DelayLimits(mean=Fraction(HOLD + 7 * G)), 12),
        (DelayLimits(maximum=Fraction(HOLD + 13 * G), mean=Fraction(HOLD + 4 * G) + 1), 7),
    ],
    ids=["longest", "a second less", "mean", "half a second less", "both"],
)
def test_as_many_blocks_as_the_delay_allows_are_taken(limits, blocks):
    """Blocks are G long, and the mean of n of them is (n + 1) / 2 G less half a tick."""
    found = least_total(60, CENT, CHOICES, limits)

    assert (found.policy.law, found.policy.blocks) == ("cosine", blocks)
    assert found.epsilon == best_shape("cosine", blocks, 60, CENT).epsilon
    assert found.epsilon <= found.policy.season.epsilon < found.epsilon + Fraction(1, 1000)
    assert not limits.exceeded(found.policy)


def test_what_the_other_law_costs_within_the_delay_is_what_its_formula_says():
    """Uniform over 13 G of which batched acts have all but the first: R = 13 / 12, to a thousandth."""
    found = least_total(60, CENT, CHOICES, DelayLimits(maximum=Fraction(HOLD + 13 * G)))
    other = found.other

    assert other.law == "zero-inflated-uniform"
    assert float(other.season.epsilon) == pytest.approx(60 * log(13 / 12) + log(0.99), abs=1.1e-3)
    assert plan(other).batched.maximum <= HOLD + 13 * G - 1


def test_a_total_below_the_least_does_not_fit_the_delay():
    """What is found at a delay is what is needed for it: plan and least total agree."""
    limits = DelayLimits(maximum=Fraction(HOLD + 13 * G))
    least = least_total(60, CENT, CHOICES, limits).policy.season

    assert plan_season(least, CHOICES, maximum=limits.maximum).policy.blocks == 13
    smaller = Season(acts=60, epsilon=least.epsilon - Fraction(2, 1000), delta=CENT)
    with pytest.raises(NotPossible, match="14 blocks are needed"):
        plan_season(smaller, CHOICES, maximum=limits.maximum)


def test_between_two_blocks_the_older_law_may_be_better_and_is_taken():
    """A season law leaves the rest of a block unused; for one pair it hardly gains anything else."""
    limits = DelayLimits(maximum=Fraction(HOLD + 8 * G - 1))
    found = least_total(2, CENT, CHOICES, limits)

    assert (found.policy.law, found.other.law, found.other.blocks) == ("zero-inflated-uniform", "cosine", 7)
    assert found.policy.season.epsilon < found.other.season.epsilon


def test_no_more_blocks_are_taken_than_help():
    """One pair within 20 days: 128 blocks cost nothing but for one in a hundred, so 1,800 gain nothing."""
    told = []
    limits = DelayLimits(maximum=Fraction(20 * 86_400))
    found = least_total(2, CENT, CHOICES, limits, progress=lambda done, total: told.append((done, total)))

    assert limits.blocks(Policy(**CHOICES, epsilon=1)) == 1799
    assert (found.policy.law, found.policy.season.epsilon) == ("cosine", Fraction(1, 1000))
    assert found.policy.blocks == 128
    assert told == [(1, 6), (2, 6)]


def test_below_three_blocks_there_is_the_older_law_alone():
    found = least_total(4, CENT, CHOICES, DelayLimits(maximum=Fraction(HOLD + 3 * G - 1)))

    assert (found.policy.law, found.other) == ("zero-inflated-uniform", None)
    assert not DelayLimits(maximum=Fraction(HOLD + 3 * G - 1)).exceeded(found.policy)


def test_a_delay_that_no_law_keeps_is_refused():
    with pytest.raises(NotPossible, match="no law keeps these delays: allow more delay"):
        least_total(4, CENT, CHOICES, DelayLimits(maximum=Fraction(HOLD + G)))
    with pytest.raises(BadInput, match="no limit of the delay is given: give a longest or a mean delay"):
        least_total(4, CENT, CHOICES, DelayLimits())


# --- by blocks --------------------------------------------------------------------------------------


def test_a_frontier_has_what_each_number_of_blocks_costs():
    """The figures of the table of seasons, and delays of whole blocks."""
    rows = season_frontier(24, CENT, CHOICES, blocks=[22, 7])

    assert [row.blocks for row in rows] == [7, 22]
    assert [round(float(row.epsilon), 2) for row in rows] == [3.45, 0.88]
    assert [round(float(row.constant), 2) for row in rows] == [3.69, 1.11]
    for row in rows:
        assert row.longest == HOLD + row.blocks * G - 1
        assert row.mean == HOLD + Fraction((row.blocks + 1) * G - 1, 2)
        season = Season(acts=24, epsilon=row.epsilon, delta=CENT)
        policy = Policy(
            **CHOICES, law="cosine", blocks=row.blocks, order=Fraction(row.order), season=season
        )
        assert (plan(policy).batched.maximum, plan(policy).batched.mean) == (row.longest, row.mean)


def test_the_order_of_a_row_is_the_best_of_all():
    """The search looks at a few orders: no other is cheaper by what anybody would notice."""
    [row] = season_frontier(24, CENT, CHOICES, blocks=[10])
    costs = {order: _cost("cosine", 10, order, 24, CENT, rough=True) for order in ORDERS[::4]}

    assert min(costs.values()) >= _cost("cosine", 10, row.order, 24, CENT, rough=True) - Fraction(1, 2000)


def test_the_older_law_of_a_row_costs_that_much_at_that_delay():
    """The policy with just this total waits as long at the longest, and a smaller total longer."""
    [row] = season_frontier(24, CENT, CHOICES, blocks=[7])
    for total, fits in ((row.constant + Fraction(1, 1000), True), (row.constant - Fraction(1, 100), False)):
        each = Policy(**CHOICES, season=Season(acts=24, epsilon=total, delta=CENT))
        assert (plan(each).batched.maximum <= row.longest) is fits
        assert Accountant(each.mechanism().pair, each.share).epsilon(24, CENT) <= total


def test_a_frontier_tells_how_far_it_is():
    told = []
    season_frontier(
        8, CENT, CHOICES, blocks=[3, 4, 4], progress=lambda done, total: told.append((done, total))
    )

    assert told == [(1, 2), (2, 2)]


def test_a_frontier_of_what_cannot_be_a_season_is_refused():
    with pytest.raises(BadInput, match="the acts of a season must be between 1 and 1000000, not 0"):
        season_frontier(0, CENT, CHOICES)


# --- from how many pairs ----------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [3, 7, 22, 59])
def test_from_the_crossing_on_a_season_gains_with_order_one_too(blocks):
    """One pair less does not, and all more do."""
    pairs = crossing("cosine", blocks, CENT)

    def gain(pairs):
        constant = 2 * pairs * log(blocks / (blocks - 1)) + log(0.99)
        return constant - float(_cost("cosine", blocks, Decimal(1), 2 * pairs, CENT, rough=True))

    assert gain(pairs - 1) <= 1e-6
    assert all(gain(more) > 0 for more in (pairs, pairs + 1, 2 * pairs, 5 * pairs))


def test_the_crossing_comes_sooner_with_more_blocks_and_later_with_a_smaller_delta():
    """Around ten to twenty pairs for one in a hundred, some fifty for one in ten thousand."""
    by_blocks = [crossing("cosine", blocks, CENT) for blocks in (7, 22, 59)]

    assert by_blocks == sorted(by_blocks, reverse=True)
    assert all(8 <= pairs <= 31 for pairs in by_blocks)
    assert 50 <= crossing("cosine", 22, Fraction("0.0001")) <= 98
