"""How findings are shown: lines and dots on one pair of axes, and one page with everything."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from tarry.paper.finding import Cell, Finding, Table
from tarry.study.charts.style import SERIES, chart_svg, hints, line_style, plot, styled
from tarry.study.report.markup import Html, el, figure, inline_svg, items, table, whole_page

__all__ = ["findings_page", "line_chart", "number_axis"]


Rows = Sequence[Mapping[str, Any]]


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
    tooltip = hints("line:N", str(x.shorthand), str(y.shorthand))
    lines = plot(rows).mark_line(strokeWidth=2).encode(x=x, y=y, color=style["color"], tooltip=tooltip)
    points = plot(dots).mark_point(filled=True, size=45, opacity=1)
    layers = [lines, points.encode(x=x, y=y, **style, tooltip=tooltip)]
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


TITLE = "Batching and privacy: the paper, reproduced"


def findings_page(findings: Sequence[Finding], stamp: Mapping[str, Any]) -> str:
    """The page of some findings, stamped with what gives them again.

    >>> finding = Finding(name="queue", title="The queue", says=["It keeps order."])
    >>> "It keeps order." in findings_page([finding], {"seed": 0})
    True
    """
    made = ", ".join(f"{name} {value}" for name, value in stamp.items())
    contents = items("ul", [el("a", finding.title, href=f"#{finding.name}") for finding in findings])
    head = el("header", el("h1", TITLE), el("p", f"Made with {made}.", class_="lead"))
    return whole_page(TITLE, head, el("nav", contents), *(_section(finding) for finding in findings))


def _section(finding: Finding) -> Html:
    pictures = [
        figure(
            inline_svg(chart_svg(chart), f"{finding.name}-{name}", f"Chart: {name}"), name.replace("-", " ")
        )
        for name, chart in finding.charts.items()
    ]
    return el(
        "section",
        el("h2", finding.title),
        items("ul", finding.says),
        el("div", *pictures, class_="pair"),
        *(_table(one) for one in finding.tables.values()),
        el("p", f"tarry reproduce {finding.name}", class_="small"),
        id=finding.name,
    )


def _table(one: Table) -> Html:
    return table(one.title, list(one.header), [[_text(cell) for cell in row] for row in one.rows])


def _text(cell: Cell) -> str:
    """Numbers with as many digits as one reads."""
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
