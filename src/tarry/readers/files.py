"""Histories in files: which kind a file is, and what to say of one that cannot be opened."""

from pathlib import Path

from tarry.core.errors import BadInput
from tarry.readers.columns import Columns
from tarry.readers.faults import clip
from tarry.readers.frames import take_columns
from tarry.readers.jsonl import read_jsonl
from tarry.readers.lines import TextFile
from tarry.readers.rows import Rows, Wanted
from tarry.readers.separated import read_separated
from tarry.readers.starts import check_start, check_text
from tarry.readers.tables import read_arrow, read_parquet
from tarry.readers.times import check_unit

__all__ = ["read_history"]

_PACKED = {".gz", ".zst"}
_KINDS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    ".csv": "csv",
    ".tsv": "tsv",
}


def read_history(
    path: str | Path,
    *,
    actor: str | None = None,
    target: str | None = None,
    time: str | None = None,
    time_unit: str | None = None,
) -> Columns:
    r"""Read who acted on what and when from a Parquet, Arrow, CSV, TSV or JSONL file.

    The ending of its name tells the kind, else its first bytes do. Texts may be packed by gzip or
    zstd. Columns that are not named are guessed by their usual names. A row that cannot be read is
    counted and, if among the first, told with its line and reason.

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
    wanted = Wanted(actor=actor, target=target, time=time)
    file = Path(path)
    what = f"the history {clip(file.name or file, 60)}"
    _check_readable(file, what)
    return take_columns(_rows(TextFile(path=file, what=what), wanted), wanted, time_unit)


def _check_readable(path: Path, what: str) -> None:
    """Say why a file cannot be opened, or that there is nothing in it."""
    try:
        if path.exists() and not path.is_file():
            found = "a directory" if path.is_dir() else "what is not a file"
        else:
            with path.open("rb") as file:
                found = "" if file.read(1) else "an empty file"
    except FileNotFoundError:
        found = "no such file"
    except PermissionError:
        found = "no permission to read it"
    except (OSError, ValueError) as error:
        found = clip(getattr(error, "strerror", None) or "a name that no file can have")
    if found:
        raise BadInput(what, "must be a file that can be read", found=found)


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
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    binary = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
    for magic, kind in binary.items():
        if start.startswith(magic):
            return kind
    return "jsonl" if start.startswith(b"{") else "csv"
