"""Errata of the formulas behind the tables: misprints, what they cost, and what the code has right.

Theorem "Choices of One-Sided Indistinguishable Distributions" prints one mean wrongly, the appendix on
the best eta derives from that misprint and has a wrong second derivative, and the proof about the
staircase keeps a step of another epsilon. Algorithm 2 and the authors' code are right. Two claims about
Wikipedia are not what the authors have elsewhere.
"""

from fractions import Fraction
from itertools import product
from math import exp, sqrt
from operator import itemgetter

import altair as alt

from tarry.core.continuous import best_eta, zero_inflated_uniform
from tarry.core.exact import ratio_below
from tarry.core.laws.staircase import staircase_pair
from tarry.paper.finding import Cell, Table
from tarry.paper.lines import line_chart, number_axis, records
from tarry.study.charts.style import percent_axis
from tarry.study.figures import percent

__all__ = [
    "errata",
    "errata_chart",
    "errata_says",
    "misprinted_eta",
    "misprinted_mean",
    "second_derivative",
]

EPSILONS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
BEND = 2.0  # the epsilon at which a sentence has the second derivative, with the first of the weights
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
#: Place, what it says, and what the authors have elsewhere.
CLAIMS = (
    ("introduction", "over 50 % of edits are batched", "49.07 %, in the authors' notebook"),
    ("contributions", "an accuracy of 85 %", "recall 85 % at precision 80 %, in section Wikipedia"),
)
TICKS = 2000  # of a gap, for the exact staircase


def misprinted_mean(share: float, eta: float) -> float:
    """E[B] as printed: (g/2)(eta + eta / (eta - a)), where it is (g/2)(1 + ...).

    >>> misprinted_mean(1.0, 1.0) == zero_inflated_uniform(1.0, 1.0).batched
    True
    """
    return (eta + eta / (eta - exp(-share))) / 2


def misprinted_eta(share: float, weight: float) -> float:
    """The root of the printed first derivative, at most 1.

    >>> round(misprinted_eta(1.0, 0.25), 4), round(best_eta(1.0, 0.25), 4)
    (0.8077, 0.8758)
    """
    a = exp(-share)
    return min(1.0, a + sqrt(a * a + weight * a * (1 - a)))


def second_derivative(share: float, eta: float, weight: float) -> float:
    """That of the paper's objective in eta: twice the weighted mean in gaps. Never negative.

    >>> round(second_derivative(1.0, 1.0, 0.0), 4)
    1.0716
    """
    a = exp(-share)
    return 2 * a * (weight + (1 - weight) * a) / (eta - a) ** 3


def _printed_second(share: float, eta: float, weight: float) -> float:
    """As printed: w (1 + 1 / (eta - a)) + (1 - w) eta^2 / (eta - a), nearly the objective itself."""
    above = eta - exp(-share)
    return weight * (1 + 1 / above) + (1 - weight) * eta**2 / above


def errata(*, tiny: bool = False) -> dict[str, Table]:
    """The small tables, by name.

    >>> list(errata(tiny=True))
    ['misprinted_mean', 'misprinted_eta', 'second_derivative', 'ends', 'staircase', 'claims']
    """
    return {
        "misprinted_mean": _means(),
        "misprinted_eta": _etas(),
        "second_derivative": _seconds(),
        "ends": _ends(),
        "staircase": _staircase(100 if tiny else TICKS),
        "claims": Table(
            title="Claims about Wikipedia", header=("place", "says", "elsewhere"), rows=list(CLAIMS)
        ),
    }


def _means() -> Table:
    rows: list[list[Cell]] = []
    for epsilon, weight in product(EPSILONS, (0.0, 0.25, 0.5)):
        eta = best_eta(epsilon / 2, weight)
        right = zero_inflated_uniform(epsilon / 2, eta).batched
        printed = misprinted_mean(epsilon / 2, eta)
        rows.append([epsilon, weight, eta, printed, right, 1 - printed / right])
    header = ("epsilon", "weight", "eta", "E[B] printed", "E[B]", "too low by")
    return Table(
        title="The printed mean of the zero-inflated uniform law, in gaps", header=header, rows=rows
    )


def _etas() -> Table:
    rows: list[list[Cell]] = []
    for epsilon, weight in product(EPSILONS, WEIGHTS):
        share = epsilon / 2
        etas = misprinted_eta(share, weight), best_eta(share, weight)
        printed, best = (zero_inflated_uniform(share, eta).weighted(weight) for eta in etas)
        rows.append([epsilon, weight, *etas, printed, best, printed / best - 1])
    header = (
        "epsilon",
        "weight",
        "eta, printed derivative",
        "eta, Algorithm 2",
        "cost printed",
        "cost",
        "extra",
    )
    return Table(title="What the root of the printed derivative costs", header=header, rows=rows)


