"""How linkable the people of a history are by when they act, and what a delay would change.

Prints how often people batch, how well an observer links their acts, and (unless practices of your
own are given) a recommended policy: learned on the first quarter of the events, measured on the rest.

  tarry audit month.parquet
  tarry audit votes.csv --actor voter --target proposal --html report.html
  tarry audit month.parquet --policy mine.toml --observer archive --observer poller:10m --draws 5
"""

import argparse
from typing import TYPE_CHECKING

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
from tarry.cli.reports import ADVICE_DRAWS, add_report, check_report, tell_notes, write_report
from tarry.cli.show import print_json, print_sentences, print_table, progress_on_terminal, rounded
from tarry.core.errors import TarryError
from tarry.study.figures import day, percent, seconds

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.study.advice import Advice
    from tarry.study.audit import Audit, Cost, Progress, Run
    from tarry.study.table import EventTable

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
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure a history and print what was found."""
    need_study()
    check_report(arguments)
    from tarry.study.answer import audit_answer  # noqa: PLC0415 - only where the study is installed
    from tarry.study.audit import audit  # noqa: PLC0415 - likewise

    question = ask(arguments)
    columns = open_columns(arguments)
    table = open_table(arguments, columns)
    with progress_on_terminal("replays") as progress:
        found = audit(table, question, different=arguments.different or None, progress=progress)
        advice = None if _own_question(arguments) else _advice(arguments, table, progress)
    tell_notes(found)
    if arguments.json:
        print_json({"unreadable": columns.unreadable_count, **audit_answer(found, advice)})
    else:
        _print(found, advice)
    write_report(arguments, table, question, found, advice)
    return 0


def _own_question(arguments: argparse.Namespace) -> bool:
    return bool(arguments.no_advice or arguments.policy or arguments.baseline)


def _advice(
    arguments: argparse.Namespace, table: "EventTable", progress: "Progress | None"
) -> "Advice | str":
    """The recommendation, or why there is none."""
    from tarry.study.advice import advise  # noqa: PLC0415 - only where the study is installed

    watcher = (arguments.observer or ["notified"])[0]
    try:
        return advise(
            table,
            window=arguments.window,
            watcher=watcher,
            seed=arguments.seed,
            draws=max(arguments.draws, ADVICE_DRAWS),
            progress=progress,
        )
    except TarryError as error:  # the audit stands without it
        return str(error)


def _print(found: "Audit", advice: "Advice | str | None") -> None:
    m = found.measures
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
    print(
        f"{found.linked_pairs:,} linked pairs among {found.candidate_pairs:,} pairs on different targets\n"
    )
    for run in found.runs:
        print_run(run)
    for cost in found.costs:
        if cost.draw == 0 and cost.policy != "nothing":
            print_sentences(cost.policy, _told(cost, m.actors))
            print()
    if isinstance(advice, str):
        print(f"no recommendation: {advice}")
    elif advice is not None:
        print_advice(advice)


def _told(cost: "Cost", actors: int) -> list[str]:
    """What a practice costs, in words."""
    delays = f"{seconds(cost.mean_s)} on average, {seconds(cost.longest_s)} at most"
    told = [f"delays: {delays}; {percent(cost.reordered)} of neighbours on one target change places"]
    if cost.spent_actors is not None and cost.most_nats is not None:
        told.append(
            f"epsilon adds up: {cost.spent_actors:,} of {actors:,} actors batch so often that no "
            "meaningful promise is left to them against somebody who watches throughout "
            f"(up to {cost.most_nats:.3g} nats)"
        )
    return told


def print_run(run: "Run") -> None:
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
