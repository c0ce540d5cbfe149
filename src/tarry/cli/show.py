"""How commands print: aligned tables, wrapped sentences, JSON with figures in seconds."""

import argparse
import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from shutil import get_terminal_size
from typing import Any

from tarry.core.exact import format_duration, json_number

__all__ = [
    "print_answer",
    "print_json",
    "print_list",
    "print_sentences",
    "print_table",
    "printable",
    "progress_on_terminal",
    "rounded",
    "utc_text",
]

_WIDTH = 96  # at most, and where nobody knows the terminal's


def print_json(answer: dict[str, Any]) -> None:
    """One JSON object; fractions become the nearest float."""
    print(json.dumps(answer, indent=2, default=json_number))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns wide enough for what is in them: the first to the left, figures to the right."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        cells = [
            line[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True)),
        ]
        print("  ".join(cells).rstrip())


def print_list(
    arguments: argparse.Namespace,
    answer: dict[str, Any],
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    none: str = "nothing",
) -> None:
    """What there is: a table for people, or a sentence where there is none; for programs an object.

    >>> print_list(argparse.Namespace(json=False), {"tokens": []}, ["id"], [], none="there is no token")
    there is no token
    """
    if arguments.json:
        print_json(answer)
    elif rows:
        print_table(header, rows)
    else:
        print(none)


def printable(text: str) -> str:
    """Without anything that a terminal would obey.

    >>> printable("a" + chr(27) + "[31mred")
    'a?[31mred'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def print_sentences(title: str, sentences: Sequence[str]) -> None:
    """A heading and its sentences, wrapped as a list; a number and its percent stay together."""
    print(title)
    width = max(20, min(_WIDTH, get_terminal_size((_WIDTH, 24)).columns))
    for sentence in sentences:
        whole = sentence.replace(" %", "\N{NO-BREAK SPACE}%")
        lines = textwrap.fill(whole, width, initial_indent="  - ", subsequent_indent="    ")
        print(lines.replace("\N{NO-BREAK SPACE}%", " %"))


@contextmanager
def progress_on_terminal(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A line that counts up on standard error while long work runs; nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return

    def show(done: int, total: int) -> None:
        if done * 100 // total != (done - 1) * 100 // total:
            print(f"\r{done * 100 // total:3d} % of {total} {what}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def rounded(seconds: Fraction | None) -> str:
    """A duration for a table: whole seconds, or three digits below a minute.

    >>> rounded(Fraction(1234, 10)), rounded(Fraction(1, 3)), rounded(None)
    ('2m3s', '0.333s', 'no end')
    """
    if seconds is None:
        return "no end"
    if seconds < 60 and seconds.denominator != 1:
        return f"{float(seconds):.3g}s"
    return format_duration(Fraction(round(seconds)))


def utc_text(at: Fraction) -> str:
    """A moment to the second, in UTC.

    >>> utc_text(Fraction(7, 2))
    '1970-01-01T00:00:03Z'
    """
    return f"{datetime.fromtimestamp(int(at), tz=UTC):%Y-%m-%dT%H:%M:%SZ}"


def print_answer(arguments: argparse.Namespace, sentence: str, **facts: object) -> None:
    """What a command has done: for people a sentence, for programs its facts.

    >>> print_answer(argparse.Namespace(json=False), "it works again", paused=False)
    it works again
    """
    if arguments.json:
        print_json(facts)
    else:
        print(sentence)
