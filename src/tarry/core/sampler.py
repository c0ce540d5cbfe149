"""Drawing from a law: one exact sampler for every law there is.

A law is runs, and perhaps a period that repeats. So a draw chooses the run (`Chooser`), counts the
periods gone by where the law has no end (`Geometric`), and takes a uniform tick inside the run. Each
step is exact and they are independent, so the result has exactly the law's masses:
`core/proofs/sampler.md`.

A choice draws a uniform real digit by digit in base 2^32 and compares it with the cuts between the
things to choose from. Nearly always the first digit decides; when it ties with a cut's digit the next
one is drawn. So a choice is exact whatever the size of the numbers, and never asks for a random number
above 2^32.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from tarry.core.entropy import DIGIT, Entropy
from tarry.core.exact import power_bounds, settle
from tarry.core.law import Final, Law, Run

if TYPE_CHECKING:
    from tarry.core.lanes import IntArray, Lanes

__all__ = ["Chooser", "Cut", "Geometric", "Sampler"]

_BITS = DIGIT.bit_length() - 1
_FARTHEST = 1 << 62

#: A cut is a probability known to any precision: bits -> floor(probability * 2^bits).
Cut = Callable[[int], int]


@dataclass(frozen=True)
class Sampler(Final):
    """A law made ready for drawing.

    >>> from tarry.core.entropy import Secure
    >>> Sampler(Law.of_masses([0, 0, 1])).draw(Secure())
    2
    """

    law: Law

    def draw(self, entropy: Entropy) -> int:
        """One delay in ticks."""
        run = self._head.chooser.draw(entropy)
        if run < len(self._head.lengths):
            return self._head.tick(run, entropy)
        periods = self._periods.draw(entropy)
        tick = self._period.tick(self._period.chooser.draw(entropy), entropy)
        return self.law.tail_start + periods * self.law.period_length + tick

    def draw_many(self, lanes: "Lanes", which: "IntArray | None" = None) -> "IntArray":
        """One delay for each lane (or each of the given ones): the very ones `draw` would give it.

        >>> from tarry.core.lanes import SecureLanes
        >>> Sampler(Law.of_masses([0, 0, 1])).draw_many(SecureLanes(3)).tolist()
        [2, 2, 2]
        """
        import numpy as np  # noqa: PLC0415 - only bulk work pays for loading numpy

        run = self._head.chooser.draw_many(lanes, which)
        if not self.law.period:
            return self._head.ticks(run, lanes, which)
        which = np.arange(len(lanes)) if which is None else which
        ticks = np.empty(len(which), dtype=np.int64)
        short = np.flatnonzero(run < len(self._head.lengths))
        if short.size:
            ticks[short] = self._head.ticks(run[short], lanes, which[short])
        long = np.flatnonzero(run == len(self._head.lengths))
        far = which[long]
        periods = self._periods.draw_many(lanes, far)
        if periods.size and int(periods.max()) > _FARTHEST // self.law.period_length:
            raise OverflowError("a drawn delay does not fit in 62 bits: choose a longer tick")
        inside = self._period.ticks(self._period.chooser.draw_many(lanes, far), lanes, far)
        ticks[long] = self.law.tail_start + periods * self.law.period_length + inside
        return ticks

    @cached_property
    def _head(self) -> "_Runs":
        return _Runs(self.law.head, self.law.head_starts, Fraction(1))

    @cached_property
    def _period(self) -> "_Runs":
        return _Runs(self.law.period, self.law.period_starts, self.law.period_total)

    @cached_property
    def _periods(self) -> "Geometric":
        return Geometric(self.law.ratio)


class _Runs:
    """The runs that have mass, to choose one and a tick inside it.

    A choice beyond the last run means the mass that the runs leave to the tail.
    """

    def __init__(self, runs: Sequence[Run], starts: Sequence[int], total: Fraction) -> None:
        kept = [(run, start) for run, start in zip(runs, starts, strict=False) if run.mass]
        shares = [run.total / total for run, _ in kept]
        left = 1 - sum(shares, Fraction(0))
        self.chooser = Chooser.of_shares([*shares, left] if left else shares)
        self.starts = [start for _, start in kept]
        self.lengths = [run.length for run, _ in kept]

        # A run of one tick draws as its longest neighbour does and ignores the number: so all lanes of
        # a vector keep step, and a law of one long run and an atom is a single pass.
        longest = max(self.lengths, default=1)
        self.ranges = [length if length > 1 else longest for length in self.lengths]
        self._long = [i for i, length in enumerate(self.lengths) if length > 1]

    def tick(self, run: int, entropy: Entropy) -> int:
        offset = entropy.randbelow(self.ranges[run])
        return self.starts[run] + (offset if self.lengths[run] > 1 else 0)

    def ticks(self, run: "IntArray", lanes: "Lanes", which: "IntArray | None") -> "IntArray":
        import numpy as np  # noqa: PLC0415 - only bulk work pays for loading numpy

        if len(self._long) > 1:
            return self._ticks_of_many(run, lanes, which)
        ticks = lanes.randbelow(self.ranges[0], which)
        if self._long:
            ticks += self.starts[self._long[0]]
        for i, length in enumerate(self.lengths):
            if length == 1:
                np.putmask(ticks, run == i, self.starts[i])
        return ticks

    def _ticks_of_many(self, run: "IntArray", lanes: "Lanes", which: "IntArray | None") -> "IntArray":
        import numpy as np  # noqa: PLC0415 - only bulk work pays for loading numpy

        ticks = np.empty(len(run), dtype=np.int64)
        ranges = np.array(self.ranges)[run]
        for n in set(self.ranges):
            mine = np.flatnonzero(ranges == n)
            ticks[mine] = lanes.randbelow(n, mine if which is None else which[mine])
        ticks *= np.array(self.lengths)[run] > 1
        ticks += np.array(self.starts)[run]
        return ticks


class Chooser:
    """A choice between len(cuts) + 1 things: the answer is how many cuts a uniform real reaches.

    >>> from tarry.core.entropy import Secure
    >>> Chooser.of_shares([Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]).draw(Secure()) in (
    ...     0,
    ...     1,
    ...     2,
    ... )
    True
    """

    def __init__(self, cuts: Sequence[Cut]) -> None:
        self.cuts = cuts
        self.first_digits = [_digit(cut, 0) for cut in cuts]

    @classmethod
    def of_shares(cls, shares: Sequence[Fraction]) -> "Chooser":
        """A choice between things with these shares, which sum to 1."""
        return cls([_Share(share) for share in accumulate(shares[:-1])])

    def draw(self, entropy: Entropy) -> int:
        """One choice."""
        if not self.cuts:
            return 0
        digit = entropy.randbelow(DIGIT)
        passed = bisect_left(self.first_digits, digit)
        open_ = bisect_right(self.first_digits, digit)
        return passed if passed == open_ else self._go_on(passed, open_, entropy)

    def _go_on(self, passed: int, open_: int, entropy: Entropy) -> int:
        """Draw further digits while cuts passed..open_-1 agree with the real in all digits so far.

        Of these a smaller digit is passed, a larger one is not, an equal one stays open.
        """
        place = 1
        while passed < open_:
            digit = entropy.randbelow(DIGIT)
            digits = [_digit(cut, place) for cut in self.cuts[passed:open_]]
            passed, open_ = (
                passed + bisect_left(digits, digit),
                passed + bisect_right(digits, digit),
            )
            place += 1
        return passed

    def draw_many(self, lanes: "Lanes", which: "IntArray | None" = None) -> "IntArray":
        """One choice for each lane, the very ones `draw` would make."""
        import numpy as np  # noqa: PLC0415 - only bulk work pays for loading numpy

        if not self.cuts:
            return np.zeros(len(lanes) if which is None else len(which), dtype=np.int64)
        if len(self.cuts) == 1:
            above, ties = lanes.above(self.first_digits[0], which)
            chosen = above.astype(np.int64)
        else:
            digits = lanes.randbelow(DIGIT, which)
            chosen = np.searchsorted(self.first_digits, digits, side="left")
            ties = np.flatnonzero(chosen != np.searchsorted(self.first_digits, digits, side="right"))
        for i in ties.tolist():
            passed = int(chosen[i])
            open_ = bisect_right(self.first_digits, self.first_digits[passed])
            lane = lanes.lane(i if which is None else int(which[i]))
            chosen[i] = self._go_on(passed, open_, lane)
        return chosen


class Geometric:
    """How many periods an endless law runs through: P(at least j) = ratio^-j.

    The binary digits of such a number are independent coins, so a mean of a million takes some
    twenty coins and not a million. What lies above the coins is counted one by one, with a chance
    of at most about 1/2 to go on.

    >>> from tarry.core.entropy import Secure
    >>> len(Geometric(Fraction(1001, 1000)).coins), Geometric(Fraction(3)).draw(Secure()) >= 0
    (10, True)
    """

    def __init__(self, ratio: Fraction) -> None:
        base = 1 / ratio
        coins: list[Chooser] = []
        # Only the first cut can be a fraction of two's powers, as 3/5 gives 3/8: an enclosure would never
        # settle on which side of such a number it lies. (A sum of two odd squares is no multiple of four.)
        first = _Share(base / (1 + base))
        while _Power(base, 1 << len(coins))(1):  # base^(2^i) >= 1/2: one coin more
            coins.append(Chooser([_Power(base, 1 << len(coins), coin=True) if coins else first]))
        self.coins = coins
        self._onward = Chooser([_Power(base, 1 << len(coins))])

    def draw(self, entropy: Entropy) -> int:
        """One number of periods; a coin shows 0 when the real stays below its cut."""
        count = sum((1 - coin.draw(entropy)) << i for i, coin in enumerate(self.coins))
        while not self._onward.draw(entropy):
            count += 1 << len(self.coins)
        return count

    def draw_many(self, lanes: "Lanes", which: "IntArray") -> "IntArray":
        """One number of periods for each lane, the very ones `draw` would give."""
        import numpy as np  # noqa: PLC0415 - only bulk work pays for loading numpy

        counts = np.zeros(len(which), dtype=np.int64)
        for i, coin in enumerate(self.coins):
            counts += (1 - coin.draw_many(lanes, which)) << i
        going = np.arange(len(which))
        while going.size:
            going = going[self._onward.draw_many(lanes, which[going]) == 0]
            counts[going] += 1 << len(self.coins)
        return counts


def _digit(cut: Cut, place: int) -> int:
    """The digit of a cut in base 2^32, place 0 first; that of a cut at 1 lies above all digits."""
    return cut(_BITS * (place + 1)) - (cut(_BITS * place) << _BITS if place else 0)


@dataclass(frozen=True)
class _Share:
    """The cut at a rational."""

    value: Fraction

    def __call__(self, bits: int) -> int:
        return (self.value.numerator << bits) // self.value.denominator


@dataclass(frozen=True)
class _Power:
    """The cut at x = base^exponent, or for a coin at x / (1 + x).

    Both grow with x, so an enclosure of x encloses them.
    """

    base: Fraction
    exponent: int
    coin: bool = False

    def __call__(self, bits: int) -> int:
        def attempt(extra: int) -> tuple[int, int]:
            bounds = power_bounds(self.base, self.exponent, bits + extra)
            one = 1 << bits + extra
            low, high = ((x << bits) // (one + x if self.coin else one) for x in bounds)
            return low, high

        return settle(attempt)
