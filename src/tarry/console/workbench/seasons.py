"""A season on the workbench: its law, found quickly, and the odds after so many pairs under both laws.

Floats only propose a number of blocks and an order. What is shown and promised is the accountant's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache, reduce
from importlib.resources import files
from math import ceil, cos, exp, log, log1p, sin
from operator import add

import msgspec
import numpy as np

from tarry.core.accountant import ln_above
from tarry.core.errors import BadInput, require
from tarry.core.exact import format_duration, parse_duration
from tarry.core.laws.cosine import LEAST_BLOCKS, cosine
from tarry.core.mechanism import Ask
from tarry.core.policy import Policy
from tarry.core.season import Accountant, Season

__all__ = ["Grid", "Odds", "found_shape", "masses", "odds", "risen", "season_grid", "season_policy"]

#: A suspicion before anything is seen: odds of 1 to 99.
_SUSPICION = 0.01
MOST_BLOCKS = 400
LONGEST = "365d"
_ORDERS = tuple(
    Decimal(quarters) / 4 for quarters in (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 60, 120)
)
_POINTS = 8192  # of the grid that a proposal is looked at on
_REACH = 10  # standard deviations to either side, which is all that matters to a chance of 0.0001
#: A round ladder of pairs, each the sum of few earlier ones.
_LADDER: dict[int, tuple[int, ...]] = {
    1: (),
    2: (1, 1),
    5: (2, 2, 1),
    10: (5, 5),
    20: (10, 10),
    50: (20, 20, 10),
    100: (50, 50),
    200: (100, 100),
    500: (200, 200, 100),
    1000: (500, 500),
}


@dataclass(frozen=True, kw_only=True)
class Odds:
    """How far so many pairs of one person may move an observer's odds, in nats, but for a chance.

    >>> Odds(pairs=10, older=9.99, season=2.5).season
    2.5
    """

    pairs: int
    older: float  # under the law for one pair
    season: float | None  # under the law for a season; none is short enough where this is None


def risen(epsilon: float) -> float:
    """What a suspicion of 1 % becomes where the odds rise by e^epsilon.

    >>> round(risen(0.0), 4), round(risen(2.3), 4)
    (0.01, 0.0915)
    """
    return 1 / (1 + (1 / _SUSPICION - 1) * exp(-epsilon))


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Blocks and order for every stop of the sliders of a season, found once and kept in a file.

    >>> season_grid().shape("200", "2.3", "0.01")
    (58, 3.0)
    """

    pairs: tuple[str, ...]
    total: tuple[str, ...]
    delta: tuple[str, ...]
    shapes: tuple[tuple[int, float] | None, ...]  # None: it needs more blocks than the workbench tries

    def shape(self, pairs: str, total: str, delta: str) -> tuple[int, float] | None:
        """Blocks and order at one stop of each slider."""
        if pairs not in self.pairs or total not in self.total or delta not in self.delta:
            return None
        row = self.pairs.index(pairs) * len(self.total) + self.total.index(total)
        return self.shapes[row * len(self.delta) + self.delta.index(delta)]


@cache
def season_grid() -> Grid:
    """The grid, from the file that browsers read too; `docs/generate_seasons.py` makes it.

    >>> len(season_grid().shapes)
    2560
    """
    content = files("tarry.console").joinpath("static", "seasons.json").read_bytes()
    return msgspec.json.decode(content, type=Grid)


def found_shape(pairs: int, total: Fraction, delta: Fraction) -> tuple[int, Decimal] | None:
    """What `season_policy` finds, or None where the workbench gives up.

    >>> found_shape(200, Fraction("2.3"), Fraction("0.01"))
    (58, Decimal('3'))
    """
    try:
        return _shape(Season(acts=2 * pairs, epsilon=total, delta=delta))
    except BadInput:
        return None


@lru_cache(maxsize=256)
def season_policy(pairs: int, total: Fraction, delta: Fraction, gap: str, window: str) -> Policy:
    """The policy with the law for a season that keeps it with few blocks.

    >>> season_policy(200, Fraction("2.3"), Fraction("0.01"), "11m", "5m").blocks
    58
    """
    season = Season(acts=2 * pairs, epsilon=total, delta=delta)
    plain = Policy(gap=gap, window=window, season=season)  # refuses a gap below the window
    blocks, order = _shape(season)
    longest = blocks * plain.start_ticks(plain.gap) * plain.tick
    require(
        longest <= parse_duration(LONGEST),
        f"this season needs delays of up to {format_duration(longest)}, and the workbench shows at "
        f"most {LONGEST}",
        "take a shorter gap, a larger total or delta, or fewer pairs",
    )
    return Policy(gap=gap, window=window, law="cosine", blocks=blocks, order=Fraction(order), season=season)


def odds(policy: Policy, pairs: int, delta: Fraction) -> tuple[Odds, ...]:
    """The odds after round numbers of pairs, and after these, under both laws with one longest delay.

    >>> found = odds(Policy(epsilon="0.1", gap="11m"), 30, Fraction("0.01"))[-1]
    >>> found.pairs, round(found.older), round(found.season)
    (1000, 100, 46)
    """
    pair = policy.mechanism().pair
    blocks = ((pair.batched.maximum or 0) + 1) // pair.start
    if policy.blocks is None or policy.order is None:
        share = float(policy.share)
        order = _best_order(blocks, 2 * pairs, float(delta))[1] if blocks >= LEAST_BLOCKS else None
    else:
        share, order = log(blocks / (blocks - 1)), policy.order  # the least that such a delay allows
    costs = {} if order is None else _costs(blocks, order, pairs, delta)
    return tuple(
        Odds(
            pairs=count,
            older=max(0.0, 2 * count * share + log1p(-float(delta))),
            season=costs.get(count),
        )
        for count in sorted({*_LADDER, pairs})
    )


