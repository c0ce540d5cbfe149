"""Policies and other systems' habits side by side: what each costs, and what it buys.

A habit that only prints another time helps against somebody who reads the archive later, and not
against somebody who is notified: so both watch, unless --observer says otherwise.

  tarry compare month.parquet --policy epsilon=1,gap=11m --baseline hotcrp --baseline jitter:24h
  tarry compare month.parquet --policy mine.toml --policy other.toml --draws 5 --html compared.html
"""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from tarry.cli.history import (
    add_columns,
    add_filters,
    add_practices,
    add_question,
    any_stage,
    open_columns,
    question_from,
)
from tarry.cli.main import need_study
from tarry.cli.outputs import add_report, check_report, print_notes, write_report
from tarry.cli.show import print_json, print_table, progress_on_terminal
from tarry.study.figures import percent, seconds

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.study.audit import Report
    from tarry.study.compare import Line, Spread

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


def run(arguments: argparse.Namespace) -> int:
    """Replay every practice, attack it, and print one line for each."""
    need_study()
    check_report(arguments)
    from tarry.study.audit import audit  # noqa: PLC0415 - only where the study is installed

    question = question_from(arguments, observers=("notified", "archive"), different=False)
    columns = open_columns(arguments)
    with progress_on_terminal("replays") as progress:
        report = audit(columns, question, progress=any_stage(progress))
    print_notes(report)
    if arguments.json:
        print_json(
            {
                "events": report.measures.events,
                "unreadable": report.reading.unreadable_count,
                "practices": [
                    {
                        **asdict(line),
                        "promise": report.promises[line.policy],
                        "stranded": report.stranded[line.policy],
                    }
                    for line in report.lines
                ],
            }
        )
    else:
        _print(report)
    write_report(arguments, report)
    return 0


def _print(report: "Report") -> None:
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
    print_table(header, [_row(line) for line in report.lines])
    print("\nright: how often claims that find a tenth of the linked pairs can be right; lower is better")
    print("average: average precision over all cutoffs; crossover: where misses and false alarms are equal")
    print("-: nothing is linked, or no cutoff reaches so far")
    print("reordered: neighbours on one target that change places\n")
    print_table(["", "promise"], [[name, promise] for name, promise in report.promises.items()])
    print("\ndelta: the chance that a batched act gives itself away for sure: it appears sooner than")
    print("one that came a gap later could; for the rest no epsilon is promised")
    for name, stranded in report.stranded.items():
        if stranded:
            print(f"{name} would have kept {stranded:,} events for ever; they are shown at its end")


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
