"""Simulate: a history with the releases a policy would have given it."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.readers.columns import Columns
from tarry.study.practice import MICROSECONDS
from tarry.study.replay import replay
from tarry.study.table import table_of

__all__ = ["Simulated", "simulate"]

ADDED = ("release", "batched")


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulated:
    """A frame with two more columns, and what it came to.

    >>> Simulated(frame=pl.DataFrame(), batched_share=0.5, mean_s=1.0, longest_s=2.0).mean_s
    1.0
    """

    frame: pl.DataFrame  # every column as read, and `release` (microseconds) and `batched`
    batched_share: float
    mean_s: float  # delay
    longest_s: float


def simulate(
    columns: Columns,
    policy: Policy,
    *,
    seed: int = 0,
    draw: int = 0,
    track: str | None = None,
    declared: str | None = None,
) -> Simulated:
    """Release every event that could be read; rows keep their order.

    >>> from tarry.readers.frames import read_frame
    >>> frame = pl.DataFrame({"user": ["a", "a"], "page": ["p", "q"], "time": [1.6e9, 1.6e9 + 1]})
    >>> simulate(read_frame(frame), Policy(epsilon="1", gap="11m")).frame.columns
    ['user', 'page', 'time', 'release', 'batched']
    """
    if taken := [name for name in ADDED if name in columns.frame.columns]:
        raise BadInput(
            "a history to simulate",
            f"has no column {taken[0]} of its own",
            found="one",
            fix="rename it",
        )
    table = table_of(columns, track=track, declared=declared)
    shown = replay(policy).show(table.history, Seeded(seed, draw))
    back = np.argsort(table.row)  # from the table's order to that of the rows
    batched = np.zeros(len(table), dtype=np.bool_) if shown.batched is None else shown.batched
    delay = (shown.release - table.time) / MICROSECONDS
    return Simulated(
        frame=columns.frame.with_columns(
            pl.Series("release", shown.release[back]), pl.Series("batched", batched[back])
        ),
        batched_share=float(batched.mean()),
        mean_s=float(delay.mean()),
        longest_s=float(delay.max()),
    )
