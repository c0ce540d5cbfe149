"""The conformance suite of practices: every event is shown once, never early, and the same for one draw.

A habit joins in three lines, and says what of it is not as with most:

    class TestMine(PracticeSuite):
        case = PracticeCase(habit=MINE, alone=True)

It needs pytest. `practices` are tried too, or alone where there is no habit: a policy that is replayed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.study.baselines import Habit
from tarry.study.practice import MICROSECONDS, Practice, Shown
from tarry.study.table import event_table

__all__ = ["PracticeCase", "PracticeSuite"]

_GAPS = [Fraction(seconds) for seconds in (1, 60, 660, 3_600, 86_400)]
_ERROR = 0.1  # what chance may add to a share of the measured delays
_MOST_EVENTS = 40


@dataclass(frozen=True, kw_only=True)
class PracticeCase:
    """A habit, in every form of its parameter, or practices, and what holds for them.

    >>> from tarry.study.baselines.plain import NOTHING
    >>> [practice.name for practice in PracticeCase(habit=NOTHING, alone=True).tried]
    ['nothing']
    """

    habit: Habit | None = None
    practices: Sequence[Practice] = ()
    alone: bool = False  # what is shown of an event does not depend on the other events
    ahead: int = 0  # microseconds by which a printed time may lie after the release

    @property
    def tried(self) -> list[Practice]:
        """The practices, and one for each example of the habit."""
        if self.habit is None:
            return [*self.practices]
        parameters = [text.partition(":")[2] for text in self.habit.examples]
        return [*self.practices, *(self.habit.make(text or self.habit.usual) for text in parameters)]


class PracticeSuite:
    """What the test class of a practice inherits; `case` is all it adds.

    >>> from tarry.study.baselines.plain import NOTHING
    >>> class TestMine(PracticeSuite):
    ...     case = PracticeCase(habit=NOTHING, alone=True)
    >>> TestMine().test_every_event_is_shown_once_and_never_early(TestMine.case.tried[0])
    """

    case: PracticeCase

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each practice."""
        if "practice" in metafunc.fixturenames:
            tried = self.case.tried
            metafunc.parametrize("practice", tried, ids=[practice.name for practice in tried])

    def test_a_habit_is_described_in_one_line(self) -> None:
        """Lists show a short line each, and examples of how it is written."""
        if self.case.habit is not None:
            assert 10 < len(self.case.habit.what) < 100
            assert "\n" not in self.case.habit.what
            assert self.case.habit.examples

    def test_its_name_makes_it_again(self, practice: Practice) -> None:
        """The name is a text that a person can give: the habit, and after a colon its parameter."""
        name, _, parameter = practice.name.partition(":")
        if self.case.habit is not None:
            again = self.case.habit.make(parameter or self.case.habit.usual)
            assert name == self.case.habit.name
            assert again.name == practice.name
            assert again == practice

    def test_every_event_is_shown_once_and_never_early(self, practice: Practice) -> None:
        """As many whole releases and printed times as there are events, and none before its arrival."""
        for history in _histories():
            shown = practice.show(history, Seeded(2))
            for column in (shown.release, shown.printed):
                assert column.dtype == np.int64
                assert column.shape == (len(history),)
            assert shown.batched is None or shown.batched.shape == (len(history),)
            assert (shown.release >= history.times).all(), "an event is seen before it has arrived"
            assert (shown.printed <= shown.release + self.case.ahead).all()

    def test_what_would_never_leave_is_counted(self, practice: Practice) -> None:
        """As stranded: no more than there are, and as many in any order of rows."""
        for history in _histories():
            assert practice.stranded(history) in range(len(history) + 1)
            assert practice.stranded(_rows(history, _shuffle(history))) == practice.stranded(history)

    def test_the_same_draw_shows_the_same(self, practice: Practice) -> None:
        """A draw can be repeated, and the history is as it was."""
        for history in _histories():
            before, again = (_rows(history, np.arange(len(history))) for _ in range(2))
            first = _shown_of(history, practice.show(history, Seeded(4)))

            assert _shown_of(again, practice.show(again, Seeded(4))) == first
            for name in ("actors", "targets", "times"):
                assert np.array_equal(getattr(history, name), getattr(before, name)), "it has been changed"

    def test_the_order_of_rows_does_not_matter(self, practice: Practice) -> None:
        """Each event is shown alike wherever its row stands; repeated ones share theirs out anew."""
        for history in _histories():
            shuffled = _rows(history, _shuffle(history))
            shown = _shown_of(history, practice.show(history, Seeded(3)))

            assert shown == _shown_of(shuffled, practice.show(shuffled, Seeded(3)))

    def test_another_draw_differs_exactly_where_it_draws(self, practice: Practice) -> None:
        """Draws and seeds make a difference for a practice that says so, and none for the others."""
        history = _long_history()
        sources = (Seeded(1), Seeded(2), Seeded(1, draw=1))
        first, *others = [_shown_of(history, practice.show(history, source)) for source in sources]

        assert [other != first for other in others] == [practice.draws] * 2

    def test_other_events_matter_only_where_they_may(self, practice: Practice) -> None:
        """Where events are shown by themselves, a part of a history is shown as in the whole."""
        for history in _histories() if self.case.alone else ():
            single = _rows(history, np.flatnonzero(history.occurrences == 0))
            half = np.arange(0, len(single), 2)
            whole = practice.show(single, Seeded(5))
            part = practice.show(_rows(single, half), Seeded(5))

            assert part.release.tolist() == whole.release[half].tolist()
            assert part.printed.tolist() == whole.printed[half].tolist()

    def test_its_promise_is_what_its_delays_keep(self, practice: Practice) -> None:
        """The chance to fail is one, grows with the gap, is in its promise, and is not exceeded."""
        history = _long_history()
        delays = practice.show(history, Seeded(6)).release - history.times
        shares = [practice.failing_share(gap) for gap in _GAPS]

        for gap, share in zip(_GAPS, shares, strict=True):
            assert practice.promise(gap)
            assert "\n" not in practice.promise(gap)
            if share is None:
                continue
            sooner = np.mean(delays - delays.min() < int(gap * MICROSECONDS))
            assert 0 <= share <= 1
            assert sooner <= share + _ERROR, f"{sooner:.2f} fail at a gap of {gap} s, and not {share:.2f}"
            assert practice.policy or (practice.promise(gap) == "none") is (share >= 1)
        for share, longer in pairwise(share for share in shares if share is not None):
            assert share <= longer

    def test_what_it_says_about_a_history_can_be_true(self, practice: Practice) -> None:
        """Notes are sentences, and no more people have spent their promise than there are."""
        history = _long_history()
        table = event_table(actor=history.actors, target=history.targets, time=history.times)
        spent = practice.spent(table, practice.show(table.history, Seeded(7)))

        assert all(note and "\n" not in note for note in practice.notes(table))
        if spent is not None:
            assert spent.most_nats >= 0
            assert 0 <= spent.actors <= spent.batching <= table.actors


