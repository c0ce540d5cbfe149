"""What a practice promises, in words, and what it says where it is asked nothing."""

from fractions import Fraction

import pytest

from tarry.core.plugins import names
from tarry.core.policy import Policy
from tarry.study.baselines import baseline, habit
from tarry.study.practice import Practice, Shown
from tarry.study.replay import replay
from tarry.study.table import event_table

GAP = Fraction(2160)  # 36 minutes


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("poisson:60m", 0.451),
        ("jitter:5m-15m", 1.0),
        ("jitter:24h", 0.025),
        ("jitter:12h-36h", 0.025),
    ],
)
def test_the_chance_of_failing_is_that_of_the_formula(text, share):
    """1 - e^(-gap/mean) for an exponential delay, gap over spread for a uniform one."""
    assert baseline(text).failing_share(GAP) == pytest.approx(share, abs=1e-3)


def test_only_a_policy_has_an_epsilon():
    """No habit of another system promises one."""
    for name in names("practice"):
        for text in habit(name).examples:
            assert not baseline(text).promise(GAP).startswith("epsilon")
    assert replay(Policy(epsilon="0.5", gap="1h")).promise(GAP) == "epsilon 0.5, gap 1h"
    free = Policy(epsilon="1", gap="1h", law="label-free", labels="none", delta="0.001")
    assert replay(free).promise(GAP) == "epsilon 1, delta 0.001, gap 1h"


def test_a_delay_that_can_never_close_the_gap_promises_nothing():
    """A jitter shorter than the gap fails for sure."""
    assert baseline("jitter:5m-15m").promise(GAP) == "none"


class AtOnce(Practice):
    """The least that a practice must be."""

    name, draws = "at once", False

    def show(self, history, draw):
        return Shown(release=history.times, printed=history.times)


def test_a_practice_that_says_nothing_promises_nothing_and_keeps_nobody():
    table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    shown = AtOnce().show(table.history, None)

    assert AtOnce().policy is None
    assert AtOnce().promise(GAP) == "none"
    assert AtOnce().spent(table, shown) is None
    assert AtOnce().stranded(table.history) == 0
    assert AtOnce().notes(table) == []


def test_a_practice_must_show_events():
    """Somebody else's class says so when it is made, not in the middle of an audit."""

    class Unfinished(Practice):
        name = "unfinished"

    with pytest.raises(TypeError, match="show"):
        Unfinished()
