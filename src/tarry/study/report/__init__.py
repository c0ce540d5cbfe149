"""The report: one HTML file with everything in it, without a script, that asks nobody for anything."""

from collections.abc import Mapping
from importlib.resources import files

from tarry.core.policy import Policy
from tarry.study.advice import Advice
from tarry.study.audit import Audit
from tarry.study.charts import audit_charts
from tarry.study.charts.style import DARK, FONT, LIGHT
from tarry.study.compare import compare
from tarry.study.figures import day, number, percent, seconds
from tarry.study.report.advice import glossary, promises, recommendation
from tarry.study.report.markup import Html, el
from tarry.study.report.sections import batching, linking, measured, section, suspects

__all__ = ["TITLE", "report_html"]

TITLE = "How linkable are these people by when they act?"
# No script, no font, no picture from anywhere: what is not in the file does not exist.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)


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
    main = el(
        "main",
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
    footer = el("footer", el("p", "Made with tarry. Everything shown is in this file; nothing is loaded."))
    return f"<!doctype html>\n{el('html', _head(title), el('body', main, footer), lang='en')}\n"


def _head(title: str) -> Html:
    css = files("tarry.study.report").joinpath("report.css").read_text(encoding="utf-8")
    return el(
        "head",
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        el("title", title),
        el("style", Html(f"{_colours()}{css}")),
    )


def _colours() -> str:
    """The palette as variables, light and dark, and the charts' fixed colours bound to them."""
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in palette.items()) for palette in (LIGHT, DARK)
    )
    bound = "".join(
        f'svg [{kind}="{colour}"]{{{kind}:var(--{name})}}\n'
        for name, colour in LIGHT.items()
        for kind in ("fill", "stroke")
    )
    return (
        f":root{{{light}--font:{FONT}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{bound}"
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
        tiles += [(percent(line.precision.mean), f"{claims}, with nothing done") for line in now[:1]]
    told = [el("div", el("dt", words), el("dd", figure)) for figure, words in tiles]
    best = el("p", advice.sentence, class_="advice") if isinstance(advice, Advice) else ""
    return section("In short", el("dl", *told, class_="tiles"), best)
