"""The law of two steps: valid at every size, and what it costs."""

from fractions import Fraction

import pytest
import tarry

from tarry_mastodon.law import two_step


def is_private(pair, ask):
    """The inequality that a pair must keep, for every delay and every shift."""
    return all(
        pair.batched.mass(delay) <= ask.ratio * pair.unbatched.mass(delay - shift)
        for delay in range(pair.batched.maximum + 1)
        for shift in range(min(delay, ask.start) + 1)
    )


@pytest.mark.parametrize("share", [Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("start", [0, 1, 2, 7])
def test_the_inequality_holds_and_masses_sum_to_one(share, start):
    """Counted out, at sizes where that can be done."""
    ask = tarry.Ask(share=share, start=start, weight=Fraction(1))
    pair = two_step(ask)

    assert is_private(pair, ask)
    for law in (pair.batched, pair.unbatched):
        assert sum(law.mass(delay) for delay in range(law.maximum + 1)) == 1


def test_tarry_finds_that_the_promise_holds():
    """For every delay and shift at the policy's own size, and for every draw of a small copy."""
    policy = tarry.Policy(epsilon="2", gap="11m", window="5m", law=two_step)

    assert tarry.verify(policy).word == "holds"


def test_a_shorter_step_would_break_it():
    """The steps are the shortest ones that are private."""
    ask = tarry.Ask(share=Fraction(1, 2), start=7, weight=Fraction(1))
    step = (two_step(ask).unbatched.maximum + 1) // 2 - 1
    short = tarry.Law((tarry.Run(step, Fraction(2, 3 * step)), tarry.Run(step, Fraction(1, 3 * step))))
    pair = tarry.LawPair(batched=short.from_tick(ask.start), unbatched=short, start=ask.start)

    assert not is_private(pair, ask)


def test_short_delays_are_likelier_than_long_ones():
    """The mean lies below the middle, unlike that of a uniform law of the same length."""
    costs = tarry.plan(tarry.Policy(epsilon="1", gap="11m", window="5m", law=two_step))

    assert costs.unbatched.mean < costs.unbatched.maximum / 2
