"""Parquet and Arrow files keep their kinds, and say what is wrong when they are not whole."""

from datetime import UTC, datetime

import polars as pl
import pytest

from tarry.core.errors import BadInput
from tarry.readers.tables import read_arrow, read_parquet

KINDS = pl.DataFrame(
    {
        "small": pl.Series([1], dtype=pl.Int8),
        "when": [datetime(2024, 5, 1, tzinfo=UTC)],
        "many": [[1, 2]],
        "kind": pl.Series(["k"], dtype=pl.Categorical),
    }
)


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (pl.DataFrame.write_parquet, read_parquet),
        (pl.DataFrame.write_ipc, read_arrow),
        (pl.DataFrame.write_ipc_stream, read_arrow),
    ],
)
def test_every_column_keeps_its_kind(write, read, tmp_path):
    """Further columns come through as they are."""
    write(KINDS, tmp_path / "a")

    rows = read(tmp_path / "a", "it")

    assert rows.frame.equals(KINDS)
    assert rows.frame.schema == KINDS.schema
    assert rows.lines is None


@pytest.mark.parametrize("size", [1, 3, 4, 8, 50])
@pytest.mark.parametrize(
    ("write", "read"), [(pl.DataFrame.write_parquet, read_parquet), (pl.DataFrame.write_ipc, read_arrow)]
)
def test_a_file_cut_anywhere_is_refused(write, read, size, tmp_path):
    """Whether nearly nothing or nearly everything is there."""
    write(KINDS, tmp_path / "a")
    whole = (tmp_path / "a").read_bytes()

    for content in (whole[:size], whole[:-size]):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(BadInput, match=r"it must be a whole (Parquet|Arrow) file, found"):
            read(tmp_path / "a", "it")


@pytest.mark.parametrize(
    ("stated", "unit"), [({"time_unit": "ms"}, "ms"), ({"time_unit": "x"}, None), (None, None)]
)
def test_the_stated_unit_is_one_that_exists(stated, unit, tmp_path):
    """Anything else under that name is none."""
    KINDS.write_parquet(tmp_path / "a", metadata=stated)

    assert read_parquet(tmp_path / "a", "it").unit == unit
