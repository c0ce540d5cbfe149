"""What many acts together may cost: the losses of a season, added up with every rounding against us.

One act whose label differs between two stories *loses* ln(P/Q), where P is the chance of what is seen if it
was batched, and Q if it was not. Under most laws that is always the same number, and a season costs that
number times the acts. Under a law of blocks (`laws.cosine`) it varies, and can be negative: over a season
much of it cancels. This file adds such losses up.

All is done in integers. Losses lie on the grid j ln(1 + 2^-12); a loss between two points is split over
both so that P and Q keep their mass, which never makes the stories harder to tell apart. What is then
rounded or cut off goes to the larger loss. So every answer is an upper bound (`core/proofs/season.md`).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from math import ceil, inf

from tarry.core.errors import require, require_possible
from tarry.core.exact import exceeds_exp, exp_bounds, log_of

__all__ = ["Losses", "ln_above", "ln_below", "losses_of_blocks"]

#: The grid: ratios of P and Q are whole powers of this.
_GRID = 1 + Fraction(1, 1 << 12)
#: A chance of 1 as an integer: rounding up adds at most 2^-72 to each of some thousand masses.
_BITS = 72
_ONE = 1 << _BITS
#: What may be cut off at either end of a sum: to the larger loss, so it can only be too much.
_CUT = _ONE >> 50
#: A longer row of masses is put on a grid twice as wide.
_LONGEST = 4096
_DECIMALS = 10**6


@dataclass(frozen=True)
class Losses:
    """The losses of some acts: the chance of each point of the grid, and of what proves the truth.

    Chances are those under P, out of 2^72, and never too small.

    >>> one = losses_of_blocks([2, 1], [1, 2])
    >>> round(float(one.total_variation), 3), round(float(one.times(4).total_variation), 3)
    (0.333, 0.482)
    """

    acts: int
    first: int  # the loss of the first mass, in steps of the grid
    width: int  # steps between two masses: a power of 2 that divides `first`
    masses: tuple[int, ...]
    proof: int = 0  # the chance of something that cannot be seen in the other story

    def __add__(self, other: "Losses") -> "Losses":
        """The losses of both, one after the other."""
        width = max(self.on_grid().width, other.on_grid().width)
        one, two = self.on_grid(width), other.on_grid(width)
        masses = tuple(-(-mass >> _BITS) for mass in _products(one.masses, two.masses))
        proof = min(_ONE, self.proof + other.proof)
        whole = Losses(self.acts + other.acts, one.first + two.first, width, masses, proof)
        return whole._without_ends().on_grid(width)

    def times(self, acts: int) -> "Losses":
        """The losses of so many times as many acts, by repeated doubling.

        >>> losses_of_blocks([2, 1], [1, 2]).times(5).acts
        5
        """
        require(acts >= 1, f"a season must have at least one act, not {acts}")
        if acts == 1:
            return self
        half = self.times(acts // 2)
        return half + half + self if acts % 2 else half + half

    def on_grid(self, width: int = 1) -> "Losses":
        """On a grid at least this wide (a power of 2), with no more masses than are quickly multiplied.

        Still an upper bound. Sums of losses on the grid of width 16 are some ten times as fast, and their
        epsilon is a few thousandths larger: enough to search with.

        >>> losses_of_blocks([2, 1], [1, 2]).on_grid(16).width
        16
        """
        if self.width >= width and len(self.masses) <= _LONGEST:
            return self
        # Every second mass is split over its neighbours so that P and Q stay: the larger one gets r/(r+1).
        odd = self.first // self.width % 2
        row = [0] * odd + list(self.masses)
        row += [0] * (1 - len(row) % 2)
        share, masses = self._ratio / (self._ratio + 1), row[::2]
        for place, mass in enumerate(row[1::2]):
            up = -(-mass * share.numerator // share.denominator)
            masses[place] += mass - up
            masses[place + 1] += up
        first = self.first - odd * self.width
        return Losses(self.acts, first, 2 * self.width, tuple(masses), self.proof).on_grid(width)

    def delta(self, epsilon: Fraction) -> Fraction:
        """The chance with which an observer may learn more than epsilon.

        >>> float(losses_of_blocks([1, 0], [1, 1]).delta(Fraction(0)))
        0.5
        """
        place = int(epsilon / self._step)
        if place + 1 >= len(self._deltas):
            return Fraction(self._deltas[-1], _ONE)
        # Delta is convex in e^epsilon: between two points of the grid a straight line lies above it.
        beyond = Fraction(exp_bounds(epsilon - place * self._step, _BITS)[0], _ONE) - 1
        high, low = (Fraction(each, _ONE) for each in self._deltas[place : place + 2])
        return high - (high - low) * max(Fraction(0), beyond / (self._ratio - 1))

    def epsilon(self, delta: Fraction) -> Fraction:
        """The epsilon that is exceeded with at most this chance, to six decimals.

        >>> losses_of_blocks([1, 0], [1, 1]).epsilon(Fraction(1, 10))  # ln 1.8 is 0.5877866...
        Fraction(587787, 1000000)
        """
        require_possible(
            delta * _ONE >= self.proof,
            f"no epsilon holds with a chance of {float(delta):g} to fail, because some releases prove "
            "that an act was batched: choose a larger delta",
        )
        # They fall, and so their negatives rise.
        place = bisect_left(self._deltas, -delta * _ONE, key=lambda each: Fraction(-each))
        if not place:
            return Fraction(0)
        high, low = (Fraction(each, _ONE) for each in self._deltas[place - 1 : place + 1])
        beyond = (self._ratio - 1) * (high - delta) / (high - low)
        nats = (place - 1) * self._step + (_ln_above_one(beyond) if beyond < 1 else ln_above(1 + beyond))
        return Fraction(ceil(nats * _DECIMALS), _DECIMALS)

    @property
    def total_variation(self) -> Fraction:
        """How far an observer's chances may differ between the two stories: 0 not at all, 1 entirely."""
        return self.delta(Fraction(0))

    def chance_above(self, epsilon: Fraction) -> Fraction:
        """At most the chance that the odds move by more than e^epsilon towards the truth.

        Whatever is seen then is e^(epsilon - x) times as likely as e^x allows, for every smaller x: so its
        chance is at most delta(x) / (1 - e^(x - epsilon)).

        >>> float(losses_of_blocks([1, 0], [1, 1]).chance_above(Fraction(1)))
        0.0
        """
        ratio, _ = exp_bounds(epsilon, _BITS)
        step, least, at = self._ratio, _ONE, _ONE  # at: e^x, rounded up
        for delta in self._deltas:
            if at >= ratio:
                break
            least = min(least, -(-delta * ratio // (ratio - at)))
            at = -(-at * step.numerator // step.denominator)
        return Fraction(least, _ONE)

    def quantile(self, share: float) -> float:
        """The nats that this share of seasons loses at most: numeric, and of these very losses.

        >>> round(losses_of_blocks([1, 0], [1, 1]).quantile(0.5), 2)
        0.69
        """
        sums = enumerate(accumulate(self.masses), self.first // self.width)
        return next((float(place * self._step) for place, chance in sums if chance >= share * _ONE), inf)

    @property
    def _step(self) -> Fraction:
        """Nats between two masses, rounded up."""
        return self.width * _ln_grid()

    @property
    def _ratio(self) -> Fraction:
        """The ratio of P and Q between two masses."""
        return _GRID**self.width

    @cached_property
    def _deltas(self) -> list[int]:
        """Delta at epsilon 0 and at each further point of the grid, up to the first that no loss exceeds.

        It is the sum over larger losses of P - c Q. Each step down the grid makes c smaller by the same
        ratio, which is all that happens to the second part; it is rounded down.
        """
        shrink = 1 / self._ratio
        top = self.first // self.width + len(self.masses) - 1
        deltas, p, q = [self.proof], 0, 0
        for place in range(top, 0, -1):
            at = place - self.first // self.width
            mass = self.masses[at] if at >= 0 else 0
            p, q = p + mass, (q + mass) * shrink.numerator // shrink.denominator
            deltas.append(self.proof + p - q)
        return deltas[::-1]

    def _without_ends(self) -> "Losses":
        """Without what hardly ever happens: the smallest losses move up, the largest count as proof."""
        below = list(accumulate(self.masses))
        low, high = bisect_left(below, _CUT), bisect_left(below, below[-1] - _CUT) + 1
        masses = (below[low], *self.masses[low + 1 : high])
        proof = self.proof + below[-1] - below[high - 1]
        return Losses(self.acts, self.first + low * self.width, self.width, masses, proof)


def losses_of_blocks(batched: Sequence[Fraction | int], unbatched: Sequence[Fraction | int]) -> Losses:
    """What one act loses whose release falls into block i with these chances, out of their sums.

    >>> losses_of_blocks([1, 1], [2, 0]).proof == 2**71  # half of the time
    True
    """
    p_total, q_total = sum(batched), sum(unbatched)
    chances = [
        (Fraction(p, p_total), Fraction(q, q_total)) for p, q in zip(batched, unbatched, strict=True) if p
    ]
    proof = sum(ceil(p * _ONE) for p, q in chances if not q)
    seen = [(p, q) for p, q in chances if q]
    places = [_place_below(p / q, _GRID) for p, q in seen] or [0]
    width = 1
    while (max(places) - min(places)) // width > _LONGEST:
        width *= 2
    points: Counter[int] = Counter({0: 0})
    step = _GRID**width
    for p, q in seen:
        place = _place_below(p / q, step)
        # Of a ratio r between two points s < t, t gets (r - s) / (t - s) * t / r of P: then Q stays.
        up = ceil((p - q * step**place) * step / (step - 1) * _ONE)
        points[place] += ceil(p * _ONE) - up
        points[place + 1] += up
    first, last = min(points), max(points)
    return Losses(1, first * width, width, tuple(points[place] for place in range(first, last + 1)), proof)


def _place_below(ratio: Fraction, step: Fraction) -> int:
    """The last power of a step that is not above a ratio: guessed by logarithms, then proved."""
    place = int(log_of(ratio) / log_of(step))
    while step**place > ratio:
        place -= 1
    while step ** (place + 1) <= ratio:
        place += 1
    return place


def ln_above(ratio: Fraction) -> Fraction:
    """ln(ratio) for a ratio of at least 1, to six decimals, rounded up.

    >>> ln_above(Fraction(2)) * 10**6  # 693147.18...
    Fraction(693148, 1)
    """
    nats = Fraction(max(0, int(log_of(ratio) * _DECIMALS) - 1), _DECIMALS)
    while exceeds_exp(ratio, nats):
        nats += Fraction(1, _DECIMALS)
    return nats


def ln_below(ratio: Fraction) -> Fraction:
    """ln(ratio) for a ratio of at least 1, to six decimals, rounded down.

    >>> ln_below(Fraction(2)) * 10**6, ln_below(Fraction(1))
    (Fraction(693147, 1), Fraction(0, 1))
    """
    above = ln_above(ratio)
    return above if ratio == 1 else above - Fraction(1, _DECIMALS)


def _ln_above_one(x: Fraction) -> Fraction:
    """At least ln(1 + x) for 0 <= x <= 1: its series, cut off after a positive term."""
    return sum((Fraction((-1) ** (n + 1)) * x**n / n for n in range(1, 10)), Fraction(0))


@cache
def _ln_grid() -> Fraction:
    """Nats from one point of the grid to the next, rounded up."""
    return _ln_above_one(_GRID - 1)


def _products(one: Sequence[int], two: Sequence[int]) -> list[int]:
    """The coefficients of the product of two polynomials, by one product of two long integers."""
    size = (2 * _BITS + min(len(one), len(two)).bit_length()) // 8 + 1
    first, second = (
        int.from_bytes(b"".join(mass.to_bytes(size, "little") for mass in row), "little")
        for row in (one, two)
    )
    digits = (first * second).to_bytes(size * (len(one) + len(two) - 1), "little")
    return [int.from_bytes(digits[at : at + size], "little") for at in range(0, len(digits), size)]
