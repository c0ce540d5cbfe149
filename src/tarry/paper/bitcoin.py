"""The Bitcoin experiment: payments to one address from several, and when they are one owner's.

The paper (experiments, Bitcoin, and the appendix): the gap of a payment is a percentile of its recipient's
gaps in the prior seven days, ten minutes without any, batches left out. A basic attack claims payments to
one address that appear within a cutoff, an informed one within a multiple of the address's own gap. The
week itself is not public, so this runs on two made-up weeks with its printed statistics, and on real
tables of the crypto world where they are given. Beside the paper's rule stands a safe one: a gap that
follows the very payments it protects gives them away, one from a closed week before does not.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.labels import partner_distance
from tarry.core.lanes import IntArray
from tarry.paper.bitcoin_payments import (
    CLOSED,
    DEFAULT,
    PAST,
    WINDOW,
    Payments,
    PaymentTrial,
    make_weeks,
    payments_of,
    run_trial,
)
from tarry.paper.finding import (
    Chart,
    Finding,
    RunSettings,
    Table,
    TableRows,
    line_chart,
    real_tables,
    tabled,
)
from tarry.paper.laws import default_laws
from tarry.study.charts.curves import precision_chart
from tarry.study.charts.style import duration_axis, percent_axis
from tarry.study.practice import MICROSECONDS
from tarry.study.runs import AttackRun
from tarry.study.score import Counts, precision_at

__all__ = ["TITLE", "as_coded", "attack_charts", "delay_chart", "find"]


TITLE = "Bitcoin: payments to one address, gaps from its own past"

#: Printed in the section on Bitcoin: share of batched payments, of unbatched ones without history (more
#: than) and of batched ones with history (roughly); precision of the informed attack at high recall and
#: epsilon 1; delays of batched payments within two hours, at epsilon 1.
PRINTED_BATCHED, PRINTED_WITHOUT, PRINTED_WITH = 0.012, 0.9, 0.8
PRINTED_PRECISION, PRINTED_TWO_HOURS = 0.2, 0.7
HIGH_RECALL = 0.8  # what we take "high recall" to mean

PERCENTILES, MADE_UP = (25, 50, 75), "made-up weeks"
EPSILONS = ("0.1", "0.5", "1", "2")
SLIP_S = (30, 60, 600, 3600)  # cutoffs at which the slip is shown
PER_DAY = 12_500  # a twentieth of the paper's 250,000
DRAWS = 5  # as many as the paper's trials, at epsilon 1 on the made-up weeks; elsewhere one

Key = tuple[str, str, int, str]  # history, rule, percentile, epsilon


# --- the payments and what is done to them -------------------------------------------------------


def _histories(settings: RunSettings) -> dict[str, Payments]:
    made_up = make_weeks(600 if settings.tiny else PER_DAY, settings.seed)
    real = real_tables(settings, "dao_votes", "bitcoin_otc")
    return {
        MADE_UP: payments_of(made_up, PERCENTILES),
        **{name: payments_of(columns, PERCENTILES) for name, columns in real.items()},
    }


@tabled(
    "The payments, and what the paper prints of its own",
    *("history", "payments a day", "batched", "unbatched without history"),
    *("batched with history", "linked pairs", "linked pairs with two gaps"),
    *("ten minutes for batched, paper", "ten minutes, closed week"),
)
def _statistics(histories: dict[str, Payments]) -> TableRows:
    yield "printed", 250_000, PRINTED_BATCHED, PRINTED_WITHOUT, PRINTED_WITH, None, None, None, None
    for name, payments in histories.items():
        table = payments.table
        batched = np.minimum(*partner_distance(table.history, table.time)) <= WINDOW
        yield (
            name,
            round(len(table) / payments.days),
            float(batched.mean()),
            1 - float(payments.history[~batched].mean()),
            float(payments.history[batched].mean()),
            payments.truth.linked_pairs,
            _moved(payments),
            *(_without(payments.gaps[rule][50][batched]) for rule in (PAST, CLOSED)),
        )


def _moved(payments: Payments) -> float:
    """The share of linked neighbours to whom the paper's rule gives different gaps."""
    table, gaps = payments.table, payments.gaps[PAST][50]
    near = (table.actor[1:] == table.actor[:-1]) & (table.target[1:] != table.target[:-1])
    near &= np.diff(table.time) <= WINDOW
    return float(np.mean(gaps[1:][near] != gaps[:-1][near])) if near.any() else 0.0


