"""Whatever a table library raises becomes one sentence."""

import zlib

import polars as pl
import pytest

from tarry.core.errors import BadInput
from tarry.readers.rows import refusing


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
        pytest.raises(BadInput, match=r"^it must be whole, found damage$"),
        refusing("it", "must be whole", "damage"),
    ):
        raise error


def test_a_sentence_of_ours_is_not_replaced():
    """What was said well already is passed on."""
    with pytest.raises(BadInput, match="ours"), refusing("it", "must be whole", "damage"):
        raise BadInput("ours", "is better", found="so")
