"""Rules as exact distributions: what is seen, and how likely, for one small stream.

A rule says how a stream becomes what an observer sees: a release for each act. It is written as the
real code is, with `draw(law)` for randomness; here every possible draw is followed with its exact
probability, so nothing is sampled and nothing is missed. `search` holds every small stream against
every stream it must be confused with, and looks for a witness.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from math import exp, inf
from typing import Protocol

from tarry.core.errors import BadInput
from tarry.core.exact import exceeds_exp, log_of, ticks_up
from tarry.core.history import History
from tarry.core.labels import label_events
from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.policy import LabelRule, Policy
from tarry.core.release import Draws, coupled_draws, release_ticks
from tarry.core.season import Season
from tarry.core.verify.laws import Verdict, Witness
from tarry.core.verify.streams import LabelFunction, Neighbours, Size, Stream, all_streams

__all__ = [
    "Block",
    "DelayRule",
    "Draw",
    "JointRule",
    "Progress",
    "Rule",
    "distribution",
    "real_labels",
    "search",
    "small_copy",
    "small_rule",
    "truthful",
]

_FEW_BLOCKS = 3
#: One that every law keeps.
_ANY_SEASON = Season(acts=1, epsilon=Fraction(100), delta=Fraction(1, 2))

Draw = Callable[[Law], int]
Seen = tuple[int, ...]
#: Called with (done, all) now and then during long work.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Block:
    """Acts whose releases depend on each other, and the joint distribution of these.

    >>> Block((0,), {(3,): Fraction(1)}).acts
    (0,)
    """

    acts: tuple[int, ...]
    seen: dict[Seen, Fraction]


@cache
def ticks_up_units(at: int, units: int) -> int:
    """The tick of an arrival, by the code that stamps arrivals in earnest.

    >>> ticks_up_units(3, 2)
    2
    """
    return ticks_up(at, Fraction(units))


class Rule(Protocol):
    """What a search looks at."""

    def blocks(self, stream: Stream) -> list[Block]:
        """The distribution of what is seen, as independent blocks."""


@dataclass(frozen=True)
class JointRule:
    """A rule in which acts may depend on each other in any way: a program from stream to releases.

    >>> from tarry.core.verify.streams import Act
    >>> rule = JointRule(lambda stream, draw: tuple(act.at for act in stream))
    >>> rule.blocks((Act(3, 0, 0),))[0].seen
    {(3,): Fraction(1, 1)}
    """

    program: Callable[[Stream, Draw], Seen]

    def blocks(self, stream: Stream) -> list[Block]:
        """One block with everything in it."""
        return [Block(tuple(range(len(stream))), distribution(lambda draw: self.program(stream, draw)))]


@dataclass(frozen=True, kw_only=True)
class DelayRule:
    """A rule in which each act is labelled and then waits by itself, as tarry's own do.

    The draw and release rules are the real ones unless broken ones are to be looked at. With `units`
    time units to the tick, `stamp` rounds arrivals to ticks; labels look at stamped arrivals.

    >>> from tarry.core.verify.streams import Act, paired
    >>> always = Law.of_masses([0, 1])
    >>> rule = DelayRule(pair=LawPair(batched=always, unbatched=always, start=1), labels=paired(0))
    >>> rule.blocks((Act(4, 0, 0),))[0].seen
    {(5,): Fraction(1, 1)}
    """

    pair: LawPair
    labels: LabelFunction
    hold: int = 0
    deadline: int | None = None
    units: int = 1
    stamp: Callable[[int, int], int] = ticks_up_units
    draws: Callable[[LawPair, Draw], Draws[int]] = coupled_draws
    release: Callable[[int, int], int] | None = None  # (stamped arrival, delay) -> what is seen
    _known: dict[tuple[int, bool], dict[Seen, Fraction]] = field(default_factory=dict, compare=False)

    def blocks(self, stream: Stream) -> list[Block]:
        """One block an act."""
        # Within a tick, labels that look back follow the order in which acts came.
        order = sorted(range(len(stream)), key=lambda i: (stream[i].at, i))
        stamped = tuple(stream[i]._replace(at=self.stamp(stream[i].at, self.units)) for i in order)
        labelled = zip(order, stamped, self.labels(stamped), strict=True)
        return [Block((i,), self._alone(act.at, label)) for i, act, label in sorted(labelled)]

    def _alone(self, arrival: int, label: bool) -> dict[Seen, Fraction]:  # noqa: FBT001 - a label is a value
        key = (arrival, label)
        if key not in self._known:
            self._known[key] = distribution(lambda draw: (self._seen(arrival, label, draw),))
        return self._known[key]

    def _seen(self, arrival: int, label: bool, draw: Draw) -> int:  # noqa: FBT001 - a label is a value
        drawn = self.draws(self.pair, draw)
        if self.release is not None:
            return self.release(arrival, drawn.ticks(batched=label))
        return release_ticks(arrival, drawn, batched=label, hold=self.hold, deadline=self.deadline)


class _Branch(Exception):
    def __init__(self, law: Law) -> None:
        self.law = law


def distribution(program: Callable[[Draw], Seen]) -> dict[Seen, Fraction]:
    """The exact distribution of a program's result over all its draws.

    The program is run again from the start for every draw that is not yet decided: it may do
    anything, as long as `draw` is its only source of chance.

    >>> coin = Law.of_masses([Fraction(1, 2), Fraction(1, 2)])
    >>> distribution(lambda draw: (draw(coin) + draw(coin),))[1,]
    Fraction(1, 2)
    """
    seen: dict[Seen, Fraction] = {}
    pending: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while pending:
        decided, chance = pending.pop()
        script = iter(decided)

        def draw(law: Law, script: Iterator[int] = script) -> int:
            for value in script:
                return value
            raise _Branch(law)

        try:
            result = program(draw)
        except _Branch as branch:
            pending += [((*decided, tick), chance * mass) for tick, mass in _support(branch.law)]
        else:
            seen[result] = seen.get(result, Fraction(0)) + chance
    return seen


@lru_cache(maxsize=64)
def _support(law: Law) -> tuple[tuple[int, Fraction], ...]:
    if law.maximum is None:
        raise BadInput(
            "this law has no end, so not all its draws can be followed", "use a law with a longest delay"
        )
    return tuple((k, mass) for k in range(law.maximum + 1) if (mass := law.mass(k)))


def small_copy(policy: Policy, tick: int = 1) -> Policy:
    """The policy with a tick of 1 s or more, a gap of 2 ticks and, where it has one, a window of 1 tick.

    A law without an end gives its place to the default one, an epsilon below 1 becomes 1, and a law for a
    season gets few blocks, so that there are few delays to follow: rules treat all of them alike.

    >>> small_copy(Policy(epsilon="1", gap="11m")).window
    Fraction(1, 1)
    """
    endless = policy.mechanism().pair.unbatched.maximum is None
    blocks = None if policy.blocks is None else _FEW_BLOCKS
    return replace(
        policy,
        epsilon=max(policy.epsilon, Fraction(1)) if blocks is None else Fraction(0),
        season=None if blocks is None else _ANY_SEASON,
        blocks=blocks,
        gap=Fraction(2 * tick),
        window=Fraction(tick) if policy.window else Fraction(0),
        tick=Fraction(tick),
        law="zero-inflated-uniform" if endless else policy.law,
        target_gaps={},
        track_gaps={},
        starts_at=None,
        ends_at=None,
        deadline_at=None,
    )


def small_rule(policy: Policy) -> DelayRule:
    """The rule that a (small) policy follows, by the code that follows it in earnest.

    Streams have times in seconds.

    >>> small_rule(small_copy(Policy(epsilon="1", gap="11m"))).hold
    1
    """
    mechanism = policy.mechanism()
    labels = real_labels(policy.labels, policy.window_ticks)
    return DelayRule(pair=mechanism.pair, labels=labels, hold=mechanism.hold, units=int(policy.tick))


def real_labels(rule: LabelRule, window: int) -> LabelFunction:
    """`label_events` on small streams; acts in one tick are admitted in stream order.

    >>> from tarry.core.verify.streams import Act
    >>> real_labels("follower", 1)((Act(0, 0, 0), Act(0, 0, 1)))
    (False, True)
    """

    @cache
    def labels(stream: Stream) -> tuple[bool, ...]:
        admitted = sorted(range(len(stream)), key=lambda i: (stream[i].at, i))
        history = History(
            actor=[act.actor for act in stream],
            target=[act.target for act in stream],
            time=[act.at for act in stream],
            unit=Fraction(1),
            declared=[act.declared for act in stream],
            sequence=[admitted.index(i) for i in range(len(stream))],
        )
        return tuple(label_events(rule, history, history.times, window).tolist())

    return labels


def truthful(stream: Stream, window: int) -> Stream:
    """The stream with every author saying rightly whether more will come within the window.

    >>> from tarry.core.verify.streams import Act
    >>> [act.declared for act in truthful((Act(0, 0, 0), Act(1, 0, 1)), 1)]
    [True, False]
    """
    return tuple(act._replace(declared=_more(stream, i, window)) for i, act in enumerate(stream))


def _more(stream: Stream, i: int, window: int) -> bool:
    now = stream[i]
    return any(
        later.actor == now.actor
        and later.target != now.target
        and 0 <= later.at - now.at <= window
        and (later.at, j) > (now.at, i)
        for j, later in enumerate(stream)
    )


def search(
    rule: Rule,
    neighbours: Neighbours,
    share: Fraction,
    size: Size,
    *,
    streams: Iterable[Stream] | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Look for a stream that an observer can tell from a neighbour better than promised.

    A clean result is no proof: it says that there is no witness up to the size. `progress` is called with
    the number of streams that are done, and of all.

    >>> from tarry.core.laws.zero_inflated import zero_inflated_pair
    >>> from tarry.core.verify.streams import moves, paired
    >>> pair = zero_inflated_pair(Fraction(3, 2), start=1, end=3)
    >>> rule, size = DelayRule(pair=pair, labels=paired(0)), Size(events=2, span=1)
    >>> search(rule, moves(paired(0), 1, size), Fraction(1, 2), size).word
    'holds'
    """
    blocks, exceeds = cache(rule.blocks), cache(exceeds_exp)  # a few come again and again
    worst = -inf
    todo = tuple(all_streams(size) if streams is None else streams)
    for done, stream in enumerate(todo):
        if progress is not None:
            progress(done, len(todo))
        for other, cost in neighbours(stream):
            ratio, seen = _largest_ratio(blocks(stream), blocks(other), len(stream))
            allowed = share * cost
            if ratio is None or exceeds(ratio, allowed):
                witness = Witness(
                    batched=_describe(stream, size.units),
                    other=_describe(other, size.units),
                    seen=f"releases at {', '.join(map(str, seen))}",
                    ratio=inf if ratio is None else float(ratio),
                    allowed=exp(allowed),
                )
                margin = -inf if ratio is None else float(allowed) - log_of(ratio)
                scope = f"streams up to {size}"
                return Verdict(holds=False, scope=scope, margin=margin, witness=witness)
            worst = max(worst, log_of(ratio) - float(allowed))
    slack = None if worst == -inf else max(0.0, -worst)
    return Verdict(holds=True, scope=f"no witness up to {size}", margin=slack)


