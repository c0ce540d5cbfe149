"""Small streams of events, all of them, and the streams a promise must confuse them with."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations, combinations_with_replacement, permutations, product
from typing import NamedTuple

__all__ = [
    "Act",
    "LabelFunction",
    "Neighbour",
    "Neighbours",
    "Size",
    "Stream",
    "all_streams",
    "definition_one",
    "follower_moves",
    "moves",
    "paired",
    "sentence_moves",
]


class Act(NamedTuple):
    """An event of a small stream. Times are whole units, at least one to the tick.

    >>> Act(0, actor=1, target=2).declared
    False
    """

    at: int
    actor: int
    target: int
    declared: bool = False


#: An act keeps its place in the stream when it moves: the place is its content, which is seen.
Stream = tuple[Act, ...]
LabelFunction = Callable[[Stream], tuple[bool, ...]]


class Neighbour(NamedTuple):
    """A stream that must be confused with the batched one, up to a factor of e^(share * cost).

    >>> Neighbour((Act(0, 0, 0),), cost=2).cost
    2
    """

    stream: Stream
    cost: int


Neighbours = Callable[[Stream], Iterator[Neighbour]]


@dataclass(frozen=True, kw_only=True)
class Size:
    """How far a search goes.

    >>> str(Size(events=2))
    '2 events by 2 actors on 3 targets within 3 ticks, 2 of them moved at once'
    """

    events: int = 3  # at most so many in a stream
    span: int = 3  # arrivals in 0..span ticks
    actors: int = 2
    targets: int = 3
    moved: int = 2  # at most so many are moved at once
    units: int = 1  # moments in each tick at which events may arrive

    def __str__(self) -> str:
        inside = f", at {self.units} moments in each" if self.units > 1 else ""
        return (
            f"{self.events} events by {self.actors} actors on {self.targets} targets within "
            f"{self.span} ticks{inside}, {self.moved} of them moved at once"
        )


def all_streams(size: Size) -> Iterator[Stream]:
    """Every stream up to a size, short ones first, once each up to the names of actors and targets.

    >>> [len(stream) for stream in all_streams(Size(events=1, span=0, actors=1, targets=1))]
    [1]
    """
    moments = range(size.span * size.units + 1)
    acts = [Act(*one) for one in product(moments, range(size.actors), range(size.targets))]
    for count in range(1, size.events + 1):
        for stream in combinations_with_replacement(acts, count):
            if _named_in_order(act.actor for act in stream) and _named_in_order(a.target for a in stream):
                yield stream


def paired(window: int) -> LabelFunction:
    """The meaning of batched: an act of the same actor on another target at most `window` away.

    >>> paired(1)((Act(0, 0, 0), Act(1, 0, 1), Act(1, 1, 2)))
    (True, True, False)
    """

    def labels(stream: Stream) -> tuple[bool, ...]:
        return tuple(
            any(y.actor == x.actor and y.target != x.target and abs(y.at - x.at) <= window for y in stream)
            for x in stream
        )

    return labels


def moves(labels: LabelFunction, reach: int, size: Size) -> Neighbours:
    """The neighbours of Theorem 1''.

    Acts of a set are each delayed by 0..reach and given to anyone, such that in the other stream
    each of them is unbatched, and each whose time changed was batched. The cost is the number of
    labels that are lost.

    >>> two = (Act(0, 0, 0), Act(0, 0, 1))
    >>> Neighbour((Act(0, 0, 0), Act(2, 0, 1)), 2) in set(moves(paired(0), 2, Size())(two))
    True
    """

    def neighbours(stream: Stream) -> Iterator[Neighbour]:
        before = labels(stream)
        for chosen in _subsets(len(stream), size.moved):
            options = [_placings(stream[i], reach if before[i] else 0, size.actors) for i in chosen]
            for placing in product(*options):
                other = _with(stream, dict(zip(chosen, placing, strict=True)))
                after = labels(other)
                if other != stream and not any(after[i] for i in chosen):
                    yield Neighbour(other, sum(before) - sum(after))

    return neighbours


def follower_moves(labels: LabelFunction, reach: int) -> Neighbours:
    """What follower labels promise: one act, batched in truth, might have come later and unbatched.

    It must have no followers that are batched only because of it; the mover pays a whole share, and
    so does any other act that loses its label.

    >>> from tarry.core.verify.rules import real_labels
    >>> two = (Act(0, 0, 0), Act(0, 0, 1))
    >>> {n.cost for n in follower_moves(real_labels("follower", 0), 2)(two)}
    {1}
    """

    def neighbours(stream: Stream) -> Iterator[Neighbour]:
        before = labels(stream)
        for i in range(len(stream)):
            for act in _placings(stream[i], reach, actors=max(a.actor for a in stream) + 2):
                other = _with(stream, {i: act})
                after = labels(other)
                gained = any(a and not b for b, a in zip(before, after, strict=True))
                if before[i] and not after[i] and not gained and not _leads(labels, other, i):
                    yield Neighbour(other, sum(before) - sum(after))

    return neighbours


def sentence_moves(*, window: int, near: int, reach: int, later_only: bool = False) -> Neighbours:
    """What the first sentence of a promise says, word for word, with times in units of the stream.

    Two acts of one person on different targets, at most `window` apart, with nothing else of that person
    less than `near` from either. One of them (the later one, if only that may move) is up to `reach` later
    and done by anyone with no act on another target less than `near` from then.

    >>> two = (Act(0, 0, 0), Act(2, 0, 1))
    >>> set(sentence_moves(window=3, near=6, reach=9)(two)) >= {((Act(8, 0, 0), Act(2, 0, 1)), 2)}
    True
    """

    def neighbours(stream: Stream) -> Iterator[Neighbour]:
        for i, j in permutations(range(len(stream)), 2):
            if later_only and (stream[i].at, i) < (stream[j].at, j):
                continue
            if not _two_alone(stream, i, j, window, near):
                continue
            for act in _placings(stream[i], reach, actors=max(a.actor for a in stream) + 2):
                other = _with(stream, {i: act})
                if other != stream and not _acts_elsewhere(other, i, near):
                    yield Neighbour(other, 1 if later_only else 2)

    return neighbours


def definition_one(reach: int) -> Neighbours:
    """The paper's Definition 1, read literally.

    The later of two acts of one person moves back to the earlier one, whatever its labels were; a
    pair costs two shares. It asks for more than any mechanism can give: a search with it finds a
    witness for every law.

    >>> len(list(definition_one(2)((Act(0, 0, 0), Act(0, 0, 1)))))
    4
    """

    def neighbours(stream: Stream) -> Iterator[Neighbour]:
        for i, x in enumerate(stream):
            batch = any(y.actor == x.actor and y.target != x.target and y.at == x.at for y in stream)
            for later in range(1, reach + 1) if batch else ():
                yield Neighbour(_with(stream, {i: x._replace(at=x.at + later)}), 2)

    return neighbours


def _two_alone(stream: Stream, i: int, j: int, window: int, near: int) -> bool:
    """Whether two acts are one person's, on different targets, together, with nothing else near either."""
    x, y = stream[i], stream[j]
    others = (act for k, act in enumerate(stream) if k not in (i, j) and act.actor == x.actor)
    return (
        x.actor == y.actor
        and x.target != y.target
        and abs(x.at - y.at) <= window
        and all(min(abs(act.at - x.at), abs(act.at - y.at)) >= near for act in others)
    )


def _acts_elsewhere(stream: Stream, i: int, near: int) -> bool:
    """Whether the person behind act i has an act on another target less than `near` from it."""
    x = stream[i]
    return any(y.actor == x.actor and y.target != x.target and abs(y.at - x.at) < near for y in stream)


def _leads(labels: LabelFunction, stream: Stream, i: int) -> bool:
    """Whether some act is batched only because of act i."""
    without = stream[:i] + stream[i + 1 :]
    labelled = labels(stream)
    return labels(without) != labelled[:i] + labelled[i + 1 :]


def _placings(act: Act, reach: int, actors: int) -> list[Act]:
    return [
        act._replace(at=act.at + later, actor=actor)
        for later in range(reach + 1)
        for actor in range(actors)
    ]


def _with(stream: Stream, changed: dict[int, Act]) -> Stream:
    return tuple(changed.get(i, act) for i, act in enumerate(stream))


def _subsets(count: int, most: int) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(range(count), k) for k in range(1, min(most, count) + 1))


def _named_in_order(names: Iterator[int]) -> bool:
    """Whether names first appear as 0, 1, 2, ...: other spellings are the same stream renamed."""
    known = 0
    for name in names:
        if name > known:
            return False
        known = max(known, name + 1)
    return True
