"""Statements, their parameters and whole rows in the form that PostgreSQL reads."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from struct import Struct
from typing import NamedTuple

from tarry.core.errors import BadInput
from tarry.keep.rows import PARAMETER

__all__ = ["Copy", "Prepared", "copy_of", "copy_rows", "parameter", "statement_of"]

_INSERT = re.compile(r"INSERT INTO (\w+) \(([^()]*)\)\s+VALUES \(([^()]*)\)")
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_NONE, _END = b"\xff\xff\xff\xff", b"\xff\xff"
_WIDTH, _LENGTH, _NUMBER = Struct(">h").pack, Struct(">i").pack, Struct(">iq").pack


class Copy(NamedTuple):
    """A table that takes many rows at once, and how each of them is filled.

    >>> copy_of("INSERT INTO a (b, c) VALUES (:b, 'word')").fill
    (('b', None), ('', 'word'))
    """

    text: bytes
    fill: tuple[tuple[str, str | None], ...]  # column by column: its name in a row, or the same in all


class Prepared(NamedTuple):
    """A statement, and the names of its parameters in their order.

    >>> statement_of("SELECT :a, b::text FROM c WHERE d = :a").text
    b'SELECT $1, b::text FROM c WHERE d = $2'
    """

    text: bytes
    names: tuple[str, ...]
    copy: Copy | None = None  # the same for many rows, where it inserts one


@cache
def statement_of(text: str) -> Prepared:
    """A statement of `sql/`. Each place of a parameter counts alone: so each has the type it needs.

    >>> statement_of("SELECT :a, :b, :a").names
    ('a', 'b', 'a')
    """
    names = tuple(PARAMETER.findall(text))
    numbers = iter(range(1, len(names) + 1))
    numbered = PARAMETER.sub(lambda _: f"${next(numbers)}", text)
    return Prepared(numbered.encode(), names, copy_of(text))


def copy_of(text: str) -> Copy | None:
    """The same as an INSERT of one row, for many; None where it does more.

    >>> copy_of("INSERT INTO a (b) VALUES (:b)").text
    b'COPY a (b) FROM STDIN (FORMAT BINARY)'
    >>> copy_of("INSERT INTO a (b) VALUES (:b) ON CONFLICT (b) DO NOTHING")
    """
    if (found := _INSERT.fullmatch(text)) is None:
        return None
    table, columns, values = found.groups()
    words = [value.strip() for value in values.split(",")]
    fill = tuple((word[1:], None) if word.startswith(":") else ("", word.strip("'")) for word in words)
    return Copy(f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)".encode(), fill)


def parameter(value: object) -> bytes | None:
    """As the server reads it: bytes as they are, all else as text, whose type the statement gives.

    >>> parameter(7), parameter("seven"), parameter(b"7"), parameter([7, 8]), parameter(None)
    (b'7', b'seven', b'7', b'{7,8}', None)
    """
    match value:
        case None:
            return None
        case bytes():
            return value
        case int():
            return b"%d" % value
        case str():
            return _without_nul(value.encode())
        case bytearray() | memoryview():
            return bytes(value)
        case list():
            return b"{%s}" % b",".join(b"%d" % number for number in value)
    raise TypeError(f"a parameter must be text, bytes or whole numbers, not {type(value).__name__}")


def copy_rows(copy: Copy, rows: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """Rows in the form of COPY. Every number of our tables has eight bytes.

    >>> copy = copy_of("INSERT INTO a (b, c) VALUES (:b, 'word')")
    >>> b"".join(copy_rows(copy, [{"b": 7}]))[-20:-2].endswith(b"word")
    True
    """
    yield _HEADER
    width = _WIDTH(len(copy.fill))
    for row in rows:
        yield width
        for name, same in copy.fill:
            value = row[name] if same is None else same
            if isinstance(value, int):
                yield _NUMBER(8, value)
            elif (text := parameter(value)) is None:
                yield _NONE
            else:
                yield _LENGTH(len(text))
                yield text
    yield _END


def _without_nul(text: bytes) -> bytes:
    if b"\0" in text:
        raise BadInput("a text in a store must not contain a NUL character", "leave it out")
    return text
