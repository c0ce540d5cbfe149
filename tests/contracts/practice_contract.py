"""The contract of a practice: what holds for every way of showing events, policy or habit alike.

A practice joins in three lines; `case` may have several params:

    class TestNothing(PracticeContract):
        @pytest.fixture(params=[PracticeCase(practice=Nothing(), alone=True)])
        def case(self, request): return request.param
"""

from dataclasses import dataclass
from random import Random

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.study.practice import MICROSECONDS, Practice

__all__ = ["EVENTS", "PracticeCase", "PracticeContract", "history_of"]


@dataclass(frozen=True, kw_only=True)
class PracticeCase:
    """A practice, and which of the laws hold for it."""

    practice: Practice
    alone: bool  # what is shown of an event does not depend on the other events
    ahead: int = 0  # microseconds by which a printed time may lie after the release

    def __str__(self) -> str:
        return self.practice.name


def _events(base, unit, size, seed):
    """Few actors, targets and moments: ties and repeated events are common."""
    chance = Random(seed)
    return [
        (chance.randrange(3), chance.randrange(3), base + unit * chance.randint(-4, 8)) for _ in range(size)
    ]


#: Rows (actor, target, time in microseconds), unsorted, close together or days apart, also before 1970.
EVENTS = st.builds(
    _events,
    base=st.sampled_from([0, 1, 1_711_846_800 * MICROSECONDS]),  # the last: clocks change in Europe
    unit=st.sampled_from([1, 7_000, MICROSECONDS // 2, 450 * MICROSECONDS, 30_000 * MICROSECONDS]),
    size=st.integers(0, 40),
    seed=st.integers(0, 1 << 32),  # one number for all rows: drawing each would take most of the time
)
few = settings(max_examples=20)


def history_of(events):
    """A history of (actor, target, time) rows in microseconds."""
    actor, target, time = zip(*events, strict=True) if events else ([], [], [])
    return History(actor=np.array(actor, int), target=np.array(target, int), time=np.array(time, int))


def rows_of(events, shown):
    """What is shown of each event, in an order that rows have no part in."""
    return sorted(zip(events, shown.release.tolist(), shown.printed.tolist(), strict=True))


class PracticeContract:
    """Tests of one practice; the class that joins has a fixture `case`."""

    def test_shows_every_event_once_and_never_early(self, case):
        """As many whole releases and printed times as there are events, and none before its arrival."""

        @few
        @given(EVENTS, st.integers(0, 9))
        def check(events, seed):
            history = history_of(events)
            shown = case.practice.show(history, Seeded(seed))

            for column in (shown.release, shown.printed):
                assert column.dtype == np.int64
                assert column.shape == (len(events),)
            assert (shown.release >= history.times).all()
            assert (shown.printed <= shown.release + case.ahead).all()

        check()

    def test_the_same_draw_shows_the_same(self, case):
        """A draw can be repeated, and the history is as it was."""

        @few
        @given(EVENTS, st.integers(0, 9))
        def check(events, seed):
            history = history_of(events)
            first = case.practice.show(history, Seeded(seed))
            again = case.practice.show(history_of(events), Seeded(seed))

            assert rows_of(events, first) == rows_of(events, again)
            assert history.times.tolist() == [time for _, _, time in events]

        check()

    def test_the_order_of_rows_does_not_matter(self, case):
        """Each event is shown alike wherever its row stands; repeated ones share theirs out anew."""

        @few
        @given(EVENTS, st.randoms(use_true_random=False))
        def check(events, random):
            shuffled = random.sample(events, len(events))
            shown = case.practice.show(history_of(events), Seeded(3))
            other = case.practice.show(history_of(shuffled), Seeded(3))

            assert rows_of(events, shown) == rows_of(shuffled, other)

        check()

    def test_another_draw_differs_exactly_where_the_practice_draws(self, case):
        """Draws and seeds make a difference for a practice that says so, and none for the others."""
        history = history_of([(n % 7, n % 5, n * 10 * MICROSECONDS) for n in range(200)])
        first, *others = [
            case.practice.show(history, source) for source in (Seeded(1), Seeded(2), Seeded(1, draw=1))
        ]

        for other in others:
            changed = (first.release != other.release) | (first.printed != other.printed)
            assert changed.any() == case.practice.draws

    def test_other_events_matter_only_where_they_may(self, case):
        """Where events are shown by themselves, a part of a history is shown as in the whole."""
        if not case.alone:
            return

        @few
        @given(EVENTS.map(lambda events: list(dict.fromkeys(events))))
        def check(events):
            assume(len(events) > 1)
            whole = case.practice.show(history_of(events), Seeded(5))
            part = case.practice.show(history_of(events[::2]), Seeded(5))

            assert part.release.tolist() == whole.release[::2].tolist()
            assert part.printed.tolist() == whole.printed[::2].tolist()

        check()
