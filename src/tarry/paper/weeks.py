"""Two made-up weeks of payments, with the statistics that the paper prints of its Bitcoin week.

Most payments go to an address that nobody else pays. Some addresses are paid often, a few very often.
Now and then one owner pays a single address from several of their own within a minute: a batch.
Nothing here is anybody's payment. How often regular addresses are paid is not printed: it was chosen so
that delays and attacks come near what is, and proves nothing by itself.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tarry.core.lanes import BoolArray, IntArray
from tarry.study.practice import MICROSECONDS
from tarry.study.table import EventTable, event_table

__all__ = ["DAY", "DEFAULT", "WEEK", "WINDOW", "make_weeks", "with_history"]

FloatArray = npt.NDArray[np.float64]

DAY = 86_400 * MICROSECONDS
WEEK = 7 * DAY
#: Section on Bitcoin: a batch is within one minute; without history the gap is ten minutes.
WINDOW, DEFAULT = 60 * MICROSECONDS, 600 * MICROSECONDS

_STARTS_AT = 1_658_707_200 * MICROSECONDS  # the Monday a week before that of the paper, 00:00 UTC
_BATCHED = 0.0104  # of all payments are made in batches; the rest of the published 1.2 % is chance
_KNOWN_BATCHED = 0.78  # of batches go to addresses that are paid often
_KNOWN_LONE = 0.025  # and so do these of the lone payments
_MORE = 0.2  # chance of each further member of a batch, after two
_A_WEEK, _SPREAD, _MOST = 5.0, 2.0, 500.0  # lone payments of a regular address: median, log sd, most


@dataclass(frozen=True, kw_only=True, eq=False)
class _Paid:
    recipient: IntArray
    time: IntArray  # microseconds after the start


def make_weeks(per_day: int, seed: int) -> EventTable:
    """Two weeks of payments: the actor is the receiving address, the target the spending one.

    >>> table = make_weeks(per_day=500, seed=1)
    >>> len(table), table.targets == len(table)
    (7000, True)
    """
    rng = np.random.default_rng(seed)
    total = 14 * per_day
    rates = _rates(total * _KNOWN_LONE / 2)
    batches = _batches(round(total * _BATCHED), rates, rng)
    lone = total - len(batches.time)
    known = rng.choice(len(rates), size=round(lone * _KNOWN_LONE), p=rates / rates.sum())
    fresh = len(rates) + total + np.arange(lone - len(known))
    time = np.concatenate((batches.time, rng.integers(2 * WEEK, size=lone)))
    return event_table(
        actor=np.concatenate((batches.recipient, known, fresh)),
        target=rng.permutation(total),
        time=_STARTS_AT + time // MICROSECONDS * MICROSECONDS,
    )


def _rates(a_week: float) -> FloatArray:
    """How often regular addresses are paid in a week, in sum about `a_week`: a long tail, cut.

    The quantiles of the law, not draws from it: so few addresses would make every seed another world.
    """
    many = max(1, round(a_week / float(np.mean(_quantiles(1000)))))
    return _quantiles(many)


def _quantiles(many: int) -> FloatArray:
    scores = [NormalDist().inv_cdf((i + 0.5) / many) for i in range(many)]
    return np.minimum(_A_WEEK * np.exp(_SPREAD * np.array(scores)), _MOST)


def _batches(payments: int, rates: FloatArray, rng: np.random.Generator) -> _Paid:
    """Batches of two or more, to addresses that are paid often or to ones of their own."""
    ends = np.cumsum(1 + rng.geometric(1 - _MORE, size=payments))
    sizes = np.diff(ends[: int(np.searchsorted(ends, payments)) + 1], prepend=0)
    owner = rng.choice(len(rates), size=len(sizes), p=rates / rates.sum())
    alone = rng.random(len(sizes)) >= _KNOWN_BATCHED
    owner[alone] = len(rates) + np.arange(int(alone.sum()))
    start = rng.integers(2 * WEEK - WINDOW, size=len(sizes))
    within = rng.integers(WINDOW - 5 * MICROSECONDS, size=int(sizes.sum()))
    return _Paid(recipient=np.repeat(owner, sizes), time=np.repeat(start, sizes) + within)


def with_history(table: EventTable) -> BoolArray:
    """Which payments go to a recipient that was paid in the seven days before, batches not counted.

    >>> with_history(event_table(actor=[7, 7, 7], target=[1, 2, 3], time=[0, 10, WEEK])).tolist()
    [False, False, True]
    """
    same = table.actor_rank[1:] == table.actor_rank[:-1]
    near = same & (np.diff(table.time) <= WINDOW)
    # The start of each run of payments within a minute of each other decides for all of them.
    runs = np.flatnonzero(np.concatenate(([True], ~near)))
    history = np.zeros(len(table), dtype=np.bool_)
    before = np.concatenate(([False], same & (np.diff(table.time) <= WEEK)))[runs]
    lengths = np.diff(np.append(runs, len(table)))
    history[:] = np.repeat(before, lengths)
    return history
