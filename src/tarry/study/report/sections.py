"""The sections of a report about the people: how they batch, and how well they are linked."""

from collections.abc import Mapping, Sequence

import altair as alt

from tarry.study.answer import posteriors_of
from tarry.study.audit import Audit, Run
from tarry.study.charts import chart_svg, scene_name, scenes_of
from tarry.study.charts.curves import sought
from tarry.study.figures import number, percent, seconds
from tarry.study.report.markup import Html, el, figure, inline_svg, join
from tarry.study.report.tables import (
    costs_table,
    gaps_table,
    lines_table,
    posterior_table,
    rates_table,
    scores_table,
)
from tarry.study.report.text import HOW_TO_READ, scene_title, scene_words
from tarry.study.score import RECALL

__all__ = ["Charts", "batching", "curves", "linking", "picture", "section", "suspects"]

Charts = Mapping[str, alt.LayerChart]


def section(title: str, *children: str) -> Html:
    """A part of the report under its heading.

    >>> section("Words", el("p", "..."))
    '<section><h2>Words</h2><p>...</p></section>'
    """
    return el("section", el("h2", title), *children)


def picture(charts: Charts, name: str, caption: str) -> Html:
    """A chart in the page, or nothing where there are no figures for it.

    >>> picture({}, "gaps", "How long gaps are")
    ''
    """
    if name not in charts:
        return Html()
    return figure(inline_svg(chart_svg(charts[name]), name, f"Chart: {caption}"), caption)


def batching(found: Audit, charts: Charts) -> Html:
    """How often people batch.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> "of the events (2 of 2)" in batching(audit(table, Question(practices=[])), {})
    True
    """
    m = found.measures
    window = seconds(m.window / 1e6)
    told = (
        f"{percent(m.batching.batched_share)} of the events ({number(m.batching.with_partner)} of "
        f"{number(m.events)}) have a partner: an event of the same person on another target at most "
        f"{window} before or after."
    )
    if m.batching.moves:
        told += (
            f" {percent(m.batching.rate)} of people's moves to another target "
            f"({number(m.batching.moves_within)} of {number(m.batching.moves)}) happen within {window}."
        )
    if m.different is not None:
        told += (
            f" Of all pairs of different people, {percent(float(m.different))} ever act within {window} "
            "of each other."
        )
    gaps = "How long gaps are: each curve tells which share of the gaps is at most so long."
    rates = "How much people differ: their rates of batching, from those who batch least."
    return section(
        "How often people batch",
        el("p", told),
        _beside(picture(charts, "gaps", gaps), gaps_table(m)),
        _beside(picture(charts, "rates", rates), rates_table(m)) if m.actor_rates else "",
    )


def suspects(found: Audit, charts: Charts) -> Html:
    """What two acts together give away.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> "not measured" in suspects(audit(table, Question(practices=[])), {})
    True
    """
    title = "What two acts together give away"
    if not posteriors_of(found):
        missing = (
            "This was not measured: it needs both people who batch and the rate at which different people "
            "act close together, which takes long for large histories (tarry audit --different)."
        )
        return section(title, el("p", missing))
    one = posteriors_of(found)[2]
    told = (
        f"Take two acts, the second of which any of {one.suspects} people could equally well have done. "
        f"That both are one person's has a chance of {percent(1 / one.suspects)} before anything is seen, "
        f"and of {percent(one.batched)} once they appear within the window of each other."
    )
    grows = (
        "Different people count as soon as they ever act close together, be it once: their rate grows with "
        "the length of the history, and this chance shrinks with it. Compare histories of one length only."
    )
    caption = "How sure an observer can be of one person, by how many could be it."
    return section(
        title,
        el("p", told),
        el("p", grows),
        _beside(picture(charts, "posterior", caption), posterior_table(found)),
    )


def linking(found: Audit, charts: Charts) -> Html:
    """How well an observer links the acts of one person.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "b"], target=[1, 2], time=[0, 60_000_000])
    >>> "no linked pair" in linking(audit(table, Question(practices=[])), {})
    True
    """
    title = "How well an observer links them"
    if not found.linked_pairs:
        return section(title, el("p", "There is no linked pair in this history: nothing to find."))
    parts = [
        el("h3", scene_title(*scene)) + curves(found, scene, runs, charts)
        for scene, runs in scenes_of(found).items()
    ]
    several = len({cost.policy for cost in found.costs}) > 1
    costs = [el("h3", "What waiting costs"), costs_table(found)] if several else []
    return section(title, el("p", HOW_TO_READ), *(Html(part) for part in parts), *costs)


def curves(
    found: Audit, scene: tuple[str, str], runs: Sequence[Run], charts: Charts, when: str = ""
) -> Html:
    """The charts and tables of one observer and one attack.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.baselines import baseline
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> found = audit(table, Question(practices=[baseline("nothing")]))
    >>> "With nothing done, claims at a cutoff of 1m are right" in curves(
    ...     found, ("notified", "cutoff"), found.runs, {}
    ... )
    True
    """
    where = scene_name(*scene)
    several = len({run.policy for run in runs}) > 1
    many = len({run.draw for run in runs}) > 1
    drawn = " One line for each draw; points: the first." if many else ""
    hidden = " Where lines coincide, the first practice lies on top." if several else ""
    precision = f"Precision over recall, as measured; cutoffs are named.{drawn}{hidden}"
    bounded = any(score.power_bound is not None for run in runs for score in run.scores)
    dotted = " Dotted: the most that the promise allows." if bounded else ""
    roc = f"What is found against false alarms; dashed: chance.{dotted}"
    trade = "Mean delay against how often claims are right; numbers as in the table."
    return join(
        [
            el("p", scene_words(*scene), " ", "" if when else _best_claim(runs)),
            el(
                "div",
                picture(charts, f"{when}precision-{where}", precision),
                picture(charts, f"{when}roc-{where}", roc),
                class_="pair",
            ),
            scores_table(runs),
            _traded(picture(charts, f"trade-{where}", trade), lines_table(found, *scene), wide=many)
            if several and not when
            else "",
        ]
    )


def _traded(chart: Html, figures: Html, *, wide: bool) -> Html:
    """The chart and its table; below each other where ranges make the table wide."""
    return join([chart, figures]) if wide else _beside(chart, figures)


def _best_claim(runs: Sequence[Run]) -> str:
    """What the best cutoff does to people for whom nothing is done."""
    far = [
        (score.counts.precision, score)
        for run in runs
        for score in run.scores
        if run.policy == "nothing" and (score.counts.recall or 0) >= RECALL and score.counts.precision
    ]
    if not far:
        return ""
    precision, best = max(far, key=lambda pair: pair[0])
    return (
        f"With nothing done, claims at a cutoff of {seconds(best.cutoff_s)} are right {percent(precision)} "
        f"of the time and find {percent(best.counts.recall)} of the {sought(runs)}."
    )


def _beside(left: Html, right: Html) -> Html:
    return el("div", left, right, class_="beside")
