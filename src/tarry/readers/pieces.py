"""An export in one file or in several, which are read one after the other as if they were one."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tarry.core.errors import BadInput
from tarry.readers.faults import Faults, clip
from tarry.readers.packed import STANDARD_INPUT, Packed

__all__ = ["Paths", "Pieces"]

#: One file or several; `-` is standard input.
Paths = str | Path | Sequence[str | Path]
_LONGEST_NAME = 120


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
        given = [paths] if isinstance(paths, str | Path) else list(paths)
        self._files = [Packed(path, kind) for path in given]
        self._names = _names(given) if len(given) > 1 else [""]
        self.what = self._files[0].what if len(given) == 1 else f"{kind} in {len(given)} files"
        self.faults = Faults(self.what)  # of all of them, each with its file where there are several
        self._sizes = [_size(path) for path in given]
        self._read, self._now = (
            0,
            self._files[0],
        )  # bytes of those that were read to their end, and the next
        if len({_place(path) for path in given}) < len(given):
            raise BadInput(self.what, "must be different files", found="one of them twice")

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


def _names(given: Sequence[str | Path]) -> list[str]:
    """Files by their names, or as they were given where two in different folders have one name."""
    names = [Path(path).name for path in given]
    shown = names if len(set(names)) == len(names) else [str(path) for path in given]
    return [
        "standard input" if path == STANDARD_INPUT else clip(name, _LONGEST_NAME)
        for path, name in zip(given, shown, strict=True)
    ]


def _place(path: str | Path) -> str | Path:
    return path if path == STANDARD_INPUT else Path(path).resolve()


def _size(path: str | Path) -> int:
    """Bytes of a file, and 0 of what has no size."""
    file = Path(path)
    return file.stat().st_size if path != STANDARD_INPUT and file.is_file() else 0
