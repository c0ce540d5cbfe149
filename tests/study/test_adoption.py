"""Partial adoption: who takes part is delayed, the others are not, and claims about both are counted."""

from fractions import Fraction

import numpy as np
import pytest

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.study.adoption import adoption
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.best_cutoff import best_score
from tarry.study.charts.curves import adoption_chart
from tarry.study.practice import MICROSECONDS
from tarry.study.replay import replay
from tarry.study.runs import spread
from tarry.study.table import event_table

DAY = 86_400 * MICROSECONDS
WINDOW = 300 * MICROSECONDS
PRACTICE = replay(Policy(epsilon="0.5", gap="30m"), "mine")


@pytest.fixture(scope="module")
def crowd():
    """A hundred people who act in twos, each at their own times, on targets of their own."""
    chance = np.random.default_rng(4)
    actor = np.repeat(chance.integers(0, 100, 500), 2)
    start = np.repeat(chance.integers(0, 10 * DAY // MICROSECONDS, 500), 2)
    time = (start + chance.integers(0, 60, 1000)) * MICROSECONDS
    return event_table(actor=actor, target=np.arange(1000), time=time)


def test_nobody_and_everybody_are_nothing_and_the_policy(crowd):
    """At the two ends it is what an audit measures: no delay at all, and the whole policy."""
    found = adoption(crowd, PRACTICE, shares=[Fraction(0), Fraction(1)], draws=1, seed=6)
    truth = Truth(table=crowd, window=WINDOW)
    release = PRACTICE.show(crowd.history, Seeded(6, 0)).release
    farthest = WINDOW + 2 * int((release - crowd.time).max())
    for point, seen in zip(found.points, (crowd.time, release), strict=True):
        best = best_score(lambda cutoffs, seen=seen: cutoff_attack(truth, seen, cutoffs), seen, farthest)
        assert point.right == spread([best.right_person])
    assert [point.adopters for point in found.points] == [0, crowd.actors]
    assert found.points[0].right_adopters is None
    assert found.points[1].right_others is None


def test_taking_part_is_worth_it_also_where_few_do(crowd):
    """Claims about those who take part are right far less often than claims about the others."""
    points = adoption(crowd, PRACTICE, shares=[Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]).points

    for point in points:
        assert point.right_adopters.high < point.right_others.low / 2
        assert point.adopters + point.others == crowd.actors


def test_figures_are_means_over_draws_with_their_ranges(crowd):
    """Each draw has delays and adopters of its own; with nobody taking part they are all alike."""
    shares = [Fraction(0), Fraction(1, 2)]
    first = adoption(crowd, PRACTICE, shares=shares, draws=1, seed=3).points[1].right
    found = adoption(crowd, PRACTICE, shares=shares, draws=2, seed=3)
    nobody, half = found.points
    rows = [row for row in adoption_chart(found).data.values if row["part"]]

    assert nobody.right.low == nobody.right.high
    assert half.right.low < half.right.mean < half.right.high
    assert first.mean in (half.right.low, half.right.high)
    assert (half.right.low, half.right.high) in [(row["low"], row["high"]) for row in rows]


def test_a_share_that_cannot_be_is_refused(crowd):
    with pytest.raises(BadInput, match=r"a share of people must lie between 0 and 1, not 1\.5"):
        adoption(crowd, PRACTICE, shares=[Fraction(3, 2)])


def test_it_is_said_in_words_and_drawn(crowd):
    found = adoption(crowd, PRACTICE, draws=1)
    told = []
    adoption(crowd, PRACTICE, draws=1, progress=lambda done, total: told.append((done, total)))

    assert len(found.sentences) == 3
    assert found.sentences[1].startswith("Where 50.0 % of people take part, claims about them are right ")
    assert found.as_dict()["practice"] == "mine"
    assert {row["line"] for row in adoption_chart(found).data.values} == {
        *("all claims", "claims about those who take part", "claims about the others"),
    }
    assert told == [(done, 5) for done in range(1, 6)]


def test_where_nothing_is_claimed_nothing_is_said():
    strangers = event_table(actor=[1, 2], target=[1, 2], time=[0, DAY])

    assert adoption(strangers, PRACTICE, draws=1).sentences == []
