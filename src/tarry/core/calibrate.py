"""Choosing parameters. Every answer errs on the safe side and is checked there before it is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import (
    Duration,
    Number,
    exp_upper,
    format_duration,
    parse_duration,
    parse_number,
    ticks_up,
)
from tarry.core.plan import DelayPlan, plan
from tarry.core.policy import MOST_EPSILON, Policy

__all__ = [
    "EPSILON_STEP",
    "LearnedGap",
    "gap_at_percentile",
    "gap_for_crossover",
    "learned_gap",
    "least_epsilon",
    "needed_mass",
]

#: Epsilons are answered in steps of this size.
EPSILON_STEP = Fraction(1, 1000)


@dataclass(frozen=True)
class LearnedGap:
    """A gap taken from data, and what was done to it so that a policy can use it.

    >>> learned_gap(Fraction(900), Fraction(300), Fraction(1))
    LearnedGap(gap=Fraction(900, 1), measured=Fraction(900, 1), message='')
    """

    gap: Fraction  # seconds, usable
    measured: Fraction  # seconds, as found
    message: str  # one sentence with both numbers when they differ, else empty


def learned_gap(measured: Fraction, window: Fraction, tick: Fraction) -> LearnedGap:
    """A learned gap that is not above the window, in ticks too, is raised to the window and one tick more.

    >>> learned_gap(Fraction(73), Fraction(300), Fraction(1)).message
    'the learned gap 1m13s is not above the window 5m: raised to 5m1s'
    """
    if ticks_up(measured, tick) > ticks_up(window, tick):
        return LearnedGap(measured, measured, "")
    gap = window + tick
    ticks = f" in whole ticks of {format_duration(tick)}" if measured > window else ""
    return LearnedGap(
        gap,
        measured,
        (
            f"the learned gap {format_duration(measured)} is not above the window "
            f"{format_duration(window)}{ticks}: raised to {format_duration(gap)}"
        ),
    )


def gap_at_percentile(gaps: Sequence[Fraction | int], percentile: Fraction | int) -> Fraction:
    """The shortest observed gap that at least this percentage of the gaps stays within.

    Take the gaps from an earlier, closed period: a gap that looks at the people it protects leaks.

    >>> gap_at_percentile([10, 10, 4, 16], 50)
    Fraction(10, 1)
    """
    if not 0 < percentile <= 100:
        raise BadInput(f"percentile must be above 0 and at most 100, not {percentile}")
    if not gaps:
        raise BadInput("there are no gaps to learn from", "give at least one")
    ordered = sorted(gaps)
    rank = -(-Fraction(percentile) * len(ordered) // 100)
    return Fraction(ordered[rank - 1])


def needed_mass(epsilon: Number, rate: Number) -> Fraction:
    """P0: how likely an unbatched gap must be to lie within g.

    For an attack's error crossover rate to stay at least this high it must be at least
    e^epsilon * rate / (1 - rate), rounded up; above 1 that is refused.

    >>> round(float(needed_mass(Fraction(8, 10), Fraction(1, 4))), 4)  # the paper: g at about 75 %
    0.7418
    """
    epsilon, rate = parse_number(epsilon, "epsilon"), parse_number(rate, "an error crossover rate")
    if epsilon < 0:
        raise BadInput(f"epsilon must be 0 or more, not {float(epsilon):g}")
    if not 0 < rate < Fraction(1, 2):
        raise BadInput(f"an error crossover rate must be above 0 and below 0.5, not {float(rate):g}")
    mass = exp_upper(epsilon) * rate / (1 - rate)
    if mass > 1:
        raise NotPossible(
            f"no gap gives an error crossover rate of {float(rate):g} at epsilon {float(epsilon):g} "
            f"(it would have to cover {float(mass):.3g} times all gaps): choose a smaller epsilon or rate"
        )
    return mass


def gap_for_crossover(
    gaps: Sequence[Fraction | int],
    epsilon: Number,
    rate: Number,
    *,
    unbatched: Number = 1,
    knows_first: bool = False,
) -> Fraction:
    """The shortest gap at which no test of a pair does better than this error crossover rate.

    `gaps` are unbatched gaps without sign. `unbatched` is the share of them whose later event is
    unbatched; an observer who knows the time of one given event (`knows_first`) halves the mass that
    counts, because the event may be the later one.

    >>> gap_for_crossover([1, 2, 3, 4], Fraction(8, 10), Fraction(1, 4))
    Fraction(3, 1)
    """
    usable = parse_number(unbatched, "the unbatched share") / (2 if knows_first else 1)
    if not 0 < usable <= 1:
        raise BadInput(f"the unbatched share must be above 0 and at most 1, not {unbatched}")
    mass = needed_mass(epsilon, rate) / usable
    if mass > 1:
        raise NotPossible(
            f"no gap gives an error crossover rate of {rate} at epsilon {epsilon} when "
            f"only {float(usable):.3g} of the gaps count: choose a smaller epsilon or rate"
        )
    return gap_at_percentile(gaps, mass * 100)


def least_epsilon(
    policy: Policy, *, mean: Duration | None = None, maximum: Duration | None = None
) -> Fraction:
    """The smallest epsilon, in steps of 0.001, whose delays stay within a budget.

    The mean is weighted by the policy's weight (weight 1: batched events alone); the maximum is that
    of any event. Both count the tick that rounding the arrival up may add. The policy's own epsilon
    does not matter.

    >>> policy = Policy(epsilon="1", gap="300s", window="0s", weight="1")
    >>> least_epsilon(policy, maximum="763s") <= 1
    True
    """
    if mean is None and maximum is None:
        raise BadInput("no delay budget given", "give a mean, a maximum or both")
    budget = _Budget(
        mean=None if mean is None else parse_duration(mean, "the mean delay"),
        maximum=None if maximum is None else parse_duration(maximum, "the maximum delay"),
    )
    if maximum is not None and policy.mechanism().pair.unbatched.maximum is None:
        raise NotPossible(
            f"the {policy.law_name} law has no longest delay: give a mean, or choose another law"
        )

    def fits(steps: int) -> bool:
        try:
            candidate = replace(policy, epsilon=steps * EPSILON_STEP)
            return all(budget.holds(plan(candidate, gap), candidate) for gap in policy.gaps)
        except NotPossible:  # too small an epsilon for the law
            return False

    most = int(MOST_EPSILON / EPSILON_STEP)
    if not fits(most):
        raise NotPossible(
            f"no epsilon up to {MOST_EPSILON} keeps {budget}: "
            "allow more delay, or choose a shorter gap or window"
        )
    return _first(fits, most) * EPSILON_STEP


@dataclass(frozen=True, kw_only=True)
class _Budget:
    """What delays may come to, in seconds."""

    mean: Fraction | None
    maximum: Fraction | None

    def holds(self, costs: DelayPlan, policy: Policy) -> bool:
        # Arrivals are rounded up first, by less than a tick: that counts too.
        if self.mean is not None and costs.mean(policy.weight) + policy.tick > self.mean:
            return False
        ends = (costs.batched.maximum, costs.unbatched.maximum)
        return self.maximum is None or all(
            end is not None and end + policy.tick <= self.maximum for end in ends
        )

    def __str__(self) -> str:
        parts = (("the mean delay", self.mean), ("the maximum delay", self.maximum))
        return " and ".join(f"{name} within {format_duration(b)}" for name, b in parts if b is not None)


def _first(fits: Callable[[int], bool], most: int) -> int:
    """The smallest step that fits, by bisection.

    The answer itself has been tried, so it never exceeds the budget even if rounding to ticks should
    make a step or two uneven.
    """
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
