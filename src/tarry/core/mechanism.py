"""A mechanism: the pair of laws (batched, unbatched) with the gap they serve.

This file is the protocol through which laws join: a *family* takes an `Ask` and returns a
`LawPair`. `plan`, `verify` and `plan_release` know nothing else about a law, so a family of your
own is one function (see `docs/own-law.md`).
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import log
from typing import Protocol

from tarry.core.errors import BadInput
from tarry.core.exact import log_of, ratio_below
from tarry.core.law import Final, Law, Run
from tarry.core.sampler import Sampler

__all__ = ["Ask", "Family", "LabelFree", "LawPair", "Mechanism", "SeasonLaw", "shifted_pair"]

_BITS = 62
_ALMOST_ALL = 1 - Fraction(1, 10**6)


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What a family is asked for.

    >>> Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)).ratio < Fraction(16488, 10000)
    True
    """

    share: Fraction  # the part of epsilon one event may cost (`policy.event_share`)
    start: int  # G: batched delays begin here, the promise covers moves of 0..G ticks
    weight: Fraction  # of batched against unbatched delay, 0..1
    delta: Fraction = Fraction(0)  # chance that the promise of a label-free law fails
    blocks: int | None = None  # of a law for a season: how many of `start` ticks,
    order: Decimal | None = None  # and its shape

    @cached_property
    def ratio(self) -> Fraction:
        """R <= e^share."""
        return ratio_below(self.share)


@dataclass(frozen=True, kw_only=True)
class LawPair(Final):
    """What a family returns: two laws, and where the batched one starts.

    >>> law = Law.of_masses([0, 1])
    >>> LawPair(batched=law, unbatched=law, start=1).label_free
    True
    """

    batched: Law
    unbatched: Law
    start: int
    eta: Fraction | None = None  # chance that an unbatched event draws from the uniform part

    @cached_property
    def coupled(self) -> bool:
        """Whether the batched law is the unbatched one given a delay of at least `start` ticks.

        Then one draw can serve both labels (`release.draw_pair`).

        >>> law = Law.of_masses([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)])
        >>> LawPair(batched=law.from_tick(1), unbatched=law, start=1).coupled
        True
        """
        # A law without an end always goes on; asking how far it has come takes very long powers.
        if not self.unbatched.period and not self.unbatched.cumulative(self.start - 1) < 1:
            return False
        return self.batched.same_as(self.unbatched.from_tick(self.start))

    @cached_property
    def span(self) -> tuple[int, int]:
        """The shortest and the longest delay of either law, in ticks.

        Of a law without an end the longest is the one that all but one in a million events stay within.

        >>> shifted_pair(Law.of_masses([Fraction(1, 2), Fraction(1, 2)]), start=5).span
        (0, 6)
        """
        laws = (self.unbatched, self.batched)
        shortest = min(law.minimum for law in laws)
        longest = [law.quantile(_ALMOST_ALL) if law.maximum is None else law.maximum for law in laws]
        # A law without an end always has a longer delay: the two must not read as one certain delay.
        return shortest, max(*longest, shortest + any(law.maximum is None for law in laws))

    @cached_property
    def label_free(self) -> bool:
        """Whether both labels share one law, so that labels do not matter."""
        return self.batched is self.unbatched

    @cached_property
    def largest_ratio(self) -> Fraction | None:
        """The largest b(k) / u(k - l) over every delay k and shift l of 0..start; None if there is none.

        For laws with an end alone: `verify` decides about the others.

        >>> law = Law.of_masses([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)])
        >>> LawPair(batched=law.from_tick(1), unbatched=law, start=1).largest_ratio
        Fraction(2, 1)
        """
        ratios = [
            (mass.exact, low.exact)
            for first, last, mass in self.batched.steps(self.batched.tail_start)
            if mass.coefficient
            for _, low in self.unbatched.lows(first - self.start, last)
        ]
        return None if not all(low for _, low in ratios) else max(mass / low for mass, low in ratios)


class Family(Protocol):
    """A law's way in: any callable that turns an `Ask` into a `LawPair`.

    >>> def twice_as_long(ask: Ask) -> LawPair:
    ...     unbatched = Law((Run(2 * ask.start, Fraction(1, 2 * ask.start)),))
    ...     return LawPair(batched=unbatched.from_tick(ask.start), unbatched=unbatched, start=ask.start)
    >>> twice_as_long(Ask(share=Fraction(1), start=5, weight=Fraction(1))).largest_ratio
    Fraction(2, 1)
    """

    def __call__(self, ask: Ask, /) -> LawPair:
        """The pair of laws that keeps the ask's promise."""


@dataclass(frozen=True)
class _Marked:
    """A family that says of itself what a policy with it needs."""

    family: Family

    def __call__(self, ask: Ask, /) -> LawPair:
        """The pair of laws that the family gives."""
        return self.family(ask)


@dataclass(frozen=True)
class LabelFree(_Marked, Final):
    """A family with one law for every event: a policy with it needs no labels (`labels = "none"`).

    A package names `LabelFree(function)` where it would name the function of another law.

    >>> law = Law.of_masses([0, 1])
    >>> family = LabelFree(lambda ask: LawPair(batched=law, unbatched=law, start=ask.start))
    >>> family(Ask(share=Fraction(1), start=1, weight=Fraction(1))).label_free
    True
    """


@dataclass(frozen=True)
class SeasonLaw(_Marked, Final):
    """A family made of blocks: `blocks` and `order` shape it, and what one act costs is what comes out.

    A policy with it needs a season (`tarry.core.season`).

    >>> pair = LawPair(
    ...     batched=Law.of_masses([0, 1]), unbatched=Law.of_masses([Fraction(1, 2)] * 2), start=1
    ... )
    >>> SeasonLaw(lambda ask: pair)(Ask(share=Fraction(1), start=1, weight=Fraction(1))).largest_ratio
    Fraction(2, 1)
    """


@dataclass(frozen=True, kw_only=True)
class Mechanism(Final):
    """A pair of laws with the hold that comes before them: what turns an arrival into a release.

    >>> pair = shifted_pair(Law.of_masses([1]), start=2)
    >>> Mechanism(pair=pair, hold=5).pair.batched.maximum
    2
    """

    pair: LawPair
    hold: int  # H: ticks until the label is known, 0 unless labels are held

    def __post_init__(self) -> None:
        for law in (self.pair.batched, self.pair.unbatched):
            if not _fits(law):
                raise BadInput(
                    f"the law has delays of 2^{_BITS} ticks or more",
                    "choose a longer tick, a shorter gap or a larger epsilon",
                )

    @cached_property
    def batched(self) -> Sampler:
        """Draws delays of batched events."""
        return Sampler(self.pair.batched)

    @cached_property
    def unbatched(self) -> Sampler:
        """Draws delays of unbatched events."""
        return Sampler(self.pair.unbatched)


def _fits(law: Law) -> bool:
    """Whether delays fit in 62 bits: surely, or for an endless law but for a chance below 2^-200."""
    if law.maximum is not None:
        return law.maximum < 1 << _BITS
    periods = ((1 << _BITS) - law.tail_start) // law.period_length
    return periods * log_of(law.ratio) > 200 * log(2)


def shifted_pair(unbatched: Law, start: int) -> LawPair:
    """A pair whose batched law is the unbatched one, `start` ticks later.

    >>> shifted_pair(Law.of_masses([1]), start=2).batched.minimum
    2
    """
    later = Law((Run(start, Fraction(0)), *unbatched.head), unbatched.period, unbatched.ratio)
    return LawPair(batched=later, unbatched=unbatched, start=start)
