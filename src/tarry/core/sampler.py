"""Drawing from a law: one exact sampler for every law there is.

A law is runs, and perhaps a period that repeats. So a draw chooses the run (`choice`), counts the
periods gone by where the law has no end, and takes a uniform tick inside the run. Each step is exact
and they are independent, so the result has exactly the law's masses: `core/proofs/sampler.md`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from tarry.core.choice import Choice, Geometric
from tarry.core.entropy import Entropy
from tarry.core.errors import Sealed
from tarry.core.law import Law, Run

if TYPE_CHECKING:
    from tarry.core.lanes import IntArray, Lanes

__all__ = ["Sampler"]

_FARTHEST = 1 << 62


@dataclass(frozen=True)
class Sampler(Sealed):
    """A law made ready for drawing.

    >>> from tarry.core.entropy import Secure
    >>> Sampler(Law.of_masses([0, 0, 1])).draw(Secure())
    2
    """

    law: Law

    def draw(self, entropy: Entropy) -> int:
        """One delay in ticks."""
        run = self._head.choice.draw(entropy)
        if run < len(self._head.lengths):
            return self._head.tick(run, entropy)
        periods = self._periods.draw(entropy)
        tick = self._period.tick(self._period.choice.draw(entropy), entropy)
        return self.law.tail_start + periods * self.law.period_length + tick

    def draw_many(self, lanes: "Lanes", which: "IntArray | None" = None) -> "IntArray":
        """One delay for each lane (or each of the given ones): the very ones `draw` would give it.

        >>> from tarry.core.secure_lanes import SecureLanes
        >>> Sampler(Law.of_masses([0, 0, 1])).draw_many(SecureLanes(3)).tolist()
        [2, 2, 2]
        """
        import numpy as np  # noqa: PLC0415 - only bulk work pays for loading numpy

        run = self._head.choice.draw_many(lanes, which)
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
        inside = self._period.ticks(self._period.choice.draw_many(lanes, far), lanes, far)
        ticks[long] = self.law.tail_start + periods * self.law.period_length + inside
        return ticks

    @cached_property
    def _head(self) -> "_Runs":
        return _Runs(self.law.head, self.law.head_starts, Fraction(1))

    @cached_property
    def _period(self) -> "_Runs":
        return _Runs(self.law.period, self.law.period_starts, self.law.period_total)

    @cached_property
    def _periods(self) -> Geometric:
        return Geometric(self.law.ratio)


class _Runs:
    """The runs that have mass, to choose one and a tick inside it.

    A choice beyond the last run means the mass that the runs leave to the tail.
    """

    def __init__(self, runs: Sequence[Run], starts: Sequence[int], total: Fraction) -> None:
        kept = [(run, start) for run, start in zip(runs, starts, strict=False) if run.mass]
        shares = [run.total / total for run, _ in kept]
        left = 1 - sum(shares, Fraction(0))
        self.choice = Choice.of_shares([*shares, left] if left else shares)
        self.starts = [start for _, start in kept]
        self.lengths = [run.length for run, _ in kept]

        # A run of one tick draws as its longest neighbour does and ignores the number: so all lanes of
        # a vector keep step, and a law of one long run and an atom is a single pass.
        longest = max(self.lengths, default=1)
        self.ranges = [length if length > 1 else longest for length in self.lengths]

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

    @property
    def _long(self) -> list[int]:
        return [i for i, length in enumerate(self.lengths) if length > 1]
