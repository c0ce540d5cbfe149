"""Charts of how people batch, before anybody attacks."""

import altair as alt

from tarry.study.audit import Report
from tarry.study.batching import Measures
from tarry.study.charts.style import (
    LIGHT,
    SERIES,
    duration_axis,
    hints,
    line_style,
    note,
    percent_axis,
    plot,
    styled,
)
from tarry.study.figures import seconds

__all__ = ["gaps_chart", "posterior_chart", "rates_chart"]


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
    base = plot(rows)
    lines = base.mark_line(strokeWidth=2).encode(
        x=x, y=y, color=style["color"], tooltip=hints("line:N", "length:N", "share:Q")
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
