"""The busy actor: one who has most of the events, or so many at a time that counting pairs takes hours."""

from typing import TYPE_CHECKING

import numpy as np

from tarry.core.errors import NotPossible
from tarry.core.lanes import IntArray

if TYPE_CHECKING:  # compiled loops are slow to load
    from tarry.study.pairs import Near

__all__ = ["busy_note", "check_crowds"]

#: An actor with so many events, and this part of all, is what figures are about.
_MANY, _MOST = 1000, 0.5
#: Steps down a tree: about ten minutes.
_STEPS = 6_000_000_000


def busy_note(actor_rank: IntArray) -> str:
    """What to know where one actor has most of the events; nothing elsewhere. Nobody is named.

    >>> busy_note(np.array([0] * 3000 + [1] * 40 + [2] * 7))
    'one actor has 3,000 of 3,047 events, so figures are mostly about that one (--busy-limit 40 leaves ...'
    """
    acts = np.sort(np.bincount(actor_rank, minlength=1))
    if acts[-1] < max(_MANY, _MOST * len(actor_rank)):
        return ""
    return (
        f"one actor has {acts[-1]:,} of {len(actor_rank):,} events, so figures are mostly about that one"
        f"{_without(acts)}"
    )


def _without(acts: IntArray) -> str:
    return "" if len(acts) < 2 else f" (--busy-limit {acts[-2]} leaves only that one out)"


def check_crowds(near: "Near", counts: int, actor_rank: IntArray) -> None:
    """Refuse to count the pairs of a busy actor so often that it would take far more than ten minutes.

    >>> from tarry.study.pairs import near
    >>> alone = near(np.array([1, 1]), np.array([5, 6]), np.array([0, 1]), window=1)
    >>> check_crowds(alone, 1000, np.array([0, 0]))
    """
    if near.crowd_steps * counts <= _STEPS:
        return
    acts = np.sort(np.bincount(actor_rank, minlength=1))
    limit = acts[-2] if len(acts) > 1 and acts[-2] < acts[-1] // 2 else acts[-1] // 10
    raise NotPossible(
        f"one actor has {acts[-1]:,} of {len(actor_rank):,} events, so close together that counting their "
        f"pairs {counts:,} times would take hours: leave out such actors (--busy-limit {limit}), or ask "
        "for fewer practices, draws or cutoffs"
    )
