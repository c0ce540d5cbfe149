"""The report in a few lines of HTML, for a notebook: no style, no script, nothing loaded."""

from tarry.study.audit import Report
from tarry.study.figures import factor, percent, points, seconds, shown_names
from tarry.study.headline import sizes
from tarry.study.report.markup import Html, el, items, table

__all__ = ["summary_html"]

_LINES = 12  # more are for `to_frame("lines")`


def summary_html(report: Report) -> Html:
    """Sizes, headlines, the recommendation, and what each practice costs and buys.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> summary_html(audit(table, Question(practices=[])))[:48]
    '<div><p><strong>3 events by 2 actors on 3 target'
    """
    first, *others = sizes(report.measures, report.linked_pairs, report.candidate_pairs)
    parts = [el("p", el("strong", first), "".join(f"; {other}" for other in others))]
    parts.append(items("ul", report.headlines))
    if report.recommendation:
        sentence, *why = report.recommendation
        parts += [el("p", el("strong", sentence)), items("ul", why)]
    lines = report.lines
    if lines:
        names = shown_names([line.policy for line in lines])
        rows = [
            [
                *(names[line.policy], line.observer, line.attack, line.right_words),
                *(percent(line.reference), points(line.excess), factor(line.lift), seconds(line.mean_s)),
                *(percent(line.reordered), "-" if line.reply_s is None else seconds(line.reply_s)),
            ]
            for line in lines[:_LINES]
        ]
        header = ["practice", "seen by", "attack", "one person's", "reference", "excess", "lift"]
        header += ["mean delay", "reordered", "half reply within"]
        parts.append(table("How often claims are right about the person", header, rows))
    if len(lines) > _LINES:
        parts.append(el("p", f'{len(lines) - _LINES} more are in to_frame("lines").'))
    if report.notes:
        parts.append(items("ul", report.notes))
    return el("div", *parts)
