"""Rules that look reasonable and break the promise: labels, draws, releases and clocks.

Each one is written as the real code would be, small enough for every draw to be followed. None of them
is used anywhere in tarry.
"""

from collections.abc import Callable
from fractions import Fraction

from tarry.core.exact import ratio_below
from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.release import Draws
from tarry.core.verify import DelayRule, JointRule, Rule, paired
from tarry.core.verify.rules import Draw
from tarry.core.verify.streams import LabelFunction, Stream
from tarry.paper.laws import default_laws
from tarry.paper.queue import Scripted, paper_queue

__all__ = [
    "SHARE",
    "UNITS",
    "best_of",
    "chained",
    "declarations",
    "held",
    "in_thread_order",
    "joint",
    "late_close",
    "one_draw_a_burst",
    "one_space",
    "queued",
    "session_coin",
    "simultaneous",
    "spaced",
    "stamped",
    "within",
]

SHARE = Fraction(1, 2)  # epsilon 1
UNITS = 2  # of time in a tick, for the rules about clocks
SESSION = 2  # ticks


def simultaneous(start: int = 2) -> DelayRule:
    """The rule that keeps the promise for batches in one tick.

    >>> simultaneous().hold
    0
    """
    return DelayRule(pair=default_laws(start), labels=paired(0))


def held(labels: LabelFunction, start: int = 3) -> DelayRule:
    """The rule for a window of one tick, with these labels in place of the right ones.

    >>> held(paired(1)).hold
    1
    """
    return DelayRule(pair=default_laws(start), labels=labels, hold=1)


def joint(releases: Callable[[Stream, list[int]], list[int]]) -> Rule:
    """Independent delays first, then a step that looks at arrivals and at everybody's releases.

    >>> isinstance(joint(spaced), JointRule)
    True
    """
    pair = default_laws(2)

    def program(stream: Stream, draw: Draw) -> tuple[int, ...]:
        noisy = [
            act.at + draw(pair.batched if label else pair.unbatched)
            for act, label in zip(stream, paired(0)(stream), strict=True)
        ]
        return tuple(releases(stream, noisy))

    return JointRule(program)


# --- labels --------------------------------------------------------------------------------------


def within(low: int, high: int) -> LabelFunction:
    """Batched if the actor has an act on another target from `low` to `high` ticks later.

    >>> from tarry.core.verify.streams import Act
    >>> within(0, 1)((Act(0, 0, 0), Act(1, 0, 1)))
    (True, False)
    """

    def labels(stream: Stream) -> tuple[bool, ...]:
        return tuple(
            any(y.actor == x.actor and y.target != x.target and low <= y.at - x.at <= high for y in stream)
            for x in stream
        )

    return labels


def chained(stream: Stream) -> tuple[bool, ...]:
    """A chain of one actor's acts, each at most a tick after the last, is batched as a whole.

    >>> from tarry.core.verify.streams import Act
    >>> chained((Act(0, 0, 0), Act(1, 0, 1), Act(2, 0, 1)))
    (True, True, True)
    """
    batched = [False] * len(stream)
    for actor in {act.actor for act in stream}:
        chain: list[int] = []
        for at, i in sorted((act.at, i) for i, act in enumerate(stream) if act.actor == actor):
            if chain and at - stream[chain[-1]].at > 1:
                chain = []
            chain.append(i)
            if len({stream[j].target for j in chain}) > 1:
                for j in chain:
                    batched[j] = True
    return tuple(batched)


def one_space(stream: Stream) -> tuple[bool, ...]:
    """Even targets are one space, odd ones another: partners are looked for in one's own alone.

    >>> from tarry.core.verify.streams import Act
    >>> one_space((Act(0, 0, 0), Act(0, 0, 1)))
    (False, False)
    """
    return tuple(
        any(
            y.actor == x.actor and y.target != x.target and (y.target - x.target) % 2 == 0
            for y in stream
            if abs(y.at - x.at) <= 1
        )
        for x in stream
    )


def declarations(stream: Stream) -> tuple[bool, ...]:
    """Batched is who says so, and nobody else.

    >>> from tarry.core.verify.streams import Act
    >>> declarations((Act(0, 0, 0, declared=True), Act(0, 0, 1)))
    (True, False)
    """
    return tuple(act.declared for act in stream)


# --- draws and releases --------------------------------------------------------------------------


