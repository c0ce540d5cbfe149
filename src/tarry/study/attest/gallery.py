"""Mechanisms that look reasonable and break their promise: what an enemy must be able to find.

Each is a rule whose chances are known, so `verify` says exactly by how much it breaks the promise
(`excess_of`), and `attest` has to find that from samples, within the budget that is stated. `SOUND` are
their like that keep it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import inf

from tarry.core.exact import ratio_below
from tarry.core.law import Law, Run
from tarry.core.laws.zero_inflated import support_end, zero_inflated_pair
from tarry.core.mechanism import LawPair
from tarry.core.verify import Size, search
from tarry.core.verify.rules import Block, Draw, distribution
from tarry.core.verify.streams import LabelFunction, Neighbour, Stream, paired
from tarry.study.attest.boxes import StoryRule
from tarry.study.attest.interfaces import Story, StoryPair
from tarry.study.attest.neighbours import Promised, Scenes

__all__ = ["GALLERY", "SOUND", "EachAlone", "Exhibit", "SessionCoin", "excess_of"]

_SHARE = Fraction(1, 2)  # epsilon 1
_GAP = 12  # ticks
_AT_ONCE = Promised(share=_SHARE, reach=_GAP)
_HELD = Promised(share=_SHARE, reach=_GAP + 1, window=1)
_DEADLINE = 24  # ticks after the first act of a scene
_UNIT = 60  # ticks to which times are rounded down
_JITTER = 48  # ticks
_ALLOWANCE = 20  # acts of one person, after which the law of the gallery's counter changes

#: The delay of an act: of the story, the act's place in it and its label, by draws from laws.
Wait = Callable[[Story, int, bool, Draw], int]


def _laws(start: int, share: Fraction = _SHARE) -> LawPair:
    ratio = ratio_below(share)
    return zero_inflated_pair(ratio, start, support_end(ratio, start, Fraction(1)))


def _drawn(pair: LawPair, _story: Story, _act: int, label: bool, draw: Draw) -> int:  # noqa: FBT001 - a label is a value
    return draw(pair.batched if label else pair.unbatched)


@dataclass(frozen=True, kw_only=True)
class EachAlone:
    """A rule in which each act is labelled, and then waits by itself.

    >>> from tarry.core.verify.streams import Act
    >>> rule = EachAlone(name="at once", wait=lambda story, act, label, draw: 0)
    >>> rule.blocks(Story(acts=(Act(5, 0, 0),)))[0].seen
    {(5,): Fraction(1, 1)}
    """

    name: str
    wait: Wait
    labels: LabelFunction = field(default_factory=lambda: paired(0))
    hold: int = 0

    def blocks(self, story: Story) -> list[Block]:
        """One block an act."""
        labels = self.labels(story.acts)
        return [
            Block((i,), distribution(partial(self._seen, story, i, label)))
            for i, label in enumerate(labels)
        ]

    def _seen(self, story: Story, i: int, label: bool, draw: Draw) -> tuple[int]:  # noqa: FBT001 - a label is a value
        return (story.acts[i].at + self.hold + self.wait(story, i, label, draw),)


@dataclass(frozen=True, kw_only=True)
class SessionCoin:
    """A batch leaves together; a lone act may open a session, at whose end all of its actor's acts leave.

    >>> from tarry.core.verify.streams import Act
    >>> coin = SessionCoin(name="a coin", length=2)
    >>> coin.blocks(Story(acts=(Act(0, 0, 0), Act(0, 0, 1))))[0].seen
    {(2, 2): Fraction(1, 1)}
    """

    name: str
    length: int  # ticks

    def blocks(self, story: Story) -> list[Block]:
        """One block with everything in it."""
        acts = tuple(range(len(story.acts)))
        return [Block(acts, distribution(partial(self._seen, story.acts)))]

    def _seen(self, stream: Stream, draw: Draw) -> tuple[int, ...]:
        ratio = ratio_below(2 * _SHARE)
        coin, labels, out = Law.of_masses([1 - 1 / ratio, 1 / ratio]), paired(0)(stream), [0] * len(stream)
        for actor in sorted({act.actor for act in stream}):
            end = -1
            mine = sorted((act.at, i) for i, act in enumerate(stream) if act.actor == actor)
            for at, i in mine:
                if labels[i] or (at > end and draw(coin)):
                    end = at + self.length
                out[i] = max(at, end)
        return tuple(out)


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A rule, the promise it is held to, and within how many samples its breach is to be found.

    >>> [exhibit.rule.name for exhibit in GALLERY][:2]
    ['looks ahead only', 'the budget unsplit']
    """

    rule: StoryRule
    promised: Promised = _AT_ONCE
    budget: int = 60_000  # samples of all stories together
    busy: int = 0  # acts of a busy person, where that matters
    starts: tuple[int, ...] = (0,)

    @property
    def scenes(self) -> Scenes:
        """The pairs of stories to try."""
        return Scenes(promised=self.promised, busy=self.busy, starts=self.starts)


def excess_of(exhibit: Exhibit) -> float:
    """By how many nats the worst pair is beyond its promise, by `verify`; inf: without bound.

    >>> round(excess_of(GALLERY[1]), 6)
    1.0
    """
    return max(_excess(exhibit.rule, pair) for pair in exhibit.scenes.pairs())


@dataclass(frozen=True)
class _Told:
    """A rule for streams, which knows the two stories that they are from."""

    rule: StoryRule
    pair: StoryPair

    def blocks(self, stream: Stream) -> list[Block]:
        return self.rule.blocks(self.pair.true if stream == self.pair.true.acts else self.pair.other)


