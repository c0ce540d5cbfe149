"""How often an observer who adds up over months finds a person's other name.

Each person's targets are dealt out to two names: at random, which is the worst case, and by time, first
one name and then the other. An observer sees names and releases, and looks for each name's other one
among all. Beside each practice stands what dates alone tell, and the months of activity.

  tarry watch month.parquet
  tarry watch votes.csv --policy epsilon=0.5,gap=11m --policy season.toml --splits 5 --html watch.html
"""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tarry.cli.history import (
    add_columns,
    add_filters,
    add_practices,
    open_columns,
    open_table,
    practices_from,
)
from tarry.cli.main import need_study
from tarry.cli.outputs import add_report, check_report, write_pages
from tarry.cli.show import print_json, print_sentences, print_table, progress_on_terminal
from tarry.core.exact import parse_duration
from tarry.study.memory import watching

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.study.watch import Watch, WatchQuestion
    from tarry.study.watch.section import WatchSection

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry watch`."""
    add_columns(parser)
    add_filters(parser)
    add_practices(parser)
    parser.add_argument(
        "--observer",
        metavar="NAME",
        default="notified",
        help="notified, poller:INTERVAL or archive (default notified)",
    )
    parser.add_argument(
        "--allow-code", action="store_true", help="let --baseline name module:NAME, and run that code"
    )
    truth = "acts of one actor at most this far apart are batched (default 5m)"
    parser.add_argument("--window", metavar="DURATION", default="5m", help=truth)
    for flag, default, text in (
        ("splits", 3, "how often targets are dealt out at random"),
        ("draws", 1, "how often to simulate each practice that draws"),
        ("least", 10, "acts that a name must have to be a candidate"),
        ("queries", 1000, "names of one split, at most, whose other name is looked for"),
        ("seed", 0, "of the splits and of the simulated delays"),
    ):
        parser.add_argument(
            f"--{flag}", metavar="N", type=int, default=default, help=f"{text} (default {default})"
        )
    add_report(parser)


def run(arguments: argparse.Namespace) -> None:
    """Watch a history and print how often other names are found."""
    need_study()
    check_report(arguments)
    from tarry.study.watch import watch  # noqa: PLC0415 - only where the study is installed
    from tarry.study.watch.section import watch_section  # noqa: PLC0415 - likewise

    question = _question(arguments)
    replays = len(question.practices) * question.draws + question.splits + 1
    table = open_table(arguments, open_columns(arguments, watching(replays)))
    with progress_on_terminal("searches") as progress:
        long_watch = watch(table, question, progress)
    for note in (*table.notes, *long_watch.notes):
        print(f"note: {note}", file=sys.stderr)
    if arguments.json:
        print_json(long_watch.as_dict())
    else:
        _print(watch_section(long_watch))
    _write(arguments, long_watch, table.notes)


def _write(arguments: argparse.Namespace, long_watch: "Watch", notes: Sequence[str]) -> None:
    """The page and the pictures, where asked for: charts are slow to load."""
    if arguments.html is None and arguments.charts is None:
        return
    from tarry.study.charts import watch_charts  # noqa: PLC0415 - as said above
    from tarry.study.report.long_watch import watch_html  # noqa: PLC0415 - likewise

    write_pages(arguments, lambda: watch_html(long_watch, notes), lambda: watch_charts(long_watch))


def _question(arguments: argparse.Namespace) -> "WatchQuestion":
    from tarry.study.practice import observer  # noqa: PLC0415 - likewise
    from tarry.study.watch import WatchQuestion  # noqa: PLC0415 - likewise

    return WatchQuestion(
        practices=practices_from(arguments.policy, arguments.baseline, allow_code=arguments.allow_code),
        observer=observer(arguments.observer),
        window=int(parse_duration(arguments.window, "the window") * 1_000_000),
        splits=arguments.splits,
        draws=arguments.draws,
        seed=arguments.seed,
        least_acts=arguments.least,
        most_queries=arguments.queries,
    )


def _print(section: "WatchSection") -> None:
    print("\n".join(section.lead))
    for table in (*section.found, *section.growth):
        print(f"\n{table.title}")
        print_table(table.header, table.rows)
    print("\n" + "\n".join(section.legend) + "\n")
    print_sentences("in short", section.sentences)
