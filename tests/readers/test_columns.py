"""The record that readers yield."""

from dataclasses import FrozenInstanceError

import numpy as np
import polars as pl
import pytest

from tarry.readers.columns import Columns


def test_columns_are_as_many_as_the_rows_and_do_not_change():
    """What was read is a value."""
    frame = pl.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, 2]})
    columns = Columns(frame=frame, actor="a", target="b", time="c", arrival=np.array([1, 2]))

    assert len(columns) == 2
    with pytest.raises(FrozenInstanceError):
        columns.actor = "b"
