"""Where bytes come from: a file, several, or standard input, unpacked on the way, however many."""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from tarry.core.errors import BadInput
from tarry.readers.faults import Faults, clip

__all__ = ["BLOCK", "MAGIC", "STANDARD_INPUT", "Packed", "Paths", "Pieces", "zstd_library"]

BLOCK = 1 << 18
STANDARD_INPUT = "-"
#: One file or several; `-` is standard input.
Paths = str | Path | Sequence[str | Path]
#: Packings, by the first bytes of a file.
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_LONGEST_NAME = 120
_ARCHIVES = {  # which hold files with names, and are not made to be read from the front
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "7z x -so FILE.7z"),
    b"PK\x03\x04": ("a zip archive", "unzip -p FILE.zip"),
}
_LONGEST_MAGIC = 6
_ZSTD_LIBRARIES = ("compression.zstd", "backports.zstd")  # Python's own since 3.14, and the same for older


class Packed:
    r"""A file or standard input. Its first bytes say how it is packed.

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
            packing = next((name for magic, name in MAGIC.items() if head.startswith(magic)), "")
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
        if not head:
            raise BadInput(f"{self.what} is empty", "give one with something in it")
        for magic, (archive, command) in _ARCHIVES.items():
            if head.startswith(magic):
                fix = f"unpack it first, or pipe it: {command} | tarry read ... -"
                raise BadInput(f"{self.what} is {archive}", fix)

    def _read(self, file: IO[bytes], packing: str) -> bytes:
        rule = f"must be whole {packing} data" if packing else "must be readable to its end"
        try:
            return file.read(BLOCK)
        except EOFError:
            raise BadInput(f"{self.what} {rule}, and ends too early", "copy it again, to its end") from None
        except OSError as error:
            reason = clip(error.strerror) if error.errno and error.strerror else "damage inside"
            raise BadInput(f"{self.what} {rule}, and has an error ({reason})", "copy it again") from None
        except Exception:  # noqa: BLE001 - each packing has its own ways to say so
            raise BadInput(f"{self.what} {rule}, and has damage inside", "copy it again") from None


class Pieces:
    r"""The files of one export. Only one is open at a time, and all can be opened before the first is.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     paths = [Path(folder) / name for name in ("dump1.xml", "dump2.xml")]
    ...     for path in paths:
    ...         _ = path.write_text("<mediawiki/>")
    ...     pieces = Pieces(paths, "the dump")
    ...     for source in pieces:
    ...         print(source.what, list(source.blocks()), pieces.share())
    the dump dump1.xml [b'<mediawiki/>'] 0.5
    the dump dump2.xml [b'<mediawiki/>'] 1.0
    >>> pieces.what
    'the dump in 2 files'
    """

    def __init__(self, paths: Paths, kind: str) -> None:
        several = [paths] if isinstance(paths, str | Path) else list(paths)
        self._files = [Packed(path, kind) for path in several]
        self._names = _names(several) if len(several) > 1 else [""]
        self.what = self._files[0].what if len(several) == 1 else f"{kind} in {len(several)} files"
        self.faults = Faults(self.what)  # of all of them, each with its file where there are several
        self._sizes = [_size(path) for path in several]
        self._read = 0  # bytes of those that were read to their end
        self._now = self._files[0]
        if len({_place(path) for path in several}) < len(several):
            raise BadInput(f"one file of {self.what} is given twice", "give it once")

    def __iter__(self) -> Iterator[Packed]:
        for file, name, size in zip(self._files, self._names, self._sizes, strict=True):
            self._now, self.faults.file = file, name
            yield file
            self._read += size

    def share(self) -> float | None:
        """How much of all was read so far, from 0 to 1; None where nobody knows, as of a pipe."""
        if len(self._files) == 1:
            return self._now.share()
        if not all(self._sizes):
            return None
        size = self._sizes[self._files.index(self._now)]
        return min(1.0, (self._read + (self._now.share() or 0) * size) / sum(self._sizes))


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
        taken, self._head = self._head[:room], self._head[room:]
        taken = taken or self._read(room) or b""
        buffer[: len(taken)] = taken
        self._source._taken += len(taken)  # noqa: SLF001 - two halves of one thing
        return len(taken)


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
        file: IO[bytes] = zstd_library(what).ZstdFile(packed)
        return file
    return packed


def zstd_library(what: str) -> ModuleType:
    """The library that unpacks zstd; `what` is what a sentence calls the file that needs it.

    >>> zstd_library("the dump").compress(b"")[:4].hex()
    '28b52ffd'
    """
    for name in _ZSTD_LIBRARIES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise BadInput(
        f"{what} is packed by zstd, and no library for it is installed",
        "pip install backports.zstd, or pipe it: zstd -dc FILE.zst | tarry read ... -",
    )


def _check_readable(path: Path, what: str) -> None:
    """Say why it cannot be opened, before anybody waits for it."""
    try:
        if path.is_dir():
            reason = "it is a directory"
        else:
            reason = "" if os.access(path, os.R_OK) else "no permission"
            path.stat()
    except FileNotFoundError:
        reason = "no such file"
    except OSError as error:
        reason = clip(error.strerror)
    except ValueError:
        reason = "no file can have such a name"
    if reason:
        raise BadInput(f"{what} cannot be read ({reason})", "check its name")


def _names(several: Sequence[str | Path]) -> list[str]:
    """Files by their names, or as they were several where two in different folders have one name."""
    names = [Path(path).name for path in several]
    shown = names if len(set(names)) == len(names) else [str(path) for path in several]
    return [
        "standard input" if path == STANDARD_INPUT else clip(name, _LONGEST_NAME)
        for path, name in zip(several, shown, strict=True)
    ]


def _place(path: str | Path) -> str | Path:
    return path if path == STANDARD_INPUT else Path(path).resolve()


def _size(path: str | Path) -> int:
    """Bytes of a file, and 0 of what has no size."""
    file = Path(path)
    return file.stat().st_size if path != STANDARD_INPUT and file.is_file() else 0
