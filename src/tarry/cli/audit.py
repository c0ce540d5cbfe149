"""How linkable the people of a history are by when they act, and what a delay would change.

Prints how often people batch, how well an observer links their acts, and (unless practices of your
own are given) a recommended policy: learned on the first quarter of the events, measured on the rest,
and again on later quarters. Limits say what it must keep to.

  tarry audit month.parquet
  tarry audit votes.csv --actor voter --target proposal --html report.html
  tarry audit month.parquet --max-delay 2h --max-reordered 0.1 --least-promise 1
  tarry audit month.parquet --policy mine.toml --observer archive --observer poller:10m --draws 5
"""

import argparse
from typing import TYPE_CHECKING

from tarry.cli.history import (
    add_columns,
    add_engine,
    add_filters,
    add_limits,
    add_practices,
    add_question,
    audit_history,
    limits_from,
    question_from,
)
from tarry.cli.main import need_study
from tarry.cli.outputs import add_report, check_report, print_notes, write_report
from tarry.cli.show import print_json, print_sentences, print_table, progress_on_terminal, rounded
from tarry.core.errors import BadInput
from tarry.study.figures import days, factor, percent, points, seconds

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.study.advice import Advice
    from tarry.study.audit import Report
    from tarry.study.runs import AttackRun, Cost, Line, Spread

__all__ = [
    "Compare",
    "add_arguments",
    "print_advice",
    "print_right",
    "print_run",
    "run",
]

