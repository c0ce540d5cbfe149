"""Curves: how people batch before anybody attacks, and how attacks fare.

Of attacks, precision over recall, and found pairs over false alarms.

Nothing is smoothed, sorted by height or made monotone: what was measured is what is drawn.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import altair as alt

from tarry.study.adoption import Adoption
from tarry.study.audit import Report
from tarry.study.batching import Measures
from tarry.study.charts.style import (
    LIGHT,
    SERIES,
    duration_axis,
    hints,
    line_style,
    nice_top,
    note,
    percent_axis,
    plot,
    styled,
)
from tarry.study.figures import seconds, shown_names
from tarry.study.runs import AttackRun

__all__ = [
    "adoption_chart",
    "gaps_chart",
    "posterior_chart",
    "precision_chart",
    "rates_chart",
    "roc_chart",
    "sought",
]


def gaps_chart(measures: Measures) -> alt.LayerChart:
    """How long gaps are: one person's inside a batch, and between different people.

    >>> from tarry.study.batching import measure
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5_000_000, 99_000_000])
    >>> gaps_chart(measure(table, window=300_000_000)).layer[0].data.values[0]["gap"]
    5.0
    """
    curves = {
        "one person, inside a batch": measures.in_batch_curve_s,
        "one act to the next, different people": measures.null_curve_s,
    }
    rows = [
        {"line": name, "gap": value, "share": percent / 100, "length": seconds(value)}
        for name, curve in curves.items()
        for percent, value in curve.items()
    ]
    window = measures.window / 1e6
    longest = max([window, *(value for curve in curves.values() for value in curve.values())])
    x = alt.X("gap:Q", **duration_axis("gap", longest, unit=1))
    y = alt.Y("share:Q", **percent_axis("gaps that are at most this long"))
    style = line_style(list(curves))
    mark = [{"gap": window, "share": 0.04, "text": f"window {seconds(window)}"}]
    rule = plot(mark).mark_rule(strokeDash=[4, 3], color=LIGHT["faint"])
    lines = (
        plot(rows)
        .mark_line(strokeWidth=2)
        .encode(x=x, y=y, color=style["color"], tooltip=hints("line:N", "length:N", "share:Q"))
    )
    return styled(lines, rule.encode(x=x), note(mark, dx=5).encode(x=x, y=y), rows_of_legend=2)


def rates_chart(measures: Measures) -> alt.LayerChart:
    """How much people differ: the rate of batching at each percentile of the actors.

    >>> from tarry.study.batching import measure
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5_000_000, 99_000_000])
    >>> rates_chart(measure(table, window=300_000_000)).data.values[0]["rate"]
    1.0
    """
    rows = [{"part": percent / 100, "rate": rate} for percent, rate in measures.actor_rates.items()]
    x = alt.X("part:Q", **percent_axis("people, from those who batch least"))
    y = alt.Y("rate:Q", **percent_axis("their moves that are within the window"))
    base = plot(rows).encode(x=x, y=y, tooltip=hints("part:Q", "rate:Q"))
    colour = LIGHT["blue"]
    return styled(
        base.mark_line(strokeWidth=2, color=colour),
        base.mark_point(filled=True, size=45, color=colour, opacity=1),
    )


def posterior_chart(report: Report) -> alt.LayerChart:
    """How sure two acts make an observer, for several numbers of suspects; empty where not known.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5_000_000, 9_000_000_000])
    >>> len(posterior_chart(audit(table, Question(practices=[]))).data.values)
    15
    """
    lines = {
        "two acts together: both are one person's": "batched",
        "two acts apart: the likeliest other": "unbatched",
        "before anything is seen": "before",
    }
    rows = [
        {"line": name, "suspects": one.suspects, "chance": {**vars(one), "before": 1 / one.suspects}[key]}
        for one in report.posteriors
        for name, key in lines.items()
    ]
    known = [one.suspects for one in report.posteriors]
    scale = alt.Scale(type="log", domain=[min(known, default=2), max(known, default=50)], nice=False)
    x = alt.X("suspects:Q", scale=scale, axis=alt.Axis(title="people who could be it", values=known))
    y = alt.Y("chance:Q", **percent_axis("how sure an observer can be"))
    style = line_style(list(lines), (*SERIES[:2], LIGHT["faint"]))
    base = plot(rows).encode(
        x=x, y=y, color=style["color"], tooltip=hints("line:N", "suspects:Q", "chance:Q")
    )
    points = base.mark_point(filled=True, size=45, opacity=1).encode(shape=style["shape"])
    return styled(base.mark_line(strokeWidth=2), points, rows_of_legend=3)


def adoption_chart(found: Adoption) -> alt.LayerChart:
    """How often claims are right, over the share of people who take part: about them, and the others.

    Strokes reach from the least to the most over the draws.

    >>> from tarry.study.adoption import AdoptionPoint
    >>> from tarry.study.runs import spread
    >>> rights = {name: spread([0.2, 0.3]) for name in ("right", "right_adopters", "right_others")}
    >>> point = AdoptionPoint(share=0.5, adopters=2, others=2, **rights)
    >>> len(adoption_chart(Adoption(practice="mine", points=(point,))).data.values)
    3
    """
    lines = {
        "claims about those who take part": "right_adopters",
        "claims about the others": "right_others",
        "all claims": "right",
    }
    rows = [
        {"line": name, "part": point.share, "right": right.mean, "low": right.low, "high": right.high}
        for point in found.points
        for name, key in lines.items()
        if (right := getattr(point, key)) is not None
    ]
    x = alt.X("part:Q", **percent_axis("people who take part"))
    y = alt.Y(
        "right:Q", **percent_axis("claims right about the person", nice_top([row["high"] for row in rows]))
    )
    style = line_style(list(lines), (*SERIES[:2], LIGHT["faint"]))
    base = plot(rows).encode(x=x, y=y, color=style["color"], tooltip=hints("line:N", "part:Q", "right:Q"))
    points = base.mark_point(filled=True, size=45, opacity=1).encode(shape=style["shape"])
    ranges = base.mark_rule(strokeWidth=1.5, opacity=0.8).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    return styled(base.mark_line(strokeWidth=2), ranges, points, rows_of_legend=3)


# Labels nearer to each other than this part of either axis would run into one another.
_NEAR = 0.07
_Row = dict[str, Any]


def precision_chart(runs: Sequence[AttackRun]) -> alt.LayerChart:
    """Precision over recall, a line for each draw of each practice; the cutoffs of the first are named.

    The runs are those of one attack and one observer.

    >>> from tarry.study.score import Counts, Score
    >>> counts = Counts(true_positives=1, false_positives=1, false_negatives=0, true_negatives=9)
    >>> scores = [Score(cutoff=60_000_000, counts=counts)]
    >>> run = AttackRun(attack="cutoff", observer="notified", policy="nothing", draw=0, scores=scores)
    >>> precision_chart([run]).layer[0].data.values[0]["precision"]
    0.5
    """
    rows = [row for row in _curve_rows(runs) if row["precision"] is not None and row["recall"] is not None]
    top = nice_top([row["precision"] for row in rows])
    x = alt.X("recall:Q", **percent_axis(f"{sought(runs)} that are found (recall)"))
    y = alt.Y("precision:Q", **percent_axis("claims that are right (precision)", top))
    return _curves(rows, runs, x, y, [label.encode(x=x, y=y) for label in _cutoff_labels(rows, top)])


def roc_chart(runs: Sequence[AttackRun]) -> alt.LayerChart:
    """Linked pairs found over false alarms, on a logarithmic axis, with the line of pure chance.

    Points without a single false alarm have no place on such an axis and are left out.

    >>> from tarry.study.score import Counts, Score
    >>> counts = Counts(true_positives=1, false_positives=1, false_negatives=0, true_negatives=9)
    >>> scores = [Score(cutoff=60_000_000, counts=counts)]
    >>> run = AttackRun(attack="cutoff", observer="notified", policy="nothing", draw=0, scores=scores)
    >>> roc_chart([run]).to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    [0.1, 1]
    """
    rows = [row for row in _curve_rows(runs) if row["alarms"] and row["recall"] is not None]
    least = min((row["alarms"] for row in rows), default=0.1)
    decades = -int(f"{least:e}".partition("e")[2])
    others = f"other {sought(runs).rpartition(' ')[2]}"
    axis = alt.Axis(
        title=f"{others} claimed all the same (false alarms)",
        labelExpr="format(100 * datum.value, '~g') + ' %'",
        values=[10.0**-place for place in range(0, decades + 1, 1 if decades < 5 else 2)],
    )
    x = alt.X("alarms:Q", axis=axis, scale=alt.Scale(type="log", domain=[10.0**-decades, 1], nice=False))
    y = alt.Y("recall:Q", **percent_axis(f"{sought(runs)} that are found (recall)"))
    more = [layer.encode(x=x) for layer in (*_chance(decades, y), *_bound(rows, runs))]
    return _curves(rows, runs, x, y, more)


def sought(runs: Sequence[AttackRun]) -> str:
    """What the attack of these runs looks for.

    >>> sought([])
    'linked pairs'
    """
    return next((run.seeks for run in runs), "linked pairs")


def _chance(decades: int, y: alt.Y) -> list[alt.Chart]:
    """Where claims fall on linked and other pairs alike: bent, because the axis is logarithmic."""
    steps = [10.0 ** (-decades * part / 60) for part in range(61)]
    line = plot([{"alarms": step, "recall": step} for step in steps]).mark_line(
        strokeDash=[4, 3], strokeWidth=1.5, color=LIGHT["faint"]
    )
    named = note([{"alarms": 1, "recall": 0.04, "text": "chance"}], align="right", dx=-2)
    return [line.encode(y=y), named.encode(y=y)]


def _bound(rows: Sequence[_Row], runs: Sequence[AttackRun]) -> list[alt.Chart]:
    """The most that a promise lets anybody find, dotted; where there is such a bound."""
    bounded = [row for row in rows if row["bound"] is not None and row["draw"] == 0]
    if not bounded:
        return []
    line = plot(bounded).mark_line(strokeDash=[1, 3], strokeWidth=2)
    return [
        line.encode(y=alt.Y("bound:Q"), color=line_style(_names(runs))["color"], order=alt.Order("place:Q"))
    ]


def _curve_rows(runs: Sequence[AttackRun]) -> list[_Row]:
    """One row for each score, in the order of the claims; names as they may be shown."""
    names = shown_names([run.policy for run in runs])
    return [
        {
            "line": names[run.policy],
            "draw": run.draw,
            "place": place,
            "cutoff": seconds(score.cutoff_s),
            "precision": score.counts.precision,
            "recall": score.counts.recall,
            "alarms": score.counts.false_positive_rate,
            "bound": score.power_bound,
        }
        for run in runs
        for place, score in enumerate(sorted(run.scores, key=lambda one: (one.counts.claims, one.cutoff)))
    ]


def _names(runs: Sequence[AttackRun]) -> list[str]:
    return list(shown_names([run.policy for run in runs]).values())


def _curves(
    rows: list[_Row], runs: Sequence[AttackRun], x: alt.X, y: alt.Y, more: Sequence[alt.Chart]
) -> alt.LayerChart:
    """A line for each draw; with several draws the lines are thin, and only the first has points."""
    names = _names(runs)
    style = line_style(names)
    many = any(row["draw"] for row in rows)
    behind = rows[::-1]  # what is drawn last lies on top: the first practice
    line = plot(behind).mark_line(strokeWidth=1 if many else 2, opacity=0.6 if many else 1)
    first = plot([row for row in behind if row["draw"] == 0])
    points = first.mark_point(filled=True, size=45, opacity=1).encode(
        x=x, y=y, **style, tooltip=hints("line:N", "cutoff:N", "precision:Q", "recall:Q", "alarms:Q")
    )
    lines = line.encode(
        x=x, y=y, color=style["color"], detail=alt.Detail("draw:N"), order=alt.Order("place:Q")
    )
    return styled(lines, points, *more, rows_of_legend=len(names))


def _cutoff_labels(rows: Sequence[_Row], top: float) -> list[alt.Chart]:
    """The cutoffs of the first line, as far as there is room: above it, or below where it rises."""
    first = [row for row in rows if (row["line"], row["draw"]) == (rows[0]["line"], rows[0]["draw"])]
    labels: list[_Row] = []
    for row, later in zip_longest(first, first[1:]):
        crowded = any(
            abs(row["recall"] - one["recall"]) < 2 * _NEAR
            and abs(row["precision"] - one["precision"]) < _NEAR * top
            for one in labels
        )
        late = row["recall"] > 0.5
        rises = later is not None and later["precision"] > row["precision"]
        side = "before" if late else "below" if rises else "after"
        if not crowded:
            labels.append({**row, "text": row["cutoff"], "side": side})
    sides: dict[str, dict[str, Any]] = {
        "before": {"align": "right", "dx": -6, "dy": -8},
        "below": {"dx": 6, "dy": 7},
        "after": {"dx": 5, "dy": -8},
    }
    return [
        note([row for row in labels if row["side"] == side], **place, halo=halo)
        for halo in (True, False)
        for side, place in sides.items()
    ]
