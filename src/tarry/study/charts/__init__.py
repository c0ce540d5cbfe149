"""Charts of an audit and of a recommendation, each by its name.

The one that decides is here too: what each practice costs, and what it buys.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from typing import Any

import altair as alt

from tarry.study.advice import Advice
from tarry.study.audit import Report
from tarry.study.charts.curves import gaps_chart, posterior_chart, precision_chart, rates_chart, roc_chart
from tarry.study.charts.style import (
    LIGHT,
    chart_png,
    chart_svg,
    duration_axis,
    hints,
    nice_top,
    note,
    percent_axis,
    plot,
    styled,
    write_charts,
)
from tarry.study.charts.watch import watch_charts
from tarry.study.figures import seconds, shown_names
from tarry.study.runs import AttackRun

__all__ = [
    "Trade",
    "audit_charts",
    "chart_png",
    "chart_svg",
    "gaps_chart",
    "posterior_chart",
    "precision_chart",
    "rates_chart",
    "roc_chart",
    "threat_name",
    "threats_of",
    "trade_chart",
    "trades",
    "watch_charts",
    "write_charts",
]


def threats_of(report: Report) -> dict[tuple[str, str], Sequence[AttackRun]]:
    """The runs of a report by observer and attack: what belongs into one chart.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> list(threats_of(audit(table, Question(practices=["nothing"], observers=["archive"]))))
    [('archive', 'cutoff')]
    """
    threats = dict.fromkeys((run.observer, run.attack) for run in report.runs)
    return {
        threat: [run for run in report.runs if (run.observer, run.attack) == threat] for threat in threats
    }


def threat_name(observer: str, attack: str) -> str:
    """An observer and an attack as part of a file's name.

    >>> threat_name("poller:10m", "nearest:0.1")
    'poller-10m-nearest-0.1'
    """
    return re.sub(r"[^a-z0-9.]+", "-", f"{observer}-{attack}".lower())


def audit_charts(report: Report) -> dict[str, alt.LayerChart]:
    """Every chart that there are figures for, by a name that is fit for a file.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5_000_000, 9_000_000_000])
    >>> list(audit_charts(audit(table, Question(practices=[]))))
    ['gaps', 'rates', 'posterior']
    """
    charts: dict[str, alt.LayerChart] = {}
    measures, advice = report.measures, report.advice
    if measures.in_batch_curve_s or measures.null_curve_s:
        charts["gaps"] = gaps_chart(measures)
    if measures.actor_rates:
        charts["rates"] = rates_chart(measures)
    if report.posteriors:
        charts["posterior"] = posterior_chart(report)
    charts |= _of_threats(report, "")
    if advice is not None and advice.choices and advice.right_before:
        charts["advice"] = trade_chart(advice)
    if report.after is not None:
        charts |= _of_threats(report.after, "after-")
    return charts if report.watch is None else charts | watch_charts(report.watch)


def _of_threats(report: Report, when: str) -> dict[str, alt.LayerChart]:
    charts: dict[str, alt.LayerChart] = {}
    if not report.linked_pairs:  # nothing to find: no curve
        return charts
    for (observer, attack), runs in threats_of(report).items():
        where = threat_name(observer, attack)
        charts[f"{when}precision-{where}"] = precision_chart(runs)
        charts[f"{when}roc-{where}"] = roc_chart(runs)
        if len({run.policy for run in runs}) > 1 and not when:
            charts[f"trade-{where}"] = trade_chart(report, observer=observer, attack=attack)
    return charts


# Delays below this are shown evenly, above it on a logarithmic axis.
_UNIT_S = 60
# Points nearer than this part of both axes share a label.
_NEAR = 0.05
# Where a label stands: the first of these where no point lies.
_SIDES: dict[str, dict[str, Any]] = {
    "right": {"dx": 8},
    "left": {"dx": -8, "align": "right"},
    "above": {"dx": -3, "dy": -12},
}
_LOOK = {
    "nothing is done": ("vermilion", "triangle-up"),
    "recommended": ("green", "diamond"),
    "tried": ("blue", "circle"),
}


@dataclass(frozen=True, kw_only=True)
class Trade:
    """One point of the chart.

    >>> Trade(number=1, name="nothing", mean_s=0.0, right=0.8, best=False).name
    'nothing'
    """

    number: int  # what the chart calls it
    name: str
    mean_s: float  # delay
    right: float | None  # of claims that find a tenth of the linked pairs: the share right about the person
    best: bool  # recommended


def trades(
    measured: Report | Advice, *, observer: str | None = None, attack: str | None = None
) -> list[Trade]:
    """What each practice costs and buys, numbered from 1; for an audit, the first observer and attack.

    >>> advice = Advice(learned_on=1, measured_on=3, before=0.5, right_before=0.5, choices=(), best=None)
    >>> [trade.name for trade in trades(advice)]
    ['nothing']
    """
    if isinstance(measured, Advice):
        return [Trade(number=1, name="nothing", mean_s=0.0, right=measured.right_before, best=False)] + [
            Trade(
                number=place,
                name=f"epsilon {float(choice.policy.epsilon):g}, gap {seconds(float(choice.policy.gap))}",
                mean_s=choice.mean_s,
                right=choice.right_person,
                best=choice is measured.best,
            )
            for place, choice in enumerate(measured.choices, start=2)
        ]
    lines = measured.lines
    watcher = observer or (lines[0].observer if lines else "")
    method = attack or (lines[0].attack if lines else "")
    seen = [line for line in lines if (line.observer, line.attack) == (watcher, method)]
    names = shown_names([line.policy for line in seen])
    return [
        Trade(
            number=place,
            name=names[line.policy],
            mean_s=line.mean_s,
            right=None if line.right_person is None else line.right_person.mean,
            best=False,
        )
        for place, line in enumerate(seen, start=1)
    ]


def trade_chart(
    measured: Report | Advice, *, observer: str | None = None, attack: str | None = None
) -> alt.LayerChart:
    """Mean delay against how often claims that find a tenth of the linked pairs are right about the person.

    Points carry the numbers of `trades`, so that a table beside the chart can name them. Where that
    share is not known there is none.

    >>> advice = Advice(learned_on=1, measured_on=3, before=0.5, right_before=0.5, choices=(), best=None)
    >>> trade_chart(advice).layer[0].data.values[-1]["right"]
    0.5
    """
    known = trades(measured, observer=observer, attack=attack)
    points = [point for point in known if point.right is not None]
    top = nice_top([point.right or 0.0 for point in points])
    longest = 1.15 * max((point.mean_s for point in points), default=0.0)  # room for the last label
    x = alt.X("mean:Q", **duration_axis("mean delay", longest, _UNIT_S))
    y = alt.Y("right:Q", **percent_axis("claims right about the person, finding a tenth", top))
    rows = [_row(point) for point in points]  # drawn from the last: nothing lies on top
    kinds = {kind: look for kind, look in _LOOK.items() if any(row["kind"] == kind for row in rows)}
    colours = alt.Scale(domain=list(kinds), range=[LIGHT[colour] for colour, _ in kinds.values()])
    shapes = alt.Scale(domain=list(kinds), range=[shape for _, shape in kinds.values()])
    drawn = (
        plot(rows[::-1])
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("kind:N", scale=colours),
            shape=alt.Shape("kind:N", scale=shapes),
            tooltip=hints("name:N", "delay:N", "right:Q"),
        )
    )
    labels = _labels(rows, longest, top)
    sides = [
        note([row for row in labels if row["side"] == side], **place).encode(x=x, y=y)
        for side, place in _SIDES.items()
    ]
    return styled(drawn, *sides, rows_of_legend=len(kinds))


def _row(point: Trade) -> dict[str, Any]:
    kind = "recommended" if point.best else "nothing is done" if point.name == "nothing" else "tried"
    return {
        "name": point.name,
        "number": point.number,
        "mean": point.mean_s,
        "right": point.right,
        "delay": seconds(point.mean_s),
        "kind": kind,
    }


def _labels(rows: Sequence[dict[str, Any]], longest: float, top: float) -> list[dict[str, Any]]:
    """One label for points that lie on one another, beside the rightmost: the numbers of all.

    It stands to the right of its point, or where no other point lies under it.
    """
    wide = log1p(max(longest, 10.0 * _UNIT_S) / _UNIT_S)
    places = {row["number"]: (log1p(row["mean"] / _UNIT_S) / wide, row["right"] / top) for row in rows}
    labels: list[dict[str, Any]] = []
    for row in rows:
        place = places[row["number"]]
        for label in labels:
            if all(abs(here - there) < _NEAR for here, there in zip(place, label["place"], strict=True)):
                label["numbers"].append(row["number"])
                label["at"] = max(label["at"], row, key=lambda one: float(one["mean"]))
                break
        else:
            labels.append({"place": place, "numbers": [row["number"]], "at": row})
    for label in labels:
        x, y = places[label["at"]["number"]]
        others = [place for number, place in places.items() if number not in label["numbers"]]
        beside = [there - x for there, high in others if abs(high - y) < _NEAR]
        left = any(-2 * _NEAR < far <= 0 for far in beside)
        right = any(0 < far < 2 * _NEAR for far in beside)
        label["side"] = "right" if not right else "above" if left else "left"
    return [
        {**label["at"], "side": label["side"], "text": ", ".join(map(str, label["numbers"]))}
        for label in labels
    ]