# From seconds to days: the best cutoff against long delays is long.
CUTOFFS = "2s,10s,30s,1m,2m,5m,10m,20m,30m,1h,2h,4h,8h,16h,1d,2d,4d"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry audit`."""
    add_columns(parser)
    add_filters(parser)
    add_practices(parser)
    add_question(parser)
    parser.add_argument(
        "--different",
        action="store_true",
        help="measure how often different people act close together on large histories too (slow)",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="also look for everybody's other name, as tarry watch (slow)",
    )
    parser.add_argument("--no-advice", action="store_true", help="measure only, recommend nothing")
    add_limits(parser)
    add_engine(parser)
    add_report(parser)


def run(arguments: argparse.Namespace) -> None:
    """Audit a history and print the report."""
    need_study()
    check_report(arguments)

    recommend = not (arguments.no_advice or arguments.policy or arguments.baseline)
    if not recommend and any(vars(limits_from(arguments)).values()):
        raise BadInput(
            "limits are for a recommendation, and none is asked for",
            "leave --policy, --baseline and --no-advice out, or the limits",
        )
    question = question_from(
        arguments, recommend=recommend, different=arguments.different or None, watch=arguments.watch
    )
    with progress_on_terminal("replays") as progress:
        report = audit_history(arguments, question, progress)
    print_notes(report.notes)
    if arguments.json:
        print_json(report.as_dict())
    else:
        _print(report)
    write_report(arguments, report)


def _print(report: "Report") -> None:
    m = report.measures
    span = " to ".join(days(m.first, m.last))
    print(f"{m.events:,} events by {m.actors:,} actors on {m.targets:,} targets, {span}")
    window = seconds(m.window / 1e6)
    print(
        f"{percent(m.batching.batched_share)} of the events have a partner within {window} "
        "(same actor, other target)"
    )
    print(f"{percent(m.batching.rate)} of an actor's moves to another target happen within {window}")
    if m.different is not None:
        print(
            f"{percent(float(m.different))} of pairs of different actors "
            f"ever act within {window} of each other"
        )
    linked, candidates = report.linked_pairs, report.candidate_pairs
    print(f"{linked:,} linked pairs among {candidates:,} pairs on different targets\n")
    for run in report.runs:
        print_run(run)
    print_right(report)
    for cost in report.costs:
        if cost.draw == 0 and cost.policy != "nothing":
            print_sentences(cost.policy, _cost_sentences(cost, m.actors))
            print()
    if report.watch is not None:
        print_sentences("after months", report.watch.sentences)
        print()
    elif report.no_watch:
        print(f"no long watch: {report.no_watch}\n")
    if report.no_advice:
        print(f"no recommendation: {report.no_advice}")
    elif report.advice is not None:
        print_advice(report.advice)


def print_right(report: "Report") -> None:
    """How often the best claims are right about the person, and what that is measured by."""
    if not report.headlines:  # nothing is claimed, or not about people
        return
    print("the best claims that find a tenth of the linked pairs")
    rows = [
        [
            *(line.policy, line.observer, line.attack, line.right_words),
            *(percent(line.reference), points(line.excess), percent(line.same_day), percent(line.base)),
            factor(line.lift),
        ]
        for line in report.lines
        if line.right_person is not None
    ]
    header = ["", "seen by", "attack", "one person's", "reference", "excess", "same day", "base", "lift"]
    print_table(header, rows)
    print("excess: one person's less the reference, in points: what batching itself gives away")
    print("lift: as many times as over all pairs (base); for orientation only\n")
    print_sentences("in short", report.headlines)
    print()


def _cost_sentences(cost: "Cost", actors: int) -> list[str]:
    """What a practice costs, in words."""
    delays = f"delays: {seconds(cost.mean_s)} on average, {seconds(cost.longest_s)} at most"
    return [delays, *([] if cost.spent is None else [cost.spent.words(actors)])]


def print_run(run: "AttackRun") -> None:
    """One attack as a table."""
    print(f"{run.policy}, seen by {run.observer}, attack {run.attack}, draw {run.draw}")
    bounded = any(score.power_bound is not None for score in run.scores)
    rows = [
        [
            seconds(score.cutoff_s),
            f"{score.counts.claims:,}",
            percent(score.right_person),
            percent(score.counts.precision),
            percent(score.counts.recall),
            *([percent(score.power_bound)] if bounded else []),
        ]
        for score in run.scores
    ]
    header = [
        "cutoff",
        "claims",
        "one person's",
        "batched",
        "found",
        *(["bound for one pair"] if bounded else []),
    ]
    print_table(header, rows)
    print()


def print_advice(advice: "Advice") -> None:
    """The policies that were tried, and the one to take."""
    print(
        f"policies learned on the first {advice.learned_on:,} events, "
        f"measured on the other {advice.measured_on:,}:\n"
    )
    header = ["", "gap", "percentile", "mean delay", "longest", "one person's", "reference", "excess"]
    now = [advice.right_words, "", "", ""]
    rows = [["nothing", "", "", "0s", "0s", *now, _length(advice.reply_before_s), ""]]
    for choice in advice.choices:
        mark = " *" if choice is advice.best else " =" if choice in advice.tied else ""
        rows.append(
            [
                f"epsilon {choice.epsilon:g}{mark}",
                rounded(choice.policy.gap),
                str(choice.percentile),
                seconds(choice.mean_s),
                seconds(choice.longest_s),
                choice.right_words,
                percent(choice.reference),
                points(choice.excess),
                percent(choice.reordered),
                _length(choice.reply_s),
                "yes" if advice.on_frontier(choice) else "",
            ]
        )
    print_table([*header, "reordered", "replies", "frontier"], rows)
    if advice.best is not None:
        print("*: recommended" + ("; =: a tie with it" if advice.tied else ""))
    for note in dict.fromkeys(choice.note for choice in advice.choices if choice.note):
        print(f"note: {note}")
    print()
    print_sentences("recommendation", advice.words)


def _length(value: float | None) -> str:
    return "-" if value is None else seconds(value)


class Compare:
    """Policies and other systems' habits side by side: what each costs, and what it buys.

    A habit that only prints another time helps against somebody who reads the archive later, and not
    against somebody who is notified: so both watch, unless --observer says otherwise.

      tarry compare month.parquet --policy epsilon=1,gap=11m --baseline hotcrp --baseline jitter:24h
      tarry compare month.parquet --policy mine.toml --policy other.toml --draws 5 --html compared.html
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of `tarry compare`."""
        add_columns(parser)
        add_filters(parser)
        add_practices(parser)
        add_question(parser, cutoffs=CUTOFFS, observers="notified and archive")
        add_engine(parser)
        add_report(parser)

    @staticmethod
    def run(arguments: argparse.Namespace) -> None:
        """Replay every practice, attack it, and print one line for each."""
        need_study()
        check_report(arguments)
        question = question_from(arguments, observers=("notified", "archive"), different=False)
        with progress_on_terminal("replays") as progress:
            report = audit_history(arguments, question, progress)
        print_notes(report.notes)
        if arguments.json:
            print_json(
                {
                    "events": report.measures.events,
                    "unreadable": report.reading.unreadable_count,
                    "practices": [
                        {
                            **line.as_dict(),
                            "promise": report.promises[line.policy],
                            "stranded": report.stranded[line.policy],
                        }
                        for line in report.lines
                    ],
                }
            )
        else:
            _print_lines(report)
        write_report(arguments, report)


def _print_lines(report: "Report") -> None:
    print_table(
        ["", "mean delay", "95 %", "longest", "reordered", "replies", "promise"], _cost_rows(report)
    )
    print("\nreordered: neighbours on one target that change places")
    print("replies: half of the acts that follow another person's on one target appear within this")
    print("delta: the chance that a batched act gives itself away for sure: it appears sooner than")
    print("one that came a gap later could; for the rest no epsilon is promised\n")
    header = ["", "seen by", "attack", "one person's", "reference", "excess", "lift"]
    print_table([*header, "batched", "average", "crossover"], [_line_row(line) for line in report.lines])
    print("\none person's: how often the best claims that find a tenth of the linked pairs are right about")
    print("the person, with an interval over people or draws; lower is better. reference: how often acts")
    print("further apart than the window, up to gap + window, are one person's anyway")
    print("excess: one person's less the reference, in points; lift: as many times as over all pairs")
    print("batched: how often claims that find a tenth of the linked pairs can be about a batch")
    print("average: average precision over all cutoffs; crossover: where misses and false alarms are equal")
    print("-: nothing is linked, or no cutoff reaches so far")
    for name, stranded in report.stranded.items():
        if stranded:
            print(f"{name} would have kept {stranded:,} events for ever; they are shown at its end")


def _cost_rows(report: "Report") -> list[list[str]]:
    """What each practice costs and promises: one row, whoever watches."""
    lines = {line.policy: line for line in report.lines}
    return [
        [
            *(name, seconds(line.mean_s), seconds(line.high_s), seconds(line.longest_s)),
            *(percent(line.reordered), _length(line.reply_s), report.promises[name]),
        ]
        for name, line in lines.items()
    ]


def _line_row(line: "Line") -> list[str]:
    return [
        *(line.policy, line.observer, line.attack, line.right_words),
        *(percent(line.reference), points(line.excess), factor(line.lift)),
        *(_figure(line.precision), _figure(line.average_precision), _figure(line.crossover)),
    ]


def _figure(spread: "Spread | None") -> str:
    """The mean, and the range where draws differ."""
    if spread is None:
        return "-"
    if percent(spread.low) == percent(spread.high):
        return percent(spread.mean)
    return f"{percent(spread.mean)} ({percent(spread.low)[:-2]}-{percent(spread.high)[:-2]})"
