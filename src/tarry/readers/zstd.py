"""The beginning of a zstd file as a zstd file of its own, so that a look at it stays small.

The form is that of RFC 8878: frames of blocks, each of which unpacks to at most 128 KiB.
"""

from pathlib import Path
from typing import BinaryIO, NamedTuple

__all__ = ["ZSTD", "beginning", "stated_size"]

ZSTD = b"\x28\xb5\x2f\xfd"
_BLOCKS = 64  # at most 8 MiB
_LARGEST = 1 << 17  # bytes of a block
_PLAIN = b"\x00\x68"  # a frame that states no size and no checksum, and looks back 8 MiB at most
_RUN, _INVALID = 1, 3  # kinds of blocks


class _Frame(NamedTuple):
    size: int  # that it states to unpack to; 0 where it states none
    checksum: bool  # whether one follows its last block


def beginning(path: Path) -> bytes:
    """The first blocks of a file, as a file. What is cut or damaged stays so.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.zst"
    ...     _ = path.write_bytes(ZSTD + bytes.fromhex("2002110000") + b"hi")
    ...     beginning(path).hex(" ")
    '28 b5 2f fd 00 68 11 00 00 68 69'
    """
    found, left = b"", _BLOCKS
    with path.open("rb") as file:
        while left and (frame := _frame(file)) is not None:
            blocks, count = _blocks(file, left)
            found, left = found + ZSTD + _PLAIN + blocks, left - count
            file.read(4 if frame.checksum else 0)
    return found


def stated_size(path: Path) -> int:
    """What the first frame states to unpack to; 0 where it states nothing.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.zst"
    ...     _ = path.write_bytes(ZSTD + bytes.fromhex("a000ca9a3b"))
    ...     stated_size(path)
    1000000000
    """
    with path.open("rb") as file:
        frame = _frame(file)
    return frame.size if frame else 0


def _frame(file: BinaryIO) -> _Frame | None:
    """The head of the frame that begins here, if one does."""
    start = file.read(5)
    if len(start) < len(ZSTD) + 1 or not start.startswith(ZSTD):
        return None
    marks = start[-1]
    single = bool(marks & 0x20)
    file.read((0 if single else 1) + (0, 1, 2, 4)[marks & 3])  # the window, and the name of a dictionary
    width = (int(single), 2, 4, 8)[marks >> 6]
    size = int.from_bytes(file.read(width), "little") + (256 if width == 2 else 0)
    return _Frame(size, bool(marks & 4))


def _blocks(file: BinaryIO, most: int) -> tuple[bytes, int]:
    """The first blocks of a frame, the last one marked as the last."""
    found, count = [], 0
    while True:
        head = int.from_bytes(file.read(3), "little")
        kind, size = head >> 1 & 3, head >> 3
        count += 1
        sound = kind != _INVALID and size <= _LARGEST
        last = head & 1 or (sound and count == most)
        body = file.read(1 if kind == _RUN else size) if sound else b""
        found.append((head | last).to_bytes(3, "little") + body)
        if last or not sound:
            return b"".join(found), count
