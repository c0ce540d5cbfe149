"""How charts look and become pictures: few colours, one font, axes in words, as wide as a phone.

Pictures are SVG and PNG, drawn here, with nothing fetched from anywhere.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import log1p
from pathlib import Path
from typing import Any, Literal

import altair as alt
import vl_convert

from tarry.core.exact import format_duration

__all__ = [
    "DARK",
    "FONT",
    "LIGHT",
    "SERIES",
    "chart_png",
    "chart_svg",
    "duration_axis",
    "hints",
    "line_style",
    "nice_top",
    "note",
    "percent_axis",
    "plot",
    "styled",
    "write_charts",
]

#: Every colour of a chart, by what it is for.
LIGHT = {
    "paper": "#ffffff",
    "ink": "#1f2933",
    "faint": "#5b6876",
    "grid": "#e3e7ec",
    "vermilion": "#d55e00",
    "blue": "#0072b2",
    "green": "#00855f",
    "purple": "#9c4f88",
    "amber": "#b8860b",
    "sky": "#3d9fd6",
}
#: The same on a dark page.
DARK = {
    "paper": "#1c2128",
    "ink": "#e8ebef",
    "faint": "#a9b4c0",
    "grid": "#363e48",
    "vermilion": "#ff8d4d",
    "blue": "#5fb4ea",
    "green": "#45cf9f",
    "purple": "#dd9dca",
    "amber": "#e6bd4a",
    "sky": "#a5dbf8",
}
#: The colours of lines, in the order in which they are taken: told apart by colour-blind readers too.
SERIES = [LIGHT[name] for name in ("vermilion", "blue", "green", "purple", "amber", "sky")]
# These three are equally wide, letter by letter: what was laid out with one fits with another.
FONT = "Helvetica, Arial, Liberation Sans, sans-serif"

_SHARP = 3.0  # pixels for each unit of a chart
# Seven, and six colours: the second round differs from the first.
_SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right")
_WIDTH = 340  # of the whole picture: a phone's
_HEIGHT = 250
_LEGEND_ROW = 15
_TOPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_LADDER = (
    *(0, 1, 10, _MINUTE, 10 * _MINUTE, _HOUR, 6 * _HOUR),
    *(_DAY, 7 * _DAY, 30 * _DAY, 365 * _DAY),
)
_LEAST_STEP = 0.09  # of the axis, between two labels


def plot(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart of these rows, with nothing drawn yet.

    >>> plot([{"x": 1}]).data.values
    [{'x': 1}]
    """
    data = alt.Data(values=[dict(row) for row in rows])  # type: ignore[no-untyped-call]  # theirs
    return alt.Chart(data)


def styled(*layers: alt.Chart, rows_of_legend: int = 0) -> alt.LayerChart:
    """Layers on one another, in the house's look; a legend of many rows makes the picture taller.

    >>> styled(plot([]).mark_point(), rows_of_legend=2).width
    340
    """
    chart = alt.LayerChart(layer=list(layers)).properties(
        width=_WIDTH,
        height=_HEIGHT + _LEGEND_ROW * rows_of_legend,
        background=LIGHT["paper"],
        padding={"left": 2, "right": 8, "top": 4, "bottom": 2},
        autosize=alt.AutoSizeParams(type="fit", contains="padding"),
    )
    chart.config = _look()
    return chart


def _look() -> alt.Config:
    text: dict[str, Any] = {"labelColor": LIGHT["ink"], "titleColor": LIGHT["ink"], "labelFontSize": 12}
    return alt.Config(
        font=FONT,
        aria=False,  # the page describes the picture as a whole
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            **text,
            gridColor=LIGHT["grid"],
            domainColor=LIGHT["faint"],
            tickColor=LIGHT["faint"],
            titleFontSize=12,
            titleFontWeight="normal",
            labelFlush=False,
        ),
        axisY=alt.AxisConfig(titleAngle=0, titleAlign="left", titleAnchor="start", titleX=-38, titleY=-12),
        legend=alt.LegendConfig(
            **text,
            orient="bottom",
            direction="vertical",
            columns=1,
            title=None,
            labelLimit=300,
            symbolSize=70,
            symbolOpacity=1,
            rowPadding=1,
            offset=8,
        ),
    )


def percent_axis(title: str, top: float = 1.0) -> dict[str, Any]:
    """Axis and scale of a share from nothing to `top`.

    >>> percent_axis("people", 0.5)["scale"].to_dict()["domain"]
    [0, 0.5]
    """
    digits = max(0, -2 - int(f"{top / 5:e}".partition("e")[2]))
    label = f"format(100 * datum.value, '.{digits}f') + ' %'"
    return {
        "axis": alt.Axis(title=title, labelExpr=label, tickCount=5),
        "scale": alt.Scale(domain=[0, top], nice=False),
    }


