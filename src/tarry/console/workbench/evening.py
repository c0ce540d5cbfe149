"""A made-up evening to watch: when acts appear without delays and with them, and what an attacker guesses.

Eight people act on threads, each under another pseudonym on every thread, a few acts in one sitting. The
delays are `plan_release`'s own, from a seed: what is shown is what the library does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tarry.console.workbench.figures import Choices
from tarry.core.entropy import Seeded, Stream
from tarry.core.exact import parse_duration
from tarry.core.history import History
from tarry.core.plan_release import label_history, plan_release

__all__ = ["PEOPLE", "Evening", "EveningAct", "Guess", "Side", "acts_of_the_evening", "watch"]

PEOPLE = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana")
_THREADS = 6
_LONG_S = 3 * 3600
_SEED = 2020
#: Draws that the average is taken over: one evening alone may be luck.
DRAWS = 20


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


@dataclass(frozen=True, kw_only=True)
class Side:
    """The evening as it is seen: when each act appears, and the guesses in the order they are made.

    >>> Side(at_s=(0, 60), guesses=(Guess(first=0, second=1, is_right=False),)).wrong
    1
    """

    at_s: tuple[int, ...]
    guesses: tuple[Guess, ...]

    @property
    def right(self) -> int:
        """How many guesses are right."""
        return sum(guess.is_right for guess in self.guesses)

    @property
    def wrong(self) -> int:
        """How many are not."""
        return len(self.guesses) - self.right

    @property
    def end_s(self) -> int:
        """When the last act appears."""
        return max(self.at_s)


@dataclass(frozen=True, kw_only=True)
class Evening:
    """Both ways to see the evening.

    >>> from tarry.console.workbench.figures import START
    >>> len(watch(START).acts)
    48
    """

    acts: tuple[EveningAct, ...]
    without: Side
    delayed: Side
    usual_right: float  # over many draws of the same evening
    usual_wrong: float


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
    >>> seen.without.right > seen.delayed.right
    True
    """
    acts, cutoff = acts_of_the_evening(), int(parse_duration(choices.cutoff))
    policy, history = choices.policy, _history(acts)
    labelled = label_history(policy, history)
    sides = []
    for more in range(DRAWS):
        planned = plan_release(policy, history, Seeded(choices.draw + more), labelled)
        at_s = [int(tick * policy.tick) for tick in np.asarray(planned.release).tolist()]
        sides.append(_side(acts, at_s, cutoff))
    return Evening(
        acts=acts,
        without=_side(acts, [act.at_s for act in acts], cutoff),
        delayed=sides[0],
        usual_right=sum(side.right for side in sides) / DRAWS,
        usual_wrong=sum(side.wrong for side in sides) / DRAWS,
    )


def _history(acts: Sequence[EveningAct]) -> History:
    return History(
        actor=[PEOPLE[act.person] for act in acts],
        target=[f"thread {act.thread}" for act in acts],
        time=[act.at_s for act in acts],
        unit=Fraction(1),
    )


def _side(acts: Sequence[EveningAct], at_s: Sequence[int], cutoff: int) -> Side:
    """The attacker knows no names: two acts on different threads, close enough, are called one person's."""
    in_time = sorted(range(len(acts)), key=lambda act: (at_s[act], act))
    guesses = [
        Guess(first, second, acts[first].person == acts[second].person)
        for first, second in combinations(in_time, 2)
        if acts[first].thread != acts[second].thread and at_s[second] - at_s[first] <= cutoff
    ]
    guesses.sort(key=lambda guess: (at_s[guess.second], *sorted(guess[:2])))
    return Side(at_s=tuple(at_s), guesses=tuple(guesses))
