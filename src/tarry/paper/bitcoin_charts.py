"""The pictures of the Bitcoin experiment: both attacks, and how long batched payments wait."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from tarry.paper.bitcoin_trial import Trial
from tarry.study.charts.curves import precision_chart
from tarry.study.charts.style import duration_axis, hints, line_style, percent_axis, plot, styled
from tarry.study.runs import AttackRun

__all__ = ["attack_charts", "delay_chart"]


def attack_charts(lines: Mapping[str, Trial]) -> dict[str, alt.LayerChart]:
    """Precision over recall of the basic and of the informed attack, a line for each trial.

    >>> sorted(attack_charts({}))
    ['basic-attack', 'informed-attack']
    """
    basic = [_run(name, trial, informed=False) for name, trial in lines.items()]
    informed = [_run(name, trial, informed=True) for name, trial in lines.items()]
    return {"basic-attack": precision_chart(basic), "informed-attack": _in_gaps(informed)}


def _in_gaps(runs: Sequence[AttackRun]) -> alt.LayerChart:
    """Points named by the multiple of each address's own gap: in seconds a cutoff would be nobody's."""
    chart = precision_chart(runs)
    multiples = [score.multiple for score in runs[0].scores] if runs else []
    settings = ["1 gap" if multiple == 1 else f"{multiple:g} gaps" for multiple in multiples]
    layers: list[Any] = chart.layer
    for layer in layers:
        for row in layer.data.values:
            # Claims grow with the multiple, so the place of a point is that of its multiple.
            told = settings[row["place"]]
            row.update({key: told for key in ("cutoff", "text") if key in row})
    return chart


def _run(name: str, trial: Trial, *, informed: bool) -> AttackRun:
    scores = trial.informed if informed else trial.basic
    return AttackRun(attack="recipient", observer="notified", policy=name, draw=0, scores=scores)


def delay_chart(lines: Mapping[str, Trial]) -> alt.LayerChart:
    """How many batched payments wait at most how long.

    >>> trial = Trial(basic=(), informed=(), delays=np.array([60, 600]))
    >>> delay_chart({"epsilon 1": trial}).data.values[0]["line"]
    'epsilon 1'
    """
    rows = [
        {"line": name, "delay": float(np.quantile(trial.delays, part)), "share": part}
        for name, trial in lines.items()
        for part in np.linspace(0.01, 0.99, 50).tolist()
    ]
    longest = max(float(row["delay"]) for row in rows)
    x = alt.X("delay:Q", **duration_axis("delay of batched payments", longest, unit=60))
    y = alt.Y("share:Q", **percent_axis("payments that wait at most this long"))
    names = list(lines)
    base = plot(rows).mark_line(strokeWidth=2)
    hint = hints("line:N", "delay:Q", "share:Q")
    color = line_style(names)["color"]
    return styled(base.encode(x=x, y=y, color=color, tooltip=hint), rows_of_legend=len(names))
