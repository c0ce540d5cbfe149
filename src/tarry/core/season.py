"""A season: a promise for as many acts as people really make, not for one pair.

`Season` is what an operator states: so many acts of one person may differ, and even then an observer's odds
move by more than e^epsilon with a chance of at most delta. `Accountant` says what a number of acts costs
under one pair of laws (Theorem 2, `core/proofs/season.md`).
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, reduce
from operator import add

from tarry.core.accountant import Losses, ln_below, losses_of_blocks
from tarry.core.errors import BadInput, require
from tarry.core.exact import exp_bounds
from tarry.core.mechanism import LawPair

__all__ = [
    "TWO_STORIES",
    "Accountant",
    "Season",
    "block_masses",
    "composed_epsilon",
    "constant_epsilon",
    "ladder",
    "on_ladder",
]

MOST_ACTS = 1_000_000
#: Stands wherever a season is shown.
TWO_STORIES = (
    "odds between two stories: batched, or somebody else up to gap + window later; who is active on the "
    "same days stays visible"
)
_PLACES = 10**9
#: The grid of a first look: ten times as fast, and a little dearer than the truth.
_ROUGH = 16
# The same sums are asked for again and again.
_on_grid = lru_cache(maxsize=512)(Losses.on_grid)
_times = lru_cache(maxsize=512)(Losses.times)
_add = lru_cache(maxsize=512)(add)


@dataclass(frozen=True, kw_only=True)
class Season:
    """So many acts whose label may differ, and what all of them together may cost.

    >>> Season(acts=400, epsilon=Fraction("2.3"), delta=Fraction("0.01")).pairs
    Fraction(200, 1)
    """

    acts: int  # a batched pair is two
    epsilon: Fraction  # nats that the odds may move by, in all
    delta: Fraction  # the chance that they move further, for each person

    def __post_init__(self) -> None:
        require(
            1 <= self.acts <= MOST_ACTS,
            f"the acts of a season must be between 1 and {MOST_ACTS}, not {self.acts}",
        )
        if self.epsilon <= 0:
            raise BadInput(f"the epsilon of a season must be above 0, not {float(self.epsilon):g}")
        require(
            0 < self.delta < 1,
            f"the delta of a season must be above 0 and below 1, not {float(self.delta):g}",
            "try a small chance such as 0.01",
        )

    @property
    def pairs(self) -> Fraction:
        """Batched pairs, of two acts each."""
        return Fraction(self.acts, 2)

    @property
    def share(self) -> Fraction:
        """What one act may cost under a law whose loss is constant; rounded down.

        So many constant losses are exceeded never, or always: only delta itself helps, once.

        >>> float(Season(acts=400, epsilon=Fraction("2.3"), delta=Fraction("0.01")).share)
        0.005775125
        """
        nats = (self.epsilon + ln_below(1 / (1 - self.delta))) / self.acts
        return Fraction(int(nats * _PLACES), _PLACES)


class Accountant:
    """What acts whose labels differ cost under one pair of laws, where each alone costs at most `share`.

    >>> from tarry.core.policy import Policy
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> float(Accountant(policy.mechanism().pair, policy.share).epsilon(20, Fraction("0.01")))
    9.98995
    """

    def __init__(self, pair: LawPair, share: Fraction) -> None:
        self.share, self._one = share, _losses(pair)

    @property
    def constant(self) -> bool:
        """Whether each act costs the same, so that a season has no discount."""
        return self._one is None

    def losses(self, acts: int, *, rough: bool = False) -> Losses:
        """The losses of so many acts; only where they vary."""
        if self._one is None:
            raise BadInput("the loss of this law must vary to be added up", "ask for its epsilon or delta")
        return _times(_on_grid(self._one, _ROUGH) if rough else self._one, acts)

    def epsilon(self, acts: int, delta: Fraction, *, rough: bool = False) -> Fraction:
        """Nats that the odds move by at most, but for this chance; `rough` is quick and a little too much.

        >>> from tarry.core.policy import Policy
        >>> policy = Policy(epsilon="1", gap="11m")
        >>> Accountant(policy.mechanism().pair, policy.share).epsilon(0, Fraction("0.01"))
        Fraction(0, 1)
        """
        if not acts:
            return Fraction(0)
        if self._one is None:
            return constant_epsilon(acts * self.share, delta)
        return self.losses(acts, rough=rough).epsilon(delta)

    def delta(self, acts: int, epsilon: Fraction) -> Fraction:
        """The chance that the odds move by more than epsilon allows."""
        if not acts:
            return Fraction(0)
        if self._one is None:
            over = max(Fraction(0), acts * self.share - epsilon)
            return 1 - Fraction(1 << 96, exp_bounds(over, 96)[1]) if over else Fraction(0)
        return self.losses(acts).delta(epsilon)

    def check(self, season: Season) -> None:
        """Refuse a season that costs more than it says: quickly where there is room, else exactly.

        >>> from tarry.core.policy import Policy
        >>> policy = Policy(epsilon="1", gap="11m")
        >>> season = Season(acts=20, epsilon=Fraction(2), delta=Fraction("0.01"))
        >>> Accountant(policy.mechanism().pair, policy.share).check(season)
        Traceback (most recent call last):
        tarry.core.errors.BadInput: a season of 20 acts must cost at most 2, and costs 9.98995: take more \
