"""The trade between batched and unbatched delay, its optimum by linear programming, and what beats it.

The paper's Pareto frontier (its figure and theorem "Pareto optimality of the Zero-Inflated Uniform
Mechanism"). Delays are in gaps. The theorem is proved for pairs of laws that spend half of epsilon on
each event, and claimed for all that keep a pair's epsilon. A linear program over cells of a twentieth
of a gap confirms the first; a small family of laws that spend more on the mover refutes the second for
epsilon above 2 ln 2.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, exp, log, sqrt
from typing import Any

import numpy as np

from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.plan import frontier
from tarry.core.policy import Policy
from tarry.core.verify import verify_pair
from tarry.paper.finding import (
    Chart,
    Finding,
    RunSettings,
    Table,
    TableRows,
    line_chart,
    number_axis,
    tabled,
)
from tarry.paper.laws import (
    Means,
    best_eta,
    best_on_cells,
    best_split,
    turning_point,
    zero_inflated_uniform,
)
from tarry.study.figures import percent

__all__ = [
    "COUNTEREXAMPLE",
    "TITLE",
    "Outside",
    "best_inside",
    "best_outside",
    "best_symmetric",
    "counterexample_ratios",
    "find",
    "gains_from",
]


TITLE = "Batched against unbatched delay: the frontier, its optimum, and beyond"

TRADELESS = 2 * log(2)  # up to this epsilon the frontier is one point: below its figure
EPSILONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
BEYOND = (0.5, 1.0, 1.3, 1.5, 2.0, 3.0, 4.0, 6.0)  # where pairs outside the class are looked for
TICKS = 300  # of a gap, for the exact laws
CELLS = 20  # of a gap, for the linear program
NOISE = 1e-9  # of the solver
SPLITS = 8  # how many ways to share epsilon between who stays and who moves the program tries
DRAWN = tuple(step / 100 for step in range(101))  # weights of the lines

#: e^epsilon = 16 and a gap of four ticks: exact, and outside the class.
COUNTEREXAMPLE = LawPair(
    batched=Law.of_masses([0, 0, 0, 0, 1]),
    unbatched=Law.of_masses([Fraction(mass, 8) for mass in (1, 1, 1, 1, 4)]),
    start=4,
)


def find(settings: RunSettings) -> Finding:
    """The frontier three ways, and the pairs outside its class.

    >>> list(find(RunSettings(tiny=True)).tables)
    ['frontier', 'outside', 'begins', 'counterexample']
    """
    epsilons, weights = (EPSILONS[1::3], WEIGHTS[::3]) if settings.tiny else (EPSILONS, WEIGHTS)
    tables = {
        "frontier": _frontier(epsilons, weights, settings),
        "outside": _outside(BEYOND[1::3] if settings.tiny else BEYOND),
        "begins": _begins(),
        "counterexample": _counterexample(),
    }
    return Finding(
        name="frontier",
        title=TITLE,
        says=_says(tables),
        tables=tables,
        charts={"frontier": _frontier_chart(tables["frontier"]), "beyond-the-frontier": _beyond_chart()},
    )


# --- inside the class: half of epsilon for each event -------------------------------------------


@tabled(
    "Algorithm 2 in gaps: closed form, exactly on ticks, and the best pair a linear program finds",
    *("epsilon", "weight", "eta", "batched", "unbatched", "batched, on ticks"),
    *("unbatched, on ticks", "cost", "cost, program", "batched, program"),
    "unbatched, program",
)
def _frontier(epsilons: tuple[float, ...], weights: tuple[float, ...], settings: RunSettings) -> TableRows:
    for epsilon in settings.steps(epsilons):
        for weight in weights:
            means, ticks = best_inside(epsilon, weight), _on_ticks(epsilon, weight)
            cost, half = means.weighted(weight), exp(epsilon / 2)
            optimum = best_on_cells(half, half, weight, cells=CELLS, end=means.end + 1.2)
            laws = (best_eta(epsilon / 2, weight), means.batched, means.unbatched, *ticks)
            yield epsilon, weight, *laws, cost, optimum.cost, optimum.batched, optimum.unbatched


def _on_ticks(epsilon: float, weight: float) -> tuple[float, float]:
    policy = Policy(epsilon=str(epsilon), gap=f"{TICKS}s", window="0s")
    point = frontier(policy, [Fraction(str(weight))])[0]
    return float(point.batched / TICKS), float(point.unbatched / TICKS)


# --- outside the class: r0 for who stays, rg for who moves, r0 rg = e^epsilon ---------------------


@tabled(
    "The best of Algorithm 2, and of pairs that spend epsilon unevenly",
    *("epsilon", "weight", "1 / r0", "batched", "batched, outside", "unbatched"),
    *("unbatched, outside", "gain", "both shorter", "gain, program"),
)
def _outside(epsilons: tuple[float, ...]) -> TableRows:
    for epsilon, weight in product(epsilons, (0.5, 0.9, 1.0)):
        inside, outside = best_inside(epsilon, weight), best_outside(epsilon, weight)
        means, cost = outside.means, inside.weighted(weight)
        gain = 1 - means.weighted(weight) / cost
        both = means.batched < inside.batched and means.unbatched < inside.unbatched
        optimum = best_split(epsilon, weight, cells=CELLS, end=inside.end + 1.2, splits=SPLITS)
        pairs = (inside.batched, means.batched, inside.unbatched, means.unbatched)
        better = "yes" if both and gain > 1e-9 else "no"
        yield epsilon, weight, outside.y, *pairs, max(0.0, gain), better, 1 - optimum.cost / cost


@tabled(
    "The weight of batched delay from which on pairs outside the class are better",
    "epsilon",
    "from weight",
    "closed form",
)
def _begins() -> TableRows:
    for epsilon in BEYOND:
        odds = 2 * exp(-epsilon / 2) * (1 + sqrt(2))  # of the weight, once unbatched mass is left at 0
        yield epsilon, gains_from(epsilon), odds / (1 + odds) if epsilon > 2.5 else None


def counterexample_ratios() -> tuple[Fraction, Fraction]:
    """The largest ratio of the event that stays, and of the one that moves by up to the gap.

    Their product is what a pair costs.

    >>> counterexample_ratios()
    (Fraction(2, 1), Fraction(8, 1))
    """
    batched, unbatched, gap = COUNTEREXAMPLE.batched, COUNTEREXAMPLE.unbatched, COUNTEREXAMPLE.start
    ratios = [batched.mass(gap) / unbatched.mass(gap - shift) for shift in range(gap + 1)]
    return ratios[0], max(ratios)


def best_symmetric() -> float:
    """The least mean batched delay for the same cost, half for each event, by linear programming.

    >>> round(best_symmetric(), 6)
    4.25
    """
    stay, move = counterexample_ratios()
    share, gap = sqrt(stay * move), COUNTEREXAMPLE.start
    return best_on_cells(share, share, 1.0, cells=gap, middles=np.arange(5.0 * gap)).cost


def _counterexample() -> Table:
    batched, unbatched, gap = COUNTEREXAMPLE.batched, COUNTEREXAMPLE.unbatched, COUNTEREXAMPLE.start
    stay, move = counterexample_ratios()
    just_above = Fraction(ceil(1000 * log(sqrt(stay * move))), 1000)
    return Table(
        title="An exact pair outside the class",
        header=("what", "value"),
        rows=[
            ["e^epsilon", int(stay * move)],
            ["for who stays, and for who moves", f"{stay} and {move}"],
            ["batched", f"always {gap} ticks"],
            ["unbatched at 0, 1, ... ticks", ", ".join(str(unbatched.mass(k)) for k in range(gap + 1))],
            ["mean batched delay, ticks", float(batched.mean)],
            ["best mean with half of epsilon for each, ticks", best_symmetric()],
            ["half of epsilon for each, says the checker", verify_pair(COUNTEREXAMPLE, just_above).word],
        ],
    )


# --- sentences and pictures ---------------------------------------------------------------------


def _says(tables: dict[str, Table]) -> list[str]:
    excess = [one["cost, program"] - one["cost"] for one in tables["frontier"].records()]
    outside = tables["outside"].records()
    below = [one for one in outside if one["epsilon"] <= TRADELESS]
    tried = ", ".join(f"{epsilon:g}" for epsilon in dict.fromkeys(one["epsilon"] for one in below))
    none = all(max(one["gain"], one["gain, program"]) <= NOISE for one in below)
    example = {one["what"]: one["value"] for one in tables["counterexample"].records()}
    two = best_inside(2.0, 1.0), best_outside(2.0, 1.0).means
    six = best_inside(6.0, 0.9), best_outside(6.0, 0.9).means
    starts = ", ".join(
        f"{one['from weight']:.2f} at epsilon {one['epsilon']:g}"
        for one in tables["begins"].records()
        if one["from weight"]
    )
    return [
        (
            f"Up to epsilon 2 ln 2 = {TRADELESS:.3f} the frontier is a single point, above it a curve, "
            "as in the paper's figure; the exact laws on ticks lie on it."
        ),
        (
            f"A linear program over {CELLS} cells to the gap finds "
            f"{'a' if min(excess) < -NOISE else 'no'} better pair among those that spend half of epsilon "
            "on each event: its optimum lies "
            f"{min(excess):+z.5f} to {max(excess):+z.5f} gaps from the closed form."
        ),
        (
            "The theorem claims optimality among all pairs that keep epsilon, and that is false: with "
            f"e^epsilon = {example['e^epsilon']} an exact pair has a mean batched delay of "
            f"{example['mean batched delay, ticks']:g} ticks where "
            f"{example['best mean with half of epsilon for each, ticks']:.2f} is the best in the class."
        ),
        (
            f"At weight 1 and epsilon 2 batched events wait {two[1].batched:.4f} gaps and not "
            f"{two[0].batched:.4f}; at weight 0.9 and epsilon 6 both means fall, from "
            f"({six[0].batched:.4f}, {six[0].unbatched:.4f}) to ({six[1].batched:.4f}, "
            f"{six[1].unbatched:.4f})."
        ),
        (
            f"Such gains begin at a weight of {starts}, and are at most "
            f"{percent(max(one['gain'] for one in outside))} in our tables; at the epsilons below 2 ln 2 "
            f"that we tried ({tried}) "
            f"{'neither the family nor the program has any' if none else 'there are some too'}."
        ),
    ]


def _frontier_chart(points: Table) -> Chart:
    dots = [
        {
            "line": f"epsilon {one['epsilon']:g}",
            "batched": one["batched, program"],
            "unbatched": one["unbatched, program"],
        }
        for one in points.records()
    ]
    epsilons = dict.fromkeys(one["epsilon"] for one in points.records())
    rows = [_point(f"epsilon {epsilon:g}", best_inside(epsilon, w)) for epsilon in epsilons for w in DRAWN]
    return _chart(rows, dots, "mean delay of batched events, in gaps (dots: linear program)")


def _beyond_chart() -> Chart:
    rows: list[dict[str, Any]] = []
    for epsilon in (3.0, 6.0):
        rows += [_point(f"epsilon {epsilon:g}, in the class", best_inside(epsilon, w)) for w in DRAWN]
        rows += [_point(f"epsilon {epsilon:g}, outside it", best_outside(epsilon, w).means) for w in DRAWN]
    return _chart(rows, [], "mean delay of batched events, in gaps")


def _point(line: str, means: Means) -> dict[str, Any]:
    return {"line": line, "batched": means.batched, "unbatched": means.unbatched}


def _chart(rows: list[dict[str, Any]], dots: list[dict[str, Any]], title: str) -> Chart:
    ends = {kind: max(row[kind] for row in rows + dots) * 1.05 for kind in ("batched", "unbatched")}
    return line_chart(
        rows,
        x=("batched", number_axis(title, 1, ends["batched"])),
        y=("unbatched", number_axis("mean delay of unbatched events, in gaps", 0, ends["unbatched"])),
        dots=dots,
    )


# --- Algorithm 2, and a family of pairs that may spend epsilon unevenly --------------------------
#
# The promise for a pair needs only r0 rg <= e^epsilon, where r0 bounds batched over unbatched chances of
# the event that stays, and rg those of the event that moves. Algorithm 2 is best for r0 = rg; this family
# takes any r0.

FINE = 20_001  # steps of the search


def best_inside(epsilon: float, weight: float) -> Means:
    """Algorithm 2: the least weighted delay among pairs that spend half of epsilon on each event.

    >>> round(best_inside(2.0, 1.0).batched, 4)
    1.291
    """
    return zero_inflated_uniform(epsilon / 2, best_eta(epsilon / 2, weight))


@dataclass(frozen=True, kw_only=True)
class Outside:
    """A pair of laws that may spend epsilon unevenly.

    Batched: flat from the gap to 1 + 1/x gaps. Unbatched: the mass y there, the mass x z flat before
    the gap, the rest at 0.

    >>> round(best_outside(2.0, 1.0).means.batched, 4)  # 1 + 2 e^-2
    1.2707
    """

    y: float  # 1 / r0; in the class it is e^(-epsilon/2)
    z: float  # 1 / rg = e^-epsilon / y
    x: float  # height of the batched law
    means: Means


def best_outside(epsilon: float, weight: float) -> Outside:
    """The pair of this family with the least weighted delay; Algorithm 2 is one of them.

    >>> means = best_outside(1.0, 1.0).means, best_inside(1.0, 1.0)  # epsilon below 2 ln 2
    >>> [round(one.batched, 6) for one in means]
    [1.770747, 1.770747]
    """
    y = np.linspace(exp(-epsilon / 2), 1, FINE)[:-1]
    z = exp(-epsilon) / y
    room = (1 - y) / z  # x z + y <= 1
    x = room if weight == 1 else np.minimum(np.sqrt((weight / (1 - weight) + y) / z), room)
    batched = 1 + 1 / (2 * x)
    unbatched = x * z / 2 + y * batched
    best = int(np.argmin(weight * batched + (1 - weight) * unbatched))
    means = Means(float(batched[best]), float(unbatched[best]), 1 + 1 / float(x[best]))
    return Outside(y=float(y[best]), z=float(z[best]), x=float(x[best]), means=means)


def gains_from(epsilon: float) -> float | None:
    """The least weight from which on spending unevenly pays; None where it never does.

    >>> gains_from(1.0) is None, round(gains_from(3.0), 2)
    (True, 0.52)
    """

    def gains(weight: float) -> bool:
        inside = best_inside(epsilon, weight).weighted(weight)
        return best_outside(epsilon, weight).means.weighted(weight) < inside - 1e-9

    return turning_point(gains, 0.0, 1.0, within=1e-4) if gains(1.0) else None
