"""The timed dynamic pool of Cottrell's mixes (Mixmaster; here with Mixminion's numbers)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.lanes import IntArray
from tarry.study.baselines.parameters import arrival_order, arrivals, check_span, read_span, write_span
from tarry.study.practice import MICROSECONDS, Shown

__all__ = ["CottrellPool"]

_TEN_MINUTES = 600 * MICROSECONDS
_HORIZON = 7 * 86_400 * MICROSECONDS
_LONG_AGO = np.iinfo(np.int64).min
_MIN_POOL = 6  # so many always stay
_MIN_SEND = 1  # and nobody leaves until so many more wait
_RATE = (7, 10)  # the part of those waiting that leaves in a round, at most


@dataclass(frozen=True, kw_only=True)
class CottrellPool:
    """Each round, some of those who wait leave, chosen by lot; a few always stay.

    Rounds are whole intervals from 1970. A round with n >= 7 waiting sends
    min(n - 6, max(1, floor(0.7 n))) of them. Rounds go on after the last arrival until none sends
    any more. The up to six events that are then left would stay for ever: they leave a week after
    the last round that somebody joined or left, and `stranded` says how many they are.

    >>> history = History(actor=[1] * 8, target=range(8), time=range(8))
    >>> shown = CottrellPool().show(history, Seeded(0))
    >>> int((shown.release == 600 * MICROSECONDS).sum()), CottrellPool().stranded(history)
    (2, 6)
    """

    draws: ClassVar[bool] = True  # there is chance in it
    interval: int = _TEN_MINUTES  # microseconds

    def __post_init__(self) -> None:
        check_span(self.interval, "the interval of a pool")

    @classmethod
    def read(cls, text: str) -> "CottrellPool":
        """The practice of an interval such as `10m`."""
        return cls(interval=read_span(text, "the interval of a pool"))

    @property
    def name(self) -> str:
        """The text that makes it."""
        return "pool" if self.interval == _TEN_MINUTES else f"pool:{write_span(self.interval)}"

    def show(self, history: History, draw: Seeded) -> Shown:
        """Replay a history."""
        order = arrival_order(history)
        rounds = -(-arrivals(history)[order] // self.interval)  # the first that each takes part in
        leaves, stay = _lots(rounds, np.random.Generator(np.random.PCG64(draw.offset)))
        moments = leaves * self.interval
        moments[stay] = moments.max(initial=_LONG_AGO) + _HORIZON
        release = np.empty_like(moments)
        release[order] = moments
        return Shown(release=release, printed=release)

    def stranded(self, history: History) -> int:
        """How many events would never have left: rounds go on until the pool is at its least."""
        return min(len(history), _MIN_POOL)


def _lots(rounds: IntArray, chance: np.random.Generator) -> tuple[IntArray, list[int]]:
    """The round in which each event leaves, and the places of those that never do.

    Those keep the round in which they joined: the latest of all is then the last that counts.
    Plain lists: a pool is small, and one step for each departure is all there is to do.
    """
    lots = iter(chance.random(len(rounds)).tolist())
    leaves = rounds.tolist()
    pool: list[int] = []
    seen = 0
    for at, joined, send in _sendings(rounds):
        pool.extend(range(seen, joined))
        seen = joined
        for _ in range(send):
            place = int(next(lots) * len(pool))
            pool[place], pool[-1] = pool[-1], pool[place]
            leaves[pool.pop()] = at
    return np.array(leaves, dtype=np.int64), [*pool, *range(seen, len(rounds))]


def _sendings(rounds: IntArray) -> Iterator[tuple[int, int, int]]:
    """Each round that sends: its number, how many events have joined by then, how many leave.

    `rounds` is sorted. Chance decides who leaves, and never how many.
    """
    numbers, counts = np.unique(rounds, return_counts=True)
    joined = waiting = 0
    for (number, following), count in zip(
        pairwise([*numbers.tolist(), None]), counts.tolist(), strict=True
    ):
        joined, waiting = joined + count, waiting + count
        at = number
        while at != following and (send := _send(waiting)):
            yield at, joined, send
            at, waiting = at + 1, waiting - send


def _send(waiting: int) -> int:
    if waiting < _MIN_POOL + _MIN_SEND:
        return 0
    part, whole = _RATE
    return min(waiting - _MIN_POOL, max(1, waiting * part // whole))
