"""The charts of the workbench: specs that the browser draws, and the same charts as pictures."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

import altair as alt
import msgspec
import vl_convert
from altair.utils.schemapi import debug_mode

from tarry.console.pages import texts
from tarry.console.workbench.evening import PEOPLE, Evening, Side, watch
from tarry.console.workbench.figures import MASSES, Choices, Figures, figures
from tarry.console.workbench.seasons import risen
from tarry.core.exact import format_duration
from tarry.study.charts.style import DARK, LIGHT, hints, note, percent_axis, plot, styled
from tarry.study.figures import percent, seconds

__all__ = [
    "CHARTS",
    "PICTURES",
    "Look",
    "chart_specs",
    "even_axis",
    "live_charts",
    "own_legends",
    "picture",
    "room",
]


LABELS: dict[str, str] = texts()["workbench"]["charts"]
_SOLID, _DASHED, _DOTTED = [1, 0], [7, 3], [2, 3]


def laws_chart(numbers: Figures) -> alt.LayerChart:
    """How long acts wait, alone and batched: both laws over stretches of a round length."""
    lines = {
        LABELS["batched"]: [bin_.batched for bin_ in numbers.bins],
        LABELS["unbatched"]: [bin_.unbatched for bin_ in numbers.bins],
    }
    rows: list[dict[str, Any]] = [
        {
            "line": line,
            "delay": bin_.start_s,
            "share": chance * numbers.width_s / (bin_.end_s - bin_.start_s),
            "wait": f"{format_duration(bin_.start_s)} - {format_duration(bin_.end_s)}",
            "percent": percent(chance),
        }
        for line, chances in lines.items()
        for bin_, chance in zip(numbers.bins, chances, strict=True)
    ]
    rows += [{"line": line, "delay": numbers.bins[-1].end_s, "share": 0.0} for line in lines]
    title = LABELS["share"].format(width=format_duration(numbers.width_s))
    x = alt.X("delay:Q", **even_axis(LABELS["delay"], 1.04 * numbers.bins[-1].end_s))
    y = alt.Y("share:Q", stack=None, **percent_axis(title, room(max(row["share"] for row in rows))))
    look = Look(list(lines), ("blue", "vermilion"), (_SOLID, _DASHED))
    base = plot(rows).encode(x=x, y=y)
    return own_legends(
        styled(
            base.mark_area(interpolate="step-after", fillOpacity=0.14).encode(color=look.colour),
            base.mark_line(interpolate="step-after", strokeWidth=2).encode(
                **look.line, tooltip=hints("line:N", "wait:N", "percent:N")
            ),
            rows_of_legend=2,
        )
    )


def frontier_chart(numbers: Figures) -> alt.LayerChart:
    """The best trades between the delays of both kinds of acts, the chosen one marked."""
    others = [
        _trade(LABELS["epsilon"].format(epsilon=other), point.batched, point.unbatched)
        for other, points in numbers.neighbours.items()
        for point in points
    ]
    chosen_line = [
        _trade(LABELS["epsilon"].format(epsilon=numbers.choices.epsilon), point.batched, point.unbatched)
        for point in numbers.frontier
    ]
    chosen = LABELS["chosen"].format(epsilon=numbers.choices.epsilon)
    here = [_trade(chosen, numbers.delays.batched.mean, numbers.delays.unbatched.mean)]
    rows = [*others, *chosen_line, *here]
    waits = [row["batched"] for row in rows]
    span = max(waits) - min(waits)
    ends = (max(0.0, min(waits) - 0.1 * span), max(waits) + 0.3 * span + 1)  # room for the labels
    x = alt.X("batched:Q", **even_axis(LABELS["mean_batched"], ends[1], ends[0]))
    y = alt.Y(
        "unbatched:Q",
        **even_axis(LABELS["mean_unbatched"], 1.08 * max(row["unbatched"] for row in rows), grid=True),
    )
    tooltip = hints("line:N", "wait:N", "alone:N")
    names = _ends(others)
    faint = plot(others).encode(x=x, y=y, detail="line:N", tooltip=tooltip)
    mine = plot(chosen_line).encode(x=x, y=y, tooltip=tooltip)
    return styled(
        faint.mark_line(strokeWidth=1.5, color=LIGHT["faint"]),
        faint.mark_point(filled=True, size=16, color=LIGHT["faint"], opacity=1),
        mine.mark_line(strokeWidth=2.5, color=LIGHT["blue"]),
        mine.mark_point(filled=True, size=28, color=LIGHT["blue"], opacity=1),
        note(names, dx=6, halo=True).encode(x=x, y=y),
        note(names, dx=6).encode(x=x, y=y),
        plot(here)
        .mark_point(shape="diamond", filled=True, size=190, color=LIGHT["vermilion"], opacity=1)
        .encode(x=x, y=y, tooltip=tooltip),
        note(_ends(here), dx=10, dy=-10).encode(x=x, y=y),
    )


def odds_chart(numbers: Figures) -> alt.LayerChart:
    """What a suspicion of 1 % becomes after many pairs, under both laws, the chosen number marked."""
    lines: dict[str, list[float | None]] = {
        LABELS["older"]: [one.older for one in numbers.odds],
        LABELS["season"]: [one.season for one in numbers.odds],
        LABELS["before"]: [0.0 for _ in numbers.odds],
    }
    rows = [
        {"line": line, "pairs": one.pairs, "chance": risen(nats), "percent": percent(risen(nats))}
        for line, epsilons in lines.items()
        for one, nats in zip(numbers.odds, epsilons, strict=True)
        if nats is not None
    ]
    return _marked(rows, "pairs", numbers.choices.pairs, [1, 2, 5, 10, 20, 50, 100, 200, 1000])


def power_chart(numbers: Figures) -> alt.LayerChart:
    """The most that any test can find, over the share of innocent pairs that it accuses."""
    lines = [LABELS["power_mass"].format(mass=f"{float(mass):g}") for mass in MASSES]
    rows = [
        {"line": line, "error": one.error, "power": bound, "percent": percent(bound)}
        for place, line in enumerate(lines)
        for one in numbers.power
        for bound in one.bounds[place : place + 1]
    ]
    rows += [
        {"line": LABELS["guessing"], "error": one.error, "power": one.error, "percent": percent(one.error)}
        for one in numbers.power
    ]
    x = alt.X("error:Q", **percent_axis(LABELS["error"], numbers.power[-1].error))
    y = alt.Y("power:Q", **percent_axis(LABELS["power"]))
    dashes = (_DASHED, _SOLID, _DOTTED, [1, 4])
    look = Look([*lines, LABELS["guessing"]], ("green", "blue", "purple", "faint"), dashes)
    tooltip = hints("line:N", "percent:N")
    return styled(
        plot(rows).mark_line(strokeWidth=2).encode(x=x, y=y, **look.line, tooltip=tooltip), rows_of_legend=4
    )


def posterior_chart(numbers: Figures) -> alt.LayerChart:
    """How sure an observer can be of the right person, without delays and with them."""
    lines = {
        LABELS["together"]: [one.together for one in numbers.suspicions],
        LABELS["delayed"]: [one.delayed for one in numbers.suspicions],
        LABELS["before"]: [one.before for one in numbers.suspicions],
    }
    rows = [
        {"line": line, "suspects": one.suspects, "chance": chance, "percent": percent(chance)}
        for line, chances in lines.items()
        for one, chance in zip(numbers.suspicions, chances, strict=True)
    ]
    return _marked(rows, "suspects", numbers.choices.suspects, [2, 5, 10, 20, 50, 100])


def _marked(rows: list[dict[str, Any]], name: str, here: int, marks: list[int]) -> alt.LayerChart:
    """Three lines of chances over a number, with a mark where the chosen one is."""
    scale = alt.Scale(type="log", domain=[marks[0], marks[-1]], nice=False)
    x = alt.X(f"{name}:Q", scale=scale, axis=alt.Axis(title=LABELS[name], values=marks, grid=False))
    y = alt.Y("chance:Q", **percent_axis(LABELS["sure"]))
    lines = list(dict.fromkeys(row["line"] for row in rows))
    step = 1 if len(lines) > 2 else 2  # the middle one may be missing
    look = Look(lines, ("vermilion", "blue", "faint")[::step], (_DASHED, _SOLID, _DOTTED)[::step])
    chosen = [row for row in rows if row[name] == here]
    tooltip = hints("line:N", f"{name}:Q", "percent:N")
    return own_legends(
        styled(
            plot(chosen[:1]).mark_rule(color=LIGHT["faint"], strokeWidth=1).encode(x=x),
            plot(rows).mark_line(strokeWidth=2).encode(x=x, y=y, **look.line, tooltip=tooltip),
            plot(chosen)
            .mark_point(filled=True, size=60, opacity=1)
            .encode(x=x, y=y, color=look.colour, tooltip=tooltip),
            rows_of_legend=len(lines),
        )
    )


def evening_chart(evening: Evening, side: Side) -> alt.LayerChart:
    """The made-up evening when it is over: every act, and every guess as a line between two of them."""
    kinds = (LABELS["right"], LABELS["wrong"])
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
    people = _named_axis({lane: name for name, lane in firsts.items()}, title=None, ticks=False)
    x = alt.X("at:Q", **even_axis(LABELS["after"], side.end_s))
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
    "odds": odds_chart,
    "power": power_chart,
    "posterior": posterior_chart,
}
#: Every chart that there is a picture of, for readers without scripts.
PICTURES = (*CHARTS, "evening-without", "evening-delayed")


def chart_specs(numbers: Figures) -> dict[str, dict[str, Any]]:
    """Every chart by its name, in the colours of a light page.

    Not checked against the schema of charts here, which takes longer than all the rest: a test does that.

    >>> from tarry.console.workbench.figures import START
    >>> list(chart_specs(figures(START)))
    ['laws', 'frontier', 'odds', 'power', 'posterior']
    """
    with debug_mode(arg=False):
        return {
            name: make(numbers).to_dict(validate=False)
            for name, make in CHARTS.items()
            if name != "frontier" or numbers.frontier
        }


@lru_cache(maxsize=128)
def live_charts(choices: Choices) -> msgspec.Raw:
    """What the browser draws: JSON whose colours are the page's own, by day and by night.

    >>> from tarry.console.workbench.figures import START
    >>> b"var(--blue)" in bytes(live_charts(START))
    True
    """
    specs = msgspec.json.encode(chart_specs(figures(choices)))
    for name, colour in LIGHT.items():
        specs = specs.replace(f'"{colour}"'.encode(), f'"var(--{name})"'.encode())
    return msgspec.Raw(specs)


@lru_cache(maxsize=128)
def picture(name: str, choices: Choices, *, is_dark: bool = False) -> str:
    """A chart as an SVG document.

    >>> from tarry.console.workbench.figures import START
    >>> picture("laws", START)[:4]
    '<svg'
    """
    with debug_mode(arg=False):
        if name in CHARTS:
            chart = CHARTS[name](figures(choices))
        else:
            evening = watch(choices)
            chart = evening_chart(
                evening, evening.without if name == "evening-without" else evening.delayed
            )
        spec = chart.to_dict(validate=False)
    svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    if is_dark:  # a picture does not see the page's colours: it brings its own
        for kind, colour in LIGHT.items():
            svg = svg.replace(f'"{colour}"', f'"{DARK[kind]}"')
    return svg


def _trade(name: str, batched: Fraction, unbatched: Fraction) -> dict[str, Any]:
    return {
        "line": name,
        "batched": float(batched),
        "unbatched": float(unbatched),
        "wait": seconds(float(batched)),
        "alone": seconds(float(unbatched)),
    }


def _ends(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A label for each line, at the end that lies farthest to the right."""
    ends = {row["line"]: row for row in sorted(rows, key=lambda row: float(row["batched"]))}
    return [{**row, "text": row["line"]} for row in ends.values()]


