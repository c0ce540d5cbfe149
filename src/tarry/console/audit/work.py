"""The audit itself, as the commands do it: what was found is written into the folder at hand.

What a page shows of it are plain values, with figures as people read them.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import urlencode

from tarry.console.audit.look import check_unpacked
from tarry.core.exact import format_duration, json_number
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.core.promise import promise
from tarry.readers.files import read_history
from tarry.study.advice import Advice
from tarry.study.audit import Report, audit
from tarry.study.figures import days, factor, number, percent, points, seconds
from tarry.study.question import Question
from tarry.study.replay import replay
from tarry.study.runs import Line

__all__ = ["summary", "work"]

_UNPACKED = 1 << 30
_SHOWN_ROWS = 5


def work(path: Path, choices: Mapping[str, Any], tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    r"""Audit a file and write what was found into the folder at hand; the answer is what a page shows.

    The file is gone as soon as it was read.

    >>> from tempfile import TemporaryDirectory
    >>> from tarry.console.audit.page import USUAL, read_choices
    >>> form = {**USUAL, "actor": "user", "target": "page", "time": "at"}
    >>> choices = read_choices(form, ["user", "page", "at"], {})
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "one.csv"
    ...     _ = path.write_text("user,page,at\nann,p1,1700000000\n")
    ...     work(path, choices, [].append)
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: a history needs at least 2 events to have pairs, and 1 is left of 1 ...
    """
    tell({"stage": "reading"})
    check_unpacked(path, _UNPACKED)
    columns = read_history(
        path,
        actor=choices["actor"],
        target=choices["target"],
        time=choices["time"],
        time_unit=choices["unit"],
    )

    def hear(stage: str, done: int, total: int) -> None:
        path.unlink(missing_ok=True)  # all of it is read now
        # Charts of before and after are made while the report is written.
        message = {"stage": "writing" if stage == "replaying" else stage}
        tell(message | ({"done": done, "all": total} if done else {}))

    policies = [replay(read_policy(text), name) for name, text in choices["policies"].items()]
    question = Question(
        window=choices["window"],
        cutoffs=choices["cutoffs"],
        stretch=choices["is_usual"],
        epsilons=choices["epsilons"],
        without_bots=choices["without_bots"],
        collapse=choices["collapse"],
        busy_limit=choices["busy"],
        compared=[*choices["habits"], *policies],
    )
    report = audit(columns, question, progress=hear)
    tell({"stage": "writing"})
    _write(report)
    return summary(report, choices)


def _write(report: Report) -> None:
    Path("report.html").write_text(report.html(), encoding="utf-8")
    if report.comparison is not None:
        Path("comparison.html").write_text(report.comparison.html(), encoding="utf-8")
    Path("figures.json").write_text(
        json.dumps(report.as_dict(), indent=2, default=json_number) + "\n", encoding="utf-8"
    )
    if report.advice is not None and report.advice.best is not None:
        Path("policy.toml").write_text(write_policy(report.advice.best.policy), encoding="utf-8")


def summary(report: Report, choices: Mapping[str, Any]) -> dict[str, Any]:
    """The history in short, the recommendation and the comparison. No name of anybody is in it.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> summary(audit(table, Question(practices=[])), {"window": "5m"})["linked"]
    '1'
    """
    m = report.measures
    first, last = days(m.first, m.last)
    return {
        "events": number(m.events),
        "actors": number(m.actors),
        "targets": number(m.targets),
        "first": first,
        "last": last,
        "window": choices["window"],
        "batched": percent(m.batching.batched_share),
        "linked": number(report.linked_pairs),
        "now": [_right(line) for line in report.lines[:1] if line.right_person is not None],
        "notes": [*report.reading.notes, *report.remarks],
        "unreadable": report.reading.unreadable_count,
        "unreadable_rows": [str(row) for row in report.reading.unreadable[:_SHOWN_ROWS]],
        "advice": None if report.advice is None else _advice(report.advice),
        "no_advice": report.no_advice,
        "compared": None if report.comparison is None else _compared(report.comparison, choices),
        "not_compared": report.no_comparison,
    }


def _right(line: Line) -> dict[str, str]:
    """How often claims are right about the person as it is, and what that is measured by."""
    return {
        "right": line.right_words,
        "reference": percent(line.reference),
        "excess": points(line.excess),
        "same_day": percent(line.same_day),
        "base": percent(line.base),
        "lift": factor(line.lift),
    }


def _advice(advice: Advice) -> dict[str, Any]:
    best = advice.best
    best_promise = None if best is None else promise(best.policy)
    return {
        "sentence": advice.sentence,
        "cautions": [*advice.reasons, *advice.cautions],
        "learned_on": number(advice.learned_on),
        "measured_on": number(advice.measured_on),
        "before": advice.right_words,
        "before_share": advice.right_before,
        "replies_before": "-" if advice.reply_before_s is None else seconds(advice.reply_before_s),
        "is_policy": best is not None,
        "choices": [
            {
                "epsilon": f"{float(choice.policy.epsilon):g}",
                "gap": seconds(float(choice.policy.gap)),
                "policy": write_policy(choice.policy),
                "query": _query(choice.policy),
                "mean": seconds(choice.mean_s),
                "mean_s": choice.mean_s,
                "longest": seconds(choice.longest_s),
                "right": choice.right_words,
                "share": choice.right_person,
                "reference": percent(choice.reference),
                "excess": points(choice.excess),
                "reordered": percent(choice.reordered),
                "replies": "-" if choice.reply_s is None else seconds(choice.reply_s),
                "on_frontier": advice.on_frontier(choice),
                "is_best": choice is best,
                "is_tied": choice in advice.tied,
            }
            for choice in advice.choices
        ],
        "notes": list(dict.fromkeys(choice.note for choice in advice.choices if choice.note)),
        "promised": [] if best_promise is None else list(best_promise.promised),
        "not_promised": [] if best_promise is None else list(best_promise.not_promised),
    }


def _query(policy: Policy) -> str:
    """The policy as the workbench's address has it."""
    lengths = {name: format_duration(getattr(policy, name)) for name in ("gap", "window")}
    numbers = {name: f"{float(getattr(policy, name)):g}" for name in ("epsilon", "weight")}
    return urlencode({"law": "pair", **numbers, **lengths})


def _compared(sides: Report, choices: Mapping[str, Any]) -> dict[str, Any]:
    """One row for each practice: its costs, what it buys against each observer, and its promise."""
    observers = [one.name for one in sides.question.observers]
    policies = {each.name for each in sides.question.practices if each.policy is not None}
    rows = []
    for name, words in sides.promises.items():
        seen = {line.observer: line for line in sides.lines if line.policy == name}
        first = next(iter(seen.values()), None)
        costs = [cost for cost in sides.costs if cost.policy == name]
        rows.append(
            {
                "name": name,
                "is_habit": name in choices["habits"],
                "mean": seconds(mean_s := fmean(cost.mean_s for cost in costs)),
                "mean_s": mean_s,
                "longest": seconds(max(cost.longest_s for cost in costs)),
                "right": [seen[one].right_words if one in seen else "-" for one in observers],
                "share": None if first is None or first.right_person is None else first.right_person.mean,
                "is_policy": name in policies,
                "reference": "-" if first is None else percent(first.reference),
                "excess": "-" if first is None else points(first.excess),
                "lift": "-" if first is None else factor(first.lift),
                "promise": words,
            }
        )
    return {
        "rows": rows,
        "is_later_part": "recommended" in sides.promises,
        "notes": list(sides.remarks),
        "events": number(sides.measures.events),
    }
