"""A gallery of rules that look reasonable and break the promise, each with the stream size that shows it.

None of them exists in the package: they are here so that `search` can be shown to find every one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from tarry.core.exact import ratio_below
from tarry.core.law import Law
from tarry.core.laws.zero_inflated import support_end, zero_inflated_pair
from tarry.core.mechanism import LawPair
from tarry.core.release import Draws
from tarry.core.verify import (
    DelayRule,
    JointRule,
    Rule,
    Size,
    definition_one,
    follower_moves,
    moves,
    paired,
)
from tarry.core.verify.rules import Draw, real_labels
from tarry.core.verify.streams import LabelFunction, Neighbour, Neighbours, Stream, all_streams

SHARE = Fraction(1, 2)
RATIO = ratio_below(SHARE)
SMALL = Size(events=3, span=3, moved=1)
PAIRS = Size(events=2, span=2, moved=1)
#: Streams without two acts on one target, which have troubles of their own.
APART = tuple(s for s in all_streams(SMALL) if len({act.target for act in s}) == len(s))


def laws(start: int) -> LawPair:
    """The default pair of laws at a small start."""
    return zero_inflated_pair(RATIO, start, support_end(RATIO, start, Fraction(1)))


@dataclass(frozen=True)
class Broken:
    """A broken rule, the promise it is held to, and whether the leak is without bound."""

    name: str
    section: str  # of docs/theory.md
    rule: Rule
    neighbours: Neighbours
    size: Size = field(default=SMALL)
    endless: bool = True  # the ratio is infinite
    streams: tuple[Stream, ...] | None = None


def wait(pair: LawPair, draw: Draw, *, batched: bool) -> int:
    return draw(pair.batched if batched else pair.unbatched)


def joint(start: int, releases: Callable[[Stream, list[int]], list[int]], window: int = 0) -> JointRule:
    """Independent delays first, then a broken step that looks at arrivals and at everyone's releases."""
    pair, labels = laws(start), paired(window)

    def program(stream: Stream, draw: Draw) -> tuple[int, ...]:
        noisy = [
            act.at + wait(pair, draw, batched=label)
            for act, label in zip(stream, labels(stream), strict=True)
        ]
        return tuple(releases(stream, noisy))

    return JointRule(program)


# --- labels --------------------------------------------------------------------------------------


def labelled_by(sees: Callable[[int, int], bool]) -> LabelFunction:
    """Batched if some act of the same actor on another target is seen at a signed distance."""

    def labels(stream: Stream) -> tuple[bool, ...]:
        return tuple(
            any(y.actor == x.actor and y.target != x.target and sees(y.at - x.at, 1) for y in stream)
            for x in stream
        )

    return labels


def chained(window: int) -> LabelFunction:
    """A chain of an actor's acts, each within the window of the next, is batched as a whole."""

    def labels(stream: Stream) -> tuple[bool, ...]:
        batched = [False] * len(stream)
        for actor in {act.actor for act in stream}:
            chain: list[int] = []
            mine = sorted((act.at, i) for i, act in enumerate(stream) if act.actor == actor)
            for at, i in mine:
                if chain and at - stream[chain[-1]].at > window:
                    chain = []
                chain.append(i)
                if len({stream[j].target for j in chain}) > 1:
                    for j in chain:
                        batched[j] = True
        return tuple(batched)

    return labels


def one_space(window: int) -> LabelFunction:
    """Even targets are one space, odd ones another; partners are looked for in one's own alone."""

    def labels(stream: Stream) -> tuple[bool, ...]:
        near = paired(window)
        spaces = [tuple(i for i, act in enumerate(stream) if act.target % 2 == side) for side in (0, 1)]
        batched = [False] * len(stream)
        for space in spaces:
            for i, label in zip(space, near(tuple(stream[i] for i in space)), strict=True):
                batched[i] = label
        return tuple(batched)

    return labels


def by_first_of_burst(window: int) -> LabelFunction:
    """Acts of one actor on one target within the window are a unit, labelled as its first act is."""

    def labels(stream: Stream) -> tuple[bool, ...]:
        own = paired(window)(stream)

        def first(i: int) -> int:
            x = stream[i]
            earlier = [
                (y.at, j)
                for j, y in enumerate(stream)
                if (y.actor, y.target) == (x.actor, x.target)
                and (y.at, j) < (x.at, i)
                and x.at - y.at <= window
            ]
            return first(min(earlier)[1]) if earlier else i

        return tuple(own[first(i)] for i in range(len(stream)))

    return labels


