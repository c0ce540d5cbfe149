"""Tables of separated values, every column as text: a name keeps its leading zeros.

Fast where every line is sound; else record by record, forgiving and exact about lines.
"""

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice

import numpy as np
import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray, IntArray
from tarry.readers.columns import TROUBLE, Rows, Wanted, choose_columns
from tarry.readers.faults import CONVERT, NOT_TEXT, Faults
from tarry.readers.sources import HEAD, Illegible, TextFile, text_of

__all__ = ["Record", "read_separated", "records"]

Record = tuple[int, int, list[str] | str]  # first line, number of lines, the fields or what is wrong

_AT_ONCE = 50_000  # records that are held as Python lists
_NAMES = "must begin with a line of column names in UTF-8"
_FIX = "check that it is a table of text"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True)
class _Header:
    schema: dict[str, type[pl.String]]  # the columns by their names
    lines: int  # that it takes, with blank ones before it
    separator: str  # between fields


def read_separated(text: TextFile, wanted: Wanted, separator: str | None = None) -> Rows:
    r"""Read a CSV or TSV file: quickly if it is sound, else line by line with a reason for each fault.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.csv"
    ...     _ = path.write_text("actor,target,time\n007,p1,5\n008,p1,6,7\n")
    ...     rows = read_separated(TextFile(path=path, what="the history votes.csv"), Wanted())
    >>> rows.frame["actor"].to_list(), str(rows.faults.first[0])
    (['007'], 'line 3: 4 fields where the header has 3')
    """
    header = _header(text, separator)
    choose_columns(list(header.schema), wanted, text.what)  # rubbish stops here, before anything long
    try:
        return _fast(text, header)
    except OSError:  # no line can be read past damage in the packing
        with text.sound():
            raise
    except TROUBLE:
        return _slow(text, header)


def _header(text: TextFile, separator: str | None) -> _Header:
    head = text.head().removeprefix(_BOM)
    lines = BytesIO(head).readlines()
    first = next((line for line in lines if line.strip()), b"")
    if b"\0" in first or (len(head) == HEAD and b"\n" not in head):
        trouble = "NUL bytes" if b"\0" in first else "no end"
        raise BadInput(f"{text.what} {_NAMES}, and its first line has {trouble}", _FIX)
    if separator is None:
        separator = next((mark for mark in (b",", b"\t", b";") if mark in first), b",").decode()
    _, _, names = record = next(records(lines, separator), (1, 1, [""]))
    if isinstance(names, str):
        fix = CONVERT if names == NOT_TEXT else _FIX
        raise BadInput(f"{text.what} {_NAMES}, and of its first line {names}", fix)
    return _Header(schema=_different(names), lines=record[0] + record[1] - 1, separator=separator)


def _different(names: list[str]) -> dict[str, type[pl.String]]:
    """Columns named as it is written, but numbered where a name is empty or there already."""
    columns: dict[str, type[pl.String]] = {}
    for place, name in enumerate(names, 1):
        unique = name or f"column_{place}"
        while unique in columns:
            unique = f"{unique}_{place}"
        columns[unique] = pl.String
    return columns


def _fast(text: TextFile, header: _Header) -> Rows:
    with text.path.open("rb") as file:
        frame = pl.read_csv(
            file,
            has_header=False,
            skip_lines=header.lines,
            schema=header.schema,
            separator=header.separator,
            missing_columns="insert",  # a short first record is no reason to refuse
        )
    lines = _lines(frame, header.lines + 1)
    # A blank line comes as a row of nothing; so does a line of separators, which is a faulty row.
    empty = frame.to_series(0).str.strip_chars(" ").fill_null("") == ""
    if empty.any():
        rows = empty.arg_true().to_numpy()
        kept = np.ones(frame.height, dtype=np.bool_)
        kept[rows] = ~_are_blank(text, lines[rows])
        frame, lines = frame.filter(kept), lines[kept]
    return Rows(frame=frame, lines=lines, faults=Faults(text.what))


