"""The report: one HTML file with everything in it, without a script, that asks nobody for anything."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tarry.study.advice import Advice
from tarry.study.audit import Audit
from tarry.study.charts import audit_charts
from tarry.study.figures import day, number
from tarry.study.practice import MICROSECONDS, Practice
from tarry.study.replay import Replay
from tarry.study.report.advice import glossary, recommendation
from tarry.study.report.markup import Html, el
from tarry.study.report.measured import measured
from tarry.study.report.page import whole_page
from tarry.study.report.promises import promises
from tarry.study.report.sections import batching, linking, suspects
from tarry.study.report.short import in_short
from tarry.study.worth import promise_of

__all__ = ["TITLE", "report_html"]

TITLE = "How linkable are these people by when they act?"


def report_html(
    found: Audit,
    advice: Advice | str | None = None,
    *,
    title: str = TITLE,
    after: Audit | None = None,
    practices: Sequence[Practice] = (),
    stamp: Mapping[str, str] | None = None,
) -> str:
    """A whole report. No name of an actor or target is in it, and no path of a file.

    `after` is an audit of what was recommended beside doing nothing (`replay_advice`); `practices` are
    those of the audit: what they promise is told; `stamp` is what one needs to make the report again.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.baselines import baseline
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report_html(audit(table, Question(practices=[baseline("nothing")])), title="Us")[:15]
    '<!doctype html>'
    """
    charts = audit_charts(found, advice, after)
    told = {one.name: one.policy for one in practices if isinstance(one, Replay)}
    # Delays that know no policy are measured by the gap of the first, or by the window.
    gap = next((policy.gap for policy in told.values()), Fraction(found.measures.window, MICROSECONDS))
    worth = {one.name: promise_of(one, gap) for one in practices}
    if isinstance(advice, Advice) and advice.best is not None:
        told = {"recommended": advice.best.policy, **told}
    return whole_page(
        title,
        _header(found, title),
        in_short(found, advice, worth),
        measured(found, stamp),
        batching(found, charts),
        suspects(found, charts),
        linking(found, charts),
        recommendation(advice, after, charts),
        promises(told, worth, gap),
        glossary(),
    )


def _header(found: Audit, title: str) -> Html:
    m = found.measures
    lead = (
        f"{number(m.events)} events by {number(m.actors)} people on {number(m.targets)} targets, "
        f"{day(m.first)} to {day(m.last)}"
    )
    return el("header", el("h1", title), el("p", lead, class_="lead"))
