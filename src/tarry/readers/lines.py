"""A text file line by line, packed or not: for its head, and for files the fast way refuses."""

import gzip
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import polars as pl

from tarry.core.errors import BadInput
from tarry.readers.faults import NOT_TEXT
from tarry.readers.rows import TROUBLE, refusing
from tarry.readers.zstd import ZSTD, beginning, stated_size

__all__ = ["HEAD", "Illegible", "TextFile", "text_of"]

HEAD = 1 << 20  # bytes in which the header of a file has to end
_LONGEST = 1 << 24  # bytes of one line; nothing longer is held in memory
_LARGE, _TIMES = 1 << 30, 200  # a zstd file that unpacks to more than both is no history
_LOST = "\ufffd".encode()
_MAGIC = {b"\x1f\x8b": "gzip", ZSTD: "zstd"}


class Illegible(ValueError):
    """A line that is no text; the message says why.

    >>> raise Illegible("the line is not UTF-8 text")
    Traceback (most recent call last):
    tarry.readers.lines.Illegible: the line is not UTF-8 text
    """


@dataclass(frozen=True, kw_only=True)
class TextFile:
    r"""A file of text, unpacked on the way. How it is packed is told by its first bytes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.csv.gz"
    ...     _ = path.write_bytes(gzip.compress(b"actor,target\n1,2"))
    ...     list(TextFile(path=path, what="the history").lines())
    [b'actor,target\n', b'1,2']
    """

    path: Path  # where it is
    what: str  # what sentences call it

    @property
    def packing(self) -> str:
        """`gzip`, `zstd` or nothing."""
        with self.path.open("rb") as file:
            start = file.read(4)
        return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")

    def head(self) -> bytes:
        """The first MiB or so of its text."""
        if self.packing == "zstd":
            head = b"".join(self._zstd_lines(BytesIO(beginning(self.path))))[:HEAD]
            self._check_size()  # only now: of damage the size would be made up
            return head
        with self.sound(), self._open() as file:
            return file.read(HEAD)

    def lines(self) -> Iterator[bytes]:
        """Every line with its end. Of one that is too long only the beginning is kept."""
        if self.packing == "zstd":
            with self.path.open("rb") as packed:
                yield from self._zstd_lines(packed)
            return
        with self.sound(), self._open() as file:
            while line := file.readline(_LONGEST):
                yield line
                while len(line) == _LONGEST and not line.endswith(b"\n"):
                    line = file.readline(_LONGEST)

    def sound(self) -> AbstractContextManager[None]:
        """Inside, whatever is wrong with the packing becomes one sentence."""
        rule = f"must be whole {self.packing} data" if self.packing else "must be readable to its end"
        return refusing(self.what, rule, "damage inside or an end that comes too early")

    def _open(self) -> BinaryIO | gzip.GzipFile:
        return gzip.open(self.path) if self.packing == "gzip" else self.path.open("rb")

    def _check_size(self) -> None:
        """Refuse what says itself that it is far larger than any history packs."""
        size, packed = stated_size(self.path), self.path.stat().st_size
        if size > _LARGE and size > _TIMES * packed:
            rule = f"must not unpack to more than {_TIMES} times its size"
            raise BadInput(self.what, rule, found=f"{size / packed:.0f} times", fix="unpack it first")

    def _zstd_lines(self, file: BinaryIO) -> Iterator[bytes]:
        """Python 3.11 cannot unpack zstd but polars can, as long as all is UTF-8.

        Otherwise what cannot be decoded is marked on the way, and here turned back into a byte
        that cannot be decoded either.
        """
        try:
            texts, lost = pl.read_lines(file)["line"], b""
        except TROUBLE:
            file.seek(0)
            texts, lost = self._lossy(file), _LOST
        for text in texts:
            line = (text or "").encode() + b"\n"
            yield line.replace(lost, b"\xff") if lost else line

    def _lossy(self, file: BinaryIO) -> pl.Series:
        """Lines as a table of one column. A separator inside would be refused, never cut off."""
        with self.sound():
            return pl.read_csv(
                file,
                has_header=False,
                schema={"line": pl.String},
                separator="\x01",
                quote_char=None,
                encoding="utf8-lossy",
            )["line"]


def text_of(line: bytes) -> str:
    r"""A line as text, with its end.

    >>> text_of("é,b\r\n".encode())
    'é,b\r\n'
    >>> text_of(b"\xe9,b")
    Traceback (most recent call last):
    tarry.readers.lines.Illegible: the line is not UTF-8 text
    """
    if len(line) >= _LONGEST:
        raise Illegible(f"the line is longer than {_LONGEST >> 20} MiB")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise Illegible(NOT_TEXT) from None
