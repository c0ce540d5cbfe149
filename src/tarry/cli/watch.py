"""How often an observer who adds up over months finds a person's other name.

Each person's targets are dealt out to two names: at random, which is the worst case, and by time, first
one name and then the other. An observer sees names and releases, and looks for each name's other one
among all. Beside each practice stands what dates alone tell, and the months of activity.

  tarry watch month.parquet
  tarry watch votes.csv --policy epsilon=0.5,gap=11m --policy season.toml --splits 5
"""

import argparse
import sys
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
from tarry.cli.show import print_json, print_sentences, print_table, progress_on_terminal
from tarry.core.exact import parse_duration
from tarry.study.figures import number, percent, seconds

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.study.watch import Watch, WatchQuestion
    from tarry.study.watch.findings import Finding

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


def run(arguments: argparse.Namespace) -> None:
    """Watch a history and print how often other names are found."""
    need_study()
    from tarry.study.watch import watch  # noqa: PLC0415 - only where the study is installed

    question = _question(arguments)
    table = open_table(arguments, open_columns(arguments))
    with progress_on_terminal("searches") as progress:
        found = watch(table, question, progress)
    for note in (*table.notes, *found.notes):
        print(f"note: {note}", file=sys.stderr)
    if arguments.json:
        print_json(found.as_dict())
    else:
        _print(found)


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


def _print(found: "Watch") -> None:
    print(f"{found.people:,} people; {number(round(found.candidates))} names are candidates")
    print(
        f"{found.queries:,} searches for a name's other one; "
        f"a blind guess is right {percent(found.chance)} of the time"
    )
    for split in dict.fromkeys(finding.split for finding in found.findings):
        print(f"\ntargets split {'at random' if split == 'random' else 'by time'}")
        rows = [_row(finding) for finding in found.findings if finding.split == split]
        print_table(["", "attack", "first (95 %)", "among ten", "area", "ledger"], rows)
    print("\nfirst: how often the other name comes before all others; among ten: how often it is there")
    print("area: the share of other names that come after it; 50 % is chance")
    print(
        "ledger: the chance of the right name that the policy's ledger alone would allow; its two stories"
    )
    print("are about one person, so comparing a person with everybody else may find more\n")
    _print_growth(found)
    print_sentences("in short", found.sentences)


def _row(finding: "Finding") -> list[str]:
    return [
        finding.practice,
        finding.attack,
        finding.first.text,
        percent(finding.among_ten.mean),
        percent(finding.area.mean),
        "" if finding.ledger is None else percent(finding.ledger),
    ]


def _print_growth(found: "Watch") -> None:
    """How the share grows, for the likelihood attack on random splits."""
    findings = [one for one in found.findings if (one.split, one.attack) == ("random", "likelihood")]
    within = f"sessions with both names, pauses up to {seconds(found.window_s)}"
    for what, kind in ((within, "by_sessions"), ("weeks with both names", "by_weeks")):
        steps = [getattr(finding, kind) for finding in findings]
        header = [what, "searches", *(finding.practice for finding in findings)]
        rows = [
            [same[0].text, f"{same[0].queries:,}", *(percent(step.first.mean) for step in same)]
            for same in zip(*steps, strict=True)
        ]
        print_table(header, rows)
        print()
