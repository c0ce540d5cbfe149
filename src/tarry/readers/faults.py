"""Rows that could not be read: where and why, in words that show nobody's data."""

import re
from dataclasses import dataclass, field
from typing import NoReturn

from tarry.core.errors import BadInput

__all__ = ["CONVERT", "NOT_TEXT", "NO_NAMES", "PATIENCE", "SHOWN", "Faults", "Unreadable", "clip", "shown"]

SHOWN = 20  # faults that are told one by one; the others are only counted
PATIENCE = 10_000  # lines without a single row among them, after which a file counts as rubbish
#: What names and times are not, in JSON.
NO_NAMES = {bool: "true or false", list: "a list", dict: "an object"}
NOT_TEXT = "the line is not UTF-8 text"
CONVERT = "convert the file first (for example with iconv)"
_PLAIN = re.compile(r"[0-9 .,:+\-TZ/]+")  # digits and the marks of dates, which name nobody


@dataclass(frozen=True)
class Unreadable:
    """One row that could not be read, or all that have one fault.

    >>> print(Unreadable(7, "time is missing"))
    line 7: time is missing
    >>> print(Unreadable(0, "time is missing", rows=12))
    12 rows: time is missing
    """

    line: int  # in a text file (the header is line 1); in a table the row, from 1
    reason: str  # what is wrong with it
    file: str = field(default="", repr=False)  # where there are several
    rows: int = field(default=0, repr=False)  # how many are like it, where rows have no places

    @property
    def place(self) -> str:
        """Where it is, without the word for a line."""
        return f"{self.line} of {self.file}" if self.file else str(self.line)

    def __str__(self) -> str:
        if self.rows:
            return f"{self.rows:,} row{'' if self.rows == 1 else 's'}: {self.reason}"
        return f"line {self.place}: {self.reason}"


class Faults:
    """Lines that could not be read: the first few in full, the others counted.

    >>> faults = Faults("the history votes.csv")
    >>> faults.add(2, "not an object")
    >>> faults.count, str(faults.first[0])
    (1, 'line 2: not an object')
    """

    def __init__(self, what: str = "the frame") -> None:
        self.what = what
        self.first: list[Unreadable] = []
        self.count = 0
        self.not_text = 0  # how many of them are not UTF-8
        self.file = ""  # which of several files is being read

    def add(self, line: int, reason: str) -> None:
        """Note one more."""
        self.count += 1
        self.not_text += reason == NOT_TEXT
        if len(self.first) < SHOWN:
            self.first.append(Unreadable(line, reason, self.file))

    def joined(self, other: "Faults") -> "Faults":
        """These and others of the same file, by line."""
        both = Faults(self.what)
        both.first = sorted([*self.first, *other.first], key=lambda fault: fault.line)[:SHOWN]
        both.count = self.count + other.count
        both.not_text = self.not_text + other.not_text
        return both

    def give_up_if_hopeless(self, good: int) -> None:
        """Refuse a file of which nothing so far was a row: rubbish is not read to its end."""
        if not good and self.count >= PATIENCE:
            self.refuse(f"none among its first {self.count} lines")

    def refuse(self, count: str, where: str = "line", hint: str = "") -> NoReturn:
        """Say that there is no row at all, why the first one is none, and perhaps what to do."""
        first = self.first[0]
        hint = CONVERT if first.reason == NOT_TEXT else hint
        fix = f"the first fault is in {where} {first.place}: {first.reason}" + (f"; {hint}" if hint else "")
        raise BadInput(f"{self.what} must have rows that can be read, and has {count}", fix)


def clip(text: object, size: int = 40) -> str:
    r"""Somebody else's text, short and on one line.

    >>> clip("a\nb" + "c" * 99, 8)
    'a?bcccc…'
    """
    shown = "".join(c if c.isprintable() else "?" for c in str(text)[: size + 1])
    return shown if len(shown) <= size else shown[: size - 1] + "…"


def shown(value: object) -> str:
    """What a sentence may show of a cell: a number or a date, but of any other text only its length.

    >>> shown("2024-13-01"), shown("ann@example.org")
    (': 2024-13-01', ' (a text of 15 characters)')
    """
    if not isinstance(value, str) or _PLAIN.fullmatch(value):
        return f": {clip(value)}"
    return f" (a text of {len(value)} character{'' if len(value) == 1 else 's'})"
