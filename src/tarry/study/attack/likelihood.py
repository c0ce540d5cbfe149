"""The likelihood-ratio attack on pairs, by an observer who knows the mechanism.

Two events are released d ticks apart. f1 is the law of d when they are batched, f0 when they are not;
no test of d has more power at the same type-I error than "f1/f0 is at least a threshold". With
simultaneous batches, eta = 1 and a null that knows no order, that is exactly the cutoff |d| <= T;
with a window, a small eta or several gaps it is more (`docs/theory.md`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tarry.core.errors import BadInput, NotPossible
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.law import Law
from tarry.core.mechanism import Mechanism
from tarry.study.attack.likelihood_spread import FloatArray, GapLaw, Masses, law_ticks, spread

__all__ = ["SIMULTANEOUS", "PairLaws", "pair_laws"]

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

    @property
    def symmetric(self) -> bool:
        """Whether the sign of a difference says nothing: the ratio is the same on both sides."""
        return bool(np.array_equal(self.ratio, self.ratio[::-1]))

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
        return [(a - self.reach, b - self.reach) for a, b in _stretches(self.above(threshold))]

    def distances_above(self, threshold: float) -> list[tuple[int, int]]:
        """The same as intervals of |d|, where the sign says nothing."""
        if not self.symmetric:
            raise NotPossible("the differences of two different gaps have a sign: use intervals_above")
        return _stretches(self.above(threshold)[self.reach :])

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


def _stretches(flags: BoolArray) -> list[tuple[int, int]]:
    """The first and last place of each stretch of true flags."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]
