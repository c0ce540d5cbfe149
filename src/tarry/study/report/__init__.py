"""The report: one HTML file with everything in it, without a script, that asks nobody for anything."""

from collections.abc import Mapping

from tarry.core.policy import Policy
from tarry.study.advice import Advice
from tarry.study.audit import Audit
from tarry.study.charts import audit_charts
from tarry.study.compare import compare
from tarry.study.figures import day, number, percent, seconds
from tarry.study.report.advice import glossary, promises, recommendation
from tarry.study.report.markup import Html, el
from tarry.study.report.page import whole_page
from tarry.study.report.sections import batching, linking, measured, section, suspects

__all__ = ["TITLE", "report_html"]

TITLE = "How linkable are these people by when they act?"


def report_html(
    found: Audit,
    advice: Advice | str | None = None,
    *,
    title: str = TITLE,
    after: Audit | None = None,
    policies: Mapping[str, Policy] | None = None,
) -> str:
    """A whole report. No name of an actor or target is in it, and no path of a file.

    `after` is an audit of what was recommended beside doing nothing (`replay_advice`); `policies` are
    those among the practices, by their names: their promises are told.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.baselines import baseline
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report_html(audit(table, Question(practices=[baseline("nothing")])), title="Us")[:15]
    '<!doctype html>'
    """
    charts = audit_charts(found, advice, after)
    told = dict(policies or {})
    if isinstance(advice, Advice) and advice.best is not None:
        told = {"recommended": advice.best.policy, **told}
    return whole_page(
        title,
        _header(found, title),
        _in_short(found, advice),
        measured(found),
        batching(found, charts),
        suspects(found, charts),
        linking(found, charts),
        recommendation(advice, after, charts),
        promises(told),
        glossary(),
    )


def _header(found: Audit, title: str) -> Html:
    m = found.measures
    lead = (
        f"{number(m.events)} events by {number(m.actors)} people on {number(m.targets)} targets, "
        f"{day(m.first)} to {day(m.last)}"
    )
    return el("header", el("h1", title), el("p", lead, class_="lead"))


def _in_short(found: Audit, advice: Advice | str | None) -> Html:
    m = found.measures
    tiles = [
        (percent(m.batching.batched_share), f"of acts have a partner within {seconds(m.window / 1e6)}"),
    ]
    claims = "of claims can be right that find a tenth of the linked pairs"
    if isinstance(advice, Advice) and advice.best is not None:
        tiles.append((percent(advice.before), f"{claims}, with nothing done"))
        tiles.append((percent(advice.best.precision), "of them with the recommended policy"))
        tiles.append((seconds(advice.best.mean_s), "mean delay of that policy"))
    else:
        now = [line for line in compare(found) if line.policy == "nothing"]
        known = [line.precision.mean for line in now[:1] if line.precision is not None]
        tiles += [(percent(precision), f"{claims}, with nothing done") for precision in known]
    told = [el("div", el("dt", words), el("dd", figure)) for figure, words in tiles]
    best = el("p", advice.sentence, class_="advice") if isinstance(advice, Advice) else ""
    return section("In short", el("dl", *told, class_="tiles"), best)
