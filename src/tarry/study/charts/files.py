"""Charts as pictures: SVG and PNG, drawn here, with nothing fetched from anywhere."""

from collections.abc import Mapping
from pathlib import Path

import altair as alt
import vl_convert

__all__ = ["chart_png", "chart_svg", "write_charts"]

_SHARP = 3.0  # pixels for each unit of the chart


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
