"""Read somebody's export into a file of events: actor, target, time, track.

KIND says what SOURCE is:

  wiki-dump       a stub-meta-history dump of a MediaWiki wiki
  wiki            the address of a wiki's api.php
  stack-exchange  Posts.xml, Comments.xml or PostHistory.xml of a Stack Exchange dump
  git             a git repository
  github          a JSON export of GitHub's reviews and comments
  gerrit          a JSON export of Gerrit's changes
  openreview      the address of an OpenReview API, or a JSON export of its notes
  bitcoin         the address of a Bitcoin node
  jsonl           any file of JSON objects, with the places of actor, target and time

Installed packages may bring more. Files may be packed (.gz, .bz2, .xz), and several of one export are read
as one; - reads standard input. The file that is written is there whole or not at all, and what it holds is
somebody's data: keep it as you keep the export.

  tarry read wiki-dump stub-meta-history.xml.gz -o edits.csv.gz
  tarry read wiki-dump stub-meta-history[0-9]*.xml.gz -o edits.parquet
  7z x -so stackoverflow.com-Comments.7z | tarry read stack-exchange - -o comments.parquet
  tarry read git ~/src/project --by path -o commits.csv
"""

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from typing import Any

from tarry.cli.main import Argument, add_all
from tarry.cli.options import FORCE, add_option, distinct_options
from tarry.cli.show import print_json
from tarry.core.errors import BadInput
from tarry.core.plugins import Option, load, load_all
from tarry.readers.event_files import ENDINGS, MANY, Written, check_output, write_events, written_time
from tarry.readers.events import Event, Stream, read_owners
from tarry.readers.faults import Faults
from tarry.readers.kind import ReaderKind

__all__ = ["add_arguments", "run", "stopping_like_ctrl_c"]

_SHOWN_ROWS = 5
_OFTEN, _EVERY_S = 100, 0.5  # events between looks at the clock, seconds between two lines of progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry read`."""
    kinds = load_all("reader")
    add_all(
        parser,
        Argument("kind", metavar="KIND", help=", ".join(kinds)),
        Argument(
            "sources",
            metavar="SOURCE",
            nargs="+",
            help="a file, or several of one export; a repository or an address",
        ),
        Argument(
            "-o",
            "--output",
            metavar="FILE",
            required=True,
            help="where to write the events: " + ", ".join(ENDINGS),
        ),
    )
    for option in _options():
        owners = [name for name, kind in kinds.items() if option.flag in _flags(kind)]
        add_option(parser, option, f"{' and '.join(owners)}: ")
    add_all(
        parser,
        Argument(
            "--owners",
            metavar="FILE",
            help="a CSV of name,owner: several names of one person become one actor",
        ),
        FORCE,
        Argument(
            "--allow-code",
            action="store_true",
            help="let KIND be module:NAME, a reader that is not installed: its code is run",
        ),
    )


def run(arguments: argparse.Namespace) -> None:
    """Read the export, write the events and say what is in them."""
    path = check_output(arguments.output, force=arguments.force)
    owners = read_owners(arguments.owners) if arguments.owners else None
    kind = _kind(arguments)
    stream, bots = kind.open(arguments.sources, _option_values(arguments, kind))
    if owners:
        stream = owners.named(stream)
    if path.suffix == ".parquet":
        import_module("polars")  # here: it takes Ctrl-C for itself as it is loaded
    with stopping_like_ctrl_c(), _watched(stream) as events:
        written = write_events(events, path, force=arguments.force, bots=bots)
    facts = {"kind": arguments.kind, "file": str(path), **_facts(written, stream)}
    if owners:
        facts["owned_events"] = owners.events
    if arguments.json:
        print_json(facts)
    else:
        _print(facts, stream.faults)


def _kind(arguments: argparse.Namespace) -> ReaderKind:
    """The reader that is named; code that is not installed may also be the function itself."""
    kind = load("reader", arguments.kind, allow_code=arguments.allow_code)
    if isinstance(kind, ReaderKind):
        return kind
    return ReaderKind(name=arguments.kind, summary="", read=arguments.kind, in_files=True)


