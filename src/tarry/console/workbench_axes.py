"""How the charts of the workbench are laid out: lines that can be told apart, and axes in words."""

from math import ceil
from typing import Any

import altair as alt

from tarry.core.durations import format_duration
from tarry.study.charts.style import LIGHT

__all__ = ["Look", "even_axis", "own_legends", "room"]

_STEPS_S = (
    *(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600),
    *(2 * 3600, 4 * 3600, 6 * 3600, 12 * 3600, 86_400, 2 * 86_400, 5 * 86_400),
    *(10 * 86_400, 20 * 86_400, 50 * 86_400, 100 * 86_400, 200 * 86_400),
)
_TICKS = 6
_LEGEND = alt.Legend(symbolSize=400, symbolStrokeWidth=2)  # long enough to show a dash


class Look:
    """A colour and a dash for each name: either tells the lines apart.

    >>> Look(["a", "b"], ("blue", "green"), ([1, 0], [2, 3])).colour.to_dict()["scale"]["range"]
    ['#0072b2', '#00855f']
    """

    def __init__(self, names: list[str], colours: tuple[str, ...], dashes: tuple[list[int], ...]) -> None:
        scale = alt.Scale(domain=names, range=[LIGHT[colour] for colour in colours])
        dash = alt.Scale(domain=names, range=list(dashes))
        self.line = {
            "color": alt.Color("line:N", scale=scale, legend=_LEGEND),
            "strokeDash": alt.StrokeDash("line:N", scale=dash, legend=_LEGEND),
        }
        self.colour = alt.Color("line:N", scale=scale, legend=None)  # another layer has the legend


def own_legends(chart: alt.LayerChart) -> alt.LayerChart:
    """Each layer tells its own legend, or none.

    >>> own_legends(alt.layer()).resolve.to_dict()["legend"]["color"]
    'independent'
    """
    resolved: alt.LayerChart = chart.resolve_legend(color="independent", strokeDash="independent")
    return resolved


def even_axis(title: str, longest: float, shortest: float = 0.0, *, grid: bool = False) -> dict[str, Any]:
    """Axis and scale of seconds, evenly spaced, with labels in words.

    >>> even_axis("delay", 1500)["axis"].values
    [0, 300, 600, 900, 1200, 1500]
    """
    step = next((step for step in _STEPS_S if longest - shortest <= step * _TICKS), _STEPS_S[-1])
    values = [step * place for place in range(ceil(shortest / step), int(longest / step) + 1)]
    told = " : ".join(f"datum.value === {value} ? '{format_duration(value)}'" for value in values)
    return {
        "axis": alt.Axis(title=title, values=values, labelExpr=f"{told} : ''", grid=grid),
        "scale": alt.Scale(domain=[shortest, longest], nice=False, zero=False),
    }


def room(top: float) -> float:
    """The end of an axis of shares: a little above the highest.

    >>> room(0.12)
    0.15
    """
    steps = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
    return next((step for step in steps if top <= step), 1.0)
