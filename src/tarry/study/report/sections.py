"""The sections of a report about the people: how they batch, and how well they are linked."""

from collections.abc import Mapping, Sequence

import altair as alt

from tarry.core import plugins
from tarry.study.attack import attack_kind
from tarry.study.audit import Report
from tarry.study.charts import chart_svg, threat_name, threats_of
from tarry.study.charts.curves import sought
from tarry.study.figures import days, number, percent, seconds, shown_names
from tarry.study.practice import OBSERVERS
from tarry.study.report.markup import Html, el, figure, inline_svg, items, join
from tarry.study.report.tables import (
    activity_table,
    costs_table,
    gaps_table,
    lines_table,
    people_table,
    posterior_table,
    rates_table,
    scores_table,
)
from tarry.study.runs import AttackRun

__all__ = [
    "Charts",
    "batching",
    "curves",
    "linking",
    "measured",
    "picture",
    "section",
    "suspects",
    "threat_title",
    "threat_words",
]

Charts = Mapping[str, alt.LayerChart]
_HOW_TO_READ = (
    "How often claims are right depends on how much else happens: among few events even a guess is often "
    "right, and somebody who knows where to look is right more often than these figures say, before and "
    "after. Compare figures of one history with one another, not with those of another history."
)


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


def measured(report: Report, stamp: Mapping[str, str]) -> Html:
    """What the history holds, what one should know of it, and how to make the report again.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> measured(audit(table, Question(practices=[])), {})[:40]
    '<section><h2>What was measured</h2><p>We'
    """
    words = (
        "We counted these events: who acted, on what, and when. All pairs of them are looked at, not a "
        "sample. Days are days of UTC."
    )
    m = report.measures
    first, last = days(m.first, m.last)
    facts = {
        "events": number(m.events),
        "people (actors)": number(m.actors),
        "targets": number(m.targets),
        "first day": first,
        "last day": last,
        "window": seconds(m.window / 1e6),
        "pairs on different targets": number(report.candidate_pairs),
        "of these linked": number(report.linked_pairs),
    }
    again = [el("h3", "To make this report again"), _listed(stamp, "stamp")] if stamp else []
    return section("What was measured", el("p", words), _listed(facts, "facts"), *_notes(report), *again)


def _listed(facts: Mapping[str, str], kind: str) -> Html:
    return el(
        "dl", *(el("div", el("dt", what), el("dd", value)) for what, value in facts.items()), class_=kind
    )


def _notes(report: Report) -> list[Html]:
    """What one should know, with practices named as everywhere on the page."""
    names = shown_names([cost.policy for cost in report.costs])
    notes = []
    for note in report.notes:
        for name, shown in names.items():
            note = note.replace(name, shown)  # noqa: PLW2901 - step by step
        notes.append(note)
    return [el("h3", "What to know"), items("ul", notes)] if notes else []


def batching(report: Report, charts: Charts) -> Html:
    """How often people batch.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> "of the events (2 of 2)" in batching(audit(table, Question(practices=[])), {})
    True
    """
    m = report.measures
    window = seconds(m.window / 1e6)
    words = (
        f"{percent(m.batching.batched_share)} of the events ({number(m.batching.with_partner)} of "
        f"{number(m.events)}) have a partner: an event of the same person on another target at most "
        f"{window} before or after."
    )
    if m.batching.moves:
        words += (
            f" {percent(m.batching.rate)} of people's moves to another target "
            f"({number(m.batching.moves_within)} of {number(m.batching.moves)}) happen within {window}."
        )
    if m.different is not None:
        words += (
            f" Of all pairs of different people, {percent(float(m.different))} ever act within {window} "
            "of each other."
        )
    gaps = "How long gaps are: each curve tells which share of the gaps is at most so long."
    rates = "How much people differ: their rates of batching, from those who batch least."
    return section(
        "How often people batch",
        el("p", words),
        _beside(picture(charts, "gaps", gaps), gaps_table(m)),
        _beside(picture(charts, "rates", rates), rates_table(m)) if m.actor_rates else "",
    )


