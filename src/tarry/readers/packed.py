"""A file or standard input as blocks of bytes, unpacked on the way, however large it is."""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from tarry.core.errors import BadInput
from tarry.readers.faults import clip
from tarry.readers.zstd import ZSTD

__all__ = ["BLOCK", "STANDARD_INPUT", "Packed"]

BLOCK = 1 << 18
STANDARD_INPUT = "-"
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", ZSTD: "zstd"}
_ARCHIVES = {  # which hold files with names, and are not made to be read from the front
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "7z x -so FILE.7z"),
    b"PK\x03\x04": ("a zip archive", "unzip -p FILE.zip"),
}
_LONGEST_MAGIC = 6
_ZSTD_LIBRARIES = ("compression.zstd", "backports.zstd")  # Python's own since 3.14, and the same for older


class Packed:
    r"""Where bytes come from; how they are packed is told by the first of them.

    Nothing is opened before the first block is asked for, and a pipe can be read as well as a file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "dump.xml.bz2"
    ...     _ = path.write_bytes(bz2.compress(b"<mediawiki/>"))
    ...     source = Packed(path, "the dump")
    ...     list(source.blocks()), source.share()
    ([b'<mediawiki/>'], 1.0)
    """

    def __init__(self, path: str | Path, kind: str = "the file") -> None:
        self.path = path
        self.what = (
            "standard input" if path == STANDARD_INPUT else f"{kind} {clip(Path(path).name or path, 60)}"
        )
        self._taken, self._size = 0, 0
        if path != STANDARD_INPUT:
            _check_readable(Path(path), self.what)

    def share(self) -> float | None:
        """How much of the file was read so far, from 0 to 1; None where nobody knows, as of a pipe."""
        return min(1.0, self._taken / self._size) if self._size else None

    def blocks(self) -> Iterator[bytes]:
        """All its bytes, unpacked, a block at a time."""
        with self._opened() as raw:
            head = _first_bytes(raw)
            self._check_head(head)
            packing = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "")
            with _unpacked(io.BufferedReader(_Counted(self, raw, head)), packing, self.what) as file:
                while block := self._read(file, packing):
                    yield block

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        if self.path == STANDARD_INPUT:
            self._measure(sys.stdin.buffer)
            yield sys.stdin.buffer  # not ours to close
            return
        with Path(self.path).open("rb", buffering=0) as file:
            self._measure(file)
            yield file

    def _measure(self, file: IO[bytes]) -> None:
        self._taken = 0
        try:
            facts = os.fstat(file.fileno())
        except (OSError, ValueError):  # it is no file of the system's
            return
        self._size = facts.st_size if stat.S_ISREG(facts.st_mode) else 0

    def _check_head(self, head: bytes) -> None:
        rule = "must be plain or packed by gzip, bzip2, xz or zstd"
        if not head:
            raise BadInput(self.what, "must have something in it", found="nothing")
        for magic, (found, command) in _ARCHIVES.items():
            if head.startswith(magic):
                fix = f"unpack it first, or pipe it: {command} | tarry read ... -"
                raise BadInput(self.what, rule, found=found, fix=fix)

    def _read(self, file: IO[bytes], packing: str) -> bytes:
        rule = f"must be whole {packing} data" if packing else "must be readable to its end"
        try:
            return file.read(BLOCK)
        except EOFError:
            fix = "was it copied to the end?"
            raise BadInput(self.what, rule, found="an end that comes too early", fix=fix) from None
        except Exception as error:  # noqa: BLE001 - each packing has its own ways to say so
            found = (getattr(error, "errno", None) and getattr(error, "strerror", None)) or "damage inside"
            raise BadInput(self.what, rule, found=clip(found)) from None


class _Counted(io.RawIOBase):
    """Bytes as they lie there, the first ones given back, and counted as they are taken."""

    def __init__(self, source: Packed, raw: IO[bytes], head: bytes) -> None:
        self._source, self._head = source, head
        # One read at a time of a pipe: a signal that comes between two would not be heard before the next.
        self._read = getattr(raw, "read1", raw.read)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = len(buffer)
        found, self._head = self._head[:room], self._head[room:]
        found = found or self._read(room) or b""
        buffer[: len(found)] = found
        self._source._taken += len(found)  # noqa: SLF001 - two halves of one thing
        return len(found)


def _first_bytes(raw: IO[bytes]) -> bytes:
    """A pipe may give fewer bytes than are asked for."""
    head = b""
    while len(head) < _LONGEST_MAGIC and (more := raw.read(_LONGEST_MAGIC - len(head))):
        head += more
    return head


def _unpacked(packed: io.BufferedReader, packing: str, what: str) -> IO[bytes]:
    if packing == "gzip":
        return gzip.GzipFile(fileobj=packed)  # type: ignore[return-value]  # it reads, which is all we want
    if packing == "bzip2":
        return bz2.BZ2File(packed)
    if packing == "xz":
        return lzma.LZMAFile(packed)
    if packing == "zstd":
        file: IO[bytes] = _zstd_library(what).ZstdFile(packed)
        return file
    return packed


def _zstd_library(what: str) -> ModuleType:
    for name in _ZSTD_LIBRARIES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise BadInput(
        what,
        "must be packed by gzip, bzip2 or xz where no zstd library is at hand",
        found="zstd data",
        fix="pip install backports.zstd, or pipe it: zstd -dc FILE.zst | tarry read ... -",
    )


def _check_readable(path: Path, what: str) -> None:
    """Say why it cannot be opened, before anybody waits for it."""
    try:
        if path.is_dir():
            found = "a directory"
        else:
            found = "" if os.access(path, os.R_OK) else "no permission to read it"
            path.stat()
    except FileNotFoundError:
        found = "no such file"
    except (OSError, ValueError) as error:
        found = clip(getattr(error, "strerror", None) or "a name that no file can have")
    if found:
        raise BadInput(what, "must be a file that can be read", found=found)
