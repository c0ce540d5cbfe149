"""A season: what it states, what it costs, and Theorem 2 on every small course."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import log

import pytest

from tarry.core.accountant import Losses, losses_of_blocks
from tarry.core.calibrate import least_epsilon
from tarry.core.errors import BadInput
from tarry.core.laws.cosine import block_law, cosine_masses
from tarry.core.ledger import ledger_line
from tarry.core.mechanism import LawPair
from tarry.core.plan import frontier
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.core.promise import promise
from tarry.core.season import Accountant, Season, _times, block_masses, ladder, on_ladder
from tarry.core.verify import Size, verify, verify_season

SEASON = Season(acts=400, epsilon=Fraction("2.3"), delta=Fraction("0.01"))
CHOICES = {"gap": "11m", "window": "5m"}


def policy(**changed):
    """58 blocks of order 2.75, as `tarry plan --season 200 --total 2.3 --delta 0.01` finds them."""
    return Policy(
        **{**CHOICES, "law": "cosine", "blocks": 58, "order": "2.75", "season": SEASON, **changed}
    )


def blocks_pair(batched, unbatched, start=1):
    return LawPair(
        batched=block_law((0, *batched), start), unbatched=block_law(unbatched, start), start=start
    )


# --- what it states -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"acts": 0}, "the acts of a season must be between 1 and 1000000, not 0"),
        ({"epsilon": Fraction(0)}, "the epsilon of a season must be above 0, not 0"),
        ({"delta": Fraction(0)}, "the delta of a season must be above 0 and below 1, not 0: try a small"),
        ({"delta": Fraction(1)}, "the delta of a season must be above 0 and below 1, not 1: try a small"),
    ],
)
def test_a_season_that_cannot_be_is_refused(wrong, sentence):
    with pytest.raises(BadInput) as refused:
        Season(**{"acts": 4, "epsilon": Fraction(1), "delta": Fraction(1, 100), **wrong})

    assert str(refused.value).startswith(sentence)


def test_epsilon_is_what_comes_out():
    """Twice the logarithm of the largest ratio, rounded up: never multiplied by a count."""
    unbatched, batched = cosine_masses(58, Decimal("2.75"))
    ratio = max(b / u for b, u in zip(batched, unbatched[1:], strict=True))

    assert 2 * log(ratio) <= policy().epsilon <= 2 * log(ratio) + 3e-6


def test_a_policy_with_a_season_is_written_and_read():
    for each in (policy(), Policy(**CHOICES, season=SEASON)):
        text = write_policy(each)
        assert read_policy(text) == each
        assert "\nepsilon = 0." not in text.partition("[season]")[0]


def test_pairs_are_two_acts_each():
    text = write_policy(policy()).replace("acts = 400", "pairs = 200")

    assert read_policy(text) == policy()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"weight": "0.9"}, "weight must not be given with a season: leave it out"),
        ({"cover": "bridge"}, "cover must not be given with a season: leave it out"),
        ({"epsilon": "1"}, "epsilon must not be given with a season, it follows from it: leave it out"),
        ({"labels": "follower"}, "labels must not be 'follower' with a season: use held, declared or"),
        ({"season": None, "epsilon": "1"}, "law 'cosine' must have a season, blocks and an order"),
        ({"blocks": None}, "law 'cosine' must have a season, blocks and an order: tarry plan --season"),
        ({"law": "uniform"}, "law 'uniform' has no blocks or order: leave them out, or use law 'cosine'"),
        ({"blocks": 57}, "a season of 400 acts must cost at most 2.3, and costs 2.32417: take more blocks"),
    ],
)
def test_what_a_season_excludes_is_refused(changed, sentence):
    with pytest.raises(BadInput) as refused:
        policy(**changed)

    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("[season]", "epsilon = 1\n[season]", "epsilon must not stand beside a season: leave it out"),
        ("acts = 400", "acts = 400\npairs = 200", "[season] must have acts or pairs, one of the two"),
        ("acts = 400", "acts = 400.5", "the acts or pairs of a season must be a whole number, not"),
        ("delta = 0.01", "", "[season] has no delta: add it"),
        ("delta = 0.01", "delta = 0.01\nomega = 3", "unknown key 'omega' in [season]: use acts, pairs"),
    ],
)
def test_a_season_that_cannot_be_read_is_refused(old, new, sentence):
    with pytest.raises(BadInput) as refused:
        read_policy(write_policy(policy()).replace(old, new))

    assert str(refused.value).startswith(sentence)


# --- what it costs --------------------------------------------------------------------------------


def test_an_older_law_has_no_discount():
    each = Policy(epsilon="1", gap="11m")
    accountant = Accountant(each.mechanism().pair, each.share)

    assert accountant.constant
    assert accountant.epsilon(20, Fraction("0.01")) == pytest.approx(10 + log(0.99), abs=2e-6)
    assert accountant.delta(20, Fraction(10)) == 0
    assert float(accountant.total_variation(20)) == pytest.approx(1 - 2.718281828459045**-10)
    assert accountant.chance_above(20, Fraction(9)) == 1


def test_a_law_that_is_not_symmetric_is_held_to_its_largest_ratio():
    """Composed at one end only, it would look cheaper than it is at the other."""
    pair = blocks_pair([6, 3, 1], [1, 2, 3, 4])
    batched, unbatched = block_masses(pair)
    now = losses_of_blocks(batched, unbatched).times(6)
    later = losses_of_blocks(batched[1:], unbatched[:-1]).times(6)
    ours = Accountant(pair, Fraction(10)).epsilon(6, Fraction(1, 100))

    assert now.epsilon(Fraction(1, 100)) != later.epsilon(Fraction(1, 100))
    assert ours >= max(each.epsilon(Fraction(1, 100)) for each in (now, later))


def test_counts_go_up_a_ladder():
    """At most 150 seasons are worked out for people with up to 5,000 acts."""
    assert all(on_ladder(acts) >= acts for acts in range(5000))
    assert all(on_ladder(acts) == acts for acts in range(65))
    assert all(on_ladder(acts) <= 1.07 * acts for acts in range(1, 5000))
    assert len({on_ladder(acts) for acts in range(1, 5001)}) <= 150
    assert ladder()[0] == 0


@pytest.mark.slow
def test_ten_thousand_people_take_at_most_150_sums(monkeypatch):
    """Every count to 5,000, twice: what is really added up is the ladder, once, and then nothing."""
    told, additions, add = promise(policy()), Counter(), Losses.__add__
    monkeypatch.setattr(Losses, "__add__", lambda one, two: additions.update(["made"]) or add(one, two))
    _times.cache_clear()

    nats = [ledger_line(told, acts).nats for acts in range(1, 5001)]
    sums, made = _times.cache_info().misses, additions["made"]
    again = [ledger_line(told, acts).nats for acts in range(5000, 0, -1)]

    assert nats == sorted(again)
    assert 140 <= sums <= 150
    assert sums < made <= sums * 2 * 13  # at most two for each doubling: 2^13 is above 5,000
    assert (_times.cache_info().misses, additions["made"]) == (sums, made)


# --- Theorem 2, on every small course -------------------------------------------------------------


def worst_excess(pair, acts, c, *, start, clip=None, outage=(), law_after=None):
    """The largest sum of max(0, P - c Q) over adaptive courses of acts, by plain enumeration.

    Each act is batched in one story and, in the other, arrives up to `start` ticks later, by a shift that
    may depend on all releases that were seen before. A public deadline lets out what is late, and nothing
    leaves during an outage. The best course for the observer is found backwards.
    """

    def seen(tick):
        tick = tick if clip is None else min(tick, clip)
        while tick in outage:
            tick += 1
        return tick

    def excess(left, past, weight):
        # weight = c Q(past) / P(past): what is left is P(past) times the excess at that factor
        if not left:
            return max(Fraction(0), 1 - weight)
        laws = pair if law_after is None else law_after(len(past))
        best = Fraction(0)
        for shift in range(start + 1):
            p, q = Counter(), Counter()
            for delay in range(laws.batched.tail_start):
                p[seen(delay)] += laws.batched.mass(delay)
            for delay in range(laws.unbatched.tail_start):
                q[seen(delay + shift)] += laws.unbatched.mass(delay)
            total = sum(p[at] * excess(left - 1, (*past, at), weight * q[at] / p[at]) for at in p if p[at])
            best = max(best, total)
        return best

    return excess(acts, (), c)


SMALL = [cosine_masses(3, Decimal(2)), cosine_masses(4, Decimal(1)), ((2, 3, 2), (3, 3))]
FACTORS = [Fraction(1), Fraction(6, 5), Fraction(2)]


@pytest.mark.parametrize(("unbatched", "batched"), SMALL, ids=["3 blocks", "4 blocks", "by hand"])
@pytest.mark.parametrize("start", [1, 2])
@pytest.mark.parametrize("rules", [{}, {"clip": 3}, {"outage": (2, 3)}], ids=["free", "deadline", "outage"])
def test_no_course_tells_more_than_the_season(unbatched, batched, start, rules):
    """Whatever is done next may depend on all that was seen."""
    pair = blocks_pair(batched, unbatched, start)
    for acts, c in product((1, 2), FACTORS):
        exact = worst_excess(pair, acts, c, start=start, **rules)
        bound = losses_of_blocks((0, *batched), unbatched).times(acts)
        epsilon = Fraction(int(log(c) * 10**12), 10**12)
        assert exact <= bound.delta(epsilon) + Fraction(1, 10**9)
        if not rules:  # nothing hides anything: it is tight
            assert float(bound.delta(epsilon) - exact) < 2e-3


def test_a_law_that_starts_too_early_breaks_it():
    """A batched act that can leave before G is seen while its shift can still be chosen: proof."""
    unbatched, batched = cosine_masses(3, Decimal(2))
    early = LawPair(batched=block_law(batched, 2), unbatched=block_law(unbatched, 2), start=2)
    bound = losses_of_blocks((*batched, 0), unbatched).times(2)

    assert worst_excess(early, 2, Fraction(2), start=2) > bound.delta(Fraction(log(2)))


def test_a_law_that_depends_on_the_count_breaks_it():
    """The second act costs more than the first, and the season counts it as the first."""
    unbatched, batched = cosine_masses(4, Decimal(1))
    pair, harder = blocks_pair(batched, unbatched), blocks_pair((1, 1, 8), unbatched)
    bound = losses_of_blocks((0, *batched), unbatched).times(2)

    told = worst_excess(pair, 2, Fraction(6, 5), start=1, law_after=lambda count: harder if count else pair)
    assert told > bound.delta(Fraction(log(1.2)))


# --- promise and verdict --------------------------------------------------------------------------


def test_verify_decides_about_the_season_too():
    verdict = verify(policy(), Size(events=2))

    assert verdict.holds
    assert "the season: 400 acts, by their added losses" in verdict.scope


def test_a_season_that_costs_more_is_broken_with_a_witness():
    pair = policy().mechanism().pair
    dear = Season(acts=410, epsilon=Fraction("2.3"), delta=Fraction("0.01"))
    verdict = verify_season(pair, policy().share, dear)

    assert not verdict.holds
    assert verdict.margin < 0
    assert str(verdict.witness).startswith("410 acts that lose their partners move the odds by up to 2.31")


def test_the_promise_says_how_far_the_odds_move():
    told = promise(policy())

    assert "up to 400 acts of one person (200 pairs)" in told.promised[0]
    assert (
        "a factor of at most 9.98: from 1:1 to 9.98:1, 1:9 to 1.11:1, 1:99 to 0.101:1" in told.promised[0]
    )
    assert "10 of 1,000 people" in told.promised[0]
    assert any("active on the same days" in sentence for sentence in told.not_promised)
    assert not any("epsilon is spent again and again" in sentence for sentence in told.not_promised)


def test_what_is_spent_is_what_the_accountant_says():
    """Never the count times a share."""
    told = promise(policy())

    assert float(told.loss(400)) < 2.31
    assert float(told.loss(40)) < 0.75 < 40 * float(told.share)
    assert told.loss(0) == 0


def test_in_a_season_no_sentence_multiplies_a_count():
    assert not any("(m + k)" in sentence for sentence in promise(policy()).promised)


def test_what_finds_an_epsilon_for_one_pair_refuses_a_season():
    with pytest.raises(BadInput, match="has no weights to choose from: use tarry frontier --season"):
        frontier(policy())
    with pytest.raises(BadInput, match="with a season has no epsilon to find: use tarry plan --season"):
        least_epsilon(policy(), maximum=Fraction(7200))
