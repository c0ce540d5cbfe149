"""The counterexamples of the gallery: a rule, what truly arrived, and a story it should be confused with.

Sections are those of the theory this follows: 2 labels and neighbours, 6 coordination, order and
deadlines, 9 the rules in practice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, log

from tarry.core.law import Law
from tarry.core.verify import DelayRule, JointRule, Rule, Size, paired, search
from tarry.core.verify.rules import Draw, real_labels
from tarry.core.verify.streams import Act, Neighbour, Stream
from tarry.paper import gallery_rules as rules
from tarry.paper.gallery_rules import SHARE, UNITS, held, joint, simultaneous
from tarry.paper.horizon import GAP
from tarry.paper.laws import default_laws

__all__ = ["AT_ONCE", "CASES", "HELD", "ON_CLOCK", "REDRAWN", "Case", "in_words", "nats", "redrawn"]

_PEOPLE, _TARGETS = ("ann", "bob", "cat"), ("p", "q", "r")
REDRAWN = "withdrawn and posted again, with a fresh draw"
END = 10  # the deadline of the rules of section 6e, in ticks


@dataclass(frozen=True, kw_only=True)
class Case:
    """One counterexample.

    >>> CASES[0].section
    '2'
    """

    name: str
    section: str
    thought: str  # what one would think
    rule: Rule
    stream: Stream  # what truly arrived
    other: Stream  # the story it should be confused with
    right: Rule | None = None  # the rule to follow instead, where the promise covers this story
    shares: int = 2  # of epsilon that one would pay for it: a pair costs two


def nats(case: Case, rule: Rule | None = None) -> float:
    """The logarithm of the largest ratio between the two stories, under the case's rule or another.

    >>> nats(CASES[1]), round(nats(CASES[1], CASES[1].right), 6)
    (inf, 1.0)
    """

    def other(_: Stream) -> Iterator[Neighbour]:
        return iter([Neighbour(case.other, 0)])

    verdict = search(rule or case.rule, other, SHARE, Size(), streams=[case.stream])
    if verdict.witness is None:
        return 0.0
    return inf if verdict.witness.ratio == inf else log(verdict.witness.ratio)


def _acts(*texts: str) -> Stream:
    """A stream from texts: who, on what, when, and a + for "more to come"."""
    acts = []
    for text in texts:
        who, what, when = text.rstrip("+").split()
        acts.append(Act(int(when), _PEOPLE.index(who), _TARGETS.index(what), declared=text.endswith("+")))
    return tuple(acts)


def in_words(stream: Stream) -> str:
    """A stream in words.

    >>> in_words(CASES[2].stream)
    'ann on p at 0, ann on q at 0'
    """
    return ", ".join(
        f"{_PEOPLE[act.actor]} on {_TARGETS[act.target]} at {act.at}"
        + (" (more to come)" if act.declared else "")
        for act in stream
    )


def _renormalised(stream: Stream, draw: Draw) -> tuple[int, ...]:
    pair = default_laws(GAP)
    laws_of = [pair.batched if label else pair.unbatched for label in paired(0)(stream)]
    left = [END - act.at for act in stream]
    return tuple(
        act.at + draw(Law.of_masses([law.mass(k) / law.cumulative(last) for k in range(last + 1)]))
        for act, law, last in zip(stream, laws_of, left, strict=True)
    )


def _rushed(release: Callable[[int, int], int]) -> DelayRule:
    """A rule that makes something else of an arrival and its delay than their sum."""
    return DelayRule(pair=default_laws(GAP), labels=paired(0), release=release)


def redrawn(draws: int) -> DelayRule:
    """The rule that draws anew after each withdrawal; only the shortest delay is ever seen.

    >>> redrawn(2).hold
    0
    """
    return DelayRule(pair=default_laws(2), labels=paired(0), draws=rules.best_of(draws))


PAIR = _acts("ann p 0", "ann q 0")
STRANGERS = _acts("ann p 0", "bob q 0")
LATER = _acts("ann p 0", "bob q 1")

# The rules that tarry follows: what the broken ones are put in place of.
AT_ONCE = simultaneous()
HELD = held(paired(1))
CLIPPED = DelayRule(pair=default_laws(GAP), labels=paired(0), deadline=END)
ON_CLOCK = DelayRule(pair=default_laws(2), labels=paired(0), units=UNITS)

CASES = (
    # Section 2: labels and neighbours.
    Case(
        name="Definition 1, read literally",
        section="2",
        thought="any post may move back to an earlier one of its author",
        rule=simultaneous(6),
        stream=_acts("ann p 0", "ann q 0", "ann r 6"),
        other=_acts("ann p 0", "ann q 6", "ann r 6"),
    ),
    Case(
        name="Algorithm 3 looks ahead only",
        section="2",
        thought="the last post of a batch needs no label",
        rule=held(rules.within(0, 1)),
        right=HELD,
        stream=_acts("ann p 0", "ann q 1"),
        other=_acts("ann p 0", "bob q 2"),
    ),
    Case(
        name="batched within the gap instead of the window",
        section="2",
        thought="more batched labels protect more",
        rule=held(rules.within(-3, 3)),
        right=HELD,
        stream=PAIR,
        other=_acts("ann p 0", "ann q 2"),
    ),
    Case(
        name="a twin on the same target",
        section="2",
        thought="a pair costs epsilon, whatever else was posted",
        rule=simultaneous(),
        stream=_acts("ann p 0", "ann p 0", "ann q 0"),
        other=_acts("ann p 0", "ann p 0", "ann q 2"),
    ),
    Case(
        name="a bridge between two lone posts",
        section="2",
        thought="a post that joins others costs epsilon",
        rule=held(paired(1)),
        stream=_acts("ann p 0", "ann q 2", "ann r 1"),
        other=_acts("ann p 0", "ann q 2", "bob r 1"),
    ),
    Case(
        name="a batch of three, dissolved",
        section="2",
        thought="epsilon covers a batch of any size",
        rule=simultaneous(),
        stream=_acts("ann p 0", "ann q 0", "ann r 0"),
        other=_acts("ann p 0", "bob q 0", "cat r 0"),
    ),
    Case(
        name="declared labels alone",
        section="2",
        thought="it is enough that the first author says more will come",
        rule=held(rules.declarations),
        right=HELD,
        stream=_acts("ann p 0+", "ann q 0"),
        other=_acts("ann p 0+", "bob q 1"),
    ),
    Case(
        name="chains count as one batch",
        section="1",
        thought="posts in one sitting belong together",
        rule=held(rules.chained),
        right=HELD,
        stream=_acts("ann p 0", "ann q 0", "ann p 1"),
        other=_acts("ann p 2", "ann q 0", "ann p 1"),
        shares=1,
    ),
    # Sections 6b, 6c and 6e: sessions, order, deadlines.
    Case(
        name="a session for each actor, same person",
        section="6b",
        thought="the paper's definition is met: so it is private",
        rule=JointRule(rules.session_coin),
        right=AT_ONCE,
        stream=PAIR,
        other=_acts("ann p 0", "ann q 1"),
    ),
    Case(
        name="a session for each actor, different people",
        section="6b",
        thought="the same rule hides it from everybody",
        rule=JointRule(rules.session_coin),
        right=AT_ONCE,
        stream=PAIR,
        other=LATER,
    ),
    Case(
        name="nothing overtakes within a target",
        section="6c",
        thought="keeping the order of a thread is harmless",
        rule=joint(rules.in_thread_order),
        right=AT_ONCE,
        stream=_acts("ann p 0", "ann q 0", "bob q 1"),
        other=_acts("ann p 0", "ann q 2", "bob q 1"),
    ),
    Case(
        name="a delay drawn anew to end by the deadline",
        section="6e",
        thought="it is the same law, cut",
        rule=JointRule(_renormalised),
        right=CLIPPED,
        stream=PAIR,
        other=STRANGERS,
    ),
    Case(
        name="a cap on the delay",
        section="6e",
        thought="a shorter delay is the same, only shorter",
        rule=_rushed(lambda at, delay: at + min(delay, GAP)),
        right=CLIPPED,
        stream=PAIR,
        other=LATER,
    ),
    Case(
        name="released at once when late",
        section="6e",
        thought="what cannot be delayed need not be",
        rule=_rushed(lambda at, delay: at + delay if at + delay <= END else at),
        right=CLIPPED,
        stream=PAIR,
        other=LATER,
    ),
    # Section 9: the rules in practice.
    Case(
        name="one draw for a burst on one target",
        section="9.1",
        thought="posts on one target may share a delay",
        rule=JointRule(rules.one_draw_a_burst),
        right=AT_ONCE,
        stream=_acts("ann p 0", "ann p 0", "ann q 0"),
        other=_acts("bob p 0", "ann p 0", "ann q 0"),
        shares=1,
    ),
    Case(
        name="decided one tick too early",
        section="9.2",
        thought="the label is known when the window has passed",
        rule=held(rules.within(-1, 0)),
        right=HELD,
        stream=_acts("ann p 0", "ann q 1"),
        other=_acts("bob p 1", "ann q 1"),
    ),
    Case(
        name="stamped with the tick still open (half ticks)",
        section="9.2",
        thought="a tick closed late does no harm",
        rule=DelayRule(pair=default_laws(2), labels=paired(0), units=UNITS, stamp=rules.late_close),
        right=ON_CLOCK,
        stream=_acts("ann p 1", "ann q 1"),
        other=_acts("ann p 1", "bob q 5"),
    ),
    Case(
        name="a wait counted from the moment itself (half ticks)",
        section="9.2",
        thought="the delay is in ticks: the moment may be any",
        rule=DelayRule(
            pair=default_laws(2),
            labels=rules.stamped(paired(0)),
            stamp=lambda at, _: at,
            release=lambda at, delay: at + delay * UNITS,
        ),
        right=ON_CLOCK,
        stream=PAIR,
        other=LATER,
    ),
    Case(
        name="a start that forgets the window",
        section="9.3",
        thought="batched delays begin at the gap",
        rule=held(paired(1), start=2),
        right=HELD,
        stream=PAIR,
        other=_acts("ann p 0", "bob q 3"),
    ),
    Case(
        name=REDRAWN,
        section="9.3",
        thought="each draw is private by itself",
        rule=redrawn(2),
        right=AT_ONCE,
        stream=PAIR,
        other=STRANGERS,
    ),
    Case(
        name="look-back labels, the first of a batch moves",
        section="9.6",
        thought="follower labels promise the same",
        rule=held(real_labels("follower", 1)),
        right=HELD,
        stream=PAIR,
        other=_acts("bob p 1", "ann q 0"),
    ),
    Case(
        name="the queue shows who came first",
        section="9.6",
        thought="perfect privacy",
        rule=JointRule(rules.queued),
        right=AT_ONCE,
        stream=PAIR,
        other=_acts("bob p 1", "ann q 0"),
        shares=0,
    ),
    Case(
        name="labels limited to one space",
        section="9.8",
        thought="each forum looks after itself",
        rule=held(rules.one_space),
        right=HELD,
        stream=PAIR,
        other=LATER,
    ),
    Case(
        name="posts of one actor spaced apart",
        section="9.8",
        thought="spreading a person's posts can only help",
        rule=joint(rules.spaced),
        right=AT_ONCE,
        stream=PAIR,
        other=STRANGERS,
    ),
)
