"""The long watch in a report, and as a page of its own."""

from collections.abc import Sequence

from tarry.study.audit import Report
from tarry.study.charts import watch_charts
from tarry.study.report.markup import Html, el, items, join, table, whole_page
from tarry.study.report.sections import Charts, picture, section
from tarry.study.watch import Watch
from tarry.study.watch.section import WatchTable, watch_section

__all__ = ["long_watch", "watch_html", "watched"]

_TITLE = "After months: who is whose other name"
_CAPTION = (
    "How often the other name comes first, over the {} that both names share, with 95 % intervals. Targets "
    "are split at random. Dashed: what dates alone tell, and the months of activity."
)


def long_watch(report: Report, charts: Charts) -> Html:
    """How often somebody who adds up over months finds a person's other name; nothing where nobody asked.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> long_watch(audit(table, Question(practices=["nothing"])), {})
    ''
    """
    if report.no_watch:
        return section(_TITLE, el("p", f"Not measured: {report.no_watch}."))
    return Html() if report.watch is None else watched(report.watch, charts)


def watched(watch: Watch, charts: Charts) -> Html:
    """The figures of a long watch, and its charts.

    >>> empty = Watch(people=2, candidates=4.0, queries=4, window_s=300.0, findings=(), notes=())
    >>> watched(empty, {})[:50]
    '<section><h2>After months: who is whose other name'
    """
    shown = watch_section(watch)
    growth = zip(("sessions", "weeks"), shown.growth, strict=False)
    return section(
        _TITLE,
        el(
            "p",
            "Each person's targets are dealt out to two names, and the other one of each is looked for.",
        ),
        items("ul", shown.sentences),
        items("ul", shown.lead),
        *map(_as_table, shown.found),
        *(
            join([picture(charts, f"watch-{shared}", _CAPTION.format(shared)), _as_table(one)])
            for shared, one in growth
        ),
        items("ul", shown.legend),
        *(el("p", f"Note: {note}", class_="small") for note in watch.notes),
    )


def _as_table(one: WatchTable) -> Html:
    return table(one.title, one.header, one.rows)


def watch_html(watch: Watch, notes: Sequence[str] = ()) -> str:
    """A whole page of one watch; notes are what one should know of the history.

    >>> empty = Watch(people=2, candidates=4.0, queries=4, window_s=300.0, findings=(), notes=())
    >>> watch_html(empty)[:15]
    '<!doctype html>'
    """
    header = el("header", el("h1", "Whose other name is this?"))
    about = [el("p", f"Note: {note}", class_="small") for note in notes]
    return whole_page(_TITLE, header, watched(watch, watch_charts(watch)), *about)
