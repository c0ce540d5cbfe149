"""A made-up evening: when acts appear without delays and with them, and how often an observer is right.

Eight people act on threads, each under another pseudonym on every thread, a few acts in one sitting.
Delays are read off the policy's own laws at fixed numbers between 0 and 1, the same for every policy: so a
longer law makes each of them longer, and a slider moves lines instead of throwing dice. The script
`static/observer.js` does the same.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from tarry.console.workbench.figures import Choices
from tarry.core.entropy import Seeded, Stream
from tarry.core.exact import parse_duration
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.law import Law

__all__ = [
    "DRAWS",
    "PEOPLE",
    "Evening",
    "EveningAct",
    "Guess",
    "Success",
    "acts_of_the_evening",
    "base_rate",
    "batches",
    "delays_at",
    "fixed_numbers",
    "releases",
    "success",
    "watch",
]

PEOPLE = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana")
_THREADS = 6
_LONG_S = 3 * 3600
_SEED = 2020
#: Evenings that every figure is a mean over: one alone may be luck.
DRAWS = 100


@dataclass(frozen=True, kw_only=True)
class EveningAct:
    """Somebody says something on a thread.

    >>> acts_of_the_evening()[0].at_s
    181
    """

    person: int
    thread: int
    lane: int  # the pseudonym: one for each person and thread
    at_s: int  # after the evening's start


class Guess(NamedTuple):
    """Two acts that appeared close together, called one person's.

    >>> Guess(first=0, second=1, is_right=True).is_right
    True
    """

    first: int
    second: int  # the later one: the guess is made when it appears
    is_right: bool


class Success(NamedTuple):
    """How often guesses are right, over all draws; None where there is no guess.

    >>> Success(person=0.6, pair=0.55, spread=0.0, guesses=50.0).person
    0.6
    """

    person: float | None  # both acts are one person's
    pair: float | None  # they are a batched pair
    spread: float  # of the former from draw to draw: one standard deviation
    guesses: float  # in one evening


@dataclass(frozen=True, kw_only=True)
class Evening:
    """The evening under a policy; the picture is one draw, the figures are over all.

    >>> from tarry.console.workbench.figures import START
    >>> len(watch(START).acts)
    48
    """

    acts: tuple[EveningAct, ...]
    at_s: tuple[int, ...]  # when each appears in the draw that is shown
    guesses_without: tuple[Guess, ...]
    guesses: tuple[Guess, ...]  # in the draw that is shown
    without: Success
    delayed: Success


@cache
def acts_of_the_evening() -> tuple[EveningAct, ...]:
    """Who acts when, always the same.

    >>> acts = acts_of_the_evening()
    >>> len({act.lane for act in acts}), max(act.at_s for act in acts) < 3 * 3600
    (20, True)
    """
    draws = Seeded(_SEED).stream("a made-up evening", "its acts", time=0)
    acts = sorted(act for person in range(len(PEOPLE)) for act in _sittings(draws, person))
    lanes = {name: lane for lane, name in enumerate(sorted({act[1:] for act in acts}))}
    return tuple(
        EveningAct(person=person, thread=thread, lane=lanes[person, thread], at_s=at_s)
        for at_s, person, thread in acts
    )


def _sittings(draws: Stream, person: int) -> list[tuple[int, int, int]]:
    """One person's acts: two or three sittings, in each of which most of their threads get a word."""
    threads = [(person * 5 + step) % _THREADS for step in range(2 + person % 2)]
    acts: list[tuple[int, int, int]] = []
    for _ in range(2 + draws.randbelow(2)):
        at_s = draws.randbelow(_LONG_S - 600)
        for thread in threads[draws.randbelow(2) * (len(threads) - 2) :]:
            acts.append((at_s, person, thread))
            at_s += 20 + draws.randbelow(90)
    return acts


@lru_cache(maxsize=256)
def watch(choices: Choices) -> Evening:
    """The evening under a policy.

    >>> from tarry.console.workbench.figures import START
    >>> seen = watch(START)
    >>> seen.without.person > seen.delayed.person
    True
    """
    policy, cutoff = choices.policy, int(parse_duration(choices.cutoff))
    pair, window = policy.mechanism().pair, policy.window_ticks
    at = releases(pair.batched, pair.unbatched, policy.hold_ticks, window)
    shown = at[(choices.draw - 1) % DRAWS]
    return Evening(
        acts=acts_of_the_evening(),
        at_s=tuple(shown.tolist()),
        guesses_without=_guesses(_columns()[0], cutoff),
        guesses=_guesses(shown, cutoff),
        without=success(_columns()[0][None, :], window, cutoff),
        delayed=success(at, window, cutoff),
    )


