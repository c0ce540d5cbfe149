"""How the study's commands write tables: the kind is told by the file's name."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarry.core.errors import BadInput

if TYPE_CHECKING:  # needs the study extra, and is loaded when a command runs
    import polars as pl

__all__ = ["SUFFIXES", "free_path", "unless_there", "write_frame"]

SUFFIXES = (".parquet", ".csv", ".jsonl", ".arrow")


def free_path(text: str, *, force: bool) -> Path:
    """Where to write, if that may be written to.

    >>> free_path("no-such-folder/released.parquet", force=False).suffix
    '.parquet'
    """
    path = Path(text)
    if path.suffix not in SUFFIXES:
        rule = "ends in " + ", ".join(SUFFIXES[:-1]) + f" or {SUFFIXES[-1]}"
        raise BadInput("the output file", rule, found=repr(text))
    return unless_there(text, force=force)


def unless_there(text: str, *, force: bool) -> Path:
    """Where to write something of any kind; what is there stays unless that is said.

    >>> unless_there("no-such-folder/policy.toml", force=False).name
    'policy.toml'
    """
    path = Path(text)
    if path.exists() and not force:
        fix = "choose another name, or give --force"
        raise BadInput("the output file", "must not be there yet", found=repr(text), fix=fix)
    return path


def write_frame(
    frame: "pl.DataFrame", path: Path, *, force: bool, metadata: dict[str, str] | None = None
) -> None:
    """Write a frame as its name says; nothing is written over unless that is asked for."""
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    if nested and path.suffix == ".csv":
        raise BadInput(
            "a CSV file",
            "has plain columns alone",
            found=f"{len(nested)} with lists or objects in them",
            fix="write .parquet, .jsonl or .arrow",
        )
    with path.open("wb" if force else "xb") as file:
        _write(frame, path.suffix, file, metadata)


def _write(frame: "pl.DataFrame", suffix: str, file: Any, metadata: dict[str, str] | None) -> None:
    if suffix == ".parquet":
        frame.write_parquet(file, metadata=metadata)
    elif suffix == ".arrow":
        frame.write_ipc(file)
    elif suffix == ".csv":
        frame.write_csv(file)
    else:
        frame.write_ndjson(file)
