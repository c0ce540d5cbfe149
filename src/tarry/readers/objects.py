"""Lines of JSON objects one by one: slow, forgiving and exact about lines and kinds."""

import json
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, NoReturn

import numpy as np
import polars as pl

from tarry.core.errors import BadInput
from tarry.readers.faults import Faults
from tarry.readers.lines import Illegible, TextFile, text_of
from tarry.readers.names import choose_columns
from tarry.readers.nested import add_inner, paths_of
from tarry.readers.rows import TROUBLE, Rows, Wanted, refusing

__all__ = ["read_objects", "whole_names"]

_NEVER = {bool: "true or false", list: "a list", dict: "an object"}  # what names and times are not
_NUMBERS = {int, float}
_EXACT = 2.0**53  # whole numbers below it are exact as floats


@dataclass
class _Objects:
    """Sound lines, written anew."""

    texts: list[str] = field(default_factory=list)  # one object each
    lines: list[int] = field(default_factory=list)  # where they stood
    kinds: dict[str, set[type]] = field(default_factory=dict)  # what was found under each key

    def add(self, line: int, found: dict[str, Any], text: str) -> None:
        self.texts.append(text)
        self.lines.append(line)
        for key, value in found.items():
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
            found, written = _object(line, paths)
            if found is not None:
                sound.add(number, found, written)
        except Illegible as error:
            faults.add(number, str(error))
            faults.give_up_if_hopeless(len(sound.lines))
    if not sound.lines:
        _refuse(faults)
    chosen = choose_columns(list(sound.kinds), wanted, text.what)
    if any(sound.kinds[key] & _NEVER.keys() for key in chosen.values()):
        sound, faults = _set_aside(sound, chosen, faults)
    return Rows(
        frame=_frame(sound, chosen, text.what),
        lines=np.array(sound.lines, dtype=np.int64),
        faults=faults,
        notes=_notes(sound, chosen),
    )


def _object(line: bytes, paths: list[str]) -> tuple[dict[str, Any] | None, str]:
    """The object on a line, and its text without what only some readers of JSON accept."""
    text = text_of(line).strip("\ufeff \t\r\n")
    if not text:
        return None, ""
    try:
        found = json.loads(text, parse_constant=_no_constant)
        if isinstance(found, dict):
            add_inner(found, paths)
        written = json.dumps(found, allow_nan=False)
    except json.JSONDecodeError as error:
        raise Illegible(f"not JSON: {error.msg} (character {error.pos + 1})") from None
    except ValueError:
        raise Illegible("not JSON: a number that is none or too long") from None
    except RecursionError:
        raise Illegible("not JSON: too many brackets") from None
    if not isinstance(found, dict):
        raise Illegible("not a JSON object")
    return found, written


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _refuse(faults: Faults) -> NoReturn:
    if faults.count:
        faults.refuse(f"none among {faults.count}")
    raise BadInput(faults.what, "must hold a JSON object on each line", found="blank lines")


def _set_aside(sound: _Objects, chosen: dict[str, str], faults: Faults) -> tuple[_Objects, Faults]:
    """Give up the objects whose names or time are of a kind that these never have."""
    kept, strange = _Objects(), Faults(faults.what)
    for line, text in zip(sound.lines, sound.texts, strict=True):
        found = json.loads(text)
        kinds = {role: type(found.get(key)) for role, key in chosen.items()}
        reasons = [f"{role} is {_NEVER[kind]}" for role, kind in kinds.items() if kind in _NEVER]
        if reasons:
            strange.add(line, reasons[0])
        else:
            kept.add(line, found, text)
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
        with refusing(what, "must have objects that fit one table", "kinds that do not go together"):
            frame = pl.read_ndjson(BytesIO(source), schema=schema)
    return whole_names(frame, chosen)


def whole_names(frame: pl.DataFrame, chosen: dict[str, str]) -> pl.DataFrame:
    """Names written as 5.0 are whole numbers, if all are: some exports write every number so.

    >>> chosen = {"actor": "a", "target": "b"}
    >>> whole_names(pl.DataFrame({"a": [5.0, None], "b": [1.5, 2.0]}), chosen).dtypes
    [Int64, Float64]
    """
    floats = [key for role, key in chosen.items() if role != "time" and frame.schema[key].is_float()]
    fits = [key for key in floats if _all_whole(frame[key])]
    return frame.with_columns(pl.col(fits).cast(pl.Int64)) if fits else frame


def _all_whole(column: pl.Series) -> bool:
    return bool(((column == column.round()) & (column.abs() < _EXACT)).all())


def _kind(kinds: set[type]) -> type[pl.DataType]:
    found = kinds - {type(None)}
    return pl.Int64 if found == {int} else pl.Float64 if found and found <= _NUMBERS else pl.String


def _notes(sound: _Objects, chosen: dict[str, str]) -> tuple[str, ...]:
    """Where 5 and "5" became one name, a person should know."""
    mixed = (role for role in ("actor", "target") if sound.kinds[chosen[role]] & _NUMBERS)
    return tuple(
        f"numbers and texts mix in the column of the {role}: all read as texts"
        for role in mixed
        if str in sound.kinds[chosen[role]]
    )
