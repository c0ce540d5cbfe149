"""Lines and dots on one pair of axes, and tables as the rows they are drawn from."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from tarry.paper.finding import Table
from tarry.study.charts.style import SERIES, hints, line_style, plot, styled

__all__ = ["line_chart", "number_axis", "records"]

Rows = Sequence[Mapping[str, Any]]


def records(table: Table) -> list[dict[str, Any]]:
    """The rows of a table by the names of its header: what charts and sentences take.

    >>> records(Table(title="two", header=("a", "b"), rows=((1, 2),)))
    [{'a': 1, 'b': 2}]
    """
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def line_chart(
    rows: Rows, *, x: alt.X, y: alt.Y, dots: Rows = (), series: Sequence[str] = SERIES
) -> alt.LayerChart:
    """A line for each value of `line` in the rows, and dots of the same colours on top.

    >>> rows = [{"line": "ours", "a": 1, "b": 2}]
    >>> line_chart(rows, x=alt.X("a:Q"), y=alt.Y("b:Q"), dots=rows).layer[1].data.values
    [{'line': 'ours', 'a': 1, 'b': 2}]
    """
    names = list(dict.fromkeys(row["line"] for row in (*rows, *dots)))
    style = line_style(names, series)
    told = hints("line:N", str(x.shorthand), str(y.shorthand))
    lines = plot(rows).mark_line(strokeWidth=2).encode(x=x, y=y, color=style["color"], tooltip=told)
    points = plot(dots).mark_point(filled=True, size=45, opacity=1)
    layers = [lines, points.encode(x=x, y=y, **style, tooltip=told)]
    return styled(*(layers if dots else layers[:1]), rows_of_legend=len(names))


def number_axis(
    title: str, low: float, high: float, *, log: bool = False, values: Sequence[float] = ()
) -> dict[str, Any]:
    """Axis and scale of plain numbers.

    >>> number_axis("epsilon", 0, 8)["scale"].to_dict()["domain"]
    [0, 8]
    """
    inside = [value for value in values if low <= value <= high]
    marks: dict[str, Any] = {"values": inside} if inside else {"tickCount": 5}
    return {
        "axis": alt.Axis(title=title, labelExpr="format(datum.value, '.6~g')", **marks),
        "scale": alt.Scale(type="log" if log else "linear", domain=[low, high], nice=False, clamp=True),
    }
