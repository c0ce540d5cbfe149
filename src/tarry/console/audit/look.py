"""A first look at an upload: the names and kinds of its columns, and which one is probably what.

No value of a cell leaves here: they are people's.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from tarry.core.errors import BadInput, require
from tarry.readers.columns import TROUBLE, Wanted, choose_columns
from tarry.readers.files import check_start, check_text, read_arrow, read_parquet
from tarry.readers.separated import records
from tarry.readers.sources import HEAD, TextFile

__all__ = ["ROLES", "check_unpacked", "look"]

ROLES = ("actor", "target", "time")
_MOST_COLUMNS = 500
_MOST_LINES = 500
_DEEPEST = 4
_CHUNK = 1 << 20
_TEXTS = {".csv", ".tsv", ".jsonl", ".ndjson"}
_TABLES = {
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), read_arrow),
}
_MAGIC = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\xff\xff\xff\xff": ".arrow"}
_KINDS_OF_CELLS: dict[type, str] = {bool: "yes_no", int: "whole", float: "number"}
_BOM = b"\xef\xbb\xbf"


def look(path: Path) -> dict[str, Any]:
    r"""The columns of a file, and a guess for each role (None where nothing fits).

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.csv"
    ...     _ = path.write_text("voter,proposal,when\nann,p1,2024-05-01T10:00:00Z\n")
    ...     columns = look(path)
    >>> columns["columns"][0], columns["guess"]
    ({'name': 'voter', 'kind': 'text'}, {'actor': 'voter', 'target': 'proposal', 'time': None})
    """
    text = TextFile(path=path, what=f"the history {path.name}")
    head = text.head()
    check_start(head, text.what)
    kinds = _kinds(text, head)
    if len(kinds) < len(ROLES):
        many = f"{len(kinds)} column{'' if len(kinds) == 1 else 's'}"
        raise BadInput(
            f"{text.what} must have columns for who acted, on what and when, not {many}",
            "check that its first line has the names of the columns",
        )
    names = list(kinds)[:_MOST_COLUMNS]
    return {
        "columns": [{"name": name, "kind": kinds[name]} for name in names],
        "guess": {role: _guess(role, names) for role in ROLES},
    }


def check_unpacked(path: Path, most: int) -> None:
    """Refuse a gzip file that unpacks to more than this; other packings run into the limit of memory.

    >>> check_unpacked(Path(__file__), most=10)
    """
    import gzip  # noqa: PLC0415 - few files are packed

    text, size = TextFile(path=path, what=f"the history {path.name}"), 0
    if text.packing != "gzip":
        return
    with text.sound(), gzip.open(path) as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise BadInput(
                    f"{text.what} unpacks to more than {most >> 20} MiB", "choose a shorter history"
                )


def _kinds(text: TextFile, head: bytes) -> dict[str, str]:
    ending = _ending(text.path, head)
    if read := _TABLES.get(ending):
        frame = read(text.path, text.what).frame
        _need_rows(text.what, frame.height)
        return _flat(dict(frame.schema), _kind)
    check_text(head, text)
    start = head.removeprefix(_BOM)
    if len(head) >= HEAD:
        start = start[: start.rfind(b"\n") + 1]  # no line that is cut
    if ending in {".jsonl", ".ndjson"} or (not ending and start.lstrip().startswith(b"{")):
        return _objects(text.what, start)
    return _separated(text.what, start, is_tabs=ending == ".tsv")


def _ending(path: Path, head: bytes) -> str:
    """The kind, as the readers tell it: by the ending before that of a packing, else by the first bytes."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in {".gz", ".zst"}:
        endings.pop()
    if endings and endings[-1] in {*_TEXTS, *_TABLES}:
        return endings[-1]
    return next((ending for magic, ending in _MAGIC.items() if head.startswith(magic)), "")


def _separated(what: str, start: bytes, *, is_tabs: bool) -> dict[str, str]:
    lines = start.splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), b"")
    marks = (b"\t",) if is_tabs else (b",", b"\t", b";")
    separator = next((mark for mark in marks if mark in first), marks[0]).decode()
    rows = records(lines, separator)
    _, _, names = next(rows, (1, 1, "no line that ends within its first MiB"))
    if b"\0" in first or isinstance(names, str):
        start_is = names if isinstance(names, str) else "NUL bytes"
        raise BadInput(
            f"{what} must begin with a line of column names in UTF-8, not with {start_is}",
            "choose a table of text, Parquet or Arrow",
        )
    _need_rows(what, next(rows, None) is not None)
    kinds = _read_kinds(start, separator)
    # The reader numbers names that come twice; they cannot be chosen by name here.
    counts = Counter(names)
    return {name: kinds.get(name, "text") for name in names if name and counts[name] == 1}


def _read_kinds(start: bytes, separator: str) -> dict[str, str]:
    try:
        frame = pl.read_csv(
            BytesIO(start),
            separator=separator,
            infer_schema_length=_MOST_LINES,
            n_rows=_MOST_LINES,
            try_parse_dates=True,
            ignore_errors=True,
            truncate_ragged_lines=True,
        )
    except TROUBLE:  # the kinds are a help: names come without them
        return {}
    return _flat(dict(frame.schema), _kind)


def _objects(what: str, start: bytes) -> dict[str, str]:
    row: dict[str, Any] = {}
    for line in start.splitlines()[:_MOST_LINES]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            row |= {name: cell for name, cell in value.items() if cell is not None or name not in row}
    _need_rows(what, bool(row))
    return _flat(row, _kind_of_cell)


_Kind = (
    str | Mapping[str, Any] | None
)  # in a word; what is inside it, by name; or nothing that could be chosen


def _flat(columns: Mapping[str, Any], kind_of: Callable[[Any], _Kind], depth: int = 1) -> dict[str, str]:
    """Columns inside others by their paths, as the readers name them."""
    kinds: dict[str, str] = {}
    for name, column in columns.items():
        kind = kind_of(column)
        if isinstance(kind, str):
            kinds[name] = kind
        elif kind is not None and depth < _DEEPEST:
            kinds |= {f"{name}.{inner}": each for inner, each in _flat(kind, kind_of, depth + 1).items()}
    return kinds


def _kind(kind: Any) -> _Kind:
    if isinstance(kind, pl.Struct):
        return {field.name: field.dtype for field in kind.fields}
    if kind.is_nested():
        return None
    words = {"moment": kind.is_temporal(), "whole": kind.is_integer(), "number": kind.is_numeric()}
    return next(
        (word for word, is_so in words.items() if is_so), "yes_no" if kind == pl.Boolean else "text"
    )


def _kind_of_cell(cell: Any) -> _Kind:
    if isinstance(cell, dict | list):
        return cell if isinstance(cell, dict) else None
    return _KINDS_OF_CELLS.get(type(cell), "text")


def _guess(role: str, names: Sequence[str]) -> str | None:
    """As `tarry audit` guesses, for one role alone: the others are taken by columns that nobody has."""
    others = {other: f"\0{other}" for other in ROLES if other != role}
    try:
        return choose_columns([*names, *others.values()], Wanted(**others))[role]
    except BadInput:
        return None


def _need_rows(what: str, rows: int | bool) -> None:  # noqa: FBT001 - a count, or whether there are any
    require(rows, f"{what} has no rows", "choose a file with rows in it")
