"""The likelihood-ratio attack on pairs, by an observer who knows the mechanism.

Two events are released d ticks apart. f1 is the law of d when they are batched, f0 when they are not;
no test of d has more power at the same type-I error than "f1/f0 is at least a threshold". With
simultaneous batches, eta = 1 and a null that knows no order, that is exactly the cutoff |d| <= T;
with a window, a small eta or several gaps it is more (`docs/theory.md`).

Gaps and delays are added up as masses over whole ticks, and only positive numbers are ever added: a run of
equal masses is summed by doubling (two windows side by side make one twice as long), and so are the repeats
of an endless law. Differences of cumulative sums, or a Fourier transform, would lose the small masses that
decide a ratio; here every mass keeps its digits, and what is impossible stays exactly 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log

import numpy as np
import numpy.typing as npt

from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import log_of
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.law import Law, Run
from tarry.core.mechanism import Mechanism

__all__ = ["SIMULTANEOUS", "FloatArray", "GapLaw", "Masses", "PairLaws", "law_ticks", "pair_laws", "spread"]

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
        return int(np.abs(np.flatnonzero(self.values) + self.low).max())

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


SIMULTANEOUS = GapLaw.of_masses([1.0])
MOST_TICKS = 1 << 22  # of a window of differences, each side: 32 MiB a column

# Endless laws are cut where so little is left. The null is cut later, so that it never ends first:
# the ratio is then right wherever f1 is.
_CUT_BATCHED, _CUT_NULL = 1e-9, 1e-12
_ALIKE = 1e-9  # relative: ratios closer than this are one ratio

Delays = Sequence[tuple[float, Law]]  # a mixture of laws, with the share of each


@dataclass(frozen=True, kw_only=True, eq=False)
class PairLaws:
    """The laws of a difference of releases, d = second - first in ticks, for d = -reach..reach.

    >>> from tarry.core.policy import Policy
    >>> policy = Policy(epsilon="1", gap="60s", weight="1", labels="simultaneous")
    >>> laws = pair_laws(policy.mechanism(), null=GapLaw.of_sample([0, 30, 60, 200]))
    >>> laws.reach, laws.intervals_above(laws.threshold_at(20))
    (92, [(-20, 20)])
    """

    f1: FloatArray  # masses when the pair is batched
    f0: FloatArray  # masses when it is not; what is missing to 1 lies beyond the reach

    @property
    def reach(self) -> int:
        """The farthest difference that is kept; no batched pair is further apart."""
        return len(self.f1) // 2

    @cached_property
    def differences(self) -> IntArray:
        """-reach..reach."""
        return np.arange(-self.reach, self.reach + 1)

    @cached_property
    def ratio(self) -> FloatArray:
        """f1/f0 of each difference: infinite where only f1 is positive, 0 where neither is."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(self.f1 > 0, self.f1 / self.f0, 0.0)

    def ratio_at(self, difference: IntArray | int) -> FloatArray:
        """The ratio of any differences; 0 beyond the reach."""
        place = np.asarray(difference) + self.reach
        inside = (place >= 0) & (place < len(self.ratio))
        return np.where(inside, self.ratio[np.where(inside, place, 0)], 0.0)

    def threshold_at(self, cutoff_ticks: int) -> float:
        """The ratio at |d| = cutoff, the lower of the two sides: what the attack asks for there.

        Where that is 0, no such difference is ever batched; the threshold is then the least ratio
        above 0, which flags every difference that could be.
        """
        if cutoff_ticks < 0:
            raise BadInput(f"a cutoff must be at least 0, not {cutoff_ticks} ticks")
        lower = float(self.ratio_at(np.array([-cutoff_ticks, cutoff_ticks])).min())
        return lower or float(self.ratio[self.ratio > 0].min())

    def intervals_above(self, threshold: float) -> list[tuple[int, int]]:
        """The differences whose ratio is at least the threshold, as closed intervals in rising order."""
        edges = np.flatnonzero(np.diff(self.above(threshold), prepend=False, append=False))
        return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2) - self.reach]

    def above(self, threshold: float) -> BoolArray:
        """Whether each difference's ratio is at least the threshold."""
        if not threshold > 0:
            raise BadInput(f"a threshold of the likelihood ratio must be above 0, not {threshold}")
        above: BoolArray = self.ratio >= threshold * (1 - _ALIKE)
        return above


