"""The shortest delays that keep a season: blocks and order are scanned, each choice is added up."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import takewhile
from math import ceil
from typing import Any, NamedTuple

from tarry.core.accountant import ln_above
from tarry.core.errors import BadInput, NotPossible, TarryError, require, require_possible
from tarry.core.exact import format_duration
from tarry.core.mechanism import Ask, LawPair, SeasonLaw
from tarry.core.plan import plan
from tarry.core.plugins import load
from tarry.core.policy import Policy
from tarry.core.season import Accountant, Season, constant_epsilon

__all__ = [
    "BLOCKS",
    "DelayLimits",
    "SeasonPlan",
    "SeasonPoint",
    "best_shape",
    "crossing",
    "least_total",
    "plan_season",
    "season_frontier",
]

#: A season law is tried with these orders: nobody sees a difference between two neighbours.
ORDERS = tuple(Decimal(quarters) / 4 for quarters in range(1, 161))
FEWEST, MOST = 3, 4000
#: The blocks of a frontier: each about one and a half times the one before.
BLOCKS = (3, 5, 7, 10, 15, 22, 33, 50, 75, 110, 170)
_SHIFTING = "zero-inflated-uniform"
#: At most: doublings, halvings and two exact looks.
_TRIES = 25
#: Totals that are found are whole multiples of this.
_STEP = Fraction(1, 1000)
#: Up to so many blocks are added up quickly.
_MANY = 64
#: Nats an act: with more, nothing is hidden.
_MOST_SHARE = 20
#: The order that is best where delta does not count.
_WITHOUT_DELTA = Decimal(1)

Progress = Callable[[int, int], None]


class DelayLimits(NamedTuple):
    """The longest and the mean delay of batched acts that are allowed, in seconds, where there is a limit.

    >>> DelayLimits(maximum=Fraction(7200)).exceeded(Policy(epsilon="1", gap="11m"))
    ''
    >>> DelayLimits(mean=Fraction(1800)).exceeded(Policy(epsilon="1", gap="11m"))
    'a mean delay of 33m20s, and at most 30m is allowed'
    """

    maximum: Fraction | None = None
    mean: Fraction | None = None

    def exceeded(self, policy: Policy) -> str:
        """What is too long, in words; nothing where all is within the limits.

        Arrivals are rounded up first, by less than a tick: that counts too.
        """
        for gap in policy.gaps:
            delays = plan(policy, gap).batched
            for name, delay, most in (
                ("longest", delays.maximum, self.maximum),
                ("mean", delays.mean, self.mean),
            ):
                if most is not None and (delay is None or delay + policy.tick > most):
                    length = "no end" if delay is None else format_duration(Fraction(round(delay)))
                    return f"a {name} delay of {length}, and at most {format_duration(most)} is allowed"
        return ""

    def blocks(self, policy: Policy) -> int:
        """How many blocks of gap + window keep within them, for a law whose blocks are symmetric."""
        start = max(policy.start_ticks(gap) for gap in policy.gaps)
        longest, mean = (None if most is None else most / policy.tick - policy.hold_ticks for most in self)
        most = MOST if longest is None else int(longest // start)
        return min(MOST, most if mean is None else min(most, int((2 * mean - 1) // start) - 1))


class Shape(NamedTuple):
    """A season law with so many blocks, at the order that costs least.

    >>> best_shape("cosine", 7, 24, Fraction("0.01")).order
    Decimal('5.25')
    """

    blocks: int
    order: Decimal
    epsilon: Fraction  # what the season costs


@dataclass(frozen=True, kw_only=True)
class SeasonPlan:
    """The policy that keeps a season with the shortest delays, and the one that was not taken.

    >>> season = Season(acts=60, epsilon=Fraction(4), delta=Fraction("0.01"))
    >>> found = plan_season(season, {"gap": "11m", "window": "5m"})
    >>> found.policy.law, found.policy.blocks, found.other.law
    ('cosine', 13, 'zero-inflated-uniform')
    """

    policy: Policy
    other: Policy | None  # the other law: if it has another total, that is its least within the limits
    epsilon: Fraction  # what the season costs under the policy


def plan_season(
    season: Season,
    choices: Mapping[str, Any],
    *,
    law: str = "cosine",
    maximum: Fraction | None = None,
    mean: Fraction | None = None,
    progress: Progress | None = None,
) -> SeasonPlan:
    """The policy with these choices (gap, window, ...) that keeps a season, within these delays in seconds.

    >>> season = Season(acts=20, epsilon=Fraction("2.3"), delta=Fraction("0.01"))
    >>> plan_season(season, {"gap": "11m", "tick": "1m"}).policy.blocks
    9
    >>> plan_season(season, {"gap": "11m", "tick": "1m"}, maximum=Fraction(3600))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: 9 blocks are needed, with a longest delay of 2h28m, and at most 1h \
