"""Columns that say yes or no: who is a bot, and where more was said to come."""

import numpy as np
import polars as pl

from tarry.core.errors import BadInput
from tarry.core.lanes import BoolArray
from tarry.readers.columns import Columns

__all__ = ["is_bot_row", "says_yes"]

_BOT_COLUMNS = ("is_bot", "bot")
_YES = ("true", "t", "yes", "y", "1", "1.0")
_NO = ("false", "f", "no", "n", "0", "0.0", "")


def is_bot_row(columns: Columns) -> BoolArray:
    """Which rows are marked as a bot's: by a column, else by names that contain bot after their beginning.

    >>> from tarry.readers.frames import read_frame
    >>> frame = pl.DataFrame({"user": ["SineBot", "bottle"], "page": ["p", "q"], "time": [1.6e9, 1.6e9]})
    >>> is_bot_row(read_frame(frame)).tolist()
    [True, False]
    """
    frame = columns.frame
    for name in frame.columns:
        if name.lower() in _BOT_COLUMNS:
            return says_yes(frame[name])
    actor = frame[columns.actor]
    if actor.dtype.is_integer():
        raise BadInput(
            "bots",
            "are known by a column is_bot or bot, or by names",
            found="neither",
            fix="add such a column, or leave busy actors out instead",
        )
    return np.asarray(actor.cast(pl.String).str.contains(r"(?i).bot").to_numpy(), dtype=np.bool_)


def says_yes(column: pl.Series) -> BoolArray:
    """Whether each value says yes; nothing said is no.

    >>> says_yes(pl.Series(["Yes", "n", None])).tolist()
    [True, False, False]
    """
    said = column.cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
    strange = (~said.is_in([*_YES, *_NO])).sum()
    if strange:
        raise BadInput(
            f"the column {column.name}",
            "says true or false, yes or no, 1 or 0",
            found=f"{strange:,} values that do not",
        )
    return np.asarray(said.is_in(list(_YES)).to_numpy(), dtype=np.bool_)