@lru_cache(maxsize=256)
def _costs(blocks: int, order: Decimal, pairs: int, delta: Fraction) -> Mapping[int, float]:
    """By pairs: the losses of each count are sums of earlier ones, so that all take a dozen additions."""
    accountant = _accountant(blocks, order)
    losses = {1: accountant.losses(2, rough=True)}
    for count, (first, *more) in list(_LADDER.items())[1:]:
        losses[count] = reduce(add, (losses[part] for part in more), losses[first])
    losses[pairs] = accountant.losses(2 * pairs, rough=True)
    return {count: float(each.epsilon(delta)) for count, each in losses.items()}


def _accountant(blocks: int, order: Decimal) -> Accountant:
    """What acts cost; a block of one tick costs as much as any other."""
    pair = cosine(Ask(share=Fraction(1), start=1, weight=Fraction(1), blocks=blocks, order=order))
    return Accountant(pair, ln_above(pair.largest_ratio or Fraction(1)))


# --- a proposal, in floats -----------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _shape(season: Season) -> tuple[int, Decimal]:
    """Blocks and order that keep a season: proposed by floats, and then added up until it is so."""
    blocks, order = _proposal(season)
    while blocks <= MOST_BLOCKS:
        cost = _accountant(blocks, order).epsilon(season.acts, season.delta, rough=True)
        if cost <= season.epsilon:
            return blocks, order
        blocks = max(blocks + 1, ceil(blocks * cost / season.epsilon))
    raise BadInput(
        f"this season needs more than the {MOST_BLOCKS} blocks that the workbench tries",
        "take a larger total or delta, or fewer pairs (tarry plan --season tries more)",
    )


def _proposal(season: Season) -> tuple[int, Decimal]:
    """The fewest blocks that seem to do: more blocks always cost less."""
    low, high = LEAST_BLOCKS - 1, MOST_BLOCKS + 1
    while high - low > 1:
        middle = (low + high) // 2
        cost, _ = _best_order(middle, season.acts, float(season.delta))
        low, high = (low, middle) if cost <= season.epsilon else (middle, high)
    return high, _best_order(high, season.acts, float(season.delta))[1]


@lru_cache(maxsize=1 << 14)
def _best_order(blocks: int, acts: int, delta: float) -> tuple[float, Decimal]:
    return min((_cost(blocks, float(order), acts, delta), order) for order in _ORDERS)


def _cost(blocks: int, order: float, acts: int, delta: float) -> float:
    """About what a season costs: the losses of one act on a grid, as often as there are acts."""
    unbatched, batched = masses(blocks, order)
    losses = np.log(batched / unbatched[1:])
    mean = float(batched @ losses)
    spread = float(np.sqrt(acts * (batched @ (losses - mean) ** 2)))
    step = max(2 * _REACH * spread, acts**0.5 * 1e-6, np.ptp(losses)) / _POINTS
    places = (losses - mean) / step
    below = np.floor(places).astype(int)
    row = np.zeros(_POINTS)
    np.add.at(row, below % _POINTS, batched * (below + 1 - places))
    np.add.at(row, (below + 1) % _POINTS, batched * (places - below))
    whole = np.fft.irfft(np.fft.rfft(row) ** acts, _POINTS).clip(0)
    whole = np.roll(whole, _POINTS // 2)
    sums = acts * mean + step * (np.arange(_POINTS) - _POINTS // 2)
    return _epsilon(sums, whole, delta)


def _epsilon(sums: np.ndarray, chances: np.ndarray, delta: float) -> float:
    """The epsilon at which the chance beyond it, less what the other story has of it, is delta."""
    low, high = 0.0, max(0.0, float(sums[-1]))
    for _ in range(40):
        middle = (low + high) / 2
        beyond = sums > middle
        missing = float(chances[beyond] @ -np.expm1(middle - sums[beyond]))
        low, high = (low, middle) if missing <= delta else (middle, high)
    return high


def masses(blocks: int, order: float) -> tuple[np.ndarray, np.ndarray]:
    """The masses of `core/laws/cosine.py` in floats: unbatched, and batched from the second block on.

    >>> [len(row) for row in masses(7, 6.0)]
    [7, 6]
    """
    low, high = 0.0, 1.6
    for _ in range(50):
        x = (low + high) / 2
        low, high = (low, x) if 2 * order * x * sin(x) > blocks * cos(x) else (x, high)
    shape = np.log(np.cos(2 * low / blocks * (np.arange(blocks) + 0.5 - blocks / 2)) ** 2)
    power = 1 - order
    means = (
        (shape[1:] + shape[:-1]) / 2
        if not power
        else (np.logaddexp(power * shape[1:], power * shape[:-1]) - log(2)) / power
    )
    return tuple(np.exp(row) / np.exp(row).sum() for row in (shape, means))
