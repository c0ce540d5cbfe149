"""The records that parsers hand on, and one sentence for whatever a table library raises."""

import zlib
from dataclasses import FrozenInstanceError

import numpy as np
import polars as pl
import pytest

from tarry.core.errors import BadInput
from tarry.readers.columns import Columns, refusing


def test_columns_are_as_many_as_the_rows_and_do_not_change():
    """What was read is a value."""
    frame = pl.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, 2]})
    columns = Columns(frame=frame, actor="a", target="b", time="c", arrival=np.array([1, 2]))

    assert len(columns) == 2
    with pytest.raises(FrozenInstanceError):
        columns.actor = "b"


@pytest.mark.parametrize(
    "error",
    [
        pl.exceptions.ComputeError("long\ntext"),
        pl.exceptions.PanicException("panic"),
        OSError(),
        EOFError(),
        zlib.error(),
    ],
)
def test_every_error_of_a_damaged_file_becomes_a_sentence(error):
    """Even a panic, which is no ordinary exception."""
    with (
        pytest.raises(BadInput, match=r"^it is damaged: copy it again$"),
        refusing("it is damaged", "copy it again"),
    ):
        raise error


def test_a_sentence_of_ours_is_not_replaced():
    """What was said well already is passed on."""
    with pytest.raises(BadInput, match="ours"), refusing("it is damaged", "copy it again"):
        raise BadInput("ours is better", "keep it")
