"""The gallery goes on: releases and clocks that break the promise."""

from collections.abc import Callable
from fractions import Fraction

from core.verify.broken_rules import AT_ONCE, PAIRS, SHARE, Broken, joint, laws, wait
from tarry.core.exact import ratio_below
from tarry.core.law import Law
from tarry.core.verify import (
    DelayRule,
    JointRule,
    Size,
    moves,
    paired,
)
from tarry.core.verify.rules import Draw
from tarry.core.verify.streams import LabelFunction, Stream

# --- releases ------------------------------------------------------------------------------------

END = 5


def renormalised(stream: Stream, draw: Draw) -> tuple[int, ...]:
    """The delay is drawn from its law given that it ends by the deadline."""
    pair, labels = laws(2), paired(0)(stream)
    return tuple(
        act.at + draw(_until(pair.batched if label else pair.unbatched, END - act.at))
        for act, label in zip(stream, labels, strict=True)
    )


def _until(law: Law, last: int) -> Law:
    within = law.cumulative(last)
    return Law.of_masses([law.mass(k) / within for k in range(last + 1)])


def in_thread_order(stream: Stream, noisy: list[int]) -> list[int]:
    """Nothing overtakes what arrived before it on the same target."""
    order = sorted(range(len(stream)), key=lambda i: (stream[i].at, i))
    out = list(noisy)
    for place, i in enumerate(order):
        out[i] = max([out[i]] + [out[j] for j in order[:place] if stream[j].target == stream[i].target])
    return out


def sorted_in_thread(stream: Stream, noisy: list[int]) -> list[int]:
    """A target's releases are handed out in order of arrival."""
    out = list(noisy)
    for target in {act.target for act in stream}:
        mine = [
            i
            for i in sorted(range(len(stream)), key=lambda i: (stream[i].at, i))
            if stream[i].target == target
        ]
        for i, at in zip(mine, sorted(noisy[i] for i in mine), strict=True):
            out[i] = at
    return out


def spaced(stream: Stream, noisy: list[int]) -> list[int]:
    """No two acts of one actor in the same tick."""
    out = list(noisy)
    for i in sorted(range(len(stream)), key=lambda i: (noisy[i], i)):
        while any(
            stream[j].actor == stream[i].actor and out[j] == out[i] for j in range(len(stream)) if j != i
        ):
            out[i] += 1
    return out


def one_draw_a_burst(stream: Stream, draw: Draw) -> tuple[int, ...]:
    """Acts of one actor on one target in one tick share a draw."""
    pair, labels = laws(2), paired(0)(stream)
    delays: dict[tuple[int, int, int], int] = {}
    for act, label in zip(stream, labels, strict=True):
        key = (act.at, act.actor, act.target)
        if key not in delays:
            delays[key] = wait(pair, draw, batched=label)
    return tuple(act.at + delays[act.at, act.actor, act.target] for act in stream)


SESSION = 2
_WHOLE = ratio_below(2 * SHARE)
COIN = Law.of_masses([1 - 1 / _WHOLE, 1 / _WHOLE])


def session_coin(stream: Stream, draw: Draw) -> tuple[int, ...]:
    """A batch leaves together; a lone act may open a session at whose end all of its actor's acts leave."""
    labels, out = paired(0)(stream), [0] * len(stream)
    for actor in sorted({act.actor for act in stream}):
        end = -1
        for i in sorted((i for i, a in enumerate(stream) if a.actor == actor), key=lambda i: stream[i].at):
            at = stream[i].at
            if labels[i] or (at > end and draw(COIN)):
                end = at + SESSION
            out[i] = max(at, end)
    return tuple(out)


def paper_queue_rule(stream: Stream, draw: Draw) -> tuple[int, ...]:
    """Algorithm 4: one post leaves in each step in which something arrives, then one a step."""
    half = Law.of_masses([Fraction(1, 2), Fraction(1, 2)])
    out, queue = [0] * len(stream), []
    for step in range(max(act.at for act in stream) + len(stream) + 1):
        batch = [i for i, act in enumerate(stream) if act.at == step]
        if len(batch) == 2 and draw(half):
            batch.reverse()
        queue += batch
        if queue:
            out[queue.pop(0)] = step
    return tuple(out)


def delay_rule(name: str, section: str, release: Callable[[int, int], int], *, endless: bool) -> Broken:
    rule = DelayRule(pair=laws(2), labels=paired(0), release=release)
    return Broken(name, section, rule, AT_ONCE, PAIRS, endless=endless)


RELEASES = [
    delay_rule("a cap on the delay", "6e", lambda at, d: at + min(d, 3), endless=False),
    delay_rule(
        "released at once when late", "6e", lambda at, d: at + d if at + d <= END else at, endless=True
    ),
    Broken("renormalised to the deadline", "6e", JointRule(renormalised), AT_ONCE, PAIRS, endless=False),
    Broken("waits for what arrived before in the thread", "6c", joint(2, in_thread_order), AT_ONCE),
    Broken("released in order of arrival", "6c", joint(2, sorted_in_thread), AT_ONCE),
    Broken("acts of one actor spaced apart", "9.8", joint(2, spaced), AT_ONCE, PAIRS),
    Broken("one draw a burst", "9.1", JointRule(one_draw_a_burst), AT_ONCE, endless=False),
    Broken("a session for each actor", "6b", JointRule(session_coin), AT_ONCE, PAIRS, endless=False),
    Broken("the paper's queue, one person's batch", "9.6", JointRule(paper_queue_rule), AT_ONCE, PAIRS),
]


# --- clocks: two units to the tick ---------------------------------------------------------------

UNITS = 2


def stamped(labels: LabelFunction) -> LabelFunction:
    """Labels on ticks, for streams told in units."""

    def on_units(stream: Stream) -> tuple[bool, ...]:
        return labels(tuple(act._replace(at=-(-act.at // UNITS)) for act in stream))

    return on_units


def late_close(at: int, units: int) -> int:
    """The tick now open, when tick 0 was closed one unit too late and every other one in time."""
    return 0 if at <= 1 else -(-at // units)


def stored_late(at: int, units: int) -> int:
    """An act in the last unit of tick 2 is stored after its close and gets the next tick."""
    return 3 if at == 2 * units else -(-at // units)


FINE = Size(events=2, span=2, moved=1)
CLOCK = moves(stamped(paired(0)), 2 * UNITS, FINE)
CLOCKS = [
    Broken(
        "stamped with the tick that is still open",
        "9.2",
        DelayRule(pair=laws(2), labels=paired(0), units=UNITS, stamp=late_close),
        moves(
            lambda s: paired(0)(tuple(a._replace(at=late_close(a.at, UNITS)) for a in s)), 2 * UNITS, FINE
        ),
        FINE,
    ),
    Broken(
        "stored after its tick was closed",
        "9.2",
        DelayRule(pair=laws(2), labels=paired(0), units=UNITS, stamp=stored_late),
        CLOCK,
        FINE,
    ),
    Broken(
        "a wait counted from the moment itself",
        "9.2",
        DelayRule(
            pair=laws(2),
            labels=stamped(paired(0)),
            stamp=lambda at, _: at,
            release=lambda at, d: at + d * UNITS,
        ),
        CLOCK,
        FINE,
    ),
]

GALLERY = [*RELEASES, *CLOCKS]
