"""The shortest delays that keep a season: blocks and order are scanned, each choice is added up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from tarry.core.accountant import ln_above
from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import format_duration
from tarry.core.mechanism import Ask, SeasonLaw
from tarry.core.plan import plan
from tarry.core.plugins import load
from tarry.core.policy import Policy
from tarry.core.season import Accountant, Season

__all__ = ["SeasonPlan", "best_shape", "plan_season"]

#: A season law is tried with these orders: nobody sees a difference between two neighbours.
ORDERS = tuple(Decimal(quarters) / 4 for quarters in range(1, 161))
FEWEST, MOST = 3, 4000
_SHIFTING = "zero-inflated-uniform"
#: At most: doublings, halvings and two exact looks.
_TRIES = 25


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
    other: Policy  # with a law whose loss is constant, or the season law where that one is better
    epsilon: Fraction  # what the season costs under the policy


def plan_season(
    season: Season,
    choices: Mapping[str, Any],
    *,
    law: str = "cosine",
    maximum: Fraction | None = None,
    mean: Fraction | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SeasonPlan:
    """The policy with these choices (gap, window, ...) that keeps a season, within these delays in seconds.

    >>> season = Season(acts=400, epsilon=Fraction("2.3"), delta=Fraction("0.01"))
    >>> plan_season(season, {"gap": "11m"}, maximum=Fraction(3600))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: 58 blocks are needed, with a longest delay of 15h32m59s, and at most 1h \
is allowed: allow more delay, a larger epsilon or delta, or fewer acts
    """
    constant = Policy(**choices, law=_SHIFTING, season=season)
    shape = fewest_blocks(law, season, progress)
    varying = Policy(**choices, law=law, blocks=shape.blocks, order=Fraction(shape.order), season=season)
    best, other = sorted((varying, constant), key=lambda policy: plan(policy).batched.mean)
    _check_delays(best, shape, maximum, mean)
    cost = shape.epsilon if best is varying else season.epsilon
    return SeasonPlan(policy=best, other=other, epsilon=cost)


def fewest_blocks(law: str, season: Season, progress: Callable[[int, int], None] | None = None) -> Shape:
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

    low, high = FEWEST - 1, FEWEST
    while (found := cost(high)).epsilon > season.epsilon:
        if high >= MOST:
            raise NotPossible(
                f"even {MOST} blocks do not keep this season: take a larger epsilon or delta, or fewer acts"
            )
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        tried = cost(middle)
        low, high, found = (
            (low, middle, tried) if tried.epsilon <= season.epsilon else (middle, high, found)
        )
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

    def cost(place: int) -> Fraction:
        return _cost(law, blocks, ORDERS[place], acts, delta, rough=True)

    low, high = 0, len(ORDERS) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if cost(middle) <= cost(middle + 1) else (middle + 1, high)
    return Shape(blocks, ORDERS[low], _cost(law, blocks, ORDERS[low], acts, delta, rough=rough))


@lru_cache(maxsize=4096)
def _cost(law: str, blocks: int, order: Decimal, acts: int, delta: Fraction, *, rough: bool) -> Fraction:
    """What a season costs. Gaps change the length of a block only: one tick does as well."""
    family = load("law", law)
    if not isinstance(family, SeasonLaw):
        raise BadInput(f"law {law!r} has no blocks, so there is nothing to plan", "use law 'cosine'")
    pair = family(Ask(share=Fraction(1), start=1, weight=Fraction(1, 2), blocks=blocks, order=order))
    if (ratio := pair.largest_ratio) is None:
        raise BadInput(f"law {law!r} must give every delay of a batched act to unbatched ones too")
    return Accountant(pair, ln_above(ratio)).epsilon(acts, delta, rough=rough)


def _check_delays(policy: Policy, shape: Shape, maximum: Fraction | None, mean: Fraction | None) -> None:
    delays = plan(policy).batched
    for name, delay, most in (("longest", delays.maximum, maximum), ("mean", delays.mean, mean)):
        if most is not None and (delay is None or delay > most):
            length = "no end" if delay is None else format_duration(Fraction(round(delay)))
            raise NotPossible(
                f"{shape.blocks} blocks are needed, with a {name} delay of {length}, and at most "
                f"{format_duration(most)} is allowed: allow more delay, a larger epsilon or delta, or "
                "fewer acts"
            )
