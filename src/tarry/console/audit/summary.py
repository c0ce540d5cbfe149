"""What the page of an audit shows, as plain values with figures as people read them."""

from collections.abc import Mapping
from fractions import Fraction
from statistics import fmean
from typing import Any

from tarry.core.promise import promise
from tarry.readers.columns import Columns
from tarry.study.advice import Advice
from tarry.study.audit import Audit, Question
from tarry.study.compare import compare
from tarry.study.figures import day, number, percent, seconds
from tarry.study.practice import MICROSECONDS
from tarry.study.replay import Replay
from tarry.study.words import spread_percent
from tarry.study.worth import promise_of

__all__ = ["summary"]

_SHOWN_ROWS = 5
_TOLD = "rows could not be read"  # with their lines, elsewhere


def summary(
    columns: Columns,
    found: Audit,
    advice: Advice | str,
    compared: tuple[Audit, Question] | str | None,
    choices: Mapping[str, Any],
) -> dict[str, Any]:
    """The history in short, the recommendation and the comparison. No name of anybody is in it.

    >>> import polars as pl
    >>> from tarry.readers.frames import read_frame
    >>> from tarry.study.audit import audit
    >>> from tarry.study.table import table_of
    >>> columns = read_frame(
    ...     pl.DataFrame({"user": ["a", "a"], "page": [1, 2], "time": [1.6e9, 1.6e9 + 60]})
    ... )
    >>> found = audit(table_of(columns), Question(practices=[]))
    >>> summary(columns, found, "too few events", None, {"window": "5m"})["linked"]
    '1'
    """
    m = found.measures
    return {
        "events": number(m.events),
        "actors": number(m.actors),
        "targets": number(m.targets),
        "first": day(m.first),
        "last": day(m.last),
        "window": choices["window"],
        "batched": percent(m.batching.batched_share),
        "linked": number(found.linked_pairs),
        "notes": [*columns.notes, *(note for note in found.notes if not note.endswith(_TOLD))],
        "unreadable": columns.unreadable_count,
        "unreadable_rows": [str(row) for row in columns.unreadable[:_SHOWN_ROWS]],
        "advice": _advice(advice) if isinstance(advice, Advice) else None,
        "no_advice": advice if isinstance(advice, str) else "",
        "compared": _compared(*compared, choices) if isinstance(compared, tuple) else None,
        "not_compared": compared if isinstance(compared, str) else "",
    }


def _advice(advice: Advice) -> dict[str, Any]:
    best = advice.best
    told = None if best is None else promise(best.policy)
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
        "promised": [] if told is None else list(told.promised),
        "not_promised": [] if told is None else list(told.not_promised),
    }


def _compared(sides: Audit, asked: Question, choices: Mapping[str, Any]) -> dict[str, Any]:
    """One row for each practice: its costs, what it buys against each observer, and its promise."""
    lines, observers = compare(sides), [one.name for one in asked.observers]
    policies = [one.policy for one in asked.practices if isinstance(one, Replay)]
    gap = policies[0].gap if policies else Fraction(asked.window, MICROSECONDS)
    rows = []
    for practice in asked.practices:
        own = {line.observer: line for line in lines if line.policy == practice.name}
        costs = [cost for cost in sides.costs if cost.policy == practice.name]
        rows.append(
            {
                "name": practice.name,
                "is_habit": practice.name in choices["habits"],
                "mean": seconds(fmean(cost.mean_s for cost in costs)),
                "longest": seconds(max(cost.longest_s for cost in costs)),
                "right": [spread_percent(own[n].precision) if n in own else "-" for n in observers],
                "promise": promise_of(practice, gap),
            }
        )
    later = len(asked.practices) > 1 and asked.practices[1].name == "recommended"
    return {
        "rows": rows,
        "is_later_part": later,
        "notes": [note for note in sides.notes if not note.endswith(_TOLD)],
        "events": number(sides.measures.events),
    }