is allowed: allow more delay, a larger epsilon or delta, or fewer acts
    """
    constant = Policy(**choices, law=_SHIFTING, season=season)
    shape = fewest_blocks(law, season, progress)
    varying = Policy(**choices, law=law, blocks=shape.blocks, order=Fraction(shape.order), season=season)
    best, other = sorted((varying, constant), key=lambda policy: plan(policy).batched.mean)
    if too_long := DelayLimits(maximum, mean).exceeded(best):
        needed = f"{shape.blocks} blocks are" if best is varying else f"the law {best.law_name} is"
        raise NotPossible(
            f"{needed} needed, with {too_long}: allow more delay, a larger epsilon or delta, or fewer acts"
        )
    return SeasonPlan(
        policy=best, other=other, epsilon=shape.epsilon if best is varying else season.epsilon
    )


def least_total(
    acts: int,
    delta: Fraction,
    choices: Mapping[str, Any],
    limits: DelayLimits,
    *,
    law: str = "cosine",
    progress: Progress | None = None,
) -> SeasonPlan:
    """The policy with these choices under which a season costs least, within limits of the delay.

    >>> found = least_total(60, Fraction("0.01"), {"gap": "11m"}, DelayLimits(maximum=Fraction(7200)))
    >>> [(each.law, float(each.season.epsilon)) for each in (found.policy, found.other)]
    [('cosine', 7.985), ('zero-inflated-uniform', 8.979)]
    """
    require(
        limits != DelayLimits(),
        "no limit of the delay is given",
        "give a longest or a mean delay, or a total",
    )
    asked = Season(acts=acts, epsilon=Fraction(1), delta=delta)
    found: list[SeasonPlan] = []
    if (most := limits.blocks(Policy(**choices, epsilon=1))) >= FEWEST:
        shape = _shape_within(law, most, asked, progress)
        season = replace(asked, epsilon=max(_STEP, ceil(shape.epsilon / _STEP) * _STEP))
        varying = Policy(
            **choices, law=law, blocks=shape.blocks, order=Fraction(shape.order), season=season
        )
        if not limits.exceeded(varying):
            found.append(SeasonPlan(policy=varying, other=None, epsilon=shape.epsilon))
    if (constant := _least_constant(asked, choices, limits)) is not None:
        found.append(SeasonPlan(policy=constant, other=None, epsilon=_total(constant)))
    require_possible(
        found, "no law keeps these delays: allow more delay, or choose a shorter gap or window"
    )
    best, *others = sorted(found, key=lambda each: _total(each.policy))
    return replace(best, other=others[0].policy if others else None)


def _shape_within(law: str, most: int, season: Season, progress: Progress | None) -> Shape:
    """The best shape with so many blocks; with fewer, where those cost next to nothing already."""
    counts = [*takewhile(lambda count: count < most, (_MANY << i for i in range(MOST))), most]
    for done, count in enumerate(counts, 1):
        shape = best_shape(law, count, season.acts, season.delta)
        if progress is not None:
            progress(done, len(counts))
        if shape.epsilon <= _STEP:
            break
    return shape


def _least_constant(season: Season, choices: Mapping[str, Any], limits: DelayLimits) -> Policy | None:
    """The same for the law whose loss is constant; None where no total is enough."""

    def policy(steps: int) -> Policy:
        return Policy(**choices, law=_SHIFTING, season=replace(season, epsilon=steps * _STEP))

    def fits(steps: int) -> bool:
        try:
            return not limits.exceeded(policy(steps))
        except TarryError:  # too small a total: the delays would be too long for any clock
            return False

    totals = range(1, int(_MOST_SHARE * season.acts / _STEP) + 1)
    place = bisect_left(totals, True, key=fits)  # noqa: FBT003 - the key says yes or no
    return policy(totals[place]) if place < len(totals) else None


def _total(policy: Policy) -> Fraction:
    return policy.season.epsilon if policy.season is not None else Fraction(0)


@dataclass(frozen=True, kw_only=True)
class SeasonPoint:
    """What so many blocks cost in a season, and how long batched acts wait, in seconds from their arrival.

    >>> point = season_frontier(24, Fraction("0.01"), {"gap": "11m"}, blocks=[7])[0]
    >>> point.order, round(float(point.epsilon), 2), round(float(point.constant), 2), int(point.longest)
    (Decimal('5.25'), 3.45, 3.69, 7019)
    """

    blocks: int
    order: Decimal  # the best one
    epsilon: Fraction  # what the season costs
    mean: Fraction
    longest: Fraction
    constant: Fraction  # what it costs under the law with a constant loss, at the same longest delay


def season_frontier(
    acts: int,
    delta: Fraction,
    choices: Mapping[str, Any],
    *,
    blocks: Sequence[int] = BLOCKS,
    law: str = "cosine",
    progress: Progress | None = None,
) -> list[SeasonPoint]:
    """What a season costs with each of these numbers of blocks, for policies with these choices.

    >>> rows = season_frontier(24, Fraction("0.01"), {"gap": "11m"}, blocks=[7, 22])
    >>> [round(float(row.epsilon), 2) for row in rows]
    [3.45, 0.88]
    """
    Season(acts=acts, epsilon=Fraction(1), delta=delta)  # refuses what cannot be a season
    policy, points = Policy(**choices, epsilon=1), []
    for done, count in enumerate(sorted(set(blocks)), 1):
        shape = best_shape(law, count, acts, delta)
        delays = _pair(law, count, shape.order, policy.start_ticks(policy.gap)).batched
        points.append(
            SeasonPoint(
                blocks=count,
                order=shape.order,
                epsilon=shape.epsilon,
                mean=(policy.hold_ticks + delays.mean) * policy.tick,
                longest=(policy.hold_ticks + count * policy.start_ticks(policy.gap) - 1) * policy.tick,
                constant=_constant(count, acts, delta),
            )
        )
        if progress is not None:
            progress(done, len(set(blocks)))
    return points


def _constant(blocks: int, acts: int, delta: Fraction) -> Fraction:
    """A uniform law with the same longest delay: of n blocks the batched one has all but the first."""
    return constant_epsilon(acts * ln_above(Fraction(blocks, blocks - 1)), delta)


@lru_cache(maxsize=256)
def crossing(law: str, blocks: int, delta: Fraction) -> int:
    """The pairs from which a season costs clearly less than under the law with a constant loss.

    Clearly: even with order 1, which is best where delta does not count. With the best order a few pairs
    gain a little already.

    >>> crossing("cosine", 22, Fraction("0.01"))
    14
    """

    def gains(pairs: int) -> bool:
        cost = _cost(law, blocks, _WITHOUT_DELTA, 2 * pairs, delta, rough=True)
        return cost < _constant(blocks, 2 * pairs, delta)

    high = 1
    while not gains(high):
        high *= 2
    low = high // 2 + 1
    return low + bisect_left(range(low, high), True, key=gains)  # noqa: FBT003 - the key says yes or no


def fewest_blocks(law: str, season: Season, progress: Progress | None = None) -> Shape:
    """The fewest blocks that keep a season, and their best order: more blocks always cost less.

    >>> fewest_blocks("cosine", Season(acts=24, epsilon=Fraction(4), delta=Fraction("0.01"))).blocks
    7
    """
    tries = 0

    def cost(blocks: int, *, rough: bool = True) -> Shape:
        nonlocal tries
        tries += 1
        if progress is not None:
            progress(min(tries, _TRIES), _TRIES)
        return best_shape(law, blocks, season.acts, season.delta, rough=rough)

    def keeps(blocks: int) -> bool:
        return cost(blocks).epsilon <= season.epsilon

    low, high = FEWEST - 1, FEWEST
    while not keeps(high):
        require_possible(
            high < MOST,
            f"even {MOST} blocks do not keep this season: take a larger epsilon or delta, or fewer acts",
        )
        low, high = high, min(2 * high, MOST)
    high = low + 1 + bisect_left(range(low + 1, high), True, key=keeps)  # noqa: FBT003 - the key says yes or no
    # The first look was rough, and too dear by a little: one block less may do.
    if high > FEWEST and (exact := cost(high - 1, rough=False)).epsilon <= season.epsilon:
        return exact
    return cost(high, rough=False)


@lru_cache(maxsize=256)
def best_shape(law: str, blocks: int, acts: int, delta: Fraction, *, rough: bool = False) -> Shape:
    """The order at which a season with so many blocks costs least: it falls, then rises, over the orders.

    >>> shape = best_shape("cosine", 58, 400, Fraction("0.01"), rough=True)
    >>> shape.order, round(float(shape.epsilon), 2)
    (Decimal('2.75'), 2.27)
    """

    def rises(place: int) -> bool:
        here, next_ = (
            _cost(law, blocks, order, acts, delta, rough=True) for order in ORDERS[place : place + 2]
        )
        return here <= next_

    best = ORDERS[bisect_left(range(len(ORDERS) - 1), True, key=rises)]  # noqa: FBT003 - the key says yes or no
    return Shape(blocks, best, _cost(law, blocks, best, acts, delta, rough=rough))


@lru_cache(maxsize=4096)
def _cost(law: str, blocks: int, order: Decimal, acts: int, delta: Fraction, *, rough: bool) -> Fraction:
    """What a season costs. Gaps change the length of a block only: one tick does as well."""
    pair = _pair(law, blocks, order)
    if (ratio := pair.largest_ratio) is None:
        raise BadInput(f"law {law!r} must give every delay of a batched act to unbatched ones too")
    return Accountant(pair, ln_above(ratio)).epsilon(acts, delta, rough=rough)


def _pair(law: str, blocks: int, order: Decimal, start: int = 1) -> LawPair:
    family = load("law", law)
    if not isinstance(family, SeasonLaw):
        raise BadInput(f"law {law!r} has no blocks, so there is nothing to plan", "use law 'cosine'")
    return family(Ask(share=Fraction(1), start=start, weight=Fraction(1, 2), blocks=blocks, order=order))
