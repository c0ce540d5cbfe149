"""The tables of a report as frames, for those who go on from there: one row, one figure a column."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from tarry.core.errors import BadInput
from tarry.study.person import CONFIDENCES, Calls, PairShare
from tarry.study.practice import MICROSECONDS
from tarry.study.runs import Line

if TYPE_CHECKING:  # which offers these tables itself
    from tarry.study.audit import Report

__all__ = ["TABLES", "report_frame"]

Row = Mapping[str, Any]
_SPREADS = ("right_person", "precision", "average_precision", "crossover", "recall")


def report_frame(report: "Report", name: str) -> pl.DataFrame:
    """A table of a report by its name. It is empty where nothing of the kind was measured.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report = audit(table, Question(practices=["nothing"], cutoffs=["1m"]))
    >>> report_frame(report, "scores").select("policy", "cutoff_s", "claims", "precision").rows()
    [('nothing', 60.0, 2, 0.5)]
    """
    if name not in TABLES:
        raise BadInput(f"a report has no table {name!r}", f"use {', '.join(TABLES)}")
    frame = pl.DataFrame(TABLES[name](report), infer_schema_length=None)
    unknown = [column for column, kind in frame.schema.items() if kind == pl.Null]
    return frame.with_columns(pl.col(unknown).cast(pl.Float64))  # a figure all the same


def _lines(report: "Report") -> list[Row]:
    return [_line(line, report) for line in report.lines]


def _line(line: Line, report: "Report") -> Row:
    plain = line.as_dict()
    spreads = {name: plain.pop(name) or {} for name in _SPREADS}
    called, interval = plain.pop("called"), plain.pop("interval") or (None, None)
    row = {**plain, "promise": report.promises[line.policy], "stranded": report.stranded[line.policy]}
    for name, figures in spreads.items():  # over draws
        row |= {name: figures.get("mean"), f"{name}_low": figures.get("low")}
        row[f"{name}_high"] = figures.get("high")
    row["people_low"], row["people_high"] = interval  # of right_person, over samples of people
    return {**row, **{f"called_{at:g}": called.get(f"{at:g}") for at in CONFIDENCES}}


def _scores(report: "Report") -> list[Row]:
    sometimes = {"persons": None, "multiple": None, "power_bound": None}
    return [
        {
            **{name: getattr(run, name) for name in ("policy", "observer", "attack", "draw")},
            "claims": score.counts.claims,
            **sometimes,
            **score.as_dict(),
        }
        for run in report.runs
        for score in run.scores
    ]


def _people(report: "Report") -> list[Row]:
    """Whom claims are about: a row for each confidence of the runs that were asked."""
    shares = ("people", "called", "top_share", "top_ten_share", "mean_right")
    return [
        {
            **row,
            "cutoff_s": None if calls.cutoff < 0 else calls.cutoff / MICROSECONDS,
            **{name: getattr(calls, name) for name in shares},
        }
        for row, calls in _called(report)
    ]


def _activity(report: "Report") -> list[Row]:
    """The same by how active people are."""
    return [
        {
            **row,
            "least_acts": size.least,
            "most_acts": size.most,
            "people": size.people,
            "called": size.called,
        }
        for row, calls in _called(report)
        for size in calls.sizes
    ]


def _called(report: "Report") -> Iterator[tuple[Row, Calls]]:
    for run in report.runs:
        threat = {"policy": run.policy, "observer": run.observer, "attack": run.attack}
        for confidence, calls in run.people.calls.items():
            yield {**threat, "confidence": confidence}, calls


def _costs(report: "Report") -> list[Row]:
    return [cost.as_dict() for cost in report.costs]


def _yardsticks(report: "Report") -> list[Row]:
    rows: list[Row] = []
    for policy, found in report.yardsticks.items():
        reach = {"window_s": found.window / MICROSECONDS, "reach_s": found.reach / MICROSECONDS}
        for name in ("reference", "same_day", "base"):
            pairs: PairShare = getattr(found, name)
            rows.append({"policy": policy, **reach, "yardstick": name, **vars(pairs), "share": pairs.share})
    return rows


def _choices(report: "Report") -> Sequence[Row]:
    choices: Sequence[Row] = [] if report.advice is None else report.advice.as_dict()["choices"]
    return [_flat(row) for row in choices]


def _flat(row: Row) -> Row:
    """Spreads as three columns."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {name: value["mean"], f"{name}_low": value["low"], f"{name}_high": value["high"]}
        else:
            flat[name] = value
    return flat


def _measures(report: "Report") -> list[Row]:
    """A row for each figure, and for each percentile of those that have some."""
    plain = report.as_dict()
    single = (
        *("events", "actors", "targets", "window_s", "linked_pairs", "candidate_pairs"),
        *("moves", "moves_within", "batched_share", "batching_rate", "different_rate"),
    )
    rows = [(name, None, plain[name]) for name in single]
    for name in ("in_batch_gaps_s", "null_gaps_s", "actor_rates"):
        rows += [(name, percentile, value) for percentile, value in plain[name].items()]
    return [
        {"measure": name, "percentile": percentile, "value": None if value is None else float(value)}
        for name, percentile, value in rows
    ]


def _posteriors(report: "Report") -> list[Row]:
    return [vars(posterior) for posterior in report.posteriors]


#: How the rows of each table are made.
TABLES: dict[str, Callable[["Report"], Sequence[Row]]] = {
    "lines": _lines,
    "scores": _scores,
    "people": _people,
    "activity": _activity,
    "costs": _costs,
    "yardsticks": _yardsticks,
    "choices": _choices,
    "measures": _measures,
    "posteriors": _posteriors,
}
