"""Charts of attacks: precision over recall, and found pairs over false alarms.

Nothing is smoothed, sorted by height or made monotone: what was measured is what is drawn.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import altair as alt

from tarry.study.charts.style import LIGHT, hints, line_style, nice_top, note, percent_axis, plot, styled
from tarry.study.figures import seconds, shown_names
from tarry.study.runs import AttackRun
from tarry.study.score import Score

__all__ = ["precision_chart", "roc_chart", "sought"]

# Labels nearer to each other than this part of either axis would run into one another.
_NEAR = 0.07
_Row = dict[str, Any]


def precision_chart(runs: Sequence[AttackRun]) -> alt.LayerChart:
    """Precision over recall, a line for each draw of each practice; the cutoffs of the first are named.

    The runs are those of one attack and one observer.

    >>> from tarry.study.score import Counts
    >>> counts = Counts(true_positives=1, false_positives=1, false_negatives=0, true_negatives=9)
    >>> scores = [Score(cutoff=60_000_000, counts=counts)]
    >>> run = AttackRun(attack="cutoff", observer="notified", policy="nothing", draw=0, scores=scores)
    >>> precision_chart([run]).layer[0].data.values[0]["precision"]
    0.5
    """
    rows = [row for row in _curve_rows(runs) if row["precision"] is not None and row["recall"] is not None]
    top = nice_top([row["precision"] for row in rows])
    x = alt.X("recall:Q", **percent_axis(f"{sought(runs)} that are found (recall)"))
    y = alt.Y("precision:Q", **percent_axis("claims that are right (precision)", top))
    labels = [label.encode(x=x, y=y) for label in _cutoff_labels(rows, top)]
    return _curves(rows, runs, x, y, labels)


def roc_chart(runs: Sequence[AttackRun]) -> alt.LayerChart:
    """Linked pairs found over false alarms, on a logarithmic axis, with the line of pure chance.

    Points without a single false alarm have no place on such an axis and are left out.

    >>> from tarry.study.score import Counts
    >>> counts = Counts(true_positives=1, false_positives=1, false_negatives=0, true_negatives=9)
    >>> scores = [Score(cutoff=60_000_000, counts=counts)]
    >>> run = AttackRun(attack="cutoff", observer="notified", policy="nothing", draw=0, scores=scores)
    >>> roc_chart([run]).to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    [0.1, 1]
    """
    rows = [row for row in _curve_rows(runs) if row["alarms"] and row["recall"] is not None]
    least = min((row["alarms"] for row in rows), default=0.1)
    decades = -int(f"{least:e}".partition("e")[2])
    others = f"other {sought(runs).rpartition(' ')[2]}"
    axis = alt.Axis(
        title=f"{others} claimed all the same (false alarms)",
        labelExpr="format(100 * datum.value, '~g') + ' %'",
        values=[10.0**-place for place in range(0, decades + 1, 1 if decades < 5 else 2)],
    )
    x = alt.X("alarms:Q", axis=axis, scale=alt.Scale(type="log", domain=[10.0**-decades, 1], nice=False))
    y = alt.Y("recall:Q", **percent_axis(f"{sought(runs)} that are found (recall)"))
    more = [layer.encode(x=x) for layer in (*_chance(decades, y), *_bound(rows, runs))]
    return _curves(rows, runs, x, y, more)


def sought(runs: Sequence[AttackRun]) -> str:
    """What the attack of these runs looks for.

    >>> sought([])
    'linked pairs'
    """
    return next((run.seeks for run in runs), "linked pairs")


def _chance(decades: int, y: alt.Y) -> list[alt.Chart]:
    """Where claims fall on linked and other pairs alike: bent, because the axis is logarithmic."""
    steps = [10.0 ** (-decades * part / 60) for part in range(61)]
    line = plot([{"alarms": step, "recall": step} for step in steps]).mark_line(
        strokeDash=[4, 3], strokeWidth=1.5, color=LIGHT["faint"]
    )
    named = note([{"alarms": 1, "recall": 0.04, "text": "chance"}], align="right", dx=-2)
    return [line.encode(y=y), named.encode(y=y)]


def _bound(rows: Sequence[_Row], runs: Sequence[AttackRun]) -> list[alt.Chart]:
    """The most that a promise lets anybody find, dotted; where there is such a bound."""
    bounded = [row for row in rows if row["bound"] is not None and row["draw"] == 0]
    if not bounded:
        return []
    line = plot(bounded).mark_line(strokeDash=[1, 3], strokeWidth=2)
    return [
        line.encode(y=alt.Y("bound:Q"), color=line_style(_names(runs))["color"], order=alt.Order("place:Q"))
    ]


def _curve_rows(runs: Sequence[AttackRun]) -> list[_Row]:
    """One row for each score, in the order of the claims; names as they may be shown."""
    names = shown_names([run.policy for run in runs])
    return [
        {
            "line": names[run.policy],
            "draw": run.draw,
            "place": place,
            "cutoff": seconds(score.cutoff_s),
            "precision": score.counts.precision,
            "recall": score.counts.recall,
            "alarms": score.counts.false_positive_rate,
            "bound": score.power_bound,
        }
        for run in runs
        for place, score in enumerate(sorted(run.scores, key=_claims))
    ]


def _names(runs: Sequence[AttackRun]) -> list[str]:
    return list(shown_names([run.policy for run in runs]).values())


def _claims(score: Score) -> tuple[int, int]:
    return score.counts.true_positives + score.counts.false_positives, score.cutoff


def _curves(
    rows: list[_Row], runs: Sequence[AttackRun], x: alt.X, y: alt.Y, more: Sequence[alt.Chart]
) -> alt.LayerChart:
    """A line for each draw; with several draws the lines are thin, and only the first has points."""
    names = _names(runs)
    style = line_style(names)
    many = any(row["draw"] for row in rows)
    behind = rows[::-1]  # what is drawn last lies on top: the first practice
    line = plot(behind).mark_line(strokeWidth=1 if many else 2, opacity=0.6 if many else 1)
    first = plot([row for row in behind if row["draw"] == 0])
    points = first.mark_point(filled=True, size=45, opacity=1).encode(
        x=x, y=y, **style, tooltip=hints("line:N", "cutoff:N", "precision:Q", "recall:Q", "alarms:Q")
    )
    lines = line.encode(
        x=x, y=y, color=style["color"], detail=alt.Detail("draw:N"), order=alt.Order("place:Q")
    )
    return styled(lines, points, *more, rows_of_legend=len(names))


def _cutoff_labels(rows: Sequence[_Row], top: float) -> list[alt.Chart]:
    """The cutoffs of the first line, as far as there is room: above it, or below where it rises."""
    first = [row for row in rows if (row["line"], row["draw"]) == (rows[0]["line"], rows[0]["draw"])]
    labels: list[_Row] = []
    for row, later in zip_longest(first, first[1:]):
        crowded = any(
            abs(row["recall"] - one["recall"]) < 2 * _NEAR
            and abs(row["precision"] - one["precision"]) < _NEAR * top
            for one in labels
        )
        late = row["recall"] > 0.5
        rises = later is not None and later["precision"] > row["precision"]
        side = "before" if late else "below" if rises else "after"
        if not crowded:
            labels.append({**row, "text": row["cutoff"], "side": side})
    sides: dict[str, dict[str, Any]] = {
        "before": {"align": "right", "dx": -6, "dy": -8},
        "below": {"dx": 6, "dy": 7},
        "after": {"dx": 5, "dy": -8},
    }
    return [
        note([row for row in labels if row["side"] == side], **place, halo=halo)
        for halo in (True, False)
        for side, place in sides.items()
    ]