def _histories() -> list[History]:
    """Few actors, targets and moments, close together or days apart, also before 1970: ties are common."""
    lots = np.random.default_rng(11)
    bases = (0, 1, 1_711_846_800 * MICROSECONDS)  # the last: clocks change in Europe
    units = (1, 7_000, MICROSECONDS // 2, 450 * MICROSECONDS, 30_000 * MICROSECONDS)
    nobody = np.arange(0)
    histories = [History(actor=nobody, target=nobody, time=nobody)]
    for base, unit, _ in product(bases, units, range(2)):
        actor, target, step = lots.integers(0, [[3], [3], [13]], (3, lots.integers(1, _MOST_EVENTS)))
        histories.append(History(actor=actor, target=target, time=base + unit * (step - 4)))
    return histories


def _long_history() -> History:
    number = np.arange(400)
    return History(actor=number % 7, target=number % 5, time=number * 10 * MICROSECONDS)


def _rows(history: History, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> History:
    return History(actor=history.actors[rows], target=history.targets[rows], time=history.times[rows])


def _shuffle(history: History) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.random.default_rng(12).permutation(len(history))


def _shown_of(history: History, shown: Shown) -> list[tuple[object, ...]]:
    """What is shown of each event, in an order that rows have no part in."""
    columns = (history.actors, history.targets, history.times, shown.release, shown.printed)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))
