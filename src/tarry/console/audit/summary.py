"""What the page of an audit shows, as plain values with figures as people read them."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from tarry.core.promise import promise
from tarry.study.advice import Advice
from tarry.study.audit import Report
from tarry.study.figures import day, number, percent, seconds
from tarry.study.runs import spread_percent

__all__ = ["summary"]

_SHOWN_ROWS = 5


def summary(report: Report, choices: Mapping[str, Any]) -> dict[str, Any]:
    """The history in short, the recommendation and the comparison. No name of anybody is in it.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> summary(audit(table, Question(practices=[])), {"window": "5m"})["linked"]
    '1'
    """
    m = report.measures
    return {
        "events": number(m.events),
        "actors": number(m.actors),
        "targets": number(m.targets),
        "first": day(m.first),
        "last": day(m.last),
        "window": choices["window"],
        "batched": percent(m.batching.batched_share),
        "linked": number(report.linked_pairs),
        "notes": [*report.reading.notes, *report.remarks],
        "unreadable": report.reading.unreadable_count,
        "unreadable_rows": [str(row) for row in report.reading.unreadable[:_SHOWN_ROWS]],
        "advice": None if report.advice is None else _advice(report.advice),
        "no_advice": report.no_advice,
        "compared": None if report.comparison is None else _compared(report.comparison, choices),
        "not_compared": report.no_comparison,
    }


def _advice(advice: Advice) -> dict[str, Any]:
    best = advice.best
    best_promise = None if best is None else promise(best.policy)
    return {
        "sentence": advice.sentence,
        "cautions": advice.cautions,
        "learned_on": number(advice.learned_on),
        "measured_on": number(advice.measured_on),
        "before": percent(advice.before),
        "is_policy": best is not None,
        "choices": [
            {
                "epsilon": f"{float(choice.policy.epsilon):g}",
                "gap": seconds(float(choice.policy.gap)),
                "mean": seconds(choice.mean_s),
                "longest": seconds(choice.longest_s),
                "right": percent(choice.precision),
                "on_frontier": advice.on_frontier(choice),
                "is_best": choice is best,
            }
            for choice in advice.choices
        ],
        "notes": list(dict.fromkeys(choice.note for choice in advice.choices if choice.note)),
        "promised": [] if best_promise is None else list(best_promise.promised),
        "not_promised": [] if best_promise is None else list(best_promise.not_promised),
    }


def _compared(sides: Report, choices: Mapping[str, Any]) -> dict[str, Any]:
    """One row for each practice: its costs, what it buys against each observer, and its promise."""
    lines, observers = sides.lines, [one.name for one in sides.question.observers]
    rows = []
    for name, words in sides.promises.items():
        seen = {line.observer: line for line in lines if line.policy == name}
        costs = [cost for cost in sides.costs if cost.policy == name]
        rows.append(
            {
                "name": name,
                "is_habit": name in choices["habits"],
                "mean": seconds(fmean(cost.mean_s for cost in costs)),
                "longest": seconds(max(cost.longest_s for cost in costs)),
                "right": [spread_percent(seen[one].precision) if one in seen else "-" for one in observers],
                "promise": words,
            }
        )
    return {
        "rows": rows,
        "is_later_part": "recommended" in sides.promises,
        "notes": list(sides.remarks),
        "events": number(sides.measures.events),
    }
