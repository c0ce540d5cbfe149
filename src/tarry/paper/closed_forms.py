"""The paper's closed forms in continuous time: corrected, and what its misprints cost.

For charts and comparison only: no release is decided here, the exact laws on ticks are in `core/laws/`.
Delays are in the unit of `gap`; `share` is the epsilon passed to the laws (half the pair's budget).

Theorem "Choices of One-Sided Indistinguishable Distributions" prints one mean wrongly, the appendix on
the best eta derives from that misprint and has a wrong second derivative, and the proof about the
staircase keeps a step of another epsilon. Algorithm 2 and the authors' code are right. Two claims about
Wikipedia are not what the authors have elsewhere. `docs/theory.md` names each erratum and its test.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, inf, sqrt
from operator import itemgetter

import altair as alt

from tarry.core.errors import BadInput
from tarry.core.exact import ratio_below
from tarry.core.laws.staircase import staircase_pair
from tarry.paper.drawing import line_chart, number_axis
from tarry.paper.finding import Cell, Table
from tarry.study.charts.style import percent_axis
from tarry.study.figures import percent

__all__ = [
    "Means",
    "best_eta",
    "errata",
    "errata_chart",
    "errata_says",
    "exponential",
    "misprinted_eta",
    "misprinted_mean",
    "second_derivative",
    "staircase",
    "uniform",
    "zero_inflated_uniform",
]


@dataclass(frozen=True)
class Means:
    """Expected delays, and the end of the support.

    >>> Means(4.0, 2.0).end
    inf
    """

    batched: float
    unbatched: float
    end: float = inf

    def weighted(self, weight: float) -> float:
        """The weighted mean.

        >>> Means(4.0, 2.0).weighted(0.25)
        2.5
        """
        return weight * self.batched + (1 - weight) * self.unbatched


def exponential(share: float, gap: float = 1.0) -> Means:
    """B = gap + Exponential(share / gap), U = Exponential(share / gap).

    >>> exponential(0.5)
    Means(batched=3.0, unbatched=2.0, end=inf)
    """
    return Means(gap * (1 + 1 / share), gap / share)


def staircase(share: float, gap: float = 1.0) -> Means:
    """B = gap + |Staircase|, U = |Staircase|, with the step 1 / (1 + e^(share / 2)).

    >>> round(staircase(1.0).unbatched, 4)
    0.9595
    """
    unbatched = gap * exp(share / 2) / (exp(share) - 1)
    return Means(gap + unbatched, unbatched)


def uniform(share: float, gap: float = 1.0) -> Means:
    """B = Uniform(gap, end), U = Uniform(0, end) with end = gap / (1 - e^-share).

    >>> round(uniform(0.5).batched, 4)
    1.7707
    """
    return zero_inflated_uniform(share, 1.0, gap)


def zero_inflated_uniform(share: float, eta: float, gap: float = 1.0) -> Means:
    """B = Uniform(gap, end); U = 0 with chance 1 - eta, else Uniform(0, end).

    E[B] = (gap / 2)(1 + eta / (eta - a)), where the paper prints eta in place of the 1.

    >>> means = zero_inflated_uniform(0.5, 1.0)
    >>> round(means.batched, 4), round(means.unbatched, 4), round(means.end, 4)
    (1.7707, 1.2707, 2.5415)
    """
    a = exp(-share)
    if not a < eta <= 1:
        raise BadInput(f"eta must lie above e^-share = {a:.6g} and be at most 1, not {eta}")
    end = eta * gap / (eta - a)
    return Means((gap + end) / 2, eta * end / 2, end)


def best_eta(share: float, weight: float) -> float:
    """The eta with the least weighted mean delay (Algorithm 2); weight 1 gives 1.

    >>> best_eta(0.5, 0.0), round(best_eta(1.0, 0.25), 4)
    (1.0, 0.8758)
    """
    if not 0 <= weight <= 1:
        raise BadInput(f"weight must lie between 0 and 1, not {weight}")
    if weight == 1:
        return 1.0
    a = exp(-share)
    return min(1.0, a * (1 + sqrt(1 + weight / ((1 - weight) * a))))


# --- misprints, and what they cost ----------------------------------------------------------------

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
    low = max(tables["misprinted_mean"].records(), key=itemgetter("too low by"))
    bend = next(one for one in tables["second_derivative"].records() if one["epsilon"] == BEND)
    worst, stairs = (
        max(tables[name].records(), key=itemgetter("extra")) for name in ("misprinted_eta", "staircase")
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
