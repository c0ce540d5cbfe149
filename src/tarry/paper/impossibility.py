"""Two-sided privacy and delay: what is impossible, what the paper prints, and where that fails.

The paper's theorem "Impossibility of Two-Sided Differential Privacy", part (3). Along a chain of
neighbours an event arrives later and later; the printed proof adds 2 delta a step and leaves out that
each step also multiplies by e^epsilon. So its bound, P(delay >= T) >= 1 - 2 delta (T/g + 1), is right at
epsilon 0 and false above: a truncated geometric law breaks it. With delta 0 the impossibility stays.
Four panels: (A) delta 0, (B) epsilon 0, (C) epsilon above 0, (D) the other direction of the one-sided
promise, which is where its short delays come from. Delays are in gaps.
"""

from fractions import Fraction
from math import ceil, exp, expm1, log1p

import numpy as np
from scipy.sparse import block_array, block_diag, eye_array, vstack  # type: ignore[import-untyped]  # none

from tarry.core.calibrate import two_sided_bound
from tarry.core.exact import exp_floor
from tarry.core.law import Law, Run
from tarry.core.laws.zero_inflated import zero_inflated_uniform
from tarry.core.mechanism import Ask
from tarry.core.verify import verify_label_free
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
from tarry.paper.laws import solve
from tarry.study.charts.style import percent_axis

__all__ = ["TITLE", "find", "printed_bound", "soonest", "truncated_geometric"]

TITLE = "What two-sided privacy costs: the printed bound and the corrected one"

TICKS = 20  # of a gap
EPSILON, DELTA = Fraction(1), Fraction(1, 100)
SMALL_DELTA = Fraction(1, 10**6)
GAPS = range(1, 6)  # j in the bound on P(delay < j g)
FAR = (1, 10, 100, 1000)  # steps of the chain in panel A
TEN = 10  # gaps, in panel B
PROGRAM_TICKS = 4  # of a gap, in the linear program; more change nothing
WHOLE = "corrected cap, a step moves a gap"  # in the table and the chart
BITS = 20  # of the ratio of neighbouring ticks in the truncated law


def find(settings: RunSettings) -> Finding:
    """The four panels and the two bounds.

    >>> list(find(RunSettings(tiny=True)).tables)
    ['A', 'B', 'C', 'caps', 'D']
    """
    deltas = (DELTA,) if settings.tiny else (DELTA, SMALL_DELTA)
    laws = {delta: truncated_geometric(EPSILON, delta) for delta in deltas}
    tables = {
        "A": _never(),
        "B": _without_epsilon(),
        "C": _truncated(laws),
        "caps": _caps(laws[DELTA]),
        "D": _one_sided(),
    }
    return Finding(
        name="impossibility",
        title=TITLE,
        says=_says(tables),
        tables=tables,
        charts={"delay-at-least": _survival_chart(laws), "released-within": _caps_chart(tables["caps"])},
    )


def printed_bound(delta: Fraction, gaps: Fraction | int) -> Fraction:
    """The theorem as printed: the least chance of a delay of at least so many gaps, whatever epsilon.

    >>> float(printed_bound(Fraction(1, 100), 10))
    0.78
    """
    return max(Fraction(0), 1 - 2 * delta * (gaps + 1))


def truncated_geometric(epsilon: Fraction, delta: Fraction) -> Law:
    """Both sides of a geometric law around its middle, cut where the first gap has about delta.

    A move by up to a gap changes each chance by at most e^epsilon, but for what lies beyond an end. The
    middle is that of the truncated Laplace law, (1/epsilon) ln(1 + (e^epsilon - 1) / (2 delta)) gaps.

    >>> law = truncated_geometric(Fraction(1), Fraction(1, 100))
    >>> law.maximum / TICKS, verify_label_free(law, TICKS, Fraction(1), Fraction(1, 100)).word
    (9.0, 'holds')
    """
    middle = ceil(TICKS / epsilon * log1p(expm1(epsilon) / (2 * delta)))
    # Not below e^(-epsilon / ticks), so that a gap's worth of them is not below e^-epsilon.
    decay = Fraction(1 << BITS, exp_floor(epsilon / TICKS, BITS))
    side = [decay**place for place in range(middle, 0, -1)]
    total = 2 * sum(side) + 1
    return Law.of_masses([mass / total for mass in (*side, Fraction(1), *reversed(side))])


def at_least(law: Law, gaps: Fraction | int) -> Fraction:
    """The chance of a delay of at least so many gaps."""
    return 1 - law.cumulative(ceil(gaps * TICKS) - 1)