blocks, another order or fewer acts (tarry plan --season)
        """
        cost = self.epsilon(season.acts, season.delta, rough=True)
        if cost > season.epsilon:
            cost = self.epsilon(season.acts, season.delta)
        if cost > season.epsilon:
            raise BadInput(
                f"a season of {season.acts} acts must cost at most {float(season.epsilon):g}, and costs "
                f"{float(cost):g}",
                "take more blocks, another order or fewer acts (tarry plan --season)",
            )

    def total_variation(self, acts: int) -> Fraction:
        """How far chances may differ between the two stories: 0 not at all, 1 entirely."""
        return self.delta(acts, Fraction(0))

    def chance_above(self, acts: int, epsilon: Fraction) -> Fraction:
        """At most the chance that the odds move by more than e^epsilon towards the truth."""
        if self._one is None:
            return Fraction(int(acts * self.share > epsilon))
        return self.losses(acts).chance_above(epsilon) if acts else Fraction(0)


def block_masses(pair: LawPair) -> tuple[Sequence[Fraction], Sequence[Fraction]] | None:
    """The masses of batched and unbatched blocks of `start` ticks, if both laws are made of such blocks.

    >>> from tarry.core.laws.cosine import block_law
    >>> block_masses(LawPair(batched=block_law([0, 1], 5), unbatched=block_law([1, 1], 5), start=5))
    ([Fraction(0, 1), Fraction(1, 1)], [Fraction(1, 2), Fraction(1, 2)])
    """
    rows = []
    for law in (pair.batched, pair.unbatched):
        if law.period or any(run.length % pair.start for run in law.head):
            return None
        rows.append([pair.start * run.mass for run in law.head for _ in range(run.length // pair.start)])
    length = max(map(len, rows))
    batched, unbatched = (row + [Fraction(0)] * (length - len(row)) for row in rows)
    return batched, unbatched


def _losses(pair: LawPair) -> Losses | None:
    """What one act loses, where that varies and no shift is worse than none: symmetric blocks.

    Every other pair is held to its share, which no loss of it exceeds; a coupled pair loses just that.
    """
    if (blocks := block_masses(pair)) is None:
        return None
    batched, unbatched = blocks
    if unbatched != unbatched[::-1] or batched[0] or batched[1:] != batched[:0:-1]:
        return None
    return losses_of_blocks(batched, unbatched)


def constant_epsilon(nats: Fraction, delta: Fraction) -> Fraction:
    """What is exceeded with at most this chance, where acts always lose so many nats together.

    >>> float(constant_epsilon(Fraction(10), Fraction("0.01")))
    9.98995
    """
    return max(Fraction(0), nats - ln_below(1 / (1 - delta)))


def composed_epsilon(parts: Sequence[tuple[Accountant, int]], delta: Fraction) -> Fraction:
    """Nats that acts under several policies cost together, but for this chance; a little too much.

    A season does not begin anew when a policy does: what was lost under each adds to the others.

    >>> from tarry.core.policy import Policy
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> accountant = Accountant(policy.mechanism().pair, policy.share)
    >>> two = composed_epsilon([(accountant, 8), (accountant, 12)], Fraction("0.01"))
    >>> two == accountant.epsilon(20, Fraction("0.01"))
    True
    """
    constant = sum((acts * each.share for each, acts in parts if each.constant), Fraction(0))
    varying = [each.losses(acts, rough=True) for each, acts in parts if acts and not each.constant]
    if not varying:
        return constant_epsilon(constant, delta)
    # A constant loss moves every sum by itself: epsilon too, if it is not below 0 without it.
    return constant + reduce(_add, varying).epsilon(delta)


@cache
def ladder() -> tuple[int, ...]:
    """Counts for which a season is worked out where there are many: each to 64, then steps of about 5 %.

    >>> ladder()[62:67]
    (62, 63, 64, 68, 72)
    """
    rungs = list(range(65))
    while rungs[-1] < MOST_ACTS:
        rungs.append(rungs[-1] * 263 // 250 + 1)
    return tuple(rungs)


def on_ladder(acts: int) -> int:
    """The count for which so many acts are accounted: the next one of the ladder, never fewer.

    >>> on_ladder(40), on_ladder(400), on_ladder(5000)
    (40, 400, 5149)
    """
    return ladder()[bisect_left(ladder(), acts)]
