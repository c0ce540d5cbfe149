"""A made-up month of Wikipedia with the statistics that the paper prints of its own, which is gone.

Editors come in sessions and mostly go on with the page that they left last. A session either stays on
its page or is a tour over several; the gaps inside it are short. The days have a rhythm, editors are
unequally busy and pages unequally popular. Nothing else is in it: no news that makes many people act
at once, no quarrels, no bots.

What matches, on average over seeds (`tarry reproduce wikipedia` prints the comparison for its own): the
number of revisions exactly; the batched share between the paper's two figures (.20 in the text, .254 of
its test set); the 92 % of moves within 5 minutes to a point; the gaps in 10 % samples of users to a tenth
at the 10th, 25th, 50th and 75th percentile, though one month differs from the next by as much. Nothing
is published on the length of sessions and their pauses: they were chosen with the printed attack without
delay in view. How well an attack does after a delay was not aimed at.
"""

import numpy as np
import numpy.typing as npt

from tarry.core.lanes import BoolArray, IntArray
from tarry.study.practice import MICROSECONDS
from tarry.study.table import EventTable, event_table

__all__ = ["DAYS", "EVENTS", "wikipedia_month"]

FloatArray = npt.NDArray[np.float64]

#: Revisions in the paper's category, January 2022 (section Experiments, Wikipedia).
EVENTS = 13_430
#: Days in that month.
DAYS = 31

_STARTS_AT = 1_640_995_200 * MICROSECONDS  # 2022-01-01, 00:00 UTC
_HOUR = 3_600
_EDITORS = 4_500  # who might come; about two thirds do
_PAGES = 3_500  # likewise
_EVEN_TOP = 4.0  # ranks over which the busiest and the most popular are alike
_EDITOR_SKEW, _PAGE_SKEW = 0.6, 0.7  # exponents of the Zipf laws behind them
_TOURS = 0.13  # share of the sessions that go over several pages
_TOUR_ACTS = 4.5  # mean acts of a tour, two at least
_STAY_ACTS = 2.1  # mean acts of a session that stays
_MOVES = 0.8  # in a tour, how often the next act is on another page
_WANDERS = 0.055  # how often a session begins elsewhere than the editor's last one ended
_PAUSE = 28.0  # mean seconds between two acts of a session
# Sessions by hour of the day, in UTC: nine busy hours, because the topic's readers live in America.
_DAY = np.where((np.arange(24) >= 14) & (np.arange(24) < 23), 1.0, 0.12)


def wikipedia_month(seed: int, events: int = EVENTS) -> EventTable:
    """A made-up month: the same one for the same seed.

    >>> table = wikipedia_month(seed=1, events=1_000)
    >>> len(table), int(np.ptp(table.time)) < 31 * 86_400 * MICROSECONDS
    (1000, True)
    """
    rng = np.random.default_rng(seed)
    tour, acts = _sessions(events, rng)
    editor = rng.choice(_EDITORS, len(tour), p=_zipf(_EDITORS, _EDITOR_SKEW))
    hour = rng.choice(24 * DAYS, len(tour), p=np.tile(_DAY / _DAY.sum(), DAYS) / DAYS)
    start = (hour + rng.random(len(tour))) * _HOUR
    order = np.lexsort((start, editor))  # each editor's sessions one after the other
    editor, start, tour, acts = editor[order], start[order], tour[order], acts[order]
    of_act = np.repeat(np.arange(len(acts)), acts)
    first = np.cumsum(acts) - acts
    passed = np.cumsum(rng.exponential(_PAUSE, events))
    # What would run over the end of the month is done at its beginning instead.
    second = (start[of_act] + passed - passed[first][of_act]).astype(np.int64) % (DAYS * 24 * _HOUR)
    return event_table(
        actor=editor[of_act],
        target=_pages(editor, tour[of_act], first, rng),
        time=_STARTS_AT + second * MICROSECONDS,
    )


def _sessions(events: int, rng: np.random.Generator) -> tuple[BoolArray, IntArray]:
    """Whether each session is a tour, and its acts: in sum exactly all of them."""
    tour = rng.random(events) < _TOURS
    stay, more = rng.geometric(1 / _STAY_ACTS, events), rng.geometric(1 / (_TOUR_ACTS - 1), events)
    ends = np.minimum(np.cumsum(np.where(tour, 1 + more, stay)), events)
    enough = int(np.searchsorted(ends, events)) + 1
    return tour[:enough], np.diff(ends[:enough], prepend=0)


def _pages(editor: IntArray, touring: BoolArray, first: IntArray, rng: np.random.Generator) -> IntArray:
    """The page of each act: the one before, or a new one on tours, at the very first and now and then."""
    new = touring & (rng.random(len(touring)) < _MOVES)
    new[first] = rng.random(len(first)) < _WANDERS
    new[first[np.flatnonzero(np.diff(editor, prepend=-1))]] = True
    drawn = rng.choice(_PAGES, int(new.sum()), p=_zipf(_PAGES, _PAGE_SKEW))
    return np.take(drawn, np.cumsum(new) - 1)


def _zipf(many: int, skew: float) -> FloatArray:
    heights = (np.arange(many) + _EVEN_TOP) ** -skew
    weights: FloatArray = heights / heights.sum()
    return weights