def _describe(stream: Stream, units: int) -> str:
    acts = (
        f"actor {act.actor} on target {act.target} at {Fraction(act.at, units)}"
        + (" saying more" if act.declared else "")
        for act in stream
    )
    return "; ".join(acts)


def _largest_ratio(this: list[Block], other: list[Block], count: int) -> tuple[Fraction | None, Seen]:
    """The largest P(seen; this) / P(seen; other), None for infinite, and where it is reached."""
    if [block.acts for block in this] != [block.acts for block in other]:
        this, other = [_together(this, count)], [_together(other, count)]
    ratio: Fraction | None = Fraction(1)
    seen = [0] * count
    for mine, theirs in zip(this, other, strict=True):
        part, where = _largest_in(mine.seen, theirs.seen)
        for act, at in zip(mine.acts, where, strict=True):
            seen[act] = at
        ratio = None if ratio is None or part is None else ratio * part
    return ratio, tuple(seen)


def _largest_in(mine: dict[Seen, Fraction], theirs: dict[Seen, Fraction]) -> tuple[Fraction | None, Seen]:
    best, where = Fraction(0), next(iter(mine))
    if mine is theirs:
        return Fraction(1), where
    for seen, chance in mine.items():
        if seen not in theirs:
            return None, seen
        if (ratio := chance / theirs[seen]) > best:
            best, where = ratio, seen
    return best, where


def _together(blocks: list[Block], count: int) -> Block:
    """Independent blocks as one."""
    joint: dict[Seen, Fraction] = {}
    for parts in product(*(block.seen.items() for block in blocks)):
        seen, chance = [0] * count, Fraction(1)
        for block, (where, part) in zip(blocks, parts, strict=True):
            chance *= part
            for act, at in zip(block.acts, where, strict=True):
                seen[act] = at
        joint[tuple(seen)] = chance
    return Block(tuple(range(count)), joint)
