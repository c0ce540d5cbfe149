"""Runs: ticks in a row that carry the same mass, and sums over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tarry.core.errors import BadInput, Sealed

__all__ = ["Run", "below", "moment", "reach", "scaled"]


@dataclass(frozen=True)
class Run(Sealed):
    """Some ticks in a row that carry the same mass.

    >>> Run(3, Fraction(1, 6)).total
    Fraction(1, 2)
    """

    length: int  # ticks
    mass: Fraction  # of each tick

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", _exact(self.length, self.mass))

    @property
    def total(self) -> Fraction:
        """The mass of the whole run."""
        return self.length * self.mass


def moment(runs: Sequence[Run], starts: Sequence[int]) -> Fraction:
    """The sum of tick times mass over runs.

    >>> moment([Run(2, Fraction(1, 2))], [0])
    Fraction(1, 2)
    """
    pairs = zip(runs, starts, strict=False)
    return sum((r.total * (2 * start + r.length - 1) / 2 for r, start in pairs), Fraction(0))


def below(runs: Sequence[Run], starts: Sequence[int], end: int) -> Fraction:
    """The mass of the ticks below `end`.

    >>> below([Run(2, Fraction(1, 2))], [0], 1)
    Fraction(1, 2)
    """
    pairs = zip(runs, starts, strict=False)
    return sum((r.mass * min(r.length, end - start) for r, start in pairs if start < end), Fraction(0))


def reach(runs: Sequence[Run], starts: Sequence[int], wanted: Fraction) -> int:
    """The first tick at which the mass so far reaches `wanted`.

    >>> reach([Run(2, Fraction(1, 2))], [0], Fraction(3, 4))
    1
    """
    for run, start in zip(runs, starts, strict=False):
        if run.mass and wanted <= run.total:
            return start + max(0, -(-wanted // run.mass) - 1)
        wanted -= run.total
    raise BadInput("a quantile", "lies within the law", found=wanted)


def scaled(runs: Sequence[Run], factor: Fraction) -> tuple[Run, ...]:
    """Every mass times a factor.

    >>> scaled([Run(2, Fraction(1, 4))], Fraction(2))
    (Run(length=2, mass=Fraction(1, 2)),)
    """
    return tuple(Run(run.length, run.mass * factor) for run in runs)


def _exact(length: object, mass: object) -> Fraction:
    """The mass, if both are exact: a float would slip through every formula and then decide."""
    if not isinstance(length, int) or not isinstance(mass, Fraction | int):
        raise BadInput(
            "a run of a law",
            "has a whole number of ticks and an exact mass",
            found=f"{length!r} and {mass!r}",
            fix="give masses as Fraction",
        )
    return Fraction(mass)