def soonest(epsilon: float, delta: float, gaps: int, *, ticks: int, last: int = 16) -> float:
    """The largest chance of a release within so many gaps, over one law for all events.

    By linear programming. The law has `last` gaps of so many ticks and is (epsilon, delta)-private both
    ways for moves of up to a gap: for each shift, what is above e^epsilon times the other adds up to no
    more than delta.

    >>> round(soonest(1.0, 0.01, 2, ticks=1), 4)
    0.0372
    """
    many, moves = last * ticks, []
    for shift in range(1, ticks + 1):
        # Over the ticks that either law reaches: the law, and the law moved by the shift.
        here, there = (eye_array(many + shift, many, k=-moved) for moved in (0, shift))
        moves += [here - exp(epsilon) * there, there - exp(epsilon) * here]
    excess = sum(move.shape[0] for move in moves)  # one unknown for each, besides the law's masses
    sums = block_diag([np.ones((1, move.shape[0])) for move in moves])
    below = block_array([[vstack(moves), -eye_array(excess)], [None, sums]], format="csr")
    objective, total = np.zeros(many + excess), np.zeros((1, many + excess))
    objective[: gaps * ticks], total[0, :many] = -1, 1
    limits = np.concatenate([np.zeros(excess), np.full(len(moves), delta)])
    return float(-solve(objective, A_ub=below, b_ub=limits, A_eq=total, b_eq=[1.0]).fun)


# --- panels -------------------------------------------------------------------------------------


def _never() -> Table:
    return Table(
        title="A. delta 0: nothing is ever released",
        header=("gaps", "released within, at most", "as printed"),
        rows=[
            [gaps, float(two_sided_bound(EPSILON, 0, gaps)), float(1 - printed_bound(Fraction(0), gaps))]
            for gaps in FAR
        ],
    )


def _without_epsilon() -> Table:
    """Uniform over 1/delta gaps: the printed bound is right here, and within a factor of two of it."""
    law = Law((Run(int(TICKS / DELTA), DELTA / TICKS),))
    return Table(
        title=f"B. epsilon 0, delta {float(DELTA):g}: uniform over {1 / DELTA} gaps",
        header=("what", "value"),
        rows=[
            [f"delay at least {TEN} gaps", float(at_least(law, TEN))],
            ["as printed, at least", float(printed_bound(DELTA, TEN))],
            ["corrected, at least", float(1 - two_sided_bound(0, DELTA, TEN))],
            [
                "corrected where a step moves a whole gap",
                float(1 - two_sided_bound(0, DELTA, TEN, directed=False)),
            ],
            ["mean delay, gaps", float(law.mean / TICKS)],
            ["private, says the checker", verify_label_free(law, TICKS, Fraction(0), DELTA).word],
        ],
    )


@tabled(
    "C. epsilon above 0: a truncated geometric law breaks the printed bound",
    *("epsilon", "delta", "mean", "first delay that never happens"),
    *("beyond its end, as printed at least", "beyond its end", "private"),
)
def _truncated(laws: dict[Fraction, Law]) -> TableRows:
    for delta, law in laws.items():
        beyond = Fraction(law.maximum or 0, TICKS) + Fraction(1, TICKS)
        means = (float(law.mean / TICKS), float(beyond))
        chances = (float(printed_bound(delta, beyond)), float(at_least(law, beyond)))
        word = verify_label_free(law, TICKS, EPSILON, delta).word  # symmetric: the same the other way
        yield float(EPSILON), float(delta), *means, *chances, word


@tabled(
    f"Chance of a release within so many gaps, epsilon {EPSILON}, delta {float(DELTA):g}",
    *("gaps", "printed cap", "corrected cap, directed", WHOLE),
    *("reached, linear program", "truncated geometric"),
)
def _caps(law: Law) -> TableRows:
    for gaps in GAPS:
        reached = soonest(float(EPSILON), float(DELTA), gaps, ticks=PROGRAM_TICKS)
        caps = (
            1 - printed_bound(DELTA, gaps),
            two_sided_bound(EPSILON, DELTA, gaps),  # cut at 1
            two_sided_bound(EPSILON, DELTA, gaps, directed=False),
        )
        yield gaps, *map(float, caps), reached, float(1 - at_least(law, gaps))


