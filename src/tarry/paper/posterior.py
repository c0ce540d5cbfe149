"""How sure two comments that appear together make an observer; and two that do not.

The paper's figure of posteriors (section "One-sided privacy risk") and the 83.5 % of its introduction.
An author knows who wrote one comment, and K people are equally likely to have written another. One
person's comments on different papers come within five minutes of each other at one rate, two people's
at another; what the author may conclude is Bayes' rule.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tarry.paper.finding import (
    Chart,
    Finding,
    RunSettings,
    Table,
    TableRows,
    line_chart,
    number_axis,
    people_of,
    real_tables,
    tabled,
)
from tarry.study.batching import Measures, Posterior, measure, posteriors
from tarry.study.charts.style import LIGHT, SERIES, percent_axis
from tarry.study.figures import percent
from tarry.study.practice import MICROSECONDS

__all__ = ["TITLE", "find", "suspects_chart"]

TITLE = "What two acts together tell about who did them"

SAME = 0.301  # "a 30.10 % chance of batching their comments": introduction, and the appendix
DIFFERENT = 0.0066  # "only a 0.66 % chance": introduction, and the section's formulas
PUBLISHED = "the paper's conference"
PLOTTED = 0.0072  # what the authors' code draws the figure with
PRINTED_AT_TEN = 0.8351  # "83.51 %" with ten suspects: introduction
TEN = 10
SUSPECTS = range(2, 51)  # the figure's axis
SHOWN = (2, 5, 10, 20, 50)  # suspects in the table of measured rates
WINDOW = 300 * MICROSECONDS  # "within 5 minutes"
KINDS = {".parquet", ".pq", ".arrow", ".feather", ".csv", ".tsv", ".jsonl"}
REVIEWS = "code_review_a"  # also measured by `peer_review`, in part


def find(settings: RunSettings) -> Finding:
    """The posteriors of the published rates, and of those measured on the histories given.

    >>> find(RunSettings()).says[0]
    'Among 10 suspects, a batched pair is one person with 83.52 %; the paper prints 83.51 %.'
    """
    printed, plotted = (posteriors(SAME, rate, SUSPECTS) for rate in (DIFFERENT, PLOTTED))
    tables = {
        "published": Table(
            title="With the published rates",
            header=("suspects", "before", "batched", "batched, as plotted", "unbatched"),
            rows=[
                (one.suspects, 1 / one.suspects, one.batched, other.batched, one.unbatched)
                for one, other in zip(printed, plotted, strict=True)
            ],
        )
    }
    charts = {"published-rates": _published_chart(printed, plotted)}
    says = _says(printed, plotted)
    if settings.data is not None:
        measured = _measure(settings.data, settings)
        tables["measured"] = _measured_table(measured)
        charts["measured-rates"] = _measured_chart(measured, printed)
        says += _measured_says(measured)
    return Finding(name="posterior", title=TITLE, says=says, tables=tables, charts=charts)


def _says(printed: Sequence[Posterior], plotted: Sequence[Posterior]) -> list[str]:
    ten, drawn = (next(one for one in many if one.suspects == TEN) for many in (printed, plotted))
    cleared = 1 - (TEN - 1) * ten.unbatched  # what is left for the one who was known
    return [
        (
            f"Among {TEN} suspects, a batched pair is one person with {100 * ten.batched:.2f} %; "
            f"the paper prints {100 * PRINTED_AT_TEN:.2f} %."
        ),
        (
            f"The text has {percent(DIFFERENT)} for different people, the authors' plot "
            f"{percent(PLOTTED)}: drawn so, {TEN} suspects give {percent(drawn.batched)}."
        ),
        (
            f"With up to {_even(SAME, DIFFERENT)} suspects a batched pair is at least as likely one "
            "person as not."
        ),
        (
            f"An unbatched pair tells little: among {TEN}, the likeliest other goes from "
            f"{percent(1 / TEN)} to {percent(ten.unbatched)}, and the one who is known to "
            f"{percent(cleared)}. The risk is one-sided."
        ),
    ]


def _even(same: float, different: float) -> int | None:
    """The most suspects among whom a batched pair is one person with at least one half."""
    return 1 + int(same / different) if different else None


# --- rates measured on real histories -----------------------------------------------------------


def _measure(data: Path, settings: RunSettings) -> dict[str, Measures]:
    """Every history there is."""
    files = [path for path in data.iterdir() if path.suffix in KINDS] if data.is_dir() else []
    if settings.tiny:
        files = sorted(files, key=lambda path: path.stat().st_size)[:1]
    tables = real_tables(settings, *sorted(path.stem for path in files))
    return {
        name: measure(people_of(columns), WINDOW, different=True)
        for name, columns in settings.steps(tables.items())
    }


def _posteriors(measures: Measures, suspects: Sequence[int]) -> list[Posterior]:
    """Nothing where the rates allow no conclusion."""
    same, different = measures.batching.rate, measures.different
    if not same or different is None or different >= 1:
        return []
    return posteriors(same, float(different), suspects)


@tabled(
    "With rates measured on histories, within 5 minutes, by the appendix's method",
    *("history", "events", "actors", "one person", "different people"),
    *(f"batched, {suspects} suspects" for suspects in SHOWN),
    "even odds up to",
)
def _measured_table(measured: dict[str, Measures]) -> TableRows:
    for name, one in measured.items():
        same, different = one.batching.rate, None if one.different is None else float(one.different)
        sure: Sequence[float | None] = [each.batched for each in _posteriors(one, SHOWN)]
        even = _even(same, different) if sure and same and different else None
        yield name, one.events, one.actors, same, different, *(sure or [None] * len(SHOWN)), even


def _measured_says(measured: dict[str, Measures]) -> list[str]:
    sure = {name: ten[0].batched for name, one in measured.items() if (ten := _posteriors(one, [TEN]))}
    if not sure:
        return ["No history given has both rates, so none has a posterior."]
    low, high = min(sure, key=sure.__getitem__), max(sure, key=sure.__getitem__)
    several = (
        f"{len(sure)} histories, {TEN} suspects give from {percent(sure[low])} ({low}) to "
        f"{percent(sure[high])} ({high})"
    )
    one = f"{low}, {TEN} suspects give {percent(sure[low])}"
    says = [
        f"Measured on {one if len(sure) == 1 else several}.",
        (
            "The appendix counts two people as close if any two of their acts ever are, so its second "
            "rate depends on how long one looks: posteriors of histories of different lengths do "
            "not compare."
        ),
    ]
    if REVIEWS in sure:
        says.append(
            f"All rows of {REVIEWS} count here but those of bots: its {percent(sure[REVIEWS])} is not the "
            "figure of peer_review, which takes the reviewers of pull requests alone."
        )
    return says


# --- pictures -----------------------------------------------------------------------------------


def _published_chart(printed: Sequence[Posterior], plotted: Sequence[Posterior]) -> Chart:
    lines = {
        f"together ({percent(DIFFERENT)}, as printed)": [one.batched for one in printed],
        f"together ({percent(PLOTTED)}, as plotted)": [one.batched for one in plotted],
        "apart: the likeliest other": [one.unbatched for one in printed],
        "before anything is seen": [1 / suspects for suspects in SUSPECTS],
    }
    return suspects_chart(lines, "how sure an observer can be", SHOWN, (*SERIES[:3], LIGHT["faint"]))


def _measured_chart(measured: dict[str, Measures], printed: Sequence[Posterior]) -> Chart:
    """The paper's line in grey, and as many others as there are colours, the surest first."""
    lines_of = [(name, _posteriors(one, SUSPECTS)) for name, one in measured.items()]
    ranked = sorted((one for one in lines_of if one[1]), key=lambda one: -one[1][TEN - 2].batched)
    if len(ranked) > len(SERIES):
        ranked = [ranked[round(k * (len(ranked) - 1) / (len(SERIES) - 1))] for k in range(len(SERIES))]
    sure = {name: [one.batched for one in many] for name, many in [(PUBLISHED, printed), *ranked]}
    return suspects_chart(sure, "how sure an observer can be", SHOWN)


def suspects_chart(
    lines: Mapping[str, Sequence[float]],
    title: str,
    shown: Sequence[int],
    series: Sequence[str] = (LIGHT["faint"], *SERIES),
) -> Chart:
    """Lines of chances, one for each number of suspects, with dots at the numbers shown.

    >>> suspects_chart({"even": [0.5] * len(SUSPECTS)}, "sure", [2, 50]).layer[1].data.values[1]
    {'line': 'even', 'suspects': 50, 'chance': 0.5}
    """
    rows = [
        {"line": name, "suspects": suspects, "chance": chance}
        for name, chances in lines.items()
        for suspects, chance in zip(SUSPECTS, chances, strict=True)
    ]
    marks = (2, 10, 20, 30, 40, 50)
    return line_chart(
        rows,
        x=("suspects", number_axis("people who could be it", 2, 50, values=marks)),
        y=("chance", percent_axis(title)),
        dots=[row for row in rows if row["suspects"] in shown],
        series=series,
    )
