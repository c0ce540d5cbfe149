"""Each check of the practice suite can fail: a practice that breaks it is caught, an honest one passes."""

from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import pytest

from tarry.core.entropy import Seeded
from tarry.study.baselines import Habit, baseline
from tarry.study.practice import MICROSECONDS, Practice, Shown, Spent
from tarry.testing.practices import PracticeCase, PracticeSuite

TESTS = [name for name in dir(PracticeSuite) if name.startswith("test_")]
CALLS = count()
JITTER = baseline("jitter:1h")


@dataclass(frozen=True)
class Made(Practice):
    """An hour's jitter, and one thing that a practice must not do."""

    fault: str = ""
    draws = True

    @property
    def name(self):
        return "other" if self.fault == "wrong name" else "made"

    def show(self, history, draw):
        if self.fault == "throws dice":
            draw = Seeded(next(CALLS))
        if self.fault == "no draws":
            draw = Seeded(1)
        release = JITTER.show(history, draw).release
        if self.fault == "early" and len(release):
            release[len(release) // 2] = history.times[len(release) // 2] - 1
        if self.fault == "drops one":
            release = release[1:]
        if self.fault == "looks at others":
            release = release + len(history)
        if self.fault == "looks at rows":
            release = release + np.arange(len(history))
        if self.fault == "changes the history":
            history.times.sort()
        return Shown(release=release, printed=release)

    def stranded(self, history):
        return -1 if self.fault == "stranded" else 0

    def failing_share(self, gap):
        share = JITTER.failing_share(gap)
        return {"too good": share / 10, "falls": 1 - share / 10, "no share": 1 + share}.get(
            self.fault, share
        )

    def promise(self, gap):
        return "none" if self.fault == "hides its delta" else JITTER.promise(gap)

    def notes(self, table):
        return [""] if self.fault == "says nothing" else ["It waits an hour at most."]

    def spent(self, table, shown):
        return Spent(most_nats=0, actors=10**9 if self.fault == "spends on strangers" else 0, batching=0)


def case_of(fault):
    """The case of a habit with this fault."""
    what = "it" if fault == "says too little" else "waits a part of an hour"
    habit = Habit(name="made", what=what, make=lambda _: Made(fault), examples=("made",))
    return PracticeCase(habit=habit, alone=True)


def failed(case):
    """The tests of the suite that fail."""
    suite, failures = PracticeSuite(), set()
    suite.case = case
    for name in TESTS:
        arguments = () if name == "test_a_habit_is_described_in_one_line" else case.tried[:1]
        try:
            getattr(suite, name)(*arguments)
        except (AssertionError, ValueError, IndexError):
            failures.add(name)
    return failures


BROKEN = [
    ("says too little", "test_a_habit_is_described_in_one_line"),
    ("wrong name", "test_its_name_makes_it_again"),
    ("early", "test_every_event_is_shown_once_and_never_early"),
    ("drops one", "test_every_event_is_shown_once_and_never_early"),
    ("stranded", "test_what_would_never_leave_is_counted"),
    ("throws dice", "test_the_same_draw_shows_the_same"),
    ("changes the history", "test_the_same_draw_shows_the_same"),
    ("looks at rows", "test_the_order_of_rows_does_not_matter"),
    ("no draws", "test_another_draw_differs_exactly_where_it_draws"),
    ("looks at others", "test_other_events_matter_only_where_they_may"),
    ("too good", "test_its_promise_is_what_its_delays_keep"),
    ("falls", "test_its_promise_is_what_its_delays_keep"),
    ("no share", "test_its_promise_is_what_its_delays_keep"),
    ("hides its delta", "test_its_promise_is_what_its_delays_keep"),
    ("says nothing", "test_what_it_says_about_a_history_can_be_true"),
    ("spends on strangers", "test_what_it_says_about_a_history_can_be_true"),
]


def test_every_check_has_a_practice_that_breaks_it():
    """None is there that nothing could fail."""
    assert sorted({name for _, name in BROKEN}) == TESTS


@pytest.mark.parametrize(("fault", "name"), BROKEN)
def test_a_broken_practice_is_caught(fault, name):
    """By the check that is about what it does."""
    assert name in failed(case_of(fault))


def test_an_honest_practice_passes():
    """Its jitter is its own, row by row."""
    assert not failed(case_of(""))


def test_a_stamp_may_lie_ahead_only_as_far_as_the_case_says():
    """Noon of the day is such a stamp."""
    case = PracticeCase(practices=[baseline("hotcrp")])
    name = "test_every_event_is_shown_once_and_never_early"

    assert name in failed(case)
    assert name not in failed(replace(case, ahead=13 * 3600 * MICROSECONDS))
