"""What the workbench shows of a policy, as plain numbers."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from tarry.console.workbench_choices import Choices
from tarry.core.bounds import posterior_batched, posterior_unbatched, power_bound
from tarry.core.law import Law
from tarry.core.plan import WEIGHTS, DelayPlan, Point, frontier, plan
from tarry.core.policy import Policy
from tarry.core.promise import Promise, promise

__all__ = ["DIFFERENT", "MASS", "SAME", "Bin", "Figures", "Power", "Suspicion", "figures"]

#: P0 where nothing is known: the gap is the median of strangers' gaps, and most acts are alone.
MASS = Fraction(1, 2)
MASSES = (Fraction(1), MASS, Fraction(1, 4))
#: How often acts of one person, and of two, come within five minutes: measured at a large conference.
SAME, DIFFERENT = Fraction("0.301"), Fraction("0.0066")
_LADDER = ("0.05", "0.1", "0.2", "0.5", "1", "2", "4", "8")  # epsilons that one knows
_FEW = WEIGHTS[::4]  # enough for a faint line
_ERRORS = tuple(Fraction(n, 100) for n in (0, 1, 2, 5, 10, 15, 20))  # type-I errors
_SMALL = Fraction(1, 10**9)  # so small an error that no bound has reached its end
_CROWDS = (2, 3, 4, 5, 7, 10, 14, 20, 30, 50, 70, 100)
_WIDTHS_S = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600),
    *(7200, 3 * 3600, 6 * 3600, 12 * 3600, 86_400, 2 * 86_400, 5 * 86_400),
    *(10 * 86_400, 30 * 86_400, 60 * 86_400, 120 * 86_400),
)
_LEAST_STRETCHES = 16


@dataclass(frozen=True, kw_only=True)
class Bin:
    """A stretch of delays, and the chance of each kind of act to wait that long.

    >>> Bin(start_s=0, end_s=60, batched=0.0, unbatched=0.5).end_s
    60
    """

    start_s: int
    end_s: int
    batched: float
    unbatched: float


@dataclass(frozen=True, kw_only=True)
class Power:
    """How many batched pairs any test can find at most, at one share of wrongly accused ones.

    >>> Power(error=0.01, bounds=(0.03, 0.06, 0.11)).bounds[1]
    0.06
    """

    error: float
    bounds: tuple[float, ...]  # for each of MASSES


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """How sure an observer can be among so many suspects.

    >>> Suspicion(suspects=10, together=0.84, apart=0.1, delayed=0.4).before
    0.1
    """

    suspects: int
    together: float  # without delays, of two acts that appeared together
    apart: float  # without delays, of the likeliest other after two that did not
    delayed: float  # with the policy, at most

    @property
    def before(self) -> float:
        """Before anything is seen."""
        return 1 / self.suspects


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Everything that is computed for one set of choices.

    >>> from tarry.console.workbench_choices import START
    >>> figures(START).width_s
    120
    """

    choices: Choices
    delays: DelayPlan
    at_once: float  # the chance of an act that is alone to wait no longer than the hold
    bins: tuple[Bin, ...]
    width_s: int  # a round stretch of delays, for which shares are told
    frontier: tuple[Point, ...]
    neighbours: dict[str, tuple[Point, ...]]  # by epsilon
    power: tuple[Power, ...]
    suspicions: tuple[Suspicion, ...]
    chosen: Suspicion
    promise: Promise


@lru_cache(maxsize=256)
def figures(choices: Choices) -> Figures:
    """The figures of a policy; each of them is a formula, so that no choice takes long.

    >>> from tarry.console.workbench_choices import START
    >>> found = figures(START)
    >>> float(found.delays.batched.mean), round(sum(bin.batched for bin in found.bins), 9)
    (1999.5, 1.0)
    """
    policy = choices.policy
    width = _width(policy)
    mechanism = policy.mechanism()
    crowds = sorted({*_CROWDS, choices.suspects})
    known = {crowd: _suspicion(policy, crowd) for crowd in crowds}
    return Figures(
        choices=choices,
        delays=plan(policy),
        at_once=float(mechanism.pair.unbatched.mass(0)),
        bins=_bins(policy, width),
        width_s=width,
        frontier=tuple(frontier(policy)),
        neighbours={
            epsilon: tuple(frontier(replace(policy, epsilon=Fraction(epsilon)), _FEW))
            for epsilon in _neighbours(policy.epsilon)
        },
        power=tuple(_power(policy, error) for error in _errors(policy)),
        suspicions=tuple(known.values()),
        chosen=known[choices.suspects],
        promise=promise(policy),
    )


def _neighbours(epsilon: Fraction) -> list[str]:
    """Other epsilons to compare with: one that hides more, two that hide less."""
    less = [other for other in _LADDER if Fraction(other) <= epsilon * Fraction(2, 3)]
    more = [other for other in _LADDER if Fraction(other) >= epsilon * Fraction(4, 3)]
    return [*less[-1:], *more[:2]]


def _bins(policy: Policy, width: int) -> tuple[Bin, ...]:
    """Both laws over the stretches on which they are even, the hold included; a tick is a second here.

    Those who leave at once are counted in a stretch of their own, right after the hold.
    """
    pair, hold = policy.mechanism().pair, policy.hold_ticks
    edges = sorted({0, hold, hold + width, hold + pair.start, _end(policy)})
    return tuple(
        Bin(
            start_s=start,
            end_s=end,
            batched=_within(pair.batched, start - hold, end - start),
            unbatched=_within(pair.unbatched, start - hold, end - start),
        )
        for start, end in pairwise(edges)
    )


def _end(policy: Policy) -> int:
    """The first moment by which every act has left."""
    return policy.hold_ticks + (policy.mechanism().pair.batched.maximum or 0) + 1


def _width(policy: Policy) -> int:
    """A round stretch of delays, at most as long as batched acts wait at least."""
    most = min(_end(policy) // _LEAST_STRETCHES, policy.mechanism().pair.start)
    return max((width for width in _WIDTHS_S if width <= most), default=1)


def _within(law: Law, first: int, length: int) -> float:
    return float(law.cumulative(first + length - 1) - law.cumulative(first - 1))


def _errors(policy: Policy) -> list[Fraction]:
    """Round ones, and those at which a bound reaches its end: between them all bounds are straight."""
    slopes = [power_bound(policy.epsilon, mass, _SMALL) / _SMALL for mass in MASSES]
    return sorted({*_ERRORS, *(1 / slope for slope in slopes if 1 / slope < _ERRORS[-1])})


def _power(policy: Policy, error: Fraction) -> Power:
    return Power(
        error=float(error),
        bounds=tuple(float(power_bound(policy.epsilon, mass, error)) for mass in MASSES),
    )


def _suspicion(policy: Policy, suspects: int) -> Suspicion:
    """With the policy nothing is seen much more often in the one story than in the other.

    By how much is what the power bound says: at a small enough error it is power / error.
    """
    ratio = power_bound(policy.epsilon, MASS, _SMALL) / _SMALL
    return Suspicion(
        suspects=suspects,
        together=float(posterior_batched(SAME, DIFFERENT, suspects)),
        apart=float(posterior_unbatched(SAME, DIFFERENT, suspects)),
        delayed=float(posterior_batched(1, 1 / ratio, suspects)),
    )
