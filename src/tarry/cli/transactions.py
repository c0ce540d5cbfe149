"""The signed transactions that a command is given: in hex, in files, on standard input."""

import codecs
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tarry.core.errors import BadInput
from tarry.keep.outlets.bitcoin_transaction import Transaction, read_transaction

__all__ = ["given_transactions"]

_WHAT, _RULE = "a transaction", "is written in hex"
_HEX = re.compile(r"[0-9a-fA-F]{20,}")
_MOST_READ = 16 << 20
#: How a version of today begins in bytes; no text has a NUL there.
_BINARY = re.compile(rb"[\x01-\x0f]\0\0\0")
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def given_transactions(words: Sequence[str]) -> list[Transaction]:
    """Read what stands on a command line; files hold one in each line.

    >>> given_transactions(["null"])
    Traceback (most recent call last):
    tarry.core.errors.BadInput: a transaction is written in hex, found null: jq found no hex: the wallet \
has not signed all of it, as "complete" in its answer tells
    """
    return [_read(text) for text in _texts(words)]


def _texts(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if _HEX.fullmatch(word):
            yield word
            continue
        lines = [line.strip() for line in _content(word).splitlines()]
        if not any(lines):
            raise BadInput(_WHAT, _RULE, found="nothing")
        yield from filter(None, lines)


def _content(word: str) -> str:
    if word == "-":
        content = sys.stdin.buffer.read(_MOST_READ + 1)
    else:
        path = Path(word)
        if not path.is_file():
            if word == "null":
                return word
            raise BadInput("a TX", "is hex, a file, or -", found="no file of that name and no hex")
        with path.open("rb") as file:
            content = file.read(_MOST_READ + 1)
    if len(content) > _MOST_READ:
        raise BadInput("a file of transactions", f"has at most {_MOST_READ} bytes", found="more")
    if _BINARY.match(content):
        fix = "write it in hex: xxd -p FILE | tr -d '\\n'"
        raise BadInput(_WHAT, _RULE, found="its bytes themselves", fix=fix)
    for mark, encoding in _MARKS.items():  # some editors and shells put one before a text
        if content.startswith(mark):
            return content.decode(encoding, errors="replace")
    return content.decode("latin-1")  # whatever it is: hex is looked for in it


def _read(text: str) -> Transaction:
    if text == "null":
        fix = 'jq found no hex: the wallet has not signed all of it, as "complete" in its answer tells'
        raise BadInput(_WHAT, _RULE, found="null", fix=fix)
    transaction = read_transaction(text.encode("latin-1", errors="replace"))
    transaction.check_signed()
    return transaction
