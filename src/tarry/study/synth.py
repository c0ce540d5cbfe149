"""Made-up histories with known truth: who is a bot, and which acts belong to one session.

Nothing here is anyone's data. The parts that matter to timing are there: sessions with short gaps,
bursts over several targets, busy people and popular targets, day and week, bots. The recipe says how
much of each; the seed decides the rest.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from tarry.core.history import History
from tarry.core.lanes import BoolArray, IntArray
from tarry.study.practice import MICROSECONDS
from tarry.study.synth_recipes import Recipe, check_whole

__all__ = ["MadeUp", "synthesize"]

FloatArray = npt.NDArray[np.float64]

_HOUR = 3_600 * MICROSECONDS
_DAYS_TO_THURSDAY = 3  # 1970-01-01 was a Thursday; weeks here begin on Monday
_ZONES = 12  # hours of the zone furthest from UTC, on both sides
#: How busy a person is in each hour of the day, by their own clock, and on each day of the week.
_DAY = np.array(
    [3, 2, 1, 1, 1, 1, 2, 4, 6, 8, 9, 9, 8, 9, 9, 9, 9, 9, 9, 10, 10, 9, 7, 5], dtype=np.float64
)
_WEEK = np.array([1.0, 1.0, 1.0, 1.0, 0.9, 0.55, 0.6])
_RUSH_PART = 0.05  # the part of the history over which the rush before a deadline grows e-fold
_MOVES = 0.75  # in a burst, how often the next act is on another target
_EVEN_TOP = 4.0  # ranks over which the top of a Zipf law is flat: nobody alone makes a tenth of it all


@dataclass(frozen=True, kw_only=True, eq=False)
class MadeUp:
    """A made-up history, sorted by time, and the truth behind it.

    >>> made = synthesize(Recipe(events=1_000), seed=1)
    >>> len(made), made.frame().columns
    (1000, ['actor', 'target', 'time', 'is_bot', 'session'])
    """

    actor: IntArray  # a number without meaning for each actor
    target: IntArray  # a number without meaning for each target
    time: IntArray  # arrival, microseconds since 1970
    is_bot: BoolArray  # the act is a bot's
    session: IntArray  # the session of several acts that the act belongs to, -1 for lone and bots' acts

    def __len__(self) -> int:
        return len(self.time)

    def frame(self) -> pl.DataFrame:
        """The history and its truth as a table; times are int64 microseconds.

        >>> synthesize(Recipe(events=10), seed=1).frame().height
        10
        """
        return pl.DataFrame(vars(self))

    def history(self) -> History:
        """The history alone, as a replay wants it.

        >>> len(synthesize(Recipe(events=10), seed=1).history())
        10
        """
        return History(actor=self.actor, target=self.target, time=self.time)


class _Acts(NamedTuple):
    """Acts in no order; actors and targets are ranks, the busiest person and the most popular first."""

    actor: IntArray
    target: IntArray
    offset: FloatArray  # microseconds after the start
    session: IntArray


class _Sessions(NamedTuple):
    """People's sessions, lone acts included; their acts lie one after the other."""

    actor: IntArray
    first: IntArray  # the first act of each session
    last: IntArray
    of_act: IntArray  # the session of each act


def synthesize(recipe: Recipe, seed: int) -> MadeUp:
    """A history by this recipe: the same one for the same seed and version of numpy.

    >>> made = synthesize(Recipe(events=1_000, actors=40, bots=1), seed=7)
    >>> len(set(made.actor.tolist())), int(made.is_bot.sum())
    (40, 200)
    """
    check_whole("the seed", seed, 0, 2**63 - 1)
    rng = np.random.default_rng(seed)
    by_bots = round(recipe.events * recipe.bot_share) if recipe.bots else 0
    parts = (_people(recipe, recipe.events - by_bots, rng), _bots(recipe, by_bots, rng))
    actor, target, offset, session = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    ticks = np.clip(offset, 0, recipe.span - 1).astype(np.int64) // recipe.resolution
    order = np.argsort(ticks, kind="stable")
    return MadeUp(
        actor=rng.permutation(recipe.actors)[actor[order]],
        target=rng.permutation(recipe.targets)[target[order]],
        time=recipe.starts_at + ticks[order] * recipe.resolution,
        is_bot=actor[order] >= recipe.people,
        session=session[order],
    )