def suspects(report: Report, charts: Charts) -> Html:
    """What two acts together give away.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> "not measured" in suspects(audit(table, Question(practices=[])), {})
    True
    """
    title = "What two acts together give away"
    if not report.posteriors:
        missing = (
            "This was not measured: it needs both people who batch and the rate at which different people "
            "act close together, which takes long for large histories (tarry audit --different)."
        )
        return section(title, el("p", missing))
    one = report.posteriors[2]
    words = (
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
        el("p", words),
        el("p", grows),
        _beside(picture(charts, "posterior", caption), posterior_table(report)),
    )


def linking(report: Report, charts: Charts) -> Html:
    """How well an observer links the acts of one person.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "b"], target=[1, 2], time=[0, 60_000_000])
    >>> "no linked pair" in linking(audit(table, Question(practices=[])), {})
    True
    """
    title = "How well an observer links them"
    if not report.linked_pairs:
        return section(title, el("p", "There is no linked pair in this history: nothing to find."))
    parts = [
        el("h3", threat_title(*threat)) + curves(report, threat, runs, charts)
        for threat, runs in threats_of(report).items()
    ]
    several = len({cost.policy for cost in report.costs}) > 1
    costs = [el("h3", "What waiting costs"), costs_table(report)] if several else []
    return section(title, el("p", _HOW_TO_READ), *(Html(part) for part in parts), *costs)


def curves(
    report: Report, threat: tuple[str, str], runs: Sequence[AttackRun], charts: Charts, when: str = ""
) -> Html:
    """The charts and tables of one observer and one attack.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report = audit(table, Question(practices=["nothing"]))
    >>> "With nothing done, claims at a cutoff of 1m are right about" in curves(
    ...     report, ("notified", "cutoff"), report.runs, {}
    ... )
    True
    """
    where = threat_name(*threat)
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
            el("p", threat_words(*threat), " ", "" if when else _best_claim(runs)),
            el(
                "div",
                picture(charts, f"{when}precision-{where}", precision),
                picture(charts, f"{when}roc-{where}", roc),
                class_="pair",
            ),
            scores_table(runs),
            people_table(runs),
            activity_table(runs),
            _traded(picture(charts, f"trade-{where}", trade), lines_table(report, *threat), wide=many)
            if several and not when
            else "",
        ]
    )


def threat_title(observer: str, attack: str) -> str:
    """A heading for one observer and one attack.

    >>> threat_title("poller:10m", "cutoff")
    'Observer poller:10m, attack cutoff'
    """
    return f"Observer {observer}, attack {attack}"


def threat_words(observer: str, attack: str) -> str:
    """Who watches, and what they do with what they see.

    >>> threat_words("archive", "cutoff")[:47]
    'The observer reads, long after, the times that '
    """
    watches = OBSERVERS.get(observer.partition(":")[0], f"is {observer}")
    name = attack.partition(":")[0]
    method = attack_kind(name).what if name in plugins.names("attack") else f"is {attack}"
    return f"The observer {watches}. The attack {method}."


def _traded(chart: Html, figures: Html, *, wide: bool) -> Html:
    """The chart and its table; below each other where ranges make the table wide."""
    return join([chart, figures]) if wide else _beside(chart, figures)


def _best_claim(runs: Sequence[AttackRun]) -> str:
    """What the best cutoff does to people for whom nothing is done."""
    best = next((run.people.best for run in runs if run.policy == "nothing"), None)
    if best is None:
        return ""
    return (
        f"With nothing done, claims at a cutoff of {seconds(best.cutoff_s)} are right about the person "
        f"{percent(best.right_person)} of the time and find {percent(best.counts.recall)} of the "
        f"{sought(runs)}."
    )


def _beside(left: Html, right: Html) -> Html:
    return el("div", left, right, class_="beside")