def pair_laws(
    first: Mechanism,
    second: Mechanism | None = None,
    *,
    null: GapLaw,
    in_batch: GapLaw = SIMULTANEOUS,
    third: float = 0.0,
    lone: tuple[float, float] = (0.0, 0.0),
    reach: int = 0,
) -> PairLaws:
    """The laws of d = release of the second event - release of the first.

    `null` is the law of the gap between arrivals that are not batched, `in_batch` of those that are,
    `third` the share of the former that are labelled batched because of somebody else, `lone` the
    chances that the earlier and the later of a batched pair are labelled unbatched all the same (with
    labels "follower" the earlier one always is). `second` is the mechanism of the second event's gap,
    if that is another. The laws reach as far as a batched pair can be apart, or as asked.

    >>> from tarry.core.policy import Policy
    >>> policy = Policy(epsilon="1", gap="60s", labels="simultaneous")
    >>> laws = pair_laws(policy.mechanism(), null=GapLaw.of_sample([0, 30, 60, 200]), reach=500)
    >>> round(float(laws.f1.sum()), 9), round(float(laws.f0.sum()), 9), round(float(laws.ratio.max()), 2)
    (1.0, 1.0, 2.73)
    """
    if not 0 <= third <= 1:
        raise BadInput(f"the share labelled batched through others must lie between 0 and 1, not {third}")
    other = first if second is None else second
    span = _longest(first, _CUT_NULL) + _longest(other, _CUT_NULL) + max(in_batch.farthest, reach)
    if span > MOST_TICKS:
        raise NotPossible(
            f"the likelihood attack looks at differences up to {MOST_TICKS} ticks, and {span} are needed: "
            "choose a longer tick"
        )
    cases = _batched(first, other, in_batch, lone)
    reach = max(reach, *(case.farthest for case in cases))
    f1 = np.mean([case.within(reach) for case in cases], axis=0)
    f0 = _unbatched(first, other, null, third, reach).within(reach)
    if other is first:  # then d and -d are alike: drop what rounding made of that
        f1, f0 = (f1 + f1[::-1]) / 2, (f0 + f0[::-1]) / 2
    return PairLaws(f1=f1, f0=f0)


def _batched(first: Mechanism, second: Mechanism, gap: GapLaw, lone: tuple[float, float]) -> list[Masses]:
    """The equally likely cases of a batched pair: both labelled so, or either one the earlier."""
    if lone == (0.0, 0.0):
        both = (_delays(first, 0.0), _delays(second, 0.0))
        return [_difference(gap.either(gap.farthest), *both, _CUT_BATCHED)]
    after, (earlier, later) = gap.forward(gap.farthest), lone
    return [
        _difference(after, _delays(first, earlier), _delays(second, later), _CUT_BATCHED),
        _difference(after.mirrored(), _delays(first, later), _delays(second, earlier), _CUT_BATCHED),
    ]


def _unbatched(first: Mechanism, second: Mechanism, gap: GapLaw, third: float, reach: int) -> Masses:
    """The law of a pair that is not batched; gaps too long to be bridged are left out."""
    limit = reach + max(_longest(first, _CUT_NULL), _longest(second, _CUT_NULL))
    u1, u2 = (_delays(each, 1 - third) for each in (first, second))
    return _difference(gap.either(limit), u1, u2, _CUT_NULL)


def _delays(mechanism: Mechanism, lone: float) -> Delays:
    """The delay of an event that is unbatched with this chance."""
    laws = [(lone, mechanism.pair.unbatched), (1 - lone, mechanism.pair.batched)]
    return [(share, law) for share, law in laws if share]


def _difference(gap: Masses, first: Delays, second: Delays, cut: float) -> Masses:
    """The law of gap + second delay - first delay."""
    return _mixed(_mixed(gap, second, cut).mirrored(), first, cut).mirrored()


def _mixed(masses: Masses, delays: Delays, cut: float) -> Masses:
    parts = [(share, spread(masses, law, cut).values) for share, law in delays]
    out = np.zeros(max(len(values) for _, values in parts))
    for share, values in parts:
        out[: len(values)] += share * values
    return Masses(low=masses.low, values=out)


def _longest(mechanism: Mechanism, cut: float) -> int:
    return max(law_ticks(law, cut) for law in (mechanism.pair.batched, mechanism.pair.unbatched))