def declarations(stream: Stream) -> tuple[bool, ...]:
    """Batched is who says so, and nobody else."""
    return tuple(act.declared for act in stream)


def followers_of_earlier_ticks(stream: Stream) -> tuple[bool, ...]:
    """Look-back that forgets acts of the same tick."""
    return tuple(
        any(y.actor == x.actor and y.target != x.target and 0 < x.at - y.at <= 1 for y in stream)
        for x in stream
    )


HELD = moves(paired(1), 3, SMALL)
AT_ONCE = moves(paired(0), 2, SMALL)


def label_rule(name: str, section: str, labels: LabelFunction, *, endless: bool = True) -> Broken:
    return Broken(name, section, DelayRule(pair=laws(3), labels=labels, hold=1), HELD, endless=endless)


LABELS = [
    label_rule("the paper's Algorithm 3 looks ahead only", "2", labelled_by(lambda d, h: 0 <= d <= h)),
    label_rule("batched within the gap, not the window", "2", paired(3)),
    label_rule("decided one tick too early", "9.2", labelled_by(lambda d, h: -h <= d <= h - 1)),
    label_rule("chains count as one batch", "1", chained(1)),
    label_rule("labels limited to one space", "9.8", one_space(1)),
    label_rule("a burst is labelled by its first act", "9.1", by_first_of_burst(1)),
    label_rule("look-back labels held to the two-sided promise", "9.6", real_labels("follower", 1)),
    label_rule("declared, and never said", "2", declarations),
    Broken(
        "look-back that forgets its own tick",
        "9.6",
        DelayRule(pair=laws(2), labels=followers_of_earlier_ticks),
        follower_moves(real_labels("follower", 1), 2),
    ),
]


# --- draws ---------------------------------------------------------------------------------------


def best_of_two(pair: LawPair, draw: Draw) -> Draws:
    """Withdraw and post again, and keep the shorter draw."""
    return Draws(
        min(draw(pair.unbatched), draw(pair.unbatched)), min(draw(pair.batched), draw(pair.batched))
    )


def always_coupled(pair: LawPair, draw: Draw) -> Draws:
    """One draw for both labels, without asking whether the laws allow it."""
    unbatched = draw(pair.unbatched)
    return Draws(unbatched, unbatched if unbatched >= pair.start else draw(pair.batched))


TENTH = Fraction(1, 10)
#: Private at e^SHARE2, but the batched law is not the unbatched one given a long enough delay.
UNCOUPLED = LawPair(
    batched=Law.of_masses([0, 0, Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]),
    unbatched=Law.of_masses([TENTH, TENTH, TENTH, TENTH, TENTH, 5 * TENTH]),
    start=2,
)

DRAWS = [
    Broken(
        "a fresh draw after a withdrawal",
        "9.3 and 9.8",
        DelayRule(pair=laws(2), labels=paired(0), draws=best_of_two),
        AT_ONCE,
        PAIRS,
        endless=False,
    ),
    Broken(
        "a start that forgets the window",
        "9.3",
        DelayRule(pair=laws(2), labels=paired(1), hold=1),
        HELD,
    ),
]


# --- promises nobody can keep --------------------------------------------------------------------


def at_the_price_of_a_pair(neighbours: Neighbours) -> Neighbours:
    """The same neighbours, all claimed to cost no more than a pair."""

    def cheap(stream: Stream) -> Iterator[Neighbour]:
        return (Neighbour(other, min(cost, 2)) for other, cost in neighbours(stream))

    return cheap


GOOD_AT_ONCE = DelayRule(pair=laws(2), labels=paired(0))
GOOD_HELD = DelayRule(pair=laws(3), labels=paired(1), hold=1)
PROMISES = [
    Broken("Definition 1 read literally", "2", GOOD_AT_ONCE, definition_one(2), streams=APART),
    Broken("Definition 1 read literally, with a window", "2", GOOD_HELD, definition_one(2)),
    Broken(
        "a twin on the same target at the price of a pair",
        "2",
        GOOD_AT_ONCE,
        at_the_price_of_a_pair(AT_ONCE),
        endless=False,
    ),
    Broken("a bridge at the price of a pair", "2", GOOD_HELD, at_the_price_of_a_pair(HELD), endless=False),
]

GALLERY = [*LABELS, *DRAWS, *PROMISES]
