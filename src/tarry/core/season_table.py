"""What a season is worth to an observer: a law with a constant loss beside the cosine law, at equal delays.

Total variation and epsilon are upper bounds, as the accountant gives them. Posteriors are numeric: they are
quantiles of the law's own losses when nothing is shifted, and a bound on losses does not bound those.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import exp, pi, sin
from typing import Literal

from tarry.core.accountant import ln_above, losses_of_blocks
from tarry.core.errors import require
from tarry.core.laws.cosine import MASS, MOST_BLOCKS, cosine_masses
from tarry.core.laws.zero_inflated import zero_inflated_pair
from tarry.core.mechanism import LawPair
from tarry.core.policy import Policy
from tarry.core.season import MOST_ACTS, Accountant
from tarry.core.season_plan import FEWEST, best_shape

__all__ = ["TABLE", "Order", "SeasonAsk", "SeasonRow", "SeasonWorth", "Watcher", "season_table"]

#: The shape of a cosine law, or the law with the least mean loss on as many blocks.
Order = Decimal | Literal["sine"]
#: A constant loss is taken from that many acts at once, so that its rounding does not add up.
_MANY = 1024
_HIGH = 0.9


@dataclass(frozen=True, kw_only=True)
class Watcher:
    """What is asked about an observer who knows the arrivals.

    >>> Watcher().prior
    Fraction(1, 100)
    """

    deltas: tuple[Fraction, ...] = (Fraction(1, 100), Fraction(1, 10_000))  # epsilon holds but for these
    prior: Fraction = Fraction(1, 100)  # how likely the batched story was beforehand

    def __post_init__(self) -> None:
        for name, chance in (*(("delta", each) for each in self.deltas), ("prior", self.prior)):
            require(
                0 < chance < 1,
                f"{name} must be above 0 and below 1, not {float(chance):g}",
                "try a small chance such as 0.01",
            )

    def posterior(self, nats: float) -> float:
        """How likely the batched story is afterwards, if the odds have moved by so many nats.

        >>> round(Watcher().posterior(3.7), 2)
        0.29
        """
        odds_against = float(1 / self.prior - 1) * exp(min(-nats, 700.0))
        return 1 / (1 + odds_against)


@dataclass(frozen=True, kw_only=True)
class SeasonAsk:
    """One season: so many pairs, and delays of so many blocks. Without blocks the policy's epsilon decides.

    >>> SeasonAsk(pairs=12, blocks=7, order=Decimal(6)).acts
    24
    """

    pairs: int
    blocks: int | None = None  # of gap + window, up to the longest delay
    order: Order | None = None  # the best one for the first delta

    def __post_init__(self) -> None:
        require(
            1 <= self.acts <= MOST_ACTS, f"pairs must be between 1 and {MOST_ACTS // 2}, not {self.pairs}"
        )
        require(
            self.blocks is None or FEWEST <= self.blocks <= MOST_BLOCKS,
            f"blocks must be between {FEWEST} and {MOST_BLOCKS}, not {self.blocks}",
        )

    @property
    def acts(self) -> int:
        """A pair is two."""
        return 2 * self.pairs


@dataclass(frozen=True, kw_only=True)
class SeasonWorth:
    """What an observer may learn from a season under one law.

    >>> one = season_table(Policy(epsilon="0.5", gap="11m"), [SeasonAsk(pairs=12)])[0].constant
    >>> round(float(one.total_variation), 3), round(one.median, 2)
    (0.998, 0.8)
    """

    total_variation: Fraction
    epsilons: tuple[Fraction, ...]  # for each delta of the watcher
    median: float  # posterior: half of the seasons end below it; numeric
    high: float  # nine in ten do; numeric


@dataclass(frozen=True, kw_only=True)
class SeasonRow:
    """A season under both laws, which have the same mean and longest delay of batched acts, without hold.

    >>> row = season_table(Policy(epsilon="1", gap="11m"), [SeasonAsk(pairs=12, blocks=7, order="sine")])[0]
    >>> int(row.mean), int(row.longest), row.order
    (3839, 6719, 'sine')
    """

    ask: SeasonAsk
    mean: Fraction  # seconds, as is the next
    longest: Fraction
    constant: SeasonWorth  # zero-inflated uniform: each act tells the same
    order: Order | None = None  # that was taken
    varying: SeasonWorth | None = None  # cosine; None where no blocks were asked for


#: Seasons of people who batch now and then, often, and daily; delays from an hour to a day at 16 minutes.
TABLE = tuple(
    SeasonAsk(blocks=blocks, pairs=pairs)
    for blocks, pairs in ((7, 12), (22, 12), (22, 50), (59, 50), (59, 200), (179, 200), (179, 1000))
)


def season_table(
    policy: Policy,
    asks: Sequence[SeasonAsk] = TABLE,
    watcher: Watcher | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[SeasonRow]:
    """What each season is worth with a policy's gap, window and tick; without blocks, with its epsilon.

    >>> row = season_table(Policy(epsilon="1", gap="11m"), [SeasonAsk(pairs=12, blocks=22)])[0]
    >>> row.order, round(float(row.constant.epsilons[0]), 2), round(float(row.varying.epsilons[0]), 2)
    (Decimal('6.75'), 1.11, 0.88)
    """
    rows = []
    for done, ask in enumerate(asks, 1):
        rows.append(_row(policy, ask, watcher or Watcher()))
        if progress is not None:
            progress(done, len(asks))
    return rows


def _row(policy: Policy, ask: SeasonAsk, watcher: Watcher) -> SeasonRow:
    pair, share = _constant(policy, ask.blocks)
    order, varying = (None, None) if ask.blocks is None else _varying(ask, ask.blocks, watcher)
    return SeasonRow(
        ask=ask,
        mean=pair.batched.mean * policy.tick,
        longest=(pair.batched.maximum or 0) * policy.tick,
        constant=_constant_worth(Accountant(pair, share), ask.acts, watcher),
        order=order,
        varying=varying,
    )


def _constant(policy: Policy, blocks: int | None) -> tuple[LawPair, Fraction]:
    """The zero-inflated uniform law that ends where the blocks do, and what one act costs under it."""
    if blocks is None:
        return policy.mechanism().pair, policy.share
    start, ratio = policy.start_ticks(policy.gap), Fraction(blocks, blocks - 1)
    return zero_inflated_pair(ratio, start, blocks * start), ln_above(ratio**_MANY) / _MANY


def _constant_worth(accountant: Accountant, acts: int, watcher: Watcher) -> SeasonWorth:
    posterior = watcher.posterior(float(acts * accountant.share))
    return SeasonWorth(
        total_variation=accountant.total_variation(acts),
        epsilons=tuple(accountant.epsilon(acts, delta) for delta in watcher.deltas),
        median=posterior,
        high=posterior,
    )


def _varying(ask: SeasonAsk, blocks: int, watcher: Watcher) -> tuple[Order, SeasonWorth]:
    order = ask.order
    if order is None:
        order = best_shape("cosine", blocks, ask.acts, watcher.deltas[0], rough=True).order
    unbatched, batched = _sine_masses(blocks) if order == "sine" else cosine_masses(blocks, order)
    losses = losses_of_blocks((0, *batched), unbatched).times(ask.acts)
    return order, SeasonWorth(
        total_variation=losses.total_variation,
        epsilons=tuple(losses.epsilon(delta) for delta in watcher.deltas),
        median=watcher.posterior(losses.quantile(0.5)),
        high=watcher.posterior(losses.quantile(_HIGH)),
    )


def _sine_masses(blocks: int) -> tuple[Sequence[int], Sequence[int]]:
    """Squared sines and the geometric means of neighbours: only compared with, so floats will do."""
    sines = [sin(pi * min(i, blocks + 1 - i) / (blocks + 1)) for i in range(1, blocks + 1)]
    return [round(MASS * s * s) for s in sines], [round(MASS * s * t) for s, t in pairwise(sines)]
