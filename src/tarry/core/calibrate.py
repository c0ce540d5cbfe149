"""Choosing parameters, what a promise is worth to an observer, and what nobody can promise.

Every answer errs on the safe side. A parameter is checked there before it is given.
"""

import operator
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from tarry.core.errors import BadInput, NotPossible, require, require_possible
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
    "posterior_batched",
    "posterior_unbatched",
    "power_bound",
    "two_sided_bound",
]

#: Epsilons are answered in steps of this size.
EPSILON_STEP = Fraction(1, 1000)
_HOLDS = {"at least": operator.ge, "above": operator.gt, "at most": operator.le, "below": operator.lt}
_SHARE = {"at least": 0, "at most": 1}


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
    require(0 < percentile <= 100, f"percentile must be above 0 and at most 100, not {percentile}")
    require(gaps, "there are no gaps to learn from", "give at least one")
    ordered = sorted(gaps)
    return Fraction(ordered[-(-Fraction(percentile) * len(ordered) // 100) - 1])


def needed_mass(epsilon: Number, rate: Number) -> Fraction:
    """P0: how likely an unbatched gap must be to lie within g.

    For an attack's error crossover rate to stay at least this high it must be at least
    e^epsilon * rate / (1 - rate), rounded up; above 1 that is refused.

    >>> round(float(needed_mass(Fraction(8, 10), Fraction(1, 4))), 4)  # the paper: g at about 75 %
    0.7418
    """
    epsilon = _read(epsilon, "epsilon", {"at least": 0})
    rate = _read(rate, "an error crossover rate", {"above": 0, "below": Fraction(1, 2)})
    mass = exp_upper(epsilon) * rate / (1 - rate)
    require_possible(
        mass <= 1,
        f"no gap gives an error crossover rate of {float(rate):g} at epsilon {float(epsilon):g} "
        f"(it would have to cover {float(mass):.3g} times all gaps): choose a smaller epsilon or rate",
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
    usable = _read(unbatched, "the unbatched share", {"above": 0, "at most": 1})
    if knows_first:
        usable /= 2
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
    require(
        mean is not None or maximum is not None, "no delay budget given", "give a mean, a maximum or both"
    )
    require(
        policy.season is None, "a policy with a season has no epsilon to find", "use tarry plan --season"
    )
    asked = {"the mean delay": mean, "the maximum delay": maximum}
    budget = {name: parse_duration(most, name) for name, most in asked.items() if most is not None}
    require_possible(
        maximum is None or policy.mechanism().pair.unbatched.maximum is not None,
        f"the {policy.law_name} law has no longest delay: give a mean, or choose another law",
    )

    def fits(steps: int) -> bool:
        try:
            candidate = replace(policy, epsilon=steps * EPSILON_STEP)
            costs = [_longest(plan(candidate, gap), candidate) for gap in policy.gaps]
        except NotPossible:  # too small an epsilon for the law
            return False
        return all(delays[name] <= most for delays in costs for name, most in budget.items())

    most = int(MOST_EPSILON / EPSILON_STEP)
    if not fits(most):
        limits = " and ".join(f"{name} within {format_duration(b)}" for name, b in budget.items())
        raise NotPossible(
            f"no epsilon up to {MOST_EPSILON} keeps {limits}: "
            "allow more delay, or choose a shorter gap or window"
        )
    # The answer itself has been tried, so it never exceeds the budget even if rounding to ticks should make
    # a step or two uneven.
    return (1 + bisect_left(range(1, most), True, key=fits)) * EPSILON_STEP  # noqa: FBT003 - the key says so


def power_bound(epsilon: Number, mass: Number, type_one: Number, *, flips: int = 1) -> Fraction:
    """The most power any test for batching can have at this type-I error.

    Power <= e^((epsilon/2)(1 + flips)) / P0 * type-I error. `mass` is P0: the chance, among pairs that
    are not batched, that the mover is the later event, unbatched, and at most the gap away. For an
    observer who sees only differences, or knows the earlier time, that is P(|S| <= g, later one
    unbatched); for one who knows the time of a given event it is about half of it (erratum to the
    paper's proposition).

    >>> round(float(power_bound(1, "0.5", "0.01")), 4)
    0.0544
    """
    epsilon = _read(epsilon, "epsilon", {"at least": 0})
    flipped = _read(flips, "flips", {"at least": 0})
    mass = _read(mass, "P0", {"above": 0, "at most": 1})
    type_one = _read(type_one, "a type-I error", _SHARE)
    return min(Fraction(1), exp_upper(epsilon * (1 + flipped) / 2) / mass * type_one)


def posterior_batched(same: Number, different: Number, suspects: int) -> Fraction:
    """The chance that two batched acts are one person's, with `suspects` equally likely beforehand.

    `same` and `different` are the rates at which acts of one person, and of two, appear together.

    >>> round(float(posterior_batched("0.301", "0.0066", 10)), 4)
    0.8352
    """
    same, different = _rates(same, different, suspects)
    return same / (same + different * (suspects - 1))


def posterior_unbatched(same: Number, different: Number, suspects: int) -> Fraction:
    """The chance, after two acts that did not appear together, of the likeliest other suspect.

    >>> round(float(posterior_unbatched("0.301", "0.0066", 10)), 4)
    0.1031
    """
    same, different = _rates(same, different, suspects, least=2)
    return (1 - different) / ((1 - same) + (1 - different) * (suspects - 1))


def two_sided_bound(epsilon: Number, delta: Number, gaps: int, *, directed: bool = True) -> Fraction:
    """The most chance with which a two-sided private mechanism may release within so many gaps.

    P(delay < j g) <= delta (e^(2 j epsilon) - 1) / (e^epsilon - 1), since every step along the chain
    of neighbours multiplies what went before; the paper adds 2 delta a step, which is right only at
    epsilon 0. With delta 0 nothing is ever released. `directed` is Definition 1 read with a
    direction (two steps a gap); otherwise one step moves by a whole gap.

    >>> (
    ...     float(two_sided_bound(0, "0.01", 3)),
    ...     two_sided_bound(1, 0, 9),
    ... )
    (0.06, Fraction(0, 1))
    """
    step, total = exp_upper(_read(epsilon, "epsilon", {"at least": 0})), Fraction(0)
    delta = _read(delta, "delta", _SHARE)
    _read(gaps, "the number of gaps", {"at least": 0})
    for _ in range((2 * gaps if directed else gaps) if delta else 0):
        total = total * step + delta  # delta (1 + step + step^2 + ...)
        if total >= 1:
            return Fraction(1)
    return total


def _longest(costs: DelayPlan, policy: Policy) -> dict[str, Fraction | float]:
    """What delays come to, in seconds."""
    # Arrivals are rounded up first, by less than a tick: that counts too.
    ends = [inf if end is None else end for end in (costs.batched.maximum, costs.unbatched.maximum)]
    return {
        "the mean delay": costs.mean(policy.weight) + policy.tick,
        "the maximum delay": max(ends) + policy.tick,
    }


def _rates(same: Number, different: Number, suspects: int, least: int = 1) -> tuple[Fraction, Fraction]:
    _read(suspects, "the number of suspects", {"at least": least})
    return (
        _read(same, "the rate of one person's acts", {"above": 0, "at most": 1}),
        _read(different, "the rate of two people's acts", {"at least": 0, "below": 1}),
    )


def _read(value: Number, name: str, bounds: Mapping[str, Fraction | int]) -> Fraction:
    """The number, if it lies within bounds such as "above" 0 and "at most" 1."""
    number = parse_number(value, name)
    if not all(_HOLDS[word](number, bound) for word, bound in bounds.items()):
        rule = " and ".join(f"{word} {float(bound):g}" for word, bound in bounds.items())
        raise BadInput(f"{name} must be {rule}, not {float(number):g}")
    return number
