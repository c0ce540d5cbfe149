"""Where bytes come from: a file, several, or standard input, unpacked on the way, however many.

A file of text (`TextFile`) is read line by line: for its head, and where the fast way refuses it.
"""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from tarry.core.errors import BadInput
from tarry.readers.faults import NOT_TEXT, Faults, clip

__all__ = [
    "BLOCK",
    "HEAD",
    "MAGIC",
    "STANDARD_INPUT",
    "Illegible",
    "Packed",
    "Paths",
    "Pieces",
    "TextFile",
    "check_readable",
    "text_of",
    "zstd_library",
]

BLOCK = 1 << 18
STANDARD_INPUT = "-"
#: One file or several; `-` is standard input.
Paths = str | Path | Sequence[str | Path]
#: Packings, by the first bytes of a file.
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_UNPACK: dict[str, Callable[[Any], Any]] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_LONGEST_NAME = 120
_ARCHIVES = {  # which hold files with names, and are not made to be read from the front
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "7z x -so FILE.7z"),
    b"PK\x03\x04": ("a zip archive", "unzip -p FILE.zip"),
}
_LONGEST_MAGIC = 6
HEAD = 1 << 20  # bytes in which the header of a file has to end
_LONGEST = 1 << 24  # bytes of one line; nothing longer is held in memory
_LARGE, _TIMES = 1 << 30, 200  # a zstd file that unpacks to more than both is no history
_FRAME_HEAD = 18  # bytes in which a zstd file states its size
_ZSTD_LIBRARIES = ("compression.zstd", "backports.zstd")  # Python's own since 3.14, and the same for older


class Packed:
    r"""A file or standard input. Its first bytes say how it is packed.

    Nothing is opened before the first block is asked for, and a pipe can be read as well as a file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "dump.xml.bz2"
    ...     _ = path.write_bytes(bz2.compress(b"<mediawiki/>"))
    ...     source = Packed(path, "the dump")
    ...     list(source.blocks()), source.taken == source.size
    ([b'<mediawiki/>'], True)
    """

    def __init__(self, path: str | Path, kind: str = "the file") -> None:
        self.path = path
        self.what = (
            "standard input" if path == STANDARD_INPUT else f"{kind} {clip(Path(path).name or path, 60)}"
        )
        if path != STANDARD_INPUT:
            check_readable(Path(path), self.what)
        self.size = _size(path)  # bytes; nobody knows the size of a pipe, and 0 says so
        self.taken = 0  # bytes that were read so far

    def blocks(self) -> Iterator[bytes]:
        """All its bytes, unpacked, a block at a time."""
        self.taken = 0
        stdin = nullcontext(sys.stdin.buffer)  # not ours to close
        with stdin if self.path == STANDARD_INPUT else Path(self.path).open("rb", buffering=0) as raw:
            head = _first_bytes(raw)
            self._check_head(head)
            packing = _packing(head)
            with _unpacked(io.BufferedReader(_Counted(self, raw, head)), packing, self.what) as file:
                while block := self._read(file, packing):
                    yield block

    def _check_head(self, head: bytes) -> None:
        if not head:
            raise BadInput(f"{self.what} is empty", "give one with something in it")
        for magic, (archive, command) in _ARCHIVES.items():
            if head.startswith(magic):
                raise BadInput(
                    f"{self.what} is {archive}",
                    f"unpack it first, or pipe it: {command} | tarry read ... -",
                )

    def _read(self, file: IO[bytes], packing: str) -> bytes:
        rule = _rule(packing)
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
        places = {path if path == STANDARD_INPUT else Path(path).resolve() for path in several}
        if len(places) < len(several):
            raise BadInput(f"one file of {self.what} is given twice", "give it once")

    def __iter__(self) -> Iterator[Packed]:
        for file, name in zip(self._files, self._names, strict=True):
            self.faults.file = name
            yield file

    def share(self) -> float | None:
        """How much of all was read so far, from 0 to 1; None where nobody knows, as of a pipe."""
        sizes = [file.size for file in self._files]
        if not all(sizes):
            return None
        return sum(min(file.taken, file.size) for file in self._files) / sum(sizes)


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
        self._source.taken += len(taken)
        return len(taken)


def _first_bytes(raw: IO[bytes]) -> bytes:
    """A pipe may give fewer bytes than are asked for."""
    head = b""
    while len(head) < _LONGEST_MAGIC and (more := raw.read(_LONGEST_MAGIC - len(head))):
        head += more
    return head


def _packing(head: bytes) -> str:
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), "")


def _rule(packing: str) -> str:
    return f"must be whole {packing} data" if packing else "must be readable to its end"


def _unpacked(packed: IO[bytes], packing: str, what: str) -> IO[bytes]:
    unpack = zstd_library(what).ZstdFile if packing == "zstd" else _UNPACK.get(packing)
    file: IO[bytes] = unpack(packed) if unpack else packed
    return file


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


def check_readable(path: Path, what: str, *, pipes: bool = True) -> None:
    """Say why a file cannot be opened, before anybody waits for it. It may be a pipe where `pipes` says so.

    >>> check_readable(Path("/nowhere/dump.xml"), "the dump")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the dump cannot be read (no such file): check its name
    """
    try:
        mode = path.stat().st_mode
        reason = "" if os.access(path, os.R_OK) else "no permission"
        if stat.S_ISDIR(mode):
            reason = "it is a directory"
        elif stat.S_ISREG(mode):
            path.open("rb").close()
        elif not pipes:
            reason = "it is not a file"
    except FileNotFoundError:
        reason = "no such file"
    except PermissionError:
        reason = "no permission"
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


def _size(path: str | Path) -> int:
    """Bytes of a file, and 0 of what has no size."""
    try:
        facts = os.fstat(sys.stdin.buffer.fileno()) if path == STANDARD_INPUT else Path(path).stat()
    except (OSError, ValueError):  # standard input is no file of the system's
        return 0
    return facts.st_size if stat.S_ISREG(facts.st_mode) else 0


class Illegible(ValueError):
    """A line that is no text; the message says why.

    >>> raise Illegible("the line is not UTF-8 text")
    Traceback (most recent call last):
    tarry.readers.sources.Illegible: the line is not UTF-8 text
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
            packing = _packing(file.read(_LONGEST_MAGIC))
        return packing if packing in {"gzip", "zstd"} else ""

    def head(self) -> bytes:
        """The first MiB or so of its text."""
        self._check_size()
        with self.sound(), self.path.open("rb") as raw, _unpacked(raw, self.packing, self.what) as file:
            return file.read(HEAD)

    def lines(self) -> Iterator[bytes]:
        """Every line with its end. Of one that is too long only the beginning is kept."""
        with self.sound(), self.path.open("rb") as raw, _unpacked(raw, self.packing, self.what) as file:
            while line := file.readline(_LONGEST):
                yield line
                while len(line) == _LONGEST and not line.endswith(b"\n"):
                    line = file.readline(_LONGEST)

    @contextmanager
    def sound(self) -> Iterator[None]:
        """A context in which every error of unpacking becomes one sentence."""
        try:
            yield
        except BadInput:
            raise
        except Exception:  # noqa: BLE001 - each packing has its own ways to say so
            raise BadInput(
                f"{self.what} {_rule(self.packing)}, and has damage inside or ends too early",
                "copy it again, to its end",
            ) from None

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
    tarry.readers.sources.Illegible: the line is not UTF-8 text
    """
    if len(line) >= _LONGEST:
        raise Illegible(f"the line is longer than {_LONGEST >> 20} MiB")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise Illegible(NOT_TEXT) from None
