"""Lines of JSON objects, as columns: the fast way, where every line is sound."""

import json

import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray
from tarry.readers.faults import Faults
from tarry.readers.lines import TextFile
from tarry.readers.names import choose_columns
from tarry.readers.nested import unnest
from tarry.readers.objects import read_objects, whole_names
from tarry.readers.rows import TROUBLE, Rows, Wanted

__all__ = ["read_jsonl"]


def read_jsonl(text: TextFile, wanted: Wanted) -> Rows:
    r"""Read objects, one on each line: quickly if all are sound, else line by line with reasons.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.jsonl"
    ...     _ = path.write_text('{"actor": 5, "target": "p", "time": 1}\n[]\n')
    ...     rows = read_jsonl(TextFile(path=path, what="the history votes.jsonl"), Wanted())
    >>> rows.frame["actor"].to_list(), str(rows.faults.first[0])
    ([5], 'line 2: not a JSON object')
    """
    try:
        rows = _fast(text, wanted)
    except BadInput:
        raise
    except OSError:  # no line can be read past damage in the packing
        with text.sound():
            raise
    except TROUBLE:
        rows = None
    return read_objects(text, wanted) if rows is None else rows


def _fast(text: TextFile, wanted: Wanted) -> Rows | None:
    """All rows at once, or None where only a look at each line can tell what a column holds."""
    with text.path.open("rb") as file:
        frame = unnest(pl.read_ndjson(file, infer_schema_length=None), wanted)
    lines = _lines(text)
    chosen = choose_columns(frame.columns, wanted, text.what)
    kinds = [frame.schema[column] for column in chosen.values()]
    names = (chosen["actor"], chosen["target"])
    texts = [column for column in names if frame.schema[column] == pl.String]
    if len(lines) != frame.height or any(kind.is_nested() or kind == pl.Boolean for kind in kinds):
        return None
    if _not_all_texts(text, texts):
        return None
    return Rows(frame=whole_names(frame, chosen), lines=lines, faults=Faults(text.what))


def _lines(text: TextFile) -> IntArray:
    """The numbers of the lines that are not blank."""
    with text.path.open("rb") as file:
        there = pl.scan_lines(file, row_index_name="number", row_index_offset=1)
        numbers = there.filter(pl.col("line").str.contains(r"[^ \t\r]")).select("number").collect()
    return numbers.to_series().cast(pl.Int64).to_numpy()


def _not_all_texts(text: TextFile, columns: list[str]) -> bool:
    """Whether a column read as texts may hold numbers, lists or objects, which were made texts.

    A text that quotes such a line looks the same, and so does a name inside another column: then
    the slow way is taken for nothing.
    """
    names = {name for column in columns for name in (column, column.rpartition(".")[2])}
    keys = (pl.escape_regex(json.dumps(name, ensure_ascii=False)) for name in sorted(names))
    forms = [rf'{key}\s*:\s*[^"\sn]' for key in keys]
    if not forms:
        return False
    with text.path.open("rb") as file:
        found = pl.scan_lines(file).select(pl.col("line").str.contains("|".join(forms)).any()).collect()
    return bool(found.item())
