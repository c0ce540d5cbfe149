"""Gaps and delays added up, as masses over whole ticks.

Only positive numbers are ever added: a run of equal masses is summed by doubling (two windows side by
side make one twice as long), and so are the repeats of an endless law. Differences of cumulative sums,
or a Fourier transform, would lose the small masses that decide a ratio; here every mass keeps its
digits, and what is impossible stays exactly 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log

import numpy as np
import numpy.typing as npt

from tarry.core.errors import BadInput
from tarry.core.exact import log_of
from tarry.core.lanes import IntArray
from tarry.core.law import Law, Run

__all__ = ["FloatArray", "GapLaw", "Masses", "law_ticks", "spread"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Masses:
    """Masses of differences low, low + 1, ...

    >>> Masses(low=2, values=np.array([0.5, 0.5])).mirrored().low
    -3
    """

    low: int  # the first difference, in ticks
    values: FloatArray  # the mass of each

    @property
    def high(self) -> int:
        """The last difference."""
        return self.low + len(self.values) - 1

    @property
    def farthest(self) -> int:
        """The longest difference of either sign that has any mass."""
        places = np.flatnonzero(self.values) + self.low
        return int(np.abs(places).max())

    def mirrored(self) -> "Masses":
        """The masses of minus the difference."""
        return Masses(low=-self.high, values=self.values[::-1])

    def within(self, reach: int) -> FloatArray:
        """The masses of -reach..reach.

        >>> Masses(low=0, values=np.array([0.25, 0.75])).within(1).tolist()
        [0.0, 0.25, 0.75]
        """
        window = np.zeros(2 * reach + 1)
        first, last = max(self.low, -reach), min(self.high, reach)
        if first <= last:
            window[first + reach : last + reach + 1] = self.values[first - self.low : last - self.low + 1]
        return window


@dataclass(frozen=True, kw_only=True, eq=False)
class GapLaw:
    """How far apart two events arrive, whichever comes first. What is missing to 1 lies further away.

    >>> law = GapLaw.of_sample([3, -3, 0, 5])
    >>> law.distances.tolist(), law.masses.tolist()
    ([0, 3, 5], [0.25, 0.5, 0.25])
    """

    distances: IntArray  # ticks, rising
    masses: FloatArray  # of each distance, both orders together

    def __post_init__(self) -> None:
        distances, masses = np.asarray(self.distances), np.asarray(self.masses, dtype=np.float64)
        if len(distances) != len(masses) or not len(masses):
            raise BadInput(
                f"a law of gaps must have a mass for each distance, not {len(masses)} for {len(distances)}"
            )
        if distances[0] < 0 or (np.diff(distances) <= 0).any():
            raise BadInput(
                f"the distances of a law of gaps must rise from 0 or more, not {distances[:5].tolist()}"
            )
        if not (masses >= 0).all() or not 0 < masses.sum() <= 1 + 1e-9:
            raise BadInput(
                f"the masses of a law of gaps must be at least 0 and sum to at most 1, not {masses.sum()}"
            )

    @classmethod
    def of_sample(cls, ticks: IntArray | Sequence[int]) -> "GapLaw":
        """The law of a sample of gaps; signs do not count."""
        sample = np.asarray(ticks)
        if not len(sample) or sample.dtype.kind not in "iu":
            raise BadInput(
                f"a sample of gaps must hold whole ticks, at least one, not {len(sample)} of {sample.dtype}"
            )
        distances, counts = np.unique(np.abs(sample.astype(np.int64)), return_counts=True)
        return cls(distances=distances, masses=counts / len(sample))

    @classmethod
    def of_masses(cls, masses: FloatArray | Sequence[float]) -> "GapLaw":
        """The law that gives distance 0, 1, 2, ... these masses.

        >>> GapLaw.of_masses([0.5, 0.25]).farthest
        1
        """
        return cls(distances=np.arange(len(masses)), masses=np.asarray(masses, dtype=np.float64))

    @property
    def farthest(self) -> int:
        """The longest gap."""
        return int(self.distances[-1])

    def within(self, gap: int) -> float:
        """The chance of a gap of at most so many ticks.

        >>> GapLaw.of_sample([0, 3, 3, 5]).within(3)
        0.75
        """
        return float(self.masses[self.distances <= gap].sum())

    def forward(self, limit: int) -> Masses:
        """The law of a gap that is never negative, up to a limit."""
        kept = self.distances <= limit
        values = np.zeros(int(self.distances[kept].max(initial=0)) + 1)
        values[self.distances[kept]] = self.masses[kept]
        return Masses(low=0, values=values)

    def either(self, limit: int) -> Masses:
        """The law of a gap of either sign, up to a limit.

        >>> GapLaw.of_sample([0, 1]).either(9).values.tolist()
        [0.25, 0.5, 0.25]
        """
        half = self.forward(limit).values / 2
        values = np.concatenate((half[::-1], half[1:]))
        values[len(half) - 1] *= 2
        return Masses(low=1 - len(half), values=values)


def spread(masses: Masses, law: Law, cut: float) -> Masses:
    """The masses of a difference plus a delay from this law.

    A law that ends is taken whole; an endless one up to the whole period after which at most `cut`
    of it is left, and that rest is dropped. The cost grows with the number of runs of the law.

    >>> from fractions import Fraction
    >>> coin = Law((Run(1, Fraction(0)), Run(2, Fraction(1, 2))))
    >>> spread(Masses(low=-1, values=np.array([0.5, 0.5])), coin, cut=1e-9).values.tolist()
    [0.0, 0.25, 0.5, 0.25]
    """
    out = np.zeros(len(masses.values) + law_ticks(law, cut) - 1)
    if law.head:
        head = _over_runs(masses.values, law.head)
        out[: len(head)] += head
    if law.period:
        once = _over_runs(masses.values, law.period)
        tail = _repeated(once, _periods(law, cut), law.period_length, float(1 / law.ratio))
        out[law.tail_start : law.tail_start + len(tail)] += tail
    return Masses(low=masses.low, values=out)


def law_ticks(law: Law, cut: float) -> int:
    """How many ticks of a law are taken.

    >>> from fractions import Fraction
    >>> half = Law((), (Run(1, Fraction(1, 2)),), Fraction(2))
    >>> law_ticks(half, 2**-10), law_ticks(Law.of_masses([0, 1]), 2**-10)
    (10, 2)
    """
    return law.tail_start + (_periods(law, cut) * law.period_length if law.period else 0)


def _periods(law: Law, cut: float) -> int:
    left = (log_of(law.tail_total) - log(cut)) / log_of(law.ratio)
    return max(1, ceil(left - 1e-9))


def _over_runs(values: FloatArray, runs: Sequence[Run]) -> FloatArray:
    out = np.zeros(len(values) + sum(run.length for run in runs) - 1)
    start = 0
    for run in runs:
        if run.mass:
            part = _repeated(values, run.length, 1, 1.0)
            out[start : start + len(part)] += float(run.mass) * part
        start += run.length
    return out


def _repeated(values: FloatArray, times: int, step: int, shrink: float) -> FloatArray:
    """The values, plus themselves `step` places later times `shrink`, and so on: `times` terms."""
    out = np.zeros(len(values) + (times - 1) * step)
    block, width, done = values, 1, 0  # `block` holds `width` terms, `out` has `done` of them
    while True:
        if times & width:
            out[done * step : done * step + len(block)] += shrink**done * block
            done += width
        if done == times:
            return out
        twice = np.zeros(len(block) + width * step)
        twice[: len(block)] = block
        twice[width * step :] += shrink**width * block
        block, width = twice, 2 * width
