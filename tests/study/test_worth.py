"""What a practice promises, in words."""

from fractions import Fraction

import pytest

from tarry.core.policy import Policy
from tarry.study.baselines import BASELINES, baseline
from tarry.study.replay import replay
from tarry.study.worth import failing_share, promise_of

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
    assert failing_share(baseline(text), GAP) == pytest.approx(share, abs=1e-3)


def test_only_a_policy_has_an_epsilon():
    """No habit of another system promises one."""
    for recipe in BASELINES.values():
        for text in recipe.examples:
            assert not promise_of(baseline(text), GAP).startswith("epsilon")
    assert promise_of(replay(Policy(epsilon="0.5", gap="1h")), GAP) == "epsilon 0.5, gap 1h"
    free = Policy(epsilon="1", gap="1h", law="label-free", labels="none", delta="0.001")
    assert promise_of(replay(free), GAP) == "epsilon 1, delta 0.001, gap 1h"


def test_a_delay_that_can_never_close_the_gap_promises_nothing():
    """A jitter shorter than the gap fails for sure."""
    assert promise_of(baseline("jitter:5m-15m"), GAP) == "none"
