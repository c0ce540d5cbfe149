"""The sampler's distribution, enumerated: every path a draw can take, with its exact chance."""

from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.scripted_entropy import Script, ScriptedLanes
from tarry.core.entropy import DIGIT, Seeded
from tarry.core.law import Law, Run
from tarry.core.laws import LAWS
from tarry.core.mechanism import Ask
from tarry.core.plugins import load
from tarry.core.sampler import Chooser, Sampler

BITS = 256
CLOSE = Fraction(1, 1 << 200)
SMALL = {
    f"{name}, {label}, G={start}": getattr(
        load("law", name)(
            Ask(
                share=Fraction(1, 2),
                start=start,
                weight=Fraction(1, 4),
                delta=Fraction(1, 10),
                blocks=4,
                order=Decimal(2),
            )
        ),
        label,
    )
    for name in LAWS
    for start in (1, 3, 7)
    for label in ("batched", "unbatched")
}
ODD = {
    "one tick": Law.of_masses([0, 0, 1]),
    "atoms around a run": Law((Run(1, Fraction(1, 4)), Run(5, Fraction(1, 10)), Run(1, Fraction(1, 4)))),
    "runs of different length": Law(
        (Run(2, Fraction(1, 8)), Run(3, Fraction(1, 6)), Run(1, Fraction(1, 4)))
    ),
    "a hole": Law((Run(2, Fraction(1, 4)), Run(3, Fraction(0)), Run(4, Fraction(1, 8)))),
}
ODD["a head and a tail"] = Law(
    (Run(2, Fraction(1, 8)), Run(1, Fraction(1, 4))),
    (Run(3, Fraction(1, 10)), Run(1, Fraction(0)), Run(1, Fraction(3, 40))),
    Fraction(4),
)
every_law = pytest.mark.parametrize("law", [*SMALL.values(), *ODD.values()], ids=[*SMALL, *ODD])


class Fork(Exception):
    """A draw came to a number that its path does not fix yet."""


class Path:
    """An entropy that follows a path, and tells how likely it is."""

    def __init__(self, steps):
        self.steps, self.taken, self.chance = steps, 0, Fraction(1)

    def randbelow(self, n):
        """One of n equal branches."""
        return self.branch([Fraction(1, n)] * n)

    def branch(self, chances):
        """The branch that the path takes here."""
        if self.taken == len(self.steps):
            raise Fork(chances)
        step = self.steps[self.taken]
        self.taken += 1
        self.chance *= chances[step]
        return step


def distribution(draw, source, least):
    """The chance of each result over all paths, and that of paths below `least`, left unfollowed."""
    found, lost, paths = defaultdict(Fraction), Fraction(0), [()]
    while paths:
        path = source(paths.pop())
        try:
            found[draw(path)] += path.chance
        except Fork as fork:
            for step, chance in enumerate(fork.args[0]):
                if 0 < path.chance * chance < least:
                    lost += path.chance * chance
                elif chance:
                    paths.append((*path.steps, step))
    return found, lost


def shares_of(choice):
    """The chances of a choice, to 256 binary digits."""
    cuts = [Fraction(0), *(Fraction(cut(BITS), 1 << BITS) for cut in choice.cuts), Fraction(1)]
    return [b - a for a, b in pairwise(cuts)]


@pytest.fixture
def plain_choices(monkeypatch):
    """Choices take one branch of as many as they have, whose digits `test_chooser` answers for."""
    monkeypatch.setattr(Chooser, "draw", lambda self, entropy: entropy.branch(shares_of(self)))


@every_law
@pytest.mark.usefixtures("plain_choices")
def test_every_path(law):
    """Over all paths a draw can take, each tick has its mass."""
    found, lost = distribution(Sampler(law).draw, Path, least=Fraction(1, 1 << 36))

    heavy = [tick for tick in range(max(found) + 1) if law.mass(tick) >= Fraction(1, 1 << 24)]
    assert all(abs(found[tick] - law.mass(tick)) < CLOSE for tick in heavy)
    assert all(found[tick] <= law.mass(tick) + CLOSE for tick in found)
    assert abs(sum(found.values()) + lost - 1) < CLOSE
    assert lost < Fraction(1, 1000)


@st.composite
def any_laws(draw):
    """A law with or without an end, of few runs."""
    runs = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=3)
    head, period = draw(runs), draw(st.just([]) | runs.filter(lambda run: any(w for _, w in run)))
    ratio = draw(st.sampled_from([Fraction(3), Fraction(8), Fraction(40, 3)])) if period else Fraction(1)
    total = sum(n * w for n, w in head) + sum(n * w for n, w in period) * (
        ratio / (ratio - 1) if period else 0
    )
    if not total:
        return Law.of_masses([1])
    parts = [tuple(Run(n, Fraction(w) / total) for n, w in part) for part in (head, period)]
    return Law(parts[0], parts[1], ratio)