def _seconds() -> Table:
    rows: list[list[Cell]] = []
    for epsilon, weight in product(EPSILONS, WEIGHTS):
        share, eta = epsilon / 2, best_eta(epsilon / 2, weight)
        both = (one(share, eta, weight) for one in (_printed_second, second_derivative))
        rows.append([epsilon, weight, eta, *both])
    title = "The second derivative of the objective at the best eta"
    return Table(title=title, header=("epsilon", "weight", "eta", "printed", "right"), rows=rows)


def _costs(share: float, weight: float) -> tuple[float, float]:
    """The weighted mean delay with the misprinted eta, and with the best one."""
    etas = misprinted_eta(share, weight), best_eta(share, weight)
    printed, best = (zero_inflated_uniform(share, eta).weighted(weight) for eta in etas)
    return printed, best


def _ends() -> Table:
    """Algorithm 2 at both ends of the weight: at 1 its formula divides by 0, and means 1."""
    rows = [
        [epsilon, best_eta(epsilon / 2, 0.0), min(1.0, 2 * exp(-epsilon / 2)), best_eta(epsilon / 2, 1.0)]
        for epsilon in (0.5, *EPSILONS)
    ]
    header = ("epsilon", "eta at weight 0", "min(1, 2 e^(-epsilon/2))", "eta at weight 1")
    return Table(title="Algorithm 2 at the ends of the weight", header=header, rows=rows)


def _staircase(ticks: int) -> Table:
    """Exactly on many ticks: the step of the proof, e^(epsilon/2), and the right one, e^(epsilon/4)."""
    rows: list[list[Cell]] = []
    for epsilon in EPSILONS:
        ratio = ratio_below(Fraction(epsilon) / 2)
        steps = [1 / (1 + exp(epsilon / part)) for part in (2, 4)]
        means = [
            float(staircase_pair(ratio, ticks, max(1, round(step * ticks))).unbatched.mean / ticks)
            for step in steps
        ]
        rows.append([epsilon, *steps, *means, means[0] / means[1] - 1])
    header = ("epsilon", "step in the proof", "step", "E[U] in the proof", "E[U]", "extra")
    return Table(title="The staircase law with the step of the proof, in gaps", header=header, rows=rows)


def errata_says(tables: dict[str, Table]) -> list[str]:
    """What the small tables show.

    >>> len(errata_says(errata(tiny=True)))
    2
    """
    low = max(records(tables["misprinted_mean"]), key=itemgetter("too low by"))
    bend = next(one for one in records(tables["second_derivative"]) if one["epsilon"] == BEND)
    worst, stairs = (
        max(records(tables[name]), key=itemgetter("extra")) for name in ("misprinted_eta", "staircase")
    )
    return [
        (
            "E[B] of the zero-inflated law is printed too low wherever eta is below 1, by "
            f"{percent(low['too low by'])} at epsilon {low['epsilon']:g} and weight {low['weight']:g}; "
            f"the root of the derivative printed in the appendix costs up to {percent(worst['extra'])} "
            f"more on our grid (epsilon {worst['epsilon']:g}, weight {worst['weight']:g}). The second "
            f"derivative there is wrong too ({bend['printed']:.2f} for {bend['right']:.2f} at epsilon "
            f"{bend['epsilon']:g} and weight {bend['weight']:g}). Algorithm 2 is right."
        ),
        (
            "The proof about the staircase keeps the step 1 / (1 + e^(epsilon/2)) at half of epsilon, "
            f"which costs up to {percent(stairs['extra'])} more than 1 / (1 + e^(epsilon/4)), at epsilon "
            f"{stairs['epsilon']:g}."
        ),
    ]


def errata_chart() -> alt.LayerChart:
    """What the misprinted root costs, over the weight.

    >>> len(errata_chart().layer)
    1
    """
    weights = [step / 200 for step in range(200)]
    rows = []
    for epsilon, weight in product((2.0, 3.0, 4.0, 6.0, 8.0), weights):
        printed, best = _costs(epsilon / 2, weight)
        rows.append({"line": f"epsilon {epsilon:g}", "weight": weight, "extra": printed / best - 1})
    x = alt.X("weight:Q", **number_axis("weight of batched delay", 0, 1))
    return line_chart(rows, x=x, y=alt.Y("extra:Q", **percent_axis("extra cost of the misprint", 0.1)))