def best_of(draws: int) -> Callable[[LawPair, Draw], Draws[int]]:
    """Withdraw and post again until there were so many fresh draws, and keep the shortest.

    >>> best_of(2)(default_laws(2), lambda law: law.minimum).batched
    2
    """

    def shortest(pair: LawPair, draw: Draw) -> Draws[int]:
        return Draws(
            min(draw(pair.unbatched) for _ in range(draws)), min(draw(pair.batched) for _ in range(draws))
        )

    return shortest


def one_draw_a_burst(stream: Stream, draw: Draw) -> tuple[int, ...]:
    """Acts of one actor on one target in one tick share a draw.

    >>> from tarry.core.verify.streams import Act
    >>> one_draw_a_burst((Act(0, 0, 0), Act(0, 0, 0)), lambda law: law.minimum)
    (0, 0)
    """
    pair, delays = default_laws(2), dict[tuple[int, int, int], int]()
    for act, label in zip(stream, paired(0)(stream), strict=True):
        key = (act.at, act.actor, act.target)
        if key not in delays:
            delays[key] = draw(pair.batched if label else pair.unbatched)
    return tuple(act.at + delays[act.at, act.actor, act.target] for act in stream)


def session_coin(stream: Stream, draw: Draw) -> tuple[int, ...]:
    """A batch leaves together; a lone act may open a session, at whose end all of its actor's acts leave.

    >>> from tarry.core.verify.streams import Act
    >>> session_coin((Act(0, 0, 0), Act(0, 0, 1)), lambda law: 0)
    (2, 2)
    """
    whole = ratio_below(2 * SHARE)
    coin, labels, out = Law.of_masses([1 - 1 / whole, 1 / whole]), paired(0)(stream), [0] * len(stream)
    for actor in sorted({act.actor for act in stream}):
        end = -1
        for i in sorted((i for i, a in enumerate(stream) if a.actor == actor), key=lambda i: stream[i].at):
            at = stream[i].at
            if labels[i] or (at > end and draw(coin)):
                end = at + SESSION
            out[i] = max(at, end)
    return tuple(out)


def in_thread_order(stream: Stream, noisy: list[int]) -> list[int]:
    """Nothing overtakes what arrived before it on the same target.

    >>> from tarry.core.verify.streams import Act
    >>> in_thread_order((Act(0, 0, 0), Act(1, 1, 0)), [5, 2])
    [5, 5]
    """
    order = sorted(range(len(stream)), key=lambda i: (stream[i].at, i))
    out = list(noisy)
    for place, i in enumerate(order):
        out[i] = max([out[i], *(out[j] for j in order[:place] if stream[j].target == stream[i].target)])
    return out


def spaced(stream: Stream, noisy: list[int]) -> list[int]:
    """No two acts of one actor in the same tick.

    >>> from tarry.core.verify.streams import Act
    >>> spaced((Act(0, 0, 0), Act(0, 0, 1)), [5, 5])
    [6, 5]
    """
    out = list(noisy)
    for i in sorted(range(len(stream)), key=lambda i: (noisy[i], i)):
        mine = [j for j in range(len(stream)) if j != i and stream[j].actor == stream[i].actor]
        while any(out[j] == out[i] for j in mine):
            out[i] += 1
    return out


def queued(stream: Stream, draw: Draw) -> tuple[int, ...]:
    """Algorithm 4, with a stranger's post in every step after the first so that the queue moves on.

    >>> from tarry.core.verify.streams import Act
    >>> queued((Act(0, 0, 0), Act(0, 0, 1)), lambda law: law.minimum)
    (1, 0)
    """
    last = max(act.at for act in stream)
    steps = [[i for i, act in enumerate(stream) if act.at == step] for step in range(last + 1)]
    fillers = [[-1 - k] for k in range(len(stream))]
    posted = paper_queue([*steps, *fillers], Scripted(draw))
    return tuple(posted.index(i) for i in range(len(stream)))


# --- clocks --------------------------------------------------------------------------------------


def stamped(labels: LabelFunction) -> LabelFunction:
    """Labels on ticks, for streams told in units.

    >>> from tarry.core.verify.streams import Act
    >>> stamped(paired(0))((Act(1, 0, 0), Act(2, 0, 1)))
    (True, True)
    """
    return lambda stream: labels(tuple(act._replace(at=-(-act.at // UNITS)) for act in stream))


def late_close(at: int, units: int) -> int:
    """The tick now open, when tick 0 was closed one unit too late and every other one in time.

    >>> late_close(1, 2), late_close(2, 2), late_close(5, 2)
    (0, 1, 3)
    """
    return 0 if at <= 1 else -(-at // units)
