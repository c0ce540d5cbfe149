"""The charts of the workbench: specs that the browser draws, and the same charts as pictures."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import altair as alt
import msgspec
import vl_convert
from altair.utils.schemapi import debug_mode

from tarry.console.evening import PEOPLE, Evening, Side, watch
from tarry.console.texts import texts
from tarry.console.workbench_axes import Look, even_axis, own_legends, room
from tarry.console.workbench_choices import Choices
from tarry.console.workbench_figures import MASSES, Figures, figures
from tarry.core.durations import format_duration
from tarry.core.plan import Point
from tarry.study.charts.style import DARK, LIGHT, hints, note, percent_axis, plot, styled
from tarry.study.figures import percent, seconds

__all__ = ["CHARTS", "PICTURES", "chart_specs", "live_charts", "picture"]

_SOLID, _DASHED, _DOTTED = [1, 0], [7, 3], [2, 3]


def laws_chart(found: Figures) -> alt.LayerChart:
    """How long acts wait, alone and batched: both laws over stretches of a round length."""
    words = _words()
    kinds = {words["batched"]: "batched", words["unbatched"]: "unbatched"}
    rows = [
        {
            "line": line,
            "delay": bin_.start_s,
            "share": getattr(bin_, kind) * found.width_s / (bin_.end_s - bin_.start_s),
            "wait": f"{format_duration(bin_.start_s)} - {format_duration(bin_.end_s)}",
            "told": percent(getattr(bin_, kind)),
        }
        for line, kind in kinds.items()
        for bin_ in found.bins
    ]
    rows += [{"line": line, "delay": found.bins[-1].end_s, "share": 0.0} for line in kinds]
    top = max(row["share"] for row in rows)
    title = words["share"].format(width=format_duration(found.width_s))
    x = alt.X("delay:Q", **even_axis(words["delay"], 1.04 * found.bins[-1].end_s))
    y = alt.Y("share:Q", stack=None, **percent_axis(title, room(top)))
    look = Look(list(kinds), ("blue", "vermilion"), (_SOLID, _DASHED))
    base = plot(rows).encode(x=x, y=y)
    area = base.mark_area(interpolate="step-after", fillOpacity=0.14).encode(color=look.colour)
    line = base.mark_line(interpolate="step-after", strokeWidth=2).encode(
        **look.line, tooltip=hints("line:N", "wait:N", "told:N")
    )
    return own_legends(styled(area, line, rows_of_legend=2))


def frontier_chart(found: Figures) -> alt.LayerChart:
    """The best trades between the delays of both kinds of acts, the chosen one marked."""
    words = _words()
    others = [
        row
        for epsilon, points in found.neighbours.items()
        for row in _trades(words["epsilon"].format(epsilon=epsilon), points)
    ]
    own = _trades(words["epsilon"].format(epsilon=found.choices.epsilon), found.frontier)
    delays = found.delays
    here = [
        _trade(
            words["chosen"].format(epsilon=found.choices.epsilon),
            float(delays.batched.mean),
            float(delays.unbatched.mean),
        )
    ]
    rows = [*others, *own, *here]
    waits, others_wait = [row["batched"] for row in rows], [row["unbatched"] for row in rows]
    span, high = max(waits) - min(waits), max(others_wait)
    ends = (max(0.0, min(waits) - 0.1 * span), max(waits) + 0.3 * span + 1)  # room for the labels
    x = alt.X("batched:Q", **even_axis(words["mean_batched"], ends[1], ends[0]))
    y = alt.Y("unbatched:Q", **even_axis(words["mean_unbatched"], 1.08 * high, grid=True))
    told = hints("line:N", "wait:N", "alone:N")
    labels = _ends(others)
    faint = plot(others).encode(x=x, y=y, detail="line:N", tooltip=told)
    mine = plot(own).encode(x=x, y=y, tooltip=told)
    return styled(
        faint.mark_line(strokeWidth=1.5, color=LIGHT["faint"]),
        faint.mark_point(filled=True, size=16, color=LIGHT["faint"], opacity=1),
        mine.mark_line(strokeWidth=2.5, color=LIGHT["blue"]),
        mine.mark_point(filled=True, size=28, color=LIGHT["blue"], opacity=1),
        note(labels, dx=6, halo=True).encode(x=x, y=y),
        note(labels, dx=6).encode(x=x, y=y),
        plot(here)
        .mark_point(shape="diamond", filled=True, size=190, color=LIGHT["vermilion"], opacity=1)
        .encode(x=x, y=y, tooltip=told),
        note(_ends(here), dx=10, dy=-10).encode(x=x, y=y),
    )


def power_chart(found: Figures) -> alt.LayerChart:
    """The most that any test can find, over the share of innocent pairs that it accuses."""
    words = _words()
    lines = [words["power_mass"].format(mass=f"{float(mass):g}") for mass in MASSES]
    rows = [
        {"line": line, "error": one.error, "power": bound, "told": percent(bound)}
        for place, line in enumerate(lines)
        for one in found.power
        for bound in one.bounds[place : place + 1]
    ]
    rows += [
        {"line": words["guessing"], "error": one.error, "power": one.error, "told": percent(one.error)}
        for one in found.power
    ]
    x = alt.X("error:Q", **percent_axis(words["error"], found.power[-1].error))
    y = alt.Y("power:Q", **percent_axis(words["power"]))
    dashes = (_DASHED, _SOLID, _DOTTED, [1, 4])
    look = Look([*lines, words["guessing"]], ("green", "blue", "purple", "faint"), dashes)
    line = plot(rows).mark_line(strokeWidth=2)
    return styled(line.encode(x=x, y=y, **look.line, tooltip=hints("line:N", "told:N")), rows_of_legend=4)


def posterior_chart(found: Figures) -> alt.LayerChart:
    """How sure an observer can be of the right person, without delays and with them."""
    words = _words()
    lines = {words["together"]: "together", words["delayed"]: "delayed", words["before"]: "before"}
    rows = [
        {
            "line": line,
            "suspects": one.suspects,
            "chance": getattr(one, kind),
            "told": percent(getattr(one, kind)),
        }
        for line, kind in lines.items()
        for one in found.suspicions
    ]
    scale = alt.Scale(type="log", domain=[2, 100], nice=False)
    axis = alt.Axis(title=words["suspects"], values=[2, 5, 10, 20, 50, 100], grid=False)
    x, y = alt.X("suspects:Q", scale=scale, axis=axis), alt.Y("chance:Q", **percent_axis(words["sure"]))
    look = Look(list(lines), ("vermilion", "blue", "faint"), (_DASHED, _SOLID, _DOTTED))
    chosen = [row for row in rows if row["suspects"] == found.choices.suspects]
    told = hints("line:N", "suspects:Q", "told:N")
    chart = styled(
        plot(chosen[:1]).mark_rule(color=LIGHT["faint"], strokeWidth=1).encode(x=x),
        plot(rows).mark_line(strokeWidth=2).encode(x=x, y=y, **look.line, tooltip=told),
        plot(chosen)
        .mark_point(filled=True, size=60, opacity=1)
        .encode(x=x, y=y, color=look.colour, tooltip=told),
        rows_of_legend=3,
    )
    return own_legends(chart)


def evening_chart(evening: Evening, side: Side) -> alt.LayerChart:
    """The made-up evening when it is over: every act, and every guess as a line between two of them."""
    words = _words()
    kinds = (words["right"], words["wrong"])
    lines = [
        {
            "line": kinds[not guess.is_right],
            "at": side.at_s[guess.first],
            "then": side.at_s[guess.second],
            "lane": evening.acts[guess.first].lane,
            "other": evening.acts[guess.second].lane,
        }
        for guess in side.guesses
    ]
    dots = [{"at": at, "lane": act.lane} for at, act in zip(side.at_s, evening.acts, strict=True)]
    lanes = {act.lane: PEOPLE[act.person] for act in evening.acts}
    firsts = {name: lane for lane, name in sorted(lanes.items(), reverse=True)}
    told = " : ".join(f"datum.value === {lane} ? '{name}'" for name, lane in firsts.items())
    people = alt.Axis(title=None, values=sorted(firsts.values()), labelExpr=f"{told} : ''", ticks=False)
    x = alt.X("at:Q", **even_axis(words["after"], side.end_s))
    y = alt.Y("lane:Q", axis=people, scale=alt.Scale(domain=[-0.5, len(lanes) - 0.5], reverse=True))
    look = Look(list(kinds), ("green", "vermilion"), (_SOLID, [3, 3]))
    return styled(
        plot(lines).mark_rule(strokeWidth=1.6).encode(x=x, y=y, x2="then:Q", y2="other:Q", **look.line),
        plot(dots).mark_point(filled=True, size=26, color=LIGHT["ink"], opacity=1).encode(x=x, y=y),
        rows_of_legend=2,
    ).properties(height=400)


CHARTS: Mapping[str, Callable[[Figures], alt.LayerChart]] = {
    "laws": laws_chart,
    "frontier": frontier_chart,
    "power": power_chart,
    "posterior": posterior_chart,
}
#: Every chart that there is a picture of, for readers without scripts.
PICTURES = (*CHARTS, "evening-without", "evening-delayed")


def chart_specs(found: Figures) -> dict[str, dict[str, Any]]:
    """Every chart by its name, in the colours of a light page.

    Not checked against the schema of charts here, which takes longer than all the rest: a test does that.

    >>> from tarry.console.workbench_choices import START
    >>> list(chart_specs(figures(START)))
    ['laws', 'frontier', 'power', 'posterior']
    """
    with debug_mode(arg=False):
        return {name: make(found).to_dict(validate=False) for name, make in CHARTS.items()}


@lru_cache(maxsize=128)
def live_charts(choices: Choices) -> msgspec.Raw:
    """What the browser draws: JSON whose colours are the page's own, by day and by night.

    >>> from tarry.console.workbench_choices import START
    >>> b"var(--blue)" in bytes(live_charts(START))
    True
    """
    told = msgspec.json.encode(chart_specs(figures(choices)))
    for name, colour in LIGHT.items():
        told = told.replace(f'"{colour}"'.encode(), f'"var(--{name})"'.encode())
    return msgspec.Raw(told)


@lru_cache(maxsize=128)
def picture(name: str, choices: Choices, *, is_dark: bool = False) -> str:
    """A chart as an SVG document.

    >>> from tarry.console.workbench_choices import START
    >>> picture("laws", START)[:4]
    '<svg'
    """
    with debug_mode(arg=False):
        spec = _chart(name, choices).to_dict(validate=False)
    told = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    if is_dark:  # a picture does not see the page's colours: it brings its own
        for kind, colour in LIGHT.items():
            told = told.replace(f'"{colour}"', f'"{DARK[kind]}"')
    return told


def _chart(name: str, choices: Choices) -> alt.LayerChart:
    if name in CHARTS:
        return CHARTS[name](figures(choices))
    evening = watch(choices)
    return evening_chart(evening, evening.without if name == "evening-without" else evening.delayed)


def _words() -> dict[str, str]:
    words: dict[str, str] = texts()["workbench"]["charts"]
    return words


def _trades(name: str, points: tuple[Point, ...]) -> list[dict[str, Any]]:
    return [_trade(name, float(point.batched), float(point.unbatched)) for point in points]


def _trade(name: str, batched: float, unbatched: float) -> dict[str, Any]:
    return {
        "line": name,
        "batched": batched,
        "unbatched": unbatched,
        "wait": seconds(batched),
        "alone": seconds(unbatched),
    }


def _ends(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A label for each line, at the end that lies farthest to the right."""
    ends = {row["line"]: row for row in sorted(rows, key=lambda row: float(row["batched"]))}
    return [{**row, "text": row["line"]} for row in ends.values()]
