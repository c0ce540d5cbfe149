"""What a script is given, what it finds, and how that is shown.

Given: settings and real tables. Found: sentences, tables and charts of lines and dots, on one page.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import altair as alt

from tarry.core.errors import require
from tarry.readers.columns import Columns
from tarry.readers.files import read_history
from tarry.study.charts.style import SERIES, chart_svg, hints, line_style, plot, styled
from tarry.study.report.markup import Html, el, figure, inline_svg, items, table, whole_page
from tarry.study.table import EventTable, table_of

__all__ = [
    "Finding",
    "RunSettings",
    "Table",
    "TableRows",
    "findings_page",
    "line_chart",
    "number_axis",
    "people_of",
    "real_tables",
    "tabled",
]

BOTS = {"is_bot", "bot"}  # columns that mark them
PAGE_TITLE = "Batching and privacy: the paper, reproduced"

Cell = str | int | float | None
TableRows = Iterator[Sequence[Cell]]
Chart = alt.LayerChart
Step = TypeVar("Step")
P = ParamSpec("P")


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The settings of a run.

    >>> RunSettings().seed
    0
    """

    seed: int = 0  # of everything made up or drawn
    data: Path | None = None  # a folder of real event tables, or one of them; None: made-up ones alone
    tiny: bool = False  # prove that it runs; the figures mean nothing
    progress: Callable[[int, int], None] | None = None  # called with (done, all) during long work

    def steps(self, work: Collection[Step]) -> Iterator[Step]:
        """The parts of a long work one by one; progress is told when each is done.

        >>> list(RunSettings(progress=print).steps(["a", "b"]))
        1 2
        2 2
        ['a', 'b']
        """
        for done, step in enumerate(work, start=1):
            yield step
            if self.progress is not None:
                self.progress(done, len(work))


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table as it is printed: a header and rows of texts and numbers.

    >>> Table(title="two", header=("a",), rows=((1,), (2,))).column("a")
    [1, 2]
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def column(self, name: str) -> list[Cell]:
        """One column by its name."""
        return [record[name] for record in self.records()]

    def records(self) -> list[dict[str, Any]]:
        """The rows by the names of the header: what charts and sentences take.

        >>> Table(title="two", header=("a", "b"), rows=((1, 2),)).records()
        [{'a': 1, 'b': 2}]
        """
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


def tabled(title: str, *header: str) -> Callable[[Callable[P, TableRows]], Callable[P, Table]]:
    """Make a table of the rows that a function yields.

    >>> @tabled("Squares", "number", "square")
    ... def squares(end):
    ...     for number in range(end):
    ...         yield number, number**2
    >>> squares(3).column("square")
    [0, 1, 4]
    """

    def made_of(rows: Callable[P, TableRows]) -> Callable[P, Table]:
        return lambda *given, **named: Table(title=title, header=header, rows=list(rows(*given, **named)))

    return made_of


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one script.

    >>> Finding(name="queue", title="The queue", says=["It keeps order."]).tables
    {}
    """

    name: str  # of the script, and of the files written
    title: str
    says: Sequence[str]  # what it shows, in sentences; where the paper is wrong, how and by how much
    tables: Mapping[str, Table] = field(default_factory=dict)
    charts: Mapping[str, Chart] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Everything but the pictures, as plain values."""
        return {
            "name": self.name,
            "title": self.title,
            "says": list(self.says),
            "tables": {
                name: {
                    "title": table.title,
                    "header": list(table.header),
                    "rows": [list(row) for row in table.rows],
                }
                for name, table in self.tables.items()
            },
        }


def real_tables(settings: RunSettings, *names: str) -> dict[str, Columns]:
    """The tables of these names in the data folder of a run; or its one file, whatever the name.

    >>> real_tables(RunSettings(), "dao_votes")
    {}
    """
    if settings.data is None:
        return {}
    data = Path(settings.data)
    if data.is_dir():
        matches = {name: sorted(data.glob(f"{name}.*")) for name in names}
        return {name: read_history(files[0]) for name, files in matches.items() if files}
    require(data.exists(), f"there is no {data.name}", "give a folder of event tables, or one of them")
    return {data.stem: read_history(data)}


def people_of(columns: Columns) -> EventTable:
    """The events of a history; bots are left out where they are marked.

    >>> from tarry.readers.events import Event
    >>> from tarry.readers.frames import read_events
    >>> len(people_of(read_events([Event("ann", "p 1", 5), Event("ann", "p 2", 6)])))
    2
    """
    return table_of(columns, bots=not BOTS & set(columns.frame.columns))


# --- charts and the page --------------------------------------------------------------------------

Rows = Sequence[Mapping[str, Any]]
#: The name of a number in the rows, and its axis and scale.
Axis = tuple[str, Mapping[str, Any]]


def line_chart(
    rows: Rows, *, x: Axis, y: Axis, dots: Rows = (), series: Sequence[str] = SERIES, clip: bool = False
) -> Chart:
    """A line for each value of `line` in the rows, and dots of the same colours on top.

    With `clip`, lines end where the axes do.

    >>> rows = [{"line": "ours", "a": 1, "b": 2}]
    >>> line_chart(rows, x=("a", {}), y=("b", {}), dots=rows).layer[1].data.values
    [{'line': 'ours', 'a': 1, 'b': 2}]
    """
    names = list(dict.fromkeys(row["line"] for row in (*rows, *dots)))
    style = line_style(names, series)
    (across, across_axis), (up, up_axis) = x, y
    both = {
        "x": alt.X(f"{across}:Q", **across_axis),
        "y": alt.Y(f"{up}:Q", **up_axis),
        "tooltip": hints("line:N", f"{across}:Q", f"{up}:Q"),
    }
    layers = [plot(rows).mark_line(strokeWidth=2, clip=clip).encode(color=style["color"], **both)]
    if dots:
        layers.append(plot(dots).mark_point(filled=True, size=45, opacity=1).encode(**style, **both))
    return styled(*layers, rows_of_legend=len(names))


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


def findings_page(findings: Sequence[Finding], stamp: Mapping[str, Any]) -> str:
    """The page of some findings, stamped with what gives them again.

    >>> finding = Finding(name="queue", title="The queue", says=["It keeps order."])
    >>> "It keeps order." in findings_page([finding], {"seed": 0})
    True
    """
    made = ", ".join(f"{name} {value}" for name, value in stamp.items())
    contents = items("ul", [el("a", finding.title, href=f"#{finding.name}") for finding in findings])
    head = el("header", el("h1", PAGE_TITLE), el("p", f"Made with {made}.", class_="lead"))
    return whole_page(PAGE_TITLE, head, el("nav", contents), *(_section(finding) for finding in findings))


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
        *(
            table(one.title, list(one.header), [[_text(cell) for cell in row] for row in one.rows])
            for one in finding.tables.values()
        ),
        el("p", f"tarry reproduce {finding.name}", class_="small"),
        id=finding.name,
    )


def _text(cell: Cell) -> str:
    """Numbers with as many digits as one reads."""
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
