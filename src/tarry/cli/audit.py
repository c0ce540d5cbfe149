"""How linkable the people of a history are by when they act, and what a delay would change.

Prints how often people batch, how well an observer links their acts, and (unless practices of your
own are given) a recommended policy: learned on the first quarter of the events, measured on the rest.

  tarry audit month.parquet
  tarry audit votes.csv --actor voter --target proposal --html report.html
  tarry audit month.parquet --policy mine.toml --observer archive --observer poller:10m --draws 5
"""

import argparse
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
from tarry.cli.show import print_json, print_sentences, print_table, progress_on_terminal, rounded
from tarry.study.figures import day, percent, seconds

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.study.advice import Advice
    from tarry.study.audit import Report
    from tarry.study.runs import AttackRun, Cost

__all__ = [
    "add_arguments",
    "print_advice",
    "print_run",
    "run",
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry audit`."""
    add_columns(parser)
    add_filters(parser)
    add_practices(parser)
    add_question(parser)
    rate = "measure how often different people act close together on large histories too (slow)"
    parser.add_argument("--different", action="store_true", help=rate)
    parser.add_argument("--no-advice", action="store_true", help="measure only, recommend nothing")
    add_report(parser)


def run(arguments: argparse.Namespace) -> int:
    """Audit a history and print the report."""
    need_study()
    check_report(arguments)
    from tarry.study.audit import audit  # noqa: PLC0415 - only where the study is installed

    recommend = not (arguments.no_advice or arguments.policy or arguments.baseline)
    question = question_from(arguments, recommend=recommend, different=arguments.different or None)
    columns = open_columns(arguments)
    with progress_on_terminal("replays") as progress:
        report = audit(columns, question, progress=any_stage(progress))
    print_notes(report)
    if arguments.json:
        print_json(report.as_dict())
    else:
        _print(report)
    write_report(arguments, report)
    return 0


def _print(report: "Report") -> None:
    m = report.measures
    span = f"{day(m.first)} to {day(m.last)}"
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
    for cost in report.costs:
        if cost.draw == 0 and cost.policy != "nothing":
            print_sentences(cost.policy, _cost_sentences(cost, m.actors))
            print()
    if report.no_advice:
        print(f"no recommendation: {report.no_advice}")
    elif report.advice is not None:
        print_advice(report.advice)


def _cost_sentences(cost: "Cost", actors: int) -> list[str]:
    """What a practice costs, in words."""
    delays = f"{seconds(cost.mean_s)} on average, {seconds(cost.longest_s)} at most"
    sentences = [f"delays: {delays}; {percent(cost.reordered)} of neighbours on one target change places"]
    if cost.spent_actors is not None and cost.most_nats is not None:
        sentences.append(
            f"epsilon adds up: {cost.spent_actors:,} of {actors:,} actors batch so often that no "
            "meaningful promise is left to them against somebody who watches throughout "
            f"(up to {cost.most_nats:.3g} nats)"
        )
    return sentences


def print_run(run: "AttackRun") -> None:
    """One attack as a table."""
    print(f"{run.policy}, seen by {run.observer}, attack {run.attack}, draw {run.draw}")
    bounded = any(score.power_bound is not None for score in run.scores)
    rows = [
        [
            seconds(score.cutoff_s),
            f"{score.counts.true_positives:,}",
            f"{score.counts.false_positives:,}",
            percent(score.counts.precision),
            percent(score.counts.recall),
            *([percent(score.power_bound)] if bounded else []),
        ]
        for score in run.scores
    ]
    header = [
        "cutoff",
        "right",
        "wrong",
        "precision",
        "recall",
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
    header = ["", "gap", "at percentile", "mean delay", "longest", "right at recall 10 %", "frontier"]
    rows = [["nothing", "", "", "0s", "0s", percent(advice.before), ""]]
    for choice in advice.choices:
        mark = " *" if choice is advice.best else ""
        rows.append(
            [
                f"epsilon {float(choice.policy.epsilon):g}{mark}",
                rounded(choice.policy.gap),
                str(choice.percentile),
                seconds(choice.mean_s),
                seconds(choice.longest_s),
                percent(choice.precision),
                "yes" if advice.on_frontier(choice) else "",
            ]
        )
    print_table(header, rows)
    for note in dict.fromkeys(choice.note for choice in advice.choices if choice.note):
        print(f"note: {note}")
    print()
    print_sentences("recommendation", [advice.sentence, *advice.cautions])