@tabled(
    "D. the direction that one-sided privacy leaves open",
    *("epsilon", "unbatched before the gap", "batched before the gap"),
    *("1 - e^(-epsilon/2)", "ratio"),
)
def _one_sided() -> TableRows:
    """An unbatched event may leave before the gap, a batched one never: that way there is no bound."""
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(2)):
        pair = zero_inflated_uniform(Ask(share=epsilon / 2, start=TICKS, weight=Fraction(1, 4)))
        early = (float(law.cumulative(TICKS - 1)) for law in (pair.unbatched, pair.batched))
        yield float(epsilon), *early, 1 - exp(-epsilon / 2), "infinite"


# --- sentences and pictures ---------------------------------------------------------------------


def _says(tables: dict[str, Table]) -> list[str]:
    stands = not any(tables["A"].column("released within, at most"))
    flat = {one["what"]: one["value"] for one in tables["B"].records()}
    right = flat["as printed, at least"] <= flat[f"delay at least {TEN} gaps"]
    worst = tables["C"].records()[-1]
    caps = tables["caps"].records()
    broken = next(one for one in caps if one["reached, linear program"] > one["printed cap"])
    tight = [one["gaps"] for one in caps if abs(one["reached, linear program"] - one[WHOLE]) < 1e-6]
    open_way = tables["D"].records()[1]
    return [
        (
            f"With delta 0 the theorem {'stands: nothing' if stands else 'does not stand: something'} is "
            f"released within {FAR[-1]} gaps, so two-sided privacy without delta "
            f"{'is' if stands else 'is not'} impossible."
        ),
        (
            f"At epsilon 0 the printed line {'is' if right else 'is not'} right: uniform over {1 / DELTA} "
            f"gaps {_is_private(flat['private, says the checker'])} with delta {float(DELTA):g} and waits "
            f"at least {TEN} gaps with {flat[f'delay at least {TEN} gaps']:.2f}, where "
            f"{flat['as printed, at least']:.2f} is printed."
        ),
        (
            f"Above it is false: at epsilon {worst['epsilon']:g} and delta {worst['delta']:g} a truncated "
            f"geometric law {_is_private(worst['private'])}, has a mean delay of {worst['mean']:.1f} gaps "
            f"and none from {worst['first delay that never happens']:.2f} on, where the printed bound has "
            f"at least {worst['beyond its end, as printed at least']:.4f} of all."
        ),
        (
            f"One law for all events can release {broken['reached, linear program']:.4f} within "
            f"{broken['gaps']} gaps (linear program), above the printed cap of "
            f"{broken['printed cap']:.2f}. The corrected cap is delta (e^(2j epsilon) - 1)/(e^epsilon - 1) "
            "with the paper's neighbours, and delta (e^(j epsilon) - 1)/(e^epsilon - 1) where one step "
            f"moves a whole gap; such laws reach the latter for j = {tight[0]} to {tight[-1]}."
        ),
        (
            f"One-sided privacy escapes by its open direction: at epsilon {open_way['epsilon']:g}, "
            f"{100 * open_way['unbatched before the gap']:.1f} % of unbatched events leave before the "
            "gap, and no batched one does."
        ),
    ]


def _is_private(word: str) -> str:
    return "is private" if word == "holds" else "is not shown to be private"


def _survival_chart(laws: dict[Fraction, Law]) -> Chart:
    steps = range(30 * TICKS + 1)
    rows = []
    for delta, law in laws.items():
        named, left = f"delta {float(delta):g}", 1.0
        for tick in steps:
            rows.append(_chance(f"truncated geometric, {named}", tick / TICKS, max(0.0, left)))
            left -= float(law.mass(tick))
        ends = (Fraction(tick, TICKS) for tick in steps[:: 30 * TICKS])  # a straight line
        rows += [_chance(f"printed: at least, {named}", gaps, printed_bound(delta, gaps)) for gaps in ends]
    return line_chart(
        rows,
        x=("gaps", number_axis("delay, in gaps", 0, 30)),
        y=("chance", percent_axis("events that wait at least so long")),
    )


def _caps_chart(caps: Table) -> Chart:
    rows = [_chance(name, one["gaps"], one[name]) for name in caps.header[1:] for one in caps.records()]
    return line_chart(
        rows,
        x=("gaps", number_axis("within so many gaps", 1, GAPS[-1], values=GAPS)),
        y=("chance", percent_axis("released, at most")),
        dots=rows,
    )


def _chance(line: str, gaps: Fraction | float, chance: Fraction | float) -> dict[str, str | float]:
    return {"line": line, "gaps": float(gaps), "chance": float(chance)}