def duration_axis(title: str, longest: float, unit: float) -> dict[str, Any]:
    """Axis and scale of seconds: even below `unit`, logarithmic above it, so that 0 has its place.

    >>> duration_axis("delay", longest=4000.0, unit=60)["axis"].values
    [0, 60, 600, 3600]
    """
    top = max(longest, 10.0 * unit)
    values: list[float] = []
    for value in _LADDER:
        far = not values or _place(value, unit) - _place(values[-1], unit) > _LEAST_STEP * _place(top, unit)
        if value <= top and (value == 0 or value >= unit) and far:
            values.append(value)
    words = {value: format_duration(Fraction(value)) for value in values}
    words_of_ticks = " : ".join(f"datum.value === {value} ? '{word}'" for value, word in words.items())
    return {
        "axis": alt.Axis(title=title, values=values, labelExpr=f"{words_of_ticks} : ''", grid=False),
        "scale": alt.Scale(type="symlog", constant=unit, domain=[0, top], nice=False),
    }


def hints(*fields: str) -> list[alt.Tooltip]:
    """The fields in the tooltip of a point, where a chart is interactive.

    >>> hints("cutoff:N")[0].shorthand
    'cutoff:N'
    """
    return [alt.Tooltip(field) for field in fields]


def line_style(names: Sequence[str], series: Sequence[str] = SERIES) -> dict[str, Any]:
    """A colour and a shape for each name, in their order; after the last colour they begin again.

    >>> line_style(["nothing", "ours"])["color"].to_dict()["scale"]["range"]
    ['#d55e00', '#0072b2']
    """
    colours = [series[place % len(series)] for place in range(len(names))]
    shapes = [_SHAPES[place % len(_SHAPES)] for place in range(len(names))]
    domain = list(names)
    return {
        "color": alt.Color("line:N", scale=alt.Scale(domain=domain, range=colours)),
        "shape": alt.Shape("line:N", scale=alt.Scale(domain=domain, range=shapes)),
    }


def nice_top(values: Sequence[float]) -> float:
    """The end of an axis of shares: the least round one that has room for all.

    >>> nice_top([0.03, 0.001]), nice_top([])
    (0.05, 1.0)
    """
    most = max(values, default=1.0)
    return next((top for top in _TOPS if most <= top), 1.0)


def note(
    rows: Sequence[Mapping[str, Any]],
    *,
    dx: int,
    dy: int = 0,
    align: Literal["left", "right"] = "left",
    halo: bool = False,
) -> alt.Chart:
    """The `text` of each row as a small label beside its point; a halo goes under the label.

    >>> note([{"text": "5m"}], dx=4).mark.dx
    4
    """
    small: dict[str, Any] = {"baseline": "middle", "fontSize": 11, "color": LIGHT["ink"]}
    if halo:  # keeps lines and points that run below from being read as a part of it
        small |= {"color": LIGHT["paper"], "stroke": LIGHT["paper"], "strokeWidth": 3}
    labels: alt.Chart = (
        plot(rows).mark_text(align=align, dx=dx, dy=dy, **small).encode(text=alt.Text("text:N"))
    )
    return labels


def chart_svg(chart: alt.LayerChart) -> str:
    """A chart as an SVG document.

    >>> chart = alt.layer(alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q"))
    >>> chart_svg(chart)[:4]
    '<svg'
    """
    return vl_convert.vegalite_to_svg(chart.to_dict(), allowed_base_urls=[])


def chart_png(chart: alt.LayerChart) -> bytes:
    r"""A chart as a PNG picture, sharp enough for print.

    >>> chart = alt.layer(alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q"))
    >>> chart_png(chart)[1:4]
    b'PNG'
    """
    return vl_convert.vegalite_to_png(chart.to_dict(), scale=_SHARP, allowed_base_urls=[])


def write_charts(charts: Mapping[str, alt.LayerChart], folder: str | Path) -> list[Path]:
    """Write name.svg and name.png of each chart into a folder, which is made; files there are replaced.

    >>> from tempfile import TemporaryDirectory
    >>> chart = alt.layer(alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q"))
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_charts({"gaps": chart}, folder)]
    ['gaps.svg', 'gaps.png']
    """
    base = Path(folder)
    base.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in charts.items():
        svg, png = base / f"{name}.svg", base / f"{name}.png"
        svg.write_text(chart_svg(chart), encoding="utf-8")
        png.write_bytes(chart_png(chart))
        written += [svg, png]
    return written


def _place(seconds: float, unit: float) -> float:
    """Where a duration stands on its axis."""
    return log1p(seconds / unit)
