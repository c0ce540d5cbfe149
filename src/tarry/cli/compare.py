"""Policies and other systems' habits side by side: what each costs, and what it buys.

A habit that only prints another time helps against somebody who reads the archive later, and not
against somebody who is notified: so both watch, unless --observer says otherwise.

  tarry compare month.parquet --policy epsilon=1,gap=11m --baseline hotcrp --baseline jitter:24h
  tarry compare month.parquet --policy mine.toml --policy other.toml --draws 5 --html compared.html
"""

import argparse
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tarry.cli.extras import need_study
from tarry.cli.history import (
    add_columns,
    add_filters,
    add_practices,
    add_question,
    ask,
    open_columns,
    open_table,
)
from tarry.cli.options import add_json
from tarry.cli.reports import add_report, check_report, tell_notes, write_report
from tarry.cli.show import print_json, print_table, progress_on_terminal
from tarry.study.figures import percent, seconds

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.study.audit import Question
    from tarry.study.compare import Line, Spread
    from tarry.study.practice import Practice
    from tarry.study.table import EventTable

__all__ = ["add_arguments", "run"]

# From seconds to days: the best cutoff against long delays is long.
CUTOFFS = "2s,10s,30s,1m,2m,5m,10m,20m,30m,1h,2h,4h,8h,16h,1d,2d,4d"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry compare`."""
    add_columns(parser)
    add_filters(parser)
    add_practices(parser)
    add_question(parser, cutoffs=CUTOFFS, observers="notified and archive")
    add_report(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Replay every practice, attack it, and print one line for each."""
    need_study()
    check_report(arguments)
    from tarry.study.audit import audit  # noqa: PLC0415 - only where the study is installed
    from tarry.study.compare import compare  # noqa: PLC0415 - likewise

    question = ask(arguments, observers=("notified", "archive"))
    columns = open_columns(arguments)
    table = open_table(arguments, columns)
    with progress_on_terminal("replays") as progress:
        found = audit(table, question, different=False, progress=progress)
    tell_notes(found)
    lines = compare(found)
    notes = {practice.name: _note(practice, question, table) for practice in question.practices}
    if arguments.json:
        told = {"events": len(table), "unreadable": columns.unreadable_count}
        print_json({**told, "practices": [{**asdict(line), **notes[line.policy]} for line in lines]})
    else:
        _print(lines, notes)
    write_report(arguments, table, question, found)
    return 0


def _note(practice: "Practice", question: "Question", table: "EventTable") -> dict[str, Any]:
    """What a practice promises, and how many events it would have kept for ever."""
    from tarry.study.baselines import stranded  # noqa: PLC0415 - only where the study is installed
    from tarry.study.replay import Replay  # noqa: PLC0415 - likewise
    from tarry.study.worth import promise_of  # noqa: PLC0415 - likewise

    policies = [other.policy for other in question.practices if isinstance(other, Replay)]
    gap = policies[0].gap if policies else Fraction(question.window, 1_000_000)
    return {"promise": promise_of(practice, gap), "stranded": stranded(practice, table.history)}


def _print(lines: "list[Line]", notes: dict[str, dict[str, Any]]) -> None:
    header = [
        "",
        "seen by",
        "attack",
        "mean delay",
        "95 %",
        "longest",
        "reordered",
        "right",
        "average",
        "crossover",
    ]
    print_table(header, [_row(line) for line in lines])
    print("\nright: how often claims that find a tenth of the linked pairs can be right; lower is better")
    print("average: average precision over all cutoffs; crossover: where misses and false alarms are equal")
    print("-: nothing is linked, or no cutoff reaches so far")
    print("reordered: neighbours on one target that change places\n")
    print_table(["", "promise"], [[name, note["promise"]] for name, note in notes.items()])
    print("\ndelta: the chance that a batched act gives itself away for sure: it appears sooner than")
    print("one that came a gap later could; for the rest no epsilon is promised")
    for name, note in notes.items():
        if note["stranded"]:
            print(f"{name} would have kept {note['stranded']:,} events for ever; they are shown at its end")


def _row(line: "Line") -> list[str]:
    return [
        line.policy,
        line.observer,
        line.attack,
        seconds(line.mean_s),
        seconds(line.high_s),
        seconds(line.longest_s),
        percent(line.reordered),
        _figure(line.precision),
        _figure(line.average_precision),
        _figure(line.crossover),
    ]


def _figure(spread: "Spread | None") -> str:
    """The mean, and the range where draws differ."""
    if spread is None:
        return "-"
    if percent(spread.low) == percent(spread.high):
        return percent(spread.mean)
    return f"{percent(spread.mean)} ({percent(spread.low)[:-2]}-{percent(spread.high)[:-2]})"
