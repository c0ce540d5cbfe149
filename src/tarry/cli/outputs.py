"""What the study's commands write: tables (the ending of the name says which kind), reports and charts."""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarry.cli.main import Argument, add_all
from tarry.core.errors import BadInput

if TYPE_CHECKING:  # needs the study extra, and is loaded when a command runs
    import polars as pl
    from altair import LayerChart

    from tarry.study.audit import Report

__all__ = [
    "SUFFIXES",
    "add_report",
    "check_report",
    "free_path",
    "print_notes",
    "unless_there",
    "write_frame",
    "write_pages",
    "write_report",
]

SUFFIXES = (".parquet", ".csv", ".jsonl", ".arrow")


def free_path(text: str, *, force: bool) -> Path:
    """Where to write, if that may be written to.

    >>> free_path("no-such-folder/released.parquet", force=False).suffix
    '.parquet'
    """
    if Path(text).suffix not in SUFFIXES:
        endings = ", ".join(SUFFIXES[:-1]) + f" or {SUFFIXES[-1]}"
        raise BadInput(f"the output file must end in {endings}, not {text!r}")
    return unless_there(text, force=force)


def unless_there(text: str, *, force: bool) -> Path:
    """Where to write something of any kind; what is there stays unless that is said.

    >>> unless_there("no-such-folder/policy.toml", force=False).name
    'policy.toml'
    """
    path = Path(text)
    if path.exists() and not force:
        raise BadInput(f"the output file {text!r} already exists", "choose another name, or give --force")
    return path


def write_frame(
    frame: "pl.DataFrame", path: Path, *, force: bool, metadata: dict[str, str] | None = None
) -> None:
    """Write a frame as the ending of its name says; an existing file only with `force`."""
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    if nested and path.suffix == ".csv":
        raise BadInput(
            f"a CSV file cannot hold the {len(nested)} columns with lists or objects in them",
            "write .parquet, .jsonl or .arrow",
        )
    write: dict[str, Any] = {
        ".parquet": partial(frame.write_parquet, metadata=metadata),
        ".csv": frame.write_csv,
        ".jsonl": frame.write_ndjson,
        ".arrow": frame.write_ipc,
    }
    with path.open("wb" if force else "xb") as file:
        write[path.suffix](file)


def add_report(parser: argparse.ArgumentParser) -> None:
    """Where to write pages and pictures."""
    add_all(
        parser,
        Argument(
            "--html",
            metavar="FILE",
            help="write a report there too: one HTML file that needs nothing else; "
            "a file there is replaced",
        ),
        Argument(
            "--charts",
            metavar="DIR",
            help="write every chart into this folder too, as SVG and PNG; files there are replaced",
        ),
    )


def check_report(arguments: argparse.Namespace) -> None:
    """Say before the long work, not after it, that --html or --charts cannot be written.

    >>> check_report(argparse.Namespace(html=".", charts=None))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: --html must name a file, and '.' is a folder
    """
    if arguments.html is not None:
        page = Path(arguments.html)
        if page.is_dir():
            raise BadInput(f"--html must name a file, and {str(page)!r} is a folder")
        if not page.parent.is_dir():
            raise BadInput(f"the folder {str(page.parent)!r} of --html does not exist", "make it first")
    if arguments.charts is not None:
        folder = Path(arguments.charts)
        nearest = next(path for path in (folder, *folder.parents) if path.exists())  # the rest is made
        if not nearest.is_dir():
            raise BadInput(f"--charts must name a folder, and {str(nearest)!r} is a file")


def write_report(arguments: argparse.Namespace, report: "Report") -> None:
    """Write what --html and --charts ask for, and say on standard error where it is."""
    write_pages(arguments, report.html, lambda: report.charts)


def write_pages(
    arguments: argparse.Namespace, html: Callable[[], str], charts: "Callable[[], dict[str, LayerChart]]"
) -> None:
    """The same of anything that has a page and charts; neither is made where nobody asked for it.

    >>> write_pages(argparse.Namespace(html=None, charts=None), html=str, charts=dict)
    """
    if arguments.html is not None:
        Path(arguments.html).write_text(html(), encoding="utf-8")
        print(f"report: {arguments.html}", file=sys.stderr)
    if arguments.charts is not None:
        from tarry.study.charts import write_charts  # noqa: PLC0415 - slow to load

        write_charts(charts(), arguments.charts)
        print(f"charts: {arguments.charts}", file=sys.stderr)


def print_notes(notes: Sequence[str]) -> None:
    """What one should know, on standard error."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
