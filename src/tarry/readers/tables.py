"""Parquet and Arrow files, as they are."""

from pathlib import Path

import polars as pl

from tarry.core.errors import BadInput
from tarry.readers.faults import Faults
from tarry.readers.numbers import UNITS
from tarry.readers.rows import TROUBLE, Rows, refusing

__all__ = ["read_arrow", "read_parquet"]

_PARQUET, _ARROW, _STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"


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
    rule = "must be a whole Parquet file"
    if start != _PARQUET:
        raise BadInput(what, rule, found="one that does not begin with PAR1")
    if end != _PARQUET:
        raise BadInput(what, rule, found="one whose end is missing", fix="was it copied to the end?")
    with refusing(what, rule, "damage inside"), path.open("rb") as file:
        frame = pl.read_parquet(file)
    return Rows(frame=frame, faults=Faults(what), unit=_stated_unit(path))


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
    rule = "must be a whole Arrow file"
    if start == _ARROW and end != _ARROW:
        raise BadInput(what, rule, found="one whose end is missing", fix="was it copied to the end?")
    if start != _ARROW and not start.startswith(_STREAM):
        raise BadInput(what, rule, found="one that does not begin as Arrow does")
    with refusing(what, rule, "damage inside"), path.open("rb") as file:
        frame = pl.read_ipc(file) if start == _ARROW else pl.read_ipc_stream(file)
    return Rows(frame=frame, faults=Faults(what))


def _ends(path: Path, size: int) -> tuple[bytes, bytes]:
    with path.open("rb") as file:
        start = file.read(size)
        file.seek(-min(size, path.stat().st_size), 2)
        return start, file.read(size)


def _stated_unit(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            stated = pl.read_parquet_metadata(file).get("time_unit")
    except TROUBLE:  # the table was read: what stands beside it is a help and no need
        return None
    return stated if stated in {*UNITS, "iso"} else None
