"""Who is batched. A label is decided for each event by itself; bursts are never merged.

On ticks, with a window of H ticks:

- **held**: batched if the same actor has an event on a different target at most H ticks away,
  *on either side*. Known H ticks after arrival, so the event is held until then.
- **simultaneous**: the same with H = 0.
- **follower**: batched if an *earlier admitted* event of the same actor on a different target is at
  most H ticks away. Known at once; the first of a burst stays unbatched.
- **declared**: batched from "more to come" on: that post, the actor's posts in the next H ticks, and
  any follower. Known at once.
- **none**: for laws that need no label.
"""

from collections.abc import Callable

import numpy as np

from tarry.core.history import History, in_rows, row_order
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.policy import LabelRule

__all__ = ["label_events", "partner_distance"]

_FAR = np.iinfo(np.int64).max


def label_events(rule: LabelRule, history: History, ticks: IntArray, window: int) -> BoolArray:
    """True for each event that the rule calls batched.

    >>> from fractions import Fraction
    >>> h = History(actor=[1, 1, 2], target=[7, 8, 7], time=[0, 5, 5], unit=Fraction(1))
    >>> label_events("held", h, h.ticks(Fraction(1)), window=5).tolist()
    [True, True, False]
    """
    return _RULES[rule](history, ticks, window)


def partner_distance(history: History, ticks: IntArray) -> tuple[IntArray, IntArray]:
    """Ticks to the nearest event of the same actor on another target, before and after.

    Sorted by actor and tick, the nearest such event on a side is the one next to the run of equal
    targets that the event lies in: one sort decides all labels. One in the same tick may be found on
    either side.

    >>> from fractions import Fraction
    >>> h = History(actor=[1, 1, 1], target=[7, 7, 8], time=[0, 3, 10], unit=Fraction(1))
    >>> [side.tolist()[1] for side in partner_distance(h, h.ticks(Fraction(1)))][1]
    7
    """
    return _nearest(history, ticks, row_order(history.actor_ids, ticks))


def _held(history: History, ticks: IntArray, window: int) -> BoolArray:
    before, after = partner_distance(history, ticks)
    labels: BoolArray = np.minimum(before, after) <= window
    return labels


def _follower(history: History, ticks: IntArray, window: int) -> BoolArray:
    before, _ = _nearest(history, ticks, row_order(history.actor_ids, ticks, history.sequences))
    return before <= window


def _declared(history: History, ticks: IntArray, window: int) -> BoolArray:
    order = row_order(history.actor_ids, ticks, history.sequences)
    actor, now = history.actor_ids[order], ticks[order]
    # The latest declaration at or before each event in its actor's own sequence.
    latest = np.maximum.accumulate(np.where(history.declarations[order], np.arange(len(order)), -1))
    since: BoolArray = (latest >= 0) & (actor[latest] == actor) & (now - now[latest] <= window)
    return in_rows(order, since) | _follower(history, ticks, window)


def _nearest(history: History, ticks: IntArray, order: IntArray) -> tuple[IntArray, IntArray]:
    """Distance to the element before and after each run of one actor and one target, in `order`."""
    actor, target, now = history.actor_ids[order], history.target_ids[order], ticks[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (actor[1:] != actor[:-1]) | (target[1:] != target[:-1])
    del target  # histories are long: what is not needed any more goes at once
    first, run = np.flatnonzero(new), np.cumsum(new) - 1
    border = first[1:]  # where one run ends and the next begins
    joined = actor[border] == actor[border - 1]
    earlier, follows = np.zeros_like(first), np.zeros(len(first), dtype=np.bool_)
    earlier[1:], follows[1:] = now[border - 1], joined
    later, leads = np.zeros_like(first), np.zeros(len(first), dtype=np.bool_)
    later[:-1], leads[:-1] = now[border], joined
    before = np.where(follows[run], now - earlier[run], _FAR)
    after = np.where(leads[run], later[run] - now, _FAR)
    return in_rows(order, before), in_rows(order, after)


_RULES: dict[LabelRule, Callable[[History, IntArray, int], BoolArray]] = {
    "held": _held,
    "declared": _declared,
    "follower": _follower,
    "simultaneous": lambda history, ticks, _: _held(history, ticks, 0),
    "none": lambda history, *_: np.zeros(len(history), dtype=np.bool_),
}
