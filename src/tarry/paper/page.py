"""One page with all that was found."""

from collections.abc import Mapping, Sequence
from typing import Any

from tarry.paper.finding import Cell, Finding, Table
from tarry.study.charts.style import chart_svg
from tarry.study.report.markup import Html, el, figure, inline_svg, items, table, whole_page

__all__ = ["findings_page"]

TITLE = "Batching and privacy: the paper, reproduced"


def findings_page(findings: Sequence[Finding], stamp: Mapping[str, Any]) -> str:
    """The page of some findings, stamped with what gives them again.

    >>> found = Finding(name="queue", title="The queue", says=["It keeps order."])
    >>> "It keeps order." in findings_page([found], {"seed": 0})
    True
    """
    made = ", ".join(f"{name} {value}" for name, value in stamp.items())
    contents = items("ul", [el("a", found.title, href=f"#{found.name}") for found in findings])
    head = el("header", el("h1", TITLE), el("p", f"Made with {made}.", class_="lead"))
    return whole_page(TITLE, head, el("nav", contents), *(_section(found) for found in findings))


def _section(found: Finding) -> Html:
    pictures = [
        figure(
            inline_svg(chart_svg(chart), f"{found.name}-{name}", f"Chart: {name}"), name.replace("-", " ")
        )
        for name, chart in found.charts.items()
    ]
    return el(
        "section",
        el("h2", found.title),
        items("ul", found.says),
        el("div", *pictures, class_="pair"),
        *(_table(one) for one in found.tables.values()),
        el("p", f"tarry reproduce {found.name}", class_="small"),
        id=found.name,
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
