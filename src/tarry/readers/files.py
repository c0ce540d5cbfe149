"""Histories in files: which kind a file is, what is none, and tables that are read as they are."""

import re
from pathlib import Path

import polars as pl

from tarry.core.errors import BadInput
from tarry.readers.clocks import wall_clock
from tarry.readers.columns import TROUBLE, Columns, Rows, Wanted, refusing
from tarry.readers.faults import CONVERT, Faults, clip
from tarry.readers.frames import take_columns
from tarry.readers.jsonl import read_jsonl
from tarry.readers.separated import read_separated
from tarry.readers.sources import HEAD, TextFile, check_readable
from tarry.readers.times import UNITS, check_unit

__all__ = ["check_start", "check_text", "read_arrow", "read_history", "read_parquet", "stated_unit"]

_PACKED = {".gz", ".zst"}
_KINDS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    ".csv": "csv",
    ".tsv": "tsv",
}
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
_PARQUET, _ARROW, _STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_STARTS = {_PARQUET: "parquet", _ARROW: "arrow", _STREAM: "arrow", b"{": "jsonl"}


def read_history(
    path: str | Path,
    *,
    actor: str | None = None,
    target: str | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    time_format: str | None = None,
    time_zone: str | None = None,
) -> Columns:
    r"""Read who acted on what and when from a Parquet, Arrow, CSV, TSV or JSONL file.

    The ending of its name tells the kind, else its first bytes do. Texts may be packed by gzip or
    zstd. Columns that are not named are guessed by their usual names. Texts of times are ISO 8601 or
    of `time_format`, as in strptime; those without a zone are of `time_zone`, else of UTC. A row that
    cannot be read is counted and, if among the first, told with its line and reason.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.csv"
    ...     _ = path.write_text("voter,proposal,time\n007,p1,2024-05-01T10:00:00Z\n008,p1,later\n")
    ...     found = read_history(path)
    >>> found.frame["voter"].to_list(), found.arrival.tolist()
    (['007'], [1714557600000000])
    >>> print(found.unreadable[0])
    line 3: time is not a moment (a text of 5 characters)
    """
    check_unit(time_unit)
    clock = wall_clock(time_format, time_zone, time_unit)
    wanted = Wanted(actor=actor, target=target, time=time)
    file = Path(path)
    what = f"the history {clip(file.name or file, 60)}"
    check_readable(file, what, pipes=False)
    return take_columns(_rows(TextFile(path=file, what=what), wanted), wanted, time_unit, clock)


def _rows(text: TextFile, wanted: Wanted) -> Rows:
    head = text.head()
    check_start(head, text.what)
    kind = _kind(text.path, head)
    if kind == "parquet":
        return read_parquet(text.path, text.what)
    if kind == "arrow":
        return read_arrow(text.path, text.what)
    check_text(head, text)
    if kind == "jsonl":
        return read_jsonl(text, wanted)
    return read_separated(text, wanted, "\t" if kind == "tsv" else None)


def _kind(path: Path, head: bytes) -> str:
    """By the ending of the name, before that of a packing; else by the first bytes."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in _PACKED:
        endings.pop()
    if endings and endings[-1] in _KINDS:
        return _KINDS[endings[-1]]
    start = head.removeprefix(_BOM).lstrip()
    return next((kind for magic, kind in _STARTS.items() if start.startswith(magic)), "csv")


def check_start(head: bytes, what: str) -> None:
    r"""Refuse an empty file, and kinds of files that others give for histories, by name.

    >>> check_start(b"SQLite format 3\0", "the history")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the history is an SQLite database: write its table as CSV first
    """
    if not head:
        raise BadInput(f"{what} is empty", "give one with rows")
    workbook = head.startswith(_ZIP) and _WORKBOOK.search(head, 0, 1000)
    others = {_ZIP: ("an Excel workbook", "save its sheet as CSV first")} if workbook else _OTHERS
    for magic, (kind, fix) in others.items():
        if head.startswith(magic):
            raise BadInput(f"{what} is {kind}", fix)


def check_text(head: bytes, text: TextFile) -> None:
    """Refuse a text without rows, one array instead of lines, and a packed line that has no end.

    >>> from pathlib import Path
    >>> check_text(b'[{"user": "ann"}]', TextFile(path=Path("a.json"), what="it"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: it is a JSON array: give one object a line (JSONL)
    """
    start = head.removeprefix(_BOM).lstrip()
    if not start:
        raise BadInput(f"{text.what} has nothing but blank lines", "give a table with rows")
    if _ARRAY.match(start):
        raise BadInput(f"{text.what} is a JSON array", "give one object a line (JSONL)")
    if len(head) == HEAD and b"\n" not in head and text.packing:  # it may unpack to anything
        raise BadInput(f"the first line of {text.what} has no end", "give a table, or a JSON object a line")


def read_parquet(path: Path, what: str) -> Rows:
    """Read a Parquet file, and the unit of time that its metadata may state.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.parquet"
    ...     pl.DataFrame({"actor": [1]}).write_parquet(path, metadata={"time_unit": "us"})
    ...     read_parquet(path, "the history votes.parquet").unit
    'us'
    """
    start, end = _ends(path, len(_PARQUET))
    if start != _PARQUET:
        raise BadInput(f"{what} does not begin as a Parquet file does (PAR1)", "check its ending")
    if end != _PARQUET:
        raise BadInput(f"the end of {what} is missing", "copy it again, to its end")
    with refusing(f"{what} is damaged inside", "copy it again"), path.open("rb") as file:
        frame = pl.read_parquet(file)
    return Rows(frame=frame, faults=Faults(what), unit=stated_unit(path))


def read_arrow(path: Path, what: str) -> Rows:
    """Read an Arrow file or an Arrow stream.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.arrow"
    ...     pl.DataFrame({"actor": [1]}).write_ipc_stream(path)
    ...     read_arrow(path, "the history votes.arrow").frame.shape
    (1, 1)
    """
    start, end = _ends(path, len(_ARROW))
    if start == _ARROW and end != _ARROW:
        raise BadInput(f"the end of {what} is missing", "copy it again, to its end")
    if start != _ARROW and not start.startswith(_STREAM):
        raise BadInput(f"{what} does not begin as an Arrow file does", "check its ending")
    with refusing(f"{what} is damaged inside", "copy it again"), path.open("rb") as file:
        frame = pl.read_ipc(file) if start == _ARROW else pl.read_ipc_stream(file)
    return Rows(frame=frame, faults=Faults(what))


def _ends(path: Path, size: int) -> tuple[bytes, bytes]:
    with path.open("rb") as file:
        start = file.read(size)
        file.seek(-min(size, path.stat().st_size), 2)
        return start, file.read(size)


def stated_unit(path: Path) -> str | None:
    """The unit of time that the metadata of a Parquet file states, if it does.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.parquet"
    ...     pl.DataFrame({"actor": [1]}).write_parquet(path)
    ...     stated_unit(path) is None
    True
    """
    try:
        with path.open("rb") as file:
            stated = pl.read_parquet_metadata(file).get("time_unit")
    except TROUBLE:  # the table was read: what stands beside it is a help and no need
        return None
    return stated if stated in {*UNITS, "iso"} else None
