"""Pairs of stories that a promise speaks of, searched: labels, moves, bridges, bursts, restarts.

Each true story is a small scene (a pair of acts near each other, a bridge, a burst, ...). The other story
has some of its acts later, or somebody else's, in every way that Theorem 1'' allows: each moved act is
unbatched there, and each whose time has changed was batched. What that costs is counted by the labels.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from tarry.core.policy import LabelRule, Policy
from tarry.core.verify.rules import real_labels, truthful
from tarry.core.verify.streams import Act, LabelFunction, Stream
from tarry.study.attest.interfaces import Story, StoryPair

__all__ = ["Given", "Promised", "Scenes", "SeasonScene"]

_BUSY = 20  # lone acts before the one that counts
_ANN, _BOB = 0, 1
_HALVES = 2  # moments in a tick, for acts on both sides of its edge


@dataclass(frozen=True, kw_only=True)
class Promised:
    """What is promised, in whole units of the stories.

    >>> Promised.of_policy(Policy(epsilon="1", gap="11m", window="5m")).reach
    960
    """

    share: Fraction  # nats of each label that is lost
    reach: int  # a batched act might as well have come so much later
    window: int = 0  # acts at most that far apart are batched
    labels: LabelRule = "held"
    delta: Fraction = Fraction(0)

    @classmethod
    def of_policy(cls, policy: Policy) -> "Promised":
        """The promise of a policy for its default gap, in ticks."""
        return cls(
            share=policy.share,
            reach=policy.start_ticks(policy.gap),
            window=policy.window_ticks if policy.labels in ("held", "declared", "follower") else 0,
            labels=policy.labels,
            delta=policy.delta,
        )

    @property
    def label_function(self) -> LabelFunction:
        """Who is batched, by the rule in force."""
        return real_labels(self.labels, self.window)

    def cost(self, true: Stream, other: Stream, moved: Sequence[int]) -> int | None:
        """The shares that are promised for two streams, in ticks; None where nothing is.

        >>> promised = Promised(share=Fraction(1, 2), reach=3)
        >>> together, apart = ((Act(0, 0, 0), Act(0, who, 1)) for who in (0, 1))
        >>> promised.cost(together, apart, (1,)), promised.cost(apart, together, (1,))
        (2, None)
        """
        if self.labels == "none":
            return 1 if len(moved) == 1 else None
        labels = self.label_function
        before, after = labels(true), labels(other)
        changed = [i for i in moved if true[i].at != other[i].at]
        if any(after[i] for i in moved) or not all(before[i] for i in changed):
            return None
        if self.labels == "follower" and not _follows(labels, true, other, moved):
            return None
        return (
            sum(before) - sum(after)
            if all(b or not a for b, a in zip(before, after, strict=True))
            else None
        )


@dataclass(frozen=True, kw_only=True)
class Given:
    """Pairs that somebody has written down.

    >>> list(Given(stories=()).pairs())
    []
    """

    stories: tuple[StoryPair, ...]

    def pairs(self) -> Iterable[StoryPair]:
        """These."""
        return self.stories


@dataclass(frozen=True, kw_only=True)
class Scenes:
    """Every scene, at every start, with every move that the promise covers.

    >>> promised = Promised(share=Fraction(1, 2), reach=8, window=2)
    >>> sorted({pair.kind for pair in Scenes(promised=promised).pairs()})[:3]
    ['a bridge', 'a burst', 'a busy person']
    """

    promised: Promised
    starts: tuple[int, ...] = (0,)  # moments to begin at: rounding and ticks have edges
    busy: int = _BUSY  # lone acts before the pair, in one of the scenes; 0: no such scene
    most: int = 4  # pairs of each scene but the first ones
    edges: bool = False  # also acts within ticks, for boxes that take `Story.moments` into account

    def pairs(self) -> Iterator[StoryPair]:
        """The pairs, each once."""
        seen: set[tuple[Story, Story]] = set()
        for start in self.starts:
            for kind, scene, thorough in self._scenes(start):
                kept = 0
                for pair in self._moved(kind, scene, thorough=thorough):
                    if (pair.true, pair.other) not in seen and (thorough or kept < self.most):
                        seen.add((pair.true, pair.other))
                        kept += 1
                        yield pair

    def _scenes(self, start: int) -> Iterator[tuple[str, Story, bool]]:
        """What truly happened, and whether every move of it is worth a try."""
        window, far = self.promised.window, 2 * (self.promised.window + self.promised.reach) + 1
        ann = [_acts((start, _ANN, 0), (start + apart, _ANN, 1)) for apart in sorted({0, 1, window})]
        for pair in ann if window else ann[:1]:
            yield "a pair", Story(acts=pair), pair[0].at == pair[1].at
        if window:
            bridge = _acts((start + window, _ANN, 0), (start, _ANN, 1), (start + 2 * window, _ANN, 2))
            yield "a bridge", Story(acts=bridge), False
        yield "a burst", Story(acts=_acts(*((start, _ANN, target) for target in range(3)))), False
        twin = _acts((start, _ANN, 0), (start, _ANN, 0), (start, _ANN, 1))
        yield "a twin on one target", Story(acts=twin), False
        stranger = (*ann[0], Act(start, _BOB, 2))
        yield "a stranger", Story(acts=stranger), False
        if self.edges:
            yield from self._edges(start)
        yield "a restart", Story(acts=ann[0], restarts=(start + 1,)), False
        yield "a repost", Story(acts=ann[0], reposts=((1, start + 1),)), False
        if self.busy:
            lone = _acts(*((start + i * far, _ANN, 2) for i in range(self.busy)))
            after = tuple(act._replace(at=act.at + self.busy * far) for act in ann[0])
            yield "a busy person", Story(acts=(*after, *lone)), False

    def _edges(self, start: int) -> Iterator[tuple[str, Story, bool]]:
        """Two acts half a tick apart in two ticks, and two as far apart as the window's ticks allow."""
        first, window = _HALVES * start, self.promised.window
        for apart in ((0, 1), (1, _HALVES * (window + 1))) if window else ((1, _HALVES),):
            acts = _acts(*((first + part, _ANN, target) for target, part in enumerate(apart)))
            yield "an edge of a tick", Story(acts=acts, moments=_HALVES), False

    def _moved(self, kind: str, scene: Story, *, thorough: bool) -> Iterator[StoryPair]:
        acts, reach = self._truthful(scene), self.promised.reach * scene.moments
        few = min(len(acts), 3)
        some = (0, reach) if scene.moments == 1 else (0, 1, reach - 1, reach)
        shifts = sorted({0, 1, reach // 2, reach - 1, reach}) if thorough else some
        for count in (1, 2):
            for chosen in combinations(range(few), count):
                for shift in shifts:
                    for whose in (_BOB, _ANN) if thorough else (_BOB,):
                        # Two moved acts are two people's: together they would be batched again.
                        moved = {i: (shift, whose + 2 * place) for place, i in enumerate(chosen)}
                        later = replace(scene, acts=_later(acts, moved))
                        other = self._truthful(later)
                        ticks = _ticked(acts, scene.moments), _ticked(other, scene.moments)
                        cost = None if other == acts else self.promised.cost(*ticks, chosen)
                        if cost is not None:
                            yield self._pair(kind, replace(scene, acts=acts), other, cost, few)

    def _pair(self, kind: str, true: Story, other: Stream, cost: int, few: int) -> StoryPair:
        return StoryPair(
            kind=kind,
            true=true,
            other=replace(true, acts=other),
            nats=self.promised.share * cost,
            delta=self.promised.delta,
            looks_at=tuple(range(few)),
        )

    def _truthful(self, story: Story) -> Stream:
        """Where authors say whether more will come, all of them say the truth in both stories."""
        if self.promised.labels != "declared":
            return story.acts
        said = truthful(_ticked(story.acts, story.moments), self.promised.window)
        return tuple(act._replace(declared=one.declared) for act, one in zip(story.acts, said, strict=True))


@dataclass(frozen=True, kw_only=True)
class SeasonScene:
    """A season of one person's pairs, against one in which each act was somebody else's.

    >>> promised = Promised(share=Fraction(1, 2), reach=8)
    >>> two = SeasonScene(promised=promised, acts=4, nats=Fraction(1), delta=Fraction(1, 100))
    >>> [len(pair.true.acts) for pair in two.pairs()]
    [4, 4, 4]
    """

    promised: Promised
    acts: int  # batched ones
    nats: Fraction
    delta: Fraction

    def pairs(self) -> Iterator[StoryPair]:
        """The second act of each pair comes later: not at all, by half the reach, by all of it."""
        far, reach = 2 * (self.promised.window + self.promised.reach) + 1, self.promised.reach
        pairs = range(self.acts // 2)
        true = _acts(*((i * far, _ANN, target) for i in pairs for target in (2 * i, 2 * i + 1)))
        for shift in (0, reach // 2, reach):
            moved = {2 * i + 1: (shift, 1 + i) for i in pairs}
            other = _later(true, moved)
            if self.promised.cost(true, other, tuple(moved)) is None:
                continue
            yield StoryPair(
                kind=f"a season of {len(pairs)} pairs",
                true=Story(acts=true),
                other=Story(acts=other),
                nats=self.nats,
                delta=self.delta,
            )


def _acts(*acts: tuple[int, int, int]) -> Stream:
    return tuple(Act(at, who, target) for at, who, target in acts)


def _ticked(acts: Stream, moments: int) -> Stream:
    """The acts at their ticks: a moment belongs to the tick that it does not come after."""
    return tuple(act._replace(at=-(-act.at // moments)) for act in acts) if moments > 1 else acts


def _later(acts: Stream, moved: dict[int, tuple[int, int]]) -> Stream:
    """Some acts come later, and are somebody's."""
    return tuple(
        act._replace(at=act.at + moved[i][0], actor=moved[i][1]) if i in moved else act
        for i, act in enumerate(acts)
    )


def _follows(labels: LabelFunction, true: Stream, other: Stream, moved: Sequence[int]) -> bool:
    """Labels that look back cover one batched act, which in the other story nobody follows."""
    (i, *more) = moved
    if more or not labels(true)[i]:
        return False
    after = labels(other)
    return labels(other[:i] + other[i + 1 :]) == after[:i] + after[i + 1 :]