@pytest.mark.usefixtures("plain_choices")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(law=any_laws())
def test_every_path_of_any_law(law):
    """Any law that can be written down is drawn with its masses."""
    found, lost = distribution(Sampler(law).draw, Path, least=Fraction(1, 1 << 20))

    heavy = [tick for tick in range(max(found) + 1) if law.mass(tick) >= Fraction(1, 1 << 15)]
    assert all(abs(found[tick] - law.mass(tick)) < CLOSE for tick in heavy)
    assert all(found[tick] <= law.mass(tick) + CLOSE for tick in found)
    assert abs(sum(found.values()) + lost - 1) < CLOSE


class Digits(Path):
    """A path through real digits: equal digits of a cut are branches of their own, gaps are one each."""

    def __init__(self, steps, critical, *, last):
        super().__init__(steps)
        edges = sorted({0, DIGIT, *critical, *(digit + 1 for digit in critical)} - {DIGIT + 1})
        self.classes = [
            (low if not last else high - 1, Fraction(high - low, DIGIT)) for low, high in pairwise(edges)
        ]

    def randbelow(self, n):
        """A digit that stands for its class, or one of n equal branches."""
        if n != DIGIT:
            return super().randbelow(n)
        return self.classes[self.branch([chance for _, chance in self.classes])][0]


@pytest.mark.parametrize("last", [False, True], ids=["first of each class", "last of each class"])
@pytest.mark.parametrize(
    "law", [law for law in [*SMALL.values(), *ODD.values()] if law.maximum is not None]
)
def test_every_digit(law, last):
    """Down to the digits: a law that ends has its masses over all digits, to 2^-60."""
    cuts = list(accumulate(run.total for run in law.head if run.mass))[:-1]
    critical = {int(cut * DIGIT**place) % DIGIT for cut in cuts for place in (1, 2, 3)}

    found, lost = distribution(
        Sampler(law).draw, lambda steps: Digits(steps, critical, last=last), least=Fraction(1, 1 << 90)
    )

    assert lost < Fraction(1, 1 << 60)
    assert all(found[tick] <= law.mass(tick) <= found[tick] + lost for tick in range(law.tail_start))
    assert sum(found.values()) + lost == 1


@every_law
def test_draw_many_is_draw(law):
    """A vector of lanes draws what each lane alone would, and reads as far."""
    sampler = Sampler(law)

    def streams():
        return [Seeded(11).stream("actor", "target", event) for event in range(60)]

    lanes, alone = streams(), streams()
    found = sampler.draw_many(ScriptedLanes(lanes))

    assert found.dtype == np.int64
    assert found.tolist() == [sampler.draw(stream) for stream in alone]
    assert [lane.position for lane in lanes] == [stream.position for stream in alone]


@every_law
def test_draw_many_for_some(law):
    """Only the lanes asked for are drawn for, in the order asked."""
    sampler = Sampler(law)

    def streams():
        return [Seeded(12).stream("actor", "target", event) for event in range(30)]

    lanes, alone = streams(), streams()
    which = np.array([29, 3, 3 + 14, 0, 11])
    found = sampler.draw_many(ScriptedLanes(lanes), which)

    assert found.tolist() == [sampler.draw(alone[i]) for i in which]
    assert [lane.position for lane in lanes] == [stream.position for stream in alone]


def test_forced_ties_in_lanes():
    """Lanes that tie with a cut at the first and second digit draw on, each for itself."""
    law = Law((Run(1, Fraction(1, 3)), Run(4, Fraction(1, 6))))
    sampler = Sampler(law)
    third = int(Fraction(1, 3) * DIGIT)  # every digit of 1/3 is the same
    written = [
        [third, third, third - 1, 2],
        [third, third + 1, 2],
        [third, third, third, DIGIT - 1, 3],
        [0, 1],
        [DIGIT - 1, 0],
    ]

    alone = [sampler.draw(Script(answers)) for answers in written]
    lanes = [Script(answers) for answers in written]

    assert alone == [0, 3, 4, 0, 1]
    assert sampler.draw_many(ScriptedLanes(lanes)).tolist() == alone
    assert all(lane.used_up for lane in lanes)


def test_an_atom_keeps_step():
    """A law of an atom and a run asks for the same two numbers whichever is drawn."""
    law = Law((Run(1, Fraction(1, 2)), Run(50, Fraction(1, 100))))
    atom, run = Script([0, 49]), Script([DIGIT - 1, 49])

    assert Sampler(law).draw(atom) == 0
    assert Sampler(law).draw(run) == 50
    assert atom.asked == run.asked == [DIGIT, 50]


def test_delays_beyond_a_vector():
    """A delay that 62 bits do not hold is an error in bulk, never a wrong number; alone it is fine."""
    law = Law((), (Run(1 << 60, Fraction(1, 1 << 70)),), Fraction(1024, 1023))
    sampler = Sampler(law)
    streams = [Seeded(13).stream("actor", "target", event) for event in range(5)]

    assert min(sampler.draw(stream) for stream in streams) > 1 << 62
    with pytest.raises(OverflowError, match="does not fit in 62 bits"):
        sampler.draw_many(ScriptedLanes(streams))