def _option_values(arguments: argparse.Namespace, kind: ReaderKind) -> dict[str, Any]:
    """The options that are given, by the names that the reader has for them."""
    mine, values = {option.flag: option for option in kind.options}, {}
    for flag in (option.flag for option in _options()):
        value = getattr(arguments, flag.replace("-", "_"))
        if value is None:
            continue
        if flag not in mine:
            owner = next(name for name, other in load_all("reader").items() if flag in _flags(other))
            raise BadInput(
                f"--{flag} does not go with tarry read {kind.name}", f"leave it out: it belongs to {owner}"
            )
        values[mine[flag].key] = value
    return values


def _options() -> list[Option]:
    return distinct_options(option for kind in load_all("reader").values() for option in kind.options)


def _flags(kind: ReaderKind) -> set[str]:
    return {option.flag for option in kind.options}


@contextmanager
def _watched(stream: Stream) -> Iterator[Iterator[Event]]:
    """The events, with a line that counts up on standard error; none where nobody looks."""
    if not sys.stderr.isatty():
        yield _some(stream)
        return
    try:
        yield _counting(stream)
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _some(stream: Stream) -> Iterator[Event]:
    """The events, of which there must be one: no command can do anything with none."""
    good = False
    for event in stream:
        good = True
        yield event
    if not good and stream.faults.count:
        stream.faults.refuse(f"none among {stream.faults.count:,}")
    if not good:
        raise BadInput(f"{stream.faults.what} has no events in it", "check that it is the right one")


def _counting(stream: Stream) -> Iterator[Event]:
    due = time.monotonic()
    for count, event in enumerate(_some(stream), 1):
        yield event
        if not count % _OFTEN and time.monotonic() >= due:
            due = time.monotonic() + _EVERY_S
            share = stream.share() if stream.share else None
            part = "" if share is None else f"{share:4.0%}  "
            print(f"\r\033[K{part}{count:,} events", end="", file=sys.stderr, flush=True)


def _facts(written: Written, stream: Stream) -> dict[str, Any]:
    faults = stream.faults
    return {
        "events": written.events,
        "actors": written.actors,
        "first_at": Fraction(written.first or 0, 1_000_000),
        "last_at": Fraction(written.last or 0, 1_000_000),
        "unreadable": faults.count,
        "faults": [
            {**({"file": fault.file} if fault.file else {}), "line": fault.line, "reason": fault.reason}
            for fault in faults.first
        ],
        "notes": list(stream.notes),
    }


def _print(facts: dict[str, Any], faults: Faults) -> None:
    for note in facts["notes"]:
        print(f"note: {note}", file=sys.stderr)
    if faults.count:
        many = (
            "1 row cannot be read and is"
            if faults.count == 1
            else f"{faults.count:,} rows cannot be read and are"
        )
        print(f"{many} left out:", file=sys.stderr)
        for fault in faults.first[:_SHOWN_ROWS]:
            print(f"  {fault}", file=sys.stderr)
    actors = f"more than {MANY:,} actors" if facts["actors"] is None else _counted(facts["actors"], "actor")
    first, last = (written_time(int(facts[end] * 1_000_000)) for end in ("first_at", "last_at"))
    print(f"{_counted(facts['events'], 'event')} by {actors}, {first} to {last}")
    if "owned_events" in facts:
        print(f"{facts['owned_events']:,} of them by names in the file of owners")
    print(f"written to {facts['file']}")


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


@contextmanager
def stopping_like_ctrl_c() -> Iterator[None]:
    """Inside, SIGTERM and a closed terminal do what Ctrl-C does: what was begun is cleared away.

    Ctrl-C too, where a library has taken it for itself.

    >>> try:
    ...     with stopping_like_ctrl_c():
    ...         signal.raise_signal(signal.SIGTERM)
    ... except KeyboardInterrupt:
    ...     print("stopped")
    stopped
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # What somebody has turned off, as nohup does, stays so.
    old = {number: signal.getsignal(number) for number in numbers}
    heard = [number for number in numbers if old[number] is not signal.SIG_IGN]
    try:
        for number in heard:
            signal.signal(number, signal.default_int_handler)  # it raises KeyboardInterrupt
        yield
    finally:
        for number in heard:
            signal.signal(number, old[number])