_STEPS_S = (
    *(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600),
    *(2 * 3600, 4 * 3600, 6 * 3600, 12 * 3600, 86_400, 2 * 86_400, 5 * 86_400),
    *(10 * 86_400, 20 * 86_400, 50 * 86_400, 100 * 86_400, 200 * 86_400),
)
_TICKS = 6
_LEGEND = alt.Legend(symbolSize=400, symbolStrokeWidth=2)  # long enough to show a dash


# --- lines that can be told apart, and axes in words ---------------------------------------------------


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
    """Each layer has its own legend, or none.

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
    return {
        "axis": _named_axis({value: format_duration(value) for value in values}, title=title, grid=grid),
        "scale": alt.Scale(domain=[shortest, longest], nice=False, zero=False),
    }


def _named_axis(names: Mapping[int, str], **options: Any) -> alt.Axis:
    """An axis with a word at each of these values, and nothing between."""
    words = " : ".join(f"datum.value === {value} ? '{name}'" for value, name in names.items())
    return alt.Axis(values=sorted(names), labelExpr=f"{words} : ''", **options)


def room(top: float) -> float:
    """The end of an axis of shares: a little above the highest.

    >>> room(0.12)
    0.15
    """
    steps = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
    return next((step for step in steps if top <= step), 1.0)