def releases(batched: Law, unbatched: Law, hold: int, window: int) -> IntArray:
    """When each act appears, a row for each draw.

    >>> law = Law.of_masses([0, 1])
    >>> int(releases(law, law, 9, 300)[0, 0]) - acts_of_the_evening()[0].at_s
    10
    """
    at, numbers = _columns()[0], fixed_numbers()
    delays = np.where(
        batches(window).any(axis=1), delays_at(batched, numbers), delays_at(unbatched, numbers)
    )
    moments: IntArray = at + hold + delays
    return moments


def success(at: IntArray, window: int, cutoff: int) -> Success:
    """How often an observer is right who calls acts on different threads one person's if they come close.

    >>> at = np.array([[act.at_s for act in acts_of_the_evening()]])
    >>> round(success(at, 300, 120).person, 2)
    0.6
    """
    _, person, thread = _columns()
    together = batches(window)
    order = np.argsort(at, axis=1, kind="stable")
    moments = np.take_along_axis(at, order, axis=1)
    made, right, pairs = (np.zeros(len(at), dtype=np.int64) for _ in range(3))
    for step in range(1, at.shape[1]):
        close = moments[:, step:] - moments[:, :-step] <= cutoff
        if not close.any():
            break
        first, second = order[:, :-step], order[:, step:]
        guessed = close & (thread[first] != thread[second])
        made += guessed.sum(axis=1)
        right += (guessed & (person[first] == person[second])).sum(axis=1)
        pairs += (guessed & together[first, second]).sum(axis=1)
    total, some = int(made.sum()), made > 0
    return Success(
        person=int(right.sum()) / total if total else None,
        pair=int(pairs.sum()) / total if total else None,
        spread=float(np.std(right[some] / made[some])) if total else 0.0,
        guesses=total / len(at),
    )


@cache
def base_rate() -> float:
    """How often blind guesses are right: the share of pairs on different threads that are one person's.

    >>> round(base_rate(), 3)
    0.094
    """
    _, person, thread = _columns()
    different = np.triu(thread[:, None] != thread, 1)
    return float((different & (person[:, None] == person)).sum() / different.sum())


@cache
def batches(window: int) -> BoolArray:
    """Which two acts are a batched pair: one person's, on different threads, at most the window apart.

    >>> int(batches(300).any(axis=1).sum())
    48
    """
    at, person, thread = _columns()
    same = (person[:, None] == person) & (thread[:, None] != thread)
    pairs: BoolArray = same & (np.abs(at[:, None] - at) <= window)
    return pairs


@cache
def fixed_numbers() -> np.ndarray:
    """A number between 0 and 1 for each act of each draw, without a pattern, and always the same.

    >>> float(fixed_numbers()[0, 0].round(6))
    0.408349
    """
    acts = len(acts_of_the_evening())
    number = np.arange(1, DRAWS * acts + 1, dtype=np.uint64)
    mask = np.uint64(0xFFFFFFFF)
    # lowbias32 (Wellons 2018), which a browser can do as well
    number ^= number >> np.uint64(16)
    number = number * np.uint64(0x7FEB352D) & mask
    number ^= number >> np.uint64(15)
    number = number * np.uint64(0x846CA68B) & mask
    number ^= number >> np.uint64(16)
    return (number.astype(np.float64).reshape(DRAWS, acts) + 0.5) / 2**32


def delays_at(law: Law, numbers: np.ndarray) -> IntArray:
    """The delay at each number between 0 and 1: a law's own inverse, in floats. For laws with an end.

    >>> delays_at(Law.of_masses(["0.5", 0, "0.5"]), np.array([0.2, 0.7])).tolist()
    [0, 2]
    """
    lengths = np.array([run.length for run in law.head])
    masses = np.array([float(run.mass) for run in law.head])
    ends = np.cumsum(lengths * masses)
    run = np.minimum(np.searchsorted(ends, numbers, side="right"), len(ends) - 1)
    inside = np.floor((numbers - (ends - lengths * masses)[run]) / masses[run])
    starts = np.cumsum(lengths) - lengths
    found: IntArray = (starts[run] + np.clip(inside, 0, lengths[run] - 1)).astype(np.int64)
    return found


@cache
def _columns() -> tuple[IntArray, IntArray, IntArray]:
    """When, who and where, of each act."""
    columns = [(act.at_s, act.person, act.thread) for act in acts_of_the_evening()]
    at, person, thread = np.array(columns).T
    return at, person, thread


def _guesses(at: IntArray, cutoff: int) -> tuple[Guess, ...]:
    """Every guess of one evening, in the order in which they are made."""
    _, person, thread = _columns()
    order = np.argsort(at, kind="stable").tolist()
    return tuple(
        Guess(first, second, bool(person[first] == person[second]))
        for place, second in enumerate(order)
        for first in order[:place]
        if thread[first] != thread[second] and at[second] - at[first] <= cutoff
    )