def _people(recipe: Recipe, events: int, rng: np.random.Generator) -> _Acts:
    lengths = _lengths(recipe, events, rng)
    sessions = _Sessions(
        actor=_choose(recipe.people, len(lengths), recipe.actor_skew, rng),
        first=np.cumsum(lengths) - lengths,
        last=np.cumsum(lengths) - 1,
        of_act=np.repeat(np.arange(len(lengths)), lengths),
    )
    long = lengths > 1
    return _Acts(
        actor=sessions.actor[sessions.of_act],
        target=_visit(recipe, sessions, rng),
        offset=_when(recipe, sessions, rng),
        session=np.where(long, np.cumsum(long) - 1, -1)[sessions.of_act],
    )


def _lengths(recipe: Recipe, events: int, rng: np.random.Generator) -> IntArray:
    """How many acts each session has, in sum exactly all of them."""
    ends = np.cumsum(rng.geometric(1 / recipe.acts, size=events))
    ends = np.minimum(ends[: np.searchsorted(ends, events) + 1], events)
    return np.diff(ends, prepend=0)


def _choose(many: int, size: int, skew: float, rng: np.random.Generator) -> IntArray:
    """Ranks below `many`, low ones more often.

    Everyone comes once as long as that takes no more than half of the places, so that a recipe's
    numbers of actors and targets are those of the history.
    """
    once = rng.permutation(many)[: size // 2]
    heights = np.cumsum((np.arange(many) + _EVEN_TOP) ** -skew)
    more = np.searchsorted(heights, rng.random(size - len(once)) * heights[-1], side="right")
    return rng.permutation(np.concatenate((once, np.minimum(more, many - 1))))


def _visit(recipe: Recipe, sessions: _Sessions, rng: np.random.Generator) -> IntArray:
    """The target of each act: a new one when a session begins, and again and again within a burst."""
    actor, first, last, of_act = sessions
    burst = (last > first) & (rng.random(len(actor)) < recipe.bursts)
    new = burst[of_act] & (rng.random(len(of_act)) < _MOVES)
    new[first] = True
    new[first[burst] + 1] = True  # a burst has at least two visits
    visits = int(new.sum())
    if recipe.circle:
        circles = _choose(recipe.targets, recipe.people * recipe.circle, recipe.target_skew, rng)
        circle_start = actor[of_act[new]] * recipe.circle
        visited = circles[circle_start + rng.integers(recipe.circle, size=visits)]
    else:
        visited = _choose(recipe.targets, visits, recipe.target_skew, rng)
    return np.take(visited, np.cumsum(new) - 1)


def _when(recipe: Recipe, sessions: _Sessions, rng: np.random.Generator) -> FloatArray:
    """The moment of each act: its session's start, and short gaps from there on."""
    actor, first, last, of_act = sessions
    passed = np.cumsum(rng.exponential(recipe.burst_gap * MICROSECONDS, size=len(of_act)))
    passed -= passed[first][of_act]
    start = _starts(recipe, actor, rng)
    latest = recipe.span - 1 - passed[last]
    start = latest - np.abs(latest - start)  # who would not finish in time begins as much earlier
    return np.add(start[of_act], passed)


def _starts(recipe: Recipe, actor: IntArray, rng: np.random.Generator) -> FloatArray:
    """When sessions start: by the clock and the week of each person, and by the deadline."""
    spread = np.rint(rng.normal(0, recipe.zones, size=recipe.people)).clip(-_ZONES, _ZONES)
    zone = spread.astype(np.int64)[actor] + _ZONES
    hours = np.arange(24 * recipe.days)
    local = recipe.starts_at // _HOUR + hours + np.arange(-_ZONES, _ZONES + 1)[:, None]
    busy = _DAY[local % 24] * _WEEK[(local // 24 + _DAYS_TO_THURSDAY) % 7]
    busy *= 1 + recipe.rush * np.exp((hours - hours[-1]) / (_RUSH_PART * len(hours)))
    heights = np.cumsum(busy, axis=1)
    heights /= heights[:, -1:]
    # One search for all zones: the table of zone z lies between z and z + 1.
    ladder = (heights + np.arange(len(heights))[:, None]).ravel()
    place = np.searchsorted(ladder, zone + rng.random(len(actor)), side="right")
    hour = np.clip(place - zone * len(hours), 0, hours[-1])
    start: FloatArray = (hour + rng.random(len(actor))) * _HOUR
    return start


def _bots(recipe: Recipe, events: int, rng: np.random.Generator) -> _Acts:
    """Bots take turns: each acts once in every stretch of equal length, on any target at all."""
    turn, bot = np.divmod(np.arange(events), max(recipe.bots, 1))
    turns = -(-events // max(recipe.bots, 1))
    return _Acts(
        actor=recipe.people + bot,
        target=rng.integers(recipe.targets, size=events),
        offset=(turn + rng.random(events)) * (recipe.span / max(turns, 1)),
        session=np.full(events, -1, dtype=np.int64),
    )