def _lines(frame: pl.DataFrame, first: int) -> IntArray:
    """The line each record begins on: one more than the last, and one for each newline inside."""
    inside = frame.select(pl.sum_horizontal(pl.all().str.count_matches("\n", literal=True).fill_null(0)))
    newlines = inside.to_series().to_numpy().astype(np.int64)
    return first + np.arange(frame.height) + np.cumsum(newlines) - newlines


def _are_blank(text: TextFile, lines: IntArray) -> BoolArray:
    """Which of these lines are blank, by the file itself."""
    numbers = pl.LazyFrame({"number": lines})
    with text.path.open("rb") as file:
        there = pl.scan_lines(file, row_index_name="number", row_index_offset=1)
        rows = numbers.join(there.with_columns(pl.col("number").cast(pl.Int64)), on="number").sort("number")
        return rows.select(pl.col("line").str.strip_chars(" \r") == "").collect().to_series().to_numpy()


def _slow(text: TextFile, header: _Header) -> Rows:
    faults, chunks = Faults(text.what), [pl.DataFrame(schema=header.schema)]
    lines: list[int] = []
    good = _good(records(text.lines(), header.separator), header, faults)
    while some := list(islice(good, _AT_ONCE)):
        lines.extend(line for line, _ in some)
        chunks.append(pl.DataFrame([row for _, row in some], schema=header.schema, orient="row"))
    return Rows(frame=pl.concat(chunks), lines=np.array(lines, dtype=np.int64), faults=faults)


def _good(
    candidates: Iterator[Record], header: _Header, faults: Faults
) -> Iterator[tuple[int, list[str | None]]]:
    """The records that fit the header, with their lines; the others are noted as faults."""
    width, good = len(header.schema), 0
    for line, _, fields in candidates:
        if line <= header.lines:
            continue
        if isinstance(fields, str):
            faults.add(line, fields)
        elif len(fields) > width:
            faults.add(line, f"{len(fields)} fields where the header has {width}")
        else:
            good += 1
            yield line, [field or None for field in fields] + [None] * (width - len(fields))
        faults.give_up_if_hopeless(good)


def records(lines: Iterable[bytes], separator: str) -> Iterator[Record]:
    r"""Each record with the line it begins on; blank lines are none.

    Where a record cannot be read, one line is given up, and the next one begins a record again: a
    quote that is never closed costs the line it stands in, and not the rest of the file.

    >>> list(records([b"a,b\n", b"\n", b'"c\n', b'd",e\n', b'f,"g\n', b"h,i\n"], ","))[1:]
    [(3, 2, ['c\nd', 'e']), (5, 1, 'a quote is not closed'), (6, 1, ['h', 'i'])]
    """
    source = _Source(lines)
    for line in source:
        number = source.number
        try:
            text = text_of(line)
            if not text.strip(" \r\n"):
                continue
            if '"' in text:
                fields = _quoted(text, source, separator)
            else:
                fields = text.removesuffix("\n").removesuffix("\r").split(separator)
        except Illegible as error:
            yield number, 1, str(error)
        else:
            yield number, source.number - number + 1, fields


class _Source:
    """Lines that can be put back."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.lines = iter(lines)
        self.returned: deque[bytes] = deque()
        self.number = 0  # of the line given last, from 1

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        line = self.returned.popleft() if self.returned else next(self.lines)
        self.number += 1
        return line

    def put_back(self, taken: list[bytes]) -> None:
        self.returned.extendleft(reversed(taken))
        self.number -= len(taken)


def _quoted(text: str, source: _Source, separator: str) -> list[str]:
    """The fields of a record with quotes, which may go on over several lines."""
    taken: list[bytes] = []
    ended = False

    def feed() -> Iterator[str]:
        nonlocal ended
        yield text
        for line in source:
            taken.append(line)
            yield text_of(line)
        ended = True

    try:
        return next(csv.reader(feed(), delimiter=separator, strict=True))
    except (csv.Error, Illegible):
        source.put_back(taken)
        raise Illegible("a quote is not closed" if taken or ended else "a quote is out of place") from None
