"""Laws that are nearly a given law: off by one tick somewhere, or by one unit of mass."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations

from tarry.core.law import Law, Run

__all__ = ["mutants"]

#: Mass is moved in units far below the rounding of R, and in units a checker must see.
UNITS = (Fraction(1, 1 << 40), Fraction(1, 64))
#: An endless law has its first ticks mutated one by one; the rest repeats.
LOOKS = 6
NUDGE = Fraction(1, 1000)

Build = Callable[[], Law]


def mutants(law: Law) -> Iterator[tuple[str, Build]]:
    """Every mutant by name. Building one may be refused: then it was caught."""
    yield "one tick later", partial(Law, (Run(1, Fraction(0)), *law.head), law.period, law.ratio)
    if law.head or law.period_length > 1:  # a geometric law has no memory: earlier is the same
        yield "one tick earlier", partial(_earlier, law)
    for where, i, change in _resizes(law):
        yield f"run {i} of the {where} {change:+d} tick", partial(_resized, law, where, i, change)
    for factor in (1 + NUDGE, 1 - NUDGE) if law.period else ():
        ratio = 1 + (law.ratio - 1) * factor
        yield f"ratio - 1 times {float(factor)}", partial(_normal, law.head, law.period, ratio)
    masses = _first_masses(law)
    for source, goal in permutations(range(len(masses)), 2):
        for unit in UNITS:
            name = f"{float(unit):.2g} from tick {source} to {goal}"
            yield name, partial(_moved, law, masses, source, goal, unit)


def _resizes(law: Law) -> Iterator[tuple[str, int, int]]:
    """Every run a tick longer, and a tick shorter where that leaves some mass."""
    for where, runs in (("head", law.head), ("period", law.period)):
        for i, run in enumerate(runs):
            yield where, i, 1
            if run.length > 1 or any(other.mass for other in (*runs[:i], *runs[i + 1 :])):
                yield where, i, -1


def _earlier(law: Law) -> Law:
    """Tick 0 is cut off, and what is left comes one tick sooner."""
    masses = _first_masses(law)
    return _normal(_runs(masses[1:]), *_rest(law, len(masses)))


def _resized(law: Law, where: str, i: int, change: int) -> Law:
    """One run has a tick more or less; all masses are scaled so that they sum to 1 again."""
    parts = {"head": list(law.head), "period": list(law.period)}
    run = parts[where].pop(i)
    if run.length + change:
        parts[where].insert(i, Run(run.length + change, run.mass))
    return _normal(tuple(parts["head"]), tuple(parts["period"]), law.ratio)


def _moved(law: Law, masses: Sequence[Fraction], source: int, goal: int, unit: Fraction) -> Law:
    changed = list(masses)
    changed[source] -= unit
    changed[goal] += unit
    return Law(_runs(changed), *_rest(law, len(masses)))


def _first_masses(law: Law) -> list[Fraction]:
    """The masses up to one tick beyond the end, or over whole periods of an endless law."""
    if not law.period:
        return [law.mass(tick) for tick in range(law.tail_start + 1)]
    end = law.tail_start
    while end < LOOKS:
        end += law.period_length
    return [law.mass(tick) for tick in range(end)]


def _rest(law: Law, end: int) -> tuple[tuple[Run, ...], Fraction]:
    """The period and its ratio as they are seen from tick `end` on."""
    if not law.period:
        return (), Fraction(1)
    shrink = law.ratio ** ((end - law.tail_start) // law.period_length)
    return tuple(Run(run.length, run.mass / shrink) for run in law.period), law.ratio


def _runs(masses: Sequence[Fraction]) -> tuple[Run, ...]:
    return tuple(Run(1, mass) for mass in masses)


def _normal(head: tuple[Run, ...], period: tuple[Run, ...], ratio: Fraction) -> Law:
    repeats = ratio / (ratio - 1) if period else Fraction(0)
    total = sum((run.total for run in head), Fraction(0)) + repeats * sum(
        (run.total for run in period), Fraction(0)
    )
    scaled = [tuple(Run(run.length, run.mass / total) for run in runs) for runs in (head, period)]
    return Law(scaled[0], scaled[1], ratio)
