"""Lines of JSON objects as columns: fast where every line is sound, else line by line with reasons."""

import json
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, NoReturn

import numpy as np
import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray
from tarry.readers.columns import (
    TROUBLE,
    Rows,
    Wanted,
    add_inner,
    choose_columns,
    paths_of,
    refusing,
    unnest,
)
from tarry.readers.faults import NO_NAMES, Faults
from tarry.readers.json_stream import NoJson, json_object, json_text
from tarry.readers.sources import Illegible, TextFile, text_of

__all__ = ["read_jsonl", "read_objects", "whole_names"]

_NUMBERS = {int, float}
_EXACT = 2.0**53  # whole numbers below it are exact as floats


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
    return rows or read_objects(text, wanted)


def _fast(text: TextFile, wanted: Wanted) -> Rows | None:
    """All rows at once, or None where only a look at each line can tell what a column holds."""
    with text.path.open("rb") as file:
        frame = unnest(pl.read_ndjson(file, infer_schema_length=None), wanted)
    lines = _lines(text)
    chosen = choose_columns(frame.columns, wanted, text.what)
    kinds = [frame.schema[column] for column in chosen.values()]
    texts = [chosen[role] for role in ("actor", "target") if frame.schema[chosen[role]] == pl.String]
    unclear = any(kind.is_nested() or kind == pl.Boolean for kind in kinds)
    if len(lines) != frame.height or unclear or (texts and _not_all_texts(text, texts)):
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
    with text.path.open("rb") as file:
        hits = pl.scan_lines(file).select(pl.col("line").str.contains("|".join(forms)).any()).collect()
    return bool(hits.item())


@dataclass
class _Objects:
    """Sound lines, written anew."""

    texts: list[str] = field(default_factory=list)  # one object each
    lines: list[int] = field(default_factory=list)  # where they stood
    kinds: dict[str, set[type]] = field(default_factory=dict)  # what was hits under each key

    def add(self, line: int, row: dict[str, Any]) -> None:
        self.texts.append(json_text(row))  # without what only some readers of JSON accept
        self.lines.append(line)
        for key, value in row.items():
            self.kinds.setdefault(key, set()).add(type(value))


def read_objects(text: TextFile, wanted: Wanted) -> Rows:
    r"""Read objects line by line; what is no object is noted with its line and reason.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.jsonl"
    ...     _ = path.write_text('{"actor": 5, "target": "p", "time": 1}\n{"actor": "x\n')
    ...     rows = read_objects(TextFile(path=path, what="the history votes.jsonl"), Wanted())
    >>> rows.frame.height, str(rows.faults.first[0])
    (1, 'line 2: not JSON: Unterminated string starting at (character 11)')
    """
    faults, sound, paths = Faults(text.what), _Objects(), paths_of(wanted)
    for number, line in enumerate(text.lines(), 1):
        try:
            if written := text_of(line).strip("\ufeff \t\r\n"):
                row = json_object(written)
                add_inner(row, paths)
                sound.add(number, row)
        except (Illegible, NoJson) as error:
            faults.add(number, str(error))
            faults.give_up_if_hopeless(len(sound.lines))
    if not sound.lines:
        _refuse(faults)
    chosen = choose_columns(list(sound.kinds), wanted, text.what)
    if any(sound.kinds[key] & NO_NAMES.keys() for key in chosen.values()):
        sound, faults = _set_aside(sound, chosen, faults)
    return Rows(
        frame=_frame(sound, chosen, text.what),
        lines=np.array(sound.lines, dtype=np.int64),
        faults=faults,
        notes=_notes(sound, chosen),
    )


def _refuse(faults: Faults) -> NoReturn:
    if faults.count:
        faults.refuse(f"none among {faults.count}")
    raise BadInput(f"{faults.what} has nothing but blank lines", "give a JSON object on each line")


def _set_aside(sound: _Objects, chosen: dict[str, str], faults: Faults) -> tuple[_Objects, Faults]:
    """Give up the objects whose names or time are of a kind that these never have."""
    kept, strange = _Objects(), Faults(faults.what)
    for line, text in zip(sound.lines, sound.texts, strict=True):
        row = json.loads(text)
        kinds = {role: type(row.get(key)) for role, key in chosen.items()}
        reasons = [f"{role} is {NO_NAMES[kind]}" for role, kind in kinds.items() if kind in NO_NAMES]
        if reasons:
            strange.add(line, reasons[0])
        else:
            kept.add(line, row)
    both = faults.joined(strange)
    if not kept.lines:
        _refuse(both)
    return kept, both


def _frame(sound: _Objects, chosen: dict[str, str], what: str) -> pl.DataFrame:
    """Objects as a table; a further column of kinds that do not go together becomes texts."""
    source = "\n".join(sound.texts).encode()
    schema = {
        key: _kind(kinds) if key in chosen.values() else pl.String for key, kinds in sound.kinds.items()
    }
    try:
        frame = pl.read_ndjson(BytesIO(source), infer_schema_length=None)
    except TROUBLE:
        with refusing(
            f"the objects of {what} do not fit one table", "give each key values of one kind on all lines"
        ):
            frame = pl.read_ndjson(BytesIO(source), schema=schema)
    return whole_names(frame, chosen)


def whole_names(frame: pl.DataFrame, chosen: dict[str, str]) -> pl.DataFrame:
    """Names written as 5.0 are whole numbers, if all are: some exports write every number so.

    >>> chosen = {"actor": "a", "target": "b"}
    >>> whole_names(pl.DataFrame({"a": [5.0, None], "b": [1.5, 2.0]}), chosen).dtypes
    [Int64, Float64]
    """
    names = {key: frame[key] for role, key in chosen.items() if role != "time"}
    fits = [
        key
        for key, name in names.items()
        if name.dtype.is_float() and ((name == name.round()) & (name.abs() < _EXACT)).all()
    ]
    return frame.with_columns(pl.col(fits).cast(pl.Int64)) if fits else frame


def _kind(kinds: set[type]) -> type[pl.DataType]:
    known = kinds - {type(None)}
    return pl.Int64 if known == {int} else pl.Float64 if known and known <= _NUMBERS else pl.String


def _notes(sound: _Objects, chosen: dict[str, str]) -> tuple[str, ...]:
    """Where 5 and "5" became one name, a person should know."""
    mixed = (role for role in ("actor", "target") if sound.kinds[chosen[role]] & _NUMBERS)
    return tuple(
        f"numbers and texts mix in the column of the {role}: all read as texts"
        for role in mixed
        if str in sound.kinds[chosen[role]]
    )