def _without(gaps: IntArray) -> float:
    """The share of payments that have to do with the ten minutes."""
    return float(np.mean(gaps == DEFAULT // MICROSECONDS)) if len(gaps) else 0.0


def _trials(settings: RunSettings, histories: dict[str, Payments]) -> dict[Key, PaymentTrial]:
    keys: list[Key] = [
        (name, rule, percentile, epsilon)
        for name, rule, percentile, epsilon in product(histories, (PAST, CLOSED), PERCENTILES, EPSILONS)
        if percentile == 50 or (not settings.tiny and (name == MADE_UP or epsilon == "1"))
    ]
    trials: dict[Key, PaymentTrial] = {}
    for name, rule, percentile, epsilon in settings.steps(keys):
        many = DRAWS if name == MADE_UP and epsilon == "1" and not settings.tiny else 1
        draws = [Seeded(settings.seed, draw) for draw in range(many)]
        gaps = histories[name].gaps[rule][percentile]
        trials[name, rule, percentile, epsilon] = run_trial(histories[name], gaps, epsilon, draws)
    return trials


def _attacks(trials: dict[Key, PaymentTrial]) -> Table:
    return Table(
        title=f"Precision of both attacks at a recall of {HIGH_RECALL:.0%}, and delays of batched payments",
        header=(
            *("history", "gap from", "percentile", "epsilon", "basic", "informed"),
            *("delay within 2 h", "within 4 h", "mean, hours", "draws"),
        ),
        rows=[
            (
                *key,
                precision_at([score.counts for score in trial.basic], HIGH_RECALL),
                precision_at([score.counts for score in trial.informed], HIGH_RECALL),
                trial.within(2),
                trial.within(4),
                float(np.mean(trial.delays)) / 3600 if len(trial.delays) else None,
                trial.draws,
            )
            for key, trial in trials.items()
        ],
    )


# --- the authors' slip ---------------------------------------------------------------------------


def as_coded(counts: Counts) -> float | None:
    """The precision that the authors' code gets without delays: it reads false positives from the hits.

    >>> as_coded(Counts(true_positives=7, false_positives=0, false_negatives=0, true_negatives=9))
    0.5
    """
    claims = counts.true_positives + counts.true_positives
    return counts.true_positives / claims if claims else None


def _slip(nothing: dict[str, PaymentTrial]) -> Table:
    return Table(
        title="Without delays: the basic attack, and the same counts with the false positives misread",
        header=("history", "cutoff, s", "recall", "precision", "precision as coded"),
        rows=[
            (name, score.cutoff_s, score.counts.recall, score.counts.precision, as_coded(score.counts))
            for name, trial in nothing.items()
            for score in trial.basic
            if score.cutoff_s in SLIP_S
        ],
    )


# --- an example: a gap that follows the payments --------------------------------------------------

#: Theory, parameters: the arrivals of one recipient, and where the fourth might have come instead.
ARRIVALS, MOVED = (0, 10, 20, 24, 40), (0, 10, 20, 14, 40)


def example(ticks: int = 1000) -> tuple[float, float, Fraction | None, float]:
    """Two medians of gaps; the largest ratio of a later batched payment; nats of a later unbatched one.

    `ticks` are those of one unit of time: the more, the nearer to continuous time.

    >>> before, after, ratio, nats = example()
    >>> before, after, ratio, round(nats, 2)
    (10.0, 8.0, None, 0.22)
    """
    before, after = (float(np.median(np.diff(np.sort(times)))) for times in (ARRIVALS, MOVED))
    true, other = (default_laws(round(gap * ticks)) for gap in (after, before))
    ratio = (
        true.batched.mass(true.start) / other.batched.mass(true.start)
        if other.start <= true.start
        else None
    )
    return before, after, ratio, log(true.unbatched.mass(true.start) / other.unbatched.mass(true.start))


def _safe() -> Table:
    """The example, beside a gap that does not follow the payments."""
    before, after, ratio, leak = example()
    nats = "infinite" if ratio is None else log(ratio)
    return Table(
        title=f"What a moved payment changes for those after it: arrivals {ARRIVALS}, the fourth at 14 "
        "instead",
        header=(
            *("rule", "gap", "gap had one come earlier"),
            *("a later batched one, nats", "a later lone one, nats"),
        ),
        rows=[
            ("the gap follows the payments", before, after, nats, leak),
            ("the gap of a closed week", before, before, 0.0, 0.0),
        ],
    )


# --- sentences and pictures -----------------------------------------------------------------------


def _charts(trials: dict[Key, PaymentTrial], nothing: PaymentTrial) -> dict[str, Chart]:
    """The paper's figures: both attacks and the delays at each percentile of the gaps, the median first."""
    made_up = {key[2:]: trial for key, trial in trials.items() if key[:2] == (MADE_UP, PAST)}
    by_gap = {f"epsilon 1, percentile {p}": trial for (p, value), trial in made_up.items() if value == "1"}
    charts: dict[str, Chart] = {}
    for percentile in sorted({p for p, _ in made_up}, key=lambda p: (p != 50, p)):
        by_epsilon = {f"epsilon {value}": trial for (p, value), trial in made_up.items() if p == percentile}
        drawn = attack_charts({"nothing done": nothing, **by_epsilon})
        drawn["delays-by-epsilon"] = delay_chart(by_epsilon)
        last = "" if percentile == 50 else f"-{percentile}"
        charts |= {f"{name}{last}": chart for name, chart in drawn.items()}
    return {**charts, "delays-by-percentile": delay_chart(by_gap)}


def _says(attacks: Table, statistics: Table, slip: Table, safe: Table) -> list[str]:
    at = {tuple(row[:4]): row for row in attacks.rows}
    paper, closed = at[MADE_UP, PAST, 50, "1"], at[MADE_UP, CLOSED, 50, "1"]
    made, moved = statistics.rows[1], safe.rows[0]
    a_day = np.array(statistics.column("payments a day"), dtype=float)
    minute = next(row for row in slip.rows if row[1] == 60)
    return [
        (
            f"On made-up weeks with the printed statistics ({made[2]:.2%} batched, {made[4]:.0%} of them "
            f"to addresses with history; {a_day[1]:,.0f} payments a day, {a_day[1] / a_day[0]:.1%} of the "
            f"paper's) the informed attack is right in {paper[5]:.1%} of its claims at "
            f"{HIGH_RECALL:.0%} recall and epsilon 1, where about {PRINTED_PRECISION:.0%} is printed; the "
            f'basic one in {paper[4]:.1%} ("much worse", it says). How often addresses are paid is not '
            "printed and was chosen to come near: this shows that the print is plausible, not that it is "
            "right."
        ),
        (
            f"Delays of batched payments are within two hours for {paper[6]:.0%} "
            f"({PRINTED_TWO_HOURS:.0%} is printed) and within four for {paper[7]:.0%} (most)."
        ),
        (
            f"Without delays both precision and recall are {minute[3]:.0%} at one minute. The authors' "
            "code reads the false positives from the column of hits and gets a precision of "
            f"{minute[4]:.0%} at every cutoff."
        ),
        (
            f"A gap from the seven days before each payment follows the payments: {made[6]:.0%} of "
            "linked neighbours draw with two different gaps. Had one payment come earlier, the median gap "
            f"of arrivals {ARRIVALS} would be {moved[2]:g} instead of {moved[1]:g}: the next batched "
            f"payment can prove it ({moved[3]} ratio), and each lone one tells {moved[4]:.2f} nats."
        ),
        (
            "A gap from the closed week before is safe. With it the attacks reach "
            f"{closed[5]:.1%} and {closed[4]:.1%}, and {closed[6]:.0%} of the delays are within two hours. "
            "Between two weeks no payment may arrive for a gap, or pairs across the change are not "
            "covered."
        ),
        *_real(attacks, statistics),
    ]


def _real(attacks: Table, statistics: Table) -> Iterator[str]:
    """What comes out of real tables, where they were given: epsilon 1, the median gap."""
    for name, *_, paper, closed in statistics.rows[2:]:
        past, safe = (
            next(row for row in attacks.rows if tuple(row[:4]) == (name, rule, 50, "1"))
            for rule in (PAST, CLOSED)
        )
        yield (
            f"On {name}, at {HIGH_RECALL:.0%} recall and epsilon 1, the informed attack is right in "
            f"{past[5]:.1%} with the paper's rule and in {safe[5]:.1%} with the safe one (basic: "
            f"{past[4]:.1%} and {safe[4]:.1%}). The safe one learns too little there: {closed:.0%} of "
            "batched events get the ten minutes of a recipient without a past, where it is "
            f"{paper:.0%} with the paper's."
        )


def find(settings: RunSettings) -> Finding:
    """Replay, attack, and set the safe rule beside the paper's.

    >>> find(RunSettings(tiny=True)).name
    'bitcoin'
    """
    histories = _histories(settings)
    nothing = {name: run_trial(one, None, "1", [Seeded(0)]) for name, one in histories.items()}
    trials = _trials(settings, histories)
    tables = {
        "statistics": _statistics(histories),
        "attacks": _attacks(trials),
        "slip": _slip(nothing),
        "safe": _safe(),
    }
    return Finding(
        name="bitcoin",
        title=TITLE,
        says=_says(tables["attacks"], tables["statistics"], tables["slip"], tables["safe"]),
        tables=tables,
        charts=_charts(trials, nothing[MADE_UP]),
    )


def attack_charts(lines: Mapping[str, PaymentTrial]) -> dict[str, Chart]:
    """Precision over recall of the basic and of the informed attack, a line for each trial.

    >>> sorted(attack_charts({}))
    ['basic-attack', 'informed-attack']
    """
    basic, informed = (_runs(lines, kind) for kind in ("basic", "informed"))
    return {"basic-attack": precision_chart(basic), "informed-attack": _in_gaps(informed)}


def _runs(lines: Mapping[str, PaymentTrial], kind: str) -> list[AttackRun]:
    return [
        AttackRun(attack="recipient", observer="notified", policy=name, draw=0, scores=getattr(trial, kind))
        for name, trial in lines.items()
    ]


def _in_gaps(runs: Sequence[AttackRun]) -> Chart:
    """Points named by the multiple of each address's own gap: in seconds a cutoff would be nobody's."""
    chart = precision_chart(runs)
    multiples = [score.multiple for score in runs[0].scores] if runs else []
    settings = ["1 gap" if multiple == 1 else f"{multiple:g} gaps" for multiple in multiples]
    layers: list[Any] = chart.layer
    for layer in layers:
        for row in layer.data.values:
            # Claims grow with the multiple, so the place of a point is that of its multiple.
            setting = settings[row["place"]]
            row.update({key: setting for key in ("cutoff", "text") if key in row})
    return chart


def delay_chart(lines: Mapping[str, PaymentTrial]) -> Chart:
    """How many batched payments wait at most how long.

    >>> trial = PaymentTrial(basic=(), informed=(), delays=np.array([60, 600]))
    >>> delay_chart({"epsilon 1": trial}).data.values[0]["line"]
    'epsilon 1'
    """
    rows = [
        {"line": name, "delay": float(np.quantile(trial.delays, part)), "share": part}
        for name, trial in lines.items()
        for part in np.linspace(0.01, 0.99, 50).tolist()
    ]
    longest = max(float(row["delay"]) for row in rows)
    return line_chart(
        rows,
        x=("delay", duration_axis("delay of batched payments", longest, unit=60)),
        y=("share", percent_axis("payments that wait at most this long")),
    )
