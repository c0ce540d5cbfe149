"""The tables of a report: the same figures as the charts beside them."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from tarry.study.advice import Advice
from tarry.study.audit import Report
from tarry.study.batching import Measures
from tarry.study.charts import trades
from tarry.study.figures import factor, number, percent, points, seconds, shown_names
from tarry.study.person import Calls
from tarry.study.report.markup import Html, table
from tarry.study.runs import AttackRun, Cost, spread, spread_percent

__all__ = [
    "activity_table",
    "choices_table",
    "costs_table",
    "gaps_table",
    "lines_table",
    "people_table",
    "posterior_table",
    "rates_table",
    "scores_table",
]


def gaps_table(measures: Measures) -> Html:
    """Percentiles of the gaps.

    >>> from tarry.study.batching import measure
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5_000_000, 99_000_000])
    >>> "<td>1m34s</td>" in gaps_table(measure(table, window=300_000_000))
    True
    """
    inside, between = measures.in_batch_gaps_s, measures.null_gaps_s
    rows = [
        [f"{part} %", _length(inside.get(part)), _length(between.get(part))]
        for part in sorted({*inside, *between})
    ]
    header = ["of the gaps", "one person, inside a batch", "one act to the next, different people"]
    return table("Gaps are at most this long", header, rows)


def rates_table(measures: Measures) -> Html:
    """Percentiles of the people's own rates of batching.

    >>> from tarry.study.batching import measure
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5_000_000, 99_000_000])
    >>> "<td>100.0\N{NO-BREAK SPACE}%</td>" in rates_table(measure(table, window=300_000_000))
    True
    """
    rows = [[f"{part} %", percent(rate)] for part, rate in measures.actor_rates.items()]
    header = ["of the people", "have at most this part of their moves within the window"]
    return table("Rates of batching over people", header, rows)


def posterior_table(report: Report) -> Html:
    """How sure an observer can be.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5_000_000, 9_000_000_000])
    >>> "<td>50.0\N{NO-BREAK SPACE}%</td>" in posterior_table(audit(table, Question(practices=[])))
    True
    """
    rows = [
        [str(one.suspects), percent(1 / one.suspects), percent(one.batched), percent(one.unbatched)]
        for one in report.posteriors
    ]
    header = [
        "people who could be it",
        "before anything is seen",
        "two acts together: both are one person's",
        "two acts apart: the likeliest other",
    ]
    return table("How sure an observer can be", header, rows)


def scores_table(runs: Sequence[AttackRun]) -> Html:
    """Every cutoff of every practice, of one attack and observer; means over the draws.

    >>> from tarry.study.score import Counts, Score
    >>> counts = Counts(true_positives=3, false_positives=1, false_negatives=0, true_negatives=9)
    >>> scores = [Score(cutoff=60_000_000, counts=counts)]
    >>> run = AttackRun(attack="cutoff", observer="notified", policy="nothing", draw=0, scores=scores)
    >>> "<td>75.0\N{NO-BREAK SPACE}%</td>" in scores_table([run])
    True
    """
    names = shown_names([run.policy for run in runs])
    bounded = any(score.power_bound is not None for run in runs for score in run.scores)
    one = len(names) == 1  # then its name need not stand in every row
    rows = [
        cells if one else [name, *cells]
        for policy, name in names.items()
        for cells in _score_rows([run for run in runs if run.policy == policy], bounded=bounded)
    ]
    header = ["practice"] * (not one) + [
        "cutoff",
        "claims",
        "one person's",
        "batched",
        "found",
        "false alarms",
    ]
    draws = len({run.draw for run in runs})
    caption = "Claims at each cutoff" + (
        f"; means over {draws} draws, ranges in brackets" if draws > 1 else ""
    )
    return table(caption, header + ["bound for one pair"] * bounded, rows)


def lines_table(report: Report, observer: str, attack: str) -> Html:
    """What each practice costs and buys, numbered as in the chart of the trade.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report = audit(table, Question(practices=["nothing"]))
    >>> "1. nothing</th>" in lines_table(report, "notified", "cutoff")
    True
    """
    lines = [line for line in report.lines if (line.observer, line.attack) == (observer, attack)]
    rows = [
        [
            f"{point.number}. {point.name}",
            seconds(line.mean_s),
            line.right_words,
            percent(line.reference),
            points(line.excess),
            factor(line.lift),
            spread_percent(line.precision),
            spread_percent(line.average_precision),
            spread_percent(line.crossover),
            spread_percent(line.recall),
        ]
        for point, line in zip(trades(report, observer=observer, attack=attack), lines, strict=True)
    ]
    buys = ["one person's, finding a tenth", "reference", "excess", "lift", "batched", "average precision"]
    header = ["practice", "mean delay", *buys, "error crossover", "recall while half are right"]
    return table("What each practice costs and buys", header, rows)


def people_table(runs: Sequence[AttackRun]) -> Html:
    """Whom the claims of one attack and observer are about; nothing where nobody asked.

    >>> people_table([])
    ''
    """
    calls = _calls_by_name(runs)
    rows = [
        [
            *(name, f"{100 * confidence:g} %", f"{number(one.called)} of {number(one.people)}"),
            *(percent(one.top_share), percent(one.top_ten_share), percent(one.mean_right)),
        ]
        for name, found in calls.items()
        for confidence, one in found.items()
    ]
    header = ["practice", "confidence", "people with such a pair", "one person has", "ten people have"]
    header.append("claims are right, mean over people")
    caption = (
        "People with a pair so close that claims are right with this confidence, and who has most pairs"
    )
    return table(caption, header, rows) if rows else Html()


def activity_table(runs: Sequence[AttackRun]) -> Html:
    """How many people have a pair that can be linked, by how active they are; nothing where nobody asked.

    >>> activity_table([])
    ''
    """
    columns = {
        f"{name}, {100 * confidence:g} %": one
        for name, found in _calls_by_name(runs).items()
        for confidence, one in found.items()
    }
    sizes = next((one.sizes for one in columns.values()), ())
    rows = [
        [
            f"{size.least:,}"
            if size.least == size.most
            else f"{size.least:,} or more"
            if size.most is None
            else f"{size.least:,} to {size.most:,}",
            number(size.people),
            *(number(one.sizes[place].called) for one in columns.values()),
        ]
        for place, size in enumerate(sizes)
        if size.people
    ]
    return (
        table("The same people by how many acts they have", ["acts", "people", *columns], rows)
        if rows
        else Html()
    )


def _calls_by_name(runs: Sequence[AttackRun]) -> dict[str, Mapping[float, Calls]]:
    names = shown_names([run.policy for run in runs])
    return {names[run.policy]: run.people.calls for run in runs if run.people.calls}


def costs_table(report: Report) -> Html:
    """How long people wait, what waiting does to the order, and how much of the promise is used up.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> "1m1s" in costs_table(audit(table, Question(practices=["end"])))
    True
    """
    names = shown_names([cost.policy for cost in report.costs])
    spent = any(cost.spent is not None for cost in report.costs)
    rows = [
        _cost_row(name, [cost for cost in report.costs if cost.policy == policy], spent=spent)
        for policy, name in names.items()
    ]
    header = [
        "practice",
        "mean delay",
        "half wait at most",
        "95 of 100 wait at most",
        "longest",
        "reordered",
        "half reply within",
    ]
    used = ["most epsilon used on one person", "people beyond the promise"] * spent
    return table("What each practice costs", header + used, rows)


def choices_table(advice: Advice) -> Html:
    """What was tried before recommending, numbered as in the chart of the trade.

    >>> advice = Advice(learned_on=1, measured_on=3, before=0.5, right_before=0.6, choices=(), best=None)
    >>> "<td>50.0\N{NO-BREAK SPACE}%</td>" in choices_table(advice)
    True
    """
    nothing, *tried = trades(advice)
    now = [advice.right_words, "-", "-", percent(advice.before), "-", _length(advice.reply_before_s)]
    rows = [[f"1. {nothing.name}", "0s", "0s", *now]]
    for point, choice in zip(tried, advice.choices, strict=True):
        rows.append(
            [
                f"{point.number}. {point.name}"
                + (" (recommended)" if point.best else " (a tie)" if choice in advice.tied else ""),
                seconds(choice.mean_s),
                seconds(choice.longest_s),
                choice.right_words,
                percent(choice.reference),
                points(choice.excess),
                percent(choice.precision),
                percent(choice.reordered),
                _length(choice.reply_s),
            ]
        )
    header = ["policy", "mean delay", "longest", "one person's, finding a tenth", "reference", "excess"]
    header += ["batched", "reordered", "half reply within"]
    best = next((place for place, point in enumerate(tried, start=1) if point.best), -1)
    return table("Policies that were tried", header, rows, marked=best)


def _score_rows(runs: Sequence[AttackRun], *, bounded: bool) -> list[list[str]]:
    """A row for each cutoff; every draw has the same ones in the same order."""
    rows = []
    for drawn in zip(*(run.scores for run in runs), strict=True):
        counts = [score.counts for score in drawn]
        row = [
            seconds(drawn[0].cutoff_s),
            number(fmean(one.claims for one in counts)),
            _shares([score.right_person for score in drawn]),
            _shares([one.precision for one in counts]),
            _shares([one.recall for one in counts]),
            _shares([one.false_positive_rate for one in counts]),
        ]
        rows.append(row + [_shares([score.power_bound for score in drawn])] * bounded)
    return rows


def _cost_row(name: str, costs: Sequence[Cost], *, spent: bool) -> list[str]:
    row = [
        name,
        seconds(fmean(cost.mean_s for cost in costs)),
        seconds(fmean(cost.median_s for cost in costs)),
        seconds(fmean(cost.high_s for cost in costs)),
        seconds(max(cost.longest_s for cost in costs)),
        _shares([cost.reordered for cost in costs]),
        _length(None if costs[0].reply_s is None else fmean(cost.reply_s or 0.0 for cost in costs)),
    ]
    if not spent:
        return row
    used = [cost.spent for cost in costs if cost.spent is not None]
    if not used:
        return [*row, "-", "-"]
    return [*row, f"{max(each.most_nats for each in used):.3g}", number(max(each.actors for each in used))]


def _shares(values: Sequence[float | None]) -> str:
    return spread_percent(spread(values))


def _length(value: float | None) -> str:
    return "-" if value is None else seconds(value)
