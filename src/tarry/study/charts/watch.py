"""The long watch as charts: how often the other name comes first, as two names share more."""

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from tarry.study.charts.style import LIGHT, SERIES, hints, percent_axis, plot, styled
from tarry.study.figures import shown_names
from tarry.study.watch import DATES, TENURE, Watch
from tarry.study.watch.findings import Growth, WatchFinding

__all__ = ["watch_chart", "watch_charts"]

_DASHES = {DATES: [6, 4], TENURE: [1, 3]}
_WIDE = 0.4  # of the distance between two steps: the lines stand beside each other in it
_Row = dict[str, Any]


def watch_charts(watch: Watch) -> dict[str, alt.LayerChart]:
    """Both charts, by names that are fit for files; none where nothing was found.

    >>> watch_charts(Watch(people=2, candidates=4.0, queries=4, window_s=300.0, findings=(), notes=()))
    {}
    """
    if not _findings(watch):
        return {}
    return {"watch-sessions": watch_chart(watch, "sessions"), "watch-weeks": watch_chart(watch, "weeks")}


def watch_chart(watch: Watch, shared: Literal["sessions", "weeks"]) -> alt.LayerChart:
    """How often the other name comes first, over the sessions or weeks that both names share.

    A line for each practice, with its 95 % intervals; dates only and tenure only are dashed lines beside
    them. Targets are split at random, and the attack is the one with likelihoods.

    >>> from tarry.study.synth import synthesize
    >>> from tarry.study.synth_recipes import Recipe
    >>> from tarry.study.table import event_table
    >>> from tarry.study.watch import WatchQuestion, watch
    >>> made = synthesize(Recipe(events=2_000, actors=40, bots=0), seed=1)
    >>> table = event_table(actor=made.actor, target=made.target, time=made.time)
    >>> chart = watch_chart(watch(table, WatchQuestion(splits=1)), "weeks")
    >>> chart.layer[0].data.values[0]["line"]
    'nothing'
    """
    findings = _findings(watch)
    names = shown_names([finding.practice for finding in findings])
    steps = {finding.practice: _steps(finding, shared) for finding in findings}
    own = [practice for practice in steps if practice not in _DASHES]
    places = _beside(own) | dict.fromkeys(_DASHES, 0.0)
    lines = {practice: _rows(names[practice], steps[practice], aside) for practice, aside in places.items()}
    x = _axis(next(iter(steps.values())), shared)
    y = alt.Y("first:Q", **percent_axis("the other name comes first"))
    style = _style([names[practice] for practice in lines], len(own))
    solid = [row for name in own for row in lines[name]]
    dashed = [row for name in _DASHES for row in lines[name]]
    spread = plot(solid).mark_rule(strokeWidth=1.5, opacity=0.8)
    points = plot(solid).mark_point(filled=True, size=45, opacity=1)
    drawn = [
        plot(solid).mark_line(strokeWidth=2).encode(x=x, y=y, color=style["color"]),
        plot(dashed)
        .mark_line(strokeWidth=1.5)
        .encode(x=x, y=y, color=style["color"], strokeDash=style["dash"]),
        spread.encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=style["color"]),
        points.encode(x=x, y=y, color=style["color"], tooltip=hints("line:N", "shared:N", "first:Q")),
    ]
    return styled(*drawn, rows_of_legend=len(lines))


def _findings(watch: Watch) -> list[WatchFinding]:
    return [one for one in watch.findings if (one.split, one.attack) == ("random", "likelihood")]


def _steps(finding: WatchFinding, shared: str) -> Sequence[Growth]:
    return finding.by_sessions if shared == "sessions" else finding.by_weeks


def _beside(practices: Sequence[str]) -> dict[str, float]:
    """Each practice a little to the side, so that no interval hides another."""
    middle = (len(practices) - 1) / 2
    return {name: (place - middle) * _WIDE / len(practices) for place, name in enumerate(practices)}


def _rows(line: str, steps: Sequence[Growth], aside: float) -> list[_Row]:
    return [
        {
            "line": line,
            "place": place + aside,
            "shared": step.text,
            "first": step.first.mean,
            "low": step.first.low,
            "high": step.first.high,
        }
        for place, step in enumerate(steps)
    ]


def _axis(steps: Sequence[Growth], shared: str) -> alt.X:
    """A place for each range; ranges double, so equal distances are equal factors."""
    words = " : ".join(f"datum.value === {place} ? '{step.text}'" for place, step in enumerate(steps))
    axis = alt.Axis(
        title=f"{shared} that both names share",
        values=list(range(len(steps))),
        labelExpr=f"{words} : ''",
        labelAngle=-40,
        grid=False,
    )
    scale = alt.Scale(domain=[-0.5, len(steps) - 0.5], nice=False, zero=False)
    return alt.X("place:Q", axis=axis, scale=scale)


def _style(names: Sequence[str], own: int) -> dict[str, Any]:
    """Colours of the practices, and one faint colour with dashes for what stands beside them."""
    colours = [SERIES[place % len(SERIES)] for place in range(own)] + [LIGHT["faint"]] * len(_DASHES)
    dashes = [[1, 0]] * own + list(_DASHES.values())
    domain = list(names)
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=2, symbolSize=160)
    return {
        "color": alt.Color("line:N", scale=alt.Scale(domain=domain, range=colours), legend=legend),
        "dash": alt.StrokeDash("line:N", scale=alt.Scale(domain=domain, range=dashes), legend=legend),
    }
