"""A text file line by line, packed or not: for its head, and for files the fast way refuses."""

import gzip
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tarry.core.errors import BadInput
from tarry.readers.columns import refusing
from tarry.readers.faults import NOT_TEXT
from tarry.readers.sources import MAGIC, zstd_library

__all__ = ["HEAD", "Illegible", "TextFile", "text_of"]

HEAD = 1 << 20  # bytes in which the header of a file has to end
_LONGEST = 1 << 24  # bytes of one line; nothing longer is held in memory
_LARGE, _TIMES = 1 << 30, 200  # a zstd file that unpacks to more than both is no history
_FRAME_HEAD = 18  # bytes in which a zstd file states its size


class Illegible(ValueError):
    """A line that is no text; the message says why.

    >>> raise Illegible("the line is not UTF-8 text")
    Traceback (most recent call last):
    tarry.readers.lines.Illegible: the line is not UTF-8 text
    """


@dataclass(frozen=True, kw_only=True)
class TextFile:
    r"""A file of text, unpacked while it is read. Its first bytes say how it is packed.

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
        """`gzip`, `zstd` or nothing: what the table library unpacks as well."""
        with self.path.open("rb") as file:
            start = file.read(4)
        packing = next((name for magic, name in MAGIC.items() if start.startswith(magic)), "")
        return packing if packing in {"gzip", "zstd"} else ""

    def head(self) -> bytes:
        """The first MiB or so of its text."""
        self._check_size()
        with self.sound(), self._open() as file:
            return file.read(HEAD)

    def lines(self) -> Iterator[bytes]:
        """Every line with its end. Of one that is too long only the beginning is kept."""
        with self.sound(), self._open() as file:
            while line := file.readline(_LONGEST):
                yield line
                while len(line) == _LONGEST and not line.endswith(b"\n"):
                    line = file.readline(_LONGEST)

    def sound(self) -> AbstractContextManager[None]:
        """A context in which every error of unpacking becomes one sentence."""
        rule = f"must be whole {self.packing} data" if self.packing else "must be readable to its end"
        also = [zstd_library(self.what).ZstdError] if self.packing == "zstd" else []
        problem = f"{self.what} {rule}, and has damage inside or ends too early"
        return refusing(problem, "copy it again, to its end", *also)

    def _open(self) -> IO[bytes]:
        if self.packing == "gzip":
            return gzip.open(self.path)  # type: ignore[return-value]  # it reads, which is all we want
        if self.packing == "zstd":
            file: IO[bytes] = zstd_library(self.what).open(self.path)
            return file
        return self.path.open("rb")

    def _check_size(self) -> None:
        """Refuse a zstd file that says itself that it is far larger than any history packs."""
        if self.packing != "zstd":
            return
        with self.sound(), self.path.open("rb") as file:
            size = zstd_library(self.what).get_frame_info(file.read(_FRAME_HEAD)).decompressed_size or 0
        packed = self.path.stat().st_size
        if size > _LARGE and size > _TIMES * packed:
            raise BadInput(
                f"{self.what} must be zstd data that unpacks to at most {_TIMES} times its size, "
                f"not {size / packed:.0f} times",
                "unpack it first",
            )


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
