"""How linkable the people of a history are by when they act, and what a delay would change.

Prints how often people batch, how well an observer links their acts, and (unless practices of your
own are given) a recommended policy: learned on the first quarter of the events, measured on the rest.

  tarry audit month.parquet
  tarry audit votes.csv --actor voter --target proposal --html report.html
  tarry audit month.parquet --policy mine.toml --observer archive --observer poller:10m --draws 5
"""

import argparse
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

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
from tarry.cli.show import print_json, print_sentences, print_table, progress_on_terminal, rounded
from tarry.cli.study_extra import need_study
from tarry.core.errors import BadInput, TarryError
from tarry.study.figures import day, percent, seconds

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.study.advice import Advice
    from tarry.study.audit import Audit, Cost, Progress, Question, Run
    from tarry.study.table import EventTable

__all__ = [
    "add_arguments",
    "add_report",
    "check_report",
    "print_advice",
    "print_run",
    "run",
    "tell_notes",
    "write_report",
]


ADVICE_DRAWS = 3  # one draw alone could be lucky


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


def add_report(parser: argparse.ArgumentParser) -> None:
    """Where to write pages and pictures."""
    page = "write a report there too: one HTML file that needs nothing else; a file there is replaced"
    parser.add_argument("--html", metavar="FILE", help=page)
    pictures = "write every chart into this folder too, as SVG and PNG; files there are replaced"
    parser.add_argument("--charts", metavar="DIR", help=pictures)


def check_report(arguments: argparse.Namespace) -> None:
    """Say before the long work, not after it, that --html or --charts cannot be written.

    >>> check_report(argparse.Namespace(html=".", charts=None))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: --html names a file, found the folder '.'
    """
    if arguments.html is not None:
        page = Path(arguments.html)
        if page.is_dir():
            raise BadInput("--html", "names a file", found=f"the folder {str(page)!r}")
        if not page.parent.is_dir():
            found = repr(str(page.parent))
            raise BadInput(
                "--html", "names a file in a folder that exists", found=found, fix="make it first"
            )
    if arguments.charts is not None:
        folder = Path(arguments.charts)
        nearest = next(path for path in (folder, *folder.parents) if path.exists())  # the rest is made
        if not nearest.is_dir():
            raise BadInput("--charts", "names a folder", found=f"the file {str(nearest)!r}")


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


def write_report(
    arguments: argparse.Namespace,
    table: "EventTable",
    question: "Question",
    found: "Audit",
    advice: "Advice | str | None" = None,
) -> None:
    """Write what --html and --charts ask for, and say on standard error where it is."""
    if arguments.html is None and arguments.charts is None:
        return
    from tarry.study.charts import audit_charts, write_charts  # noqa: PLC0415 - slow to load, seldom asked
    from tarry.study.report import report_html  # noqa: PLC0415 - likewise
    from tarry.study.report.after import replay_advice  # noqa: PLC0415 - likewise

    draws = max(question.draws, ADVICE_DRAWS)  # those of the recommendation, so that figures agree
    after = replay_advice(table, advice, replace(question, draws=draws))
    if arguments.html is not None:
        stamp = _stamp(arguments, question, None if advice is None else draws)
        page = report_html(found, advice, after=after, practices=question.practices, stamp=stamp)
        Path(arguments.html).write_text(page, encoding="utf-8")
        print(f"report: {arguments.html}", file=sys.stderr)
    if arguments.charts is not None:
        write_charts(audit_charts(found, advice, after), arguments.charts)
        print(f"charts: {arguments.charts}", file=sys.stderr)


def _stamp(arguments: argparse.Namespace, question: "Question", advised: int | None) -> dict[str, str]:
    """What one needs to make a report again: no file, no machine, no hour."""
    filters = {
        "--without-bots": arguments.without_bots,
        "--collapse": arguments.collapse,
        f"--busy-limit {arguments.busy_limit}": arguments.busy_limit is not None,
    }
    further = ", and on until all linked pairs lie within" if question.stretch else ""
    return {
        "tarry": version("tarry"),
        "seed": str(question.seed),
        "draws": str(question.draws) + ("" if advised is None else f"; for the recommendation {advised}"),
        "practices": "; ".join(one.name for one in question.practices),
        "observers": "; ".join(one.name for one in question.observers),
        "attacks": "; ".join(one.name for one in question.attacks),
        "window": arguments.window,
        "cutoffs": ", ".join(arguments.cutoffs.split(",")) + further,
        "filters": " ".join(flag for flag, given in filters.items() if given) or "none",
    }


def tell_notes(found: "Audit") -> None:
    """What one should know, on standard error."""
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)


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
