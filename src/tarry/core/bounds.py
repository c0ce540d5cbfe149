"""What a promise is worth to an observer, and what nobody can promise. Numbers err against us."""

from fractions import Fraction

from tarry.core.errors import BadInput
from tarry.core.exact import Number, exp_upper, parse_number

__all__ = ["posterior_batched", "posterior_unbatched", "power_bound", "two_sided_bound"]


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
    epsilon, mass = parse_number(epsilon, "epsilon"), parse_number(mass, "P0")
    type_one = parse_number(type_one, "a type-I error")
    _check_least("epsilon", epsilon, 0)
    _check_least("flips", flips, 0)
    if not 0 < mass <= 1:
        raise BadInput(f"P0 must be above 0 and at most 1, not {float(mass):g}")
    if not 0 <= type_one <= 1:
        raise BadInput(f"a type-I error must be between 0 and 1, not {float(type_one):g}")
    return min(Fraction(1), exp_upper(epsilon * (1 + flips) / 2) / mass * type_one)


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
    epsilon, delta = parse_number(epsilon, "epsilon"), parse_number(delta, "delta")
    _check_least("epsilon", epsilon, 0)
    _check_least("the number of gaps", gaps, 0)
    if not 0 <= delta <= 1:
        raise BadInput(f"delta must be between 0 and 1, not {float(delta):g}")
    step, total = exp_upper(epsilon), Fraction(0)
    for _ in range((2 * gaps if directed else gaps) if delta else 0):
        total = total * step + delta  # delta (1 + step + step^2 + ...)
        if total >= 1:
            return Fraction(1)
    return total


def _rates(same: Number, different: Number, suspects: int, least: int = 1) -> tuple[Fraction, Fraction]:
    same, different = parse_number(same, "a rate"), parse_number(different, "a rate")
    if not 0 < same <= 1:
        raise BadInput(f"the rate of one person's acts must be above 0 and at most 1, not {float(same):g}")
    if not 0 <= different < 1:
        raise BadInput(
            f"the rate of two people's acts must be at least 0 and below 1, not {float(different):g}"
        )
    _check_least("the number of suspects", suspects, least)
    return same, different


def _check_least(name: str, value: Fraction | int, least: int) -> None:
    if value < least:
        raise BadInput(f"{name} must be at least {least}, not {float(value):g}")
