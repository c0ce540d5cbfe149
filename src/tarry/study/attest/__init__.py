"""Lower bounds on epsilon: what a mechanism gives away, seen from its releases alone.

`attest` plays pairs of stories to a black box and counts. Which pair and which region of releases to look
at is chosen by earlier samples; the bounds count fresh ones, at every look with half the error of the look
before. So a verdict `broken` is wrong with a chance of at most `level`, whatever was chosen. `consistent`
proves nothing: it says how large a breach these samples would have shown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from math import ceil, inf
from typing import Any

import numpy as np

from tarry.core.entropy import Secure, Seeded
from tarry.core.errors import BadInput, require
from tarry.core.lanes import IntArray
from tarry.study.attest.bounds import Bounds, bounds_of, detectable
from tarry.study.attest.interfaces import BlackBox, NeighbourGenerator, Region, Story, StoryPair, Tester
from tarry.study.attest.regions import RatioTester

__all__ = ["NOT_DECIDABLE", "Attestation", "Tested", "attest", "attest_played", "sight"]

#: What no look at releases can decide.
NOT_DECIDABLE = (
    "randomness that somebody can predict",
    "what is stored, logged or served beside the releases",
    "failures rarer than about 3 in the number of samples",
    "triggers that the stories played do not have",
    "delays longer than the time that was allowed",
)
#: Samples of each story for which `sight` says what can be seen.
SIGHTED = (10_000, 100_000, 1_000_000)
#: The parts of all samples that go into choosing the first time, and into each look.
ROUNDS = (0.125, 0.125, 0.25, 0.5)
_KEEP = 4  # of so many pairs one is looked at again, and in the end one of all
_LEAST = 16  # samples of each story

Progress = Callable[[int, int], None]
#: Plays each story so many times, and gives a row of releases for each time.
Play = Callable[[Sequence[tuple[Story, int]]], list[IntArray]]


@dataclass(frozen=True, kw_only=True)
class Tested:
    """Fresh samples of two stories, counted in a region that earlier ones had chosen.

    >>> from tarry.core.verify.streams import Act
    >>> story = Story(acts=(Act(0, 0, 0),))
    >>> pair = StoryPair(kind="one act", true=story, other=story, nats=Fraction(0))
    >>> _, region = RatioTester().choose(np.ones((2, 1), dtype=int), np.zeros((2, 1), dtype=int), pair)
    >>> test = Tested(pair=pair, region=region, hits=(1000, 500), samples=1000, level=0.05)
    >>> test.broken, round(test.epsilon, 2)
    (True, 0.63)
    """

    pair: StoryPair
    region: Region
    hits: tuple[int, int]  # rows in the region: of the true story, of the other
    samples: int  # fresh ones of each story
    level: float  # the chance that the bounds of this look are wrong

    @property
    def bounds(self) -> Bounds:
        """What the hits say of the two chances."""
        return bounds_of(hits=self.hits, samples=self.samples, level=self.level)

    @property
    def epsilon(self) -> float:
        """The stories are at least so many nats apart, after the delta of the promise."""
        return self.bounds.epsilon(self.pair.delta)

    @property
    def delta(self) -> float:
        """The least delta with which the promised nats could hold."""
        return self.bounds.delta(self.pair.nats)

    @property
    def broken(self) -> bool:
        """Whether more than promised was seen."""
        return self.bounds.exceeds(self.pair.nats, self.pair.delta)

    @property
    def sees(self) -> float:
        """The excess that so many samples, at this level, find nine times in ten; inf: none."""
        return detectable(float(self.pair.nats), self.samples, self.level)

    def as_json(self) -> dict[str, Any]:
        """Plain values; an infinite figure becomes null."""
        return {
            "kind": self.pair.kind,
            "true": self.pair.true.as_json(),
            "other": self.pair.other.as_json(),
            "promised": float(self.pair.nats),
            "promised_delta": float(self.pair.delta),
            "epsilon_at_least": _finite(self.epsilon),
            "delta_at_least": self.delta,
            "region": self.region.as_json(),
            "hits": list(self.hits),
            "samples": self.samples,
            "level_of_look": self.level,
            "sees": _finite(self.sees),
        }


@dataclass(frozen=True, kw_only=True)
class Attestation:
    """What was found about a black box.

    >>> from tarry.study.attest.boxes import RuleBox
    >>> from tarry.study.attest.gallery import GALLERY
    >>> found = attest(RuleBox(GALLERY[1].rule), GALLERY[1].scenes, samples=GALLERY[1].budget, seed=1)
    >>> found.name, found.word, found.best.pair.kind, found.best.epsilon > 1
    ('the budget unsplit', 'broken', 'a pair', True)
    """

    name: str
    tests: tuple[Tested, ...]  # one a look; the last one has most samples
    drawn: int  # samples of all stories
    seed: int | None  # of the draws; None: the secure source
    level: float
    about: Fraction  # nats: pairs of that promise are told of first, while nothing is broken
    left_out: int = 0  # of the samples drawn: what a running gateway was not sent in time

    @property
    def broken(self) -> bool:
        """Whether some look has seen more than is promised."""
        return any(test.broken for test in self.tests)

    @property
    def word(self) -> str:
        """`broken` or `consistent`."""
        return "broken" if self.broken else "consistent"

    @property
    def best(self) -> Tested:
        """The look that decides: the furthest beyond its promise, or else the nearest to it."""
        return max(
            self.tests, key=lambda test: (test.broken, _suspicion(test.epsilon, test.pair, self.about))
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "mechanism": self.name,
            "verdict": self.word,
            "best": self.best.as_json(),
            "looks": [
                {"kind": test.pair.kind, "epsilon_at_least": _finite(test.epsilon), "samples": test.samples}
                for test in self.tests
            ],
            "drawn": self.drawn,
            "left_out": self.left_out,
            "seed": self.seed,
            "level": self.level,
            "not_decidable": list(NOT_DECIDABLE),
        }


@dataclass
class _Tried:
    """A pair, the samples it has had so far, and what they speak for."""

    pair: StoryPair
    true: list[IntArray] = field(default_factory=list)
    other: list[IntArray] = field(default_factory=list)
    beyond: float = -inf
    region: Region | None = None

    def choose(self, tester: Tester) -> None:
        """Look again for the region that speaks most clearly."""
        self.beyond, self.region = tester.choose(
            np.concatenate(self.true), np.concatenate(self.other), self.pair
        )


def attest(
    box: BlackBox,
    generator: NeighbourGenerator,
    *,
    samples: int = 400_000,
    level: float = 0.05,
    seed: int | None = None,
    tester: Tester | None = None,
    to_the_end: bool = False,
    progress: Progress | None = None,
) -> Attestation:
    """Look for a breach of a promise, with at most so many samples in all.

    Every look goes on with the most suspicious pairs, and with as many samples as all before it had; the
    first breach ends it, unless one wants `to_the_end` to know how large it is. With a seed the same call
    finds the same; without, the secure source draws.

    >>> from tarry.core.policy import Policy
    >>> from tarry.study.attest.boxes import PolicyBox
    >>> from tarry.study.attest.neighbours import Promised, Scenes
    >>> sound = Policy(epsilon="1", gap="30s", window="5s")
    >>> thrifty = Promised.of_policy(Policy(epsilon="0.5", gap="30s", window="5s"))
    >>> attest(PolicyBox(sound), Scenes(promised=thrifty, busy=0), samples=20_000, seed=1).word
    'broken'
    """
    sources, done = _sources(seed), 0

    def play(stories: Sequence[tuple[Story, int]]) -> list[IntArray]:
        nonlocal done
        seen = []
        for story, times in stories:
            seen.append(box.releases(story, times, next(sources)))
            done += times
            if progress is not None:
                progress(min(done, samples), samples)
        return seen

    return attest_played(
        play,
        generator,
        name=box.name,
        samples=samples,
        level=level,
        seed=seed,
        tester=tester,
        to_the_end=to_the_end,
    )


def attest_played(
    play: Play,
    generator: NeighbourGenerator,
    *,
    name: str,
    samples: int,
    level: float = 0.05,
    seed: int | None = None,
    tester: Tester | None = None,
    to_the_end: bool = False,
    rounds: Sequence[float] = ROUNDS,
) -> Attestation:
    """The same of what plays many stories at once: on a real clock one waits for all of them together.

    `rounds` are the parts of all samples: for the first choice, and for each look.

    >>> from tarry.core.verify.streams import Act
    >>> from tarry.study.attest.neighbours import Given
    >>> story, late = Story(acts=(Act(0, 0, 0),)), Story(acts=(Act(9, 0, 0),))
    >>> pair = StoryPair(kind="one act", true=story, other=late, nats=Fraction(1))
    >>> at_once = lambda asked: [np.full((n, 1), told.acts[0].at) for told, n in asked]
    >>> attest_played(at_once, Given(stories=(pair,)), name="at once", samples=1000).word
    'broken'
    """
    require(0 < level < 1, f"the level must lie between 0 and 1, not {level:g}", "use --level 0.05")
    tried = [_Tried(pair) for pair in generator.pairs()]
    require(bool(tried), "the promise covers none of the stories that are known", "give it a gap")
    if samples < (least := 2 * _LEAST * ceil(len(tried) / rounds[0])):
        raise BadInput(
            f"there must be at least {least} samples to try {len(tried)} pairs of stories, not {samples}"
        )
    about, tester, tests, drawn = tried[0].pair.nats, tester or RatioTester(), [], 0
    for look, part in enumerate(rounds):
        each = int(samples * part / (2 * len(tried)))
        stories = [(story, each) for one in tried for story in (one.pair.true, one.pair.other)]
        seen = iter(play(stories))
        for one in tried:
            one.true.append(next(seen))
            one.other.append(next(seen))
        drawn += each * len(stories)
        if (before := tried[0].region) is not None:
            tests.append(_count(tried[0], before, level / 2**look))
            if tests[-1].broken and not to_the_end:
                break
        for one in tried:
            one.choose(tester)
        tried.sort(
            key=lambda one: _suspicion(one.beyond + float(one.pair.nats), one.pair, about), reverse=True
        )
        # The last look has all its samples for the one pair that is most suspicious.
        tried = tried[: 1 if look >= len(rounds) - 2 else -(-len(tried) // _KEEP)]
    return Attestation(name=name, tests=tuple(tests), drawn=drawn, seed=seed, level=level, about=about)


def sight(epsilon: float, level: float = 0.05) -> dict[int, float]:
    """The excess over a pair's epsilon that is found nine times in ten, by fresh samples of each story.

    >>> {samples: round(excess, 3) for samples, excess in sight(2).items()}
    {10000: 0.085, 100000: 0.026, 1000000: 0.008}
    """
    return {samples: detectable(epsilon, samples, level) for samples in SIGHTED}


def _count(one: _Tried, region: Region, level: float) -> Tested:
    """Hits of the region in the samples that came last: it was chosen before them."""
    fresh = one.true[-1], one.other[-1]
    samples = min(map(len, fresh))  # on a real clock a few may be lost
    hits = [int(region.contains(releases[:samples]).sum()) for releases in fresh]
    return Tested(pair=one.pair, region=region, hits=(hits[0], hits[1]), samples=samples, level=level)


def _suspicion(epsilon: float, pair: StoryPair, about: Fraction) -> tuple[float, bool, float]:
    """What comes first: nats beyond the promise, a promise of that size, and how little is missing."""
    beyond = epsilon - float(pair.nats)
    return max(0.0, beyond), pair.nats == about, beyond / float(pair.nats) if pair.nats else -inf


def _sources(seed: int | None) -> Iterator[Seeded | Secure]:
    """A source of its own for each call of a black box."""
    return (Secure() if seed is None else Seeded(seed, draw) for draw in count())


def _finite(figure: float) -> float | None:
    return figure if abs(figure) < inf else None
