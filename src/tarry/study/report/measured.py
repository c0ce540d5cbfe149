"""The section of a report about the history itself, and about how the report was made."""

from collections.abc import Mapping

from tarry.study.audit import Audit
from tarry.study.figures import day, number, seconds
from tarry.study.report.markup import Html, el, items
from tarry.study.report.sections import section
from tarry.study.words import shown_names

__all__ = ["measured"]


def measured(found: Audit, stamp: Mapping[str, str] | None = None) -> Html:
    """What the history holds, what one should know of it, and how to make the report again.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> measured(audit(table, Question(practices=[])))[:40]
    '<section><h2>What was measured</h2><p>Co'
    """
    told = (
        "Counted are these events: who acted, on what, and when. All pairs of them are looked at, not a "
        "sample. Days are days of UTC."
    )
    m = found.measures
    facts = {
        "events": number(m.events),
        "people (actors)": number(m.actors),
        "targets": number(m.targets),
        "first day": day(m.first),
        "last day": day(m.last),
        "window": seconds(m.window / 1e6),
        "pairs on different targets": number(found.candidate_pairs),
        "of these linked": number(found.linked_pairs),
    }
    return section(
        "What was measured", el("p", told), _listed(facts, "facts"), *_notes(found), *_stamped(stamp or {})
    )


def _listed(facts: Mapping[str, str], kind: str) -> Html:
    return el(
        "dl", *(el("div", el("dt", what), el("dd", told)) for what, told in facts.items()), class_=kind
    )


def _notes(found: Audit) -> list[Html]:
    """What one should know, with practices named as everywhere on the page."""
    names = shown_names([cost.policy for cost in found.costs])
    notes = []
    for note in found.notes:
        for name, shown in names.items():
            note = note.replace(name, shown)  # noqa: PLW2901 - step by step
        notes.append(note)
    return [el("h3", "What to know"), items("ul", notes)] if notes else []


def _stamped(stamp: Mapping[str, str]) -> list[Html]:
    return [el("h3", "To make this report again"), _listed(stamp, "stamp")] if stamp else []
