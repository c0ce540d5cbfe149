"""What audit and compare share once they are done: notes, the report, the charts."""

import argparse
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tarry.core.errors import BadInput

if TYPE_CHECKING:  # needs the study extra, and is loaded when a command runs
    from tarry.study.advice import Advice
    from tarry.study.audit import Audit, Question
    from tarry.study.table import EventTable

__all__ = ["ADVICE_DRAWS", "add_report", "check_report", "tell_notes", "write_report"]

ADVICE_DRAWS = 3  # one draw alone could be lucky


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