def _excess(rule: StoryRule, pair: StoryPair) -> float:
    verdict = search(
        _Told(rule, pair),
        lambda _: iter([Neighbour(pair.other.acts, 1)]),
        pair.nats,
        Size(),
        streams=[pair.true.acts],
    )
    return inf if verdict.margin is None else -verdict.margin


# --- labels and laws -------------------------------------------------------------------------------


def _ahead(stream: Stream) -> tuple[bool, ...]:
    """Batched if the actor has an act on another target from now to a tick later: the last has none."""
    return tuple(
        any(y.actor == x.actor and y.target != x.target and 0 <= y.at - x.at <= 1 for y in stream)
        for x in stream
    )


def _uneven(pair: LawPair) -> LawPair:
    """Every second tick of the batched law is 5 % heavier, the others 5 % lighter."""
    (_, even) = pair.batched.head
    runs = [Run(1, even.mass * Fraction(100 + 5 * (-1) ** k, 100)) for k in range(even.length)]
    if even.length % 2:  # the last one stays as it is
        runs[-1] = Run(1, even.mass)
    return LawPair(
        batched=Law((Run(pair.start, Fraction(0)), *runs)), unbatched=pair.unbatched, start=pair.start
    )


def _counted(short: LawPair, long: LawPair) -> Wait:
    """Beyond the allowance a person's acts wait by a law for half the gap."""

    def wait(story: Story, i: int, label: bool, draw: Draw) -> int:  # noqa: FBT001 - a label is a value
        now = story.acts[i]
        mine = sum(act.actor == now.actor and act.at < now.at for act in story.acts)
        return _drawn(short if mine >= _ALLOWANCE else long, story, i, label, draw)

    return wait


# --- delays ----------------------------------------------------------------------------------------


def _capped(pair: LawPair) -> Wait:
    return lambda *how: min(_drawn(pair, *how), pair.start + 3)


def _renormalised(pair: LawPair) -> Wait:
    """The delay is drawn from its law given that it ends by the deadline."""

    def wait(story: Story, i: int, label: bool, draw: Draw) -> int:  # noqa: FBT001 - a label is a value
        law, last = pair.batched if label else pair.unbatched, _DEADLINE - story.acts[i].at
        within = law.cumulative(last)
        return draw(Law.of_masses([law.mass(k) / within for k in range(last + 1)]))

    return wait


def _twice_if(happens: Callable[[Story, int], bool]) -> Callable[[LawPair], Wait]:
    """Where something happens to an act it draws again, and the shorter delay is kept."""

    def rule(pair: LawPair) -> Wait:
        def wait(story: Story, i: int, label: bool, draw: Draw) -> int:  # noqa: FBT001 - a label is a value
            first = _drawn(pair, story, i, label, draw)
            return min(first, _drawn(pair, story, i, label, draw)) if happens(story, i) else first

        return wait

    return rule


_REPOSTED = _twice_if(lambda story, i: any(act == i for act, _ in story.reposts))
_RESTARTED = _twice_if(lambda story, i: any(at > story.acts[i].at for at in story.restarts))


def _rounded(story: Story, i: int, _label: bool, _draw: Draw) -> int:  # noqa: FBT001 - a label is a value
    return -(story.acts[i].at % _UNIT)


def _jittered(_story: Story, _i: int, _label: bool, draw: Draw) -> int:  # noqa: FBT001 - a label is a value
    return draw(Law((Run(_JITTER, Fraction(1, _JITTER)),)))


_PAIR = _laws(_GAP)
GALLERY = (
    Exhibit(
        rule=EachAlone(
            name="looks ahead only", wait=partial(_drawn, _laws(_GAP + 1)), labels=_ahead, hold=1
        ),
        promised=_HELD,
    ),
    Exhibit(rule=EachAlone(name="the budget unsplit", wait=partial(_drawn, _laws(_GAP, 2 * _SHARE)))),
    Exhibit(rule=EachAlone(name="a cap on the delay", wait=_capped(_PAIR))),
    Exhibit(rule=EachAlone(name="renormalised to a deadline", wait=_renormalised(_PAIR))),
    Exhibit(rule=SessionCoin(name="a session for each person", length=_GAP)),
    Exhibit(rule=EachAlone(name="rounding", wait=_rounded), starts=(_UNIT - 1,)),
    Exhibit(rule=EachAlone(name="jitter", wait=_jittered)),
    Exhibit(
        rule=EachAlone(name="a law that counts", wait=_counted(_laws(_GAP // 2), _PAIR)),
        busy=_ALLOWANCE,
        budget=100_000,
    ),
    Exhibit(
        rule=EachAlone(name="half the ticks heavier", wait=partial(_drawn, _uneven(_PAIR))),
        budget=4_000_000,
    ),
    Exhibit(rule=EachAlone(name="drawn again after a repost", wait=_REPOSTED(_PAIR)), budget=100_000),
    Exhibit(rule=EachAlone(name="drawn again at a restart", wait=_RESTARTED(_PAIR)), budget=100_000),
)
#: What they should have been.
SOUND = (
    Exhibit(
        rule=EachAlone(
            name="two-sided labels", wait=partial(_drawn, _laws(_GAP + 1)), labels=paired(1), hold=1
        ),
        promised=_HELD,
    ),
    Exhibit(rule=EachAlone(name="the zero-inflated law", wait=partial(_drawn, _PAIR)), busy=_ALLOWANCE),
)
