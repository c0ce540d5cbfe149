"""Files that are no history, told by how they begin."""

import re

from tarry.core.errors import BadInput
from tarry.readers.faults import CONVERT
from tarry.readers.lines import HEAD, TextFile

__all__ = ["check_start", "check_text"]

_RULE = "must be a table or lines of JSON"
_ZIP = b"PK\x03\x04"
_BOM = b"\xef\xbb\xbf"
_ARRAY = re.compile(rb'\[\s*(?:[\[{"\]0-9-]|$)')  # not a header such as [user],[page]
_WORKBOOK = re.compile(rb"\[Content_Types\]\.xml|xl/|_rels/")
_OTHERS = {
    _ZIP: ("a zip archive", "unpack it first"),
    b"SQLite format 3\0": ("an SQLite database", "write its table as CSV first"),
    b"\xfd7zXZ\0": ("an xz file", "unpack it first"),
    b"\xff\xfe": ("UTF-16 text", CONVERT),
    b"\xfe\xff": ("UTF-16 text", CONVERT),
}


def check_start(head: bytes, what: str) -> None:
    r"""Refuse kinds of files that others give for histories, by name.

    >>> check_start(b"SQLite format 3\0", "the history")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the history must be a table or lines of JSON, found an SQLite database: ...
    """
    workbook = head.startswith(_ZIP) and _WORKBOOK.search(head, 0, 1000)
    others = {_ZIP: ("an Excel workbook", "save its sheet as CSV first")} if workbook else _OTHERS
    for magic, (found, fix) in others.items():
        if head.startswith(magic):
            raise BadInput(what, _RULE, found=found, fix=fix)


def check_text(head: bytes, text: TextFile) -> None:
    """Refuse a text without rows, one array instead of lines, and a packed line that has no end.

    >>> from pathlib import Path
    >>> check_text(b'[{"user": "ann"}]', TextFile(path=Path("a.json"), what="it"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: it must be a table or lines of JSON, found a JSON array: give one object ...
    """
    start = head.removeprefix(_BOM).lstrip()
    if not start:
        raise BadInput(text.what, "must have rows", found="nothing but blank lines")
    if _ARRAY.match(start):
        fix = "give one object a line (JSONL)"
        raise BadInput(text.what, _RULE, found="a JSON array", fix=fix)
    if len(head) == HEAD and b"\n" not in head and text.packing:  # it may unpack to anything
        raise BadInput(text.what, "must have lines", found="no end of its first line")
